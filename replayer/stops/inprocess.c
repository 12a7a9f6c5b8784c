/*
 * inprocess.c - breakpoints that are decided inside the process.
 *
 * The instruction becomes a jump to a stub.  Two kinds, by what the breakpoint asks for:
 *
 *   count:  a counter in memory goes down; trap when it is 0; else remember when this was (for
 *   comparison with others)
 *   condition: registers and flags to a stack of ours; the compiled condition (condition.c); back;
 *              trap when it was true, or then count
 *   both:      the displaced instructions ("copy") ; jmp back
 *
 * So counting to a billion is one trap, and that is what positions inside a long computation are
 * named by (periodic.c, stepback.c); a breakpoint whose condition is false costs some 30 ns instead
 * of 25 us.
 *
 * Stubs are written into an area of the process near the code, which stays mapped; the program
 * cannot know of it.  The jumps themselves come and go with the int3s (breakpoints.c).  A task that
 * stops inside a copy is told to be at the original (inprocess_leave), and is put back when it goes
 * on (inprocess_enter), so nobody else knows of stubs.
 *
 * Places in the bytes of one jump share it: the stub of the first goes on to that of the next
 * (decode_group()).  A place that is counted may be where a breakpoint is, too: it is counted in
 * that one's stub (inprocess.over).
 *
 * A place that cannot be patched, or whose page the program may write to or has made itself, gets
 * an int3 as usual.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "replayer/machine/cage.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess.h"
#include "base/alloc.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/written_code.h"
#include "tracee/room.h"

enum { AREAS = RP_AREAS };
#define REACH 0x7f000000ull

/* ---- areas ------------------------------------------------------------------------------- */

static struct err *call(struct rp_task *t, int64_t *ret, long nr, uint64_t a0, uint64_t a1,
			uint64_t a2, uint64_t a3)
{
	TRY(cage_call(t->real, &t->regs, ret, nr, a0, a1, a2, a3, (uint64_t)-1, 0));
	t->dirty = t->mm->patches.n != 0;
	return NULL;
}

bool inprocess_reaches(uint64_t area, uint64_t addr)
{
	return room_reaches(area, 0, addr, REACH);
}

uint64_t inprocess_room(const struct tracee_maps *maps, uint64_t addr, uint64_t len)
{
	const struct room_want want = {
		.len = len, .margin = 32 * PAGE_BYTES, .near = addr, .reach = REACH
	};

	return room_loneliest(maps, &want);
}

/* An area near addr; *ret = NULL when there is no room. */
static struct err *area_for(struct rp_task *t, uint64_t addr, struct rp_area **ret)
{
	struct rp_area *a = stops_mm(t->mm)->areas, *end = a + AREAS;
	struct tracee_maps maps;
	uint64_t found = 0;
	int64_t got;

	*ret = NULL;
	for (; a < end && a->at; a++) {
		if (inprocess_reaches(a->at, addr)) {
			*ret = a;
			return NULL;
		}
	}
	if (a == end)
		return NULL;
	TRY(tracee_maps_read(t->real, &maps));
	found = inprocess_room(&maps, addr, PAGES * PAGE_BYTES);
	tracee_maps_deinit(&maps);
	if (!found)
		return NULL;
	TRY(call(t, &got, SYS_mmap, found, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE));
	if (got != (int64_t)found)
		return NULL;
	*a = (struct rp_area){ .at = found };
	stops_mm(t->mm)->unchecked.stale = true;
	*ret = a;
	return NULL;
}

bool inprocess_area(const struct rp_mm *mm, uint64_t addr)
{
	for (unsigned i = 0; i < AREAS; i++) {
		if (stops_mm(mm)->areas[i].at &&
		    addr - stops_mm(mm)->areas[i].at < PAGES * PAGE_BYTES)
			return true;
	}
	return false;
}

/* Counters, while the area that holds them is gone. */
struct rp_carried {
	uint64_t shared[2];	/* SEQUENCE, LEFT */
	unsigned n, gen;
	struct { uint64_t left, last; } inprocess[];
};

