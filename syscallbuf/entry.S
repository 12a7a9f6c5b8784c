/*
 * entry.S - from a stub to C and back.
 *
 * A stub has stored rsp in buf_state and jumps here with rcx = its stub_info (a system call clobbers rcx and r11, so
 * they are free).  The frame, downwards from FIXED_STACK:
 *
 *	-16 eflags  -24 r9  -32 r8  -40 r10  -48 rdx  -56 rsi  -64 rdi  -72 rax  -80 stub_info  -88 rbx ... -128 r15
 *
 * which is struct frame of hook.h.  The program's stack is not touched: it may be tiny, and there is the red zone.
 * The other registers are kept by C (-mgeneral-regs-only: no vector register is used).
 */
#include "abi/buffer.h"

	.section .head, "ax"
	.quad	hook_record, hook_replay, hook_cpuid, hook_tsc_record, hook_tsc_replay, hook_flow, hook_tsc_flow, hook_fault, block_checked, block_made, block_not_made, token_wait_after

	.text
	.macro	enter
	mov	$(FIXED_STACK - 8), %rsp
	pushfq
	cld
	push	%r9
	push	%r8
	push	%r10
	push	%rdx
	push	%rsi
	push	%rdi
	push	%rax
	push	%rcx
	mov	%rsp, %rdi
	.endm

/* A fault in C leaves it wherever it was: then these are needed. */
	.macro	keep
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	.endm

	.globl	hook_record, hook_replay
hook_record:
	enter
	keep
	call	buf_record
	cmp	$1, %eax
	jb	hook_fault
	ja	hook_block
hook_recorded:
	mov	$(FIXED_STACK - 80), %rsp
hook_done:
	pop	%rcx
	mov	STUB_CONT(%rcx), %rax
	jmp	leave

/* In recording and in replay: every conditional branch is taken, or not, in both. */
hook_flow:
	enter
	keep
	call	buf_flow
	test	%eax, %eax
	jz	hook_fault
	mov	%eax, %eax
	call	*%rax
	jmp	hook_recorded

/* It may sleep, while others use this stack: on one of its own. */
hook_block:
	mov	FIXED_STATE + STATE_BLOCK_STACK, %rsp
	mov	$(FIXED_STACK - 80), %edi
	call	buf_block
	test	%eax, %eax
	jz	hook_fault
	jmp	hook_recorded

/* A stop; rax, rdi: a call that is not made. */
	.globl	token_wait
token_wait:
	mov	$24, %eax
	syscall
token_wait_after:
	ret

/*
 * int64_t block_call(uint64_t nr, const uint64_t *args, const uint64_t *trap): the call that sleeps, unless *trap.
 * A signal that strikes between the look at *trap and the system call must not get lost (struct blob_head).
 */
	.globl	block_call
block_call:
	mov	%rdi, %rax
	mov	%rsi, %r11
	mov	%rdx, %rcx
	mov	(%r11), %rdi
	mov	8(%r11), %rsi
	mov	16(%r11), %rdx
	mov	24(%r11), %r10
	mov	32(%r11), %r8
	mov	40(%r11), %r9
	cmpq	$0, (%rcx)
block_checked:
	jne	block_not_made
	mov	$FIXED_UNTRACED, %ecx
	call	*%rcx
block_made:
	ret
block_not_made:
	mov	$-1133, %rax		/* BUF_WOULD_BLOCK */
	ret

hook_replay:
	enter
	call	buf_replay
	test	%eax, %eax
	jz	hook_traced
	call	*%rax		/* a `ret', or an int3: buf_behind() */
	jmp	hook_done

	.globl	hook_fault
hook_fault:
	mov	$(FIXED_STACK - 128), %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
hook_traced:
	pop	%rcx
	mov	STUB_TRACED(%rcx), %rax
leave:
	mov	%rax, FIXED_STATE + STATE_JUMP
	mov	STUB_AFTER(%rcx), %rcx
	mov	(FIXED_STACK - 16), %r11
	test	$0x40500, %r11d		/* AC, DF, TF */
	jnz	1f
	mov	%r11d, %eax		/* popfq takes 20 cycles and more, this a few */
	mov	%al, %ah
	bt	$11, %r11d
	setc	%al
	add	$0x7f, %al		/* OF */
	sahf				/* SF, ZF, AF, PF, CF */
	jmp	2f
1:	pushq	(FIXED_STACK - 16)
	popfq
2:	pop	%rax
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%r10
	pop	%r8
	pop	%r9
	mov	FIXED_STATE + STATE_RSP, %rsp
	jmp	*FIXED_STATE + STATE_JUMP

/*
 * cpuid and rdtsc: every register is the program's here, so the stub has switched stacks and pushed rcx:
 *
 *	-8 rcx  -16 eflags  -24 rdx  -32 rbx  -40 rax  -48 r11 ... -88 rdi  -96 stub_info
 *
 * (struct cpuid_frame).  What the table does not know traps in the stub.
 */
	.macro	enter_trap
	pushfq
	cld
	push	%rdx
	push	%rbx
	push	%rax
	push	%r11
	push	%r10
	push	%r9
	push	%r8
	push	%rsi
	push	%rdi
	push	%rcx
	mov	%rsp, %rdi
	.endm

hook_cpuid:
	enter_trap
	call	buf_cpuid
	jmp	trap_leave

hook_tsc_record:
	enter_trap
	call	buf_tsc_record
	jmp	trap_leave

hook_tsc_flow:
	enter_trap
	call	buf_tsc_flow
	test	%eax, %eax
	jz	trap_leave
	mov	%eax, %eax
	call	*%rax
	jmp	trap_leave

hook_tsc_replay:
	enter_trap
	call	buf_tsc_replay
	test	%eax, %eax
	jz	trap_leave
	call	*%rax		/* which leaves eax as it is: not 0 */
trap_leave:
	pop	%rcx
	test	%eax, %eax
	mov	STUB_CONT(%rcx), %rax
	jnz	1f
	mov	STUB_TRACED(%rcx), %rax
1:	mov	%rax, FIXED_STATE + STATE_JUMP
	pop	%rdi
	pop	%rsi
	pop	%r8
	pop	%r9
	pop	%r10
	pop	%r11
	pop	%rax
	pop	%rbx
	pop	%rdx
	popfq
	pop	%rcx
	mov	FIXED_STATE + STATE_RSP, %rsp
	jmp	*FIXED_STATE + STATE_JUMP
