/*
 * plan.c - what a call writes, by the table (abi/syscalls.def), and the copies of it.
 */
#include "syscallbuf/hook.h"

enum { E_FAULT = 14 };

void plan_touch(uint64_t addr, uint64_t len)
{
	uint64_t last = addr + len - 1;

	for (uint64_t at = addr; ; at = (at | 4095) + 1) {
		__asm__ volatile("lock orb $0, %0" : "+m"(*(char *)(uintptr_t)at));
		if ((at >> 12) == (last >> 12))
			break;
	}
}

/*
 * flow.c: a record's bytes are where the kernel wrote them, for in replay they are there before the
 * call.  So all but the last output are kept whole, with what the program had there behind what the
 * kernel writes; and there is nothing between them.
 */
enum { WHOLE_MAX = 512 };

static int is_in_place(const struct sys_span *s, int last)
{
#ifdef ONE_FLOW
	return (s->dir & D_OUT) && s->at < 6 && (last || s->cap <= WHOLE_MAX);
#else
	(void)s;
	(void)last;
	return 1;
#endif
}

static int is_whole(const struct plan *p, unsigned i)
{
#ifdef ONE_FLOW
	return i + 1 < p->sys.n;
#else
	(void)p;
	(void)i;
	return 0;
#endif
}

int plan_list(struct plan *p, uint64_t nr, const uint64_t *args, int skip)
{
	unsigned n = 0;

	p->sys = (struct sys_plan){ .max = SPANS, .span = p->span };
	p->outs = 0;
	p->room = 0;
	if (sys_plan_entry(&p->sys, nr, args, peek, 0) || p->sys.unknown)
		return 0;
	for (unsigned i = 0; i < p->sys.n; i++) {
		struct sys_span *s = &p->span[i];

		if (skip >= 0 && s->at == (uint64_t)skip)
			continue;
		if (sys_pinned(s->len_kind) || s->cap > BUF_SPAN_MAX || s->addr >= 1ull << 47)
			return 0;
		if (!is_in_place(s, i + 1 == p->sys.n))
			return 0;
		p->outs += (s->dir & D_OUT) != 0;
		p->room += up8(s->cap);
		p->span[n++] = *s;
	}
	p->sys.n = n;
	return 1;
}

static uint64_t copy_of(const struct plan *p, unsigned upto, uint64_t at)
{
	for (unsigned i = 0; i < upto; i++) {
		if (at >= p->home[i] && at + 8 <= p->home[i] + p->span[i].cap)
			return p->span[i].addr + (at - p->home[i]);
	}
	return 0;
}

int plan_redirect(struct plan *p, uint64_t *args, uint64_t at)
{
	for (unsigned i = 0; i < p->sys.n; i++) {
		if (p->span[i].dir & D_OUT)
			plan_touch(p->span[i].addr, p->span[i].cap);
	}
	for (unsigned i = 0; i < p->sys.n; i++) {
		struct sys_span *s = &p->span[i];

		p->home[i] = s->addr;
		s->addr = at;
		at += up8(s->cap);
		if ((s->dir & D_IN) || is_whole(p, i))
			copy_input((void *)(uintptr_t)s->addr,
				   (const void *)(uintptr_t)p->home[i], s->cap);
		if (s->at < 6) {
			args[s->at] = s->addr;
		} else {
			uint64_t word = copy_of(p, i, s->at);

			if (!word)
				return 0;
			*(uint64_t *)(uintptr_t)word = s->addr;
		}
	}
	return 1;
}

void plan_lengths(struct plan *p, uint64_t nr, const uint64_t *args, int64_t ret)
{
	if (p->outs && sys_plan_exit(&p->sys, nr, args, ret, peek, 0)) {
		for (unsigned i = 0; i < p->sys.n; i++)
			p->span[i].len = ret == -E_FAULT ? 0 : p->span[i].cap;
	}
	for (unsigned i = 0; i < p->sys.n; i++) {
		if (is_whole(p, i))
			p->span[i].len = p->span[i].cap;
	}
}

void plan_bring_home(struct plan *p, uint64_t *words, char *bytes)
{
	/* pointers inside what the kernel wrote as a whole (msghdr) */
	for (unsigned i = 0; i < p->sys.n; i++) {
		uint64_t word = p->span[i].at < 6 ? 0 : copy_of(p, i, p->span[i].at);

		if (word)
			*(uint64_t *)(uintptr_t)word = p->home[i];
	}
	for (unsigned i = 0; i < p->sys.n; i++) {
		struct sys_span *s = &p->span[i];

		if (!(s->dir & D_OUT))
			continue;
		*words++ = p->home[i] | s->len << BUF_SPAN_SHIFT;
		copy((void *)(uintptr_t)p->home[i], (const void *)(uintptr_t)s->addr, s->len);
		if (bytes != (char *)(uintptr_t)s->addr)
			copy(bytes, (const void *)(uintptr_t)s->addr, s->len);
		bytes += up8(s->len);
	}
}

uint64_t plan_out_bytes(const struct plan *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->sys.n; i++) {
		if (p->span[i].dir & D_OUT)
			sum += up8(p->span[i].len);
	}
	return sum;
}
