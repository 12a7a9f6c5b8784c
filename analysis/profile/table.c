/*
 * table.c - weights by what a frame, or a sample, is called.
 *
 * A row is found by its name.  Each stack is looked at once: the rows of its frames are those of
 * all its samples.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/profile/table.h"
#include "base/bug.h"

struct maker {
	const struct cpuprof *p;
	enum cpuprof_by by;
	struct cpuprof names;	/* strings of rows; a row's number is in row_of[] */
	uint32_t *row_of;	/* by string of names: row + 1 */
	size_t row_room, of_room;
	uint32_t *stamp;	/* of each row: the last stack that had it, + 1 */
	size_t stamp_room;
	uint32_t *frame_row;	/* of each frame of p: row + 1 */
	struct cpuprof_table *t;
};

static void grow(void *array, size_t *cap, size_t n, size_t size)
{
	void **a = array;
	size_t old = *cap;

	if (n <= *cap)
		return;
	*cap = n < 2 * old ? 2 * old : n + 64;
	*a = alloc_more(*a, *cap * size, 1, "a table");
	memset((char *)*a + old * size, 0, (*cap - old) * size);
}

const char *cpuprof_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

const char *cpuprof_frame_name(const struct cpuprof *p, const struct cpuprof_frame *f,
			       char buf[CPUPROF_NAME])
{
	const char *name = cpuprof_text(p, f->function),
		   *module = cpuprof_base_name(cpuprof_text(p, f->module));

	if (*name)
		return name;
	if (*module) {		/* of a stripped file: one name for all of it */
		snprintf(buf, CPUPROF_NAME, "[%s]", module);
		return buf;
	}
	if (!f->address)
		return "?";
	snprintf(buf, CPUPROF_NAME, "0x%" PRIx64, f->address);
	return buf;
}

static uint32_t row_of(struct maker *m, const char *name, uint32_t frame)
{
	uint32_t string = cpuprof_string(&m->names, name);

	grow(&m->row_of, &m->of_room, string + 1, sizeof(*m->row_of));
	if (!m->row_of[string]) {
		grow(&m->t->row, &m->row_room, m->t->n + 1, sizeof(*m->t->row));
		m->t->row[m->t->n++] = (struct cpuprof_row){ .frame = frame };
		m->row_of[string] = (uint32_t)m->t->n;
	}
	grow(&m->stamp, &m->stamp_room, m->t->n + 1, sizeof(*m->stamp));
	return m->row_of[string] - 1;
}

/* ---- names of rows --------------------------------------------------------------------------- */

static void frame_text(const struct maker *m, const struct cpuprof_frame *f, char *buf, size_t size)
{
	const struct cpuprof *p = m->p;
	const char *file = cpuprof_text(p, f->file), *module = cpuprof_text(p, f->module);
	char hex[CPUPROF_NAME];
	const char *name = cpuprof_frame_name(p, f, hex);

	switch (m->by) {
	case CPUPROF_BY_LINE:
		if (f->line)
			snprintf(buf, size, "%s:%u\t%s", cpuprof_base_name(file), f->line, name);
		else
			snprintf(buf, size, "%s\t%s", cpuprof_base_name(module), name);
		break;
	case CPUPROF_BY_LIBRARY:
		if (f->jit)
			snprintf(buf, size, "[jit]");
		else
			snprintf(buf, size, "%s",
				 *module  ? cpuprof_base_name(module)
				 : *file  ? cpuprof_base_name(file)
				 : f->jit ? "[jit]"
					  : "[unknown]");
		break;
	default:
		snprintf(buf, size, "%s\t%s", name,
			 f->kind == CPUPROF_HOST ? cpuprof_base_name(module)
						 : cpuprof_base_name(file));
	}
}

static void sample_text(const struct maker *m, const struct cpuprof_sample *s, char *buf,
			size_t size)
{
	const struct cpuprof *p = m->p;
	const char *name = "";

	switch (m->by) {
	case CPUPROF_BY_TRACE:
		if (s->trace)
			snprintf(buf, size, "%u\t%s%s%s", s->trace,
				 cpuprof_text(p, s->trace_start), s->trace_link ? "\t" : "",
				 cpuprof_text(p, s->trace_link));
		else
			snprintf(buf, size, "-\t");
		break;
	case CPUPROF_BY_THREAD:
		for (size_t i = 0; i < p->threads; i++) {
			if (p->thread[i].tid == s->tid && p->thread[i].pid == s->pid)
				name = cpuprof_text(p, p->thread[i].name);
		}
		snprintf(buf, size, "%d\t%s", s->tid, name);
		break;
	default:
		snprintf(buf, size, "%s", s->state ? cpuprof_text(p, s->state) : "native");
	}
}

/* ---- filling --------------------------------------------------------------------------------- */

static uint32_t frame_row(struct maker *m, uint32_t number)
{
	char text[1024];

	if (!m->frame_row[number]) {
		frame_text(m, &m->p->frame[number], text, sizeof(text));
		m->frame_row[number] = row_of(m, text, number) + 1;
	}
	return m->frame_row[number] - 1;
}

