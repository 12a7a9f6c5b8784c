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
 * v is the word behind the snapshot's entries.  With references of 32 bits a frame has one slot,
 * of its function; the words behind the entries are the pc and then the frames' links, innermost
 * first.
 *
 * Older builds have no mcofs: what holds is told by the last guard before, which leaves the trace
 * by its snapshot's exit.
 */
#include <stdio.h>

#include "guests/luajit.h"

enum { SNAP_SIZE = 12, IR_SIZE = 8, EXIT_GROUPS = 64, EXITS_IN_GROUP = 32 };
enum { IR_KPRI = 22, IR_KINT = 23, IR_KGC = 24, IR_KNUM = 28, REF_BIAS = 0x8000 };
enum { SNAP_FRAME = 0x10000, SNAP_CONT = 0x20000, SNAP_NORESTORE = 0x40000 };
enum { MAX_TRACES = 65536, MAX_CODE = 1 << 26 };

static bool trace_parse(const struct lj *lj, uint64_t addr, struct lj_trace *t)
{
	const struct lj_shape *sh = lj->y->shape;
	unsigned char b[120];
	size_t len = sh->trace.linktype + 1u;
	uint16_t nk;
	uint32_t nk32;

	if (!addr || !mem_bytes(lj->g, addr, b, len) || b[sh->gct] != LJ_T_TRACE)
		return false;
	memset(t, 0, sizeof(*t));
	t->addr = addr;
	memcpy(&t->nsnap, b + sh->gct + 1, 2);
	memcpy(&t->nins, b + sh->gct + 3, 4);
	memcpy(&t->ir, b + sh->trace.ir, 8);
	memcpy(&nk32, b + sh->trace.nk, 4);
	nk = (uint16_t)nk32;
	t->nk = nk32 > 0xffff ? nk : nk32;
	memcpy(&t->nsnapmap, b + sh->trace.nsnapmap, 4);
	memcpy(&t->snap, b + sh->trace.snap, 8);
	memcpy(&t->snapmap, b + sh->trace.snapmap, 8);
	memcpy(&t->startpt, b + sh->trace.startpt, sh->ref);
	memcpy(&t->startpc, b + sh->trace.startpc, sh->ref);
	memcpy(&t->szmcode, b + sh->trace.szmcode, 4);
	memcpy(&t->mcode, b + sh->trace.mcode, 8);
	memcpy(&t->spadjust, b + sh->trace.spadjust, 2);
	memcpy(&t->traceno, b + sh->trace.traceno, 2);
	memcpy(&t->link, b + sh->trace.link, 2);
	memcpy(&t->root, b + sh->trace.root, 2);
	t->linktype = b[sh->trace.linktype];
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
	       size <= MAX_TRACES &&
	       lj_ref(lj, array + (uint64_t)lj->y->shape->ref * number, &addr) &&
	       trace_parse(lj, addr, ret) && ret->traceno == number;
}

static bool trace_covers(const struct lj_trace *t, uint64_t pc)
{
	return pc - t->mcode < t->szmcode;
}

