/*
 * luajit_trace.c - machine code of traces.
 *
 * A trace is machine code for a path through any number of functions: calls in it are inlined and
 * leave no frames.  What the stack would be lies in snapshots, which the trace needs to leave
 * itself: each says where it begins to hold (mcofs), the bytecode's pc, and which slots of the
 * stack hold functions and links.  So the snapshot in force at an address gives the frames there:
 *
 *	slot 0   1   2 ...                  counted from base - 2
 *	    func link locals ... func link locals ... func link ...
 *	                         ^slot b              ^slot v & 255 (innermost), its pc: v >> 8
 *
 * v is the word behind the snapshot's entries.
 */
#include <stdio.h>

#include "guests/luajit.h"

enum { SNAP_SIZE = 12, IR_SIZE = 8, EXIT_GROUPS = 64, EXITS_IN_GROUP = 32 };
enum { IR_KPRI = 22, IR_KINT = 23, IR_KGC = 24, IR_KNUM = 28, REF_BIAS = 0x8000 };
enum { SNAP_FRAME = 0x10000, SNAP_CONT = 0x20000, SNAP_NORESTORE = 0x40000 };
enum { MAX_TRACES = 65536, MAX_CODE = 1 << 26 };

static bool trace_parse(const struct lj *lj, uint64_t addr, struct lj_trace *t)
{
	unsigned char b[120];
	uint16_t nins, nk;
	uint32_t nk32;

	if (!addr || !mem_bytes(lj->g, addr, b, sizeof(b)) || b[9] != LJ_T_TRACE)
		return false;
	memset(t, 0, sizeof(*t));
	t->addr = addr;
	memcpy(&t->nsnap, b + 10, 2);
	memcpy(&t->nins, b + 12, 4);
	memcpy(&nins, b + 12, 2);
	memcpy(&t->ir, b + 32, 8);
	memcpy(&nk32, b + 40, 4);
	nk = (uint16_t)nk32;
	t->nk = nk32 > 0xffff ? nk : nk32;
	memcpy(&t->nsnapmap, b + 44, 4);
	memcpy(&t->snap, b + 48, 8);
	memcpy(&t->snapmap, b + 56, 8);
	memcpy(&t->startpt, b + 64, 8);
	memcpy(&t->startpc, b + 72, 8);
	memcpy(&t->szmcode, b + 84, 4);
	memcpy(&t->mcode, b + 88, 8);
	memcpy(&t->spadjust, b + 102, 2);
	memcpy(&t->traceno, b + 104, 2);
	memcpy(&t->link, b + 106, 2);
	memcpy(&t->root, b + 108, 2);
	t->linktype = b[116];
	t->startpt = LJ_POINTER(t->startpt);
	return t->szmcode < MAX_CODE && t->nk <= REF_BIAS && t->nins >= REF_BIAS &&
	       t->nins < 2 * REF_BIAS;
}

bool lj_trace_read(const struct lj *lj, uint32_t number, struct lj_trace *ret)
{
	uint64_t array, addr;
	uint32_t size;

	return number && mem_u64(lj->g, lj->J + lj->y->trace, &array) &&
	       mem_u32(lj->g, lj->J + lj->y->sizetrace, &size) && number < size &&
	       size <= MAX_TRACES && mem_u64(lj->g, array + 8ull * number, &addr) &&
	       trace_parse(lj, addr, ret) && ret->traceno == number;
}

static bool trace_covers(const struct lj_trace *t, uint64_t pc)
{
	return pc - t->mcode < t->szmcode;
}

bool lj_trace_at(const struct lj *lj, uint64_t pc, struct lj_trace *ret)
{
	uint16_t *hint = &lj->code->hint[(pc >> 6) % LJ_HINTS];
	uint64_t array, addr[64];
	uint32_t size;

	if (lj_trace_read(lj, *hint, ret) && trace_covers(ret, pc))
		return true;
	if (!mem_u64(lj->g, lj->J + lj->y->trace, &array) ||
	    !mem_u32(lj->g, lj->J + lj->y->sizetrace, &size) || size > MAX_TRACES)
		return false;
	for (uint32_t i = 0; i < size; i += 64) {
		uint32_t n = size - i < 64 ? size - i : 64;

		if (!mem_bytes(lj->g, array + 8ull * i, addr, 8 * n))
			return false;
		for (uint32_t k = 0; k < n; k++)
			if (trace_parse(lj, addr[k], ret) && trace_covers(ret, pc)) {
				*hint = ret->traceno;
				return true;
			}
	}
	return false;
}

int lj_exit_stub(const struct lj *lj, uint64_t pc)
{
	uint64_t group[EXIT_GROUPS];

	if (!lj->y->exits || !mem_bytes(lj->g, lj->J + lj->y->exits, group, sizeof(group)))
		return -1;
	/* Each stub is `push imm8; jmp short`, 4 bytes; behind the last one is the common end. */
	for (int i = 0; i < EXIT_GROUPS && group[i]; i++)
		if (pc - group[i] < 4 * EXITS_IN_GROUP + 16)
			return i * EXITS_IN_GROUP + (pc - group[i] < 4 * EXITS_IN_GROUP
							     ? (int)((pc - group[i]) / 4)
							     : 0);
	return -1;
}

