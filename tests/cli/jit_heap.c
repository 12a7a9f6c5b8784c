// test: timeout=60
/*
 * A program with a JIT compiler of its own that allocates, for cli/jit_profile and cli/jit_leaks.
 *	jit_heap OBJECT.o LIBRARY PROFILE	OBJECT.o: the function make(), alone in .text: `return alloc(n, 1)`, with an inlined call
 * Its code lies right behind a mapping of LIBRARY.  It is compiled twice: the first time it is freed again before the end.  A text heap
 * profile of what was allocated goes to PROFILE.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *symfile_addr;
	uint64_t symfile_size;
};
struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};
struct jit_descriptor __jit_debug_descriptor = { 1, 0, NULL, NULL };
void __attribute__((noinline)) __jit_debug_register_code(void);
void __attribute__((noinline)) __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

typedef void *alloc_fn(size_t n, size_t size);
typedef void *make_fn(alloc_fn *alloc, size_t n);

static char *object;
static size_t size;
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

static struct jit_code_entry *compile(char *to)
{
	struct jit_code_entry *e = calloc(1, sizeof(*e));
	char *copy = malloc(size);
	Elf64_Ehdr *eh = (void *)copy;
	Elf64_Shdr *sh;

	memcpy(copy, object, size);
	sh = (void *)(copy + eh->e_shoff);
	for (int i = 1; i < eh->e_shnum; i++)
		if ((sh[i].sh_flags & SHF_EXECINSTR) && sh[i].sh_size) {
			memcpy(to, copy + sh[i].sh_offset, sh[i].sh_size);
			sh[i].sh_addr = (uintptr_t)to;
		}
	e->symfile_addr = copy;
	e->symfile_size = size;
	__jit_debug_descriptor.relevant = __jit_debug_descriptor.first = e;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
	return e;
}

static void forget(struct jit_code_entry *e)
{
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = 2;
	__jit_debug_register_code();
	free((char *)e->symfile_addr);
	free(e);
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
	int fd = open(argv[1], O_RDONLY), library = open(argv[2], O_RDONLY), maps;
	struct jit_code_entry *first;
	char line[4096];
	struct stat st;
	ssize_t n;

	profile = fopen(argv[3], "w");
	if (!profile || fd < 0 || library < 0 || fstat(fd, &st))
		return 1;
	size = (size_t)st.st_size;
	object = malloc(size);
	if (read(fd, object, size) != (ssize_t)size)
		return 1;
	mmap(area, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, library, 0);
	for (int i = 0; i < 2; i++)
		code[i] = mmap(area + 4096 * (1 + 4 * i), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
	fprintf(profile, "heap profile: 4: 1 [ 4: 1] @ heapprofile\n");
	first = compile(code[0]);
	run((make_fn *)(void *)code[0], 1000);
	forget(first);
	memset(code[0], 0xcc, 4096);
	compile(code[1]);
	run((make_fn *)(void *)code[1], 2000);
	fprintf(profile, "\nMAPPED_LIBRARIES:\n");
	maps = open("/proc/self/maps", O_RDONLY);
	while ((n = read(maps, line, sizeof(line))) > 0)
		fwrite(line, 1, (size_t)n, profile);
	fclose(profile);
	printf("code %p %p\nEXIT-SUCCESS\n", (void *)code[0], (void *)code[1]);
	return 0;
}
