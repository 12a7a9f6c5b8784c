/*
 * heap_text.c - values and types of a heap as text.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd/heap.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* Objects that are being printed: what leads back to one of them is not followed again. */
struct open_object {
	const struct open_object *outer;
	uint64_t addr;
	const struct symbols_type *type;
	unsigned shared;	/* of so many counted objects that others hold, too, it is in */
};

static bool is_open(const struct open_object *o, const struct heap_value *x)
{
	for (; o; o = o->outer)
		if (o->addr == x->addr && o->type == x->of)
			return true;
	return false;
}

static void print_tree(struct heap_view *v, struct heap_value *x, unsigned depth, unsigned indent,
		       const struct open_object *outer);

static void plain2(const char *text, const char *after)
{
	text_plain(stdout, text);
	fputs(after, stdout);
}

static void print_line(const struct heap_value *x, unsigned indent)
{
	printf("%c%*s", x->flags & (HEAP_CHANGED | HEAP_NEW) ? '*' : ' ', (int)indent * 2 + 1, "");
	if (x->flags & HEAP_NOTE) {
		text_plain(stdout, x->text);
		putchar('\n');
		return;
	}
	if (x->type && x->name && x->name[0] != '[')
		plain2(x->type, strchr("*&", x->type[strlen(x->type) - 1]) ? "" : " ");
	else if (x->type && !x->name)
		plain2(x->type, " ");
	if (x->name)
		plain2(x->name, " ");
	printf("= ");
	text_plain(stdout, x->text);
	if (x->points)
		printf(" -> %s", x->points);
	if (x->was) {
		printf("  (was ");
		text_plain(stdout, x->was);
		putchar(')');
	}
	putchar('\n');
}

static void print_children(struct heap_view *v, struct heap_value *x, unsigned depth,
			   unsigned indent, const struct open_object *outer)
{
	size_t n = heap_value_open(v, x);

	for (size_t i = 0; i < n; i++)
		print_tree(v, &x->child[i], depth, indent, outer);
	if (x->flags & HEAP_CUT)
		printf("%*s... more (--elements)\n", (int)indent * 2 + 2, "");
}

static void print_tree(struct heap_view *v, struct heap_value *x, unsigned depth, unsigned indent,
		       const struct open_object *outer)
{
	struct open_object me = { outer, x->addr, x->of, outer ? outer->shared : 0 };
	struct heap_value *to;

	print_line(x, indent);
	me.shared += x->flags & HEAP_SHARED ? 1 : 0;
	if (x->flags & HEAP_SHARED && me.shared > depth + 1)
		return;
	if (x->flags & HEAP_OPENS && indent < 64)
		print_children(v, x, depth, indent + 1, &me);
	if (!(x->flags & HEAP_POINTER) || !depth ||
	    x->flags & (HEAP_OPENS | HEAP_STRING | HEAP_LINK))
		return;
	to = heap_value_target(v, x);
	if (!to || to->flags & HEAP_MISSING || is_open(&me, to) || !to->of)
		return;
	me = (struct open_object){ outer, to->addr, to->of, me.shared };
	if (to->flags & HEAP_OPENS)
		print_children(v, to, depth - 1, indent + 1, &me);
	else
		print_tree(v, to, depth - 1, indent + 1, outer);
}

void heap_text_value(struct heap_view *v, struct heap_value *x, unsigned depth)
{
	print_tree(v, x, depth, 0, NULL);
}

static void print_block(const struct heap_block *b)
{
	printf("  block 0x%" PRIx64 ", %" PRIu64 " bytes", b->addr, b->size);
	if (b->name && b->count > 1)
		printf(", %" PRIu64 " %s", b->count, b->name);
	if (b->event)
		printf(", made after event %" PRIu64, b->event);
	if (b->made_by)
		plain2(" by ", b->made_by);
	putchar('\n');
}

/* Memory of which nobody knows the type: its first words, and what they point to. */
static void print_words(struct heap_store *st, uint64_t addr, uint64_t size)
{
	enum { WORDS = 8 };
	uint64_t word;

	for (uint64_t i = 0; i < WORDS && (i + 1) * 8 <= size; i++) {
		struct heap_place p;

		if (st->ops->read(st, addr + 8 * i, &word, 8) != 8)
			return;
		st->ops->place(st, word, &p);
		printf("    +%" PRIu64 " 0x%" PRIx64, 8 * i, word);
		if (p.where != HEAP_NOWHERE && p.text)
			printf(" -> %s", p.text);
		putchar('\n');
	}
}