static void carry(struct rp_task *t)
{
	struct rp_mm *mm = t->mm;
	struct rp_carried *c =
		alloc_zeroed(1, sizeof(*c) + stops_mm(mm)->inprocess_n * sizeof(c->inprocess[0]),
			     "breakpoints");

	free(stops_mm(mm)->carried);
	stops_mm(mm)->carried = c;
	c->n = stops_mm(mm)->inprocess_n;
	c->gen = stops_mm(mm)->inprocess_gen;
	tracee_read_some(t->real, stops_mm(mm)->areas[0].at + DATA + SEQUENCE, c->shared,
			 sizeof(c->shared));
	for (unsigned i = 0; i < c->n; i++) {
		c->inprocess[i].left = stops_mm(mm)->inprocess[i].rest;
		if (stops_mm(mm)->inprocess[i].built)
			tracee_read_some(t->real, stops_mm(mm)->inprocess[i].slot + SLOT_LEFT,
					 &c->inprocess[i], sizeof(c->inprocess[i]));
	}
}

/* Stubs are there again. */
static struct err *put_down(struct rp_task *t)
{
	struct rp_mm *mm = t->mm;
	struct rp_carried *c = stops_mm(mm)->carried;

	if (!c || c->gen != stops_mm(mm)->inprocess_gen || !stops_mm(mm)->areas[0].at)
		return NULL;
	TRY(tracee_write(t->real, stops_mm(mm)->areas[0].at + DATA + SEQUENCE, c->shared,
			 sizeof(c->shared)));
	for (unsigned i = 0; i < c->n; i++) {
		stops_mm(mm)->inprocess[i].rest = c->inprocess[i].left;
		if (stops_mm(mm)->inprocess[i].built)
			TRY(tracee_write(t->real, stops_mm(mm)->inprocess[i].slot + SLOT_LEFT,
					 &c->inprocess[i], sizeof(c->inprocess[i])));
	}
	free(c);
	stops_mm(mm)->carried = NULL;
	return NULL;
}

struct err *inprocess_make_room(struct rp_task *t, uint64_t at, uint64_t len)
{
	struct rp_mm *mm = t->mm;
	int64_t ret;

	for (unsigned k = 0; k < AREAS; k++) {
		struct rp_area *a = &stops_mm(mm)->areas[k];

		if (!a->at || at >= a->at + PAGES * PAGE_BYTES || at + len <= a->at)
			continue;
		rp_tools_remove_code_from(mm, t->real);
		if (stops_mm(mm)->inprocess_n)
			carry(t);
		TRY(call(t, &ret, SYS_munmap, a->at, PAGES * PAGE_BYTES, 0, 0));
		inprocess_forget(mm);
		a->at = 0;
		for (unsigned i = k--; i + 1 < AREAS && stops_mm(mm)->areas[i + 1].at; i++) {
			stops_mm(mm)->areas[i] = stops_mm(mm)->areas[i + 1];
			stops_mm(mm)->areas[i + 1].at = 0;
		}
	}
	return NULL;
}

/* ---- stubs of an address space --------------------------------------------------------------- */

/* Has it a counter of its own? */
static bool alone(const struct stops_run *run, const struct replay_break *b)
{
	for (unsigned i = 0; run->sites && i < run->sites->n; i++) {
		if (!memcmp(b, &run->sites->b[i], sizeof(*b)))
			return true;
	}
	return run->iteration_site && b->kind == REPLAY_COUNT && b->addr == run->iteration_site;
}

/* ---- several in the bytes of one jump -------------------------------------------------------- */

/* A jump, or an int3? */
static bool is_jump(const struct stops_run *run, const struct replay_break *b)
{
	return b->kind == REPLAY_COUNT || b->cond || run->counting;
}

static int by_address(const void *a, const void *b)
{
	const struct replay_break *x = &((const struct inprocess *)a)->b,
				  *y = &((const struct inprocess *)b)->b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

/* Each for itself. */
static void dissolve(struct rp_mm *mm, const struct inprocess *lead)
{
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		struct inprocess *p = &stops_mm(mm)->inprocess[i];

		if (p->lead != lead)
			continue;
		p->lead = p;
		p->next = p->over = NULL;
		p->built = false;
	}
}

