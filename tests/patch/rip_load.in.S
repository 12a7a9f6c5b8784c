	.globl	start, site
start:
	mov	$110, %eax
site:	syscall
	mov	2f(%rip), %rbx
	lea	2f(%rip), %rdx
	ret
	.p2align 3
2:	.quad	0x1122334455667788
