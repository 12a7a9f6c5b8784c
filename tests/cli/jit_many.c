// test: timeout=60
/*
 * A program that registers many objects with GDB's JIT interface, for cli/gdb_jit_many: code of each calls back().
 *	jit_many A.o B.o TIMES	(each: a function `int f(int (*back)(int), int n)' alone in .text, with debug information)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "jit_interface.h"

enum { ROOM = 256 };

static struct jit_object object[2];

static void forget(struct jit_code_entry *e)
{
	jit_unload(e);
	jit_free(e);
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

	for (int i = 0; i < 2; i++)
		object[i] = jit_object_read(argv[1 + i]);
	e = jit_load(&object[0], code);
	sum += call(code, 1);		/* first stop: A */
	forget(e);
	e = jit_load(&object[1], code);
	sum += call(code, 2);		/* second: B at the same place */
	for (int i = 1; i <= times; i++)
		many = jit_load(&object[i & 1], code + ROOM * i);
	sum += call(code + ROOM * times, 3);
	sum += call(code, 4);
	forget(many);
	forget(e);
	sum += call(code, 5);		/* code that has no name any more */
	(void)argc;
	printf("sum %d\n", sum);
	return 0;
}
