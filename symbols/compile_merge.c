/*
 * compile_merge.c - one index from two workers that read half of the units each.
 *
 * The second worker sends what it has made; the first appends it to its own, as if it had read all
 * units itself: strings and expressions that it has get the place they have there, and all that
 * counts from the beginning of a section is moved.  Both are caged, and neither is believed by the
 * parent, so what arrives is not checked here.
 */
#include <unistd.h>

#include "symbols/compile.h"
#include "symbols/worker.h"

struct parcel {
	size_t section[IX_SECTIONS], map[SPACES];
	size_t n_fixup, n_signature, n_exprs;
};

/* ---- sending --------------------------------------------------------------------------------- */

static int slot_compare(const void *a, const void *b)
{
	const struct expr_slot *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

/* In the order in which they were made. */
static void exprs_order(struct compile *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->cap_exprs; i++)
		if (c->exprs[i].len)
			c->exprs[n++] = c->exprs[i];
	if (n)
		qsort(c->exprs, n, sizeof(*c->exprs), slot_compare);
}

static void send_array(int fd, const void *p, size_t n, size_t size)
{
	compile_write(fd, p, n * size);
}

void compile_send(struct compile *c, int fd)
{
	struct parcel p = { .n_fixup = c->n_fixup, .n_signature = c->n_signature,
			    .n_exprs = c->n_exprs };

	exprs_order(c);
	for (int i = 0; i < IX_SECTIONS; i++)
		p.section[i] = c->section[i].n;
	for (int i = 0; i < SPACES; i++)
		p.map[i] = c->map[i].n;
	send_array(fd, &p, 1, sizeof(p));
	for (int i = 0; i < IX_SECTIONS; i++)
		send_array(fd, c->section[i].p, c->section[i].n, 1);
	for (int i = 0; i < SPACES; i++)
		send_array(fd, c->map[i].v, c->map[i].n, sizeof(*c->map[i].v));
	send_array(fd, c->fixup, c->n_fixup, sizeof(*c->fixup));
	send_array(fd, c->signature, c->n_signature, sizeof(*c->signature));
	send_array(fd, c->exprs, c->n_exprs, sizeof(*c->exprs));
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void receive(int fd, void *p, size_t n)
{
	for (uint8_t *at = p; n;) {
		ssize_t got = read(fd, at, n);

		if (got <= 0)
			_exit(WORKER_ALONE);
		at += got;
		n -= (size_t)got;
	}
}

static void *receive_array(int fd, size_t n, size_t size)
{
	void *p = malloc(n * size + 1);

	if (!p)
		_exit(1);
	receive(fd, p, n * size);
	return p;
}

/* Where numbers go that were counted from the beginning of the other's sections. */
struct moving {
	struct compile *c;
	uint32_t *string, *expr;	/* by offset there: the offset here */
	uint32_t base[IX_SECTIONS];	/* what an index, or an offset, grows by */
};

static void strings_move(struct moving *m, const struct buf *theirs)
{
	m->string = calloc(theirs->n + 1, sizeof(*m->string));
	if (!m->string)
		_exit(1);
	for (size_t at = IX_NOTHING; at < theirs->n;) {
		const char *s = (char *)theirs->p + at;

		m->string[at] = compile_string_new(m->c, s);
		at += strlen(s) + 1;
	}
}

static void exprs_move(struct moving *m, const struct buf *theirs, const struct expr_slot *slot,
		       size_t n)
{
	m->expr = calloc(theirs->n + 1, sizeof(*m->expr));
	if (!m->expr)
		_exit(1);
	for (size_t i = 0; i < n; i++)
		m->expr[slot[i].off] =
			compile_expression_keep(m->c, theirs->p + slot[i].off, slot[i].len);
}

static void add(uint8_t *p, uint32_t n)
{
	uint32_t v;

	memcpy(&v, p, 4);
	v += n;
	memcpy(p, &v, 4);
}

static void replace(uint8_t *p, const uint32_t *table)
{
	uint32_t v;

	memcpy(&v, p, 4);
	v = table[v];
	memcpy(p, &v, 4);
}

/* Returns what follows the value. */
static uint8_t *value_move(const struct moving *m, uint8_t *p, enum ix_shape shape)
{
	uint32_t v;

	switch (shape) {
	case IX_STR:
		replace(p, m->string);
		return p + 4;
	case IX_REF:
		memcpy(&v, p, 4);
		if (v)
			add(p, m->base[IX_ENTRIES]);
		return p + 4;
	case IX_PAIR:
		add(p, m->base[IX_RANGES]);
		return p + 8;
	case IX_LOC:
		memcpy(&v, p + 4, 4);
		if (v & IX_LOC_LIST)
			add(p, m->base[IX_LOCATIONS]);
		else
			replace(p, m->expr);
		return p + 8;
	case IX_NUM:
		while (*p++ & 0x80)
			;
		return p;
	}
	return p;
}

static void entries_move(const struct moving *m, uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		uint32_t has;
		uint16_t tag;

		memcpy(&tag, p, 2);
		if (!tag) {
			p += 2;
			continue;
		}
		memcpy(&has, p + 4, 4);
		p += 8;
		for (unsigned a = 0; has; a++, has >>= 1)
			if (has & 1)
				p = value_move(m, p, ix_shape_of[a]);
	}
}

