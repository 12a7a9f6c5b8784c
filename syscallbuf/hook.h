/*
 * hook.h - between entry.S and the C of the blob.
 *
 * Freestanding, no data of its own, no library, no vector registers.  An error here is never reported: when
 * in doubt the call goes the traced way.
 */
#ifndef SYSCALLBUF_HOOK_H
#define SYSCALLBUF_HOOK_H

#include "abi/buffer.h"

/* The program's registers at the call, as entry.S pushed them. */
struct frame {
	const struct stub_info *stub;
	uint64_t rax, rdi, rsi, rdx, r10, r8, r9, eflags;
};

struct cpuid_frame {
	const struct stub_info *stub;
	uint64_t rdi, rsi, r8, r9, r10, r11, rax, rbx, rdx, eflags, rcx;
};

static inline struct buf_state *state(void) { return (struct buf_state *)(uintptr_t)FIXED_STATE; }

static inline void copy(void *to, const void *from, uint64_t len)
{
	if (len <= 256) {
		uint64_t *t = to;
		const uint64_t *f = from;

		for (; len >= 8; len -= 8)
			__builtin_memcpy(t++, f++, 8);
		for (uint64_t i = 0; i < len; i++)
			((volatile char *)t)[i] = ((const char *)f)[i];
		return;
	}
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
}

/* 0: make it traced; 1: done, frame->rax is the result. */
int buf_record(struct frame *f);
/* The same; 2: done, and that was the last record; 3: the call is not the recorded one; 4: done, and needs assistance. */
unsigned buf_replay(struct frame *f);
int buf_cpuid(struct cpuid_frame *f);
int buf_tsc_record(struct cpuid_frame *f);
unsigned buf_tsc_replay(struct cpuid_frame *f);

#endif
