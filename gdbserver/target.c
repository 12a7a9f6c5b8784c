/*
 * target.c - the machine as gdb sees it: target description, registers, threads.
 *
 * One table lists the registers in the order of the g packet; the description is written from it.
 */
#include <string.h>

#include "gdbserver/internal.h"

enum where { GENERAL, LEGACY, AVX, FTAG };

struct reg {
	const char *name, *type;
	unsigned bits;
	enum where where;
	unsigned at, bytes;	/* offset and bytes there */
};

#define R(field, type) { #field, type, 64, GENERAL, offsetof(struct regs, field), 8 }
#define S(field) { #field, "int32", 32, GENERAL, offsetof(struct regs, field), 4 }
static const struct reg core[] = {
	R(rax, "int64"), R(rbx, "int64"), R(rcx, "int64"), R(rdx, "int64"), R(rsi, "int64"), R(rdi, "int64"),
	R(rbp, "data_ptr"), R(rsp, "data_ptr"), R(r8, "int64"), R(r9, "int64"), R(r10, "int64"), R(r11, "int64"),
	R(r12, "int64"), R(r13, "int64"), R(r14, "int64"), R(r15, "int64"), R(rip, "code_ptr"),
	{ "eflags", "i386_eflags", 32, GENERAL, offsetof(struct regs, eflags), 4 },
	S(cs), S(ss), S(ds), S(es), S(fs), S(gs),
	{ "st0", "i387_ext", 80, LEGACY, 32, 10 }, { "st1", "i387_ext", 80, LEGACY, 48, 10 },
	{ "st2", "i387_ext", 80, LEGACY, 64, 10 }, { "st3", "i387_ext", 80, LEGACY, 80, 10 },
	{ "st4", "i387_ext", 80, LEGACY, 96, 10 }, { "st5", "i387_ext", 80, LEGACY, 112, 10 },
	{ "st6", "i387_ext", 80, LEGACY, 128, 10 }, { "st7", "i387_ext", 80, LEGACY, 144, 10 },
	{ "fctrl", "int", 32, LEGACY, 0, 2 }, { "fstat", "int", 32, LEGACY, 2, 2 }, { "ftag", "int", 32, FTAG, 4, 2 },
	{ "fiseg", "int", 32, LEGACY, 12, 2 }, { "fioff", "int", 32, LEGACY, 8, 4 }, { "foseg", "int", 32, LEGACY, 20, 2 },
	{ "fooff", "int", 32, LEGACY, 16, 4 }, { "fop", "int", 32, LEGACY, 6, 2 },
};
#define X(n) { "xmm" #n, "vec128", 128, LEGACY, 160 + 16 * n, 16 }
static const struct reg sse[] = {
	X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15),
	{ "mxcsr", "i386_mxcsr", 32, LEGACY, 24, 4 },
};
static const struct reg system_regs[] = { { "orig_rax", "int", 64, GENERAL, offsetof(struct regs, orig_rax), 8 } };
static const struct reg segments[] = { R(fs_base, "int"), R(gs_base, "int") };
#define Y(n) { "ymm" #n "h", "uint128", 128, AVX, 576 + 16 * n, 16 }
static const struct reg avx[] = {
	Y(0), Y(1), Y(2), Y(3), Y(4), Y(5), Y(6), Y(7), Y(8), Y(9), Y(10), Y(11), Y(12), Y(13), Y(14), Y(15),
};

static const char types_core[] =
	"<flags id=\"i386_eflags\" size=\"4\"><field name=\"\" start=\"22\" end=\"31\"/><field name=\"CF\" start=\"0\" end=\"0\"/>"
	"<field name=\"\" start=\"1\" end=\"1\"/><field name=\"PF\" start=\"2\" end=\"2\"/><field name=\"AF\" start=\"4\" end=\"4\"/>"
	"<field name=\"ZF\" start=\"6\" end=\"6\"/><field name=\"SF\" start=\"7\" end=\"7\"/><field name=\"TF\" start=\"8\" end=\"8\"/>"
	"<field name=\"IF\" start=\"9\" end=\"9\"/><field name=\"DF\" start=\"10\" end=\"10\"/><field name=\"OF\" start=\"11\" end=\"11\"/>"
	"</flags>";
