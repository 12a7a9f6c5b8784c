/* Profiles: what is written is read back the same; sampling undone; stacks collapsed; input that is cut, lies or is too large. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "analysis/output/output.h"

static struct profile *example(void)
{
	struct profile *p = profile_create();
	const struct profile_frame inlined[] = { { "inner", NULL, "a.c", 3, 0, 0 }, { "outer;odd\n", "_Z5outer", "a.c", 9, 7, 8 } };
	const struct profile_frame other[] = { { "later", NULL, NULL, 0, 0, 0 } };
	uint32_t lib, jit, one[2], two[2];

	profile_type_add(p, "objects", "count");
	profile_type_add(p, "space", "bytes");
	profile_period(p, "space", "bytes", 512);
	profile_comment(p, "a comment");
	lib = profile_mapping_add(p, &(struct profile_mapping){ 0x1000, 0x3000, 0x40, "/lib/x.so", "abcd" });
	jit = profile_mapping_jit(p);
	assert_int_equal(profile_mapping_jit(p), jit);
	one[0] = profile_location_add(p, 0x3010, jit, inlined, 2);
	one[1] = profile_location_add(p, 0x1010, lib, NULL, 0);
	assert_int_equal(profile_location_add(p, 0x3010, jit, inlined, 2), one[0]);
	/* the same address later: another function, another location */
	two[0] = profile_location_add(p, 0x3010, jit, other, 1);
	two[1] = one[1];
	assert_int_not_equal(two[0], one[0]);
	profile_sample_add(p, one, 2, (const int64_t[]){ 2, 100 }, &(struct profile_label){ "kind", "lost", 0, NULL }, 1);
	profile_sample_add(p, two, 2, (const int64_t[]){ 1, -5 }, &(struct profile_label){ "size", NULL, -7, "bytes" }, 1);
	profile_sample_add(p, one, 2, (const int64_t[]){ 1, 11 }, NULL, 0);
	return p;
}

typedef struct err *write_fn(const struct profile *p, unsigned type, FILE *out);

static struct err *pprof(const struct profile *p, unsigned type, FILE *out)
{
	(void)type;
	return profile_write_pprof(p, out);
}

static char *written(const struct profile *p, write_fn *fn, unsigned type, size_t *len_ret)
{
	char *text;
	FILE *f = open_memstream(&text, len_ret);

	assert_non_null(f);
	assert_null(fn(p, type, f));
	fclose(f);
	return text;
}

static void round_trip(void **state)
{
	struct profile *p = example(), *q;
	struct profile_frame f[4];
	uint32_t mapping;
	unsigned type;
	size_t len, len2;
	char *bytes = written(p, pprof, 0, &len), *again;

	(void)state;
	assert_null(profile_read(bytes, len, &q));
	assert_int_equal(profile_locations(q), 3);
	assert_int_equal(profile_samples(q), 3);
	assert_null(profile_type_find(q, "space", &type));
	assert_int_equal(type, 1);
	assert_int_equal(profile_location_addr(q, 1, &mapping), 0x3010);
	assert_string_equal(profile_mapping(q, mapping)->file, "[jit]");
	assert_int_equal(profile_mapping(q, mapping)->start, 0);
	assert_int_equal(profile_mapping(q, mapping)->limit, 0);
	assert_int_equal(profile_location_frames(q, 1, f, 4), 2);
	assert_string_equal(f[0].function, "inner");
	assert_string_equal(f[1].linkage, "_Z5outer");
	assert_int_equal(f[1].start_line, 8);
	profile_destroy(p);
	/* Texts are numbered in another order once; then no more. */
	free(bytes);
	bytes = written(q, pprof, 0, &len);
	assert_null(profile_read(bytes, len, &p));
	again = written(p, pprof, 0, &len2);
	assert_int_equal(len, len2);
	assert_memory_equal(bytes, again, len);
	free(bytes);
	free(again);
	profile_destroy(p);
	profile_destroy(q);
}

static void collapsed(void **state)
{
	struct profile *p = example();
	size_t len;
	char *text = written(p, profile_write_collapsed, 1, &len);
	struct err *err;
	unsigned type;

	(void)state;
	assert_string_equal(text, "0x1010;outer:odd ;inner 111\n0x1010;later -5\n");
	free(text);
	err = profile_type_find(p, "weight", &type);
	assert_non_null(err);
	assert_non_null(strstr(err->msg, "objects, space"));
	err_free(err);
	profile_destroy(p);
}

/* The first number of the only line of collapsed stacks. */
static double column(const char *heap, const char *name)
{
	struct profile *p;
	unsigned type;
	size_t len;
	char *text;
	double v;

	assert_null(profile_read(heap, strlen(heap), &p));
	assert_null(profile_type_find(p, name, &type));
	text = written(p, profile_write_collapsed, type, &len);
	assert_non_null(strrchr(text, ' '));
	v = atof(strrchr(text, ' '));
	free(text);
	profile_destroy(p);
	return v;
}

