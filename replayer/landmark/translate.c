/*
 * translate.c - look for a point in copies of the program's code, with the test for the point in
 * them.
 *
 * Where a jump at the point costs a stop in nearly each iteration (something branches into its
 * bytes, or the program writes to the page that it is in), or cannot be put at all (a shared
 * mapping, no room), the task runs copies of its code instead: the original stays as it is, a
 * branch in the copy leads to the copy of its target, and the copy of the instruction at the point
 * begins with the test of stub.c.  Copies are made block by block when the task first comes there,
 * which costs a stop each; then the task runs at one to three times its time.  Code that the
 * program may change is compared each time before its copy runs (some instructions for eight
 * bytes), so copies are always of what is there.
 *
 * A search can go over to this at any stop that has the program's own state, and back.
 *
 * Rejected: doing so from the start (a copy of all code that runs costs more than a jump at one
 * place).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "replayer/landmark/search.h"
#include "replayer/machine/cage.h"
#include "replayer/machine/event.h"
#include "tracee/room.h"

enum { TABLE_BYTES = BUCKETS * BUCKET_BYTES, AREAS = 16 };

/*
 * How far an area may be from the code it has copies of.  What that refers to in its neighbourhood
 * must be within 2 GB of both.
 */
#define AREA_FAR (1536ull << 20)

struct translation {
	struct landmark *l;
	struct tracee_maps maps;
	struct { uint64_t at; unsigned used; } area[AREAS];
	unsigned areas;
	uint64_t table;			/* of emit_lookup() */
	struct block *block;		/* by their original address: open addressing */
	unsigned blocks, room;
	uint64_t made;
	bool full;
};

static struct err *call(struct landmark *l, int64_t *ret, long nr, uint64_t a0, uint64_t a1,
			uint64_t a2, uint64_t a3)
{
	TRY(cage_call(l->t->real, &l->t->regs, ret, nr, a0, a1, a2, a3, (uint64_t)-1, 0));
	l->t->dirty = true;
	return NULL;
}

/* ---- which copy is whose --------------------------------------------------------------------- */

static struct block *slot_of(struct translation *x, uint64_t orig)
{
	unsigned i = (unsigned)(hash_word(orig) >> 40) & (x->room - 1);

	while (x->block[i].at && x->block[i].orig != orig)
		i = (i + 1) & (x->room - 1);
	return &x->block[i];
}

static void block_add(struct translation *x, const struct block *b)
{
	if (2 * (x->blocks + 1) > x->room) {
		struct block *old = x->block;
		unsigned room = x->room;

		x->room = room ? 2 * room : 1024;
		x->block = alloc_zeroed(x->room, sizeof(*x->block), "copies of code");
		for (unsigned i = 0; i < room; i++) {
			if (old[i].at)
				*slot_of(x, old[i].orig) = old[i];
		}
		free(old);
	}
	x->blocks += !slot_of(x, b->orig)->at;
	*slot_of(x, b->orig) = *b;
}

static uint64_t copy_of(void *ctx, uint64_t orig)
{
	struct translation *x = ctx;

	return x->room ? slot_of(x, orig)->at : 0;
}

/* ---- areas ----------------------------------------------------------------------------------- */

/* A new area near addr; *ret = its number, AREAS: there is no room. */
static struct err *area_new(struct translation *x, uint64_t addr, unsigned *ret)
{
	static struct emit e;
	const struct room_want want = {
		.len = AREA_BYTES, .margin = PAGE_BYTES, .near = addr, .reach = AREA_FAR
	};
	uint64_t at = room_nearest(&x->maps, &want);
	int64_t mapped = 0;

	*ret = AREAS;
	x->full = x->areas == AREAS;
	if (x->full || !at)
		return NULL;
	TRY(call(x->l, &mapped, SYS_mmap, at, AREA_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE));
	if (mapped != (int64_t)at)
		return NULL;
	tracee_maps_deinit(&x->maps);
	TRY(tracee_maps_read(x->l->t->real, &x->maps));
	e = (struct emit){ .area = at };
	emit_lookup(&e, at, x->table);
	TRY(tracee_write(x->l->t->real, at, e.bytes, e.code.len));
	*ret = x->areas++;
	x->area[*ret].at = at;
	x->area[*ret].used = e.code.len;
	return NULL;
}

static struct err *area_for(struct translation *x, uint64_t addr, unsigned *ret)
{
	for (*ret = 0; *ret < x->areas; ++*ret) {
		if (room_reaches(x->area[*ret].at, AREA_BYTES, addr, AREA_FAR) &&
		    x->area[*ret].used + BLOCK_CODE_MAX < AREA_CODE_END)
			return NULL;
	}
	return area_new(x, addr, ret);
}

