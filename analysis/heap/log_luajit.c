/*
 * log_luajit.c - what LuaJIT compiles, as RaptorJIT logs it: prototypes, traces, aborts.
 *
 * Nothing inside the machine need have a name: the state is found by the lua_State that calls of
 * its exported functions get.  New traces are looked for in the table of traces after each event of
 * the recording (LuaJIT changes the protection of its code before and behind each), aborts in the
 * table of penalties, prototypes in the list of objects once something was loaded.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/heap/log_internal.h"
#include "analysis/heap/logs.h"
#include "analysis/heap/luajit_names.h"
#include "base/bug.h"

enum {
	G_ROOT = 40,		/* in global_State: list of objects */
	J_TRACE = 384, J_SIZETRACE = 396, J_PENALTY = 1824, J_BYTES = 2864,
	PENALTIES = 64, TRACES_MAX = 65536, OBJECTS_MAX = 4000000, PROTO_HEAD = 104,
	BIAS = 0x8000,
};
struct penalty { uint64_t pc; uint16_t val, reason; uint32_t pad; };
struct code { uint64_t start, end, proto; };

struct luajit_log {
	uint64_t g, J;
	bool loaded;			/* since prototypes were looked for */
	uint64_t newest;		/* object of the list then */
	uint64_t *trace;		/* by number: address that was logged */
	uint64_t *mcode;
	size_t traces;
	struct penalty penalty[PENALTIES];
	struct code *proto;
	size_t protos;
};

static void luajit_log_start(struct logging *g)
{
	g->luajit = alloc_zeroed(1, sizeof(*g->luajit), "a log");
}

static void luajit_log_stop(struct logging *g)
{
	if (!g->luajit)
		return;
	free(g->luajit->trace);
	free(g->luajit->mcode);
	free(g->luajit->proto);
	free(g->luajit);
	g->luajit = NULL;
}

static void luajit_log_probes(struct logging *g)
{
	static const char *const name[] = { "lua_loadx", "lua_load", "lua_pcall" };
	struct symbols_found f[2];

	if (!symbols_find(g->sym, "luaJIT_setmode", SYMBOLS_FUNC, f, 2))
		return;
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		logging_probe_language(g, name[i]);
}

/* Upstream's layouts: jit_State lies behind global_State of this size. */
static bool machine_find(struct logging *g, uint64_t L)
{
	static const uint16_t size[] = { 728, 744 };
	struct luajit_log *j = g->luajit;
	uint64_t G = logging_word(g, L + 16);

	for (size_t i = 0; i < 2; i++) {
		uint64_t J = G + size[i], main = logging_word(g, G + 192);
		uint32_t n = logging_half(g, J + J_SIZETRACE),
			 next = logging_half(g, J + J_SIZETRACE - 4);

		if (!G || logging_word(g, main + 16) != G || n > TRACES_MAX || next > n ||
		    (n && !logging_word(g, J + J_TRACE)))
			continue;
		j->g = G;
		j->J = J;
		g->found = true;
		return true;
	}
	return false;
}

/* ---- prototypes -------------------- */

static void string_log(struct logging *g, uint64_t addr)
{
	if (logging_byte(g, addr + 9) == 4)
		logging_memory(g, "GCstr", addr, 24ull + logging_half(g, addr + 20));
}

static void constants_log(struct logging *g, uint64_t proto)
{
	uint64_t k = logging_word(g, proto + 32);
	uint32_t n = logging_half(g, proto + 48);

	for (uint32_t i = 1; i <= n && i < 10000; i++)
		string_log(g, logging_word(g, k - 8ull * i));
}

static void proto_log(struct logging *g, uint64_t addr)
{
	struct luajit_log *j = g->luajit;
	struct audit_attribute a = { .name = { "GCproto", 7 }, .number = addr };
	uint64_t size = logging_half(g, addr + 56), start = addr + PROTO_HEAD;

	j->proto = alloc_more(j->proto, j->protos + 1, sizeof(*j->proto), "a log");
	j->proto[j->protos++] =
		(struct code){ start, start + 4ull * logging_half(g, addr + 12), addr };
	string_log(g, logging_word(g, addr + 64));
	constants_log(g, addr);
	logging_memory(g, "GCproto", addr, size);
	logging_event(g, "new_prototype", &a, 1);
}

