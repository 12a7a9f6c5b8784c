/*
 * profile.c - filling a profile and looking at it.
 *
 * Texts, functions and locations are looked up by content before they are added, so a profile is as
 * large as what differs in it. Two functions that were at one address at different times are two
 * locations: their names are part of what is compared.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"
#include "base/bug.h"
#include "base/hash.h"

void profile_room(void *array, size_t *cap, size_t n, size_t size)
{
	void **p = array;

	if (n <= *cap)
		return;
	*cap = n + n / 2 + 64;
	*p = alloc_more(*p, *cap * size, 1, "a profile");
}

struct profile *profile_create(void)
{
	struct profile *p = alloc_zeroed(1, sizeof(*p), "a profile");

	p->default_type = -1;
	profile_room(&p->text, &p->text_cap, 1, 1);
	profile_room(&p->string, &p->strings_cap, 1, sizeof(*p->string));
	p->text[p->text_len++] = 0;
	p->string[0] = 0;
	return p;
}

void profile_destroy(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->mappings; i++) {
		free((char *)p->mapping[i].file);
		free((char *)p->mapping[i].build_id);
	}
	free(p->text);
	free(p->string);
	free(p->strings.slot);
	free(p->functions.slot);
	free(p->locations.slot);
	free(p->function);
	free(p->line);
	free(p->location);
	free(p->mapping);
	free(p->comment);
	free(p->sample);
	free(p->stack);
	free(p->value);
	free(p->label);
	free(p);
}

/* ---- tables ---------------------------------------------------------------------------------- */

typedef uint64_t hash_fn(const struct profile *p, uint32_t number);

/* Room for one more; rehashes where the table is half full. */
static void table_grow(struct table *t, const struct profile *p, hash_fn *hash)
{
	size_t old = t->n;

	if (t->slots > 2 * (t->n + 1))
		return;
	free(t->slot);
	t->slots = t->slots ? t->slots * 4 : 256;
	t->slot = alloc_zeroed(t->slots, sizeof(*t->slot), "a profile");
	for (uint32_t i = 1; i <= old; i++) {
		size_t at = hash(p, i) & (t->slots - 1);

		while (t->slot[at])
			at = (at + 1) & (t->slots - 1);
		t->slot[at] = i;
	}
}

static uint64_t string_hash(const struct profile *p, uint32_t i)
{
	return hash_bytes(p->text + p->string[i], strlen(p->text + p->string[i]));
}

uint32_t profile_string(struct profile *p, const char *s)
{
	size_t at, len;

	if (!s || !*s)
		return 0;
	table_grow(&p->strings, p, string_hash);
	for (at = hash_bytes(s, strlen(s)) & (p->strings.slots - 1); p->strings.slot[at];
	     at = (at + 1) & (p->strings.slots - 1))
		if (!strcmp(p->text + p->string[p->strings.slot[at]], s))
			return p->strings.slot[at];
	len = strlen(s) + 1;
	profile_room(&p->string, &p->strings_cap, p->strings.n + 2, sizeof(*p->string));
	p->string[++p->strings.n] = p->text_len;
	p->strings.slot[at] = (uint32_t)p->strings.n;
	profile_room(&p->text, &p->text_cap, p->text_len + len, 1);
	memcpy(p->text + p->text_len, s, len);
	p->text_len += len;
	return (uint32_t)p->strings.n;
}

const char *profile_text(const struct profile *p, uint32_t string)
{
	return p->text + p->string[string];
}

static uint64_t function_mix(const struct function *f)
{
	uint64_t h = hash_mix(hash_mix(1, f->name), f->system);

	return hash_mix(hash_mix(h, f->file), f->start_line);
}

static uint64_t function_hash(const struct profile *p, uint32_t i)
{
	return function_mix(&p->function[i - 1]);
}

static uint32_t function_add(struct profile *p, const struct profile_frame *frame)
{
	struct function f = { profile_string(p, frame->function), 0, profile_string(p, frame->file),
			      frame->start_line };
	size_t at;

	f.system = frame->linkage ? profile_string(p, frame->linkage) : f.name;
	table_grow(&p->functions, p, function_hash);
	for (at = function_mix(&f) & (p->functions.slots - 1); p->functions.slot[at];
	     at = (at + 1) & (p->functions.slots - 1)) {
		const struct function *g = &p->function[p->functions.slot[at] - 1];

		if (g->name == f.name && g->system == f.system && g->file == f.file &&
		    g->start_line == f.start_line)
			return p->functions.slot[at];
	}
	profile_room(&p->function, &p->function_cap, p->functions.n + 1, sizeof(f));
	p->function[p->functions.n++] = f;
	p->functions.slot[at] = (uint32_t)p->functions.n;
	return (uint32_t)p->functions.n;
}

