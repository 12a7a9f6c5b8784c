/* types.c - types of languages' objects, which types/ describes, as ELF files. */
#include "analysis/heap/logs.h"

extern const char heap_types_luajit[], heap_types_luajit_end[];
extern const char heap_types_raptor[], heap_types_raptor_end[];
extern const char heap_types_lua54[], heap_types_lua54_end[];
extern const char heap_types_python311[], heap_types_python311_end[];

const void *heap_types_of(enum heap_types of, size_t *len_ret)
{
	static const struct { const char *start, *end; } types[] = {
		[HEAP_TYPES_LUAJIT] = { heap_types_luajit, heap_types_luajit_end },
		[HEAP_TYPES_RAPTOR] = { heap_types_raptor, heap_types_raptor_end },
		[HEAP_TYPES_LUA54] = { heap_types_lua54, heap_types_lua54_end },
		[HEAP_TYPES_PYTHON311] = { heap_types_python311, heap_types_python311_end },
	};

	*len_ret = (size_t)(types[of].end - types[of].start);
	return types[of].start;
}
