/*
 * Fuzz perf maps and jitdump files, in pieces of any size.  Any bytes must end in code that has a size, or in nothing.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	parse(JIT_PERF_MAP, data, len, 1 + len / 3);
	parse(JIT_DUMP, data, len, 1 + len / 5);
	parse(JIT_DUMP, data, len, len ? len : 1);
	return 0;
}

#ifndef FUZZING
CORPUS_MAIN_DAMAGED("analysis_jit")
#endif
