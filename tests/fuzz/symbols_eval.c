/*
 * Fuzz expressions: `hindsight heap` and `leaks` take them from people and scripts.  The program that they are about is this one, stopped in
 * locals(), whose variables lie in a buffer.  Each ends with a value or with one line that says what is wrong; nothing crashes, and what
 * a value is called, and what is in it, can be told.
 */
#include <sys/uio.h>
#include <unistd.h>

#include "symbols/symbols.h"

#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#else
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int locals(int n);

struct fuzz_node {
	struct fuzz_node *next;
	union { double d; char text[8]; } u;
	unsigned a : 3, b : 5;
	int m[2][3];
	struct fuzz_node *(*make)(int);
	enum { RED, GREEN = 5 } colour;
};
static struct fuzz_node pool[4];
struct fuzz_node *fuzz_head = &pool[1];
struct fuzz_node **fuzz_table[3] = { &fuzz_head, &fuzz_head };
struct { int n; struct fuzz_node tail[]; } fuzz_tail = { 3 };
static uint64_t stack[1024];
static struct symbols *space;
static volatile int sink;

__attribute__((noinline)) int locals(int n)
{
	struct fuzz_node here = { .next = fuzz_head };
	volatile int count = n;

	for (int i = 0; i < n; i++)
		count += here.m[i & 1][i % 3] + i;
	sink = (int)(uintptr_t)&here;
	return count;
}

static bool read_own(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)addr, len };

	(void)ctx;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)len;
}

static void begin(void)
{
	static char maps[1 << 20];
	const struct symbols_options o = { .no_debug_files = true };
	FILE *f = fopen("/proc/self/maps", "r");
	size_t n = f ? fread(maps, 1, sizeof(maps) - 1, f) : 0;

	maps[n] = 0;
	if (!n || symbols_create(&o, &space) || symbols_set_maps_text(space, maps))
		abort();
	fclose(f);
	for (size_t i = 0; i < 4; i++)
		pool[i].next = &pool[(i + 1) & 3];
	for (size_t i = 0; i < sizeof(stack) / 8; i++)
		stack[i] = i & 1 ? (uint64_t)&pool[i & 3] : i;
	locals(1);
}

/* What there is to say of a type, to some depth. */
static size_t tell(const struct symbols_type *t, unsigned depth)
{
	static const uint64_t offsets[] = { 0, 1, 8, 12, 4096, UINT64_MAX / 2 };
	size_t n = 0, sum = t ? strlen(symbols_type_name(t)) + symbols_type_size(t) : 0;
	const struct symbols_member *m;
	char path[64];

	if (!t || depth > 3)
		return sum;
	for (size_t i = 0; i < sizeof(offsets) / 8; i++) {
		symbols_type_path(t, offsets[i], i & 1, path, sizeof(path));
		sum += strlen(path);
	}
	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n && i < 8; i++)
		sum += tell(m[i].type, depth + 1);
	return sum + symbols_type_count(t) + tell(symbols_type_target(t), depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct symbols_memory mem = { .read = read_own };
	struct symbols_regs regs = { .r = { [SYMBOLS_RIP] = (uint64_t)locals + 16, [SYMBOLS_RSP] = (uint64_t)&stack[400],
					    [SYMBOLS_RBP] = (uint64_t)&stack[510] } };
	struct symbols_value v;
	struct err *err;
	char *text = malloc(len + 1);

	if (!space)
		begin();
	memcpy(text, data, len);
	text[len] = 0;
	err = symbols_evaluate(space, text, &regs, (uint64_t)&stack[512], &mem, &v);
	if (!err)
		sink = (int)tell(v.type, 0);
	else if (!err->msg || (strchr(err->msg, '\n') && !strchr(text, '\n')) || strlen(err->msg) > len + 400)
		abort();
	err_free(err);
	free(text);
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
	return corpus_main(argc, argv, "tests/fuzz/corpus/symbols_eval", run);
}
#endif
