/*
 * jit_find.c - what was at an address at an event, and who wrote it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/jit_log.h"

const struct jit_function *jit_functions(const struct jit_log *l, size_t *n_ret)
{
	*n_ret = l->functions;
	return l->function;
}

const struct jit_object *jit_objects(const struct jit_log *l, size_t *n_ret)
{
	*n_ret = l->objects;
	return l->object;
}

int jit_pid(const struct jit_log *l)
{
	return l->pid;
}

uint64_t jit_event(const struct jit_log *l)
{
	return replay_where(l->r);
}

static const struct jit_function *sorting;

static int start_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sorting[x].start != sorting[y].start)
		return sorting[x].start < sorting[y].start ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void sort_by_start(struct jit_log *l)
{
	uint64_t end = 0;

	if (l->sorted == l->functions)
		return;
	l->by_start = jit_sure(realloc(l->by_start, l->functions * sizeof(*l->by_start)));
	l->end = jit_sure(realloc(l->end, l->functions * sizeof(*l->end)));
	for (size_t i = 0; i < l->functions; i++)
		l->by_start[i] = (uint32_t)i;
	sorting = l->function;
	qsort(l->by_start, l->functions, sizeof(*l->by_start), start_compare);
	for (size_t i = 0; i < l->functions; i++) {
		const struct jit_function *f = &l->function[l->by_start[i]];

		end = f->end > end ? f->end : end;
		l->end[i] = end;
	}
	l->sorted = l->functions;
}

/* Born by then; of several the youngest.  least: died at this event or later. */
static const struct jit_function *find(const struct jit_log *log, uint64_t addr, uint64_t event,
				       uint64_t least)
{
	struct jit_log *l = (struct jit_log *)log;
	const struct jit_function *best = NULL;
	size_t lo = 0, hi = l->functions;

	sort_by_start(l);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->function[l->by_start[mid]].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo && l->end[lo - 1] > addr; lo--) {
		const struct jit_function *f = &l->function[l->by_start[lo - 1]];

		if (addr < f->end && event >= f->birth && f->death >= least && (!best || f > best))
			best = f;
	}
	return best;
}

const struct jit_function *jit_at(const struct jit_log *l, uint64_t addr, uint64_t event)
{
	return find(l, addr, event, event + 1);
}

const struct jit_function *jit_last(const struct jit_log *l, uint64_t addr, uint64_t event)
{
	return find(l, addr, event, 0);
}

const struct jit_function *jit_around(const struct jit_log *l, uint64_t addr, uint64_t event)
{
	return find(l, addr, event, event);
}

size_t jit_function_frames(struct jit_log *l, const struct jit_function *f, uint64_t addr,
			   struct symbols_frame *ret, size_t max)
{
	size_t n = f->origin == JIT_OBJECT
			   ? symbols_jit_lookup(l->sym, l->object[f->object].id, addr, ret, max)
			   : 0;

	if (n && ret[n - 1].function)
		return n;
	ret[0] = (struct symbols_frame){ .function = f->name,
					 .file = f->file,
					 .line = f->line,
					 .start = f->start,
					 .size = f->end - f->start,
					 .jit = true,
					 .source = SYMBOLS_JIT };
	return 1;
}

uint64_t jit_written(const struct jit_log *l)
{
	return l->written;
}

const char *jit_maps(const struct jit_log *l)
{
	return l->maps;
}

size_t jit_frames(struct jit_log *l, uint64_t addr, struct symbols_frame *ret, size_t max)
{
	return symbols_lookup(l->sym, addr, ret, max);
}

struct err *jit_writer(struct jit_log *l, uint64_t addr, uint64_t *event_ret, char *function_ret,
		       size_t size)
{
	struct symbols_frame f[16];
	struct replay_stop stop;
	struct regs regs;
	int tid = jit_any_task(l);
	uint8_t byte;
	size_t n;

	if (!tid)
		return err_new(ERR_USAGE, "process %d does not live at event %" PRIu64, l->pid,
			       replay_where(l->r));
	if (!replay_memory(l->r, tid, addr, &byte, 1))
		return err_new(ERR_USAGE, "there is no memory at 0x%" PRIx64, addr);
	/* Nothing else is a stop now. */
	TRY(replay_catch_calls(l->r, l->pid, (const uint64_t[REPLAY_CALLS / 64]){ 0 }, false,
			       false));
	TRY(replay_breaks(l->r, NULL, 0));
	/* A byte of an instruction may be what was there before; sixteen are not. */
	TRY(replay_last_write(l->r, tid, addr & ~15ull, 16, &stop));
	*event_ret = replay_where(l->r);
	*function_ret = 0;
	if (stop.kind == REPLAY_STOP_BEGIN)
		return err_new(ERR_USAGE, "nothing in the recording wrote to 0x%" PRIx64, addr);
	TRY(replay_regs(l->r, replay_current(l->r), &regs));
	TRY(jit_maps_read(l));
	TRY(symbols_set_maps_text(l->sym, l->maps));
	n = symbols_lookup(l->sym, regs.rip, f, 16);
	if (n && f[0].function)
		snprintf(function_ret, size, "%s", f[0].function);
	return NULL;
}
