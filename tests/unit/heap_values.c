/* Typed values over a store: a log of a Lua table; unions by tag, bytes nobody logged, moments, faults of expressions, memory that leads in circles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/audit/audit.h"
#include "analysis/heap/logs.h"

enum { TABLE = 0x10000, NODE = 0x20000, KEY = 0x30000, PROTO = 0x40000 };
static char name[] = "/tmp/hindsight-heap-XXXXXX";

static void put(unsigned char *p, unsigned at, uint64_t v, unsigned size)
{
	memcpy(p + at, &v, size);
}

static void key_log(FILE *f, const char *text)
{
	unsigned char b[64] = { 0 };

	put(b, 8, 4, 1);		/* LUA_SHORT_STRING */
	put(b, 11, strlen(text), 1);
	strcpy((char *)b + 24, text);
	audit_write_memory(f, "TString", KEY, b, 25 + strlen(text));
}

static void node_log(FILE *f, uint64_t value, unsigned tag)
{
	unsigned char b[24] = { 0 };

	put(b, 0, value, 8);
	put(b, 8, tag, 1);
	put(b, 9, 68, 1);		/* LUA_SHORT_STRING_VALUE */
	put(b, 16, KEY, 8);
	audit_write_memory(f, "Node", NODE, b, sizeof(b));
}

static void table_log(FILE *f, size_t len)
{
	unsigned char b[56] = { 0 };

	put(b, 0, TABLE, 8);		/* next: itself */
	put(b, 8, 5, 1);
	put(b, 12, 7, 4);
	put(b, 24, NODE, 8);
	put(b, 40, TABLE, 8);
	audit_write_memory(f, "Table", TABLE, b, len);
}

static void event(FILE *f, const char *what)
{
	const struct audit_attribute a = { .name = { "Table", 5 }, .number = TABLE };

	audit_write_event(f, what, 1, &a, 1);
}

/* Messages: 1 types, 2 key, 3 node, 4 table, 5 first, 6 node, 7 second, 8 table (cut), 9 third. */
static struct heap_store *open_log(void)
{
	struct heap_store *st;
	struct err *damage;
	const void *types;
	size_t len;
	FILE *f;

	strcpy(name, "/tmp/hindsight-heap-XXXXXX");
	f = fdopen(mkstemp(name), "w");
	assert_non_null(f);
	types = heap_types_of(HEAP_TYPES_LUA54, &len);
	audit_write_blob(f, "types.elf", types, len);
	key_log(f, "port\n\x01\"");
	node_log(f, 8080, 3);		/* LUA_INT */
	table_log(f, 56);
	event(f, "first");
	node_log(f, KEY, 68);
	event(f, "second");
	table_log(f, 20);
	event(f, "third");
	fclose(f);
	assert_null(heap_log_open(name, NULL, &st, &damage));
	assert_null(damage);
	unlink(name);
	return st;
}

static struct heap_value *child(struct heap_view *v, struct heap_value *x, const char *want)
{
	heap_value_open(v, x);
	for (size_t i = 0; i < x->children; i++) {
		if (x->child[i].name && !strcmp(x->child[i].name, want))
			return &x->child[i];
	}
	fail_msg("no child %s", want);
	return NULL;
}

static struct heap_value *value(struct heap_view *v, const char *text)
{
	struct heap_value *x;

	assert_null(heap_value_eval(v, text, &x));
	return x;
}

static struct heap_view *view_at(struct heap_store *st, uint64_t event)
{
	struct heap_view *v;

	assert_null(st->ops->go(st, event));
	assert_null(heap_view_create(st, &(struct heap_view_options){ 0 }, &v));
	return v;
}

static void unions(void **state)
{
	struct heap_store *st = open_log();
	struct heap_view *v;
	struct heap_value *x, *u;

	(void)state;
	v = view_at(st, 5);
	x = heap_value_target(v, child(v, value(v, "Table"), "node"));
	assert_non_null(x);
	assert_string_equal(child(v, x, "tt_")->text, "LUA_INT");
	u = child(v, child(v, x, "value_"), "integer");
	assert_string_equal(u->text, "8080");
	/* the key goes by the enumeration that is named like it */
	u = child(v, child(v, x, "key_val"), "short_string");
	assert_int_equal(u->target, KEY);
	assert_int_equal(u->flags & HEAP_POINTER, HEAP_POINTER);
	heap_view_destroy(v);
	v = view_at(st, 7);
	u = child(v, child(v, value(v, "*(struct Node *)0x20000"), "value_"), "short_string");
	assert_int_equal(u->target, KEY);
	heap_view_destroy(v);
	heap_store_destroy(st);
}

