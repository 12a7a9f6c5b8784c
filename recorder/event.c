/*
 * event.c - build one event of the trace and write it.
 *
 * Effects are collected in rec->effect while a stop is handled; their bytes live in a small
 * arena until rec_write() hands all of it to the trace and drops it.  A failing trace
 * (disk full) ends the recording, never the program: the error is kept and every later
 * write does nothing.
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

enum { ARENA_BLOCK = 256 << 10 };

void *rec_alloc(struct recorder *rec, size_t len)
{
	struct rec_arena *a = rec->arena;

	len = (len + 15) & ~(size_t)15;
	if (!a || a->size - a->used < len) {
		size_t size = len > ARENA_BLOCK ? len : ARENA_BLOCK;

		a = alloc_more(NULL, 1, sizeof(*a) + size, "one event");
		*a = (struct rec_arena){ (unsigned char *)(a + 1), 0, size, rec->arena };
		rec->arena = a;
	}
	a->used += len;
	return a->base + a->used - len;
}

/* Keep one block of ordinary size. */
static void arena_reset(struct recorder *rec)
{
	struct rec_arena *keep = NULL;

	while (rec->arena) {
		struct rec_arena *a = rec->arena;

		rec->arena = a->next;
		if (!keep && a->size == ARENA_BLOCK) {
			keep = a;
			keep->used = 0;
			keep->next = NULL;
		} else {
			free(a);
		}
	}
	rec->arena = keep;
}

struct trace_effect *rec_effect(struct recorder *rec, enum trace_effect_kind kind)
{
	struct trace_effect *e;

	if (rec->effects == rec->effects_size) {
		unsigned size = rec->effects_size * 2 + 64;

		e = alloc_more(rec->effect, size, sizeof(*e), "effects");
		rec->effect = e;
		rec->effects_size = size;
	}
	e = &rec->effect[rec->effects++];
	*e = (struct trace_effect){ .kind = kind };
	return e;
}

void rec_effect_memory(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len)
{
	struct trace_effect *e;
	void *bytes;
	size_t n;

	if (!len)
		return;
	bytes = rec_alloc(rec, len);
	n = tracee_read_some(t->tid, addr, bytes, len);
	if (!n)
		return;
	e = rec_effect(rec, TRACE_WRITE);
	e->addr = addr;
	e->len = n;
	e->data = bytes;
	e->data_len = n;
}

void rec_effect_regs(struct recorder *rec, const struct regs *regs)
{
	struct trace_effect *e = rec_effect(rec, TRACE_REGS);
	struct regs *copy = rec_alloc(rec, sizeof(*copy));

	*copy = *regs;
	e->data = copy;
	e->data_len = sizeof(*copy);
}

void rec_effect_xstate(struct recorder *rec, struct rec_task *t)
{
	void *buf = rec_alloc(rec, TRACEE_XSTATE_MAX);
	struct trace_effect *e;
	size_t len;
	struct err *err = tracee_xstate_get(t->tid, buf, &len);

	if (err) {
		err_free(err);
		return;
	}
	if (cpu_emulates()) {
		xsave_layout here;
		void *as = rec_alloc(rec, TRACEE_XSTATE_MAX);

		xsave_layout_here(here);
		xsave_convert(here, buf, len, rec->meta.xsave_part, as, TRACEE_XSTATE_MAX, &len);
		buf = as;
	}
	e = rec_effect(rec, TRACE_XSTATE);
	e->data = buf;
	e->data_len = len;
}

void rec_effect_siginfo(struct recorder *rec, int sig, const siginfo_t *info,
			enum trace_signal_fate fate)
{
	struct trace_effect *e = rec_effect(rec, TRACE_SIGINFO);
	siginfo_t *copy = rec_alloc(rec, sizeof(*copy));

	*copy = *info;
	e->x = (uint64_t)sig;
	e->y = fate;
	e->data = copy;
	e->data_len = sizeof(*copy);
}

void rec_effect_ret(struct recorder *rec, uint64_t ret)
{
	rec_effect(rec, TRACE_RET)->x = ret;
}

/* What path arguments said, for people who read a dump. */
void rec_effect_strings(struct recorder *rec, struct rec_task *t)
{
	const struct rec_call *call = &t->call;
	char *text = NULL;

	for (unsigned i = 0; call->row && i < 6; i++) {
		struct trace_effect *e;

		if (call->row->arg[i].what != W_STR || !call->args[i])
			continue;
		text = rec_alloc(rec, 256);
		tracee_read_string(t->tid, call->args[i], text, 256);
		e = rec_effect(rec, TRACE_STR);
		e->x = i;
		e->data = text;
		e->data_len = strlen(text);
		if (!e->data_len)
			e->data = NULL;
	}
}

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
	rec->effects = 0;
	arena_reset(rec);
}

