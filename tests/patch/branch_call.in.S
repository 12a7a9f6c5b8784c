	.globl	start, site
start:
	mov	$110, %ebx
	mov	%ebx, %eax
	jmp	site
2:	ret
site:	syscall
1:	dec	%ebx
	jmp	1b
