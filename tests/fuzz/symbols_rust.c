/*
 * Fuzz names of Rust (v0): any text must end in a name without control characters that is no longer than it may be, or in
 * none, soon.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/internal.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ask(const uint8_t *data, size_t len, const char *begin)
{
	char *text = malloc(len + 3), *name;

	if (!text)
		abort();
	memcpy(text, begin, 2);
	memcpy(text + 2, data, len);
	text[len + 2] = 0;
	name = rust_demangle(text);
	if (name && (!*name || strlen(name) > 1 << 20))
		abort();
	if (name && begin[1] != 'R')
		abort();
	free(name);
	free(demangle_full(text));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (memchr(data, 0, len) || len > 4096)
		return 0;
	ask(data, len, "_R");
	ask(data, len, "_Z");
	return 0;
}

#ifndef FUZZING
CORPUS_MAIN_DAMAGED("symbols_rust")
#endif
