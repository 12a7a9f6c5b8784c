	.globl	start, site
start:
	mov	$55, %ebx
	lea	(%rbx, %rbx), %eax
site:	syscall
	call	1f
	ret
1:	ret
