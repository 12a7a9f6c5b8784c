/*
 * v8.h - what the files about V8 share.
 *
 *	v8.c		finds V8 and its frames, steps through its code
 *	v8_function.c	names, scripts, lines; inlined functions of optimised code
 */
#ifndef GUESTS_V8_H
#define GUESTS_V8_H

#include "guests/internal.h"

/* The layout of V8's objects, as the program itself tells debuggers (symbols v8dbg_...). */
struct v8_layout {
	uint16_t type_function_info, type_script, type_scope_info, type_bytecode;
	uint16_t map_type, function_info, code;			/* Map, JSFunction */
	uint16_t info_data, info_name, info_script;		/* SharedFunctionInfo */
	uint16_t script_source, script_name, line_ends;		/* Script */
	uint16_t first_nonstring;
	uint16_t bytecode;			/* in a BytecodeArray */
	uint16_t instructions, type_code;	/* in a Code; 0 = they are elsewhere */
};
enum { V8_HINTS = 1024 };
struct v8_code {
	const struct symbols_module *module;
	uint64_t bias;
	uint64_t start, end;		/* builtins, in the process */
	struct v8_layout y;
	uint64_t sizes;			/* of bytecodes, by width of operands; 0 = unknown */
	uint32_t bytecodes;
	uint64_t hint_pc[V8_HINTS], hint_code[V8_HINTS];	/* the Code that was there */
};
struct v8 {
	struct guests *g;
	struct walk *w;
	struct v8_code *code;
	struct guests_vm *vm;
};
/* Machine code of a function, as a Code object describes it. */
struct v8_machine_code {
	uint64_t addr, start, size;
	uint64_t deopt, positions;	/* deoptimization data; source position table */
	unsigned kind;
};
enum { V8_INTERPRETED = 10, V8_BASELINE = 11, V8_MAGLEV = 12, V8_TURBOFAN = 13 };

/* Tagged pointer to an object of that type; false otherwise. */
bool v8_is(const struct v8 *v8, uint64_t tagged, uint16_t type);
bool v8_type(const struct v8 *v8, uint64_t tagged, uint16_t *ret);
static inline bool v8_field(const struct v8 *v8, uint64_t tagged, unsigned offset, uint64_t *ret)
{
	return (tagged & 3) == 1 && mem_u64(v8->g, tagged - 1 + offset, ret);
}
/* Name, file and first line of a SharedFunctionInfo. */
void v8_describe(const struct v8 *v8, uint64_t info, struct guests_frame *f);
/* The line of a position in a function's script; 0 = unknown. */
unsigned v8_line(const struct v8 *v8, uint64_t info, uint32_t position);
/* The position that a table has for an offset into the code; false: none.  *inlined: -1 = not. */
bool v8_position(const struct v8 *v8, uint64_t table, uint32_t offset, uint32_t *position,
		 int *inlined);
/* The bytecode that baseline code at an offset is for. */
bool v8_bytecode_at(const struct v8 *v8, uint64_t table, uint64_t bytecode, uint32_t offset,
		    uint32_t *ret);
/* Finds the function of inlining number i, and where in its caller (and in which) the call is. */
bool v8_inlining(const struct v8 *v8, const struct v8_machine_code *m, int i, uint64_t *info,
		 uint32_t *position, int *caller);

#endif
