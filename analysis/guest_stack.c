/*
 * guest_stack.c - frames of Lua, Python and JavaScript in the stacks that leaks tells.
 *
 * Stacks of allocations are native ones, each kept once: that is what probes can tell apart.  The
 * frames of a language are looked at where the process stands; for an allocation it goes there once
 * more, for the leaks that come first.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "guests/guests.h"

enum { LEAKS_MOST = 100 };

struct guest_stacks {
	struct guests *guests;
	struct session *s;
	int tid;			/* whose memory is read */
};

static size_t read_guest(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct guest_stacks *k = ctx;

	return replay_memory(k->s->r, k->tid, addr, buf, len);
}

static struct guest_stacks *stacks_of(struct session *s)
{
	struct guests_options o = { .read = read_guest, .symbols = s->sym };

	if (s->guests)
		return s->guests;
	s->guests = must(calloc(1, sizeof(*s->guests)));
	s->guests->s = s;
	o.ctx = s->guests;
	err_free(guests_create(&o, &s->guests->guests));
	return s->guests;
}

void guest_stacks_close(struct session *s)
{
	if (!s->guests)
		return;
	guests_destroy(s->guests->guests);
	free(s->guests);
	s->guests = NULL;
}

static char *copy(const char *text)
{
	return text ? must(strdup(text)) : NULL;
}

static void frame_add(struct leaks_stack *st, const struct leaks_frame *f)
{
	st->frame = must(realloc(st->frame, (st->n + 1) * sizeof(*st->frame)));
	st->frame[st->n] = *f;
	st->frame[st->n].function = copy(f->function);
	st->frame[st->n].file = copy(f->file);
	st->frame[st->n++].module = copy(f->module);
}

static void host_add(struct session *s, const struct guests_frame *f, uint64_t pc,
		     struct leaks_stack *ret)
{
	struct symbols_frame name[SYMBOLS_FRAMES_MAX];
	bool jit;
	size_t n = session_names(s, f->address, replay_where(s->r), name, &jit);

	for (size_t i = 0; i < n; i++)
		frame_add(ret, &(struct leaks_frame){ .function = name[i].function,
						      .file = name[i].file,
						      .module = name[i].module,
						      .line = name[i].line,
						      .inlined = name[i].inlined,
						      .jit = jit,
						      .pc = pc });
}

void guest_stack(struct session *s, int tid, const struct regs *regs, bool skip_allocator,
		 struct leaks_stack *st)
{
	struct guest_stacks *k = stacks_of(s);
	struct leaks_stack merged = { 0 };
	struct guests_stack found;
	struct symbols_regs sr;
	struct regs now;
	struct err *err = NULL;

	if (regs)
		now = *regs;
	else
		err = replay_regs(s->r, tid, &now);
	if (err || !k->guests) {
		err_free(err);
		return;
	}
	k->tid = tid;
	symbols_regs_from(&now, &sr);
	guests_unwind(k->guests, &sr, &found);
	if (!found.guest_frames)
		return;
	for (size_t i = 0; i < found.frames; i++) {
		const struct guests_frame *f = &found.frame[i];

		if (f->kind == GUESTS_HOST_FRAME) {
			if (!f->machinery && (!skip_allocator || f->host))
				host_add(s, f, found.host[f->host].pc, &merged);
			continue;
		}
		frame_add(&merged, &(struct leaks_frame){ .function = f->function,
							  .file = f->file,
							  .line = f->line,
							  .inlined = f->kind == GUESTS_INLINED,
							  .guest = true });
	}
	leaks_stack_free(st);
	*st = merged;
}

/* ---- allocations ----------------------------------------------------------------------------- */

static bool runs_guest(struct session *s, const struct leaks_stack *st)
{
	struct guest_stacks *k = stacks_of(s);

	for (size_t i = 0; k->guests && i < st->n; i++)
		if (st->frame[i].pc && guests_has_code(k->guests, st->frame[i].pc - 1))
			return true;
	return false;
}

static int by_born(const void *a, const void *b)
{
	const struct leaks_leak *const *x = a, *const *y = b;

	return (*x)->alloc_clock < (*y)->alloc_clock ? -1 : (*x)->alloc_clock > (*y)->alloc_clock;
}

struct err *guest_allocations(struct session *s, struct leaks *found)
{
	struct leaks_leak *list[LEAKS_MOST];
	struct err *err = NULL;
	size_t n = 0;

	for (size_t i = 0; i < found->n && n < LEAKS_MOST; i++)
		if (found->leak[i].alloc_clock && runs_guest(s, &found->leak[i].alloc.stack))
			list[n++] = &found->leak[i];
	if (!n)
		return NULL;
	qsort(list, n, sizeof(*list), by_born);
	replay_probes_quiet(s->r);
	err = session_restore(s, s->start);
	for (size_t i = 0; i < n && !err; i++) {
		session_progress(s, "lines", i, n);
		err = session_goto(s, NULL, 0, list[i]->alloc_clock);
		if (!err && replay_clock(s->r) == list[i]->alloc_clock) {
			err_free(session_refresh(s));
			guest_stack(s, replay_current(s->r), NULL, true, &list[i]->alloc.stack);
		}
	}
	return err;
}
