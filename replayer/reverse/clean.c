/*
 * clean.c - intervals of time in which nothing that is watched was written.
 *
 * Checkpoints are forks: a page that was not written between two of them is one page of memory,
 * which both have mapped now.  The kernel tells which it is (pagemap, to whom has CAP_SYS_ADMIN),
 * so a reverse-continue to the last write of a variable need not run what cannot hold it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "replayer/machine/copy.h"
#include "replayer/machine/task.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/loader.h"

/*
 * Documentation/admin-guide/mm/pagemap.rst, Linux 4.2 and on: 0 in the low bits without the right
 * to see it.
 */
enum { PM_PFN_BITS = 55, PM_SWAPPED = 62, PM_PRESENT = 63 };

static int pagemap_open(pid_t real)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)real);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool same_page(int a, int b, uint64_t addr)
{
	uint64_t x, y;

	if (pread(a, &x, 8, (off_t)(addr / PAGE_BYTES * 8)) != 8 ||
	    pread(b, &y, 8, (off_t)(addr / PAGE_BYTES * 8)) != 8)
		return false;
	if (!(x >> PM_PRESENT & 1) || !(y >> PM_PRESENT & 1) || (x >> PM_SWAPPED & 1) ||
	    (y >> PM_SWAPPED & 1))
		return false;
	x &= (1ull << PM_PFN_BITS) - 1;
	y &= (1ull << PM_PFN_BITS) - 1;
	return x && x == y;
}

unsigned rp_pages_written(const struct rp_task *older, const struct rp_task *newer, uint64_t start,
			  uint64_t end, uint64_t *ret, unsigned max)
{
	int x = pagemap_open(older->real), y = pagemap_open(newer->real);
	unsigned n = 0;

	for (uint64_t page = start; page < end && n < max; page += PAGE_BYTES) {
		if (x < 0 || y < 0 || !same_page(x, y, page))
			ret[n++] = page;
	}
	if (x >= 0)
		close(x);
	if (y >= 0)
		close(y);
	return n;
}

static bool watch_clean(const struct rp_task *older, const struct rp_task *newer,
			    const struct replay_break *b)
{
	const struct rp_task *o = rp_task_with_memory(older, b->pid),
			     *n = rp_task_with_memory(newer, b->pid);
	uint64_t page;

	return o && n &&
	       !rp_pages_written(o, n, page_down(b->addr), b->addr + b->len, &page, 1);
}

static bool maps_code(const struct trace_effect *e)
{
	return e->kind == TRACE_UNMAP || e->kind == TRACE_MOVE ||
	       (e->kind == TRACE_MAP && (e->y & 0xff) != TRACE_MAP_ANON);
}

/* Does it stop a debugger by itself, whatever is watched? */
static bool stops(const struct trace_event *ev)
{
	if (ev->kind == TRACE_EXEC || ev->kind == TRACE_EXIT || ev->kind == TRACE_SIGNAL)
		return true;
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (ev->effects[i].kind == TRACE_TASK)
			return true;
	}
	return false;
}

/* ... or may it be about libraries? */
static bool stops_or_maps(const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (maps_code(&ev->effects[i]))
			return true;
	}
	return stops(ev);
}

struct err *rp_events_any(struct replay *r, uint64_t from, uint64_t to,
			  bool (*such)(const struct trace_event *ev), bool *any)
{
	struct trace_event ev;

	*any = false;
	if (from == to)
		return NULL;
	/* an event that is only reached has no name any more; all else is as it was */
	timeline_of(r)->pos_stale |= r->pending;
	/* the reader's memory is about to change, as in stepback.c */
	r->ev_read = r->pending = false;
	TRY(trace_reader_seek(r->reader, from + 1));
	for (uint64_t n = from; n < to && !*any; n++) {
		TRY(trace_reader_next(r->reader, &ev));
		*any = such(&ev);
	}
	return trace_reader_seek(r->reader, r->where + 1);
}

struct err *rp_events_stop(struct replay *r, uint64_t from, uint64_t to, bool *any)
{
	return rp_events_any(r, from, to, stops, any);
}

bool interval_clean_possible(const struct replay *r)
{
	const struct stops *stops = stops_of(r);
	const struct timeline *timeline = timeline_of(r);
	const struct rp_set *s = stops->sets[timeline->user];

	if (timeline->caught_n || !s->watches)
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		const struct rp_task *t = rp_task_with_memory(r->tasks, s->b[i].pid);

		if (s->b[i].kind != REPLAY_WRITE &&
		    !(s->b[i].kind == REPLAY_BREAK && t && rp_solib_place(t, s->b[i].addr)))
			return false;
	}
	return true;
}

struct err *interval_clean(struct replay *r, const struct rp_checkpoint *c,
			   const struct rp_task *newer, uint64_t where, bool *ret)
{
	const struct stops *stops = stops_of(r);
	const struct timeline *timeline = timeline_of(r);
	const struct rp_set *s = stops->sets[timeline->user];
	bool any;

	*ret = false;
	for (unsigned i = 0; i < s->n; i++) {
		if (s->b[i].kind == REPLAY_WRITE &&
		    !watch_clean(c->copy->tasks, newer, &s->b[i]))
			return NULL;
	}
	TRY(rp_events_any(r, c->pos.where, where, stops_or_maps, &any));
	*ret = !any;
	return NULL;
}
