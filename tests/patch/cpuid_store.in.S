	.globl	start, site
start:
	mov	$1, %eax
	mov	$0x7777, %ecx
site:	cpuid
	mov	%ecx, -16(%rsp)
	mov	-16(%rsp), %r9d
	ret
