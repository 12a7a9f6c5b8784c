/*
 * corpus.h - a fuzzer without libFuzzer: a program that runs the files, or directories of files, that it is given.
 */
#ifndef TESTS_FUZZ_CORPUS_H
#define TESTS_FUZZ_CORPUS_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- the same input, damaged in ways that are the same every time ---- */

static uint64_t corpus_seed;

static inline uint64_t corpus_next(void)
{
	corpus_seed ^= corpus_seed << 13;
	corpus_seed ^= corpus_seed >> 7;
	return corpus_seed ^= corpus_seed << 17;
}

static inline void corpus_damage(uint8_t *data, size_t *len)
{
	static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x40, '\n' };
	unsigned n = 1 + corpus_next() % 8;

	for (unsigned i = 0; i < n; i++) {
		uint64_t at = corpus_next() % *len, run = 1 + corpus_next() % 3;

		for (uint64_t k = 0; k < run && at + k < *len; k++)
			data[at + k] = corpus_next() & 1 ? odd[corpus_next() % 8] : (uint8_t)corpus_next();
	}
	if (corpus_next() % 4 == 0)
		*len = 1 + corpus_next() % *len;
}

/* data as it is, then MUTATIONS times (environment; 300) damaged. */
static inline void corpus_mutate(const uint8_t *data, size_t len, int (*one)(const uint8_t *, size_t))
{
	const char *env = getenv("MUTATIONS");
	int mutations = env ? atoi(env) : 300;
	uint8_t *copy = malloc(len + 1);

	if (!copy)
		abort();
	one(data, len);
	for (int i = 0; len && i < mutations; i++) {
		size_t n = len;

		memcpy(copy, data, len);
		corpus_seed = 88172645463325252ull + (uint64_t)i * 1000003;
		corpus_damage(copy, &n);
		one(copy, n);
	}
	free(copy);
}

/* The main() of a fuzzer that is called NAME: run(), a corpus_fn, sees each file of its corpus. */
#define CORPUS_MAIN(name, run)                                                   \
	int main(int argc, char **argv)                                          \
	{                                                                        \
		return corpus_main(argc, argv, "tests/fuzz/corpus/" name, run);  \
	}
/* The same, where each file is run whole and damaged. */
#define CORPUS_MAIN_DAMAGED(name)                                                \
	static void corpus_damaged(const char *path, uint8_t *data, size_t len)  \
	{                                                                        \
		(void)path;                                                      \
		corpus_mutate(data, len, LLVMFuzzerTestOneInput);                \
	}                                                                        \
	CORPUS_MAIN(name, corpus_damaged)

#endif