static void arrange(const struct stops_run *run, struct rp_mm *mm)
{
	struct inprocess *lead = NULL, *last = NULL;

	qsort(stops_mm(mm)->inprocess, stops_mm(mm)->inprocess_n, sizeof(*stops_mm(mm)->inprocess),
	      by_address);
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		struct inprocess *p = &stops_mm(mm)->inprocess[i];
		bool near = last && last->b.pid == p->b.pid,
		     same = near && last->b.addr == p->b.addr;

		p->alone = alone(run, &p->b);
		p->lead = p;
		if (same && p->alone && is_jump(run, &last->b) && !last->over &&
		    last->b.code == p->b.code) {
			last->over = p;
			p->lead = lead;
			continue;
		}
		if (same)
			dissolve(mm, lead);
		if (near && !same && p->b.addr < lead->b.addr + X86_JUMP &&
		    is_jump(run, &lead->b))
			p->lead = lead;
		else
			lead = p;
		if (p != lead)
			last->next = p;
		last = p;
	}
}

static bool in_group(const struct inprocess *lead, const struct replay_break *b)
{
	for (const struct inprocess *p = lead; p; p = p->next) {
		if (!memcmp(b, &p->b, sizeof(*b)) ||
		    (p->over && !memcmp(b, &p->over->b, sizeof(*b))))
			return true;
	}
	return false;
}

static bool others_in_site(const struct rp_set *s, const struct inprocess *lead, unsigned len)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind < REPLAY_WRITE && b->pid == lead->b.pid && b->addr >= lead->b.addr &&
		    b->addr < lead->b.addr + len && !in_group(lead, b))
			return true;
	}
	return false;
}

/* Which instructions each runs. */
static bool decode_group(struct rp_task *t, const struct rp_set *s, struct inprocess *lead)
{
	const struct rp_mm *mm = t->mm;
	struct displaced whole;

	if (!inprocess_displace(t, lead->b.addr, &whole) ||
	    others_in_site(s, lead, whole.site.len))
		return false;
	lead->span = whole.site.len;
	for (struct inprocess *p = lead; p; p = p->next) {
		uint64_t end = p->next ? p->next->b.addr : lead->b.addr + X86_JUMP;

		p->d = whole;
		if (lead->next &&
		    !displace_decode(t->real, p->b.addr, (unsigned)(end - p->b.addr),
				     stops_mm(mm)->solid_start, stops_mm(mm)->solid_end, &p->d))
			return false;
		if (displace_repeats(&p->d) || (p->next && p->b.addr + p->d.site.len != end))
			return false;
	}
	return true;
}

/* Where it counts; the run may have begun before this code was there. */
static struct err *begin_slot(struct rp_task *t, struct inprocess *p, uint64_t at)
{
	const uint64_t words[2] = { p->rest, 0 };

	p->slot = at;
	return tracee_write(t->real, at + SLOT_LEFT, words, sizeof(words));
}

static struct err *build(struct replay *r, struct rp_task *t, const struct stops_run *run,
			 struct inprocess *p)
{
	uint64_t first;
	uint8_t bytes[STUB_ROOM];
	struct inprocess_code c;
	struct rp_area *a;
	bool good;

	p->site = p->d.site;
	TRY(area_for(t, p->b.addr, &a));
	if (!a || a->used + STUB_ROOM > CODE_END ||
	    DATA + SLOT * (3 + a->slots) > PAGES * PAGE_BYTES)
		return NULL;
	first = stops_mm(t->mm)->areas[0].at + DATA;
	p->area = a->at;
	p->stub = a->at + a->used;
	TRY(begin_slot(t, p, a->at + DATA + SLOT * (1 + a->slots)));
	if (p->over) {
		TRY(begin_slot(t, p->over, p->slot + SLOT));
		p->over->left = p->over->slot + SLOT_LEFT;
		p->over->site.addr = p->b.addr;
	}
	c = (struct inprocess_code){ .code = { .bytes = bytes, .room = STUB_ROOM, .at = p->stub },
				     .sequence = run->sites && run->sites->n > 1
							 ? first + SEQUENCE
							 : 0,
				     .counts = p->b.kind == REPLAY_COUNT || run->counting };
	p->left = p->alone ? p->slot + SLOT_LEFT : first + LEFT;
	good = p->trap_only ? inprocess_stub_trap(p, &c)
	       : p->b.cond  ? inprocess_stub_condition(p, &stops_of(r)->conds[p->b.cond - 1], &c)
			    : inprocess_stub_count(p, &c);
	if (!good)
		return NULL;
	TRY(tracee_write(t->real, p->stub, bytes, c.code.len));
	TRY(tracee_write(t->real, p->slot + SLOT_RIP, &p->b.addr, 8));
	a->used += (c.code.len + 16u) & ~15u;	/* behind a trap is nobody's beginning */
	a->slots += 1 + (p->over != NULL);
	p->built = true;
	if (p->over)
		p->over->built = true;
	return NULL;
}

