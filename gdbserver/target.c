/*
 * target.c - the machine as gdb sees it: target description, registers, threads.
 *
 * One table lists the registers in the order of the g packet; the description is written from it.
 */
#include <string.h>

#include "gdbserver/internal.h"

enum where { GENERAL, LEGACY, FTAG, XSAVE };
/* components of the XSAVE area */
enum { X87 = 0, SSE, AVX, OPMASK = 5, ZMM_HIGH, ZMM_16, PKRU = 9 };

struct reg {
	const char *name, *type;
	unsigned bits;
	enum where where;
	unsigned at, bytes;	/* offset and bytes there */
	unsigned component;
};

#define R(field, type) { #field, type, 64, GENERAL, offsetof(struct regs, field), 8, X87 }
#define S(field) { #field, "int32", 32, GENERAL, offsetof(struct regs, field), 4, X87 }
static const struct reg core[] = {
	R(rax, "int64"),
	R(rbx, "int64"),
	R(rcx, "int64"),
	R(rdx, "int64"),
	R(rsi, "int64"),
	R(rdi, "int64"),
	R(rbp, "data_ptr"),
	R(rsp, "data_ptr"),
	R(r8, "int64"),
	R(r9, "int64"),
	R(r10, "int64"),
	R(r11, "int64"),
	R(r12, "int64"),
	R(r13, "int64"),
	R(r14, "int64"),
	R(r15, "int64"),
	R(rip, "code_ptr"),
	{ "eflags", "i386_eflags", 32, GENERAL, offsetof(struct regs, eflags), 4, X87 },
	S(cs),
	S(ss),
	S(ds),
	S(es),
	S(fs),
	S(gs),
	{ "st0", "i387_ext", 80, LEGACY, 32, 10, X87 },
	{ "st1", "i387_ext", 80, LEGACY, 48, 10, X87 },
	{ "st2", "i387_ext", 80, LEGACY, 64, 10, X87 },
	{ "st3", "i387_ext", 80, LEGACY, 80, 10, X87 },
	{ "st4", "i387_ext", 80, LEGACY, 96, 10, X87 },
	{ "st5", "i387_ext", 80, LEGACY, 112, 10, X87 },
	{ "st6", "i387_ext", 80, LEGACY, 128, 10, X87 },
	{ "st7", "i387_ext", 80, LEGACY, 144, 10, X87 },
	{ "fctrl", "int", 32, LEGACY, 0, 2, X87 },
	{ "fstat", "int", 32, LEGACY, 2, 2, X87 },
	{ "ftag", "int", 32, FTAG, 4, 2, X87 },
	{ "fiseg", "int", 32, LEGACY, 12, 2, X87 },
	{ "fioff", "int", 32, LEGACY, 8, 4, X87 },
	{ "foseg", "int", 32, LEGACY, 20, 2, X87 },
	{ "fooff", "int", 32, LEGACY, 16, 4, X87 },
	{ "fop", "int", 32, LEGACY, 6, 2, X87 },
};
#define X(n) { "xmm" #n, "vec128", 128, LEGACY, 160 + 16 * n, 16, SSE }
static const struct reg sse[] = {
	X(0),
	X(1),
	X(2),
	X(3),
	X(4),
	X(5),
	X(6),
	X(7),
	X(8),
	X(9),
	X(10),
	X(11),
	X(12),
	X(13),
	X(14),
	X(15),
	{ "mxcsr", "i386_mxcsr", 32, LEGACY, 24, 4, SSE },
};
static const struct reg system_regs[] = { { "orig_rax", "int", 64, GENERAL,
					    offsetof(struct regs, orig_rax), 8, X87 } };
static const struct reg segments[] = { R(fs_base, "int"), R(gs_base, "int") };
#define Y(n) { "ymm" #n "h", "uint128", 128, XSAVE, 16 * n, 16, AVX }
static const struct reg avx[] = {
	Y(0), Y(1), Y(2),  Y(3),  Y(4),	 Y(5),	Y(6),  Y(7),
	Y(8), Y(9), Y(10), Y(11), Y(12), Y(13), Y(14), Y(15),
};

