/* Perf maps and jitdump files in pieces of any size, cut, lying and overlapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/jit.h"

struct seen {
	unsigned n;
	struct jit_named last;
	char name[64], file[64];
};

static void see(void *ctx, const struct jit_named *n)
{
	struct seen *s = ctx;

	s->n++;
	s->last = *n;
	snprintf(s->name, sizeof(s->name), "%s", n->name ? n->name : "");
	snprintf(s->file, sizeof(s->file), "%s", n->file ? n->file : "");
}

/* The number of names, when the bytes come in pieces of that size. */
static unsigned feed(enum jit_origin origin, const void *bytes, size_t len, size_t piece, struct seen *s)
{
	struct jit_parser *p = jit_parser_create(origin, see, s);

	memset(s, 0, sizeof(*s));
	for (size_t at = 0; at < len; at += piece)
		jit_parser_feed(p, (const char *)bytes + at, len - at < piece ? len - at : piece);
	jit_parser_destroy(p);
	return s->n;
}

static void perf_map(void **state)
{
	static const char text[] = "1000 20 one\n0x1020 0x10 two words\r\n\n1 nonsense\nffffffffffffffff 2 wraps\n2000 0 empty\n"
				   "zz 1 x\n3000 8 cut";
	struct seen s;

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		assert_int_equal(feed(JIT_PERF_MAP, text, sizeof(text) - 1, piece, &s), 2);
		assert_int_equal(s.last.start, 0x1020);
		assert_int_equal(s.last.size, 0x10);
		assert_string_equal(s.name, "two words");
	}
}

static size_t put(uint8_t *to, uint64_t v, size_t size)
{
	memcpy(to, &v, size);
	return size;
}

static size_t make_dump(uint8_t *b)
{
	size_t n = 0, at;

	n += put(b + n, 0x4A695444, 4), n += put(b + n, 1, 4), n += put(b + n, 40, 4), n += put(b + n, 62, 4);
	memset(b + n, 0, 24);
	n += 24;
	at = n;		/* debug information: one line */
	n += put(b + n, 2, 4), n += put(b + n, 0, 4), n += put(b + n, 5, 8);
	n += put(b + n, 0x5000, 8), n += put(b + n, 1, 8), n += put(b + n, 0x5000, 8), n += put(b + n, 7, 4), n += put(b + n, 0, 4);
	memcpy(b + n, "a.c", 4), n += 4;
	put(b + at + 4, n - at, 4);
	at = n;		/* its code */
	n += put(b + n, 0, 4), n += put(b + n, 0, 4), n += put(b + n, 6, 8);
	n += put(b + n, 1, 4), n += put(b + n, 1, 4), n += put(b + n, 0x5000, 8), n += put(b + n, 0x5000, 8);
	n += put(b + n, 4, 8), n += put(b + n, 0, 8);
	memcpy(b + n, "fn", 3), n += 3;
	memcpy(b + n, "\xc3\xc3\xc3\xc3", 4), n += 4;
	put(b + at + 4, n - at, 4);
	at = n;		/* moved */
	n += put(b + n, 1, 4), n += put(b + n, 64, 4), n += put(b + n, 7, 8);
	n += put(b + n, 1, 4), n += put(b + n, 1, 4), n += put(b + n, 0, 8), n += put(b + n, 0x5000, 8);
	n += put(b + n, 0x6000, 8), n += put(b + n, 4, 8), n += put(b + n, 0, 8);
	return n;
}

static void jitdump(void **state)
{
	uint8_t bytes[512], damaged[512];
	size_t n = make_dump(bytes);
	struct seen s;

	(void)state;
	for (size_t piece = 1; piece <= n; piece++) {
		assert_int_equal(feed(JIT_DUMP, bytes, n, piece, &s), 2);
		assert_int_equal(s.last.moved_from, 0x5000);
		assert_int_equal(s.last.start, 0x6000);
	}
	assert_int_equal(feed(JIT_DUMP, bytes, n - 64, n, &s), 1);
	assert_string_equal(s.name, "fn");
	assert_string_equal(s.file, "a.c");
	assert_int_equal(s.last.line, 7);
	for (size_t len = 0; len < n; len++)
		assert_true(feed(JIT_DUMP, bytes, len, 64, &s) <= 1);
	for (size_t at = 0; at < n; at++)
		for (int bit = 0; bit < 8; bit++) {
			memcpy(damaged, bytes, n);
			damaged[at] ^= (uint8_t)(1 << bit);
			feed(JIT_DUMP, damaged, n, 100, &s);
		}
	memset(damaged, 0xff, sizeof(damaged));
	memcpy(damaged, bytes, 40);
	assert_int_equal(feed(JIT_DUMP, damaged, sizeof(damaged), 512, &s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(perf_map), cmocka_unit_test(jitdump) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
