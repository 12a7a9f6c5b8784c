/*
 * Fuzz files of LuaJIT's memprof: any bytes must end in an error or a log that reports, totals and profiles can be made of, in bounded memory; what is
 * written of it reads back and writes the same bytes again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/alloc/ljm.h"
#include "analysis/output/output.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(struct err *err)
{
	if (err)
		abort();
}

static char *written(struct alloc_log *l, size_t *len)
{
	struct alloc_query q = { .to = SIZE_MAX };
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	check(alloc_ljm_write(l, &q, f));
	fclose(f);
	return text;
}

static void look(struct alloc_log *l)
{
	struct alloc_query q = { .to = SIZE_MAX, .points = 10, .owners = 3, .churn = 100 };
	FILE *null = fopen("/dev/null", "w");
	struct alloc_totals t;

	for (int by = ALLOC_BY_LINE; by <= ALLOC_BY_THREAD; by++) {
		q.by = (enum alloc_by)by;
		check(alloc_totals_make(l, &q, &t));
		alloc_totals_free(&t);
	}
	for (int human = 0; human < 2; human++)
		check(alloc_report_print(l, &q, &(struct alloc_report){ .human_readable = human }, null));
	profile_destroy(alloc_profile(l, &q, &q));
	fclose(null);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct alloc_log *l, *m;
	size_t a_len, b_len;
	char *a, *b;

	err_free(alloc_ljm_read(data, len, &l));
	if (!l)
		return 0;
	look(l);
	a = written(l, &a_len);
	check(alloc_ljm_read(a, a_len, &m));
	b = written(m, &b_len);
	if (a_len != b_len || memcmp(a, b, a_len) || l->n != m->n)
		abort();
	free(a);
	free(b);
	alloc_log_destroy(l);
	alloc_log_destroy(m);
	return 0;
}

#ifndef FUZZING
CORPUS_MAIN_DAMAGED("analysis_ljm")
#endif
