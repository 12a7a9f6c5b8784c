	.globl	start, site
start:
	mov	$110, %eax
site:	syscall
	cmp	$9, %eax
	stc
	ret
