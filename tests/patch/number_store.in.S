	.globl	start, site
start:
	/* the last bytes of a store look like mov $1,%eax */
	sub	$80, %rsp
	mov	$110, %eax
	lea	72(%rsp), %rbp
	movl	$1, -0x48(%rbp)
site:	syscall
	call	1f
	add	$80, %rsp
	ret
1:	ret
