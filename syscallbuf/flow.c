/*
 * flow.c - the hook where branches are counted: record.c and plan.c once more, such that recording
 * and replay run the very same code and go the same way in it (abi/buffer.h).
 *
 * A hardware counter counts in the hook as anywhere else, and a point in time is named by what it
 * counted.  Not here: calls whose outputs are not side by side (readv, recvmsg), filters that look
 * at arguments, sleeping: they are traced.
 */
#define ONE_FLOW
#include "syscallbuf/plan.c"
#include "syscallbuf/record.c"

static uint64_t counter_here(const struct cpuid_frame *f)
{
	const uint64_t at = f->stub->flags & STUB_TSCP ? FIXED_TSCP : FIXED_TSC;
	uint32_t lo = 0, hi = 0;

	__asm__ volatile("call *%[at]" : "+a"(lo), "+d"(hi) : [at] "r"(at) : "rcx", "memory");
	return (uint64_t)hi << 32 | lo;
}

/* As buf_tsc_record(), but each value has a record of its own: runs are appended to. */
int buf_tsc_flow(struct cpuid_frame *f)
{
	struct buf_state *s = state();
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	struct buf_record new = {
		.nr = BUF_NR_TSC, .head = sizeof(*r), .size = sizeof(*r)
	};

	if (!is_open(s) || ((f->stub->flags & STUB_TSCP) && observe(s->cpu_asked)))
		return 0;
	if (observe(s->tsc_traps & !s->tsc_open)) {
		if (!observe(s->tsc_left != 0) ||
		    own_call(NR_prctl, SET_TSC, TSC_ENABLE, 0) != 0)
			return 0;
		new.ret = (int64_t)observe(counter_here(f));
		own_call(NR_prctl, SET_TSC, TSC_SIGSEGV, 0);
		s->tsc_left--;
	} else {
		new.ret = (int64_t)observe(counter_here(f));
	}
	f->rax = (uint32_t)new.ret;
	f->rdx = (uint64_t)new.ret >> 32;
	if (f->stub->flags & STUB_TSCP)
		f->rcx = 0;
	return done(s, &f->rdi, r, &new);
}
