// test: timeout=60
/*
 * A program that registers many objects with GDB's JIT interface, for cli/gdb_jit_many: code of each calls back().
 *	jit_many A.o B.o TIMES	(each: a function `int f(int (*back)(int), int n)' alone in .text, with debug information)
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

enum { ROOM = 256 };

static char *object[2];
static size_t size[2];

static void tell(struct jit_code_entry *e, uint32_t action)
{
	struct jit_code_entry **first = &__jit_debug_descriptor.first;

	if (action == 1) {
		e->next = *first;
		if (e->next)
			e->next->prev = e;
		*first = e;
	} else {
		*(e->prev ? &e->prev->next : first) = e->next;
		if (e->next)
			e->next->prev = e->prev;
	}
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = action;
	__jit_debug_register_code();
}

static struct jit_code_entry *compile(int which, char *to)
{
	struct jit_code_entry *e = calloc(1, sizeof(*e));
	char *copy = malloc(size[which]);
	Elf64_Ehdr *eh = (void *)copy;
	Elf64_Shdr *sh;

	memcpy(copy, object[which], size[which]);
	sh = (void *)(copy + eh->e_shoff);
	for (int i = 1; i < eh->e_shnum; i++)
		if ((sh[i].sh_flags & SHF_EXECINSTR) && sh[i].sh_size) {
			memcpy(to, copy + sh[i].sh_offset, sh[i].sh_size);
			sh[i].sh_addr = (uintptr_t)to;
		}
	e->symfile_addr = copy;
	e->symfile_size = size[which];
	tell(e, 1);
	return e;
}

static void forget(struct jit_code_entry *e)
{
	tell(e, 2);
	free((void *)(uintptr_t)e->symfile_addr);
	free(e);
}

static int __attribute__((noinline)) back(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;			/* a breakpoint here */
}

static int call(char *code, int n)
{
	return ((int (*)(int (*)(int), int))(void *)code)(back, n);
}

int main(int argc, char **argv)
{
	int times = atoi(argv[3]), sum = 0;
	char *code = mmap(NULL, (size_t)ROOM * (size_t)(times + 2), PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct jit_code_entry *e, *many = NULL;

	for (int i = 0; i < 2; i++) {
		int fd = open(argv[1 + i], O_RDONLY);
		struct stat st;

		fstat(fd, &st);
		size[i] = (size_t)st.st_size;
		object[i] = malloc(size[i]);
		if (read(fd, object[i], size[i]) != st.st_size)
			return 1;
	}
	e = compile(0, code);
	sum += call(code, 1);		/* first stop: A */
	forget(e);
	e = compile(1, code);
	sum += call(code, 2);		/* second: B at the same place */
	for (int i = 1; i <= times; i++)
		many = compile(i & 1, code + ROOM * i);
	sum += call(code + ROOM * times, 3);
	sum += call(code, 4);
	forget(many);
	forget(e);
	sum += call(code, 5);		/* code that has no name any more */
	(void)argc;
	printf("sum %d\n", sum);
	return 0;
}
