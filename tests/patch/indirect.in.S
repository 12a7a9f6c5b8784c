	.globl	start, site
start:
	lea	1f(%rip), %rbx
	lea	110, %eax
site:	syscall
	jmp	*%rbx
1:	ret
