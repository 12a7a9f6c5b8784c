/*
 * Fuzz what strangers write: profiles (profile.proto, gzip'd or not, text heap profiles), perf maps and jitdump files.  Any bytes must end
 * in an error or a profile that all forms can be written of, in bounded memory.
 *
 *	clang -fsanitize=fuzzer,address,undefined -DFUZZING ...	libFuzzer
 *	otherwise: a program that runs the files (or directories of files) it is given, each as it is and with MUTATIONS
 *	(environment; default 300) damages that are the same every time
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jit.h"
#include "analysis/output/output.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

volatile uint64_t looked_at;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void see(void *ctx, const struct jit_named *n)
{
	(void)ctx;
	if (n->size == 0 || n->start + n->size < n->start)
		abort();
	looked_at += (n->name ? strlen(n->name) : 0) + (n->file ? strlen(n->file) : 0) + n->line;
}

static void parse(enum jit_origin origin, const uint8_t *data, size_t len, size_t piece)
{
	struct jit_parser *p = jit_parser_create(origin, see, NULL);

	for (size_t at = 0; at < len; at += piece)
		jit_parser_feed(p, data + at, len - at < piece ? len - at : piece);
	jit_parser_destroy(p);
}

static void check(struct err *err)
{
	if (err)
		abort();
}

static void write_all(struct profile *p)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct profile *again;
	unsigned type;

	check(profile_write_pprof(p, f));
	fflush(f);
	check(profile_read(text, len, &again));
	if (profile_samples(again) != profile_samples(p) || profile_locations(again) > profile_locations(p))
		abort();
	profile_destroy(again);
	err_free(profile_type_find(p, NULL, &type));
	if (profile_types(p)) {
		check(profile_write_collapsed(p, type, f));
		check(profile_write_svg(p, type, "title", f));
		check(profile_write_html(p, type, "title", f));
		check(profile_write_dot(p, type, "title", f));
	}
	fclose(f);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct profile *p;
	struct err *err = profile_read(data, len, &p);

	if (err) {
		if (strchr(err->msg, '\n'))
			abort();
		err_free(err);
	} else {
		write_all(p);
		profile_destroy(p);
	}
	parse(JIT_PERF_MAP, data, len, 1 + len / 3);
	parse(JIT_DUMP, data, len, 1 + len / 5);
	return 0;
}

#ifndef FUZZING
static void run(const char *path, uint8_t *data, size_t len)
{
	(void)path;
	corpus_mutate(data, len, LLVMFuzzerTestOneInput);
}

int main(int argc, char **argv)
{
	return corpus_main(argc, argv, "tests/fuzz/corpus/analysis_profile", run);
}
#endif
