/* relative to rip: not moved */
	.globl start, site
start:	nop
site:	fxsave	start(%rip)
	ret