static const char types_sse[] =
	"<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/><vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>"
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/><vector id=\"v8i16\" type=\"int16\" count=\"8\"/>"
	"<vector id=\"v4i32\" type=\"int32\" count=\"4\"/><vector id=\"v2i64\" type=\"int64\" count=\"2\"/>"
	"<union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/><field name=\"v2_double\" type=\"v2d\"/>"
	"<field name=\"v16_int8\" type=\"v16i8\"/><field name=\"v8_int16\" type=\"v8i16\"/><field name=\"v4_int32\" type=\"v4i32\"/>"
	"<field name=\"v2_int64\" type=\"v2i64\"/><field name=\"uint128\" type=\"uint128\"/></union>"
	"<flags id=\"i386_mxcsr\" size=\"4\"><field name=\"IE\" start=\"0\" end=\"0\"/><field name=\"DE\" start=\"1\" end=\"1\"/>"
	"<field name=\"ZE\" start=\"2\" end=\"2\"/><field name=\"OE\" start=\"3\" end=\"3\"/><field name=\"UE\" start=\"4\" end=\"4\"/>"
	"<field name=\"PE\" start=\"5\" end=\"5\"/></flags>";

static const struct { const char *name, *types; const struct reg *regs; unsigned n; } features[] = {
	{ "org.gnu.gdb.i386.core", types_core, core, sizeof(core) / sizeof(core[0]) },
	{ "org.gnu.gdb.i386.sse", types_sse, sse, sizeof(sse) / sizeof(sse[0]) },
	{ "org.gnu.gdb.i386.linux", "", system_regs, 1 },
	{ "org.gnu.gdb.i386.segments", "", segments, 2 },
	{ "org.gnu.gdb.i386.avx", "", avx, sizeof(avx) / sizeof(avx[0]) },
};
enum { FEATURES = sizeof(features) / sizeof(features[0]), AVX_END = 576 + 256 };

void target_xml(struct reply *o)
{
	unsigned n = 0;

	reply_text(o, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
		   "<architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>");
	for (unsigned f = 0; f < FEATURES; f++) {
		reply_text(o, "<feature name=\"%s\">%s", features[f].name, features[f].types);
		for (unsigned i = 0; i < features[f].n; i++)
			reply_text(o, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" regnum=\"%u\"/>", features[f].regs[i].name,
				   features[f].regs[i].bits, features[f].regs[i].type, n++);
		reply_text(o, "</feature>");
	}
	reply_text(o, "</target>");
}

/* The XSAVE area keeps one bit for each x87 register, gdb wants two. */
static uint16_t full_tag(uint8_t abridged)
{
	uint16_t tag = 0;

	for (unsigned i = 0; i < 8; i++)
		tag = (uint16_t)(tag | (abridged >> i & 1 ? 0 : 3) << (2 * i));
	return tag;
}

struct machine {
	struct regs regs;
	unsigned char xstate[16384];
	size_t len;
};

static bool machine_get(struct server *s, int tid, struct machine *m)
{
	struct err *err;

	memset(m, 0, sizeof(*m));
	err = replay_regs(s->r, tid, &m->regs);
	if (!err)
		err = replay_xstate(s->r, tid, m->xstate, &m->len);
	if (!err)
		return true;
	err_free(err);
	return false;
}

static void put(const struct machine *m, const struct reg *r, struct reply *o)
{
	unsigned char bytes[16] = { 0 };
	uint16_t tag;

	if (r->where == AVX && m->len < AVX_END) {
		for (unsigned i = 0; i < r->bits / 8; i++)
			reply_text(o, "xx");
		return;
	}
	if (r->where == GENERAL) {
		memcpy(bytes, (const char *)&m->regs + r->at, r->bytes);
	} else if (r->where == FTAG) {
		tag = full_tag(m->xstate[r->at]);
		memcpy(bytes, &tag, sizeof(tag));
	} else {
		memcpy(bytes, m->xstate + r->at, r->bytes);
	}
	reply_hex(o, bytes, r->bits / 8);
}

