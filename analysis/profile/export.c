/*
 * export.c - a profile in the forms of other tools.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
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

/*
 * Readers take the first mapping for the program's own: where main() is most of the time, else
 * where most stacks begin.
 */
static void main_first(struct exporter *e, const uint64_t *weight)
{
	uint64_t *seen = alloc_zeroed(e->p->strings + 1, sizeof(*seen), "a profile"), most = 0;
	struct cpuprof_frame best = { 0 };

	for (size_t i = 0; i < e->p->stacks; i++) {
		const struct cpuprof_stack *s = &e->p->stack[i];

		for (uint32_t k = 0; k < s->n; k++) {
			const struct cpuprof_frame *f =
				&e->p->frame[e->p->stack_frame[s->first + k]];
			bool main = !strcmp(cpuprof_text(e->p, f->function), "main");

			if (f->kind != CPUPROF_HOST || f->jit || !f->module ||
			    (!main && k + 1 < s->n))
				continue;
			seen[f->module] += weight[i] << (main ? 20 : 0);
			if (seen[f->module] <= most)
				continue;
			most = seen[f->module];
			best = *f;
		}
	}
	free(seen);
	if (best.module)
		mapping_of(e, &best);
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
	uint64_t *weight = alloc_zeroed(p->stacks, sizeof(*weight), "a profile");
	uint32_t *list = NULL;

	e.mapping = alloc_zeroed(p->strings + 1, sizeof(*e.mapping), "a profile");
	profile_type_add(e.out, "samples", "count");
	profile_type_add(e.out, "cpu", "nanoseconds");
	profile_period(e.out, "cpu", "nanoseconds", (int64_t)p->period_ns);
	for (size_t i = 0; i < p->samples; i++)
		weight[p->sample[i].stack] += p->sample[i].weight;
	main_first(&e, weight);
	for (size_t i = 0; i < p->stacks; i++) {
		const struct cpuprof_stack *s = &p->stack[i];
		const uint32_t *frame = p->stack_frame + s->first;
		int64_t value[2] = { (int64_t)weight[i], (int64_t)(weight[i] * p->period_ns) };
		uint32_t n = 0;

		if (!weight[i])
			continue;
		list = alloc_more(list, s->n + 1, sizeof(*list), "a profile");
		for (uint32_t k = 0; k < s->n;)
			k += location(&e, frame + k, s->n - k, &list[n++]);
		profile_sample_add(e.out, list, n, value, NULL, 0);
	}
	free(list);
	free(weight);
	free(e.mapping);
	return e.out;
}

/* ---- speedscope ------------------------------------------------------------------------------ */

static void speedscope_frames(const struct cpuprof *p, FILE *out)
{
	fputs("\"shared\":{\"frames\":[", out);
	for (size_t i = 0; i < p->frames; i++) {
		const struct cpuprof_frame *f = &p->frame[i];
		char name[CPUPROF_NAME];

		fputs(i ? ",{\"name\":" : "{\"name\":", out);
		profile_json_string(out, cpuprof_frame_name(p, f, name));
		if (f->file || f->module) {
			fputs(",\"file\":", out);
			profile_json_string(out, cpuprof_text(p, f->file ? f->file : f->module));
		}
		if (f->line)
			fprintf(out, ",\"line\":%u", f->line);
		fputc('}', out);
	}
	fputs("]}", out);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct cpuprof_sample *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->user_ns < y->user_ns ? -1 : x->user_ns > y->user_ns;
}

static const char *thread_name(const struct cpuprof *p, const struct cpuprof_sample *s)
{
	for (size_t i = 0; i < p->threads; i++) {
		if (p->thread[i].tid == s->tid && p->thread[i].pid == s->pid)
			return cpuprof_text(p, p->thread[i].name);
	}
	return "";
}

/* Samples of one thread; neighbours with the same stack are one. */
static void speedscope_thread(const struct cpuprof *p, const struct cpuprof_sample *s, size_t n,
			      FILE *out)
{
	uint64_t all = 0, same = 0;
	char name[80];

	for (size_t i = 0; i < n; i++)
		all += s[i].weight;
	snprintf(name, sizeof(name), "%.32s %d", thread_name(p, s), s->tid);
	fputs("{\"type\":\"sampled\",\"name\":", out);
	profile_json_string(out, name);
	fprintf(out,
		",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[",
		all * p->period_ns);
	for (size_t i = 0; i < n; i++) {
		const struct cpuprof_stack *st = &p->stack[s[i].stack];

		if (i && s[i].stack == s[i - 1].stack)
			continue;
		fputs(i ? ",[" : "[", out);
		for (uint32_t k = st->n; k-- > 0;)
			fprintf(out, "%u%s", p->stack_frame[st->first + k], k ? "," : "");
		fputc(']', out);
	}
	fputs("],\"weights\":[", out);
	for (size_t i = 0; i < n; i++) {
		same += s[i].weight;
		if (i + 1 < n && s[i + 1].stack == s[i].stack)
			continue;
		fprintf(out, "%" PRIu64 "%s", same * p->period_ns, i + 1 < n ? "," : "");
		same = 0;
	}
	fputs("]}", out);
}

void cpuprof_write_speedscope(const struct cpuprof *p, const char *name, FILE *out)
{
	struct cpuprof_sample *s = alloc_more(NULL, (p->samples + 1), sizeof(*s), "a profile");
	size_t n;

	if (p->samples)
		memcpy(s, p->sample, p->samples * sizeof(*s));
	qsort(s, p->samples, sizeof(*s), by_thread_and_time);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",", out);
	speedscope_frames(p, out);
	fputs(",\"profiles\":[", out);
	for (size_t i = 0; i < p->samples; i += n) {
		for (n = 1; i + n < p->samples && s[i + n].tid == s[i].tid; n++)
			;
		if (i)
			fputc(',', out);
		speedscope_thread(p, s + i, n, out);
	}
	fputs("],\"name\":", out);
	profile_json_string(out, name);
	fputs(",\"activeProfileIndex\":0,\"exporter\":\"hindsight\"}\n", out);
	free(s);
}
