/* as in the loader's lazy binding: stays what it is, but for what differs between makers */
	.globl start, site
start:	lea	-1024(%rsp), %rsp
	and	$-64, %rsp
site:	fxsave	0x40(%rsp)
	mov	$1, %eax
	movzwl	0x40(%rsp), %ecx
	mov	0x58(%rsp), %edx
	lea	1024(%rsp), %rsp
	ret