static uint64_t location_hash(const struct profile *p, uint32_t i)
{
	const struct location *l = &p->location[i - 1];
	uint64_t h = hash_mix(hash_mix(hash_mix(2, l->addr), l->mapping), l->n);

	for (uint32_t k = 0; k < l->n; k++) {
		h = hash_mix(h, p->line[l->first + k].function);
		h = hash_mix(h, p->line[l->first + k].line);
	}
	return h;
}

static bool location_same(const struct profile *p, const struct location *a,
			  const struct location *b)
{
	if (a->addr != b->addr || a->mapping != b->mapping || a->n != b->n)
		return false;
	for (uint32_t k = 0; k < a->n; k++) {
		const struct line *x = &p->line[a->first + k], *y = &p->line[b->first + k];

		if (x->function != y->function || x->line != y->line || x->column != y->column)
			return false;
	}
	return true;
}

static void lines_add(struct profile *p, struct location *l, const struct profile_frame *frame,
		      size_t n)
{
	l->first = (uint32_t)p->lines;
	l->n = (uint32_t)n;
	profile_room(&p->line, &p->line_cap, p->lines + n, sizeof(*p->line));
	for (size_t i = 0; i < n; i++)
		p->line[p->lines + i] =
			(struct line){ function_add(p, &frame[i]), frame[i].line, frame[i].column };
	p->lines += n;
}

uint32_t profile_location_add(struct profile *p, uint64_t addr, uint32_t mapping,
			      const struct profile_frame *frame, size_t n)
{
	struct location *l;
	size_t at;

	table_grow(&p->locations, p, location_hash);
	profile_room(&p->location, &p->location_cap, p->locations.n + 1, sizeof(*l));
	l = &p->location[p->locations.n];
	*l = (struct location){ addr, mapping, 0, 0 };
	lines_add(p, l, frame, n);
	at = location_hash(p, (uint32_t)p->locations.n + 1) & (p->locations.slots - 1);
	for (; p->locations.slot[at]; at = (at + 1) & (p->locations.slots - 1)) {
		if (location_same(p, &p->location[p->locations.slot[at] - 1], l)) {
			p->lines -= n;
			return p->locations.slot[at];
		}
	}
	p->locations.slot[at] = (uint32_t)++p->locations.n;
	return (uint32_t)p->locations.n;
}

/* The table of locations is left as it was: nothing is added to a profile that is being named. */
void profile_location_name(struct profile *p, uint32_t location, uint32_t mapping,
			   const struct profile_frame *frame, size_t n)
{
	p->location[location - 1].mapping = mapping;
	lines_add(p, &p->location[location - 1], frame, n);
}

/* ---- types ----------------------------------------------------------------------------------- */

unsigned profile_type_add(struct profile *p, const char *type, const char *unit)
{
	BUG_ON(p->types == TYPES_MAX || p->samples, "columns come before samples");
	p->type[p->types].type = profile_string(p, type);
	p->type[p->types].unit = profile_string(p, unit);
	return p->types++;
}

void profile_type_default(struct profile *p, unsigned type)
{
	p->default_type = (int)type;
}

unsigned profile_types(const struct profile *p)
{
	return p->types;
}

const char *profile_type_name(const struct profile *p, unsigned type)
{
	return profile_text(p, p->type[type].type);
}

const char *profile_type_unit(const struct profile *p, unsigned type)
{
	return profile_text(p, p->type[type].unit);
}

struct err *profile_type_find(const struct profile *p, const char *name, unsigned *ret)
{
	char list[256] = "";

	*ret = p->default_type >= 0 ? (unsigned)p->default_type : p->types ? p->types - 1 : 0;
	if (!name)
		return p->types ? NULL : err_new(ERR_USAGE, "the profile has no values");
	for (unsigned i = 0; i < p->types; i++) {
		size_t n = strlen(list);

		if (!strcmp(profile_type_name(p, i), name)) {
			*ret = i;
			return NULL;
		}
		snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
			 profile_type_name(p, i));
	}
	return err_new(ERR_USAGE, "the profile has no values '%s', only %s", name, list);
}

void profile_period(struct profile *p, const char *type, const char *unit, int64_t period)
{
	p->period_type = profile_string(p, type);
	p->period_unit = profile_string(p, unit);
	p->period = period;
}

