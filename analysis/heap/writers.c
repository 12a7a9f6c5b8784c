/*
 * writers.c - who was last to change a field.
 *
 * What the debugger's `last` does, from a second replay that stands at the moment: backwards to
 * the instruction, of any thread, or the system call that changed the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/syscall.h"
#include "analysis/heap/recording.h"
#include "base/library.h"

struct search {
	struct recording *r;
	struct replay *replay;
	struct symbols *sym;
	int pid, tid;
};

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct search *s = ctx;

	return replay_memory(s->replay, s->tid, addr, buf, len) == len;
}

static int task_of(const struct search *s)
{
	static struct replay_task t[THREADS_MAX];
	unsigned n = replay_tasks(s->replay, true, t, THREADS_MAX);
	int any = 0;

	for (unsigned i = 0; i < n && i < THREADS_MAX; i++)
		if (t[i].pid == s->pid && (!any || t[i].tid == s->pid))
			any = t[i].tid;
	return any;
}

/* The instruction, and its first caller with a source line where it has none. */
static struct err *name_it(struct search *s, struct heap_difference *d)
{
	struct symbols_memory mem = { .read = read_memory, .ctx = s };
	struct symbols_pc pc[STACK_MAX];
	struct symbols_regs sr;
	struct heap_writer *w = &d->writer;
	struct regs regs;
	uint8_t code[2] = { 0 };
	char *maps;
	size_t n;

	TRY(replay_regs(s->replay, s->tid, &regs));
	TRY(replay_maps_text(s->replay, s->pid, &maps));
	err_free(symbols_set_maps_text(s->sym, maps));
	free(maps);
	symbols_regs_from(&regs, &sr);
	n = symbols_unwind(s->sym, &sr, &mem, pc, STACK_MAX);
	*w = (struct heap_writer){ .pc = regs.rip };
	if (read_memory(s, regs.rip, code, 2) && code[0] == 0x0f && code[1] == 0x05)
		w->call = sys_name(regs.rax);
	writer_name(s->sym, w, regs.rip);
	if (writer_has_source(w) && !library_is_c(w->module))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct heap_writer outer = *w;

		writer_name(s->sym, &outer, i ? pc[i].lookup : regs.rip);
		if (!writer_has_source(&outer) ||
		    library_is_c(outer.module))
			continue;
		if (!w->call)
			outer.call = w->function;
		*w = outer;
		break;
	}
	return NULL;
}

static struct err *one(struct search *s, struct heap_difference *d)
{
	struct replay_stop stop;

	s->tid = task_of(s);
	TRY(replay_last_write(s->replay, s->tid, d->addr, d->size, &stop));
	if (stop.kind == REPLAY_STOP_BEGIN)
		return NULL;
	d->tid = s->tid = stop.tid ? stop.tid : replay_current(s->replay);
	d->event = replay_where(s->replay);
	d->written = true;
	return name_it(s, d);
}

static struct err *search(struct search *s, struct heap_difference **list, size_t n)
{
	struct replay_point *here;
	struct replay_stop stop;
	struct err *err = NULL;

	TRY(replay_debug_start(s->replay, s->pid, s->r->st.now));
	here = replay_point_here(s->replay);
	err = replay_point_keep(s->replay, here, true);
	for (size_t i = 0; i < n && !err; i++) {
		session_progress(&s->r->j.s, "who wrote it", i, n);
		err = one(s, list[i]);
		if (!err)
			err = replay_point_go(s->replay, here, &stop);
	}
	replay_point_drop(here);
	return err;
}

struct err *writers_find(struct recording *r, struct heap_difference **list, size_t n)
{
	struct replay_options ro = { 0 };
	struct search s = { .r = r, .pid = r->j.s.pid };
	struct err *err;

	TRY(replay_open(r->trace, &ro, &s.replay));
	err = symbols_fork(r->j.s.sym, &s.sym);
	if (!err)
		err = search(&s, list, n);
	replay_close(s.replay);
	if (s.sym)
		symbols_destroy(s.sym);
	return err;
}
