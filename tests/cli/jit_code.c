// test: timeout=60
/*
 * A program with a JIT compiler of its own, for cli/jit: registers objects with GDB's interface and writes a perf map.
 *	jit_code OBJECT.o TIMES	(OBJECT.o: a function `square` alone in .text, with debug information)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "jit_interface.h"

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 1, sum = 0;
	char *code = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct jit_object object = jit_object_read(argv[1]);
	struct jit_code_entry *first, *second;
	FILE *map;

	if (code == MAP_FAILED)
		return 1;
	printf("code %p\n", code);
	first = jit_load(&object, code);
	second = jit_load(&object, code + 4096);
	sum += ((int (*)(int))code)(3);
	jit_unload(first);
	for (int i = 0; i < times; i++) {
		struct jit_code_entry *e = jit_load(&object, code + 8192 + i % 64 * 64);

		sum += ((int (*)(int))(code + 8192 + i % 64 * 64))(i);
		if (i + 1 < times) {
			jit_unload(e);
			jit_free(e);
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
