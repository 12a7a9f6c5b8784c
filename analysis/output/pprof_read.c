/*
 * pprof_read.c - reads profile.proto that others wrote.
 *
 * protobuf-c unpacks it with an allocator that has a budget: a few bytes can say "an empty sample",
 * and a file full of them would take fifty times its size.  Every number that names something is
 * looked up here before it is used.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"
#include "analysis/output/profile.pb-c.h"
#include "base/bug.h"

enum { FRAMES = 64, STACK = 4096, LABELS = 64 };

struct budget { size_t left; bool spent; };
union header { size_t size; long double align; };	/* before each piece */

static void *budget_alloc(void *ctx, size_t size)
{
	struct budget *b = ctx;
	/* 16: what malloc keeps for itself */
	size_t whole = size + sizeof(union header) + 16;
	union header *h;

	if (size > b->left || whole > b->left) {
		b->spent = true;
		return NULL;
	}
	h = malloc(size + sizeof(*h));
	if (!h)
		return NULL;
	b->left -= whole;
	h->size = whole;
	return h + 1;
}

static void budget_free(void *ctx, void *p)
{
	struct budget *b = ctx;
	union header *h = p;

	if (!h)
		return;
	b->left += h[-1].size;
	free(h - 1);
}

/* Numbers of ids: ids are any, ours run from 1. */
struct id { uint64_t id; uint32_t number; };
struct reading {
	const Hs__Pprof__Profile *m;
	struct profile *p;
	struct id *mapping, *location, *function;	/* in order of id */
	size_t mappings, locations, functions;
};