static bool in_areas(const struct translation *x, uint64_t addr)
{
	for (unsigned i = 0; i < x->areas; i++) {
		if (addr - x->area[i].at < AREA_BYTES)
			return true;
	}
	return false;
}

/* ---- making copies --------------------------------------------------------------------------- */

/* Can the program change this code without a system call? */
static bool can_change(const struct translation *x, uint64_t addr)
{
	const struct tracee_map *m = tracee_maps_find(&x->maps, addr);

	return !m || (m->prot & PROT_WRITE) || m->shared;
}

static void prepare_test(struct translation *x, unsigned area, uint64_t body)
{
	struct stub *s = &x->l->stub;

	s->pun = (struct pun){ .addr = body };
	s->addr = x->area[area].at + AREA_CODE_END;
	s->data = x->area[area].at + AREA_DATA;
	memcpy(s->value, &x->l->ev->regs, sizeof(s->value));
}

/* The copy of the block at orig, made anew; *ret->at = 0: it cannot be made. */
static struct err *translate(struct translation *x, uint64_t orig, struct block *ret)
{
	static struct emit e;
	struct landmark *l = x->l;
	struct block old = { 0 };
	uint64_t fresh;
	unsigned area;
	bool good, again;

	*ret = (struct block){ 0 };
	if (x->room)
		old = *slot_of(x, orig);
	TRY(area_for(x, orig, &area));
	if (area == AREAS)
		return NULL;
	e = (struct emit){ .tid = l->t->real,
			   .orig = orig,
			   .area = x->area[area].at,
			   .point = l->ev->regs.rip,
			   .test = x->area[area].at + AREA_CODE_END,
			   .checked = can_change(x, orig),
			   .single = old.changes >= CHANGES_MANY,
			   .copy_of = copy_of,
			   .ctx = x };
	fresh = x->area[area].at + x->area[area].used;
	/* often it fits in where the old one was */
	again = old.at && old.at - e.area < AREA_BYTES;
	good = emit_block(&e, again ? old.at : fresh);
	if (good && again && e.code.len > old.size) {
		again = false;
		good = emit_block(&e, fresh);
	}
	if (!good)
		return NULL;
	*ret = (struct block){ .orig = orig,
			       .at = e.code.at,
			       .size = again ? old.size : e.code.len,
			       .changes = old.changes + (old.at != 0),
			       .trampoline = e.trampoline };
	TRY(tracee_write(l->t->real, e.code.at, e.bytes, e.code.len));
	if (old.at && !again) {
		uint8_t bytes[X86_FAR_JUMP];
		struct x86_code jump = { .bytes = bytes, .room = sizeof(bytes) };

		x86_put_far_jump(&jump, e.code.at);
		TRY(tracee_write(l->t->real, old.at, bytes, jump.len));
	}
	if (!again)
		x->area[area].used += (e.code.len + 15) & ~15u;
	block_add(x, ret);
	x->made++;
	if (orig != l->ev->regs.rip)
		return NULL;
	prepare_test(x, area, e.code.at + e.trampoline);
	TRY(landmark_stub_write(l, &good));
	if (!good)
		*ret = (struct block){ 0 };
	return NULL;
}

static struct err *block_at(struct translation *x, uint64_t orig, struct block *ret)
{
	if (x->room && slot_of(x, orig)->at) {
		*ret = *slot_of(x, orig);
		return NULL;
	}
	return translate(x, orig, ret);
}

/* ---- stops ----------------------------------------------------------------------------------- */

/* The lookup did not know this target: the newest of its bucket comes first. */
static struct err *table_put(struct translation *x, const struct block *b)
{
	uint64_t bucket = x->table + (b->orig & (BUCKETS - 1)) * BUCKET_BYTES, pair[2 * WAYS];

	TRY(tracee_read(x->l->t->real, bucket, pair, sizeof(pair)));
	memmove(pair + 2, pair, sizeof(pair) - 16);
	pair[0] = -b->orig;
	pair[1] = b->at;
	return tracee_write(x->l->t->real, bucket, pair, sizeof(pair));
}

/*
 * At an int3 of ours, regs.rip behind it: where does the program go on?  *ret = where; regs.rip =
 * where that is in the original.
 */
static struct err *on_trap(struct translation *x, struct block *ret)
{
	struct rp_task *t = x->l->t;
	struct { uint8_t kind; uint64_t addr; } __attribute__((packed)) note;
	uint64_t rip = t->regs.rip, area = 0;

