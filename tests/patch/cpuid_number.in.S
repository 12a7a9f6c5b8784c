	.globl	start, site
start:
	/* only a syscall may stay where it is */
	xor	%ecx, %ecx
	mov	$0, %eax
site:	cpuid
	call	1f
	ret
1:	ret