void rec_pending_save(struct recorder *rec, struct rec_pending *saved)
{
	*saved = (struct rec_pending){ rec->effect, rec->effects, rec->effects_size, rec->arena };
	rec->effect = NULL;
	rec->effects = rec->effects_size = 0;
	rec->arena = NULL;
}

void rec_pending_restore(struct recorder *rec, const struct rec_pending *saved)
{
	free(rec->effect);
	arena_reset(rec);
	free(rec->arena);
	rec->effect = saved->effect;
	rec->effects = saved->effects;
	rec->effects_size = saved->effects_size;
	rec->arena = saved->arena;
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
}

/* Another maker's processor leaves other flags where instructions leave them undefined (tests). */
static void emulate_flags(struct regs *regs)
{
	enum { AF = 0x10 };

	if (regs->r11 == regs->eflags)
		regs->r11 ^= AF;
	regs->eflags ^= AF;
}

/* What it has in memory may be the new program's already, of which replay has not heard. */
static bool in_exec(const struct rec_task *t)
{
	return t->in_syscall && (t->call.nr == SYS_execve || t->call.nr == SYS_execveat);
}

void rec_write(struct recorder *rec, struct rec_task *t, enum trace_event_kind kind,
	       enum trace_place place, const struct regs *regs, int64_t ret)
{
	struct trace_event ev = { .kind = kind, .place = place, .nr = -1, .ret = ret };

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
	if (!(kind == TRACE_NOTE && in_exec(t)) && kind != TRACE_EXIT &&
	    kind != TRACE_SYSCALL_ENTER && kind != TRACE_SWITCH && kind != TRACE_CALLS &&
	    /* there the task is not where replay has it */
	    (kind != TRACE_SIGNAL || place != TRACE_AT_NOWHERE))
		rec_sums(rec, t);
	if (kind != TRACE_NOTE)
		rec_ticks_restart(t);
	ev.time_ns = now_ns() - rec->start_ns;
	ev.task = t->serial;
	if (regs && ev.kind != TRACE_SYSCALL_EXIT)
		ev.regs = *regs;
	if (regs && cpu_emulated()->flags)
		emulate_flags(&ev.regs);
	ev.effects = rec->effect;
	ev.effects_len = rec->effects;
	if (kind != TRACE_CALLS)
		rec->last_event_ns = ev.time_ns;
	event_submit(rec, &ev);
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

bool rec_is_scratch(const struct rec_mm *mm, const struct tracee_map *m)
{
	for (const struct rec_scratch *s = mm->scratch; s; s = s->next) {
		if (m->start < s->addr + s->len && m->end > s->addr)
			return true;
	}
	return false;
}

bool rec_sum_wanted(const struct rec_mm *mm, const struct tracee_map *m)
{
	if (rec_is_scratch(mm, m) || rec_is_outside(mm, m))
		return false;
	if (m->start >= FIXED_PAGE && m->start < FIXED_END)
		return false;
	if (m->name[0] == '[' && (!strncmp(m->name, "[vvar", 5) || !strcmp(m->name, "[vsyscall]")))
		return false;
	return (m->prot & PROT_READ) && ((m->prot & PROT_WRITE) || m->inode == 0);
}

static void sums_collect(struct recorder *rec, struct rec_task *t, const struct tracee_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];

		if (!rec_sum_wanted(t->mm, m) || !rec_map_readable(t, m))
			continue;
		if (rec->witness && strstr(m->name, rec->witness))
			rec_effect_memory(rec, t, m->start, m->end - m->start);
		if (rec->witness && rec->effects && rec->effect[rec->effects - 1].addr == m->start)
			rec->effect[rec->effects - 1].kind = TRACE_WITNESS;
		rec_effect_sum(rec, t, m, m->inode != 0 || m->shared);
	}
}

void rec_sums(struct recorder *rec, struct rec_task *t)
{
	uint64_t start = now_ns();
	struct tracee_maps maps;
	struct err *err;

	if (rec->options->sums == SUMS_NONE || !rec->started || t->exiting || rec->no_sums ||
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

bool rec_warn_once(struct recorder *rec, uint64_t key)
{
	for (unsigned i = 0; i < rec->warned_n; i++) {
		if (rec->warned[i] == key)
			return false;
	}
	if (rec->warned_n == WARNED_MAX)
		return false;
	rec->warned[rec->warned_n++] = key;
	return true;
}