static void missing(void **state)
{
	struct heap_store *st = open_log();
	struct heap_view *v;
	struct heap_value *x;

	(void)state;
	v = view_at(st, 9);
	/* the newest message has 20 bytes of it; the older one has the rest */
	x = value(v, "Table");
	assert_string_equal(child(v, x, "alimit")->text, "7");
	assert_int_equal(child(v, x, "node")->target, NODE);
	x = heap_value_at(v, "proto", symbols_type_find(st->symbols, "Proto", NULL), PROTO);
	assert_int_equal(x->flags & HEAP_MISSING, HEAP_MISSING);
	x = value(v, "*(struct Table *)0x20000");	/* of which a node's 24 bytes were logged */
	assert_int_equal(child(v, x, "marked")->flags & HEAP_MISSING, 0);
	assert_int_equal(child(v, x, "metatable")->flags & HEAP_MISSING, HEAP_MISSING);
	heap_view_destroy(v);
	/* before the first message there is nothing */
	assert_null(st->ops->go(st, 5));
	assert_non_null(heap_log_event(st));
	heap_store_destroy(st);
}

static void changed(void **state)
{
	struct heap_store *st = open_log();
	struct heap_view *a, *b;
	struct heap_value *then, *now;

	(void)state;
	a = view_at(st, 5);
	then = value(a, "*(struct Node *)0x20000");
	heap_value_open(a, then);
	b = view_at(st, 7);
	now = value(b, "*(struct Node *)0x20000");
	heap_value_open(b, now);
	assert_true(heap_value_compare(b, now, then));
	assert_int_equal(child(b, now, "tt_")->flags & HEAP_CHANGED, HEAP_CHANGED);
	assert_string_equal(child(b, now, "tt_")->was, "LUA_INT");
	assert_int_equal(child(b, now, "key_tt")->flags & HEAP_CHANGED, 0);
	assert_false(heap_value_compare(b, now, now));
	heap_view_destroy(a);
	heap_view_destroy(b);
	heap_store_destroy(st);
}

/* Opened as deep as anybody may: it comes round to itself. */
static void circles(void **state)
{
	struct heap_store *st = open_log();
	struct heap_view *v;
	struct heap_value *x;

	(void)state;
	v = view_at(st, 7);
	x = value(v, "Table");
	for (unsigned i = 0; i < 2000; i++) {
		assert_int_equal(child(v, x, "metatable")->target, TABLE);
		x = heap_value_target(v, child(v, x, "metatable"));
		assert_non_null(x);
	}
	/* a list that has no end is cut */
	x = child(v, value(v, "Table"), "next");
	assert_true(heap_value_open(v, x) <= 201);
	heap_view_destroy(v);
	heap_store_destroy(st);
}

static void strings(void **state)
{
	struct heap_store *st = open_log();
	struct heap_view *v;
	struct heap_value *x;

	(void)state;
	assert_null(st->ops->go(st, 7));
	assert_null(heap_view_create(st, &(struct heap_view_options){ .children = 3, .string = 4 }, &v));
	x = value(v, "*(struct TString *)0x30000");
	assert_string_equal(child(v, x, "tt")->text, "LUA_SHORT_STRING");
	for (const char *p = child(v, x, "shrlen")->text; *p; p++)
		assert_true(*p >= 32 && *p < 127);
	heap_view_destroy(v);
	heap_store_destroy(st);
}

static void faults(void **state)
{
	static const char *const bad[] = {
		"", "nothing", "Table->", "((((((((", "*****Table", "(struct none *)1", "Table.nothing", "1 +", "0x", "[", "Table[", "Table.node.value_.x",
		"(struct Table *", "\"", "-", "99999999999999999999999999999",
	};
	struct heap_store *st = open_log();
	struct heap_view *v;
	struct heap_value *x;

	(void)state;
	v = view_at(st, 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err *err = heap_value_eval(v, bad[i], &x);

		if (!err)	/* then it is something that can be shown */
			heap_value_open(v, x);
		else
			assert_null(strchr(err->msg, '\n'));
		err_free(err);
	}
	assert_non_null(st->ops->go(st, 4711));
	heap_view_destroy(v);
	heap_store_destroy(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unions), cmocka_unit_test(missing), cmocka_unit_test(changed),
		cmocka_unit_test(circles), cmocka_unit_test(strings), cmocka_unit_test(faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