#define HIGH16(F) F(16, 0), F(17, 1), F(18, 2), F(19, 3), F(20, 4), \
	F(21, 5), F(22, 6), F(23, 7), F(24, 8), F(25, 9), F(26, 10), \
	F(27, 11), F(28, 12), F(29, 13), F(30, 14), F(31, 15)
#define XH(n, i) { "xmm" #n, "vec128", 128, XSAVE, 64 * i, 16, ZMM_16 }
#define YH(n, i) { "ymm" #n "h", "uint128", 128, XSAVE, 64 * i + 16, 16, ZMM_16 }
#define ZH(n, i) { "zmm" #n "h", "v2ui128", 256, XSAVE, 64 * i + 32, 32, ZMM_16 }
#define ZL(n) { "zmm" #n "h", "v2ui128", 256, XSAVE, 32 * n, 32, ZMM_HIGH }
#define K(n) { "k" #n, "uint64", 64, XSAVE, 8 * n, 8, OPMASK }
static const struct reg avx512[] = {
	HIGH16(XH), HIGH16(YH), K(0),	K(1),	K(2),	K(3),	K(4),	K(5),	K(6),
	K(7),	    ZL(0),	ZL(1),	ZL(2),	ZL(3),	ZL(4),	ZL(5),	ZL(6),	ZL(7),
	ZL(8),	    ZL(9),	ZL(10), ZL(11), ZL(12), ZL(13), ZL(14), ZL(15), HIGH16(ZH),
};
static const struct reg pkeys[] = { { "pkru", "uint32", 32, XSAVE, 0, 4, PKRU } };

static const char types_core[] =
	"<flags id=\"i386_eflags\" size=\"4\"><field name=\"\" start=\"22\" end=\"31\"/>"
	"<field name=\"CF\" start=\"0\" end=\"0\"/>"
	"<field name=\"\" start=\"1\" end=\"1\"/><field name=\"PF\" start=\"2\" end=\"2\"/>"
	"<field name=\"AF\" start=\"4\" end=\"4\"/>"
	"<field name=\"ZF\" start=\"6\" end=\"6\"/><field name=\"SF\" start=\"7\" end=\"7\"/>"
	"<field name=\"TF\" start=\"8\" end=\"8\"/>"
	"<field name=\"IF\" start=\"9\" end=\"9\"/><field name=\"DF\" start=\"10\" end=\"10\"/>"
	"<field name=\"OF\" start=\"11\" end=\"11\"/>"
	"</flags>";
#define VEC128 \
	"<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>" \
	"<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>" \
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/>" \
	"<vector id=\"v8i16\" type=\"int16\" count=\"8\"/>" \
	"<vector id=\"v4i32\" type=\"int32\" count=\"4\"/>" \
	"<vector id=\"v2i64\" type=\"int64\" count=\"2\"/>" \
	"<union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/>" \
	"<field name=\"v2_double\" type=\"v2d\"/>" \
	"<field name=\"v16_int8\" type=\"v16i8\"/><field name=\"v8_int16\" type=\"v8i16\"/>" \
	"<field name=\"v4_int32\" type=\"v4i32\"/>" \
	"<field name=\"v2_int64\" type=\"v2i64\"/><field name=\"uint128\" type=\"uint128\"/>" \
	"</union>"
static const char types_sse[] = VEC128
	"<flags id=\"i386_mxcsr\" size=\"4\"><field name=\"IE\" start=\"0\" end=\"0\"/>"
	"<field name=\"DE\" start=\"1\" end=\"1\"/>"
	"<field name=\"ZE\" start=\"2\" end=\"2\"/><field name=\"OE\" start=\"3\" end=\"3\"/>"
	"<field name=\"UE\" start=\"4\" end=\"4\"/>"
	"<field name=\"PE\" start=\"5\" end=\"5\"/></flags>";

static const char types_avx512[] = VEC128	/* types are known in their feature only */
	"<vector id=\"v2ui128\" type=\"uint128\" count=\"2\"/>";

