/*
 * compile.c - the worker's main part: the order of what is looked up, and writing the index.
 */
#include <unistd.h>
#include <xxhash.h>

#include "symbols/compile.h"
#include "symbols/worker.h"

/* ---- order ----------------------------------------------------------------------------------- */

static int function_compare(const void *a, const void *b)
{
	const struct ix_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

static int start_compare(const void *a, const void *b)	/* of what begins with an address */
{
	uint64_t x, y;

	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	return x < y ? -1 : x > y;
}

static int type_compare(const void *a, const void *b)
{
	const struct ix_type *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->declaration != y->declaration)
		return x->declaration < y->declaration ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void section_sort(struct compile *c, enum ix_section_id id, size_t size,
			 int (*compare)(const void *, const void *))
{
	if (c->section[id].n)
		qsort(c->section[id].p, c->section[id].n / size, size, compare);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void index_write(struct compile *c, const struct worker_job *job)
{
	struct ix_header h = {
		.magic = IX_MAGIC, .version = IX_VERSION, .parts = job->parts, .n_eh = c->n_eh
	};
	uint64_t at = (sizeof(h) + 7) & ~7ull;
	static const uint8_t zero[8];

	memcpy(h.key, job->key, sizeof(h.key));
	memcpy(h.content, job->content, sizeof(h.content));
	for (int i = 0; i < IX_SECTIONS; i++) {
		h.section[i] = (struct ix_section){ at, c->section[i].n,
						    XXH3_64bits(c->section[i].p, c->section[i].n) };
		at += (c->section[i].n + 7) & ~7ull;
	}
	h.sum = XXH3_64bits(&h, offsetof(struct ix_header, sum));
	compile_write(job->out, &h, sizeof(h));
	compile_write(job->out, zero, ((sizeof(h) + 7) & ~7ull) - sizeof(h));
	for (int i = 0; i < IX_SECTIONS; i++) {
		size_t pad = ((c->section[i].n + 7) & ~(size_t)7) - c->section[i].n;

		compile_write(job->out, c->section[i].p, c->section[i].n);
		compile_write(job->out, zero, pad);
	}
}

static void half_choose(struct compile *c, enum worker_half half)
{
	uint64_t middle = object_section(c->names, ".debug_info").n / 2;

	*(half == WORKER_FIRST ? &c->to : &c->from) = middle;
}

static void compile_names(struct compile *c, const struct worker_job *job)
{
	const struct span none = { NULL, 0 };
	struct object *alt = job->alt.n ? object_open(job->alt, none, 0) : NULL;
	struct object *names = job->debug.n ? object_open(job->debug, none, 0) : c->main;
	Dwarf_Debug dbg = object_dwarf(names);
	Dwarf_Error e = NULL;

	if (!dbg)
		return;
	if (alt && object_dwarf(alt)) {
		if (dwarf_set_tied_dbg(dbg, object_dwarf(alt), &e) != DW_DLV_OK)
			dwarf_error_drop(dbg, &e);
		c->names = alt;
		if (job->half != WORKER_SECOND)
			compile_units(c, object_dwarf(alt), true, true);
	}
	c->names = names;
	compile_split_open(c, job);
	if (job->half)
		half_choose(c, job->half);
	compile_units(c, dbg, true, false);
	if (job->half != WORKER_FIRST)
		compile_units(c, dbg, false, false);
	compile_split_types(c);
	if (job->half)
		compile_references_here(c);
	if (job->half == WORKER_SECOND) {
		compile_send(c, job->peer);
		_exit(0);
	}
	if (job->half == WORKER_FIRST)
		compile_receive(c, job->peer);
	compile_references_resolve(c);
	section_sort(c, IX_FUNCTIONS, sizeof(struct ix_function), function_compare);
	section_sort(c, IX_UNIT_RANGES, sizeof(struct ix_unit_range), start_compare);
	section_sort(c, IX_SEQUENCES, sizeof(struct ix_sequence), start_compare);
	section_sort(c, IX_VARIABLES, sizeof(struct ix_variable), start_compare);
	section_sort(c, IX_TLS, sizeof(struct ix_variable), start_compare);
	section_sort(c, IX_TYPES, sizeof(struct ix_type), type_compare);
}

void compile_index(const struct worker_job *job)
{
	static struct compile c = { .to = UINT64_MAX };
	static const uint8_t nothing[IX_NOTHING];

	dwarf_set_stringcheck(0);
	dwarf_set_de_alloc_flag(0);	/* no book of what was allocated: the process ends anyway */
	buf_put(&c.section[IX_ENTRIES], nothing, sizeof(nothing));
	buf_put(&c.section[IX_STRINGS], nothing, sizeof(nothing));
	c.main = object_open(job->main, job->eh, job->eh_addr);
	if (job->parts & IX_PART_NAMES)
		compile_names(&c, job);
	if (job->parts & IX_PART_FRAMES) {
		const struct span none = { NULL, 0 };
		struct object *debug = job->frames.n ? object_open(job->frames, none, 0) : c.main;

		compile_frames(&c, object_dwarf(c.main), object_dwarf(debug));
	}
	index_write(&c, job);
}
