/*
 * Fuzz untrusted profiles (profile.proto, gzip'd or not, text heap profiles).  Any bytes must end
 *in an error or a profile that all forms can be written of, in bounded memory.
 *
 *	clang -fsanitize=fuzzer,address,undefined -DFUZZING ...	libFuzzer
 *	otherwise: a program that runs the files (or directories of files) it is given, each as it
 *is and with MUTATIONS (environment; default 300) damages that are the same every time
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	return 0;
}

#ifndef FUZZING
CORPUS_MAIN_DAMAGED("analysis_profile")
#endif
