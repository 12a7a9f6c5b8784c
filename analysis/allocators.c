/*
 * allocators.c - the allocators of LuaJIT, Lua and CPython: where memory of the language is had
 * from, beside malloc().
 *
 * A lua_Alloc is whatever the program hands to lua_newstate() or lua_setallocf(): those two are
 * probed, and the function is an allocator from there on.
 *
 * CPython calls its allocators by pointer, from a struct for objects.  A build optimised with a
 * profile (Debian's is) asks at each of hundreds of places whether the pointer is that of its own
 * allocator, and has that inlined there if so.  Such a place is made to answer no: it then calls by
 * the pointer, which is the same function, and that is probed.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"

static void find_named(struct session *s, const char *name, const struct fn *like)
{
	struct symbols_found found[16];
	size_t n = symbols_find(s->sym, name, SYMBOLS_FUNC, found, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		struct fn fn = *like;

		fn.addr = found[i].addr;
		if (session_is_loaded_at(s, found[i].bias))
			session_fn_add(s, &fn);
	}
}

/* ---- Lua ------------------------------------------------------------------------------------ */

/*
 * LuaJIT's allocator, lj_alloc_f(ud, block, size, wanted): by its name, else by how it begins,
 * `test rcx, rcx`, among the functions whose address lua_newstate() takes.
 */
static void find_luajit(struct session *s)
{
	enum { CODE = 2048, BEGIN = 16 };
	const struct fn like = { FN_LUA, 2, false, 0, "lj_alloc_f", 0, 0 };
	struct symbols_found jit[4], f[4];
	size_t n = symbols_find(s->sym, "luaJIT_setmode", SYMBOLS_FUNC, jit, 4),
	       k = symbols_find(s->sym, "lua_newstate", SYMBOLS_FUNC, f, 4);
	int tid = session_any_task(s);

	find_named(s, like.name, &like);
	for (size_t i = 0; n && i < k && i < 4; i++) {
		uint8_t code[CODE] = { 0 }, first[BEGIN];

		if (!session_is_loaded_at(s, f[i].bias) ||
		    replay_memory(s->r, tid, f[i].addr, code, CODE) != CODE)
			continue;
		for (size_t at = 0; at + 7 < CODE; at++) {
			struct fn fn = like;
			int32_t rel;

			if ((code[at] & 0xfb) != 0x48 || code[at + 1] != 0x8d ||
			    (code[at + 2] & 0xc7) != 5)
				continue;
			memcpy(&rel, code + at + 3, 4);
			fn.addr = f[i].addr + at + 7 + (uint64_t)(int64_t)rel;
			if (replay_memory(s->r, tid, fn.addr, first, BEGIN) == BEGIN &&
			    memmem(first, BEGIN, "\x48\x85\xc9", 3))
				session_fn_add(s, &fn);
		}
	}
}

void allocators_learn(struct session *s, const struct regs *regs, struct replay_key *key)
{
	const struct fn *tells = session_fn_at(s, regs->rip);
	struct fn fn = { FN_LUA, 2, false, 0, "lua_Alloc", 0, 0 };

	if (!tells || tells->kind != FN_TELLS)
		return;
	fn.addr = tells->size == 1 ? regs->rdi : regs->rsi;
	/* seen again when it is another */
	key->off[REPLAY_FRAMES - 1] =
		replay_kept_word(tells->size == 1 ? REPLAY_KEPT_RDI : REPLAY_KEPT_RSI) - regs->rsp;
	if (fn.addr)
		session_fn_add(s, &fn);
}

/* ---- CPython -------------------------------------------------------------------------------- */

static const struct python_fn {
	const char *exported, *own;
	enum fn_kind kind;
	uint8_t size;		/* of FN_MALLOC, FN_FREE, without the context */
} python_fns[] = {
	{ "PyObject_Malloc", "_PyObject_Malloc", FN_MALLOC, 2 },
	{ "PyObject_Calloc", "_PyObject_Calloc", FN_CALLOC, 0 },
	{ "PyObject_Realloc", "_PyObject_Realloc", FN_REALLOC, 2 },
	{ "PyObject_Free", "_PyObject_Free", FN_FREE, 2 },
};
enum { PYTHON_FNS = sizeof(python_fns) / sizeof(*python_fns) };

struct code {
	uint64_t addr;
	size_t len;
	const uint8_t *byte;
};

static uint64_t relative(const struct code *c, size_t at, size_t len)
{
	int32_t rel;

	memcpy(&rel, c->byte + at + len - 4, 4);
	return c->addr + at + len + (uint64_t)(int64_t)rel;
}

