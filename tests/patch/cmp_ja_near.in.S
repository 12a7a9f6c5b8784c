	.globl	start, site
start:
	mov	$110, %eax
site:	syscall
	cmp	$-4096, %rax
	ja	1f
	ret
1:	xor	%eax, %eax
	ret
