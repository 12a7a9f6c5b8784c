	.globl	start, site
start:
	/* the bytes of mov $110,%eax, but for a prefix: it sets another register */
	mov	$110, %eax
	mov	$111, %r8d
site:	syscall
	call	1f
	ret
1:	ret
