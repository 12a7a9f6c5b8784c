	.globl	start, site
start:
	mov	$3, %eax
	mov	$-1, %edi
site:	syscall
	test	%eax, %eax
	js	1f
	ret
	.skip	300, 0x90
1:	xor	%eax, %eax
	ret
