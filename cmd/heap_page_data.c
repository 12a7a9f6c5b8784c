/*
 * heap_page_data.c - the objects of a page, each with the versions that it has over time.
 *
 * A version is written as JSON at once, and kept when it is another than the last one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/alloc.h"
#include "analysis/heap/logs.h"
#include "base/bug.h"
#include "cmd/heap_page.h"

const struct heap_view_options page_view = { .children = PAGE_ROWS, .many = true };

struct page_object {
	uint64_t addr, size, hash;	/* hash: of the last version; 0 = gone */
	uint32_t type;
	size_t seen;			/* moment + 1 */
	bool raw;			/* no type: words or bytes */
	struct heap_block block;
	char *made;
	struct page_text versions;
};

void page_text_open(struct page_text *t)
{
	*t = (struct page_text){ 0 };
	t->f = open_memstream(&t->p, &t->n);
	alloc_must(t->f, "a page");
}

void page_text_close(struct page_text *t)
{
	if (t->f)
		fclose(t->f);
	t->f = NULL;
}

/* Bytes of a character in UTF-8 at s; 0 = it is none. */
static unsigned utf8(const unsigned char *s)
{
	unsigned n = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void page_string(FILE *f, const char *s)
{
	putc('"', f);
	for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
		unsigned n = *p < 0x80 ? 1 : utf8(p);

		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (*p < 32 || *p == '<' || *p == 127 || !n)
			fprintf(f, "\\u%04x", *p);
		else
			fwrite(p, 1, n, f);
		p += n > 1 ? n - 1 : 0;
	}
	putc('"', f);
}

/* ---- names -------------------- */

static void names_grow(struct page_data *d)
{
	d->name_slots = d->name_slots ? 2 * d->name_slots : 1024;
	free(d->name_slot);
	d->name_slot = alloc_zeroed(d->name_slots, sizeof(*d->name_slot), "a page");
	for (size_t i = 0; i < d->names; i++) {
		size_t k = XXH3_64bits(d->name[i], strlen(d->name[i])) & (d->name_slots - 1);

		while (d->name_slot[k])
			k = (k + 1) & (d->name_slots - 1);
		d->name_slot[k] = (uint32_t)i + 1;
	}
}

/* Returns the number of the name; -1 = NULL. */
static int64_t name_of(struct page_data *d, const char *s)
{
	size_t k;

	if (!s)
		return -1;
	if (2 * d->names >= d->name_slots)
		names_grow(d);
	k = XXH3_64bits(s, strlen(s)) & (d->name_slots - 1);
	while (d->name_slot[k]) {
		if (!strcmp(d->name[d->name_slot[k] - 1], s))
			return d->name_slot[k] - 1;
		k = (k + 1) & (d->name_slots - 1);
	}
	if (d->names == d->names_room) {
		d->names_room = d->names_room ? 2 * d->names_room : 256;
		d->name = alloc_more(d->name, d->names_room, sizeof(*d->name), "a page");
	}
	d->name[d->names] = alloc_text(s, "a page");
	d->name_slot[k] = (uint32_t)++d->names;
	return (int64_t)d->names - 1;
}

/* ---- rows -------------------- */

/* Addresses beyond what a number of JavaScript holds lead nowhere. */
static uint64_t within(uint64_t addr)
{
	return addr < 1ull << 53 ? addr : 0;
}

void page_row_text(struct page_data *d, FILE *f, const char *name, const char *type,
		   const char *text, uint64_t target)
{
	fprintf(f, "[%" PRId64 ",%" PRId64 ",", name_of(d, name), name_of(d, type));
	page_string(f, text);
	fprintf(f, ",-1,%" PRIu64 ",0,0]", within(target));
}

static void page_rows(struct page_data *d, FILE *f, struct heap_value *x, uint64_t base,
		      unsigned depth)
{
	size_t n = heap_value_open(d->v, x);
	bool some = false;

	for (size_t i = 0; i < n; i++) {
		const struct symbols_type *t = symbols_type_strip(x->child[i].of);

		if (symbols_type_kind(t) == SYMBOLS_T_ARRAY && !symbols_type_size(t))
			continue;	/* an array of open length: nothing that could be shown */
		if (some)
			putc(',', f);
		some = true;
		page_row(d, f, &x->child[i], base, depth);
	}
}

/*
 * The block that x, a list, a tree or a shared object, leads to is not written in x: each block is
 * written once, as an object of its own, and the page follows the links.  False: the value is
 * written in x, since it is in no block.  Inside of another such thing, or in an object, that would
 * have no end.  *to: the address that x leads to, which is told.
 */
