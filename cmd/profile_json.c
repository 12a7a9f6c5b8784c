/*
 * profile_json.c - a profile as JSON: all of it.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "cmd/cmd.h"
#include "cmd/profile.h"

static json_t *text_or_null(const char *s)
{
	return s && *s ? json_text(s, strlen(s)) : json_null();
}

static json_t *number_or_null(uint64_t n)
{
	return n ? json_count(n) : json_null();
}

static json_t *frame(const struct cpuprof *p, const struct cpuprof_frame *f)
{
	json_t *o = json_object();

	json_object_set_new(o, "kind", json_string(cpuprof_kind_name[f->kind]));
	json_object_set_new(o, "function", text_or_null(cpuprof_text(p, f->function)));
	json_object_set_new(o, "file", text_or_null(cpuprof_text(p, f->file)));
	json_object_set_new(o, "line", number_or_null(f->line));
	json_object_set_new(o, "module", text_or_null(cpuprof_text(p, f->module)));
	json_object_set_new(o, "inlined", json_boolean(f->inlined || f->kind == CPUPROF_INLINED));
	json_object_set_new(o, "trace", number_or_null(f->trace));
	json_object_set_new(o, "address", json_hex(f->address));
	return o;
}

static json_t *frames(const struct cpuprof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->frames; i++)
		json_array_append_new(list, frame(p, &p->frame[i]));
	return list;
}

/* Outermost first. */
static json_t *stack(const struct cpuprof *p, uint32_t number)
{
	const struct cpuprof_stack *s = &p->stack[number];
	json_t *list = json_array();

	for (uint32_t i = s->n; i-- > 0;)
		json_array_append_new(list, json_integer(p->stack_frame[s->first + i]));
	return list;
}

static json_t *stacks(const struct cpuprof *p)
{
	json_t *list = json_array();
	uint64_t *weight = alloc_zeroed(p->stacks, sizeof(*weight), "a profile"),
		 *waited = alloc_zeroed(p->stacks, sizeof(*waited), "a profile");

	for (size_t i = 0; i < p->samples; i++)
		weight[p->sample[i].stack] += p->sample[i].weight;
	for (size_t i = 0; i < p->waits; i++)
		waited[p->wait[i].stack] += p->wait[i].ns;
	for (uint32_t i = 0; i < p->stacks; i++) {
		json_t *o;

		if (!weight[i] && !waited[i])
			continue;
		o = json_object();
		json_object_set_new(o, "frames", stack(p, i));
		json_object_set_new(o, "count", json_count(weight[i]));
		json_object_set_new(o, "ns", json_count(weight[i] * p->period_ns));
		if (waited[i])
			json_object_set_new(o, "waited_ns", json_count(waited[i]));
		json_array_append_new(list, o);
	}
	free(weight);
	free(waited);
	return list;
}

/* Returns the text behind this tab, up to the next tab. */
static json_t *part_or_null(const char *tab)
{
	size_t n = tab ? strcspn(tab + 1, "\t") : 0;

	return n ? json_text(tab + 1, n) : json_null();
}

static json_t *counts(const struct cpuprof *p, const struct cpuprof_table *t, bool traces)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->n; i++) {
		const char *tab = strchr(t->row[i].name, '\t');
		json_t *o = json_object();

		if (traces) {
			json_object_set_new(o, "number",
					    number_or_null(strtoull(t->row[i].name, NULL, 10)));
			json_object_set_new(o, "start", part_or_null(tab));
			json_object_set_new(o, "link", part_or_null(tab ? strchr(tab + 1, '\t')
									: NULL));
		} else {
			json_object_set_new(o, "name",
					    json_text(t->row[i].name, strlen(t->row[i].name)));
		}
		json_object_set_new(o, "count", json_count(t->row[i].self));
		json_object_set_new(o, "ns", json_count(t->row[i].self * p->period_ns));
		json_array_append_new(list, o);
	}
	return list;
}

/* Reasons, and for each some samples to look at: where they are, and what there is of the stack. */
static json_t *reasons(const struct cpuprof *p, const struct cpuprof_table *why)
{
	enum { EXAMPLES = 20 };
	json_t *list = counts(p, why, false);

	for (size_t i = 0; i < why->n; i++) {
		json_t *examples = json_array();

		for (size_t k = 0; k < p->samples && json_array_size(examples) < EXAMPLES; k++) {
			const struct cpuprof_sample *s = &p->sample[k];
			json_t *o;

			if (!s->why || strcmp(cpuprof_text(p, s->why), why->row[i].name))
				continue;
			o = json_object();
			json_object_set_new(o, "event", json_count(s->event));
			json_object_set_new(o, "tid", json_integer(s->tid));
			json_object_set_new(o, "frames", stack(p, s->stack));
			json_array_append_new(examples, o);
		}
		json_object_set_new(json_array_get(list, i), "examples", examples);
	}
	return list;
}

static json_t *table(const struct cpuprof *p, enum cpuprof_by by)
{
	struct cpuprof_table t;
	json_t *list;

	cpuprof_table(p, by, &t);
	list = counts(p, &t, by == CPUPROF_BY_TRACE);
	cpuprof_table_deinit(&t);
	return list;
}

static json_t *threads(const struct cpuprof *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->threads; i++) {
		json_t *o = json_object();
		uint64_t n = 0;

		for (size_t k = 0; k < p->samples; k++)
			n += p->sample[k].tid == p->thread[i].tid &&
					     p->sample[k].pid == p->thread[i].pid
				     ? p->sample[k].weight
				     : 0;
		json_object_set_new(o, "tid", json_integer(p->thread[i].tid));
		json_object_set_new(o, "pid", json_integer(p->thread[i].pid));
		json_object_set_new(o, "name", text_or_null(cpuprof_text(p, p->thread[i].name)));
		json_object_set_new(o, "count", json_count(n));
		json_array_append_new(list, o);
	}
	return list;
}

struct json_t *profile_show_json(const struct cpuprof *p, const struct profile_view *v)
{
	json_t *o = json_object();
	struct cpuprof_table why;
	uint64_t complete;

	cpuprof_reasons(p, &why, &complete);
	json_object_set_new(o, "trace", text_or_null(v->trace));
	json_object_set_new(o, "source", json_string(p->source));
	json_object_set_new(o, "samples", json_count(p->weight));
	json_object_set_new(o, "stops", json_count(p->samples));
	json_object_set_new(o, "complete", json_count(complete));
	json_object_set_new(o, "incomplete", reasons(p, &why));
	json_object_set_new(o, "user_ns", json_count(p->user_ns));
	json_object_set_new(o, "period_ns", json_count(p->period_ns));
	json_object_set_new(o, "period_assumed", json_boolean(!p->rate));
	json_object_set_new(o, "passes", json_integer(p->passes));
	json_object_set_new(o, "rate", json_count(p->rate));
	json_object_set_new(o, "from", json_count(p->from));
	json_object_set_new(o, "to", number_or_null(p->to));
	json_object_set_new(o, "states", table(p, CPUPROF_BY_STATE));
	json_object_set_new(o, "traces", table(p, CPUPROF_BY_TRACE));
	json_object_set_new(o, "threads", threads(p));
	json_object_set_new(o, "frames", frames(p));
	json_object_set_new(o, "stacks", stacks(p));
	cpuprof_table_deinit(&why);
	return o;
}