void profile_comment(struct profile *p, const char *text)
{
	profile_room(&p->comment, &p->comment_cap, p->comments + 1, sizeof(*p->comment));
	p->comment[p->comments++] = profile_string(p, text);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static char *copy(const char *s)
{
	char *c = alloc_text(s ? s : "", "a profile");

	return c;
}

uint32_t profile_mapping_add(struct profile *p, const struct profile_mapping *m)
{
	profile_room(&p->mapping, &p->mapping_cap, p->mappings + 1, sizeof(*m));
	p->mapping[p->mappings] = *m;
	p->mapping[p->mappings].file = copy(m->file);
	p->mapping[p->mappings].build_id = copy(m->build_id);
	return (uint32_t)++p->mappings;
}

void profile_maps_text(struct profile *p, const char *text)
{
	uint64_t last = 0;

	while (text && *text) {
		struct profile_mapping m = { 0 };
		char prot[8], path[4096] = "";
		const char *nl = strchr(text, '\n');

		if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095[^\n]",
			   &m.start, &m.limit, prot, &m.offset, path) >= 4 &&
		    prot[2] == 'x' && (path[0] == '/' || path[0] == '[') && m.start >= last &&
		    m.limit > m.start) {
			m.file = path;
			if (!p->from_maps)
				p->first_map = p->mappings;
			profile_mapping_add(p, &m);
			p->from_maps++;
			last = m.limit;
		}
		text = nl ? nl + 1 : NULL;
	}
}

uint32_t profile_mapping_jit(struct profile *p)
{
	if (!p->jit)
		p->jit = profile_mapping_add(p, &(struct profile_mapping){ .file = "[jit]" });
	return p->jit;
}

uint32_t profile_mapping_at(const struct profile *p, uint64_t addr)
{
	size_t lo = p->first_map, hi = lo + p->from_maps;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->mapping[mid].limit <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->first_map + p->from_maps && p->mapping[lo].start <= addr ? (uint32_t)lo + 1
										: 0;
}

const struct profile_mapping *profile_mapping(const struct profile *p, uint32_t number)
{
	return number && number <= p->mappings ? &p->mapping[number - 1] : NULL;
}

uint32_t profile_mappings(const struct profile *p)
{
	return (uint32_t)p->mappings;
}

/* ---- samples --------------------------------------------------------------------------------- */

void profile_sample_add(struct profile *p, const uint32_t *location, size_t n, const int64_t *value,
			const struct profile_label *label, size_t labels)
{
	struct sample s = { p->stacks, p->values, p->labels, (uint32_t)n, (uint32_t)labels };

	profile_room(&p->sample, &p->sample_cap, p->samples + 1, sizeof(s));
	profile_room(&p->stack, &p->stack_cap, p->stacks + n, sizeof(*p->stack));
	profile_room(&p->value, &p->value_cap, p->values + p->types, sizeof(*p->value));
	profile_room(&p->label, &p->label_cap, p->labels + labels, sizeof(*p->label));
	if (n)
		memcpy(p->stack + p->stacks, location, n * sizeof(*location));
	if (p->types)
		memcpy(p->value + p->values, value, p->types * sizeof(*value));
	for (size_t i = 0; i < labels; i++)
		p->label[p->labels + i] = (struct label){ profile_string(p, label[i].key),
							  profile_string(p, label[i].str),
							  profile_string(p, label[i].unit),
							  label[i].num, label[i].str != NULL };
	p->stacks += n;
	p->values += p->types;
	p->labels += labels;
	p->sample[p->samples++] = s;
}

size_t profile_samples(const struct profile *p)
{
	return p->samples;
}

/* ---- looking --------------------------------------------------------------------------------- */

uint32_t profile_locations(const struct profile *p)
{
	return (uint32_t)p->locations.n;
}

uint64_t profile_location_addr(const struct profile *p, uint32_t location, uint32_t *mapping_ret)
{
	*mapping_ret = p->location[location - 1].mapping;
	return p->location[location - 1].addr;
}

size_t profile_location_frames(const struct profile *p, uint32_t location,
			       struct profile_frame *ret, size_t max)
{
	const struct location *l = &p->location[location - 1];

	for (uint32_t i = 0; i < l->n && i < max; i++) {
		const struct line *line = &p->line[l->first + i];
		const struct function *f = &p->function[line->function - 1];

		ret[i] = (struct profile_frame){ f->name ? profile_text(p, f->name) : NULL,
						 profile_text(p, f->system),
						 f->file ? profile_text(p, f->file) : NULL,
						 line->line,
						 line->column,
						 f->start_line };
	}
	return l->n;
}
