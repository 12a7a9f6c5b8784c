/*
 * names.c - words for states and reasons, names of Lua's chunks.
 */
#include "guests/internal.h"

const char *guests_state_name(enum guests_state state)
{
	static const char *const name[GUESTS_STATES] = {
		[GUESTS_STATE_NATIVE] = "native",	[GUESTS_STATE_INTERP] = "interpreter",
		[GUESTS_STATE_C] = "C",			[GUESTS_STATE_BUILTIN] = "builtin",
		[GUESTS_STATE_TRACE] = "trace",		[GUESTS_STATE_GC] = "GC",
		[GUESTS_STATE_EXIT] = "exit",		[GUESTS_STATE_RECORD] = "record",
		[GUESTS_STATE_OPTIMIZE] = "optimize",	[GUESTS_STATE_ASSEMBLE] = "assemble",
		[GUESTS_STATE_COMPILE] = "compile",	[GUESTS_STATE_UNKNOWN] = "unknown",
	};

	return (unsigned)state < GUESTS_STATES ? name[state] : "unknown";
}

const char *guests_why_text(enum guests_why why)
{
	static const char *const text[GUESTS_WHYS] = {
		[GUESTS_COMPLETE] = "complete",
		[GUESTS_NO_VM] = "no virtual machine",
		[GUESTS_OUTSIDE] = "outside the virtual machine",
		[GUESTS_STARTING] = "virtual machine starts or ends",
		[GUESTS_LAYOUT] = "unknown build of the virtual machine",
		[GUESTS_GC32] = "this build of LuaJIT with 32-bit references is not known",
		[GUESTS_MEMORY] = "memory could not be read",
		[GUESTS_CORRUPT] = "damaged frames",
		[GUESTS_TRACE] = "machine code of no known trace",
		[GUESTS_HOST] = "native stack is incomplete",
		[GUESTS_GUESSED] = "frames may be missing in code without unwind information",
		[GUESTS_DEEP] = "too many frames",
		[GUESTS_NO_MEMORY] = "out of memory",
	};

	return (unsigned)why < GUESTS_WHYS ? text[why] : "unknown";
}

const char *lua_chunk_name(struct guests *g, const char *source, size_t len, size_t whole)
{
	size_t n = 0, cut = 45;

	if (len && (source[0] == '@' || source[0] == '='))
		return string_intern(g, source + 1, len - 1);
	while (n < len && n < whole && (unsigned char)source[n] >= ' ')
		n++;
	if (n == len)
		return string_format(g, "[string \"%.*s\"]", (int)n, source);
	return string_format(g, "[string \"%.*s...\"]", (int)(n < cut ? n : cut), source);
}