static bool led_to(struct page_data *d, struct heap_value *x, uint64_t *to)
{
	struct heap_place p = { 0 };

	if (x->flags & HEAP_SHARED) {
		if (heap_value_open(d->v, x))
			*to = x->child[0].addr;
		d->st->ops->place(d->st, *to, &p);
		return d->inside || (p.where == HEAP_BLOCK && p.block.type);
	}
	d->st->ops->place(d->st, *to, &p);
	return d->inside || d->in_object || p.where == HEAP_BLOCK;
}

void page_row(struct page_data *d, FILE *f, struct heap_value *x, uint64_t base, unsigned depth)
{
	struct heap_links l;
	bool links = heap_value_links(d->v, x, &l), shared = (x->flags & HEAP_SHARED) != 0;
	uint64_t target = x->flags & HEAP_POINTER ? x->target : 0;
	bool apart = (links || shared) && led_to(d, x, links ? &l.first : &target);

	if (apart && links)
		target = l.first;
	fprintf(f, "[%" PRId64 ",%" PRId64 ",", name_of(d, x->name), name_of(d, x->type));
	page_string(f, x->text);
	if (x->addr >= base && x->addr)
		fprintf(f, ",%" PRIu64, x->addr - base);
	else
		fputs(",-1", f);
	fprintf(f, ",%" PRIu64 ",%u,", within(target),
		x->flags & (HEAP_MISSING | HEAP_CUT | HEAP_STRING));
	if (x->flags & HEAP_OPENS && depth && !apart) {
		d->inside += links || shared;
		putc('[', f);
		page_rows(d, f, x, base, depth - 1);
		putc(']', f);
		d->inside -= links || shared;
	} else {
		putc('0', f);
	}
	if (x->points || (apart && links)) {
		putc(',', f);
		page_string(f, x->points ? x->points : "");
	}
	if (apart && links) {
		fprintf(f, ",[%" PRIu64, l.count);
		for (unsigned i = 0; i < l.n; i++)
			fprintf(f, ",%" PRIu64, l.offset[i]);
		putc(']', f);
	}
	putc(']', f);
}

/* Memory of no known type: words, and whether they lead anywhere. */
static void words(struct page_data *d, FILE *f, const struct heap_block *b)
{
	for (uint64_t at = 0; at + 8 <= b->size && at < 8 * PAGE_ROWS; at += 8) {
		char name[24], text[24] = "<missing>";
		struct heap_place p = { 0 };
		uint64_t v = 0;
		bool there = d->st->ops->read(d->st, b->addr + at, &v, 8) == 8;

		if (there)
			snprintf(text, sizeof(text), "0x%" PRIx64, v);
		if (there && v > 4096)
			d->st->ops->place(d->st, v, &p);
		snprintf(name, sizeof(name), "+%" PRIu64, at);
		fprintf(f, "%s[%" PRId64 ",-1,\"%s\",%" PRIu64 ",%" PRIu64 ",%d,0]", at ? "," : "",
			name_of(d, name), text, at, p.where == HEAP_BLOCK ? within(v) : 0,
			there ? 0 : HEAP_MISSING);
	}
}

/* Characters or bytes: lines of 16. */
static void bytes(struct page_data *d, FILE *f, const struct heap_block *b)
{
	for (uint64_t at = 0; at < b->size && at < 16 * PAGE_ROWS; at += 16) {
		char name[24], text[80] = "";
		uint8_t line[16];
		size_t n = b->size - at < 16 ? b->size - at : 16, got, k = 0;

		got = d->st->ops->read(d->st, b->addr + at, line, n);
		for (size_t i = 0; i < n; i++)
			k += (size_t)(i < got ? snprintf(text + k, sizeof(text) - k, "%02x ",
							 line[i])
					      : snprintf(text + k, sizeof(text) - k, "?? "));
		text[k++] = ' ';
		for (size_t i = 0; i < got; i++)
			text[k++] = line[i] >= 32 && line[i] < 127 ? (char)line[i] : '.';
		text[k] = '\0';
		snprintf(name, sizeof(name), "+%" PRIu64, at);
		fprintf(f, "%s[%" PRId64 ",-1,", at ? "," : "", name_of(d, name));
		page_string(f, text);
		fprintf(f, ",%" PRIu64 ",0,%d,0]", at, got < n ? HEAP_MISSING : 0);
	}
}

/* Writes one value for each element. */
static void elements(struct page_data *d, FILE *f, const struct heap_block *b)
{
	uint64_t one = symbols_type_size(b->type);

	for (uint64_t i = 0; i < b->count && i < PAGE_ROWS; i++) {
		char name[24];

		snprintf(name, sizeof(name), "[%" PRIu64 "]", i);
		if (i)
			putc(',', f);
		page_row(d, f, heap_value_at(d->v, heap_text(d->v, "%s", name), b->type,
					     b->addr + i * one), b->addr, 3);
	}
}

