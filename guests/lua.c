/*
 * lua.c - stacks of Lua 5.1 to 5.4 (PUC), also stripped and built into programs.
 *
 * A Lua function that Lua calls runs in the same native frame of luaV_execute(); the CallInfo of
 * one that C called says so (CIST_FRESH).  So each native frame of luaV_execute() stands for the
 * CallInfos down to the next fresh one.  (5.1 has no such mark; there a function is fresh whose
 * caller does not stand behind a call instruction.)  Which lua_State it runs is in its registers or
 * its frame.
 *
 * Without symbols luaV_execute() is found by what it is: a large function with a jump table, in
 * whose frames a lua_State lies that has a Lua function running.
 *
 * Where a function stands is in its CallInfo (savedpc), but for the innermost one: its pc is in the
 * same register throughout luaV_execute(), which registers that often point into the function's
 * code tell.
 */
#include "guests/lua.h"

enum { LUA_THREAD = 8, LUA_LCL = 0x46, LUA_CCL = 0x66, LUA_LCF = 0x16, LUA_FUNCTION_51 = 6 };
enum { CI_PREVIOUS = 16, CI_SIZE_51 = 40, CI_TAILCALLS_51 = 36 };
enum { L_SAVEDPC_51 = 48, L_BASE_CI_51 = 80 };
enum { CL_PROTO = 24, CL_C = 24, CL_51 = 32, CL_IS_C_51 = 10 };
enum { STACK_WORDS = 64, MAX_CALLS = 1 << 18 };

static const struct lua_layout layouts[] = {
	{ .name = "Lua 5.1", .minor = 1, .array = true, .mainthread = 176,
	  .l_G = 32, .ci = 40, .stack = 64, .stack_last = 56, .func = 8, .savedpc = 24,
	  .numparams = 113, .sizeupvalues = 72, .sizek = 76, .sizecode = 80, .linedefined = 96,
	  .k = 16, .code = 24, .sizelineinfo = 84, .lineinfo = 40, .locvars = 48,
	  .sizelocvars = 92, .source = 64, .upvalues = 56 },
	{ .name = "Lua 5.2", .minor = 2, .mainthread = 264,
	  .l_G = 24, .ci = 32, .stack = 56, .stack_last = 48, .savedpc = 56, .callstatus = 34,
	  .cist_lua = 1 << 0, .cist_reentry = 1 << 2, .cist_tail = 1 << 6,
	  .numparams = 120, .sizeupvalues = 80, .sizek = 84, .sizecode = 88, .linedefined = 104,
	  .k = 16, .code = 24, .sizelineinfo = 92, .lineinfo = 40, .locvars = 48,
	  .sizelocvars = 100, .source = 72, .upvalues = 56 },
	{ .name = "Lua 5.3", .minor = 3, .mainthread = 200,
	  .l_G = 24, .ci = 32, .stack = 56, .stack_last = 48, .savedpc = 40, .callstatus = 66,
	  .cist_lua = 1 << 1, .cist_fresh = 1 << 3, .cist_tail = 1 << 5,
	  .numparams = 10, .sizeupvalues = 16, .sizek = 20, .sizecode = 24, .linedefined = 40,
	  .k = 48, .code = 56, .sizelineinfo = 28, .lineinfo = 72, .locvars = 80,
	  .sizelocvars = 36, .source = 104, .upvalues = 88 },
	{ .name = "Lua 5.4", .minor = 4, .mainthread = 264,
	  .l_G = 24, .ci = 32, .stack = 48, .stack_last = 40, .savedpc = 32, .callstatus = 62,
	  .cist_fresh = 1 << 2, .cist_tail = 1 << 5,
	  .numparams = 10, .sizeupvalues = 16, .sizek = 20, .sizecode = 24, .linedefined = 44,
	  .k = 56, .code = 64, .sizelineinfo = 28, .lineinfo = 88, .abslineinfo = 96,
	  .sizeabslineinfo = 40, .locvars = 104, .sizelocvars = 36, .source = 112,
	  .upvalues = 80 },
};

struct lua_code {
	struct { uint64_t start, end; } loop[LUA_LOOPS];
	unsigned loops;
	uint8_t layout;
	uint32_t votes[KEPT];	/* how often a register could be the pc */
};

/* ---- the module ------------------------------------------------------------------------------ */

