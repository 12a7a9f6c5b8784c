/*
 * export.c - a profile in the forms of other tools.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/output/output.h"
#include "analysis/profile/internal.h"
#include "analysis/profile/table.h"

/* ---- struct profile: pprof, collapsed, svg, html, dot ---------------------------------------- */

struct exporter {
	const struct cpuprof *p;
	struct profile *out;
	uint32_t *mapping;	/* by string of p: of a module */
};

static uint32_t mapping_of(struct exporter *e, const struct cpuprof_frame *f)
{
	struct profile_mapping m = { .file = cpuprof_text(e->p, f->module), .build_id = "" };

	if (f->jit || f->kind != CPUPROF_HOST)
		return profile_mapping_jit(e->out);
	if (!f->module)
		return 0;
	if (!e->mapping[f->module])
		e->mapping[f->module] = profile_mapping_add(e->out, &m);
	return e->mapping[f->module];
}

/* Frame i of a stack and those it is inlined into; returns how many. */
static uint32_t location(struct exporter *e, const uint32_t *frame, uint32_t n, uint32_t *ret)
{
	enum { MAX = 64 };
	struct profile_frame line[MAX];
	const struct cpuprof_frame *last = &e->p->frame[frame[0]];
	char hex[CPUPROF_NAME];
	uint32_t k = 0;

	do {
		const struct cpuprof_frame *f = &e->p->frame[frame[k]];

		line[k++] = (struct profile_frame){
			.function = cpuprof_frame_name(e->p, f, hex),
			.file = f->file ? cpuprof_text(e->p, f->file) : NULL,
			.line = f->line,
			.start_line = f->first_line,
		};
		last = f;
	} while (k < n && k < MAX && last->inlined);
	*ret = profile_location_add(e->out, last->kind == CPUPROF_HOST ? last->address : 0,
				    mapping_of(e, last), line, k);
	return k;
}

struct profile *cpuprof_profile(const struct cpuprof *p)
{
	struct exporter e = { .p = p, .out = profile_create() };
	uint64_t *weight = calloc(p->stacks, sizeof(*weight));
	uint32_t *list = NULL;

	e.mapping = calloc(p->strings + 1, sizeof(*e.mapping));
	BUG_ON(!e.mapping || !weight, "out of memory for a profile");
	profile_type_add(e.out, "samples", "count");
	profile_type_add(e.out, "cpu", "nanoseconds");
	profile_period(e.out, "cpu", "nanoseconds", (int64_t)p->period_ns);
	for (size_t i = 0; i < p->samples; i++)
		weight[p->sample[i].stack] += p->sample[i].weight;
	for (size_t i = 0; i < p->stacks; i++) {
		const struct cpuprof_stack *s = &p->stack[i];
		const uint32_t *frame = p->stack_frame + s->first;
		int64_t value[2] = { (int64_t)weight[i], (int64_t)(weight[i] * p->period_ns) };
		uint32_t n = 0;

		if (!weight[i])
			continue;
		list = realloc(list, (s->n + 1) * sizeof(*list));
		BUG_ON(!list, "out of memory for a profile");
		for (uint32_t k = 0; k < s->n;)
			k += location(&e, frame + k, s->n - k, &list[n++]);
		profile_sample_add(e.out, list, n, value, NULL, 0);
	}
	free(list);
	free(weight);
	free(e.mapping);
	return e.out;
}