static bool proto_known(const struct luajit_log *j, uint64_t addr)
{
	for (size_t i = j->protos; i-- > 0;) {
		if (j->proto[i].proto == addr)
			return true;
	}
	return false;
}

/* New objects are at the head of the list, down to the newest of the last time. */
static void protos_look(struct logging *g)
{
	struct luajit_log *j = g->luajit;
	uint64_t first = logging_word(g, j->g + G_ROOT), o = first, *found = NULL;
	size_t n = 0;

	for (size_t i = 0; o && o != j->newest && i < OBJECTS_MAX; i++) {
		uint64_t head[2];

		if (!logging_read(g, o, head, 16))
			break;
		if ((head[1] >> 8 & 255) == 7 && !proto_known(j, o)) {
			found = alloc_more(found, n + 1, sizeof(*found), "a log");
			found[n++] = o;
		}
		o = head[0];
	}
	while (n)
		proto_log(g, found[--n]);
	free(found);
	j->newest = first;
	j->loaded = false;
}

/* "t.lua:12": where the bytecode at pc is. */
static void place(struct logging *g, uint64_t pc, char *buf, size_t size)
{
	const struct luajit_log *j = g->luajit;
	char name[100] = "?";
	uint64_t chunk, lines;
	uint32_t len, first, count, pos;

	snprintf(buf, size, "?");
	for (size_t i = j->protos; i-- > 0;) {
		if (pc < j->proto[i].start || pc >= j->proto[i].end)
			continue;
		chunk = logging_word(g, j->proto[i].proto + 64);
		lines = logging_word(g, j->proto[i].proto + 80);
		first = logging_half(g, j->proto[i].proto + 72);
		count = logging_half(g, j->proto[i].proto + 76);
		len = logging_half(g, chunk + 20);
		len = len < sizeof(name) - 1 ? len : sizeof(name) - 1;
		if (logging_read(g, chunk + 24, name, len))
			name[len] = '\0';
		pos = (uint32_t)(pc - j->proto[i].start) / 4;
		if (pos && lines)
			first += count < 256 ? logging_byte(g, lines + pos - 1)
				 : count < 65536
					 ? logging_half(g, lines + 2ull * (pos - 1)) & 0xffff
					 : logging_half(g, lines + 4ull * (pos - 1));
		snprintf(buf, size, "%s:%u", *name == '@' ? name + 1 : name, first);
		return;
	}
}

/* ---- traces -------------------- */

/* Strings and functions that the IR's constants are. */
static void ir_objects(struct logging *g, uint64_t ir, uint32_t nk)
{
	for (uint32_t ref = nk; ref < BIAS - 1; ref++) {
		uint64_t ins = logging_word(g, ir + 8ull * ref), o;

		if ((ins >> 40 & 255) != IR_KGC)
			continue;
		o = logging_word(g, ir + 8ull * (ref + 1));
		if (logging_byte(g, o + 9) == 4)
			string_log(g, o);
		else if (logging_byte(g, o + 9) == 8)
			logging_memory(g, "GCfunc", o, 40 + 8ull * logging_byte(g, o + 11));
		ref++;			/* the address lies behind it */
	}
}

