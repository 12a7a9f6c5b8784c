/*
 * Files of other profilers: what Tarantool's sysprof and RaptorJIT wrote (tests/golden) is read to
 * the last byte, reported as their own tools do, and written again as it was.  Damaged files are
 * refused or read, never more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "analysis/profile/sysprof.h"
#include "analysis/profile/table.h"

static char *content(const char *path, size_t *len)
{
	char *bytes = malloc(1 << 20);
	gzFile f = gzopen(path, "rb");
	int n;

	assert_non_null(f);
	n = gzread(f, bytes, 1 << 20);
	assert_true(n > 0);
	*len = (size_t)n;
	gzclose(f);
	/* just as long as it is: a sanitizer sees a read beyond */
	return realloc(bytes, *len);
}

static char *written(const struct sysprof *s, size_t *len)
{
	char *bytes = NULL;
	FILE *f = open_memstream(&bytes, len);

	sysprof_write(s, f);
	fclose(f);
	return bytes;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Its lines, in order: the peer's order is that of a hash. */
static char *sorted(char *text, size_t len)
{
	char *line[64], *ret = malloc(len + 2);
	size_t n = 0;

	ret[0] = '\0';
	for (char *l = strtok(text, "\n"); l && n < 64; l = strtok(NULL, "\n"))
		line[n++] = l;
	qsort(line, n, sizeof(*line), by_text);
	for (size_t i = 0; i < n; i++) {
		strcat(ret, line[i]);
		strcat(ret, "\n");
	}
	return ret;
}

static void test_golden(void **state)
{
	size_t len, out_len, text_len, report_len;
	char *bytes = content("tests/golden/sysprof.bin", &len), *out, *report = NULL, *a, *b;
	char *text = content("tests/golden/sysprof.txt", &text_len);
	struct sysprof *s;
	FILE *f;

	(void)state;
	assert_null(sysprof_read(bytes, len, &s));
	out = written(s, &out_len);
	assert_int_equal(out_len, len);
	assert_memory_equal(out, bytes, len);
	f = open_memstream(&report, &report_len);
	sysprof_report(s, f);
	fclose(f);
	text = realloc(text, text_len + 1);
	text[text_len] = '\0';
	a = sorted(report, report_len);
	b = sorted(text, text_len);
	assert_string_equal(a, b);
	sysprof_destroy(s);
	free(a);
	free(b);
	free(bytes);
	free(text);
	free(out);
	free(report);
}

static void test_profile(void **state)
{
	struct cpuprof_table t;
	struct cpuprof p;
	struct sysprof *s;
	size_t len;
	char *bytes = content("tests/golden/sysprof.bin", &len);

	(void)state;
	assert_null(sysprof_read(bytes, len, &s));
	cpuprof_init(&p);
	sysprof_profile(s, &p);
	assert_int_equal(p.weight, 33);
	cpuprof_table(&p, CPUPROF_BY_LINE, &t);
	assert_string_equal(t.row[0].name, "sys1.lua:2\t@sys1.lua:2");
	assert_int_equal(t.row[0].self, 24);
	cpuprof_table_deinit(&t);
	cpuprof_deinit(&p);
	sysprof_destroy(s);
	free(bytes);
}

static void test_vmprofile(void **state)
{
	size_t len;
	char *bytes = content("tests/golden/raptor.vmprofile.gz", &len);
	struct cpuprof_table t;
	struct cpuprof p;

	(void)state;
	assert_true(vmprofile_is(bytes, len));
	cpuprof_init(&p);
	assert_null(vmprofile_read(bytes, len, &p));
	assert_int_equal(p.weight, 34);
	cpuprof_table(&p, CPUPROF_BY_TRACE, &t);
	assert_string_equal(t.row[0].name, "2\t");
	assert_int_equal(t.row[0].self, 23);
	cpuprof_table_deinit(&t);
	cpuprof_deinit(&p);
	for (size_t n = 0; n < 16; n++) {
		struct err *err;

		cpuprof_init(&p);
		err = vmprofile_read(bytes, n < 8 ? n : len - n, &p);
		assert_non_null(err);
		err_free(err);
		cpuprof_deinit(&p);
	}
	free(bytes);
}

/* ---- made here ------------------------------------------------------------------------------- */

static uint32_t frame(struct cpuprof *p, int kind, const char *name, const char *file, unsigned line,
		      uint64_t addr, unsigned trace)
{
	struct cpuprof_frame f = { .kind = (uint8_t)kind,
				   .function = cpuprof_string(p, name),
				   .file = cpuprof_string(p, file),
				   .line = line,
				   .first_line = line,
				   .address = addr,
				   .trace = trace };

	return cpuprof_frame(p, &f);
}

static void add(struct cpuprof *p, const char *state, unsigned trace, uint32_t weight,
		const uint32_t *list, size_t n)
{
	struct cpuprof_sample s = { .weight = weight, .trace = trace, .user_ns = p->samples };

	s.stack = cpuprof_stack(p, list, n);
	s.state = cpuprof_string(p, state);
	cpuprof_sample(p, &s);
}

static struct sysprof *made(void)
{
	struct cpuprof p;
	struct sysprof *s;

	cpuprof_init(&p);
	{
		uint32_t start = frame(&p, CPUPROF_HOST, "main", NULL, 0, 0x401000, 0);
		uint32_t call = frame(&p, CPUPROF_HOST, "lua_pcall", NULL, 0, 0x402000, 0);
		uint32_t chunk = frame(&p, CPUPROF_GUEST, "main chunk", "x.lua", 0, 0x7000, 0);
		uint32_t leaf = frame(&p, CPUPROF_GUEST, "leaf", "x.lua", 3, 0x7100, 0);
		uint32_t fast = frame(&p, CPUPROF_BUILTIN, "tostring", NULL, 0, 0, 0);
		uint32_t hot = frame(&p, CPUPROF_TRACE, "leaf", "x.lua", 3, 0x7100, 5);
		/* the same address means something else later */
		uint32_t other = frame(&p, CPUPROF_GUEST, "other", "y.lua", 9, 0x7100, 0);

		add(&p, "interpreter", 0, 2, (uint32_t[]){ leaf, chunk, call, start }, 4);
		add(&p, "builtin", 0, 1, (uint32_t[]){ fast, leaf, chunk, call, start }, 5);
		add(&p, "trace", 5, 3, (uint32_t[]){ hot, chunk, call, start }, 4);
		add(&p, "interpreter", 0, 1, (uint32_t[]){ other, chunk, call, start }, 4);
		add(&p, "GC", 0, 1, (uint32_t[]){ call, start }, 2);
		add(&p, "", 0, 1, (uint32_t[]){ start }, 1);
	}
	s = sysprof_create(&p);
	cpuprof_deinit(&p);
	return s;
}

static void test_made(void **state)
{
	struct sysprof *s = made(), *again;
	char *report = NULL, *bytes, *bytes2;
	size_t len, len2, report_len;
	struct cpuprof_table t;
	struct cpuprof p;
	FILE *f;

	(void)state;
	bytes = written(s, &len);
	assert_null(sysprof_read(bytes, len, &again));
	bytes2 = written(again, &len2);
	assert_int_equal(len, len2);
	assert_memory_equal(bytes, bytes2, len);
	f = open_memstream(&report, &report_len);
	sysprof_report(again, f);
	fclose(f);
	assert_non_null(strstr(report, "main:0x401000;lua_pcall:0x402000;@x.lua:0;@x.lua:3;\t3\n"));
	assert_non_null(strstr(report, "main:0x401000;lua_pcall:0x402000;@x.lua:0;@y.lua:9;\t1\n"));
	assert_non_null(strstr(report, "main:0x401000;lua_pcall:0x402000;\t1\n"));
	assert_non_null(strstr(report, ";\t3\n"));
	cpuprof_init(&p);
	sysprof_profile(again, &p);
	cpuprof_table(&p, CPUPROF_BY_TRACE, &t);
	assert_string_equal(t.row[1].name, "5\tx.lua:3");
	assert_int_equal(t.row[1].self, 3);
	cpuprof_table_deinit(&t);
	cpuprof_deinit(&p);
	sysprof_destroy(s);
	sysprof_destroy(again);
	free(report);
	free(bytes);
	free(bytes2);
}

/* ---- damaged --------------------------------------------------------------------------------- */

static void try(const char *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1);
	struct sysprof *s = NULL;
	struct cpuprof p;
	struct err *err;
	FILE *f;

	memcpy(copy, bytes, len);
	err = sysprof_read(copy, len, &s);
	if (err) {
		assert_int_equal(err->code, ERR_USAGE);
		assert_non_null(strstr(err->msg, "not a sysprof file"));
		err_free(err);
		free(copy);
		return;
	}
	f = fopen("/dev/null", "w");
	sysprof_report(s, f);
	sysprof_write(s, f);
	fclose(f);
	cpuprof_init(&p);
	sysprof_profile(s, &p);
	cpuprof_deinit(&p);
	sysprof_destroy(s);
	free(copy);
}

static uint32_t rnd(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

static void test_damaged(void **state)
{
	struct sysprof *s = made();
	size_t len;
	char *bytes = written(s, &len), *copy = malloc(len);
	uint32_t x = 1;

	(void)state;
	for (size_t n = 0; n < len; n++)
		try(bytes, n);
	for (unsigned round = 0; round < 20000; round++) {
		memcpy(copy, bytes, len);
		for (unsigned k = rnd(&x) % 4 + 1; k; k--) {
			size_t at = rnd(&x) % len;

			copy[at] = rnd(&x) % 3 ? (char)(copy[at] ^ 1 << rnd(&x) % 8)
					       : (char)rnd(&x);
		}
		try(copy, len);
	}
	free(copy);
	free(bytes);
	sysprof_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	  cmocka_unit_test(test_profile),
		cmocka_unit_test(test_vmprofile), cmocka_unit_test(test_made),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
