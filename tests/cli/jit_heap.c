// test: timeout=60
/*
 * A program with a JIT compiler of its own that allocates, for cli/jit_profile and cli/jit_leaks.
 *	jit_heap OBJECT.o LIBRARY PROFILE	OBJECT.o: the function make(), alone in .text: `return alloc(n, 1)`, with an inlined call
 * Its code lies right behind a mapping of LIBRARY.  It is compiled twice: the first time it is freed again before the end.  A text heap
 * profile of what was allocated goes to PROFILE.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit_interface.h"

typedef void *alloc_fn(size_t n, size_t size);
typedef void *make_fn(alloc_fn *alloc, size_t n);

static FILE *profile;
static void *from_main, *kept[8];
static int blocks;

/* What a heap profiler does: its caller's address and that one's. */
static void *__attribute__((noinline)) allocate(size_t n, size_t unit)
{
	void *p = malloc(n * unit);

	fprintf(profile, "  1: %zu [ 1: %zu] @ %p %p\n", n * unit, n * unit, __builtin_return_address(0), from_main);
	return p;
}

static void forget(struct jit_code_entry *e)
{
	jit_unload(e);
	jit_free(e);
}

static void __attribute__((noinline)) run(make_fn *make, size_t n)
{
	from_main = __builtin_return_address(0);
	kept[blocks++ % 8] = make(allocate, n);
	make(allocate, n + 1);		/* lost */
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	char *area = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *code[2];
	const struct jit_object object = jit_object_read(argv[1]);
	int library = open(argv[2], O_RDONLY), maps;
	struct jit_code_entry *first;
	char line[4096];
	ssize_t n;

	profile = fopen(argv[3], "w");
	if (argc < 4 || !profile || library < 0)
		return 1;
	mmap(area, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, library, 0);
	for (int i = 0; i < 2; i++)
		code[i] = mmap(area + 4096 * (1 + 4 * i), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
	fprintf(profile, "heap profile: 4: 1 [ 4: 1] @ heapprofile\n");
	first = jit_load(&object, code[0]);
	run((make_fn *)(void *)code[0], 1000);
	forget(first);
	memset(code[0], 0xcc, 4096);
	jit_load(&object, code[1]);
	run((make_fn *)(void *)code[1], 2000);
	fprintf(profile, "\nMAPPED_LIBRARIES:\n");
	maps = open("/proc/self/maps", O_RDONLY);
	while ((n = read(maps, line, sizeof(line))) > 0)
		fwrite(line, 1, (size_t)n, profile);
	fclose(profile);
	printf("code %p %p\nEXIT-SUCCESS\n", (void *)code[0], (void *)code[1]);
	return 0;
}