bool lj_trace_at(const struct lj *lj, uint64_t pc, struct lj_trace *ret)
{
	uint16_t *hint = &lj->code->hint[(pc >> 6) % LJ_HINTS];
	uint64_t array, addr, ref = lj->y->shape->ref;
	unsigned char b[64 * 8];
	uint32_t size;

	if (lj_trace_read(lj, *hint, ret) && trace_covers(ret, pc))
		return true;
	if (!mem_u64(lj->g, lj->J + lj->y->trace, &array) ||
	    !mem_u32(lj->g, lj->J + lj->y->sizetrace, &size) || size > MAX_TRACES)
		return false;
	for (uint32_t i = 0; i < size; i += 64) {
		uint32_t n = size - i < 64 ? size - i : 64;

		if (!mem_bytes(lj->g, array + ref * i, b, ref * n))
			return false;
		for (uint32_t k = 0; k < n; k++) {
			addr = 0;
			memcpy(&addr, b + ref * k, ref);
			if (trace_parse(lj, addr, ret) && trace_covers(ret, pc)) {
				*hint = ret->traceno;
				return true;
			}
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

/* Parent and exit of a side trace: in its first instruction. */
static bool made_from(const struct lj *lj, const struct lj_trace *t, uint16_t from_ret[2])
{
	return t->root && mem_bytes(lj->g, t->ir + IR_SIZE * (uint64_t)REF_BIAS, from_ret, 4) &&
	       from_ret[0];
}

/* The exit that a jump to target takes, or -1: to its stub, or to the trace made from there. */
static int exit_of_jump(const struct lj *lj, const struct lj_trace *t,
			const uint64_t group[EXIT_GROUPS], uint64_t target)
{
	uint16_t from[2];
	struct lj_trace side;

	for (int i = 0; i < EXIT_GROUPS && group[i]; i++)
		if (target - group[i] < 4 * EXITS_IN_GROUP && !((target - group[i]) & 3))
			return i * EXITS_IN_GROUP + (int)((target - group[i]) / 4);
	return !trace_covers(t, target) && lj_trace_at(lj, target, &side) &&
			       side.mcode == target && made_from(lj, &side, from) &&
			       from[0] == t->traceno
		       ? from[1]
		       : -1;
}

/* By the last guard before the offset. */
static unsigned snapshot_by_guards(const struct lj *lj, const struct lj_trace *t, uint32_t offset)
{
	enum { CHUNK = 1024, JUMP = 6 };
	uint64_t group[EXIT_GROUPS];
	unsigned char b[CHUNK + JUMP];
	unsigned last = 0;

	if (!lj->y->exits || !mem_bytes(lj->g, lj->J + lj->y->exits, group, sizeof(group)))
		return 0;
	for (uint32_t at = 0; at < offset; at += CHUNK) {
		uint32_t n = offset - at < CHUNK + JUMP ? offset - at : CHUNK + JUMP;

		if (!mem_bytes(lj->g, t->mcode + at, b, n))
			return last;
		for (uint32_t i = 0; i + JUMP <= n && i < CHUNK; i++) {
			int32_t disp;
			int exit;

			if (b[i] != 0x0f || (b[i + 1] & 0xf0) != 0x80)
				continue;
			memcpy(&disp, b + i + 2, 4);
			exit = exit_of_jump(lj, t, group,
					    t->mcode + at + i + JUMP + (uint64_t)(int64_t)disp);
			if (exit >= 0 && exit < t->nsnap)
				last = (unsigned)exit;
		}
	}
	return last;
}

unsigned lj_snapshot_at(const struct lj *lj, const struct lj_trace *t, uint32_t offset)
{
	unsigned lo = 0, hi = t->nsnap;

	if (!lj->y->mcofs)
		return snapshot_by_guards(lj, t, offset);

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
	uint32_t link[2 * LJ_INLINED];	/* references of 32 bits: of its frames */
	unsigned links;
};

/* Behind the entries: the pc, and links; the innermost function is in the highest frame slot. */
static bool snapshot_links(const struct lj *lj, const struct lj_trace *t, uint32_t at,
			   struct snapshot *s)
{
	unsigned n = t->nsnapmap - at;
	uint32_t pc;

	if (at >= t->nsnapmap || !mem_u32(lj->g, t->snapmap + 4ull * at, &pc))
		return false;
	s->pc = pc;
	for (unsigned i = 0; i < s->n; i++)
		if (s->entry[i] & SNAP_FRAME && s->entry[i] >> 24 > s->base)
			s->base = s->entry[i] >> 24;
	s->links = n - 1 < 2 * LJ_INLINED ? n - 1 : 2 * LJ_INLINED;
	return mem_bytes(lj->g, t->snapmap + 4ull * (at + 1), s->link, 4ull * s->links);
}

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
	ret->n = b[lj->y->mcofs ? 10 : 8];
	ret->base = ret->links = 0;
	if (mapofs >= t->nsnapmap ||
	    !mem_bytes(lj->g, t->snapmap + 4ull * mapofs, ret->entry, 4 * ret->n))
		return false;
	if (lj_is_gc32(lj))
		return snapshot_links(lj, t, mapofs + ret->n, ret);
	if (!mem_u64(lj->g, t->snapmap + 4ull * (mapofs + ret->n), &v))
		return false;
	ret->pc = v >> 8;
	ret->base = (unsigned)(v & 255);
	return true;
}

bool lj_snapshot_pc(const struct lj *lj, const struct lj_trace *t, unsigned number,
		    uint64_t *pc_ret, unsigned *base_ret)
{
	struct snapshot s;

	if (!snapshot_read(lj, t, number, &s))
		return false;
	*pc_ret = s.pc;
	*base_ret = s.base;
	return true;
}

/* A constant's 64 bits: in the word behind its instruction, or its address is in it. */
static bool constant_read(const struct lj *lj, const struct lj_trace *t, uint32_t ref,
			  uint64_t *ins_ret, uint64_t *ret)
{
	if (!mem_u64(lj->g, t->ir + IR_SIZE * (uint64_t)ref, ins_ret))
		return false;
	if (!lj_is_gc32(lj))
		return mem_u64(lj->g, t->ir + IR_SIZE * (uint64_t)(ref + 1), ret);
	*ret = (uint32_t)*ins_ret;
	return (*ins_ret >> 40 & 255) != IR_KNUM || mem_u64(lj->g, *ret, ret);
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
		uint64_t ins;

		if (s->entry[i] >> 24 != slot)
			continue;
		return ref < REF_BIAS && ref >= t->nk &&
		       (ref + 1 < REF_BIAS || lj_is_gc32(lj)) &&
		       constant_read(lj, t, ref, &ins, ret);
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
	if (ref >= REF_BIAS || ref < t->nk || !constant_read(lj, t, ref, &ins, &v))
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

		if (!constant_read(lj, t, ref, &ins, &v))
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
	enum { ROOT = 1, STITCH = 8 };
	static const char *const word[] = { "", "", "loop", "tail recursion", "up recursion",
					    "down recursion", "interpreter", "return", "stitch" };
	uint16_t from[2];
	char text[96];
	int n = 0;

	if (t->linktype > STITCH)
		return NULL;
	if (made_from(lj, t, from))
		n = snprintf(text, sizeof(text), "from exit %u of %u, ", from[1], from[0]);
	if (t->linktype == ROOT || t->linktype == STITCH)
		snprintf(text + n, sizeof(text) - (size_t)n, "-> %u, %u exits", t->link, t->nsnap);
	else
		snprintf(text + n, sizeof(text) - (size_t)n, "%s%s%u exits", word[t->linktype],
			 t->linktype ? ", " : "", t->nsnap);
	return string_intern(lj->g, text, strlen(text));
}

/* The next frame's link; *pc_ret: a continuation's, else 0.  *n: of the links behind entries. */
static bool link_read(const struct lj *lj, const struct lj_trace *t, const struct snapshot *s,
		      unsigned b, unsigned *n, uint64_t *ret, uint64_t *pc_ret)
{
	*pc_ret = 0;
	if (!lj_is_gc32(lj)) {
		if (!slot_constant(lj, t, s, b + 1, ret))
			return false;
		/* the caller's pc lies below the continuation's frame */
		return (*ret & 7) != LJ_CONT || (b && slot_constant(lj, t, s, b - 1, pc_ret));
	}
	if (*n >= s->links)
		return false;
	*ret = s->link[(*n)++];
	if ((*ret & 7) != LJ_CONT)
		return true;
	if (*n >= s->links)
		return false;
	*pc_ret = s->link[(*n)++];
	return true;
}

/* Goes one frame further out in the snapshot.  False: the frame's link leads nowhere. */
static bool link_follow(const struct lj *lj, const struct lj_trace *t, const struct snapshot *s,
			unsigned *b, unsigned *n, uint64_t *pc, struct lj_inlined *inner,
			bool *hidden)
{
	uint64_t link, delta, cont_pc;
	uint32_t ins;

	if (!link_read(lj, t, s, *b, n, &link, &cont_pc))
		return false;
	*hidden = false;
	if ((link & 3) == LJ_LUA) {
		if (!mem_u32(lj->g, link - 4, &ins))
			return false;
		delta = lj->y->shape->slots + (ins >> 8 & 255);
		*pc = link;
		inner->by_lua = true;
	} else {
		delta = (link & ~7ull) / 8;
		if ((link & 7) == LJ_CONT) {
			*pc = cont_pc;
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
	unsigned b, n = 0, links = 0;
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
		if (!link_follow(lj, t, &s, &b, &links, &pc, f, &hidden))
			return 0;
	}
	return 0;
}
