/*
 * leaks_profile.c - stacks of lost memory for the tools that read profiles.
 */
#include <stdlib.h>

#include "analysis/internal.h"
#include "analysis/output/output.h"

static uint32_t location(struct profile *p, const struct leaks_frame *f, size_t n)
{
	struct profile_frame to[STACK_MAX];
	/* a return address; one less is in the call */
	uint64_t addr = f->pc ? f->pc - 1 : 0;

	for (size_t i = 0; i < n; i++)
		to[i] = (struct profile_frame){ .function = f[i].function,
						.file = f[i].file,
						.line = f[i].line };
	return profile_location_add(p, addr,
				    f->jit ? profile_mapping_jit(p) : profile_mapping_at(p, addr),
				    to, f[n - 1].function ? n : 0);
}

static void leak_add(struct profile *p, const struct leaks_leak *l)
{
	static const char *const kind[] = { "lost", "cycle", "held" };
	struct profile_label label[4] = { { "kind", kind[l->kind], 0, NULL },
					  { "event", NULL, (int64_t)l->alloc.event, NULL } };
	const struct leaks_stack *st = &l->alloc.stack;
	uint32_t *stack = must(malloc((st->n + 1) * sizeof(*stack)));
	size_t n = 0, labels = 2;

	for (size_t i = 0, end; i < st->n; i = end) {
		for (end = i + 1; end < st->n && st->frame[end - 1].inlined && end - i < STACK_MAX;
		     end++)
			;
		stack[n++] = location(p, &st->frame[i], end - i);
	}
	if (l->type)
		label[labels++] = (struct profile_label){ "type", l->type, 0, NULL };
	if (l->kind != LEAKS_HELD && l->how && l->lost_at.stack.n &&
	    l->lost_at.stack.frame[0].function)
		label[labels++] =
			(struct profile_label){ "lost_by", l->lost_at.stack.frame[0].function, 0,
						NULL };
	profile_sample_add(p, stack, n,
			   (const int64_t[]){ (int64_t)l->blocks, (int64_t)l->bytes,
					      (int64_t)l->owned_blocks, (int64_t)l->owned_bytes },
			   label, labels);
	free(stack);
}

struct profile *leaks_profile(const struct leaks *l)
{
	struct profile *p = profile_create();

	profile_type_add(p, "objects", "count");
	profile_type_add(p, "space", "bytes");
	profile_type_add(p, "owned_objects", "count");
	profile_type_add(p, "owned_space", "bytes");
	profile_type_default(p, 1);
	profile_maps_text(p, l->maps);
	for (size_t i = 0; i < l->n; i++)
		leak_add(p, &l->leak[i]);
	return p;
}