static void units_move(const struct moving *m, struct ix_unit *u, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		u[i].first += m->base[IX_ENTRIES];
		u[i].root += m->base[IX_ENTRIES];
		u[i].end += m->base[IX_ENTRIES];
		u[i].name = m->string[u[i].name];
		u[i].comp_dir = m->string[u[i].comp_dir];
		if (u[i].n_files)
			u[i].first_file += m->base[IX_FILES];
		u[i].first_scope += m->base[IX_SCOPES];
	}
}

static void scopes_move(const struct moving *m, struct ix_scope *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		s[i].entry += m->base[IX_ENTRIES];
		if (s[i].end != UINT32_MAX)
			s[i].end += m->base[IX_ENTRIES];
		s[i].name = m->string[s[i].name];
	}
}

/* A structure's members that name an entry, a unit, a string; offset 0 where it has none. */
struct layout {
	enum ix_section_id id;
	size_t size, entry, unit, string, string2, expr;
};

static const struct layout layouts[] = {
	{ .id = IX_LOCATIONS, .size = sizeof(struct ix_location),
	  .expr = offsetof(struct ix_location, expr) },
	{ .id = IX_FUNCTIONS, .size = sizeof(struct ix_function),
	  .entry = offsetof(struct ix_function, entry),
	  .unit = offsetof(struct ix_function, unit) },
	{ .id = IX_UNIT_RANGES, .size = sizeof(struct ix_unit_range),
	  .unit = offsetof(struct ix_unit_range, unit) },
	{ .id = IX_LINES, .size = sizeof(struct ix_line),
	  .string = offsetof(struct ix_line, file) },
	{ .id = IX_VARIABLES, .size = sizeof(struct ix_variable),
	  .entry = offsetof(struct ix_variable, entry),
	  .unit = offsetof(struct ix_variable, unit) },
	{ .id = IX_TLS, .size = sizeof(struct ix_variable),
	  .entry = offsetof(struct ix_variable, entry),
	  .unit = offsetof(struct ix_variable, unit) },
	{ .id = IX_TYPES, .size = sizeof(struct ix_type),
	  .entry = offsetof(struct ix_type, entry),
	  .unit = offsetof(struct ix_type, unit) },
	{ .id = IX_SPLIT, .size = sizeof(struct ix_split),
	  .string = offsetof(struct ix_split, name),
	  .string2 = offsetof(struct ix_split, comp_dir) },
};

static void plain_move(const struct moving *m, const struct layout *l, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++, p += l->size) {
		if (l->entry)
			add(p + l->entry, m->base[IX_ENTRIES]);
		if (l->unit)
			add(p + l->unit, m->base[IX_UNITS]);
		if (l->string)
			replace(p + l->string, m->string);
		if (l->string2)
			replace(p + l->string2, m->string);
		if (l->expr)
			replace(p + l->expr, m->expr);
	}
}

