/* another register, no distance; the instruction behind it moves with it */
	.globl start, site
start:	lea	-1024(%rsp), %r9
	and	$-64, %r9
site:	fxsave64 (%r9)
	add	$1, %eax
	movzwl	(%r9), %ecx
	ret
