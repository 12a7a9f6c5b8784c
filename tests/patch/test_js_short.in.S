	.globl	start, site
start:
	mov	$110, %eax
site:	syscall
	test	%rax, %rax
	js	1f
	ret
1:	xor	%eax, %eax
	ret
