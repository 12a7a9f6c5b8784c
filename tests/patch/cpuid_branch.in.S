/* A branch leads behind it: the mov in front becomes the jump. */
	.globl start, site
start:	test	%edi, %edi
	jne	1f
	mov	$0x80000006, %eax
site:	cpuid
1:	sub	$0xbd, %esi
	ret
