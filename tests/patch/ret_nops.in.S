	.globl	start, site
start:
	mov	%r12d, %eax
	mov	$110, %al
site:	syscall
	ret
	.p2align 4