/* needs: components that the recording's and this machine must have */
static const struct feature {
	const char *name, *types;
	const struct reg *regs;
	unsigned n;
	unsigned needs;
} features[] = {
	{ "org.gnu.gdb.i386.core", types_core, core, sizeof(core) / sizeof(core[0]), 0 },
	{ "org.gnu.gdb.i386.sse", types_sse, sse, sizeof(sse) / sizeof(sse[0]), 0 },
	{ "org.gnu.gdb.i386.linux", "", system_regs, 1, 0 },
	{ "org.gnu.gdb.i386.segments", "", segments, 2, 0 },
	{ "org.gnu.gdb.i386.avx", "", avx, sizeof(avx) / sizeof(avx[0]), 1u << AVX },
	{ "org.gnu.gdb.i386.avx512", types_avx512, avx512, sizeof(avx512) / sizeof(avx512[0]),
	  1u << OPMASK | 1u << ZMM_HIGH | 1u << ZMM_16 },
	{ "org.gnu.gdb.i386.pkeys", "", pkeys, 1, 1u << PKRU },
};
enum { FEATURES = sizeof(features) / sizeof(features[0]) };

void target_init(struct server *s)
{
	for (unsigned c = 2; c < XSTATE_COMPONENTS; c++) {
		if (!replay_xstate_component(s->r, c, &s->component[c].at, &s->component[c].size))
			s->component[c].size = 0;
	}
}

static bool have(const struct server *s, const struct feature *f)
{
	for (unsigned c = 2; c < XSTATE_COMPONENTS; c++) {
		if ((f->needs >> c & 1) && !s->component[c].size)
			return false;
	}
	return true;
}

/* The n-th register of the g packet. */
static const struct reg *reg_of(const struct server *s, uint64_t n)
{
	for (unsigned f = 0; f < FEATURES; f++) {
		if (!have(s, &features[f]))
			continue;
		if (n < features[f].n)
			return &features[f].regs[n];
		n -= features[f].n;
	}
	return NULL;
}

void target_xml(const struct server *s, struct reply *o)
{
	unsigned n = 0;

	reply_text(o, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
		   "<architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>");
	for (unsigned f = 0; f < FEATURES; f++) {
		if (!have(s, &features[f]))
			continue;
		reply_text(o, "<feature name=\"%s\">%s", features[f].name, features[f].types);
		for (unsigned i = 0; i < features[f].n; i++)
			reply_text(o, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" regnum=\"%u\"/>",
				   features[f].regs[i].name, features[f].regs[i].bits,
				   features[f].regs[i].type, n++);
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
	struct replay_task t;
	struct err *err;

	memset(m, 0, sizeof(*m));
	err = replay_regs(s->r, tid, &m->regs);
	if (!err)
		err = replay_xstate(s->r, tid, m->xstate, &m->len);
	if (!err)
		return true;
	err_free(err);
	if (!target_task(s, tid, &t) ||
	    (err = replay_xstate(s->r, replay_current(s->r), m->xstate, &m->len))) {
		err_free(err);
		return false;
	}
	memset(m->xstate, 0, sizeof(m->xstate));	/* not here */
	return true;
}

/* Where the register is in the XSAVE area. */
static unsigned place(const struct server *s, const struct machine *m, const struct reg *r)
{
	unsigned at = s->component[r->component].at, size = s->component[r->component].size;

	if (r->where != XSAVE)
		return r->at;
	return r->at + r->bytes <= size && at + size <= m->len ? at + r->at : UINT32_MAX;
}

static void put(const struct server *s, const struct machine *m, const struct reg *r,
		struct reply *o)
{
	unsigned char bytes[32] = { 0 };
	unsigned at = place(s, m, r);
	uint16_t tag;

	if (at == UINT32_MAX) {
		for (unsigned i = 0; i < r->bits / 8; i++)
			reply_text(o, "xx");
		return;
	}
	if (r->where == GENERAL) {
		memcpy(bytes, (const char *)&m->regs + at, r->bytes);
	} else if (r->where == FTAG) {
		tag = full_tag(m->xstate[at]);
		memcpy(bytes, &tag, sizeof(tag));
	} else {
		memcpy(bytes, m->xstate + at, r->bytes);
	}
	reply_hex(o, bytes, r->bits / 8);
}

/* For the debugger alone: callee.c. */
static bool machine_shown(struct server *s, int tid, struct machine *m)
{
	if (!machine_get(s, tid, m))
		return false;
	if (s->shown.tid == tid)
		m->regs.rip = s->shown.rip;
	return true;
}

bool target_registers(struct server *s, int tid, struct reply *o)
{
	static struct machine m;
	const struct reg *r;

	if (!machine_shown(s, tid, &m))
		return false;
	for (unsigned n = 0; (r = reg_of(s, n)); n++)
		put(s, &m, r, o);
	return true;
}

bool target_register(struct server *s, int tid, uint64_t n, struct reply *o)
{
	const struct reg *r = reg_of(s, n);
	static struct machine m;

	if (!r || !machine_shown(s, tid, &m))
		return false;
	put(s, &m, r, o);
	return true;
}

static bool take(const struct server *s, struct machine *m, const struct reg *r, const char **p)
{
	enum { XSTATE_BV = 512 };
	unsigned char bytes[32] = { 0 };
	unsigned at = place(s, m, r);

	for (unsigned i = 0; i < r->bits / 8; i++, *p += 2) {
		const char two[3] = { (*p)[0], (*p)[0] ? (*p)[1] : 0, 0 }, *q = two;
		uint64_t byte;

		if (two[0] == 'x' && strlen(*p) >= 2 * (r->bits / 8 - i)) {	/* not known */
			*p += 2 * (r->bits / 8 - i);
			return true;
		}
		if (!two[1] || !parse_hex(&q, &byte) || *q)
			return false;
		bytes[i] = (unsigned char)byte;
	}
	if (r->where == GENERAL) {
		memcpy((char *)&m->regs + at, bytes, r->bytes);
	} else if (r->where != FTAG && at != UINT32_MAX && at + r->bytes <= m->len &&
		   memcmp(m->xstate + at, bytes, r->bytes)) {
		memcpy(m->xstate + at, bytes, r->bytes);
		/* else the kernel takes it as being in its initial state */
		if (m->len > XSTATE_BV + 1)
			m->xstate[XSTATE_BV + r->component / 8] |=
				(unsigned char)(1u << (r->component % 8));
	}
	return true;
}

static struct err *machine_set(struct server *s, int tid, const struct machine *m,
			       const struct machine *was)
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
	const struct reg *r;

	if (!machine_get(s, tid, &m))
		return &err_gone;
	was = m;
	for (unsigned n = 0; *p && (r = reg_of(s, n)); n++) {
		if (!take(s, &m, r, &p))
			return err_new(ERR_USAGE, "bad registers");
	}
	return machine_set(s, tid, &m, &was);
}

