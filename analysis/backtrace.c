/*
 * backtrace.c - goes from moment to moment, and looks at the stacks there.
 *
 * Given events are gone to in order.  Moments that the program makes itself (calls of a function,
 * writes to a descriptor) are stops of one run from the start; a breakpoint for the function is set
 * again whenever a library was mapped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/backtrace.h"
#include "analysis/jit.h"
#include "analysis/program.h"
#include "base/bug.h"
#include "base/log.h"
#include "replayer/replay.h"

enum { TASKS = 512, PLACES = 16 };

struct backtrace {
	const struct backtrace_options *o;
	const char *trace;
	struct replay *r;
	struct symbols *sym;
	struct guests *guests;
	struct jit_view *jit;
	bool jit_tried;
	int pid, tid;			/* tid: whose memory is read */
	char *maps;
	size_t maps_room;
	uint64_t moments;
	bool function_found, over;
	backtrace_fn *fn;
	void *ctx;
};

/* ---- the process ----------------------------------------------------------------------------- */

static size_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct backtrace *b = ctx;

	return replay_memory(b->r, b->tid, addr, buf, len);
}

/* Mappings as they are here; symbols keeps what is the same. */
static struct err *maps_read(struct backtrace *b)
{
	char *text;

	TRY(replay_maps_text(b->r, b->pid, &text));
	if (b->maps && !strcmp(b->maps, text)) {
		free(text);
		return NULL;
	}
	free(b->maps);
	b->maps = text;
	return symbols_set_maps_text(b->sym, text);
}

/* ---- one moment ------------------------------------------------------------------------------ */

/* Native code of no file that no guest explains: names come from what the program told of it. */
static bool jit_wanted(struct backtrace *b, const struct guests_stack *st)
{
	uint64_t bias;

	if (b->jit_tried)
		return false;
	for (size_t i = 0; i < st->frames; i++)
		if (st->frame[i].kind == GUESTS_HOST_FRAME && !st->frame[i].machinery &&
		    st->frame[i].address > 4096 &&
		    !symbols_module_at(b->sym, st->frame[i].address, &bias))
			return true;
	return false;
}

static void jit_find(struct backtrace *b)
{
	struct err *err = jit_view_open(b->trace, b->pid, b->sym, &b->jit);

	b->jit_tried = true;
	if (err)
		log_warn("code that the program made has no names: %s", err->msg);
	err_free(err);
}

static struct err *thread_look(struct backtrace *b, const struct replay_task *t)
{
	struct backtrace_moment m = { .event = replay_where(b->r), .pid = b->pid, .tid = t->tid,
				      .thread = t->name };
	struct symbols_regs regs;
	struct guests_stack st;
	struct regs now;

	TRY(replay_regs(b->r, t->tid, &now));
	b->tid = t->tid;
	symbols_regs_from(&now, &regs);
	if (b->jit)
		jit_view_at(b->jit, m.event);
	guests_unwind(b->guests, &regs, &st);
	if (jit_wanted(b, &st)) {
		jit_find(b);
		if (b->jit)
			jit_view_at(b->jit, m.event);
		guests_unwind(b->guests, &regs, &st);
	}
	m.stack = &st;
	return b->fn(b->ctx, b, &m);
}

/* The thread that stopped, or all of the process. */
static struct err *moment(struct backtrace *b, int tid)
{
	static struct replay_task t[TASKS];
	unsigned n = replay_tasks(b->r, true, t, TASKS), found = 0;
	bool there = false;

	if (n > TASKS)
		n = TASKS;
	for (unsigned i = 0; i < n; i++)
		there |= t[i].pid == b->pid && t[i].tid == tid;
	TRY(maps_read(b));
	for (unsigned i = 0; i < n; i++) {
		if (t[i].pid != b->pid || (!b->o->threads && there && t[i].tid != tid))
			continue;
		if (!b->o->threads && !there && found)
			continue;
		found++;
		TRY(thread_look(b, &t[i]));
	}
	b->moments += found != 0;
	b->over |= b->o->max && b->moments >= b->o->max;
	return NULL;
}

size_t backtrace_names(struct backtrace *b, const struct guests_frame *f,
		       struct symbols_frame *ret, size_t max)
{
	uint64_t bias;
	size_t n;

	if (b->jit && !symbols_module_at(b->sym, f->address, &bias)) {
		n = jit_view_frames(b->jit, f->address, replay_where(b->r), ret, max);
		if (n)
			return n;
	}
	return symbols_lookup(b->sym, f->address, ret, max);
}

struct guests *backtrace_guests(struct backtrace *b)
{
	return b->guests;
}

bool backtrace_locals(struct backtrace *b, const struct guests_frame *f, guests_variable_fn *fn,
		      void *ctx)
{
	return guests_locals(b->guests, f, fn, ctx);
}

/* ---- going there ----------------------------------------------------------------------------- */

