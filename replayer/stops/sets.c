/*
 * sets.c - sets of breakpoints and watchpoints.  They are kept for good: positions name them by
 * number.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replayer/stops/condition.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/stops.h"

bool rp_is_int3(const struct replay_break *b, pid_t pid)
{
	return b->kind <= REPLAY_COUNT && b->pid == pid;
}

static void set_count(const struct stops *stops, struct rp_set *s)
{
	s->watches = s->inprocess = s->counts = 0;
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		s->watches += rp_is_watch(b);
		s->counts += b->kind == REPLAY_COUNT;
		s->inprocess +=
			b->kind == REPLAY_COUNT || (b->kind == REPLAY_BREAK && b->cond && !b->call);
	}
	debug_registers_allocate(stops, s);
}

static int order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct replay_break));
}

unsigned rp_set_intern(struct replay *r, const struct replay_break *b, unsigned n)
{
	struct stops *stops = stops_of(r);
	struct rp_set s = { .b = alloc_zeroed(n + 1, sizeof(*b), "breakpoints") };

	for (unsigned i = 0; i < n; i++) {	/* member by member: padding must compare equal */
		s.b[i].kind =
			b[i].kind == REPLAY_BREAK_HW && !rp_registers() ? REPLAY_BREAK : b[i].kind;
		s.b[i].pid = b[i].pid;
		s.b[i].addr = b[i].addr;
		s.b[i].len = b[i].len;
		s.b[i].cond = b[i].cond;
		s.b[i].call = b[i].call;
		s.b[i].code = b[i].code;
	}
	qsort(s.b, n, sizeof(*b), order);
	for (unsigned i = 0; i < n; i++) {
		if (!s.n || memcmp(&s.b[s.n - 1], &s.b[i], sizeof(*b)))
			s.b[s.n++] = s.b[i];
	}
	for (unsigned i = 0; i < stops->sets_n; i++) {
		if (stops->sets[i]->n == s.n && !memcmp(stops->sets[i]->b, s.b, s.n * sizeof(*b))) {
			free(s.b);
			return i;
		}
	}
	set_count(stops, &s);
	stops->sets = alloc_more(stops->sets, stops->sets_n + 1, sizeof(*stops->sets),
				 "breakpoints");
	stops->sets[stops->sets_n] = alloc_zeroed(1, sizeof(s), "breakpoints");
	*stops->sets[stops->sets_n] = s;
	return stops->sets_n++;
}

unsigned rp_set_union(struct replay *r, unsigned a, unsigned b)
{
	const struct rp_set *x = stops_of(r)->sets[a], *y = stops_of(r)->sets[b];
	struct replay_break *all;
	unsigned ret;

	if (a == b || !y->n)
		return a;
	all = alloc_zeroed(x->n + y->n, sizeof(*all), "breakpoints");
	if (x->n)
		memcpy(all, x->b, x->n * sizeof(*all));
	memcpy(all + x->n, y->b, y->n * sizeof(*all));
	ret = rp_set_intern(r, all, x->n + y->n);
	free(all);
	return ret;
}

bool rp_set_has(const struct rp_set *s, pid_t pid, uint64_t pc)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (!rp_is_watch(&s->b[i]) && s->b[i].addr == pc && s->b[i].pid == pid)
			return true;
	}
	return false;
}

bool rp_set_breaks(const struct replay *r, const struct rp_set *s, const struct rp_task *t)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (!rp_is_watch(b) && b->addr == t->regs.rip && b->pid == t->rec_pid &&
		    inprocess_is_there(t, b) &&
		    (!b->cond || rp_cond_true(&stops_of(r)->conds[b->cond - 1], t->real, &t->regs)))
			return true;
	}
	return false;
}

const struct patch *rp_patch_of_call(const struct rp_mm *mm, uint64_t addr)
{
	for (unsigned i = 0; i < mm->patches.n; i++) {
		if (mm->patches.p[i].addr + mm->patches.p[i].call_at == addr &&
		    mm->patches.p[i].kind == PATCH_SYSCALL)
			return &mm->patches.p[i];
	}
	return NULL;
}
