/*
 * pprof.c - writes profile.proto.
 *
 * A message is the same whether its fields come at once or one by one, so it is packed in pieces of
 * one element each: memory does not grow with the profile.  Readers take the first mapping for the
 * main program and join mappings that touch when one of them has no name; the mapping of JIT code
 * touches nothing.  A mapping all of whose locations have names says so, and readers look no
 * further.
 */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"
#include "analysis/output/profile.pb-c.h"
#include "base/bug.h"

enum { GZIP = 16 + MAX_WBITS, CHUNK = 1 << 16 };

struct sink {
	ProtobufCBuffer base;
	z_stream z;
	FILE *out;
	uint8_t in[CHUNK], packed[CHUNK];
	size_t n;
};

static void sink_flush(struct sink *s, int how)
{
	s->z.next_in = s->in;
	s->z.avail_in = (uInt)s->n;
	do {
		s->z.next_out = s->packed;
		s->z.avail_out = CHUNK;
		deflate(&s->z, how);
		fwrite(s->packed, 1, CHUNK - s->z.avail_out, s->out);
	} while (!s->z.avail_out);
	s->n = 0;
}

static void sink_append(ProtobufCBuffer *b, size_t len, const uint8_t *data)
{
	struct sink *s = (struct sink *)b;

	while (len) {
		size_t part = len < CHUNK - s->n ? len : CHUNK - s->n;

		memcpy(s->in + s->n, data, part);
		s->n += part;
		data += part;
		len -= part;
		if (s->n == CHUNK)
			sink_flush(s, Z_NO_FLUSH);
	}
}

static void put(struct sink *s, const Hs__Pprof__Profile *piece)
{
	hs__pprof__profile__pack_to_buffer(piece, &s->base);
}

#define PIECE(field, element)							\
	do {									\
		Hs__Pprof__Profile piece = HS__PPROF__PROFILE__INIT;		\
		piece.n_##field = 1;						\
		piece.field = &(element);					\
		put(s, &piece);							\
	} while (0)

static void write_head(const struct profile *p, struct sink *s)
{
	Hs__Pprof__Profile head = HS__PPROF__PROFILE__INIT;
	Hs__Pprof__ValueType period = HS__PPROF__VALUE_TYPE__INIT;

	for (unsigned i = 0; i < p->types; i++) {
		Hs__Pprof__ValueType t = HS__PPROF__VALUE_TYPE__INIT, *one = &t;

		t.type = p->type[i].type;
		t.unit = p->type[i].unit;
		PIECE(sample_type, one);
	}
	if (p->period_type || p->period) {
		period.type = p->period_type;
		period.unit = p->period_unit;
		head.period_type = &period;
	}
	head.period = p->period;
	head.time_nanos = p->time_ns;
	head.duration_nanos = p->duration_ns;
	head.drop_frames = p->drop;
	head.keep_frames = p->keep;
	head.doc_url = p->doc;
	if (p->default_type >= 0)
		head.default_sample_type = p->type[p->default_type].type;
	put(s, &head);
	for (size_t i = 0; i < p->comments; i++) {
		int64_t text = p->comment[i];

		PIECE(comment, text);
	}
}

static void write_sample(const struct profile *p, const struct sample *from, struct sink *s)
{
	Hs__Pprof__Sample m = HS__PPROF__SAMPLE__INIT, *one = &m;
	Hs__Pprof__Label *label = alloc_zeroed(from->labels + 1, sizeof(*label), "a profile"),
			 **labels = alloc_zeroed(from->labels + 1, sizeof(*labels), "a profile");
	uint64_t *id = alloc_zeroed(from->n + 1, sizeof(*id), "a profile");

	for (uint32_t i = 0; i < from->n; i++)
		id[i] = p->stack[from->first + i];
	for (uint32_t i = 0; i < from->labels; i++) {
		const struct label *l = &p->label[from->label + i];

		hs__pprof__label__init(&label[i]);
		label[i].key = l->key;
		label[i].str = l->text ? l->str : 0;
		label[i].num = l->text ? 0 : l->num;
		label[i].num_unit = l->text ? 0 : l->unit;
		labels[i] = &label[i];
	}
	m.n_location_id = from->n;
	m.location_id = id;
	m.n_value = p->types;
	m.value = p->value + from->value;
	m.n_label = from->labels;
	m.label = labels;
	PIECE(sample, one);
	free(id);
	free(label);
	free(labels);
}

