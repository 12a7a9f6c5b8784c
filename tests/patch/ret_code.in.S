	.globl	start, site
start:
	mov	$55, %ebx
	lea	(%rbx, %rbx), %eax
site:	syscall
	ret
	mov	%eax, %ebx
	ret
