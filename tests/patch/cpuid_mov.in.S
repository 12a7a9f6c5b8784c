	.globl	start, site
start:
	xor	%eax, %eax
	xor	%ecx, %ecx
	stc
site:	cpuid
	mov	%ebx, %esi
	mov	%edx, %edi
	ret
