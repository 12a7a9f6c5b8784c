/* types.c - LuaJIT's types, which types/luajit.c describes, as ELF files. */
#include "analysis/heap/logs.h"

extern const char heap_types_luajit[], heap_types_luajit_end[];
extern const char heap_types_raptor[], heap_types_raptor_end[];

const void *heap_luajit_types(bool raptor, size_t *len_ret)
{
	const char *start = raptor ? heap_types_raptor : heap_types_luajit;
	const char *end = raptor ? heap_types_raptor_end : heap_types_luajit_end;

	*len_ret = (size_t)(end - start);
	return start;
}