static void trace_log(struct logging *g, uint64_t t)
{
	struct luajit_log *j = g->luajit;
	struct audit_attribute a[2] = { { .name = { "GCtrace", 7 }, .number = t },
					{ .name = { "jit_State", 9 }, .number = j->J } };
	uint32_t nins = logging_half(g, t + 12), nk = logging_half(g, t + 40);
	uint64_t ir = logging_word(g, t + 32);

	if (nk > BIAS || nins < BIAS || nins - nk > 20000)
		return;
	logging_memory(g, "MCode[]", logging_word(g, t + 88), logging_half(g, t + 84));
	logging_memory(g, "SnapShot[]", logging_word(g, t + 48),
		       12ull * (logging_half(g, t + 8) >> 16));
	logging_memory(g, "SnapEntry[]", logging_word(g, t + 56), 4ull * logging_half(g, t + 44));
	logging_memory(g, "IRIns[]", ir + 8ull * nk, 8ull * (nins - nk));
	ir_objects(g, ir, nk);
	logging_memory(g, "GCtrace", t, 120);
	logging_memory(g, "jit_State", j->J, J_BYTES);
	logging_event(g, "trace_stop", a, 2);
}

static void traces_look(struct logging *g)
{
	struct luajit_log *j = g->luajit;
	uint64_t table = logging_word(g, j->J + J_TRACE);
	uint32_t n = logging_half(g, j->J + J_SIZETRACE);

	if (!table || !n || n > TRACES_MAX)
		return;
	if (n > j->traces) {
		j->trace = alloc_more(j->trace, n, sizeof(*j->trace), "a log");
		j->mcode = alloc_more(j->mcode, n, sizeof(*j->mcode), "a log");
		memset(j->trace + j->traces, 0, (n - j->traces) * sizeof(*j->trace));
		memset(j->mcode + j->traces, 0, (n - j->traces) * sizeof(*j->mcode));
		j->traces = n;
	}
	if (8ull * n > LOG_PIECE || !logging_read(g, table, g->buf, 8ull * n))
		return;
	for (uint32_t i = 1; i < n; i++) {
		uint64_t t, mcode;

		memcpy(&t, g->buf + 8ull * i, 8);
		/* while it is being compiled it is the one inside jit_State */
		if (!t || t == j->J)
			continue;
		mcode = logging_word(g, t + 88);
		if (logging_byte(g, t + 9) != 9 || (t == j->trace[i] && mcode == j->mcode[i]))
			continue;
		j->trace[i] = t;
		j->mcode[i] = mcode;
		trace_log(g, t);
		if (!logging_read(g, table, g->buf, 8ull * n))
			return;
	}
}

static void aborts_look(struct logging *g)
{
	struct luajit_log *j = g->luajit;
	struct penalty now[PENALTIES];

	if (!logging_read(g, j->J + J_PENALTY, now, sizeof(now)))
		return;
	for (unsigned i = 0; i < PENALTIES; i++) {
		char at[200];
		struct audit_attribute a[3] = { { .name = { "TraceError", 10 },
						  .number = now[i].reason },
						{ .name = { "jit_State", 9 }, .number = j->J },
						{ .name = { "start", 5 }, .kind = AUDIT_STRING } };

		if (!now[i].pc || (now[i].pc == j->penalty[i].pc &&
				   now[i].val == j->penalty[i].val))
			continue;
		place(g, now[i].pc, at, sizeof(at));
		a[2].text = (struct audit_text){ at, strlen(at) };
		logging_memory(g, "jit_State", j->J, J_BYTES);
		logging_event(g, "trace_abort", a, 3);
	}
	memcpy(j->penalty, now, sizeof(now));
}

static void luajit_log_look(struct logging *g, bool end)
{
	uint64_t G = g->luajit->g, main = G ? logging_word(g, G + 192) : 0;

	if (!g->luajit->J || !g->tid || logging_word(g, main + 16) != G)
		return;
	if (g->luajit->loaded || end)
		protos_look(g);
	traces_look(g);
	aborts_look(g);
}

static void luajit_log_call(struct logging *g, const char *function, const struct regs *regs)
{
	(void)function;
	if (!g->luajit->J && !machine_find(g, regs->rdi))
		return;
	luajit_log_look(g, false);
	g->luajit->loaded = true;
}

const struct log_language log_luajit = {
	"LuaJIT of 64 bit references",
	HEAP_TYPES_LUAJIT,
	luajit_log_start,
	luajit_log_probes,
	luajit_log_call,
	luajit_log_look,
	luajit_log_stop,
};