/* The last first, since each goes on to the next. */
static struct err *build_from(struct replay *r, struct rp_task *t, const struct stops_run *run,
			      struct inprocess *p)
{
	if (p->next)
		TRY(build_from(r, t, run, p->next));
	p->trap_only = !is_jump(run, &p->b);
	return p->next && !p->next->built ? NULL : build(r, t, run, p);
}

/* Only an int3 alone can be put there: rp_written_poke(). */
static struct err *shared(struct rp_task *t, uint64_t addr, bool *ret)
{
	struct tracee_maps maps;
	uint64_t other;

	TRY(tracee_maps_read(t->real, &maps));
	*ret = rp_written_shared(&maps, addr, &other);
	tracee_maps_deinit(&maps);
	return NULL;
}

static struct err *build_group(struct replay *r, struct rp_task *t, const struct stops_run *run,
			       struct inprocess *lead)
{
	const struct rp_set *s = stops_of(r)->sets[run->set];
	struct rp_mm *mm = t->mm;
	bool good, bare = false;

	TRY(inprocess_code(t, lead->b.addr, &good));
	if (!good)
		TRY(shared(t, lead->b.addr, &bare));
	/* in code that changes, for what is known by its bytes */
	if (good && (!stops_mm(mm)->solid_changes || lead->b.code) && is_jump(run, &lead->b) &&
	    decode_group(t, s, lead))
		TRY(build_from(r, t, run, lead));
	if (lead->built)
		return NULL;
	if (lead->next || lead->over) {	/* it was no group, then; the others come later */
		dissolve(mm, lead);
		return build_group(r, t, run, lead);
	}
	lead->trap_only = true;
	if (bare ||
	    !displace_decode(t->real, lead->b.addr, 1, stops_mm(mm)->solid_start,
			     stops_mm(mm)->solid_end, &lead->d) ||
	    displace_repeats(&lead->d))
		return NULL;
	lead->span = lead->d.site.len;
	return build(r, t, run, lead);
}

void inprocess_forget(struct rp_mm *mm)
{
	free(stops_mm(mm)->inprocess);
	stops_mm(mm)->inprocess = NULL;
	stops_mm(mm)->inprocess_n = stops_mm(mm)->inprocess_gen = 0;
	for (unsigned i = 0; i < AREAS; i++)
		stops_mm(mm)->areas[i].used = stops_mm(mm)->areas[i].slots = 0;
}

static bool is_inprocess(const struct replay_break *b)
{
	return b->kind == REPLAY_COUNT || (b->kind == REPLAY_BREAK && !b->call);
}

/* Which stubs: they differ by what is counted, and where. */
static unsigned generation(const struct stops_run *run)
{
	return ((run->set * 2 + run->counting) * 2 + (run->sites && run->sites->n)) * 2 +
	       (run->iteration_site != 0) + 1;
}

/* The counted sites may be others, of the same set. */
static bool same_counters(const struct stops_run *run, const struct rp_mm *mm)
{
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		if (stops_mm(mm)->inprocess[i].alone != alone(run, &stops_mm(mm)->inprocess[i].b))
			return false;
	}
	return true;
}

static void inprocess_of_set(const struct stops_run *run, struct rp_mm *mm, const struct rp_set *s)
{
	inprocess_forget(mm);
	stops_mm(mm)->inprocess = alloc_zeroed(s->n + 1, sizeof(*stops_mm(mm)->inprocess),
					       "breakpoints");
	for (unsigned i = 0; i < s->n; i++) {
		if (is_inprocess(&s->b[i]))
			stops_mm(mm)->inprocess[stops_mm(mm)->inprocess_n++].b = s->b[i];
	}
	arrange(run, mm);
}

