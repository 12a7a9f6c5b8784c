	.globl	start, site
start:
	mov	$110, %eax
	jmp	site
1:	mov	%eax, %ebx
	ret
site:	syscall
	jmp	1b
	nop
	nop
	nop