/* An object of Lua or Python as its language has it.  Its words follow, for they lead on. */
static bool guest_rows(struct page_data *d, FILE *f, const struct heap_block *b, const char *type)
{
	bool guest = !b->type && (!strncmp(type, "Python ", 7) || !strncmp(type, "Lua ", 4));
	struct heap_value *x = guest ? heap_value_at(d->v, NULL, NULL, b->addr) : NULL;

	if (!x || !(x->flags & HEAP_GUEST))
		return false;
	page_row_text(d, f, NULL, NULL, x->text, 0);
	if (heap_value_open(d->v, x))
		putc(',', f);
	page_rows(d, f, x, b->addr, 1);
	return true;
}

static void object_rows(struct page_data *d, FILE *f, const struct heap_block *b, const char *type)
{
	struct heap_value *x;

	if (guest_rows(d, f, b, type) && b->size >= 8)
		putc(',', f);
	if (!b->type && b->size % 8) {
		bytes(d, f, b);
	} else if (!b->type) {
		words(d, f, b);
	} else if (b->count > 1 && symbols_type_size(b->type) == 1) {
		bytes(d, f, b);
	} else if (b->count > 1) {
		elements(d, f, b);
	} else {
		page_luajit_first(d, f, b, type);
		x = heap_value_at(d->v, NULL, b->type, b->addr);
		if (x->flags & HEAP_OPENS && heap_value_open(d->v, x))
			page_rows(d, f, x, b->addr, 6);
		else
			page_row(d, f, x, b->addr, 6);
		page_luajit_rest(d, f, b, type);
	}
}

/* ---- objects -------------------- */

static size_t object_slot(const struct page_data *d, uint64_t addr, uint32_t type)
{
	uint64_t key[2] = { addr, type };
	size_t k = XXH3_64bits(key, sizeof(key)) & (d->slots - 1);

	while (d->slot[k] && (d->object[d->slot[k] - 1].addr != addr ||
			      d->object[d->slot[k] - 1].type != type))
		k = (k + 1) & (d->slots - 1);
	return k;
}

static struct page_object *object_of(struct page_data *d, uint64_t addr, uint32_t type)
{
	size_t k;

	if (2 * d->objects >= d->slots) {
		d->slots = d->slots ? 2 * d->slots : 1024;
		free(d->slot);
		d->slot = alloc_zeroed(d->slots, sizeof(*d->slot), "a page");
		for (size_t i = 0; i < d->objects; i++)
			d->slot[object_slot(d, d->object[i].addr, d->object[i].type)] =
				(uint32_t)i + 1;
	}
	k = object_slot(d, addr, type);
	if (d->slot[k])
		return &d->object[d->slot[k] - 1];
	if (d->objects == PAGE_OBJECTS)
		return NULL;
	if (d->objects == d->room) {
		d->room = d->room ? 2 * d->room : 256;
		d->object = alloc_more(d->object, d->room, sizeof(*d->object), "a page");
	}
	d->slot[k] = (uint32_t)d->objects + 1;
	d->object[d->objects] = (struct page_object){ .addr = addr, .type = type };
	return &d->object[d->objects++];
}

/* text NULL: it is gone. */
static void version_add(struct page_data *d, struct page_object *o, const char *text, size_t n)
{
	uint64_t hash = text ? XXH3_64bits(text, n) | 1 : 0;

	if (hash == o->hash)
		return;
	if (d->bytes + n > PAGE_BYTES) {
		d->dropped++;
		return;
	}
	/* what is kept is one piece for each object: streams are dear */
	o->versions.p = alloc_more(o->versions.p, o->versions.n + n + 40, 1, "a page");
	o->versions.n += (size_t)snprintf(o->versions.p + o->versions.n, 40, "%s[%zu,",
					  o->versions.n ? "," : "", d->moment);
	memcpy(o->versions.p + o->versions.n, text ? text : "null", text ? n : 4);
	o->versions.n += text ? n : 4;
	o->versions.p[o->versions.n++] = ']';
	o->hash = hash;
	d->bytes += n + 40;
}

static void object_write(struct page_data *d, struct page_object *o)
{
	struct page_text t;

	page_text_open(&t);
	putc('[', t.f);
	d->in_object = true;
	object_rows(d, t.f, &o->block, d->name[o->type]);
	putc(']', t.f);
	d->in_object = false;
	page_text_close(&t);
	o->seen = d->moment + 1;
	version_add(d, o, t.p, t.n);
	free(t.p);
}