static int event_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct err *at_events(struct backtrace *b)
{
	uint64_t *event = malloc((b->o->events + 1) * sizeof(*event));
	struct replay_stop stop;
	struct err *err = NULL;

	if (!event)
		return &err_nomem;
	memcpy(event, b->o->event, b->o->events * sizeof(*event));
	qsort(event, b->o->events, sizeof(*event), event_compare);
	for (size_t i = 0; i < b->o->events && !b->over && !err; i++) {
		err = replay_seek(b->r, event[i], &stop);
		if (!err && replay_where(b->r) != event[i])
			err = err_new(ERR_USAGE, "process %d has no event %" PRIu64
				      ": its last is %" PRIu64, b->pid, event[i],
				      replay_where(b->r));
		if (!err)
			err = moment(b, replay_current(b->r));
	}
	free(event);
	return err;
}

static struct err *function_break(struct backtrace *b)
{
	struct symbols_found found[PLACES];
	struct replay_break at[PLACES];
	size_t n;

	if (!b->o->function)
		return NULL;
	TRY(maps_read(b));
	n = symbols_find(b->sym, b->o->function, SYMBOLS_FUNC, found, PLACES);
	if (n > PLACES)
		n = PLACES;
	for (size_t i = 0; i < n; i++)
		at[i] = (struct replay_break){ .kind = REPLAY_BREAK, .pid = b->pid,
					       .addr = found[i].addr };
	b->function_found |= n != 0;
	return replay_breaks(b->r, at, (unsigned)n);
}

static struct err *calls_catch(struct backtrace *b)
{
	uint64_t nr[REPLAY_CALLS / 64] = { 0 };

	if (b->o->function)
		nr[SYS_mmap / 64] |= 1ull << SYS_mmap % 64;
	if (b->o->write_fd >= 0) {
		nr[SYS_write / 64] |= 1ull << SYS_write % 64;
		nr[SYS_writev / 64] |= 1ull << SYS_writev % 64;
	}
	return replay_catch_calls(b->r, b->pid, nr, false, true);
}

static struct err *at_stop(struct backtrace *b, const struct replay_stop *stop)
{
	struct regs regs;

	switch (stop->kind) {
	case REPLAY_STOP_BREAK:
		return moment(b, stop->tid);
	case REPLAY_STOP_CALL_ENTRY:
		if (stop->call != SYS_write && stop->call != SYS_writev)
			return NULL;
		TRY(replay_regs(b->r, stop->tid, &regs));
		return (int)regs.rdi == b->o->write_fd ? moment(b, stop->tid) : NULL;
	case REPLAY_STOP_CALL_RETURN:
		return stop->call == SYS_mmap ? function_break(b) : NULL;
	case REPLAY_STOP_EXEC:
		guests_reset(b->guests);
		TRY(calls_catch(b));
		return function_break(b);
	case REPLAY_STOP_END:
		b->over = true;
		return NULL;
	case REPLAY_STOP_EXIT:
		b->over |= stop->child_pid == b->pid || !stop->child_pid;
		return NULL;
	default:
		return NULL;
	}
}

static struct err *while_running(struct backtrace *b)
{
	const struct replay_catch c = { .exec = true, .pass_signals = UINT64_MAX };
	struct replay_stop stop;

	replay_catch(b->r, &c);
	TRY(calls_catch(b));
	TRY(function_break(b));
	while (!b->over) {
		TRY(replay_forward(b->r, &stop));
		TRY(at_stop(b, &stop));
	}
	if (b->o->function && !b->function_found)
		return err_new(ERR_USAGE, "the program has no function '%s'", b->o->function);
	return NULL;
}

static struct err *start(struct backtrace *b)
{
	struct symbols_options so = { .open = program_file, .debug_dir = b->o->debug_dir };
	const struct replay_options ro = { 0 };
	struct guests_options go = { .read = read_memory, .ctx = b };
	struct replay_task t[1];

	TRY(replay_open(b->trace, &ro, &b->r));
	so.ctx = b->r;
	TRY(symbols_create(&so, &b->sym));
	go.symbols = b->sym;
	TRY(guests_create(&go, &b->guests));
	TRY(replay_debug_start(b->r, b->o->pid, 0));
	b->pid = b->o->pid;
	if (!b->pid && replay_tasks(b->r, false, t, 1))
		b->pid = t[0].pid;
	if (!replay_shown(b->r, b->pid))
		return err_new(ERR_USAGE, "the recording has no process %d: 'hindsight ps' lists "
			       "them", b->pid);
	return NULL;
}

struct err *backtrace_run(const char *trace, const struct backtrace_options *options,
			  backtrace_fn *fn, void *ctx)
{
	struct backtrace b = { .o = options, .trace = trace, .fn = fn, .ctx = ctx };
	struct err *err = start(&b);

	if (!err)
		err = options->events ? at_events(&b) : while_running(&b);
	jit_view_close(b.jit);
	guests_destroy(b.guests);
	if (b.sym)
		symbols_destroy(b.sym);
	if (b.r)
		replay_close(b.r);
	free(b.maps);
	return err;
}
