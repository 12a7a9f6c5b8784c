/*
 * profile.c - stacks of allocation with what they allocated and what of it is alive, for the tools
 * that read profiles.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/alloc/alloc.h"
#include "analysis/output/output.h"
#include "base/bug.h"

enum { INLINED_MAX = 64 };

/*
 * A frame of Lua may be known by its file and line alone: they are its name then, as in the report.
 */
static const char *frame_name(struct alloc_log *l, const struct alloc_stack *st,
			      const struct alloc_frame *f)
{
	char text[1024];

	if (f->function || !f->file)
		return f->function;
	if (st->where && st->n == 1)
		return st->where;
	snprintf(text, sizeof(text), f->line ? "%s:%u" : "%s", f->file, f->line);
	return alloc_string(l, text);
}

static uint32_t location(struct profile *p, struct alloc_log *l, const struct alloc_stack *st,
			 const struct alloc_frame *f, size_t n)
{
	struct profile_frame to[INLINED_MAX];
	uint32_t mapping = f->jit || f->guest ? profile_mapping_jit(p)
					      : profile_mapping_at(p, f->addr);
	bool named = f[n - 1].function || f[n - 1].file;

	for (size_t i = 0; i < n; i++)
		to[i] = (struct profile_frame){ .function = frame_name(l, st, &f[i]),
						.file = f[i].file,
						.line = f[i].line };
	return profile_location_add(p, f->addr, mapping, to, named ? n : 0);
}

/* A file may say anything; none of the formats has more. */
static int64_t most(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static void sample(struct profile *p, struct alloc_log *l, const struct alloc_group *g,
		   int64_t was, int64_t was_bytes)
{
	const struct alloc_stack *st = &l->stack[g->stack];
	struct profile_label label[3];
	uint32_t *stack = alloc_more(NULL, (st->n + 1), sizeof(*stack), "a profile");
	size_t n = 0, labels = 0;

	for (size_t i = 0, end; i < st->n; i = end) {
		for (end = i + 1; end < st->n && st->frame[end - 1].inlined &&
				  end - i < INLINED_MAX; end++)
			;
		stack[n++] = location(p, l, st, &st->frame[i], end - i);
	}
	if (!n)
		stack[n++] = profile_location_add(
			p, 0, 0, &(struct profile_frame){ .function = g->name }, 1);
	if (st->type)
		label[labels++] = (struct profile_label){ "type", st->type, 0, NULL };
	if (st->vm)
		label[labels++] = (struct profile_label){ "vm", st->vm, 0, NULL };
	if (st->n && st->frame[0].trace)
		label[labels++] = (struct profile_label){ "trace", NULL, st->frame[0].trace, NULL };
	profile_sample_add(p, stack, n,
			   (const int64_t[]){ most(g->allocs + g->moves),
					      most(g->alloc_bytes + g->move_plus),
					      most(g->live) - was,
					      most(g->live_bytes) - was_bytes },
			   label, labels);
	free(stack);
}

struct profile *alloc_profile(struct alloc_log *l, const struct alloc_query *q,
			      const struct alloc_query *before)
{
	struct alloc_query by_stack = *q, then;
	struct alloc_totals now, was = { 0 };
	struct profile *p = profile_create();
	int64_t *live = alloc_zeroed(2 * l->stacks + 2, sizeof(*live), "a profile");

	by_stack.by = ALLOC_BY_STACK;
	by_stack.points = 0;
	err_free(alloc_totals_make(l, &by_stack, &now));
	if (before) {
		then = *before;
		then.by = ALLOC_BY_STACK;
		then.points = 0;
		err_free(alloc_totals_make(l, &then, &was));
	}
	for (size_t i = 0; i < was.n; i++) {
		live[2 * was.group[i].stack] = most(was.group[i].live);
		live[2 * was.group[i].stack + 1] = most(was.group[i].live_bytes);
	}
	profile_type_add(p, "alloc_objects", "count");
	profile_type_add(p, "alloc_space", "bytes");
	profile_type_add(p, "inuse_objects", "count");
	profile_type_add(p, "inuse_space", "bytes");
	profile_type_default(p, 3);
	if (l->maps)
		profile_maps_text(p, l->maps);
	for (size_t i = 0; i < now.n; i++) {
		const struct alloc_group *g = &now.group[i];

		if (g->allocs || g->moves || g->live)
			sample(p, l, g, live[2 * g->stack], live[2 * g->stack + 1]);
	}
	free(live);
	alloc_totals_free(&was);
	alloc_totals_free(&now);
	return p;
}
