/* Files of LuaJIT's memprof: versions 1 to 3, symbols that change, cut and lying ones; the golden file read, reported and written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/alloc/ljm.h"

#define GOLDEN "tests/golden/memprof-jitoff"

static char *file(const char *name, size_t *len)
{
	FILE *f = fopen(name, "r");
	char *text = malloc(1 << 20);

	assert_non_null(f);
	*len = fread(text, 1, 1 << 20, f);
	fclose(f);
	return text;
}

static char *report(struct alloc_log *l, bool leak_only)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_null(alloc_report_print(l, &(struct alloc_query){ .to = SIZE_MAX }, &(struct alloc_report){ .leak_only = leak_only }, f));
	fclose(f);
	return text;
}

static char *written(struct alloc_log *l, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	assert_null(alloc_ljm_write(l, &(struct alloc_query){ .to = SIZE_MAX }, f));
	fclose(f);
	return text;
}

static int by_line(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Lines in order of their texts: of equal counts the peer's order is that of its hash table. */
static char *sorted(const char *text)
{
	char *copy = strdup(text), *line[1000], *all = malloc(strlen(text) + 1000);
	size_t n = 0;

	for (char *p = strtok(copy, "\n"); p; p = strtok(NULL, "\n"))
		line[n++] = p;
	qsort(line, n, sizeof(*line), by_line);
	*all = '\0';
	for (size_t i = 0; i < n; i++)
		strcat(strcat(all, line[i]), "\n");
	free(copy);
	return all;
}

static void golden(void **state)
{
	size_t len, again_len, want_len;
	char *bytes = file(GOLDEN ".bin", &len), *want = file(GOLDEN ".txt", &want_len), *got, *again, *a, *b;
	struct alloc_log *l;

	(void)state;
	want[want_len] = '\0';
	assert_null(alloc_ljm_read(bytes, len, &l));
	got = report(l, false);
	assert_int_equal(strlen(got), want_len);
	a = sorted(got);
	b = sorted(want);
	assert_string_equal(a, b);
	again = written(l, &again_len);
	assert_int_equal(again_len, len);
	assert_memory_equal(again, bytes, len);
	alloc_log_destroy(l);
	free(a);
	free(b);
	free(got);
	free(again);
	free(bytes);
	free(want);
}

/* An error wherever it is cut, and all events that came before. */
static void cut(void **state)
{
	size_t len, events = 0;
	char *bytes = file(GOLDEN ".bin", &len);

	(void)state;
	for (size_t n = 0; n < len; n += n < 200 || n > len - 3000 ? 1 : 977) {
		char *copy = memcpy(malloc(n + 1), bytes, n);
		struct alloc_log *l;
		struct err *err = alloc_ljm_read(copy, n, &l);

		assert_non_null(err);
		err_free(err);
		if (l) {
			assert_true(l->n >= events);
			events = l->n;
			free(report(l, false));
		}
		alloc_log_destroy(l);
		free(copy);
	}
	assert_true(events > 1500);
	free(bytes);
}

#define READ(bytes, l) alloc_ljm_read(bytes, sizeof(bytes) - 1, l)

static void versions(void **state)
{
	/* version 1: lfunc 0x10 "@a" 1; alloc by it at line 5: 64 bytes at 0x100; INT frees them */
	static const char v1[] = "ljs\1\0\0\0" "\0\x10\2@a\1" "\x80" "ljm\1\0\0\0" "\x09\x10\5\x80\2\x40" "\x06\x80\2\x40" "\x80";
	/* version 2: trace 3 has code 0x99, began in 0x10 at line 7 */
	static const char v2[] = "ljs\2\0\0\0" "\0\x10\2@a\1" "\1\3\x99\1\x10\7" "\x80" "ljm\2\0\0\0" "\x11\3\x99\1\x80\2\x40" "\x80";
	/* version 3: 0x10 becomes another prototype on the way; a C function with a name, one without */
	static const char v3[] = "ljs\3\0\0\0" "\0\x10\2@a\1" "\1\x30\3fn1" "\x80" "ljm\3\0\0\0" "\x09\x10\5\x80\2\x40" "\x08\x10\3a\nb\2" "\x09\x10\6\x80\3\x20"
				 "\x0d\x38\x80\4\1" "\x0d\x20\x80\5\1" "\x0f\x20\x80\5\1\x80\6\2" "\x80";
	struct alloc_log *l;
	char *text;

	(void)state;
	assert_null(READ(v1, &l));
	text = report(l, false);
	assert_string_equal(text, "ALLOCATIONS\n@a:5: 1 events\t+64B\t-0B\n\nREALLOCATIONS\n\nDEALLOCATIONS\nINTERNAL: 1 events\t+0B\t-64B\n"
				  "\tOverrides:\n\t\t@a:5\n\n\nHEAP SUMMARY:\n\n");
	free(text);
	alloc_log_destroy(l);
	assert_null(READ(v2, &l));
	text = report(l, true);
	assert_string_equal(text, "HEAP SUMMARY:\nTRACE [3] started at @a:7 holds 64B: 1 allocs, 0 frees\n\n");
	free(text);
	alloc_log_destroy(l);
	assert_null(READ(v3, &l));
	text = report(l, true);
	assert_string_equal(text, "HEAP SUMMARY:\n@a:5 holds 64B: 1 allocs, 0 frees\nfunction_alias_1:6 holds 32B: 1 allocs, 0 frees\n"
				  "CFUNC 0x20 holds 2B: 2 allocs, 1 frees\nfn1:0x30 holds 1B: 1 allocs, 0 frees\n\nALIASES:\nfunction_alias_1:\na\nb\n\n");
	free(text);
	alloc_log_destroy(l);
}

static void lies(void **state)
{
#define BAD(b) { b, sizeof(b) - 1 }
	static const struct { const char *bytes; size_t len; } bad[] = {
		BAD(""), BAD("ljs"), BAD("ljs\4\0\0\0\x80"), BAD("ljs\0\0\0\0\x80"), BAD("ljs\3\0\0\1\x80"), BAD("ljs\3\0\0\0\3"),
		BAD("ljs\1\0\0\0\1\1\1a\1"),
	};
	/* a text of 2^60 bytes; a number of 11 bytes, of 70 bits; events of unknown kinds */
	static const char text[] = "ljs\3\0\0\0" "\0\1\x80\x80\x80\x80\x80\x80\x80\x80\x10" "aaaa";
	static const char number[] = "ljs\3\0\0\0\x80" "ljm\3\0\0\0" "\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\2\1" "\x80";
	static const char longer[] = "ljs\3\0\0\0\x80" "ljm\3\0\0\0" "\5\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\1" "\x80";
	static const char source[] = "ljs\3\0\0\0\x80" "ljm\3\0\0\0" "\x15\1\1" "\x80";
	static const char old[] = "ljs\1\0\0\0\x80" "ljm\1\0\0\0" "\x08\1\1a\1" "\x80";
	struct alloc_log *l;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err *err = alloc_ljm_read(bad[i].bytes, bad[i].len, &l);

		assert_non_null(err);
		assert_null(l);
		err_free(err);
	}
#define REFUSED(b) do { struct err *e_ = READ(b, &l); assert_non_null(e_); err_free(e_); alloc_log_destroy(l); } while (0)
	REFUSED(text);
	REFUSED(number);
	REFUSED(longer);
	REFUSED(source);
	REFUSED(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden), cmocka_unit_test(cut), cmocka_unit_test(versions), cmocka_unit_test(lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