void heap_text_object(struct heap_view *v, struct heap_value *x, unsigned depth, uint64_t top)
{
	struct heap_store *st = heap_view_store(v);
	struct heap_place p;

	st->ops->place(st, x->addr, &p);
	if (x->addr)
		printf("0x%" PRIx64 "%s%s%s%s, event %" PRIu64 "\n", x->addr, x->type ? " " : "",
		       x->type ? x->type : "", p.text ? ", " : "", p.text ? p.text : "", st->now);
	else if (x->flags & HEAP_REGISTER)
		printf("in a register, event %" PRIu64 "\n", st->now);
	/* a pointer variable stands for what it points to */
	heap_text_value(v, x, depth + (x->flags & HEAP_POINTER ? 1 : 0));
	if (!x->of && !(x->flags & HEAP_GUEST))
		print_words(st, x->addr, p.where == HEAP_BLOCK ? p.block.addr + p.block.size -
								  x->addr : 8);
	if (p.where == HEAP_BLOCK)
		print_block(&p.block);
	if (st->ops->references && x->addr) {
		struct heap_reference *ref = calloc(top, sizeof(*ref));
		/* an object of Python is a part of a block */
		bool whole = p.where == HEAP_BLOCK && !(x->flags & HEAP_GUEST);
		uint64_t start = whole ? p.block.addr : x->addr,
			 size = whole ? p.block.size : x->size;
		size_t n = ref ? st->ops->references(st, start, start + (size ? size : 1), ref, top)
			       : 0;

		for (size_t i = 0; i < n && i < top; i++)
			printf("  pointed to by %s (at 0x%" PRIx64 ")\n", ref[i].text, ref[i].addr);
		if (n > top)
			printf("  ... and %zu more\n", n - (size_t)top);
		free(ref);
	}
}

/* ---- types ----------------------------------------------------------------------------------- */

struct row {
	const char *name;
	uint64_t count, bytes;
	bool by;		/* no type is known: name is who made them */
};

static int by_bytes(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->name, y->name);
}

struct rows {
	struct row *row;
	size_t n, room;
	uint32_t *slot;
	size_t slots;
	uint64_t count, bytes;
};

static size_t name_hash(const char *s)
{
	size_t h = 5381;

	while (*s)
		h = h * 33 ^ (unsigned char)*s++;
	return h * 0x9e3779b97f4a7c15;
}

static void rows_index(struct rows *r)
{
	free(r->slot);
	r->slots = r->slots ? r->slots * 2 : 1024;
	r->slot = calloc(r->slots, sizeof(*r->slot));
	for (uint32_t i = 0; i < r->n; i++) {
		size_t at = name_hash(r->row[i].name) & (r->slots - 1);

		while (r->slot[at])
			at = (at + 1) & (r->slots - 1);
		r->slot[at] = i + 1;
	}
}

static struct row *row_of(struct rows *r, const char *name)
{
	size_t at;

	if (r->n * 2 >= r->slots)
		rows_index(r);
	for (at = name_hash(name) & (r->slots - 1); r->slot[at]; at = (at + 1) & (r->slots - 1))
		if (!strcmp(r->row[r->slot[at] - 1].name, name))
			return &r->row[r->slot[at] - 1];
	if (r->n == r->room) {
		r->room = r->room * 2 + 64;
		r->row = realloc(r->row, r->room * sizeof(*r->row));
	}
	r->row[r->n] = (struct row){ .name = name };
	r->slot[at] = (uint32_t)r->n + 1;
	return &r->row[r->n++];
}

static void rows_fill(struct rows *r, struct heap_store *st)
{
	struct heap_block b;
	struct row *last = NULL;

	for (size_t i = 0; st->ops->block(st, i, &b); i++) {
		const char *name = b.name ? b.name : b.made_by ? b.made_by : "(unknown)";
		bool by = !b.name && b.made_by;

		if (!last || last->name != name)
			last = row_of(r, name);
		last->by = by;
		last->count++;
		last->bytes += b.size;
		r->count++;
		r->bytes += b.size;
	}
	if (r->n)
		qsort(r->row, r->n, sizeof(*r->row), by_bytes);
}