static int id_compare(const void *a, const void *b)
{
	const struct id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static uint32_t id_find(const struct id *v, size_t n, uint64_t id)
{
	const struct id *at =
		n ? bsearch(&(struct id){ id, 0 }, v, n, sizeof(*v), id_compare) : NULL;

	return at ? at->number : 0;
}

static struct id *ids_new(size_t n)
{
	struct id *v = alloc_zeroed(n + 1, sizeof(*v), "a profile");

	return v;
}

static const char *text(const struct reading *r, int64_t i)
{
	return i >= 0 && (uint64_t)i < r->m->n_string_table ? r->m->string_table[i] : "";
}

static const char *text_or_null(const struct reading *r, int64_t i)
{
	const char *s = text(r, i);

	return *s ? s : NULL;
}

static struct err *read_head(struct reading *r)
{
	const Hs__Pprof__Profile *m = r->m;
	struct profile *p = r->p;

	if (m->n_sample_type > TYPES_MAX)
		return err_new(ERR_USAGE, "it has %zu columns of values, more than %d",
			       m->n_sample_type, TYPES_MAX);
	for (size_t i = 0; i < m->n_sample_type; i++) {
		const char *name = text(r, m->sample_type[i]->type);

		profile_type_add(p, name, text(r, m->sample_type[i]->unit));
		if (m->default_sample_type && !strcmp(name, text(r, m->default_sample_type)))
			profile_type_default(p, (unsigned)i);
	}
	if (m->period_type)
		profile_period(p, text(r, m->period_type->type), text(r, m->period_type->unit),
			       m->period);
	p->period = m->period;
	p->time_ns = m->time_nanos;
	p->duration_ns = m->duration_nanos;
	p->drop = profile_string(p, text(r, m->drop_frames));
	p->keep = profile_string(p, text(r, m->keep_frames));
	p->doc = profile_string(p, text(r, m->doc_url));
	for (size_t i = 0; i < m->n_comment; i++)
		profile_comment(p, text(r, m->comment[i]));
	return NULL;
}

static void read_mappings(struct reading *r)
{
	r->mapping = ids_new(r->m->n_mapping);
	for (size_t i = 0; i < r->m->n_mapping; i++) {
		const Hs__Pprof__Mapping *m = r->m->mapping[i];
		struct profile_mapping to = { m->memory_start, m->memory_limit, m->file_offset,
					      text(r, m->filename), text(r, m->build_id) };

		r->mapping[r->mappings++] = (struct id){ m->id, profile_mapping_add(r->p, &to) };
	}
	qsort(r->mapping, r->mappings, sizeof(*r->mapping), id_compare);
}

static void read_functions(struct reading *r)
{
	r->function = ids_new(r->m->n_function);
	for (size_t i = 0; i < r->m->n_function; i++)
		r->function[r->functions++] = (struct id){ r->m->function[i]->id, (uint32_t)i + 1 };
	qsort(r->function, r->functions, sizeof(*r->function), id_compare);
}

static struct err *read_locations(struct reading *r)
{
	r->location = ids_new(r->m->n_location);
	for (size_t i = 0; i < r->m->n_location; i++) {
		const Hs__Pprof__Location *l = r->m->location[i];
		struct profile_frame frame[FRAMES];
		size_t n = l->n_line < FRAMES ? l->n_line : FRAMES;

		for (size_t k = 0; k < n; k++) {
			uint32_t number =
				id_find(r->function, r->functions, l->line[k]->function_id);
			const Hs__Pprof__Function *f = number ? r->m->function[number - 1] : NULL;

			if (!f)
				return err_new(ERR_USAGE,
					       "location %" PRIu64
					       " names a function that is not in it",
					       l->id);
			frame[k] = (struct profile_frame){
				text_or_null(r, f->name),     text_or_null(r, f->system_name),
				text_or_null(r, f->filename), (uint64_t)l->line[k]->line,
				(uint64_t)l->line[k]->column, (uint64_t)f->start_line
			};
		}
		r->location[r->locations++] = (struct id){
			l->id, profile_location_add(r->p, l->address,
						    id_find(r->mapping, r->mappings, l->mapping_id),
						    frame, n)
		};
	}
	qsort(r->location, r->locations, sizeof(*r->location), id_compare);
	return NULL;
}

static struct err *read_sample(struct reading *r, const Hs__Pprof__Sample *s, uint32_t *stack)
{
	struct profile_label label[LABELS];
	size_t labels = s->n_label < LABELS ? s->n_label : LABELS;

	if (s->n_value != r->p->types)
		return err_new(ERR_USAGE, "a sample has %zu values, not %u", s->n_value,
			       r->p->types);
	if (s->n_location_id > STACK)
		return err_new(ERR_USAGE, "a stack has %zu frames, more than %d", s->n_location_id,
			       STACK);
	for (size_t i = 0; i < s->n_location_id; i++) {
		stack[i] = id_find(r->location, r->locations, s->location_id[i]);
		if (!stack[i])
			return err_new(ERR_USAGE,
				       "a sample names location %" PRIu64 ", which is not in it",
				       s->location_id[i]);
	}
	for (size_t i = 0; i < labels; i++) {
		const Hs__Pprof__Label *l = s->label[i];

		label[i] = (struct profile_label){ text(r, l->key), l->str ? text(r, l->str) : NULL,
						   l->num, text_or_null(r, l->num_unit) };
	}
	profile_sample_add(r->p, stack, s->n_location_id, s->value, label, labels);
	return NULL;
}

static struct err *read_samples(struct reading *r)
{
	uint32_t *stack = malloc(STACK * sizeof(*stack));
	struct err *err = stack ? NULL : &err_nomem;

	for (size_t i = 0; i < r->m->n_sample && !err; i++)
		err = read_sample(r, r->m->sample[i], stack);
	free(stack);
	return err;
}

static struct err *convert(struct reading *r)
{
	if (!r->m->n_string_table || *r->m->string_table[0])
		return err_new(ERR_USAGE, "its table of strings does not begin with an empty one");
	TRY(read_head(r));
	read_mappings(r);
	read_functions(r);
	TRY(read_locations(r));
	return read_samples(r);
}

struct err *pprof_read(const uint8_t *bytes, size_t len, struct profile *p)
{
	struct budget budget = { PROFILE_MEMORY_MAX, false };
	ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
	Hs__Pprof__Profile *m = hs__pprof__profile__unpack(&allocator, len, bytes);
	struct reading r = { .m = m, .p = p };
	struct err *err;

	if (!m && budget.spent)
		return err_new(ERR_USAGE, "it takes more than %d MB when it is unpacked",
			       PROFILE_MEMORY_MAX >> 20);
	if (!m)
		return err_new(ERR_USAGE, "it is cut or damaged, or no profile at all");
	err = convert(&r);
	hs__pprof__profile__free_unpacked(m, &allocator);
	free(r.mapping);
	free(r.location);
	free(r.function);
	return err;
}