unsigned lj_snapshot_at(const struct lj *lj, const struct lj_trace *t, uint32_t offset)
{
	unsigned lo = 0, hi = t->nsnap;

	while (hi - lo > 1) {
		unsigned mid = lo + (hi - lo) / 2;
		uint16_t mcofs;

		if (!mem_u16(lj->g, t->snap + (uint64_t)SNAP_SIZE * mid + 6, &mcofs))
			return lo;
		if (mcofs <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* ---- frames of a snapshot -------------------------------------------------------------------- */

struct snapshot {
	uint32_t entry[256];
	unsigned n;
	uint64_t pc;
	unsigned base;
};

static bool snapshot_read(const struct lj *lj, const struct lj_trace *t, unsigned number,
			  struct snapshot *ret)
{
	unsigned char b[SNAP_SIZE];
	uint32_t mapofs;
	uint64_t v;

	if (number >= t->nsnap ||
	    !mem_bytes(lj->g, t->snap + (uint64_t)SNAP_SIZE * number, b, sizeof(b)))
		return false;
	memcpy(&mapofs, b, 4);
	ret->n = b[10];
	if (mapofs >= t->nsnapmap ||
	    !mem_bytes(lj->g, t->snapmap + 4ull * mapofs, ret->entry, 4 * ret->n) ||
	    !mem_u64(lj->g, t->snapmap + 4ull * (mapofs + ret->n), &v))
		return false;
	ret->pc = v >> 8;
	ret->base = (unsigned)(v & 255);
	return true;
}

static uint64_t double_bits(double d)
{
	uint64_t v;

	memcpy(&v, &d, 8);
	return v;
}

/* The constant in a slot; false: it is none, or nothing is there. */
static bool slot_constant(const struct lj *lj, const struct lj_trace *t, const struct snapshot *s,
			  unsigned slot, uint64_t *ret)
{
	for (unsigned i = 0; i < s->n; i++) {
		uint32_t ref = s->entry[i] & 0xffff;

		if (s->entry[i] >> 24 != slot)
			continue;
		return ref < REF_BIAS && ref >= t->nk && ref + 1 < REF_BIAS &&
		       mem_u64(lj->g, t->ir + IR_SIZE * (uint64_t)(ref + 1), ret);
	}
	return false;
}

enum lj_slot lj_snapshot_slot(const struct lj *lj, const struct lj_trace *t, unsigned number,
			      unsigned slot, uint64_t *value_ret)
{
	struct snapshot s;
	uint64_t ins, v;
	uint32_t ref, entry = 0;

	if (!snapshot_read(lj, t, number, &s))
		return LJ_SLOT_ELSEWHERE;
	for (unsigned i = 0; i < s.n; i++)
		if (s.entry[i] >> 24 == slot)
			entry = s.entry[i];
	if (!entry)
		return LJ_SLOT_ABSENT;
	if (entry & SNAP_NORESTORE)
		return LJ_SLOT_MEMORY;
	ref = entry & 0xffff;
	if (ref >= REF_BIAS || ref < t->nk ||
	    !mem_u64(lj->g, t->ir + IR_SIZE * (uint64_t)ref, &ins) ||
	    !mem_u64(lj->g, t->ir + IR_SIZE * (uint64_t)(ref + 1), &v))
		return LJ_SLOT_ELSEWHERE;
	switch (ins >> 40 & 255) {		/* the type is in bits 32 to 36 */
	case IR_KPRI:
		*value_ret = ~((ins >> 32 & 31) << 47);
		return LJ_SLOT_VALUE;
	case IR_KINT:
		*value_ret = double_bits((int32_t)ins);
		return LJ_SLOT_VALUE;
	case IR_KGC:
		*value_ret = ~(ins >> 32 & 31) << 47 | LJ_POINTER(v);
		return LJ_SLOT_VALUE;
	case IR_KNUM:
		*value_ret = v;
		return LJ_SLOT_VALUE;
	default:
		return LJ_SLOT_ELSEWHERE;
	}
}

static bool slot_is_there(const struct snapshot *s, unsigned slot)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->entry[i] >> 24 == slot)
			return true;
	return false;
}

/*
 * The function whose bytecode has pc, where its slot holds no constant: the trace then checks that
 * it is one of a certain prototype, whose bytecode's address is among the trace's constants.
 */
static uint64_t proto_by_constants(const struct lj *lj, const struct lj_trace *t, uint64_t pc)
{
	for (uint32_t ref = t->nk; ref + 1 < REF_BIAS; ref++) {
		struct lj_proto pt;
		uint64_t ins, v;

		if (!mem_u64(lj->g, t->ir + IR_SIZE * (uint64_t)ref, &ins))
			return 0;
		/* a 64 bit constant lies in the word behind its instruction, whatever its kind */
		if (!mem_u64(lj->g, t->ir + IR_SIZE * (uint64_t)(ref + 1), &v))
			return 0;
		if (pc - v > 1 << 22 || v < 4096 ||
		    !lj_proto_read(lj, v - lj->y->proto, &pt) || !lj_proto_has(&pt, pc))
			continue;
		return pt.addr;
	}
	return 0;
}

static uint64_t proto_of_pc(const struct lj *lj, const struct lj_trace *t,
			    const struct lj_function *fn, uint64_t pc)
{
	struct lj_proto pt;

	if (fn->addr && !fn->ffid && lj_proto_read(lj, fn->proto, &pt) && lj_proto_has(&pt, pc))
		return pt.addr;
	if (lj_proto_read(lj, t->startpt, &pt) && lj_proto_has(&pt, pc))
		return pt.addr;
	return proto_by_constants(lj, t, pc);
}

/* The function in a slot: a constant, or for the frame that the trace began in, in memory. */
static void slot_function(const struct lj *lj, const struct lj_trace *t, const struct snapshot *s,
			  unsigned slot, uint64_t base, struct lj_function *ret)
{
	uint64_t v;

	if (slot_constant(lj, t, s, slot, &v) && lj_function_read(lj, LJ_POINTER(v), ret))
		return;
	if (slot || slot_is_there(s, slot) || !lj_function_at(lj, base - 8, ret))
		*ret = (struct lj_function){ 0 };
}

const char *lj_trace_text(const struct lj *lj, const struct lj_trace *t)
{
	enum { ROOT = 1, REF_BASE = 0x8000, STITCH = 8 };
	static const char *const word[] = { "", "", "loop", "tail recursion", "up recursion",
					    "down recursion", "interpreter", "return", "stitch" };
	uint16_t from[2] = { 0, 0 };	/* of its first instruction: parent and exit */
	char text[96];
	int n = 0;

	if (t->linktype > STITCH)
		return NULL;
	if (t->root && mem_bytes(lj->g, t->ir + 8 * REF_BASE, from, sizeof(from)) && from[0])
		n = snprintf(text, sizeof(text), "from exit %u of %u, ", from[1], from[0]);
	if (t->linktype == ROOT || t->linktype == STITCH)
		snprintf(text + n, sizeof(text) - (size_t)n, "-> %u, %u exits", t->link, t->nsnap);
	else
		snprintf(text + n, sizeof(text) - (size_t)n, "%s%s%u exits", word[t->linktype],
			 t->linktype ? ", " : "", t->nsnap);
	return string_intern(lj->g, text, strlen(text));
}

/* One frame further out in the snapshot.  False: its link leads nowhere. */
static bool link_follow(const struct lj *lj, const struct lj_trace *t, const struct snapshot *s,
			unsigned *b, uint64_t *pc, struct lj_inlined *inner, bool *hidden)
{
	uint64_t link, delta;
	uint32_t ins;

	if (!slot_constant(lj, t, s, *b + 1, &link))
		return false;
	*hidden = false;
	if ((link & 3) == LJ_LUA) {
		if (!mem_u32(lj->g, link - 4, &ins))
			return false;
		delta = 2 + (ins >> 8 & 255);
		*pc = link;
		inner->by_lua = true;
	} else {
		delta = (link & ~7ull) / 8;
		if ((link & 7) == LJ_CONT) {
			/* the caller's pc lies below the continuation's frame */
			if (*b < 1 || !slot_constant(lj, t, s, *b - 1, pc))
				return false;
			inner->by_lua = true;
		} else if ((link & 7) == LJ_VARG) {
			*hidden = true;
		} else if ((link & 3) == LJ_C) {
			return false;
		}
	}
	if (!delta || delta > *b)
		return false;
	*b -= (unsigned)delta;
	return true;
}

unsigned lj_snapshot_frames(const struct lj *lj, const struct lj_trace *t, unsigned number,
			    uint64_t base, struct lj_inlined ret[LJ_INLINED])
{
	struct snapshot s;
	bool hidden = false;
	unsigned b, n = 0;
	uint64_t pc;

	if (!snapshot_read(lj, t, number, &s))
		return 0;
	pc = s.pc + 4;		/* the snapshot's is that of the instruction itself */
	for (b = s.base; n < LJ_INLINED;) {
		struct lj_inlined *f = &ret[n++];
		struct lj_function fn;

		slot_function(lj, t, &s, b, base, &fn);
		*f = (struct lj_inlined){ .pc = pc, .function = fn.addr,
					  .frame = base + 8ull * b - 8, .hidden = hidden };
		if (!fn.addr || !fn.ffid)
			f->proto = proto_of_pc(lj, t, &fn, pc);
		if (!b)
			return n;
		if (!link_follow(lj, t, &s, &b, &pc, f, &hidden))
			return 0;
	}
	return 0;
}