static struct err *types_json(const struct rows *r, const struct heap_store *st)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(all, json_pack("{s:o, s:o, s:o}", "type",
						     json_text(r->row[i].name,
							       strlen(r->row[i].name)),
						     "count", json_count(r->row[i].count), "bytes",
						     json_count(r->row[i].bytes)));
	return json_print(json_pack("{s:o, s:o, s:o, s:o}", "event", json_count(st->now), "blocks",
				    json_count(r->count), "bytes", json_count(r->bytes), "types",
				    all),
			  true);
}

static void types_text(const struct rows *r, const struct heap_store *st, uint64_t top)
{
	char size[24];

	printf("event %" PRIu64 ": %" PRIu64 " block%s, %s\n\n%10s %12s  type\n", st->now, r->count,
	       r->count == 1 ? "" : "s", text_size(size, r->bytes), "count", "bytes");
	for (size_t i = 0; i < r->n && i < top; i++)
		printf("%10" PRIu64 " %12" PRIu64 "  %s%s\n", r->row[i].count, r->row[i].bytes,
		       r->row[i].by ? "? by " : "", r->row[i].name);
	if (r->n > top)
		printf("... and %zu type%s more\n", r->n - (size_t)top,
		       r->n - (size_t)top == 1 ? "" : "s");
}

static bool same_type(const char *have, const char *asked)
{
	static const char *const words[] = { "struct ", "class ", "union ", "enum " };

	if (!have)
		return !strcmp(asked, "(unknown)");
	if (!strcmp(have, asked))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(have, words[i], strlen(words[i])) &&
		    !strcmp(have + strlen(words[i]), asked))
			return true;
	return false;
}

static struct err *type_list(const struct heap_cmd *c, struct heap_view *v)
{
	struct heap_store *st = heap_view_store(v);
	json_t *all = c->json ? json_array() : NULL;
	uint64_t n = 0, bytes = 0, top = c->top ? c->top : 20;
	struct heap_block b;

	for (size_t i = 0; st->ops->block(st, i, &b); i++) {
		struct heap_value *x;

		if (!same_type(b.name, c->type))
			continue;
		bytes += b.size;
		if (c->json) {
			x = heap_value_at(v, NULL, b.type, b.addr);
			json_array_append_new(all, heap_json_value(v, x, (unsigned)c->depth));
			n++;
			continue;
		}
		if (n++ >= top)
			continue;
		x = heap_value_at(v, NULL, b.type, b.addr);
		printf("0x%" PRIx64 "  %" PRIu64 " bytes", b.addr, b.size);
		if (b.event)
			printf(", made after event %" PRIu64, b.event);
		printf("%s%s\n", b.made_by ? " by " : "", b.made_by ? b.made_by : "");
		heap_text_value(v, x, (unsigned)c->depth);
	}
	if (!n && st->symbols && !symbols_type_find(st->symbols, c->type, NULL)) {
		json_decref(all);
		return err_new(ERR_USAGE, "there is no type %s", c->type);
	}
	if (c->json)
		return json_print(json_pack("{s:o, s:o}", "event", json_count(st->now), "values",
					    all),
				  true);
	if (n > top)
		printf("... and %" PRIu64 " more (--top)\n", n - top);
	printf("event %" PRIu64 ": %" PRIu64 " block%s of %s, %" PRIu64 " bytes\n", st->now, n,
	       n == 1 ? "" : "s", c->type, bytes);
	return NULL;
}

struct err *heap_types_print(const struct heap_cmd *c, struct heap_view *v)
{
	struct heap_store *st = heap_view_store(v);
	struct rows r = { 0 };
	struct err *err = NULL;

	if (c->type)
		return type_list(c, v);
	rows_fill(&r, st);
	if (c->json)
		err = types_json(&r, st);
	else
		types_text(&r, st, c->top ? c->top : 20);
	free(r.row);
	free(r.slot);
	return err;
}
