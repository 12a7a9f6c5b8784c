/* The walk over records of buffered calls: what it finds in sound bytes, and that no bytes lead it astray. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "abi/buffer.h"
#include "abi/records.h"

enum { MAX = 4096 };

static uint64_t add(uint8_t *at, struct buf_record r, const uint64_t *args, const uint64_t *spans, const char *bytes, uint64_t len)
{
	r.head = (uint32_t)(sizeof(r) + 8u * r.args + 8u * r.spans);
	r.size = r.head + (uint32_t)len;
	memcpy(at, &r, sizeof(r));
	memcpy(at + sizeof(r), args, 8u * r.args);
	memcpy(at + sizeof(r) + 8u * r.args, spans, 8u * r.spans);
	memcpy(at + r.head, bytes, len);
	return r.size;
}

static uint64_t two_records(uint8_t *buf)
{
	const uint64_t args[6] = { 3, 0x1000, 100 };
	const uint64_t spans[2] = { 0x1000 | 5ull << BUF_SPAN_SHIFT, 0x2000 | 3ull << BUF_SPAN_SHIFT };
	uint64_t at = add(buf, (struct buf_record){ .nr = 0, .args = 3, .spans = 2, .in_spans = 1, .ret = 5 }, args, spans,
			  "hello\0\0\0abc\0\0\0\0", 16);

	return at + add(buf + at, (struct buf_record){ .nr = 39, .ret = 77 }, args, spans, "", 0);
}

static void sound(void **state)
{
	uint8_t buf[MAX];
	struct record_walk w = record_walk_of(buf, two_records(buf));
	struct record_span s = { 0 };
	struct record_call c;
	size_t len;

	(void)state;
	assert_true(record_next(&w, &c));
	assert_int_equal(c.nr, 0);
	assert_int_equal(c.nargs, 3);
	assert_int_equal(c.args[2], 100);
	assert_int_equal(c.args[3], 0);
	assert_int_equal(c.ret, 5);
	assert_int_equal(c.outs, 1);
	record_span_next(&c, 0, &s);
	assert_int_equal(s.addr, 0x1000);
	assert_int_equal(s.len, 5);
	assert_memory_equal(s.data, "hello", 5);
	record_span_next(&c, 1, &s);
	assert_int_equal(s.addr, 0x2000);
	assert_memory_equal(s.data, "abc", 3);
	assert_memory_equal(record_bytes_at(&c, 0x1002, false, &len), "llo", 3);
	assert_int_equal(len, 3);
	assert_null(record_bytes_at(&c, 0x1005, false, &len));
	assert_null(record_bytes_at(&c, 0x1000, true, &len));
	assert_null(record_bytes_at(&c, 0x2000, false, &len));
	assert_memory_equal(record_bytes_at(&c, 0x2000, true, &len), "abc", 3);
	assert_true(record_next(&w, &c));
	assert_int_equal(c.nr, 39);
	assert_int_equal(c.spans, 0);
	assert_int_equal(c.ret, 77);
	assert_false(record_next(&w, &c));
	assert_false(w.damaged);
	assert_int_equal(w.n, 2);
	w = record_walk_of(NULL, 100);
	assert_false(record_next(&w, &c));
	assert_false(w.damaged);
}

/* Every byte that the walk hands out is inside; the bytes end where malloc's do, so that ASAN sees more. */
static void walk_all(const uint8_t *bytes, uint64_t len)
{
	struct record_walk w = record_walk_of(bytes, len);
	struct record_call c;

	while (record_next(&w, &c)) {
		struct record_span s = { 0 };

		assert_true(c.nargs <= RECORD_ARGS && c.outs <= c.spans && c.size >= sizeof(struct buf_record));
		for (unsigned i = 0; i < c.spans; i++) {
			record_span_next(&c, i, &s);
			assert_true(s.data >= bytes && s.len <= (uint64_t)(bytes + len - s.data));
		}
	}
	assert_true(w.damaged ? w.at < len : w.at == len);
}

static void damaged(void **state)
{
	uint8_t whole[MAX];
	uint64_t len = two_records(whole);

	(void)state;
	srand(1);
	for (uint64_t cut = 0; cut <= len; cut++) {
		uint8_t *bytes = malloc(cut ? cut : 1);

		memcpy(bytes, whole, cut);
		walk_all(bytes, cut);
		free(bytes);
	}
	for (int i = 0; i < 200000; i++) {
		uint8_t *bytes = malloc(len);

		memcpy(bytes, whole, len);
		for (int n = rand() % 4 + 1; n; n--)
			bytes[(unsigned)rand() % (i & 1 ? len : 24)] = (uint8_t)(i & 2 ? rand() : (rand() & 1) * 0xff);
		walk_all(bytes, len);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sound), cmocka_unit_test(damaged) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
