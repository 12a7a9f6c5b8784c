/*
 * hook.h - between entry.S and the C of the blob.
 *
 * Freestanding, no data of its own, no library, no vector registers.  An error here is never
 * reported: when in doubt the call goes the traced way.
 */
#ifndef SYSCALLBUF_HOOK_H
#define SYSCALLBUF_HOOK_H

#include "abi/buffer.h"
#include "abi/kernel.h"
#include "abi/syscall.h"

/* The program's registers at the call, as entry.S pushed them. */
struct frame {
	const struct stub_info *stub;
	uint64_t rax, rdi, rsi, rdx, r10, r8, r9, eflags;
};

struct cpuid_frame {
	const struct stub_info *stub;
	uint64_t rdi, rsi, r8, r9, r10, r11, rax, rbx, rdx, eflags, rcx;
};

static inline struct buf_shared *shared(void)
{
	return (struct buf_shared *)(uintptr_t)FIXED_SHARED;
}
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

/*
 * In a build for tests (-DHOOK_LATE, tests/cli/hook_late.sh) now one place takes a while, now
 * another: so that stops strike where they are a matter of nanoseconds else.
 */
static inline void late(uint64_t place)
{
#ifdef HOOK_LATE
	enum { PLACES = 8, SPINS = 600000 };

	if ((state()->pos >> 4) % PLACES != place)
		return;
	for (uint64_t i = 0; i < SPINS; i++)
		__asm__ volatile("");
#else
	(void)place;
#endif
}

#ifdef ONE_FLOW
/* This is flow.c: these are functions of its own. */
#define HOOK		buf_flow
#define plan_touch	flow_plan_touch
#define plan_list	flow_plan_list
#define plan_redirect	flow_plan_redirect
#define plan_lengths	flow_plan_lengths
#define plan_bring_home	flow_plan_bring_home
#define plan_out_bytes	flow_plan_out_bytes

/*
 * Everything that the hook decides by and that is not the program's own goes through here: noted in
 * recording, in replay the word that was noted.  No branch says which of them it is.
 */
static inline uint64_t observe(uint64_t value)
{
	struct buf_state *s = state();
	uint64_t *word = (uint64_t *)(uintptr_t)s->flow;

	__asm__ volatile("" : "+r"(value));	/* it has been computed without a branch on it */
	value = (value & ~s->is_replay) | (*word & s->is_replay);
	*word = value;
	s->flow += 8;
	return value;
}

/* Input of the kernel's into a record.  In replay its output is there already, and stays. */
static inline void copy_input(void *to, const void *from, uint64_t len)
{
	uint64_t m = state()->is_replay;

	from = (const void *)(((uintptr_t)from & ~m) | ((uintptr_t)to & m));
	copy(to, from, len);
}
#else
#define HOOK		buf_record
static inline uint64_t observe(uint64_t value) { return value; }
static inline void copy_input(void *to, const void *from, uint64_t len) { copy(to, from, len); }
#endif

/* The kernel has written these words to memory of the hook's. */
static inline void observe_bytes(void *p, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++)
		((uint64_t *)p)[i] = observe(((uint64_t *)p)[i]);
}

/* 0: make it traced; 1: done, frame->rax is the result; 2: it would sleep, go to buf_block(). */
int buf_record(struct frame *f);
/* 0: make it traced; else what is to be called behind it (buf_behind()). */
uint64_t buf_replay(struct frame *f);
/* Runs alike in recording and in replay: 0, or what is to be called behind it. */
int buf_flow(struct frame *f);
int buf_tsc_flow(struct cpuid_frame *f);
int buf_cpuid(struct cpuid_frame *f);
int buf_tsc_record(struct cpuid_frame *f);
uint64_t buf_tsc_replay(struct cpuid_frame *f);

static inline int64_t untraced(uint64_t nr, const uint64_t a[6])
{
	register uint64_t r10 __asm__("r10") = a[3];
	register uint64_t r8 __asm__("r8") = a[4];
	register uint64_t r9 __asm__("r9") = a[5];
	int64_t ret;

	__asm__ volatile("call *%[fn]"
			 : "=a"(ret)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8),
			   "r"(r9), [fn] "r"((uint64_t)FIXED_UNTRACED)
			 : "rcx", "r11", "memory");
	return (int64_t)observe((uint64_t)ret);
}

static inline int64_t own_call(uint64_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t args[6] = { a, b, c };

	return untraced(nr, args);
}

static inline int peek(void *ctx, uint64_t addr, void *buf, size_t len)
{
	(void)ctx;
	if (addr >= 1ull << 47 || len >= 1ull << 47)
		return -1;
	copy(buf, (const void *)(uintptr_t)addr, len);
	return 0;
}

/* ---- plan.c: what a call writes, and where it is kept --------------------------------------- */

enum { SPANS = 40 };

struct plan {
	struct sys_plan sys;
	struct sys_span span[SPANS];
	uint64_t home[SPANS];
	unsigned outs;
	uint64_t room;		/* bytes taken by all spans */
};

static inline uint64_t up8(uint64_t n) { return (n + 7) & ~7ull; }

/* Every page the kernel may write to, before anything is done. */
void plan_touch(uint64_t addr, uint64_t len);
/* skip: an argument that gets no span, or -1.  0: cannot be done here. */
int plan_list(struct plan *p, uint64_t nr, const uint64_t *args, int skip);
/* The kernel's outputs to `at` and on: changes args. */
int plan_redirect(struct plan *p, uint64_t *args, uint64_t at);
/* After the call: how long each is. */
void plan_lengths(struct plan *p, uint64_t nr, const uint64_t *args, int64_t ret);
/* Results home, and side by side in the record: span words to words, bytes to bytes. */
void plan_bring_home(struct plan *p, uint64_t *words, char *bytes);
uint64_t plan_out_bytes(const struct plan *p);

/* ---- block.c --------------------------------------------------------------------------------- */

/* Its place: state()->block_stack.  As buf_record(); on the place's stack. */
int buf_block(struct frame *f);
/* entry.S */
void token_wait(void);
int64_t block_call(uint64_t nr, const uint64_t *args, const uint64_t *trap);

#endif