struct err *target_set_register(struct server *s, int tid, uint64_t n, const char *p)
{
	const struct reg *r = reg_of(s, n);
	static struct machine m, was;

	if (!r)
		return err_new(ERR_USAGE, "no such register");
	if (!machine_get(s, tid, &m))
		return &err_gone;
	was = m;
	if (!take(s, &m, r, &p))
		return err_new(ERR_USAGE, "bad register");
	return machine_set(s, tid, &m, &was);
}

/*
 * A process that a debugger knows stays until it is told of its end, also where it has not been
 * forked yet, or where a jump over its end has led: gdb cannot forget one.  There it has one
 * thread, with nothing in its registers.
 */
unsigned target_tasks(struct server *s, bool all, struct replay_task *tasks)
{
	unsigned n = replay_tasks(s->r, all, tasks, TASKS_MAX), there;

	there = n = n < TASKS_MAX ? n : TASKS_MAX;
	for (unsigned i = s->known_n; i-- && n < TASKS_MAX;) {
		int pid = s->known[i].pid;
		unsigned k = 0;

		while (k < there && tasks[k].pid != pid)
			k++;
		if (k == there)
			tasks[n++] = (struct replay_task){ .tid = pid,
							   .pid = pid,
							   .name = "(not here)" };
	}
	return n;
}

bool target_task(struct server *s, int tid, struct replay_task *ret)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = target_tasks(s, true, tasks);

	for (unsigned i = 0; i < n; i++) {
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

	reply_text(o, "<threads>");
	for (unsigned i = target_tasks(s, false, tasks); i--;) {
		process_told(s, tasks[i].pid);
		reply_text(o, "<thread id=\"p%x.%x\" name=\"", (unsigned)tasks[i].pid,
			   (unsigned)tasks[i].tid);
		reply_xml(o, tasks[i].name);
		reply_text(o, "\"/>");
	}
	reply_text(o, "</threads>");
}