/* Make those of the set, once; again where the code has changed. */
struct err *inprocess_build(struct replay *r, struct rp_task *t, const struct stops_run *run)
{
	const struct rp_set *s = stops_of(r)->sets[run->set];
	struct rp_mm *mm = t->mm;

	if (s->n == s->watches)
		return NULL;
	/* the code as it is, not int3s of ours, is what stubs are made of */
	if (stops_mm(mm)->int3_n)
		rp_tools_remove_code_from(mm, t->real);
	if (stops_mm(mm)->inprocess_gen != generation(run) || !same_counters(run, mm)) {
		rp_tools_remove_code_from(mm, t->real);
		inprocess_of_set(run, mm, s);
		stops_mm(mm)->inprocess_gen = generation(run);
	}
	rp_code_begin(t->real);
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		struct inprocess *p = &stops_mm(mm)->inprocess[i];
		uint8_t now[SITE_MAX] = { 0 };

		if (p->lead != p || p->in || p->b.pid != t->rec_pid ||
		    !rp_code_read(t->real, p->b.addr, now, sizeof(now)))
			continue;
		p->absent = !inprocess_is_there(t, &p->b);
		if (p->absent)
			continue;
		/* the instruction is in a stub already: breakpoints.c */
		if (patches_with(&mm->patches, p->b.addr)) {
			dissolve(mm, p);
			p->tried = false;
			continue;
		}
		dual_hide(mm, p->b.addr, now, sizeof(now));
		/* behind what a stub was made of search.c's jump may come and go */
		if (p->tried && !memcmp(now, p->seen, p->built ? p->span : sizeof(now)))
			continue;
		rp_code_end();
		if (dual_jumps(mm))
			rp_tools_remove_code_from(mm, t->real);
		p->tried = true;
		p->built = false;
		memcpy(p->seen, now, sizeof(now));
		TRY(build_group(r, t, run, p));
		rp_code_begin(t->real);
	}
	rp_code_end();
	return put_down(t);
}

static struct inprocess *inprocess_of(const struct rp_mm *mm, const struct replay_break *b)
{
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		if (!memcmp(&stops_mm(mm)->inprocess[i].b, b, sizeof(*b)))
			return &stops_mm(mm)->inprocess[i];
	}
	return NULL;
}

bool inprocess_overlaps(const struct rp_mm *mm, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		const struct inprocess *p = &stops_mm(mm)->inprocess[i];

		if (p->built && (!p->trap_only || p->lead != p) && p->site.addr < end &&
		    p->site.addr + p->site.len > start)
			return true;
	}
	return false;
}

bool inprocess_has(const struct rp_mm *mm, const struct replay_break *b)
{
	const struct inprocess *p = stops_mm(mm)->inprocess_n ? inprocess_of(mm, b) : NULL;

	return p && p->built;
}

bool inprocess_decides(const struct rp_mm *mm, const struct replay_break *b)
{
	const struct inprocess *p = stops_mm(mm)->inprocess_n ? inprocess_of(mm, b) : NULL;

	return p && p->in && !p->trap_only;
}

/* Writes the breakpoint's jump or int3, or the program's bytes. */
static bool inprocess_write(const struct inprocess *p, pid_t real, bool jumps)
{
	uint8_t jump[X86_JUMP] = { 0xcc }, now[X86_JUMP];

	if (p->lead != p)
		return p->lead->built;
	if (!p->trap_only && !x86_jump(p->site.addr, p->stub, jump))
		return false;
	if (p->b.code && !jumps && !p->trap_only) {
		/* what has been written over is not ours any more */
		if (rp_code_read(real, p->site.addr, now, X86_JUMP) != X86_JUMP)
			return true;
		for (unsigned i = 0; i < X86_JUMP; i++)
			now[i] = now[i] == jump[i] ? p->site.bytes[i] : now[i];
		return rp_code_write(real, p->site.addr, now, X86_JUMP);
	}
	if (p->trap_only && !rp_code_has(real, p->site.addr, jumps ? p->site.bytes[0] : 0xcc))
		return !jumps;
	return rp_code_write(real, p->site.addr, jumps ? jump : p->site.bytes,
			     p->trap_only ? 1 : X86_JUMP);
}