static void heaps(void **state)
{
	static const char plain[] = "heap profile: 3: 300 [ 5: 500] @ heapprofile\n  3: 300 [ 5: 500] @ 0x2001 0x1001\n"
				    "MAPPED_LIBRARIES:\n1000-3000 r-xp 00000000 00:00 1 /x\n";
	static const char sampled[] = "heap profile: 3: 300 [ 5: 500] @ heap_v2/1000\n  3: 300 [ 5: 500] @ 0x2001 0x1001";
	static const char half[] = "heap profile: 3: 300 [ 5: 500] @ heap/2000\n  3: 300 [ 5: 500] @ 0x2001 0x1001\n";
	double scale = 1 / (1 - exp(-0.1));
	struct profile *p;
	uint32_t mapping;

	(void)state;
	assert_true(column(plain, "inuse_space") == 300);
	assert_true(column(plain, "alloc_objects") == 5);
	assert_true(fabs(column(sampled, NULL) - 300 * scale) < 1);
	assert_true(fabs(column(sampled, "alloc_objects") - 5 * scale) < 1);
	assert_true(fabs(column(half, NULL) - 300 * scale) < 1);
	assert_null(profile_read(plain, strlen(plain), &p));
	assert_int_equal(profile_location_addr(p, 1, &mapping), 0x2000);
	assert_string_equal(profile_mapping(p, mapping)->file, "/x");
	profile_destroy(p);
}

static void refused(const void *bytes, size_t len, const char *why)
{
	struct profile *p = NULL;
	struct err *err = profile_read(bytes, len, &p);

	assert_non_null(err);
	assert_int_equal(err->code, ERR_USAGE);
	if (!strstr(err->msg, why))
		fail_msg("'%s' is not in '%s'", why, err->msg);
	assert_null(strchr(err->msg, '\n'));
	err_free(err);
}

#define REFUSED(text, why) refused(text, sizeof(text) - 1, why)

static void bad_text(void **state)
{
	(void)state;
	REFUSED("", "empty");
	REFUSED("heap profile: x", "first line");
	REFUSED("heap profile: 1: 2 [1: 2] @ contention/100\n", "contention");
	REFUSED("heap profile: 1: 2 [1: 2] @ heap_v2/\n", "rate");
	REFUSED("heap profile: 1: 2 [1: 2] @ heapprofile\n 1: 2 [1: 2 @ 0x1\n", "line 2");
	REFUSED("heap profile: 1: 2 [1: 2] @ heapprofile\n 1: 2 [1: 2] @ 0x1 zzz\n", "address");
	REFUSED("heap profile: 1: 2 [1: 2] @ heapprofile\n 99999999999999999999: 2 [1: 2] @ 0x1\n", "line 2");
	REFUSED("heap profile: 1: 2 [1: 2] @ heapprofile\n\0", "text");
}

/* Bytes n times, packed. */
static uint8_t *packed(const uint8_t *what, size_t len, uint64_t n, size_t *len_ret)
{
	z_stream z = { 0 };
	uint8_t *out = malloc(8 << 20), *chunk = malloc(len * 65536);

	assert_non_null(out);
	assert_non_null(chunk);
	for (size_t i = 0; i < 65536; i++)
		memcpy(chunk + i * len, what, len);
	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = out;
	z.avail_out = 8 << 20;
	for (uint64_t i = 0; i < n / 65536; i++) {
		z.next_in = chunk;
		z.avail_in = (uInt)len * 65536;
		deflate(&z, Z_NO_FLUSH);
		assert_int_equal(z.avail_in, 0);
	}
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*len_ret = z.total_out;
	deflateEnd(&z);
	free(chunk);
	return out;
}

static void bad_bytes(void **state)
{
	static const uint8_t sample[] = { 0x12, 0x00 };
	struct profile *p = example(), *q;
	size_t len;
	char *bytes = written(p, pprof, 0, &len);
	uint8_t *bomb;

	(void)state;
	for (size_t cut = 1; cut < len; cut++) {
		struct err *err = profile_read(bytes, cut, &q);

		assert_non_null(err);
		err_free(err);
	}
	REFUSED("\x12\xff\xff\xff\xff\x0f", "damaged");		/* a sample of 4 GB */
	REFUSED("\x12\x80\x94\xeb\xdc\x03", "damaged");		/* 1,000,000,000 bytes of samples */
	REFUSED("\x0a\x00\x12\x00", "strings");
	REFUSED("\x32\x00\x12\x02\x10\x01", "values");
	REFUSED("\x32\x00\x12\x02\x08\x05", "location");
	bomb = packed(sample, 2, 50u << 20, &len);		/* 50 million samples that say nothing, in 1 MB */
	refused(bomb, len, "MB");
	free(bomb);
	bomb = packed(sample, 2, 100u << 20, &len);
	refused(bomb, len, "larger than 128 MB");
	free(bomb);
	free(bytes);
	profile_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip), cmocka_unit_test(collapsed), cmocka_unit_test(heaps), cmocka_unit_test(bad_text),
		cmocka_unit_test(bad_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