/* The function that is compared with at c[at] (replay_probe_compare()); 0 = none. */
static uint64_t compared(const struct code *c, size_t at)
{
	const uint8_t *p = c->byte + at;
	int32_t imm;
	size_t len;

	if (at + 16 > c->len)
		return 0;
	if (p[0] == 0x48 && p[1] == 0x3d) {			/* cmp rax, imm32 */
		len = 6;
	} else if ((p[0] & 0xfe) == 0x48 && p[1] == 0x81 && (p[2] & 0xf8) == 0xf8) {
		len = 7;					/* cmp reg, imm32 */
	} else if ((p[0] & 0xfb) == 0x48 && p[1] == 0x8d && (p[2] & 0xc7) == 5 &&
		   (p[7] & 0xf8) == 0x48 && (p[8] == 0x39 || p[8] == 0x3b) && p[9] >= 0xc0) {
		return relative(c, at, 7);		/* lea reg, fn; cmp reg, reg */
	} else {
		return 0;
	}
	if (p[len] != 0x0f && (p[len] & 0xfe) != 0x74)		/* a jump by equality */
		return 0;
	memcpy(&imm, p + len - 4, 4);
	return (uint64_t)(int64_t)imm;
}

static bool in_module(struct session *s, uint64_t addr, const struct symbols_found *f)
{
	uint64_t bias;

	return addr && symbols_module_at(s->sym, addr, &bias) == f->module && bias == f->bias;
}

/* From the code of the exported function: what it compares the pointer with, and the pointer. */
static uint64_t python_from_code(struct session *s, const struct symbols_found *f)
{
	uint8_t byte[96] = { 0 };
	struct code c = { f->addr, sizeof(byte), byte };
	uint64_t fn = 0, at = 0;

	if (replay_memory(s->r, session_any_task(s), f->addr, byte, sizeof(byte)) != sizeof(byte))
		return 0;
	for (size_t i = 0; i < 64 && !fn; i++) {
		fn = compared(&c, i);
		if (!in_module(s, fn, f))
			fn = 0;
	}
	for (size_t i = 0; i < 64 && !fn; i++) {	/* jmp *pointer, mov rax, pointer */
		if (byte[i] == 0xff && (byte[i + 1] == 0x25 || byte[i + 1] == 0x15))
			at = relative(&c, i, 6);
		else if (byte[i] == 0x48 && byte[i + 1] == 0x8b && byte[i + 2] == 0x05)
			at = relative(&c, i, 7);
		if (at && replay_memory(s->r, session_any_task(s), at, &fn, 8) == 8 &&
		    in_module(s, fn, f))
			return fn;
		fn = at = 0;
	}
	return fn;
}

/* How many places in [start, end) inline one of the functions; outline: they call it instead. */
static unsigned python_inlined(struct session *s, uint64_t start, uint64_t end, const uint64_t *fn,
			       bool outline)
{
	unsigned places = 0;
	size_t len = (size_t)(end - start);
	uint8_t *byte = must(malloc(len));
	struct code c = { start, len, byte };

	c.len = replay_memory(s->r, session_any_task(s), start, byte, len);
	for (size_t i = 0; i + 16 < c.len; i++) {
		uint64_t to = compared(&c, i);

		for (unsigned k = 0; to && k < PYTHON_FNS; k++) {
			if (to != fn[k])
				continue;
			places++;
			if (outline)
				replay_probe_compare(s->r, start + i, to);
		}
	}
	free(byte);
	return places;
}

/*
 * Where allocators are inlined and shall stay so, none is followed: blocks whose end is not seen
 * would seem to live on, in memory that others have long had.
 */
static void find_python(struct session *s)
{
	struct fn like[PYTHON_FNS];
	uint64_t fn[PYTHON_FNS] = { 0 };
	struct symbols_found f = { 0 };
	unsigned inlined = 0;

	if (s->outlined)
		return;
	for (unsigned i = 0; i < PYTHON_FNS; i++) {
		const struct python_fn *p = &python_fns[i];
		struct symbols_found own;

		if (!symbols_find(s->sym, p->exported, SYMBOLS_FUNC, &f, 1) ||
		    !session_is_loaded_at(s, f.bias))
			return;
		fn[i] = symbols_find(s->sym, p->own, SYMBOLS_FUNC, &own, 1) &&
					own.module == f.module
				? own.addr
				: python_from_code(s, &f);
		like[i] = (struct fn){ p->kind, p->size, false, fn[i], p->exported, 1, 0 };
		/* its arguments' numbers count the context */
		if (p->kind == FN_MALLOC || p->kind == FN_FREE)
			like[i].shift = 0;
	}
	if (!fn[0])
		return;
	s->outlined = fn[0];
	replay_probe_outline(s->r, s->options->outline);
	for (unsigned i = 0; i < s->texts; i++) {
		const struct text *t = &s->text[i];

		if (t->start <= f.addr && f.addr < t->end)
			inlined += python_inlined(s, t->start, t->end, fn, s->options->outline);
	}
	for (unsigned i = 0; i < PYTHON_FNS && (!inlined || s->options->outline); i++) {
		if (fn[i])
			session_fn_add(s, &like[i]);
	}
}

void allocators_find(struct session *s)
{
	static const struct fn newstate = { FN_TELLS, 1, false, 0, "lua_newstate", 0, 0 },
			       setallocf = { FN_TELLS, 2, false, 0, "lua_setallocf", 0, 0 };

	find_luajit(s);
	find_named(s, newstate.name, &newstate);
	find_named(s, setallocf.name, &setallocf);
	find_python(s);
}
