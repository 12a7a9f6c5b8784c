/*
 * corpus.h - a fuzzer without libFuzzer: a program that runs the files, or directories of files, that it is given.
 */
#ifndef TESTS_FUZZ_CORPUS_H
#define TESTS_FUZZ_CORPUS_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CORPUS_FILE_MAX = 8 << 20 };

/* One file; data is the function's to change. */
typedef void corpus_fn(const char *path, uint8_t *data, size_t len);

static int corpus_run(const char *path, corpus_fn *fn)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char inner[4096];
	uint8_t *data;
	size_t len;
	FILE *f;
	int n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
		n += corpus_run(inner, fn);
	}
	if (d) {
		closedir(d);
		return n;
	}
	f = fopen(path, "r");
	data = malloc(CORPUS_FILE_MAX);
	if (!f || !data) {
		perror(path);
		exit(1);
	}
	len = fread(data, 1, CORPUS_FILE_MAX, f);
	fclose(f);
	fn(path, data, len);
	free(data);
	return 1;
}

static inline int corpus_main(int argc, char **argv, const char *otherwise, corpus_fn *fn)
{
	int n = 0;

	for (int i = 1; i < argc; i++)
		n += corpus_run(argv[i], fn);
	if (argc < 2)
		n += corpus_run(otherwise, fn);
	printf("%d inputs\n", n);
	return n ? 0 : 1;
}

#endif
