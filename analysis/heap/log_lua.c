/*
 * log_lua.c - what Lua 5.4 loads, and what a state has when it is closed.
 *
 * Prototypes are looked for in a state's list of objects, once something was loaded there: new ones
 * are at its head.  When the state is closed, or the program exits, all objects are logged.  Where
 * things lie: types/lua54.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/heap/log_internal.h"
#include "base/bug.h"

enum {
	G_REGISTRY = 64, G_ALLGC = 112, G_MAINTHREAD = 264,
	STATES = 16, OBJECTS_MAX = 4000000, ELEMENTS_MAX = 1 << 20,
	T_SHORT = 4, T_TABLE = 5, T_CLOSURE = 6, T_USERDATA = 7, T_THREAD = 8, T_UPVALUE = 9,
	T_PROTO = 10, T_LONG = 20, T_C_CLOSURE = 38,
};

struct lua_state {
	uint64_t G;		/* its global_State */
	uint64_t newest;	/* of its objects when it was looked at last */
	bool loaded;		/* something was, since then */
	bool told;		/* all its objects were */
};
struct lua_log {
	struct lua_state state[STATES];
	unsigned states;
	struct log_seen protos;
};

static void lua_start(struct logging *g)
{
	g->lua = alloc_zeroed(1, sizeof(*g->lua), "a log");
}

static void lua_stop(struct logging *g)
{
	if (g->lua)
		log_seen_deinit(&g->lua->protos);
	free(g->lua);
	g->lua = NULL;
}

static void lua_probes(struct logging *g)
{
	static const char *const name[] = { "lua_load", "lua_close", "exit", "_exit" };
	struct symbols_found f[2];

	if (!symbols_find(g->sym, "lua_newuserdatauv", SYMBOLS_FUNC, f, 2))
		return;
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		logging_probe_language(g, name[i]);
}

static bool state_lives(struct logging *g, uint64_t G)
{
	uint64_t main = G ? logging_word(g, G + G_MAINTHREAD) : 0;

	return main && logging_byte(g, main + 8) == T_THREAD && logging_word(g, main + 24) == G;
}

static struct lua_state *state_of(struct logging *g, uint64_t L)
{
	struct lua_log *l = g->lua;
	uint64_t G = logging_word(g, L + 24);

	if (!state_lives(g, G))
		return NULL;
	g->found = true;
	for (unsigned i = 0; i < l->states; i++) {
		if (l->state[i].G == G)
			return &l->state[i];
	}
	if (l->states == STATES)	/* the oldest has been closed, most likely */
		memmove(l->state, l->state + 1, --l->states * sizeof(*l->state));
	l->state[l->states] = (struct lua_state){ .G = G };
	return &l->state[l->states++];
}

/* ---- objects -------------------- */

static void string_log(struct logging *g, uint64_t addr)
{
	uint8_t tt = addr ? logging_byte(g, addr + 8) : 0;

	if (tt == T_SHORT)
		logging_memory(g, "TString", addr, 25ull + logging_byte(g, addr + 11));
	else if (tt == T_LONG)
		logging_memory(g, "TString", addr, 25 + logging_word(g, addr + 16));
}

/* n things of a size, in which names are strings at this offset; offset -1: there are none. */
static void array_log(struct logging *g, const char *hint, uint64_t addr, uint32_t n, unsigned size,
		      int names)
{
	if (!addr || n > ELEMENTS_MAX)
		return;
	for (uint32_t i = 0; names >= 0 && i < n; i++)
		string_log(g, logging_word(g, addr + (uint64_t)size * i + (unsigned)names));
	logging_memory(g, hint, addr, (uint64_t)size * n);
}

static void constants_log(struct logging *g, uint64_t k, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < ELEMENTS_MAX; i++) {
		if ((logging_byte(g, k + 16ull * i + 8) & 0x4f) == (0x40 | T_SHORT))
			string_log(g, logging_word(g, k + 16ull * i));
	}
	array_log(g, "TValue[]", k, n, 16, -1);
}

static void proto_name(struct logging *g, uint64_t addr, char *buf, size_t size)
{
	uint64_t source = logging_word(g, addr + 112);
	char name[128] = "?";
	size_t n = 0;

	if (source)
		n = replay_memory(g->r, g->tid, source + 24, name, sizeof(name) - 1);
	name[n] = '\0';
	name[strcspn(name, "\n\r")] = '\0';
	snprintf(buf, size, "%s:%u", name + (*name == '@' || *name == '='),
		 logging_half(g, addr + 44));
}

