/*
 * lua_names.c - what a caller calls a function, in Lua 5.1 to 5.3.
 *
 * An instruction has its operation in 6 bits, A in 8, C and B in 9 each.  The operations have other
 * numbers in each release; which of them set a register, and how, is the same.
 */
#include "guests/lua.h"

struct operations {
	uint8_t move, loadnil, getupval, getglobal, gettabup, gettable, settabup, settable, self;
	uint8_t unm, len, concat, jmp, eq, lt, le, call, tailcall, tforcall;	/* 255: has none */
	uint64_t sets_a;	/* bits: those that write register A */
	const char *const *arithmetic;	/* events of what comes behind self; NULL at the end */
};

static const char *const arithmetic_52[] = { "__add", "__sub", "__mul", "__div", "__mod", "__pow",
					     "__unm", NULL };
static const char *const arithmetic_53[] = { "__add", "__sub", "__mul", "__mod", "__pow", "__div",
					     "__idiv", "__band", "__bor", "__bxor", "__shl",
					     "__shr", "__unm", "__bnot", NULL };
#define BITS(first, last) ((2ull << (last)) - (1ull << (first)))
static const struct operations operations[] = {
	{ 0, 3, 4, 5, 255, 6, 255, 9, 11, 18, 20, 21, 22, 23, 24, 25, 28, 29, 33,
	  BITS(0, 6) | BITS(10, 21) | BITS(26, 29) | BITS(31, 32) | BITS(36, 37), NULL },
	{ 0, 4, 5, 255, 6, 7, 8, 10, 12, 19, 21, 22, 23, 24, 25, 26, 29, 30, 34,
	  BITS(0, 7) | BITS(11, 22) | BITS(28, 30) | BITS(32, 33) | BITS(35, 35) | BITS(37, 38),
	  arithmetic_52 },
	{ 0, 4, 5, 255, 6, 7, 8, 10, 12, 25, 28, 29, 30, 31, 32, 33, 36, 37, 41,
	  BITS(0, 7) | BITS(11, 29) | BITS(35, 37) | BITS(39, 40) | BITS(42, 42) | BITS(44, 45),
	  arithmetic_53 },
};
#define OP(ins) ((ins) & 63)
#define A(ins) ((ins) >> 6 & 255)
#define B(ins) ((ins) >> 23)
#define C(ins) ((ins) >> 14 & 511)
#define BX(ins) ((ins) >> 14)
enum { CONSTANT = 256 };	/* bit of B and C: a constant's number, not a register */

bool lua_calls_51(uint32_t ins)
{
	return OP(ins) == operations[0].call || OP(ins) == operations[0].tailcall;
}

/* The last instruction before `last` that set a register; -1 = not known. */
static int64_t set_by(const struct lua *lua, const struct operations *o, const struct lua_proto *p,
		      uint32_t last, unsigned reg)
{
	int64_t set = -1, target = 0;

	for (uint32_t pc = 0; pc < last; pc++) {
		uint32_t ins;
		unsigned op, a;
		bool change;

		if (!mem_u32(lua->g, p->code + 4ull * pc, &ins))
			return -1;
		op = OP(ins);
		a = A(ins);
		if (op == o->loadnil) {
			change = a <= reg && reg <= (lua->y->minor == 1 ? B(ins) : a + B(ins));
		} else if (op == o->tforcall) {
			change = reg >= a + 2;
		} else if (op == o->call || op == o->tailcall) {
			change = reg >= a;
		} else if (op == o->jmp) {
			int64_t to = (int64_t)pc + 1 + (int64_t)BX(ins) - 131071;

			if (to > pc && to <= last && to > target)
				target = to;
			change = false;
		} else {
			change = o->sets_a >> op & 1 &&
				 (a == reg || (op == o->self && a + 1 == reg));
		}
		if (change)
			set = pc < target ? -1 : (int64_t)pc;
	}
	return set;
}

static const char *upvalue_name(const struct lua *lua, const struct lua_proto *p, uint32_t i)
{
	unsigned size = lua->y->minor == 1 ? 8 : 16;
	uint64_t string;

	return i < p->sizeupvalues && mem_u64(lua->g, p->upvalues + (uint64_t)size * i, &string)
		       ? lua_string(lua, string)
		       : NULL;
}

static const char *register_name(const struct lua *lua, const struct operations *o,
				 const struct lua_proto *p, uint32_t at, unsigned reg)
{
	for (unsigned n = 0; n < 256; n++) {
		const char *name = lua_local(lua, p, reg, at);
		int64_t pc = name ? -1 : set_by(lua, o, p, at, reg);
		unsigned op;
		uint32_t ins;

		if (pc < 0 || !mem_u32(lua->g, p->code + 4ull * (uint32_t)pc, &ins))
			return name;
		op = OP(ins);
		if (op == o->move && B(ins) < A(ins)) {
			reg = B(ins);
			at = (uint32_t)pc;
			continue;
		}
		if (op == o->getglobal)
			return lua_constant(lua, p, BX(ins));
		if (op == o->gettabup || op == o->gettable || op == o->self)
			return C(ins) & CONSTANT ? lua_constant(lua, p, C(ins) & ~CONSTANT) : NULL;
		return op == o->getupval ? upvalue_name(lua, p, B(ins)) : NULL;
	}
	return NULL;
}

/* The metamethod that an instruction may need (5.2, 5.3); NULL = none. */
static const char *metamethod(const struct operations *o, unsigned op)
{
	if (op == o->self || op == o->gettabup || op == o->gettable)
		return "__index";
	if (op == o->settabup || op == o->settable)
		return "__newindex";
	if (op == o->len)
		return "__len";
	if (op == o->concat)
		return "__concat";
	if (op == o->eq)
		return "__eq";
	if (op == o->lt)
		return "__lt";
	if (op == o->le)
		return "__le";
	for (unsigned i = 0; o->arithmetic[i]; i++)
		if (op == o->self + 1u + i)
			return o->arithmetic[i];
	return NULL;
}

const char *lua_called_old(const struct lua *lua, const struct lua_proto *caller, uint32_t at,
			   uint32_t ins)
{
	const struct operations *o = &operations[lua->y->minor - 1];
	unsigned op = OP(ins);
	const char *name;

	if (op == o->call || op == o->tailcall)
		return register_name(lua, o, caller, at, A(ins));
	if (op == o->tforcall)
		return string_intern(lua->g, "for iterator", 12);
	name = o->arithmetic ? metamethod(o, op) : NULL;
	return name ? string_intern(lua->g, name, strlen(name)) : NULL;
}