/* "$LuaVersion: Lua 5.4.4", "$Lua: Lua 5.1.5", which all builds have. */
static int version_in(const char *b, size_t len)
{
	static const char *const mark[] = { "$LuaVersion: Lua 5.", "$Lua: Lua 5." };

	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(mark[i]);
		const char *hit = memmem(b, len, mark[i], n);

		if (hit && hit + n < b + len)
			return hit[n] - '0';
	}
	return -1;
}

static int version_of(const struct symbols_module *m)
{
	enum { PAGES_MAX = 1 << 15 };

	for (uint64_t v = 0, n = 0; n < PAGES_MAX; n++) {
		size_t len;
		const char *b = symbols_module_bytes(m, v, &len);
		int version;

		if (!b) {
			v += PAGE_BYTES;
			continue;
		}
		version = version_in(b, len);
		if (version >= 0)
			return version;
		v = page_up(v + len);
	}
	return -1;
}

static bool has_jump_table(const uint8_t *b, size_t n)
{
	for (size_t i = 0; i + 3 < n; i++) {
		if (b[i] == 0xff && (b[i + 1] & 0xf8) == 0xe0)
			return true;		/* jmp *register */
		if (b[i] == 0xff && (b[i + 1] == 0x24 || b[i + 1] == 0x64))
			return true;		/* jmp *table(,register,8) */
	}
	return false;
}

static void loops_find(struct guests *g, const struct code *c, struct lua_code *lua)
{
	struct symbols_found found[8];
	size_t n = symbols_find(g->o.symbols, "luaV_execute", SYMBOLS_FUNC, found, 8), len;
	struct symbols_function fn[LUA_LOOPS];

	for (size_t i = 0; i < n && i < 8 && lua->loops < LUA_LOOPS; i++) {
		if (found[i].module != c->module || !found[i].size)
			continue;
		lua->loop[lua->loops].start = found[i].addr;
		lua->loop[lua->loops++].end = found[i].addr + found[i].size;
	}
	if (lua->loops)
		return;
	n = symbols_largest_functions(c->module, 4096, fn, LUA_LOOPS);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *b = symbols_module_bytes(c->module, fn[i].start, &len);

		if (!b || !has_jump_table(b, len < fn[i].end - fn[i].start
						     ? len
						     : (size_t)(fn[i].end - fn[i].start)))
			continue;
		lua->loop[lua->loops].start = fn[i].start + c->bias;
		lua->loop[lua->loops++].end = fn[i].end + c->bias;
	}
}

static bool examine(struct guests *g, struct code *c)
{
	int version = version_of(c->module);
	struct lua_code *lua;

	if (version < 0)
		return false;
	lua = calloc(1, sizeof(*lua));
	if (!lua)
		return false;
	lua->layout = UINT8_MAX;
	for (uint8_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == version)
			lua->layout = i;
	loops_find(g, c, lua);
	if (!lua->loops) {
		free(lua);
		return false;
	}
	c->data = lua;
	c->data_size = sizeof(*lua);
	return true;
}