/*
 * Returns what is known of all locations of each mapping: bit 0 names, 1 files, 2 lines; bit 3:
 * calls are inlined somewhere.
 */
static uint8_t *knowledge(const struct profile *p)
{
	uint8_t *known = alloc_more(NULL, p->mappings + 1, 1, "a profile");

	memset(known, 7, p->mappings + 1);
	for (size_t i = 0; i < p->locations.n; i++) {
		const struct location *l = &p->location[i];
		uint8_t bits = l->n ? 7 : 0;

		for (uint32_t k = 0; k < l->n; k++) {
			const struct line *line = &p->line[l->first + k];
			const struct function *f = &p->function[line->function - 1];

			bits &= (uint8_t)((f->name ? 1 : 0) | (f->file ? 2 : 0) |
					  (line->line ? 4 : 0));
		}
		known[l->mapping] &= (uint8_t)(bits | 8);
		known[l->mapping] |= l->n > 1 ? 8 : 0;
	}
	return known;
}

static void write_mappings(const struct profile *p, struct sink *s)
{
	uint8_t *known = knowledge(p);

	for (size_t i = 0; i < p->mappings; i++) {
		Hs__Pprof__Mapping m = HS__PPROF__MAPPING__INIT, *one = &m;
		bool jit = i + 1 == p->jit;

		m.id = i + 1;
		m.memory_start = p->mapping[i].start;
		m.memory_limit = p->mapping[i].limit;
		m.file_offset = p->mapping[i].offset;
		m.filename = profile_string((struct profile *)p, p->mapping[i].file);
		m.build_id = profile_string((struct profile *)p, p->mapping[i].build_id);
		m.has_functions = jit || known[i + 1] & 1;
		m.has_filenames = jit || known[i + 1] & 2;
		m.has_line_numbers = jit || known[i + 1] & 4;
		m.has_inline_frames = jit || known[i + 1] & 1;
		PIECE(mapping, one);
	}
	free(known);
}

static void write_location(const struct profile *p, size_t i, struct sink *s)
{
	const struct location *l = &p->location[i];
	Hs__Pprof__Location m = HS__PPROF__LOCATION__INIT, *one = &m;
	Hs__Pprof__Line *line = alloc_zeroed(l->n + 1, sizeof(*line), "a profile"),
			**lines = alloc_zeroed(l->n + 1, sizeof(*lines), "a profile");

	for (uint32_t k = 0; k < l->n; k++) {
		hs__pprof__line__init(&line[k]);
		line[k].function_id = p->line[l->first + k].function;
		line[k].line = (int64_t)p->line[l->first + k].line;
		line[k].column = (int64_t)p->line[l->first + k].column;
		lines[k] = &line[k];
	}
	m.id = i + 1;
	m.mapping_id = l->mapping;
	m.address = l->addr;
	m.n_line = l->n;
	m.line = lines;
	PIECE(location, one);
	free(line);
	free(lines);
}

static void write_function(const struct profile *p, size_t i, struct sink *s)
{
	Hs__Pprof__Function m = HS__PPROF__FUNCTION__INIT, *one = &m;

	m.id = i + 1;
	m.name = p->function[i].name;
	m.system_name = p->function[i].system;
	m.filename = p->function[i].file;
	m.start_line = (int64_t)p->function[i].start_line;
	PIECE(function, one);
}

struct err *profile_write_pprof(const struct profile *p, FILE *out)
{
	struct sink *s = calloc(1, sizeof(*s));

	if (!s || deflateInit2(&s->z, 6, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(s);
		return &err_nomem;
	}
	s->base.append = sink_append;
	s->out = out;
	write_head(p, s);
	for (size_t i = 0; i < p->samples; i++)
		write_sample(p, &p->sample[i], s);
	write_mappings(p, s);
	for (size_t i = 0; i < p->locations.n; i++)
		write_location(p, i, s);
	for (size_t i = 0; i < p->functions.n; i++)
		write_function(p, i, s);
	/* Last: the mappings' names are among them only now. */
	for (size_t i = 0; i <= p->strings.n; i++) {
		char *text = p->text + p->string[i];

		PIECE(string_table, text);
	}
	sink_flush(s, Z_FINISH);
	deflateEnd(&s->z);
	free(s);
	return NULL;
}
