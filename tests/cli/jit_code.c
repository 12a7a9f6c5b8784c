// test: timeout=60
/*
 * A program with a JIT compiler of its own, for cli/jit: registers objects with GDB's interface and writes a perf map.
 *	jit_code OBJECT.o TIMES	(OBJECT.o: a function `square` alone in .text, with debug information)
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

static char *object;
static size_t size;

static void tell(struct jit_code_entry *e, uint32_t action)
{
	if (action == 1) {
		e->next = __jit_debug_descriptor.first;
		e->prev = NULL;
		if (e->next)
			e->next->prev = e;
		__jit_debug_descriptor.first = e;
	} else {
		if (e->prev)
			e->prev->next = e->next;
		else
			__jit_debug_descriptor.first = e->next;
		if (e->next)
			e->next->prev = e->prev;
	}
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = action;
	__jit_debug_register_code();
}

/* Copies the code to `to` and gives it out. */
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
	tell(e, 1);
	return e;
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 1, fd = open(argv[1], O_RDONLY), sum = 0;
	char *code = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct jit_code_entry *first, *second;
	struct stat st;
	FILE *map;

	fstat(fd, &st);
	size = (size_t)st.st_size;
	object = malloc(size);
	if (read(fd, object, size) != (ssize_t)size || code == MAP_FAILED)
		return 1;
	printf("code %p\n", code);
	first = compile(code);
	second = compile(code + 4096);
	sum += ((int (*)(int))code)(3);
	tell(first, 2);
	for (int i = 0; i < times; i++) {
		struct jit_code_entry *e = compile(code + 8192 + i % 64 * 64);

		sum += ((int (*)(int))(code + 8192 + i % 64 * 64))(i);
		if (i + 1 < times) {
			tell(e, 2);
			free((void *)(uintptr_t)e->symfile_addr);
			free(e);
		}
	}
	sum += ((int (*)(int))(code + 4096))(5);
	(void)second;

	map = fopen("perf-1.map", "w");
	memcpy(code + 65536, "\xb8\x07\0\0\0\xc3", 6);
	fprintf(map, "%lx 6 early name\n", (long)(code + 65536));
	fflush(map);
	sum += ((int (*)(void))(code + 65536))();
	fprintf(map, "0x%lx 10 late", (long)(code + 65536));
	fflush(map);
	fprintf(map, "\nnonsense\n");
	fclose(map);
	memcpy(code + 131072, "\xb8\x09\0\0\0\xc3", 6);
	sum += ((int (*)(void))(code + 131072))();
	printf("sum %d\n", sum);
	return 0;
}