bool target_registers(struct server *s, int tid, struct reply *o)
{
	static struct machine m;

	if (!machine_get(s, tid, &m))
		return false;
	for (unsigned f = 0; f < FEATURES; f++) {
		for (unsigned i = 0; i < features[f].n; i++)
			put(&m, &features[f].regs[i], o);
	}
	return true;
}

bool target_register(struct server *s, int tid, uint64_t n, struct reply *o)
{
	static struct machine m;

	for (unsigned f = 0; f < FEATURES; n -= features[f].n, f++) {
		if (n >= features[f].n)
			continue;
		if (!machine_get(s, tid, &m))
			return false;
		put(&m, &features[f].regs[n], o);
		return true;
	}
	return false;
}

static bool take(struct machine *m, const struct reg *r, const char **p)
{
	unsigned char bytes[16] = { 0 };

	for (unsigned i = 0; i < r->bits / 8; i++, *p += 2) {
		const char two[3] = { (*p)[0], (*p)[0] ? (*p)[1] : 0, 0 }, *q = two;
		uint64_t byte;

		if (two[0] == 'x') {	/* not known */
			*p += 2 * (r->bits / 8 - i);
			return true;
		}
		if (!two[1] || !parse_hex(&q, &byte) || *q)
			return false;
		bytes[i] = (unsigned char)byte;
	}
	if (r->where == GENERAL)
		memcpy((char *)&m->regs + r->at, bytes, r->bytes);
	else if (r->where != FTAG && r->at + r->bytes <= m->len)
		memcpy(m->xstate + r->at, bytes, r->bytes);
	return true;
}

static struct err *machine_set(struct server *s, int tid, const struct machine *m, const struct machine *was)
{
	if (memcmp(&m->regs, &was->regs, sizeof(m->regs)))
		TRY(replay_set_regs(s->r, tid, &m->regs));
	if (!memcmp(m->xstate, was->xstate, m->len))
		return NULL;
	return replay_set_xstate(s->r, tid, m->xstate, m->len);
}

struct err *target_set_registers(struct server *s, int tid, const char *p)
{
	static struct machine m, was;

	if (!machine_get(s, tid, &m))
		return &err_gone;
	was = m;
	for (unsigned f = 0; f < FEATURES; f++) {
		for (unsigned i = 0; i < features[f].n && *p; i++) {
			if (!take(&m, &features[f].regs[i], &p))
				return err_new(ERR_USAGE, "bad registers");
		}
	}
	return machine_set(s, tid, &m, &was);
}

struct err *target_set_register(struct server *s, int tid, uint64_t n, const char *p)
{
	static struct machine m, was;

	for (unsigned f = 0; f < FEATURES; n -= features[f].n, f++) {
		if (n >= features[f].n)
			continue;
		if (!machine_get(s, tid, &m))
			return &err_gone;
		was = m;
		if (!take(&m, &features[f].regs[n], &p))
			return err_new(ERR_USAGE, "bad register");
		return machine_set(s, tid, &m, &was);
	}
	return err_new(ERR_USAGE, "no such register");
}

bool target_task(struct server *s, int tid, struct replay_task *ret)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(s->r, true, tasks, TASKS_MAX);

	for (unsigned i = 0; i < n && i < TASKS_MAX; i++) {
		if (tasks[i].tid == tid) {
			*ret = tasks[i];
			return true;
		}
	}
	return false;
}

void target_threads_xml(struct server *s, struct reply *o)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(s->r, false, tasks, TASKS_MAX);

	reply_text(o, "<threads>");
	for (unsigned i = n < TASKS_MAX ? n : TASKS_MAX; i--;) {
		reply_text(o, "<thread id=\"p%x.%x\" name=\"", (unsigned)tasks[i].pid, (unsigned)tasks[i].tid);
		for (const char *c = tasks[i].name; *c; c++) {
			if (*c < ' ' || *c > '~' || strchr("<>&\"'", *c))
				reply_text(o, "&#x%x;", *c == 127 || *c < ' ' ? '?' : (unsigned char)*c);
			else
				reply_bytes(o, c, 1);
		}
		reply_text(o, "\"/>");
	}
	reply_text(o, "</threads>");
}
