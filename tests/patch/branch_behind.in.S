	.globl	start, site
start:
	mov	$110, %eax
	test	%rdi, %rdi
	jnz	1f
site:	syscall
1:	add	$1, %rax
	nop
	ret
