/*
 * event.c - write one event of the trace, with the effects that effect.c has collected.
 *
 * A failing trace (disk full) ends the recording, never the program: the error is kept and every
 * later write does nothing.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/alloc.h"
#include "recorder/internal.h"
#include "tracee/level.h"

void rec_trace_failed(struct recorder *rec, struct err *err)
{
	log_warn("%s", err->msg);
	rec->write_error = err;
	rec->failed = true;
}

static void event_submit(struct recorder *rec, struct trace_event *ev)
{
	struct err *err = rec->failed ? NULL : trace_writer_event(rec->writer, ev);

	bug_context.event = ev->n;
	if (err)
		rec_trace_failed(rec, err);
	rec_effects_drop(rec);
}

void rec_write_enter(struct recorder *rec)
{
	struct rec_task *t = rec->entered;
	struct trace_event ev = { .kind = TRACE_SYSCALL_ENTER, .nr = -1 };
	struct rec_pending others;

	rec->entered = NULL;
	if (!t || t->enter_written)
		return;
	t->enter_written = true;
	rec->in_event++;
	rec_pending_save(rec, &others);	/* somebody's effects may be half collected */
	rec_effect_strings(rec, t);
	ev.time_ns = now_ns() - rec->start_ns;
	ev.task = t->serial;
	ev.nr = (int32_t)t->call.nr;
	ev.regs = t->call.entry;
	ev.effects = rec->effect;
	ev.effects_len = rec->effects;
	event_submit(rec, &ev);
	rec_pending_restore(rec, &others);
	rec->in_event--;
}

void rec_emulate_flags(struct regs *regs)
{
	enum { AF = 0x10 };

	if (!cpu_emulated()->flags)
		return;
	if (regs->r11 == regs->eflags)
		regs->r11 ^= AF;
	regs->eflags ^= AF;
}

/*
 * Is the task in an exec?  Its memory may be the new program's already, of which replay has not
 * heard.
 */
static bool in_exec(const struct rec_task *t)
{
	return t->in_syscall && (t->call.nr == SYS_execve || t->call.nr == SYS_execveat);
}

/* sums: those of memory, too, where this kind of event has them. */
static void write_event(struct recorder *rec, struct rec_task *t, enum trace_event_kind kind,
			enum trace_place place, const struct regs *regs, int64_t ret, bool sums)
{
	struct trace_event ev = { .kind = kind, .place = place, .nr = -1, .ret = ret };

	rec->in_event++;
	if (rec->entered && rec->entered != t)
		rec_write_enter(rec);
	if (kind == TRACE_SYSCALL && t->enter_written)
		ev.kind = TRACE_SYSCALL_EXIT;
	if (kind == TRACE_SYSCALL_ENTER)
		ev.nr = (int32_t)t->call.nr;
	if (kind == TRACE_SYSCALL) {
		if (!t->enter_written)
			rec_effect_strings(rec, t);
		rec->entered = NULL;
		ev.nr = (int32_t)t->call.nr;
	}
	if (sums && !(kind == TRACE_NOTE && in_exec(t)) && kind != TRACE_EXIT &&
	    kind != TRACE_SYSCALL_ENTER && kind != TRACE_SWITCH && kind != TRACE_CALLS &&
	    /* there the task is not where replay has it */
	    (kind != TRACE_SIGNAL || place != TRACE_AT_NOWHERE))
		rec_sums(rec, t);
	if (kind != TRACE_NOTE)
		t->ran_ns = 0;
	/* calls of the hook's are on the way to the next event, and their branches with them */
	if (kind != TRACE_NOTE && kind != TRACE_CALLS)
		rec_ticks_restart(t);
	ev.time_ns = now_ns() - rec->start_ns;
	ev.task = t->serial;
	if (regs && ev.kind != TRACE_SYSCALL_EXIT)
		ev.regs = *regs;
	if (regs && place != TRACE_AT_STATE)	/* else it has them already */
		rec_emulate_flags(&ev.regs);
	ev.effects = rec->effect;
	ev.effects_len = rec->effects;
	if (kind != TRACE_CALLS)
		rec->last_event_ns = ev.time_ns;
	event_submit(rec, &ev);
	rec->in_event--;
}

void rec_write(struct recorder *rec, struct rec_task *t, enum trace_event_kind kind,
	       enum trace_place place, const struct regs *regs, int64_t ret)
{
	write_event(rec, t, kind, place, regs, ret, true);
}

void rec_write_between(struct recorder *rec, struct rec_task *t, enum trace_event_kind kind,
		       const struct regs *regs, int64_t ret)
{
	write_event(rec, t, kind, 0, regs, ret, false);
}

/* ---- memory sums --------------------------------------------------------------- */

static void sum_page(void *ctx, uint64_t addr, const void *bytes)
{
	mem_sum_page(ctx, addr / PAGE_BYTES, bytes);
}

void rec_effect_sum(struct recorder *rec, struct rec_task *t, const struct tracee_map *m, bool all)
{
	struct trace_effect *e;

	err_free(rec_map_pages(t, m, sum_page, rec->sum));
	e = rec_effect(rec, TRACE_SUM);
	e->addr = m->start;
	e->len = m->end - m->start;
	e->x = mem_sum_finish(rec->sum);
	e->y = all;
}

static void sums_collect(struct recorder *rec, struct rec_task *t, const struct tracee_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];

		if (!rec_sum_wanted(t->mm, m) || !rec_map_readable(t, m))
			continue;
		if (rec->witness && strstr(m->name, rec->witness))
			rec_effect_witness(rec, t, m->start, m->end - m->start);
		rec_effect_sum(rec, t, m, m->inode != 0 || m->shared);
	}
}

void rec_sums(struct recorder *rec, struct rec_task *t)
{
	uint64_t start = now_ns();
	struct tracee_maps maps;
	struct err *err;

	if (rec->options->sums == SUMS_NONE || !rec->started || t->exiting ||
	    rec_filter_writes(rec, t))
		return;
	/*
	 * As often as costs about a fifth of the run so far (more, and a timer of 1 kHz leaves no
	 * time to compute in); the first hundred always. */
	if (rec->options->sums == SUMS_SOME && rec->sum_events > 100 &&
	    rec->sum_spent_ns > (start - rec->start_ns) / 5)
		return;
	err = tracee_maps_read(t->tid, &maps);
	if (err) {
		err_free(err);
		return;
	}
	sums_collect(rec, t, &maps);
	tracee_maps_deinit(&maps);
	rec->sum_events++;
	rec->sum_spent_ns += now_ns() - start;
}
