/*
 * list_text.S - code at FIXED_LIST of replayed processes: does what a list says, and stops.
 *
 * rbx: the list.  A call is 8 words: number, 6 arguments, the result that it must have (-1: any).
 * A copy is 4 words: LIST_COPY, to, from, length.  LIST_END: int3; another result: ud2.
 */
	.section .rodata
	.globl	list_text, list_call_after, list_text_end
list_text:
1:	mov	(%rbx), %rax
	test	%rax, %rax
	js	3f
	mov	8(%rbx), %rdi
	mov	16(%rbx), %rsi
	mov	24(%rbx), %rdx
	mov	32(%rbx), %r10
	mov	40(%rbx), %r8
	mov	48(%rbx), %r9
	syscall
list_call_after:
	mov	56(%rbx), %rdx
	add	$64, %rbx
	cmp	$-1, %rdx
	je	1b
	cmp	%rdx, %rax
	je	1b
	ud2
3:	cmp	$-1, %rax		/* LIST_COPY */
	jne	4f
	mov	8(%rbx), %rdi
	mov	16(%rbx), %rsi
	mov	24(%rbx), %rcx
	add	$32, %rbx
	rep movsb
	jmp	1b
4:	int3
list_text_end:

	.section .note.GNU-stack, "", @progbits