static void proto_log(struct logging *g, uint64_t addr)
{
	char text[160];
	struct audit_attribute a[2] = { { .name = { "Proto", 5 }, .number = addr },
					{ .name = { "start", 5 }, .kind = AUDIT_STRING } };

	if (!log_seen_add(&g->lua->protos, addr ^ logging_word(g, addr + 64) << 20 ^
						   logging_half(g, addr + 44)))
		return;
	proto_name(g, addr, text, sizeof(text));
	a[1].text = (struct audit_text){ text, strlen(text) };
	string_log(g, logging_word(g, addr + 112));
	constants_log(g, logging_word(g, addr + 56), logging_half(g, addr + 20));
	array_log(g, "Instruction[]", logging_word(g, addr + 64), logging_half(g, addr + 24), 4,
		  -1);
	array_log(g, "Proto*[]", logging_word(g, addr + 72), logging_half(g, addr + 32), 8, -1);
	array_log(g, "Upvaldesc[]", logging_word(g, addr + 80), logging_half(g, addr + 16), 16, 0);
	array_log(g, "char[]", logging_word(g, addr + 88), logging_half(g, addr + 28), 1, -1);
	array_log(g, "AbsLineInfo[]", logging_word(g, addr + 96), logging_half(g, addr + 40), 8,
		  -1);
	array_log(g, "LocVar[]", logging_word(g, addr + 104), logging_half(g, addr + 36), 16, 0);
	logging_memory(g, "Proto", addr, 128);
	logging_event(g, "new_prototype", a, 2);
}

static void table_log(struct logging *g, uint64_t addr)
{
	uint8_t flags = logging_byte(g, addr + 10), lsize = logging_byte(g, addr + 11);
	uint32_t n = logging_half(g, addr + 12), size = 1;

	if (flags & 0x80) {		/* n is not the array's size: that is a power of 2 */
		while (size < n && size < 1u << 31)
			size *= 2;
		n = n ? size : 0;
	}
	array_log(g, "TValue[]", logging_word(g, addr + 16), n, 16, -1);
	if (lsize < 24)
		array_log(g, "Node[]", logging_word(g, addr + 24), 1u << lsize, 24, -1);
	logging_memory(g, "Table", addr, 56);
}

static void object_log(struct logging *g, uint64_t o, uint8_t tt)
{
	uint64_t n = logging_byte(g, o + 10);

	switch (tt) {
	case T_SHORT:
	case T_LONG:
		string_log(g, o);
		return;
	case T_TABLE:
		table_log(g, o);
		return;
	case T_CLOSURE:
		logging_memory(g, "LClosure", o, 32 + 8 * n);
		return;
	case T_C_CLOSURE:
		logging_memory(g, "CClosure", o, 32 + 16 * n);
		return;
	case T_USERDATA:
		logging_memory(g, "Udata", o, 40 + 16 * (logging_half(g, o + 10) & 0xffff));
		return;
	case T_UPVALUE:
		logging_memory(g, "UpVal", o, 40);
		return;
	case T_THREAD:
		logging_memory(g, "lua_State", o, 64);
		return;
	default:
		return;
	}
}

/* ---- looking -------------------- */

static void protos_look(struct logging *g, struct lua_state *s)
{
	uint64_t first = logging_word(g, s->G + G_ALLGC), o = first, head[2], *found = NULL;
	size_t n = 0;

	for (size_t i = 0; o && o != s->newest && i < OBJECTS_MAX; i++) {
		if (!logging_read(g, o, head, 16))
			break;
		if ((head[1] & 255) == T_PROTO) {
			found = alloc_more(found, n + 1, sizeof(*found), "a log");
			found[n++] = o;
		}
		o = head[0];
	}
	while (n)			/* those that were made first, first */
		proto_log(g, found[--n]);
	free(found);
	s->newest = first;
	s->loaded = false;
}

static void all_log(struct logging *g, struct lua_state *s)
{
	uint64_t registry = logging_word(g, s->G + G_REGISTRY), head[2];
	struct audit_attribute a[4] = {
		{ .name = { "lua_State", 9 }, .number = logging_word(g, s->G + G_MAINTHREAD) },
		{ .name = { "registry", 8 }, .number = registry },
		/* LUA_RIDX_GLOBALS is the second of its array */
		{ .name = { "globals", 7 },
		  .number = logging_word(g, logging_word(g, registry + 16) + 16) },
		{ .name = { "objects", 7 } },
	};
	uint64_t o = logging_word(g, s->G + G_ALLGC);

	s->told = true;
	for (; o && a[3].number < OBJECTS_MAX && logging_read(g, o, head, 16); o = head[0]) {
		object_log(g, o, head[1] & 255);
		a[3].number++;
	}
	object_log(g, a[0].number, T_THREAD);
	logging_event(g, "close", a, 4);
}

static void lua_look(struct logging *g, bool end)
{
	(void)end;
	for (unsigned i = 0; g->tid && i < g->lua->states; i++) {
		struct lua_state *s = &g->lua->state[i];

		if (s->loaded && !s->told && state_lives(g, s->G))
			protos_look(g, s);
	}
}

static void lua_call(struct logging *g, const char *function, const struct regs *regs)
{
	bool load = !strcmp(function, "lua_load"), close = !strcmp(function, "lua_close");
	struct lua_state *s = load || close ? state_of(g, regs->rdi) : NULL;

	lua_look(g, false);
	if (load && s) {
		s->loaded = true;
		s->told = false;	/* another state at the same address */
	}
	if (load)
		return;
	for (unsigned i = 0; i < g->lua->states; i++) {
		struct lua_state *x = &g->lua->state[i];

		if ((x == s || !close) && !x->told && state_lives(g, x->G))
			all_log(g, x);
	}
}

const struct log_language log_lua = {
	"Lua 5.4", HEAP_TYPES_LUA54, lua_start, lua_probes, lua_call, lua_look, lua_stop,
};
