/*
 * Fuzz ELF and DWARF: any bytes must end in answers or none, in bounded time and memory.
 *
 *	clang -fsanitize=fuzzer,address,undefined -DFUZZING ...	libFuzzer
 *	otherwise: a program that runs the files (or directories of files) it is given, each as it is and with MUTATIONS
 *	(environment; default 100) damages that are the same every time
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fuzz/symbols_ask.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* As an object that a JIT compiler registered. */
static void ask_object(const struct symbols_options *options, const uint8_t *data, size_t len)
{
	struct symbols_frame f[20];
	struct symbols *s;
	struct err *err;
	uint64_t id;

	check(symbols_create(options, &s));
	err = symbols_jit_add(s, data, len, &id);
	if (!err)
		for (uint64_t pc = 0; pc < 0x2000; pc += 61)
			looked_at += symbols_jit_lookup(s, id, pc, f, 20);
	check(err);
	symbols_destroy(s);
}

#ifdef FUZZING
/* The worker's coverage counts, too: it leaves its counters in shared memory when it ends. */
static uint8_t *workers;

/* clang's own declarations of these would get other names if C knew the names. */
static uint8_t *counters(size_t *n_ret)
{
	uint8_t *from, *to;

	asm("lea __start___sancov_cntrs(%%rip), %0; lea __stop___sancov_cntrs(%%rip), %1" : "=r"(from), "=r"(to));
	*n_ret = (size_t)(to - from);
	return from;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	size_t n;

	(void)argc;
	(void)argv;
	counters(&n);
	workers = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (workers == MAP_FAILED)
		abort();
	return 0;
}

static void counters_add(uint8_t *to, const uint8_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i] > to[i] ? from[i] : to[i];
}

void _exit(int status)
{
	size_t n;
	uint8_t *mine = counters(&n);

	if (workers)
		counters_add(workers, mine, n);
	for (;;)
		syscall(SYS_exit_group, status);
}

static void workers_count(void)
{
	size_t n;
	uint8_t *mine = counters(&n);

	counters_add(mine, workers, n);
	memset(workers, 0, n);
}
#else
static void workers_count(void)
{
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct symbols_options options = { .no_debug_files = true, .index_dir = "" };

	ask_image(&options, data, len);
	ask_object(&options, data, len);
	workers_count();
	return 0;
}

#ifndef FUZZING
static uint64_t seed = 88172645463325252ull;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* A few bytes here and there, mostly behind the first page, where the interesting sections are. */
static void damage(uint8_t *data, size_t len)
{
	static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x40, 0x10 };
	unsigned n = 1 + next() % 12;

	for (unsigned i = 0; i < n; i++) {
		uint64_t at = next() % len, run = 1 + next() % 4;

		if (at < 4096 && next() % 4)
			at = len - 1 - at % len;
		for (uint64_t k = 0; k < run && at + k < len; k++)
			data[at + k] = next() & 1 ? odd[next() % 8] : (uint8_t)next();
	}
}

static void run(const char *path, uint8_t *data, size_t len)
{
	const char *env = getenv("MUTATIONS"), *from = getenv("FROM");
	int mutations = env ? atoi(env) : 100;
	uint8_t *copy = malloc(len + 1);

	if (!copy)
		abort();
	LLVMFuzzerTestOneInput(data, len);
	for (int i = 0; i < mutations; i++) {
		memcpy(copy, data, len);
		seed = 88172645463325252ull + (uint64_t)i * 1000003;
		damage(copy, len);
		if (from && i < atoi(from))
			continue;
		if (from)
			fprintf(stderr, "%s %d\n", path, i);
		LLVMFuzzerTestOneInput(copy, len);
	}
	free(copy);
}

CORPUS_MAIN("symbols_elf", run)
#endif
