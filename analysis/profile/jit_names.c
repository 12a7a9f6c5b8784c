/*
 * jit_names.c - names of code that the program made itself, when no language's machine explains it.
 *
 * Passes cannot know them: what the program said of its code (GDB's JIT interface, perf map,
 * jitdump) is found by a replay of its own (analysis/jit.c).  So that is made once, when all passes
 * are over and code of no file was seen; then each sample's stack gets the names that held at its
 * event.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/jit.h"
#include "analysis/profile/internal.h"
#include "guests/guests.h"

enum { INLINED_MAX = SYMBOLS_FRAMES_MAX, RARE = 1000 };

static bool is_unnamed(const struct cpuprof *p, uint32_t frame)
{
	const struct cpuprof_frame *f = &p->frame[frame];

	return f->kind == CPUPROF_HOST && !f->function && !f->file && f->address > 4096 &&
	       (!f->module || cpuprof_text(p, f->module)[0] != '/');
}

/* No reason, or one of the native stack's own. */
static bool is_native(const struct cpuprof *p, uint32_t why)
{
	const char *text = why ? cpuprof_text(p, why) : NULL;

	return !text || !strcmp(text, guests_why_text(GUESTS_GUESSED)) ||
	       !strcmp(text, guests_why_text(GUESTS_HOST));
}

/*
 * By stack: does it have such a frame?  *worth: so many samples do that names are worth a replay.
 * A language's machine has some instructions of its own that no table of the machine's explains,
 * and a sample in them is rare.
 */
static bool *stacks_look(const struct cpuprof *p, bool *worth)
{
	bool *ret = alloc_zeroed(p->stacks, sizeof(*ret), "names");
	uint64_t unnamed = 0;

	for (size_t i = 1; i < p->stacks; i++)
		for (uint32_t k = 0; k < p->stack[i].n && !ret[i]; k++)
			ret[i] = is_unnamed(p, p->stack_frame[p->stack[i].first + k]);
	/* Where a language's machine is the reason, the program has not told names either. */
	for (size_t i = 0; i < p->samples; i++)
		if (ret[p->sample[i].stack] && is_native(p, p->sample[i].why))
			unnamed += p->sample[i].weight;
	*worth = unnamed && unnamed * RARE >= p->weight;
	return ret;
}

struct renaming {
	struct cpuprof *p;
	struct jit_log *log;
	uint32_t *frame;		/* of the stack at hand */
	size_t n, room;
};

static void frame_add(struct renaming *r, uint32_t number)
{
	if (r->n == r->room) {
		r->room = r->room ? 2 * r->room : 256;
		r->frame = alloc_more(r->frame, r->room, sizeof(*r->frame), "names");
	}
	r->frame[r->n++] = number;
}

static void frame_name(struct renaming *r, uint32_t number, uint64_t event)
{
	uint64_t address = r->p->frame[number].address;
	const struct jit_function *fn = jit_around(r->log, address, event);
	struct symbols_frame f[INLINED_MAX];
	size_t n = fn ? jit_function_frames(r->log, fn, address, f, INLINED_MAX) : 0;

	if (!n)
		frame_add(r, number);
	for (size_t i = 0; i < n; i++) {
		struct cpuprof_frame frame = { .function = cpuprof_string(r->p, f[i].function),
					       .file = cpuprof_string(r->p, f[i].file),
					       .module = cpuprof_string(r->p, "[jit]"),
					       .line = f[i].line,
					       .address = address,
					       .kind = CPUPROF_HOST,
					       .inlined = f[i].inlined,
					       .jit = true };

		frame_add(r, cpuprof_frame(r->p, &frame));
	}
}

static uint32_t stack_name(struct renaming *r, uint32_t stack, uint64_t event)
{
	/* the arrays move while frames are added */
	uint64_t first = r->p->stack[stack].first;
	uint32_t n = r->p->stack[stack].n;

	r->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = r->p->stack_frame[first + i];

		if (is_unnamed(r->p, number))
			frame_name(r, number, event);
		else
			frame_add(r, number);
	}
	return cpuprof_stack(r->p, r->frame, r->n);
}

struct err *jit_names(const char *trace, const struct cpuprof_options *o, struct cpuprof *p)
{
	struct jit_options jo = { .pid = o->pid, .event = o->to, .quiet = true };
	struct renaming r = { .p = p };
	bool worth, *has = stacks_look(p, &worth);
	struct err *err = NULL;
	size_t n = 0;

	if (worth) {
		if (o->progress)
			o->progress(o->ctx, &(struct cpuprof_sofar){ .naming = true });
		err = jit_collect(trace, &jo, &r.log);
	}
	if (!err && worth)
		jit_functions(r.log, &n);
	for (size_t i = 0; n && i < p->samples; i++) {
		struct cpuprof_sample *s = &p->sample[i];

		if (has[s->stack] && s->pid == jit_pid(r.log))
			s->stack = stack_name(&r, s->stack, s->event);
	}
	if (r.log)
		jit_close(r.log);
	free(r.frame);
	free(has);
	return err;
}