static void add_stack(struct maker *m, uint32_t number, uint64_t weight)
{
	const struct cpuprof_stack *s = &m->p->stack[number];

	for (uint32_t i = 0; i < s->n && weight; i++) {
		uint32_t row = frame_row(m, m->p->stack_frame[s->first + i]);

		if (!i)
			m->t->row[row].self += weight;
		if (m->stamp[row] != number + 1)
			m->t->row[row].total += weight;
		m->stamp[row] = number + 1;
	}
}

static void add_samples(struct maker *m)
{
	char text[512];

	for (size_t i = 0; i < m->p->samples; i++) {
		const struct cpuprof_sample *s = &m->p->sample[i];
		uint32_t row;

		sample_text(m, s, text, sizeof(text));
		row = row_of(m, text, 0);
		m->t->row[row].self += s->weight;
		m->t->row[row].total += s->weight;
	}
}

static void add_whole_stacks(struct maker *m, const uint64_t *weight)
{
	for (uint32_t i = 1; i < m->p->stacks; i++) {
		char text[32];
		uint32_t row;

		if (!weight[i])
			continue;
		snprintf(text, sizeof(text), "%u", i);
		row = row_of(m, text, 0);
		m->t->row[row].stack = i;
		m->t->row[row].self = m->t->row[row].total = weight[i];
	}
}

static void fill(struct maker *m, const uint64_t *weight)
{
	if (m->by == CPUPROF_BY_STACK) {
		add_whole_stacks(m, weight);
		return;
	}
	m->frame_row = alloc_zeroed(m->p->frames, sizeof(*m->frame_row), "a table");
	for (uint32_t i = 1; i < m->p->stacks; i++)
		add_stack(m, i, weight[i]);
	free(m->frame_row);
}

static int most_first(const void *a, const void *b)
{
	const struct cpuprof_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void begin(struct maker *m, const struct cpuprof *p, enum cpuprof_by by,
		  struct cpuprof_table *ret)
{
	*ret = (struct cpuprof_table){ 0 };
	*m = (struct maker){ .p = p, .by = by, .t = ret };
	cpuprof_init(&m->names);
}

static void end(struct maker *m)
{
	struct cpuprof_table *t = m->t;

	t->text = alloc_zeroed(t->n + 1, sizeof(*t->text), "a table");
	for (size_t i = 1; i < m->names.strings; i++) {
		uint32_t row = m->row_of[i];

		if (!row)
			continue;
		t->text[t->texts] = alloc_text(cpuprof_text(&m->names, (uint32_t)i), "a table");
		t->row[row - 1].name = t->text[t->texts++];
	}
	for (size_t i = 0; i < t->n; i++) {
		if (!t->row[i].name)
			t->row[i].name = "";
	}
	if (t->n)
		qsort(t->row, t->n, sizeof(*t->row), most_first);
	cpuprof_deinit(&m->names);
	free(m->row_of);
	free(m->stamp);
}

static uint64_t *stack_weights(const struct cpuprof *p, bool waits)
{
	uint64_t *weight = alloc_zeroed(p->stacks, sizeof(*weight), "a table");

	for (size_t i = 0; i < p->samples && !waits; i++)
		weight[p->sample[i].stack] += p->sample[i].weight;
	for (size_t i = 0; i < p->waits && waits; i++)
		weight[p->wait[i].stack] += p->wait[i].ns;
	return weight;
}

void cpuprof_table(const struct cpuprof *p, enum cpuprof_by by, struct cpuprof_table *ret)
{
	struct maker m;
	uint64_t *weight = stack_weights(p, false);

	begin(&m, p, by, ret);
	if (by == CPUPROF_BY_TRACE || by == CPUPROF_BY_STATE || by == CPUPROF_BY_THREAD)
		add_samples(&m);
	else
		fill(&m, weight);
	free(weight);
	end(&m);
}

void cpuprof_table_waits(const struct cpuprof *p, enum cpuprof_by by, struct cpuprof_table *ret)
{
	struct maker m;
	uint64_t *weight = stack_weights(p, true);

	begin(&m, p, by, ret);
	fill(&m, weight);
	free(weight);
	end(&m);
}

void cpuprof_table_deinit(struct cpuprof_table *t)
{
	for (size_t i = 0; i < t->texts; i++)
		free(t->text[i]);
	free(t->text);
	free(t->row);
	*t = (struct cpuprof_table){ 0 };
}

void cpuprof_reasons(const struct cpuprof *p, struct cpuprof_table *ret, uint64_t *complete_ret)
{
	struct maker m;

	begin(&m, p, CPUPROF_BY_STATE, ret);
	*complete_ret = 0;
	for (size_t i = 0; i < p->samples; i++) {
		const struct cpuprof_sample *s = &p->sample[i];

		uint32_t row;

		if (!s->why) {
			*complete_ret += s->weight;
			continue;
		}
		row = row_of(&m, cpuprof_text(p, s->why), 0);
		ret->row[row].self += s->weight;
	}
	end(&m);
}