static void sections_move(const struct moving *m, struct buf *theirs)
{
	struct ix_sequence *q = (void *)theirs[IX_SEQUENCES].p;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		plain_move(m, &layouts[i], theirs[layouts[i].id].p,
			   theirs[layouts[i].id].n / layouts[i].size);
	for (size_t i = 0; i < theirs[IX_SEQUENCES].n / sizeof(*q); i++)
		q[i].first += m->base[IX_LINES];
	for (size_t i = 0; i < theirs[IX_FILES].n / 4; i++)
		replace(theirs[IX_FILES].p + 4 * i, m->string);
	units_move(m, (void *)theirs[IX_UNITS].p, theirs[IX_UNITS].n / sizeof(struct ix_unit));
	scopes_move(m, (void *)theirs[IX_SCOPES].p, theirs[IX_SCOPES].n / sizeof(struct ix_scope));
	entries_move(m, theirs[IX_ENTRIES].p + IX_NOTHING,
		     theirs[IX_ENTRIES].p + theirs[IX_ENTRIES].n);
}

/* How much is here before what is appended. */
static void bases(struct moving *m)
{
	static const size_t size[IX_SECTIONS] = {
		[IX_UNITS] = sizeof(struct ix_unit), [IX_ENTRIES] = 1,
		[IX_RANGES] = sizeof(struct ix_range), [IX_LOCATIONS] = sizeof(struct ix_location),
		[IX_FILES] = 4, [IX_LINES] = sizeof(struct ix_line),
		[IX_SCOPES] = sizeof(struct ix_scope),
	};

	for (int i = 0; i < IX_SECTIONS; i++)
		if (size[i])
			m->base[i] = (uint32_t)(m->c->section[i].n / size[i]);
	m->base[IX_ENTRIES] -= IX_NOTHING;
}

/* References that the other could not follow, and where its entries are. */
static void references_take(struct moving *m, const struct parcel *p, int fd)
{
	struct compile *c = m->c;
	struct fixup *f;
	struct signature *s;

	for (int i = 0; i < SPACES; i++) {
		struct offset_map *map = &c->map[i];

		if (!grow(&map->v, &map->cap, map->n + p->map[i], sizeof(*map->v)))
			_exit(1);
		receive(fd, map->v + map->n, p->map[i] * sizeof(*map->v));
		for (size_t k = map->n; k < map->n + p->map[i]; k++)
			map->v[k].entry += m->base[IX_ENTRIES];
		map->n += p->map[i];
	}
	f = receive_array(fd, p->n_fixup, sizeof(*f));
	s = receive_array(fd, p->n_signature, sizeof(*s));
	if (!grow(&c->fixup, &c->cap_fixup, c->n_fixup + p->n_fixup, sizeof(*f)) ||
	    !grow(&c->signature, &c->cap_signature, c->n_signature + p->n_signature, sizeof(*s)))
		_exit(1);
	for (size_t i = 0; i < p->n_fixup; i++) {
		f[i].at += m->base[IX_ENTRIES];
		c->fixup[c->n_fixup++] = f[i];
	}
	for (size_t i = 0; i < p->n_signature; i++) {
		s[i].entry += m->base[IX_ENTRIES];
		c->signature[c->n_signature++] = s[i];
	}
	free(f);
	free(s);
}

void compile_receive(struct compile *c, int fd)
{
	struct moving m = { .c = c };
	struct buf theirs[IX_SECTIONS] = { { 0 } };
	struct expr_slot *slot;
	struct parcel p;

	receive(fd, &p, sizeof(p));
	bases(&m);
	if (c->section[IX_ENTRIES].n + p.section[IX_ENTRIES] > UINT32_MAX)
		_exit(1);
	for (int i = 0; i < IX_SECTIONS; i++) {
		theirs[i] = (struct buf){ receive_array(fd, p.section[i], 1), p.section[i],
					  p.section[i] };
	}
	references_take(&m, &p, fd);
	slot = receive_array(fd, p.n_exprs, sizeof(*slot));
	strings_move(&m, &theirs[IX_STRINGS]);
	exprs_move(&m, &theirs[IX_EXPRESSIONS], slot, p.n_exprs);
	sections_move(&m, theirs);
	for (int i = 0; i < IX_SECTIONS; i++) {
		size_t skip = i == IX_ENTRIES ? IX_NOTHING : 0;

		if (i != IX_STRINGS && i != IX_EXPRESSIONS)
			buf_put(&c->section[i], theirs[i].p + skip, theirs[i].n - skip);
		free(theirs[i].p);
	}
	free(m.string);
	free(m.expr);
	free(slot);
}