	*ret = (struct block){ 0 };
	TRY(tracee_read(t->real, rip, &note, sizeof(note)));
	for (unsigned i = 0; i < x->areas; i++)
		area = rip - x->area[i].at < AREA_BYTES ? x->area[i].at : area;
	if (note.kind == TRAP_INDIRECT)
		TRY(tracee_read(t->real, area + AREA_DATA + SLOT_TARGET, &note.addr, 8));
	t->regs.rip = note.addr;
	t->dirty = true;
	if (note.kind == TRAP_STEP) {
		TRY(landmark_run_to_trap(x->l, PTRACE_SYSEMU_SINGLESTEP));
		return block_at(x, t->regs.rip, ret);
	}
	if (note.kind == TRAP_CHANGED)
		return translate(x, note.addr, ret);
	TRY(block_at(x, note.addr, ret));
	if (!ret->at)
		return NULL;
	if (note.kind == TRAP_INDIRECT)
		return table_put(x, ret);
	return tracee_write(t->real, rip - 1 - 8, &ret->at, 8);
}

/* At the test's int3; as in search.c's search_patched(). */
static struct err *on_candidate(struct translation *x, bool *found)
{
	struct landmark *l = x->l;
	struct rp_task *t = l->t;
	bool retest = t->regs.rip == l->stub.retest;
	struct regs at_trap = t->regs;

	t->regs.rip = l->ev->regs.rip;
	TRY(landmark_is_point(l, found));
	if (*found)
		return NULL;
	if (retest || l->samples < LANDMARK_SAMPLES)
		TRY(landmark_learn(l, retest));
	t->regs = at_trap;
	t->regs.rip = l->stub.miss;
	t->dirty = true;
	return NULL;
}

/* From t->regs on; t->regs.rip is the program's again when this returns. */
static struct err *run(struct translation *x, bool *found)
{
	struct landmark *l = x->l;
	struct rp_task *t = l->t;
	struct block b;
	struct regs start = t->regs;

	patch_resume(&t->mm->patches, &start);
	TRY(block_at(x, t->regs.rip == t->shown && t->stub ? t->stub : start.rip, &b));
	if (!b.at)
		return NULL;
	/* the state here is none that is looked for any more */
	t->regs.rip = b.at + b.trampoline;
	t->dirty = true;
	for (;;) {
		TRY(landmark_run_to_trap(l, PTRACE_SYSEMU));
		if (t->regs.rip == l->stub.trap || t->regs.rip == l->stub.retest) {
			TRY(on_candidate(x, found));
			if (*found)
				return NULL;
			continue;
		}
		if (!in_areas(x, t->regs.rip))
			return diverge(
				t, l->ev,
				"a breakpoint in computing code that the recording did not see");
		TRY(on_trap(x, &b));
		if (!b.at)
			return NULL;
		t->regs.rip = b.at;
		t->dirty = true;
	}
}

bool landmark_copy_regs(const struct translation *x, struct regs *regs)
{
	bool inside = false;

	for (unsigned i = 0; i < x->areas; i++)
		inside |= regs->rip - x->area[i].at < AREA_BYTES;
	for (unsigned i = 0; inside && i < x->room; i++) {
		const struct block *b = &x->block[i];

		if (b->at && regs->rip - b->at < b->size) {
			regs->rip = b->orig;
			return true;
		}
	}
	return !inside;
}

static struct err *begin(struct translation *x)
{
	int64_t ret = 0;

	TRY(call(x->l, &ret, SYS_mmap, 0, TABLE_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS));
	if (ret <= 0)
		return NULL;
	x->table = (uint64_t)ret;
	return tracee_maps_read(x->l->t->real, &x->maps);
}

static struct err *end(struct translation *x)
{
	int64_t ret;

	for (unsigned i = 0; i < x->areas; i++)
		TRY(call(x->l, &ret, SYS_munmap, x->area[i].at, AREA_BYTES, 0, 0));
	if (x->table)
		TRY(call(x->l, &ret, SYS_munmap, x->table, TABLE_BYTES, 0, 0));
	return NULL;
}

/* When the areas are full, everything is made anew. */
static struct err *rounds(struct landmark *l, bool *found)
{
	bool good = true;

	while (!*found && good) {
		struct translation x = { .l = l };
		struct err *err = begin(&x);

		landmarks_of(l->r)->translation = &x;
		if (!err && x.table)
			err = run(&x, found);
		landmarks_of(l->r)->translation = NULL;
		log_debug("event %" PRIu64 ": %" PRIu64 " copies of blocks in %u areas", l->ev->n,
			  x.made, x.areas);
		good = x.full && x.made > AREAS;
		if (!err)
			err = end(&x);
		tracee_maps_deinit(&x.maps);
		free(x.block);
		l->stub.map = l->stub.addr = 0;
		l->stub.trap = l->stub.retest = 0;
		if (err)
			return err;
	}
	return NULL;
}

struct err *landmark_search_copies(struct landmark *l, bool *found)
{
	l->samples = 0;
	l->stub.regs = 0;
	l->stub.quick = QUICK_NONE;
	return rounds(l, found);
}