static bool is_loop(const struct lua_code *lua, uint64_t pc)
{
	for (unsigned i = 0; i < lua->loops; i++)
		if (pc - lua->loop[i].start < lua->loop[i].end - lua->loop[i].start)
			return true;
	return false;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* The global_State that says it is of a thread; 0 = this is no thread. */
static uint64_t global_of(const struct lua *lua, uint64_t L)
{
	unsigned char b[40];
	uint64_t G;

	if (L < 4096 || L & 7 || L >> 47 || !mem_bytes(lua->g, L, b, sizeof(b)) ||
	    b[8] != LUA_THREAD)
		return 0;
	memcpy(&G, b + lua->y->l_G, 8);
	return G < 4096 || G & 7 || G >> 47 ? 0 : G;
}

static bool is_thread(struct lua *lua, uint64_t L)
{
	uint64_t G = global_of(lua, L), word[64];

	if (!G)
		return false;
	lua->G = G;
	if (mem_u64(lua->g, G + lua->y->mainthread, &lua->main) &&
	    global_of(lua, lua->main) == G)
		return true;
	if (!mem_bytes(lua->g, G, word, sizeof(word)))
		return false;
	/* Another release has it elsewhere: some pointer of it is to a thread of this state. */
	for (unsigned i = 16; i < 64; i++) {
		if (global_of(lua, word[i]) != G)
			continue;
		lua->main = word[i];
		return true;
	}
	return false;
}

/* The innermost call of a thread; 0 = it cannot be read. */
static uint64_t thread_enter(struct lua *lua, uint64_t L)
{
	uint64_t ci;

	if (!mem_u64(lua->g, L + lua->y->ci, &ci) ||
	    (lua->y->array && (!mem_u64(lua->g, L + L_BASE_CI_51, &lua->base_ci) ||
			       !mem_u64(lua->g, L + L_SAVEDPC_51, &lua->savedpc))))
		return 0;
	lua->top_ci = ci;
	return lua->y->array && (ci < lua->base_ci || (ci - lua->base_ci) % CI_SIZE_51) ? 0 : ci;
}

/* 5.1: reads what is in a CallInfo, not which native frame it is in. */
static bool call_read_51(const struct lua *lua, uint64_t ci, struct lua_call *ret)
{
	uint64_t func, value = 0;
	uint8_t type = 0, is_c = 1;
	int32_t tailcalls;

	*ret = (struct lua_call){ .ci = ci };
	if (ci == lua->base_ci)
		return true;		/* the one below all */
	if (ci < lua->base_ci || !mem_u64(lua->g, ci + lua->y->func, &func) || func & 7 ||
	    !mem_u64(lua->g, ci + lua->y->savedpc, &ret->savedpc) ||
	    !mem_u32(lua->g, ci + CI_TAILCALLS_51, (uint32_t *)&tailcalls) ||
	    !mem_u64(lua->g, func, &value) || !mem_u8(lua->g, func + 8, &type))
		return false;
	ret->previous = ci - CI_SIZE_51;
	ret->func = func;
	ret->closure = value;
	if (type != LUA_FUNCTION_51 || !mem_u8(lua->g, value + CL_IS_C_51, &is_c)) {
		ret->closure = 0;	/* what returns has its results there: it was C's */
		return true;
	}
	ret->lua = !is_c;
	ret->tail = ret->lua && tailcalls > 0;
	if (ci == lua->top_ci && ret->lua)
		ret->savedpc = lua->savedpc;
	return mem_u64(lua->g, value + CL_51, ret->lua ? &ret->proto : &ret->c);
}

static bool call_read_array(const struct lua *lua, uint64_t ci, struct lua_call *ret)
{
	struct lua_call caller;
	uint32_t ins;

	if (!call_read_51(lua, ci, ret))
		return false;
	if (ret->lua)
		ret->fresh = !call_read_51(lua, ret->previous, &caller) || !caller.lua ||
			     !mem_u32(lua->g, caller.savedpc - 4, &ins) || !lua_calls_51(ins);
	return true;
}

bool lua_call_read(const struct lua *lua, uint64_t ci, struct lua_call *ret)
{
	const struct lua_layout *y = lua->y;
	unsigned char b[72];
	uint64_t func, value;
	uint16_t status;
	uint8_t type;

	if (!ci || ci & 7)
		return false;
	if (y->array)
		return call_read_array(lua, ci, ret);
	if (!mem_bytes(lua->g, ci, b, sizeof(b)))
		return false;
	*ret = (struct lua_call){ .ci = ci };
	memcpy(&func, b + y->func, 8);
	memcpy(&ret->previous, b + CI_PREVIOUS, 8);
	memcpy(&ret->savedpc, b + y->savedpc, 8);
	memcpy(&status, b + y->callstatus, 2);
	if (y->minor == 2)
		status &= 255;
	ret->lua = y->cist_lua ? status & y->cist_lua : !(status & 1 << 1);
	ret->fresh = y->cist_fresh ? status & y->cist_fresh : !(status & y->cist_reentry);
	ret->tail = status & y->cist_tail;
	ret->func = func;
	if (!ret->previous)
		return true;		/* the one below all */
	if (func & 7 || !mem_u64(lua->g, func, &value) || !mem_u8(lua->g, func + 8, &type))
		return false;
	ret->closure = value;
	if (ret->lua) {
		/* When it returns its results may lie over it: no proto then. */
		if (type != LUA_LCL || !mem_u64(lua->g, value + CL_PROTO, &ret->proto))
			ret->proto = 0;
		return true;
	}
	ret->c = value;
	return type == LUA_LCF || (type == LUA_CCL && mem_u64(lua->g, value + CL_C, &ret->c)) ||
	       ret->lua == false;
}

/* Does a Lua function run in it?  Not so of one that a stale pointer names. */
static bool runs_lua(struct lua *lua, uint64_t L)
{
	struct lua_call call;
	uint64_t ci = thread_enter(lua, L);

	for (unsigned n = 0; n < 64; n++) {
		if (!lua_call_read(lua, ci, &call) || !call.previous)
			return false;
		if (call.lua)
			return true;
		ci = call.previous;
	}
	return true;
}

/* The lua_State that a native frame runs; 0 = none.  *at_ret: where that is known from. */
static uint64_t thread_of(struct lua *lua, size_t host, uint64_t *at_ret)
{
	const struct symbols_regs *regs = &lua->w->host[host].regs;
	uint64_t start = regs->r[SYMBOLS_RSP], end = lua->w->pc[host].cfa, word[STACK_WORDS];
	size_t n = end > start ? (size_t)((end - start) / 8) : 0;

	for (unsigned i = 0; i < KEPT; i++)
		if ((regs->known & 1u << kept_registers[i]) &&
		    is_thread(lua, regs->r[kept_registers[i]]) &&
		    runs_lua(lua, regs->r[kept_registers[i]])) {
			*at_ret = lua->w->host[host].kept[i];
			return regs->r[kept_registers[i]];
		}
	if (n > STACK_WORDS)
		n = STACK_WORDS;
	if (!n || !mem_bytes(lua->g, start, word, 8 * n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (is_thread(lua, word[i]) && runs_lua(lua, word[i])) {
			*at_ret = start + 8 * i;
			return word[i];
		}
	return 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The pc of the function that runs right there, in a register of luaV_execute(). */
static bool pc_in_register(struct lua *lua, size_t host, const struct lua_proto *p, uint64_t *ret)
{
	const struct symbols_regs *regs = &lua->w->host[host].regs;
	uint32_t *votes = lua->code->votes, best = 0;
	int which = -1;

	for (unsigned i = 0; i < KEPT; i++) {
		uint64_t pc = regs->r[kept_registers[i]];

		if (!(regs->known & 1u << kept_registers[i]) || pc & 3 || pc <= p->code ||
		    pc > p->code + 4ull * p->sizecode)
			continue;
		votes[i]++;
		if (votes[i] > best) {
			best = votes[i];
			which = (int)i;
		}
	}
	for (unsigned i = 0; i < KEPT; i++)
		if (votes[i] > 2 * best)
			return false;		/* the usual one is in another use */
	if (which < 0)
		return false;
	*ret = regs->r[kept_registers[which]];
	if (lua->w->stack->vm == NULL)
		lua->w->stack->chain.pc = lua->w->host[host].kept[which];
	return true;
}

static bool emit(struct lua *lua, size_t host, const struct lua_call *call, bool top)
{
	struct guests_frame f = { .kind = GUESTS_BUILTIN, .host = (unsigned)host, .vm = lua->vm,
				  .where = call->ci, .function_object = call->closure };
	struct lua_call caller;
	struct lua_proto p;
	uint64_t pc = call->savedpc;

	if (lua_call_read(lua, call->previous, &caller) && caller.previous && caller.lua &&
	    !(call->lua && call->fresh) && !call->tail && lua_proto_read(lua, caller.proto, &p))
		f.function = lua_called(lua, &p, caller.savedpc);
	if (!call->lua) {
		f.address = call->c;
		return walk_add(lua->g, lua->w, &f);
	}
	if (!call->proto)
		return true;
	f.kind = GUESTS_FRAME;
	f.address = call->proto;
	if (!lua_proto_read(lua, call->proto, &p)) {
		lua->w->stack->why = GUESTS_CORRUPT;
		return false;
	}
	f.approximate = top && !pc_in_register(lua, host, &p, &pc);
	f.inside.pc = pc;
	f.file = lua_chunk(lua, &p);
	f.line = lua_line(lua, &p, pc);
	f.first_line = p.linedefined;
	if (!f.function)
		f.function = lua_unnamed(lua, &p);
	return walk_add(lua->g, lua->w, &f);
}

/* CallInfos of one native frame of luaV_execute().  False: the walk is over. */
static bool emit_group(struct lua *lua, size_t host, uint64_t *ci, bool innermost)
{
	bool top = innermost;

	for (unsigned n = 0; n < MAX_CALLS; n++) {
		struct lua_call call;

		if (!lua_call_read(lua, *ci, &call)) {
			lua->w->stack->why = GUESTS_CORRUPT;
			return false;
		}
		if (!call.previous) {
			*ci = 0;
			return true;
		}
		if (!emit(lua, host, &call, top && call.lua))
			return false;
		top = false;
		*ci = call.previous;
		if (call.lua && call.fresh)
			return true;
	}
	lua->w->stack->why = GUESTS_CORRUPT;
	return false;
}

/* The native frame further out that runs a C function: the nearest behind its first instruction. */
static size_t host_of(const struct lua *lua, size_t from, uint64_t c)
{
	enum { NEAR = 1 << 14 };
	uint64_t best = NEAR;
	size_t ret = from;

	for (size_t i = from; i < lua->w->hosts; i++) {
		uint64_t in = lua->w->pc[i].lookup - c;

		if (in >= best)
			continue;
		best = in;
		ret = i;
	}
	return ret;
}

/* C functions that C called, outside of any Lua function. */
static void emit_rest(struct lua *lua, size_t host, uint64_t ci)
{
	struct lua_call call;

	for (unsigned n = 0; n < MAX_CALLS && lua_call_read(lua, ci, &call) && call.previous; n++) {
		if (!call.lua) {
			host = host_of(lua, host, call.c);
			if (!emit(lua, host, &call, false))
				return;
		}
		ci = call.previous;
	}
}

static void vm_found(struct lua *lua, const struct code *c, size_t first)
{
	struct guests_stack *st = lua->w->stack;
	const struct guests_frame *top = &lua->g->guest[first];
	uint64_t bias;

	if (st->vm)
		return;
	st->vm = lua->vm;
	if (top->kind != GUESTS_BUILTIN)
		st->state = GUESTS_STATE_INTERP;
	else
		st->state = symbols_module_at(lua->g->o.symbols, lua->w->pc[0].lookup, &bias) ==
					    c->module
				    ? GUESTS_STATE_BUILTIN
				    : GUESTS_STATE_C;
}

/* The list of its CallInfos, for those who do not unwind. */
static void chain_set(const struct lua *lua, uint64_t root)
{
	struct guests_chain *chain = &lua->w->stack->chain;
	uint8_t bit = lua->y->cist_lua ? (uint8_t)lua->y->cist_lua : 1 << 1;

	if (lua->y->array)
		return;
	chain->root = root;
	chain->pre = lua->y->ci;
	chain->next = CI_PREVIOUS;
	chain->value = lua->y->savedpc;
	chain->status = lua->y->callstatus;
	chain->mask = bit;
	chain->want = lua->y->cist_lua ? bit : 0;
}

static void unwind(struct guests *g, struct code *c, struct walk *w)
{
	struct lua lua = { .g = g, .w = w, .code = c->data };
	uint64_t L = 0, ci = 0, at = 0;
	size_t last = 0;
	bool loop = false, innermost = true;

	for (size_t i = 0; i < w->hosts; i++) {
		uint64_t now, entered;
		size_t before = g->guests;

		if (!is_loop(lua.code, w->pc[i].lookup))
			continue;
		loop = true;
		if (lua.code->layout == UINT8_MAX)
			break;
		lua.y = &layouts[lua.code->layout];
		now = thread_of(&lua, i, &at);
		if (!now)
			continue;
		lua.vm = vm_at(g, GUESTS_LUA, lua.G);
		if (!lua.vm) {
			w->stack->why = GUESTS_NO_MEMORY;
			return;
		}
		lua.vm->name = lua.y->name;
		lua.vm->main = lua.main;
		lua.vm->module = c->module;
		walk_machinery(g, i);
		entered = thread_enter(&lua, now);
		if (now != L)
			ci = entered;
		if (!entered)
			continue;
		/* one coroutine's calls are a list */
		if (L && now != L && w->stack->vm == lua.vm && !w->stack->chain.frames)
			w->stack->chain.frames = g->guests;
		L = now;
		if (ci && !emit_group(&lua, i, &ci, innermost))
			return;
		if (innermost && g->guests > before) {
			if (!w->stack->vm)
				chain_set(&lua, at);
			vm_found(&lua, c, before);
		}
		innermost = false;
		last = i;
	}
	if (ci)
		emit_rest(&lua, last, ci);
	if (loop && lua.code->layout == UINT8_MAX)
		w->stack->why = GUESTS_LAYOUT;
}

const struct lua_layout *lua_layout_of(const struct code *c)
{
	const struct lua_code *lua = c->data;

	return lua->layout == UINT8_MAX ? NULL : &layouts[lua->layout];
}

const struct machine lua_machine = { .language = GUESTS_LUA,
				.examine = examine, .unwind = unwind, .locals = lua_locals,
				     .global = lua_global, .value = lua_value };