/* The jump for this breakpoint; false: it has to be an int3. */
bool inprocess_in(struct rp_mm *mm, pid_t real, const struct replay_break *b)
{
	struct inprocess *p = stops_mm(mm)->inprocess_n ? inprocess_of(mm, b) : NULL;

	if (!p || !p->built || p->absent || !inprocess_write(p, real, true))
		return false;
	p->in = true;
	stops_mm(mm)->inprocess_in++;
	return true;
}

void inprocess_out(struct rp_mm *mm, pid_t real)
{
	for (unsigned i = 0; stops_mm(mm)->inprocess_in && i < stops_mm(mm)->inprocess_n; i++) {
		struct inprocess *p = &stops_mm(mm)->inprocess[i];

		if (!p->in)
			continue;
		inprocess_write(p, real, false);
		p->in = false;
		stops_mm(mm)->inprocess_in--;
	}
}

void inprocess_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len)
{
	for (unsigned i = 0; stops_mm(mm)->inprocess_in && i < stops_mm(mm)->inprocess_n; i++) {
		const struct inprocess *p = &stops_mm(mm)->inprocess[i];

		for (unsigned k = 0; p->in && p->lead == p && k < (p->trap_only ? 1 : X86_JUMP);
		     k++) {
			if (p->site.addr + k - addr < len)
				bytes[p->site.addr + k - addr] = p->site.bytes[k];
		}
	}
}

void inprocess_remove(struct rp_mm *mm, pid_t real, bool back)
{
	for (unsigned i = 0; stops_mm(mm)->inprocess_in && i < stops_mm(mm)->inprocess_n; i++) {
		if (stops_mm(mm)->inprocess[i].in)
			inprocess_write(&stops_mm(mm)->inprocess[i], real, back);
	}
}

/* ---- counting -------------------------------------------------------------------------------- */

/* All that share a counter. */
struct err *inprocess_limit_all(struct rp_task *t, uint64_t limit)
{
	uint64_t words[2] = { 0, limit };

	return stops_mm(t->mm)->areas[0].at
		       ? tracee_write(t->real, stops_mm(t->mm)->areas[0].at + DATA, words,
				      sizeof(words))
		       : NULL;
}

uint64_t inprocess_counted_all(const struct rp_task *t, uint64_t limit)
{
	uint64_t left = limit;

	if (stops_mm(t->mm)->carried)
		return limit - stops_mm(t->mm)->carried->shared[1];
	if (!stops_mm(t->mm)->inprocess_n || !stops_mm(t->mm)->areas[0].at ||
	    tracee_read_some(t->real, stops_mm(t->mm)->areas[0].at + DATA + LEFT, &left, 8) != 8)
		return 0;
	return limit - left;
}

struct err *inprocess_limit(struct rp_task *t, const struct replay_break *b, uint64_t limit)
{
	struct inprocess *p = stops_mm(t->mm)->inprocess_n ? inprocess_of(t->mm, b) : NULL;
	const uint64_t zero = 0;

	if (p)
		p->rest = limit;
	if (!p || !p->built)
		return NULL;
	TRY(tracee_write(t->real, p->slot + SLOT_LEFT, &limit, 8));
	return tracee_write(t->real, p->slot + SLOT_LAST, &zero, 8);
}

/* How often since inprocess_limit(), and when last compared with others. */
uint64_t inprocess_counted(const struct rp_task *t, const struct replay_break *b, uint64_t limit,
			   uint64_t *last)
{
	const struct inprocess *p = stops_mm(t->mm)->inprocess_n ? inprocess_of(t->mm, b) : NULL;
	uint64_t left = limit;

	*last = 0;
	if (!p || !p->built || tracee_read_some(t->real, p->slot + SLOT_LEFT, &left, 8) != 8 ||
	    tracee_read_some(t->real, p->slot + SLOT_LAST, last, 8) != 8)
		return 0;
	return limit - left;
}