/* ---- which objects lie around an address -------------------- */

enum { PAGE_BITS = 12, CHAINS = 1 << 16 };
struct page_near { uint64_t page; uint32_t object, next; };

static size_t chain_of(uint64_t page)
{
	return (page * 0x9e3779b97f4a7c15) >> 48 & (CHAINS - 1);
}

/* The object has grown from `from` bytes to its size. */
static void near_add(struct page_data *d, const struct page_object *o, uint64_t from)
{
	uint64_t page = from ? ((o->addr + from - 1) >> PAGE_BITS) + 1 : o->addr >> PAGE_BITS;

	if (!d->near_first)
		d->near_first = alloc_zeroed(CHAINS, sizeof(*d->near_first), "a page");
	for (; o->size && page <= (o->addr + o->size - 1) >> PAGE_BITS; page++) {
		if (d->nears == d->nears_room) {
			d->nears_room = d->nears_room ? 2 * d->nears_room : 1024;
			d->near = alloc_more(d->near, d->nears_room, sizeof(*d->near), "a page");
		}
		d->near[d->nears] = (struct page_near){ page, (uint32_t)(o - d->object),
							d->near_first[chain_of(page)] };
		d->near_first[chain_of(page)] = (uint32_t)++d->nears;
	}
}

void page_object_seen(struct page_data *d, const struct heap_block *b, const char *type)
{
	uint32_t name = (uint32_t)name_of(d, type ? type : b->name ? b->name : "(no type)");
	struct page_object *o;

	if (!within(b->addr) || !(o = object_of(d, b->addr, name))) {
		if (++d->without > d->most_without)
			d->most_without = d->without;
		return;
	}
	if (b->size > o->size) {
		uint64_t had = o->size;

		o->size = b->size;
		near_add(d, o, had);
	}
	if (!o->made && b->made_by)
		o->made = alloc_text(b->made_by, "a page");
	o->block = *b;
	o->block.name = o->block.made_by = NULL;
	object_write(d, o);
}

void page_objects_rest(struct page_data *d)
{
	for (size_t i = 0; i < d->objects; i++) {
		if (d->object[i].seen != d->moment + 1)
			version_add(d, &d->object[i], NULL, 0);
	}
}

/* Objects that begin at addr as something else are gone; objects around it are looked at again. */
void page_objects_touched(struct page_data *d, uint64_t addr, uint64_t size)
{
	uint64_t page = addr >> PAGE_BITS;

	for (; size && d->near && page <= (addr + size - 1) >> PAGE_BITS; page++) {
		for (uint32_t k = d->near_first[chain_of(page)]; k; k = d->near[k - 1].next) {
			struct page_object *o = &d->object[d->near[k - 1].object];

			if (d->near[k - 1].page != page || o->seen == d->moment + 1 || !o->hash ||
			    o->addr >= addr + size || addr >= o->addr + o->size)
				continue;
			if (o->addr == addr)
				version_add(d, o, NULL, 0);
			else
				object_write(d, o);
		}
	}
}

struct err *page_data_go(struct page_data *d, uint64_t event)
{
	heap_view_destroy(d->v);
	d->v = NULL;
	TRY(d->st->ops->go(d->st, event));
	return heap_view_create(d->st, &page_view, &d->v);
}

void page_data_write(struct page_data *d, FILE *f)
{
	fputs("\"names\":[", f);
	for (size_t i = 0; i < d->names; i++) {
		fputs(i ? "," : "", f);
		page_string(f, d->name[i]);
	}
	fputs("],\"objects\":[", f);
	for (size_t i = 0; i < d->objects; i++) {
		struct page_object *o = &d->object[i];

		fprintf(f, "%s[%" PRIu64 ",%" PRIu64 ",%u,[", i ? ",\n" : "", o->addr, o->size,
			o->type);
		fwrite(o->versions.p, 1, o->versions.n, f);
		putc(']', f);
		if (o->made) {
			putc(',', f);
			page_string(f, o->made);
		}
		putc(']', f);
	}
	fprintf(f, "],\"dropped\":%zu", d->dropped + d->most_without);
}

void page_data_destroy(struct page_data *d)
{
	heap_view_destroy(d->v);
	for (size_t i = 0; i < d->objects; i++) {
		free(d->object[i].versions.p);
		free(d->object[i].made);
	}
	for (size_t i = 0; i < d->names; i++)
		free(d->name[i]);
	free(d->object);
	free(d->slot);
	free(d->near);
	free(d->near_first);
	free(d->name);
	free(d->name_slot);
}
