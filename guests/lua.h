/*
 * lua.h - what the files about Lua share.
 *
 *	lua.c		finds luaV_execute() and states, walks stacks
 *	lua_proto.c	functions, lines, names
 *	lua_names.c	what a caller calls a function: instructions of 5.1 to 5.3
 *	lua_value.c	values, variables of frames
 */
#ifndef GUESTS_LUA_H
#define GUESTS_LUA_H

#include "guests/internal.h"

enum { LUA_LOOPS = 8 };

/* Offsets that differ between versions. */
struct lua_layout {
	const char *name;
	uint8_t minor;
	/* 5.1: calls are an array, and which native frame a call is in only the caller tells */
	bool array;
	uint16_t mainthread;				/* global_State */
	uint16_t l_G, ci, stack, stack_last;		/* lua_State */
	uint16_t func, savedpc, callstatus;		/* CallInfo */
	/* bits of it; cist_lua 0: bit 1 says C; cist_fresh 0: who is not cist_reentry is fresh */
	uint16_t cist_lua, cist_fresh, cist_reentry, cist_tail;
	/* Proto; is_vararg is behind numparams */
	uint16_t numparams, sizeupvalues, sizek, sizecode;
	uint16_t linedefined, k, code, sizelineinfo, lineinfo;
	uint16_t abslineinfo, sizeabslineinfo, locvars, sizelocvars, source, upvalues;
};
struct lua_code;
/* A machine at a stop. */
struct lua {
	struct guests *g;
	struct walk *w;
	struct lua_code *code;
	const struct lua_layout *y;
	struct guests_vm *vm;
	uint64_t G, main;
	/* 5.1: of the thread being walked */
	uint64_t base_ci, top_ci, savedpc;
};
struct lua_call {
	uint64_t ci, previous, func, savedpc, closure;
	uint64_t proto;		/* of a Lua function */
	uint64_t c;		/* else the native function */
	bool lua, fresh;	/* fresh: in a native frame of its own */
	bool tail;		/* who called it is gone */
};
struct lua_proto {
	uint64_t addr, code, k, lineinfo, abslineinfo, locvars, source, upvalues;
	uint32_t sizecode, sizek, sizelineinfo, sizeabslineinfo, sizelocvars, sizeupvalues;
	uint32_t linedefined;
	uint8_t numparams;
	bool vararg;
};
/* lua.c */
/* NULL = of an unknown version */
const struct lua_layout *lua_layout_of(const struct code *c);
bool lua_call_read(const struct lua *lua, uint64_t ci, struct lua_call *ret);
/* lua_proto.c */
bool lua_proto_read(const struct lua *lua, uint64_t addr, struct lua_proto *ret);
/* pc is that of the instruction behind the one that runs. */
unsigned lua_line(const struct lua *lua, const struct lua_proto *p, uint64_t pc);
const char *lua_chunk(const struct lua *lua, const struct lua_proto *p);
const char *lua_unnamed(const struct lua *lua, const struct lua_proto *p);
/*
 * Returns the name that the caller, standing behind its call, has for the function; NULL = nothing.
 */
const char *lua_called(const struct lua *lua, const struct lua_proto *caller, uint64_t pc);
/* A string that is short, as names are; NULL = it is none. */
const char *lua_string(const struct lua *lua, uint64_t addr);
/* Constant number i, if it is a string; the variable in a register at an instruction. */
const char *lua_constant(const struct lua *lua, const struct lua_proto *p, uint32_t i);
const char *lua_local(const struct lua *lua, const struct lua_proto *p, unsigned reg, uint32_t at);
/* lua_names.c: lua_called() for 5.1 to 5.3; ins: the instruction at `at`. */
const char *lua_called_old(const struct lua *lua, const struct lua_proto *caller, uint32_t at,
			   uint32_t ins);
/* 5.1: is it one that calls a function in the same native frame? */
bool lua_calls_51(uint32_t ins);
/* lua_value.c */
bool lua_value(struct guests *g, struct code *c, const struct guests_vm *vm, enum guests_at at,
	       uint64_t addr, struct out *t);
bool lua_locals(struct guests *g, struct code *c, const struct guests_frame *f,
		guests_variable_fn *fn, void *ctx);
bool lua_global(struct guests *g, struct code *c, const struct guests_frame *f, const char *name,
		guests_variable_fn *fn, void *ctx);

#endif
