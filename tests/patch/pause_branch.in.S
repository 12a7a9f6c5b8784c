# The loop begins behind its pause.
	.globl start, site
start:	mov	$3, %ecx
	jmp	1f
site:	pause
1:	dec	%ecx
	mov	%ecx, %eax
	jnz	site
	ret
