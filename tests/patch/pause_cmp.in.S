# A waiting loop as glibc's pthread_spin_lock has it: its flags and rcx must come through.
	.globl start, site
start:	stc
	mov	$3, %ecx
site:	pause
	lea	-1(%rcx), %rcx
	jrcxz	1f
	jmp	site
1:	ret
