/*
 * dual.c - watched pages that are written to all the time: stores beside the watched bytes go on
 * without a stop.
 *
 * A page protected by page_watch.c that was written to a few times is dual-mapped: the program's
 * own page moves out of the way, and at its place there is a copy in shared memory, read-only, that
 * is also mapped in an area of ours, where it can be written to.  An instruction that faulted is
 * then run by a stub (dual_stub.c), which tests the address and stores through the other mapping.
 * One that faults again and again is replaced by a jump to its stub, if it lies in code that nobody
 * changes and no breakpoint is near: some nanoseconds instead of a stop.  One that always stores to
 * the same place (a global variable) stays where it is, with another displacement, and costs
 * nothing.  A plain store that finds in watched bytes what it is going to put there goes on, too;
 * whatever has no such form, and all else that touches watched bytes, faults as before.
 *
 * All of it comes and goes with the protection of the pages: nobody else sees a jump, a dual-mapped
 * page, or a task in a stub. The areas stay mapped, as those of inprocess.c.  Stubs rest there
 * while the pages are the program's again, and in copies of the process too, until other pages or
 * other bytes of them are watched: to find a site for a jump takes a millisecond, and protection
 * comes and goes with each event.
 *
 * Rejected: copying the page back and forth (a store can be a microsecond away from the next);
 * emulation (flags, vectors).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "replayer/machine/cage.h"
#include "replayer/machine/task.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/dual.h"
#include "base/alloc.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/page_watch.h"
#include "replayer/stops/stops.h"

enum {
	TRIES = 12,
	TRIES_AGAIN = 3,
	PATCH_AFTER = 6,
	STEPS_OUT = 400,
	STUBS_MAX = 8192,
	STUBS_MORE = 128
};

static uint64_t faults_ever;

static struct err *call(struct rp_task *t, int64_t *ret, long nr, uint64_t a0, uint64_t a1,
			uint64_t a2, uint64_t a3, uint64_t a4)
{
	return cage_call_now(t->real, ret, nr, a0, a1, a2, a3, a4);
}

/* ---- areas ----------------------------------------------------------------------------------- */

/* The index of an area near addr; AREAS: there is none. */
static struct err *area_for(struct rp_task *t, uint64_t addr, unsigned *ret)
{
	struct rp_mm *mm = t->mm;
	struct tracee_maps maps;
	uint64_t found;
	int64_t got;

	for (*ret = 0; *ret < AREAS && stops_mm(mm)->dual_area[*ret]; ++*ret) {
		if (inprocess_reaches(stops_mm(mm)->dual_area[*ret], addr))
			return NULL;
	}
	if (*ret == AREAS)
		return NULL;
	TRY(tracee_maps_read(t->real, &maps));
	found = inprocess_room(&maps, addr, AREA);
	tracee_maps_deinit(&maps);
	got = -1;
	if (found)
		TRY(call(t, &got, SYS_mmap, found, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1));
	if (!found || got != (int64_t)found)
		*ret = AREAS;
	else
		stops_mm(mm)->dual_area[*ret] = found, stops_mm(mm)->unchecked.stale = true;
	return NULL;
}

/* The words that stubs look at. */
static struct err *tell_area(struct rp_task *t, unsigned which)
{
	const struct dual_view *v = &stops_mm(t->mm)->dual->view;
	uint64_t words[2][DUAL_OFFSET_AT / 8] = { 0 };

	memcpy(words[0], v->page, sizeof(v->page));
	memcpy(words[1], v->dual, sizeof(v->dual));
	return tracee_write(t->real, stops_mm(t->mm)->dual_area[which] + DATA, words,
			    sizeof(words));
}

static void begin_anew(struct dual *a)
{
	a->stubs_n = a->wanting = a->index_n = 0;
	memset(a->index, 0, sizeof(a->index));
	a->made = a->view;
	memset(a->used, 0, sizeof(a->used));
	memset(a->seen, 0, sizeof(a->seen));
}

struct err *dual_make_room(struct rp_task *t, uint64_t at, uint64_t len)
{
	struct rp_mm *mm = t->mm;
	int64_t ret;

	TRY(dual_unchecked_make_room(t, at, len));
	for (unsigned i = 0; i < AREAS; i++) {
		uint64_t area = stops_mm(mm)->dual_area[i];

		if (!area || at >= area + AREA || at + len <= area)
			continue;
		rp_tools_remove_code_from(mm, t->real);
		if (!i && stops_mm(mm)->dual)	/* taken before each event */
			stops_mm(mm)->dual->log_at = 0;
		if (stops_mm(mm)->dual && stops_mm(mm)->dual->view.bitmap)
			store_bitmap_all(stops_mm(mm)->dual->view.bitmap);
		TRY(call(t, &ret, SYS_munmap, area, AREA, 0, 0, 0));
		for (unsigned k = i--; k < AREAS; k++)
			stops_mm(mm)->dual_area[k] =
				k + 1 < AREAS ? stops_mm(mm)->dual_area[k + 1] : 0;
		if (stops_mm(mm)->dual)
			begin_anew(stops_mm(mm)->dual);
	}
	return NULL;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static struct err *double_page(struct rp_task *t, unsigned k, int prot, bool *good)
{
	struct dual_view *v = &stops_mm(t->mm)->dual->view;
	uint64_t dual = v->dual[k], saved = stops_mm(t->mm)->dual_area[0] + SAVED + k * PAGE_BYTES;
	uint8_t bytes[PAGE_BYTES];
	int64_t ret;

	*good = false;
	TRY(tracee_read(t->real, v->page[k], bytes, sizeof(bytes)));
	TRY(call(t, &ret, SYS_mmap, dual, PAGE_BYTES, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1));
	if (ret != (int64_t)dual)
		return NULL;
	TRY(tracee_write(t->real, dual, bytes, sizeof(bytes)));
	TRY(call(t, &ret, SYS_mremap, v->page[k], PAGE_BYTES, PAGE_BYTES,
		 MREMAP_MAYMOVE | MREMAP_FIXED, saved));
	if (ret != (int64_t)saved)
		return NULL;
	TRY(call(t, &ret, SYS_mremap, dual, 0, PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
		 v->page[k]));
	if (ret == (int64_t)v->page[k])
		TRY(call(t, &ret, SYS_mprotect, v->page[k], PAGE_BYTES, (uint64_t)prot, 0, 0));
	*good = ret == 0;
	if (!*good)
		TRY(call(t, &ret, SYS_mremap, saved, PAGE_BYTES, PAGE_BYTES,
			 MREMAP_MAYMOVE | MREMAP_FIXED, v->page[k]));
	return NULL;
}

/* The program's own page, with what has been written since. */
static struct err *single_page(struct rp_mm *mm, pid_t real, unsigned k)
{
	uint64_t page = stops_mm(mm)->dual->view.page[k],
		 saved = stops_mm(mm)->dual_area[0] + SAVED + k * PAGE_BYTES;
	uint8_t now[PAGE_BYTES], was[PAGE_BYTES];
	struct regs regs;
	int64_t ret;

	TRY(tracee_read(real, page, now, sizeof(now)));
	TRY(tracee_read(real, saved, was, sizeof(was)));
	if (memcmp(now, was, sizeof(now)))
		TRY(tracee_write(real, saved, now, sizeof(now)));
	TRY(tracee_regs_get(real, &regs));
	TRY(cage_call(real, &regs, &ret, SYS_mremap, saved, PAGE_BYTES, PAGE_BYTES,
		      MREMAP_MAYMOVE | MREMAP_FIXED, page, 0));
	BUG_ON(ret != (int64_t)page, "a doubled page cannot be put back (%d)", (int)ret);
	/* nobody else's, while the area is there */
	return cage_call(real, &regs, &ret, SYS_mmap, saved, PAGE_BYTES, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0);
}

static void jumps_out(struct dual *a, pid_t real)
{
	for (unsigned i = 0; i < a->jumps; i++) {
		struct stub *s = &a->stub[a->jump[i]];

		err_free(dual_patch(real, s, false));
		s->kind = STUB_RESTS;
	}
	a->jumps = a->pushed = 0;
}

void dual_out(struct rp_mm *mm, pid_t real)
{
	struct dual *a = stops_mm(mm)->dual;

	if (!a)
		return;
	if (a->in)
		log_debug("%u doubled pages: %u stubs, %u of them with jumps, %u faults",
			  a->view.pages_n, a->stubs_n, a->jumps, a->faults);
	jumps_out(a, real);
	for (unsigned k = 0; a->in && k < a->view.pages_n; k++)
		err_free(single_page(mm, real, k));
	a->tries = a->faults = 0;
	a->in = a->refused = a->from_stub = false;
}

/* ---- stubs ----------------------------------------------------------------------------------- */

static size_t program_bytes(struct rp_task *t, uint64_t addr, uint8_t bytes[SITE_MAX])
{
	size_t n = stops_read(t->real, addr, bytes, SITE_MAX);

	dual_hide(t->mm, addr, bytes, n);
	return n;
}

/*
 * The one for an instruction alone, if that is still what is there: a JIT compiler writes other
 * code without an event.
 */
static struct stub *stub_of(struct rp_task *t, uint64_t addr)
{
	uint8_t bytes[SITE_MAX];
	struct stub *s;
	unsigned which;

	while ((s = dual_find(stops_mm(t->mm)->dual, addr, STUB_ALONE, &which))) {
		if (program_bytes(t, addr, bytes) >= s->site.len &&
		    !memcmp(bytes, s->site.bytes, s->site.len))
			return s;
		s->kind = STUB_GONE;
	}
	return NULL;
}

struct err *dual_write_code(struct rp_task *t, unsigned area, struct dual_code *c, struct stub *s)
{
	s->from = c->code.at;
	s->to = x86_here(&c->code);
	stops_mm(t->mm)->dual->used[area] += (c->code.len + 15u) & ~15u;
	return tracee_write(t->real, c->code.at, c->bytes, c->code.len);
}

struct err *dual_begin_code(struct rp_task *t, uint64_t addr, struct dual_code *c, unsigned *area)
{
	struct dual *a = stops_mm(t->mm)->dual;
	bool had;

	c->code = (struct x86_code){ .bytes = c->bytes, .room = sizeof(c->bytes) };
	c->first = 0;
	c->unchecked = DUAL_PAGES;
	had = stops_mm(t->mm)->dual_area[AREAS - 1] != 0;
	for (unsigned i = 0; i < AREAS && !had; i++)
		had = stops_mm(t->mm)->dual_area[i] &&
		      inprocess_reaches(stops_mm(t->mm)->dual_area[i], addr);
	TRY(area_for(t, addr, area));
	if (*area == AREAS || a->used[*area] + DUAL_CODE > DATA)
		return NULL;
	if (!had)
		TRY(tell_area(t, *area));
	c->code.at = stops_mm(t->mm)->dual_area[*area] + a->used[*area];
	c->data = stops_mm(t->mm)->dual_area[*area] + DATA;
	return NULL;
}

static struct err *stub_make(struct rp_task *t, uint64_t addr, struct stub **ret)
{
	static struct dual_code c;
	struct dual *a = stops_mm(t->mm)->dual;
	struct stub *s = &a->stub[a->stubs_n];
	unsigned area;
	bool good;

	*ret = NULL;
	*s = (struct stub){ .n = 1 };
	program_bytes(t, addr, s->site.bytes);
	TRY(dual_begin_code(t, addr, &c, &area));
	if (!c.code.at)
		return NULL;
	c.first = a->hit;
	good = dual_put(&c, &a->view, t->real, addr, &s->insn[0]) && s->insn[0].stores;
	if (good)
		x86_put_jump(&c.code, X86_ALWAYS, addr + s->insn[0].len);
	if (!good || c.code.far) {	/* remembered: none */
		s->insn[0] = (struct dual_insn){ .addr = addr, .len = s->insn[0].len };
		c.code.len = 0;
	}
	s->site.len = s->insn[0].len ? s->insn[0].len : 1;
	TRY(dual_write_code(t, area, &c, s));
	a->stubs_n++;
	dual_index(a, s);
	*ret = s;
	return NULL;
}

/* ---- coming in ------------------------------------------------------------------------------- */

static bool nearly_full(const struct dual *a)
{
	for (unsigned i = 0; i < AREAS; i++) {
		if (a->used[i] > DATA * 3 / 4)
			return true;
	}
	return a->stubs_n > STUBS_MAX * 3 / 4 || a->index_n > DUAL_INDEX * 3 / 4;
}

/* In a debug register, which does not see what is stored to the page by its other address? */
static bool unseen(const struct rp_mm *mm, const struct replay_break *b)
{
	uint64_t page;
	int prot;

	for (unsigned i = 0; page_watch_page(mm, i, &page, &prot); i++) {
		if (page < b->addr + b->len && page + PAGE_BYTES > b->addr)
			return true;
	}
	return false;
}

struct err *dual_bitmap(struct rp_task *t, struct store_bitmap *m)
{
	const struct dual *a = stops_mm(t->mm)->dual;
	uint8_t bytes[PAGE_BYTES];

	for (unsigned k = 0; a && k < a->view.pages_n && a->view.bitmap; k++) {
		TRY(tracee_read(t->real, a->view.dual[k] + a->view.bitmap_at, bytes,
				sizeof(bytes)));
		for (unsigned i = 0; i < PAGE_BYTES; i++) {
			if (bytes[i])
				store_bitmap_note(m, a->view.page[k] + i, 1);
		}
	}
	return NULL;
}

/* Stubs log what is stored to watched bytes, where all of those are on the pages. */
static struct err *log_stores(struct rp_task *t, const struct store_log *l)
{
	struct dual *a = stops_mm(t->mm)->dual;
	uint64_t at = stops_mm(t->mm)->dual_area[0] + STORE_LOG,
		 head[2] = { at + STORE_LOG_BEGIN, store_log_room(l) };

	if (!l->on || a->view.loads || a->view.bitmap)
		return NULL;
	for (unsigned i = 0; i < l->words; i++) {
		if (dual_page_of(&a->view, l->first + 8ull * i, 8, &a->view.log_word[i]) ==
		    a->view.pages_n)
			return NULL;
	}
	a->view.log = l;
	a->view.log_at = at;
	if (a->log_at == at)
		return NULL;
	a->log_at = at;
	return tracee_write(t->real, at, head, sizeof(head));
}

static struct err *double_pages(struct replay *r, struct rp_task *t, const struct rp_set *s)
{
	struct rp_mm *mm = t->mm;
	struct dual *a = stops_mm(mm)->dual;
	unsigned area, n = 0;
	int prot[DUAL_PAGES];
	bool good;

	a->refused = true;
	a->view = (struct dual_view){ 0 };
	a->view.bitmap = stops_of(r)->bitmap;
	a->view.bitmap_at = BITMAPS - DUALS;
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		bool in_register = rp_set_register(s, i);

		if (b->kind < REPLAY_WRITE || b->pid != t->rec_pid ||
		    (in_register && !unseen(mm, b)))
			continue;
		if (a->view.ranges_n == DUAL_RANGES)
			return NULL;
		a->view.range[a->view.ranges_n].always = b->kind != REPLAY_WRITE;
		a->view.range[a->view.ranges_n].start = b->addr;
		a->view.range[a->view.ranges_n++].end = b->addr + b->len;
	}
	TRY(area_for(t, t->regs.rip, &area));
	if (!stops_mm(mm)->dual_area[0])
		return NULL;
	/* more than that fault */
	for (; n < DUAL_PAGES && page_watch_page(mm, n, &a->view.page[n], &prot[n]); n++)
		a->view.loads |= prot[n] == PROT_NONE;
	a->view.unchecked = a->view.bitmap && !a->view.loads &&
			    dual_unchecked_place(t, a->view.page, n);
	if (a->view.unchecked)
		a->view.bitmap_at = stops_mm(mm)->unchecked.bitmap_at;
	for (unsigned k = 0; k < n; k++)
		a->view.dual[k] =
			a->view.unchecked
				? a->view.page[k] + (uint64_t)stops_mm(mm)->unchecked.shift
				: stops_mm(mm)->dual_area[0] + DUALS + k * PAGE_BYTES;
	for (unsigned k = 0; k < n; k++) {
		TRY(double_page(t, k, prot[k], &good));
		n = good ? n : k;
	}
	a->view.pages_n = n;
	if (stops_of(r)->log && stops_of(r)->log->def.pid == t->rec_pid && n)
		TRY(log_stores(t, stops_of(r)->log));
	a->in = n != 0;
	a->refused = !a->in;
	if (memcmp(&a->view, &a->made, sizeof(a->view)) || nearly_full(a))
		begin_anew(a);
	for (unsigned i = 0; a->in && i < AREAS && stops_mm(mm)->dual_area[i]; i++)
		TRY(tell_area(t, i));
	return NULL;
}

static struct err *come_in(struct replay *r, struct rp_task *t, const struct rp_set *s)
{
	const struct dual_view *now = &stops_mm(t->mm)->dual->view, was = *now;
	struct err *err = double_pages(r, t, s);

	/* the bitmap lies by the order of pages, and is read at the end */
	if (was.bitmap && was.pages_n &&
	    (was.pages_n != now->pages_n || was.bitmap_at != now->bitmap_at ||
	     memcmp(was.page, now->page, sizeof(was.page)) ||
	     memcmp(was.dual, now->dual, sizeof(was.dual))))
		store_bitmap_all(was.bitmap);
	return err;
}

/* A mapping changes: nothing is known of its code any more. */
void dual_forget(struct rp_task *t, uint64_t at, uint64_t len)
{
	struct dual *a = stops_mm(t->mm)->dual;

	for (unsigned i = 0; a && i < a->stubs_n; i++) {
		struct stub *s = &a->stub[i];

		if ((s->kind != STUB_RESTS && s->kind != STUB_JUMP) || at >= s->solid_end ||
		    at + len <= s->solid_start)
			continue;
		if (s->kind == STUB_JUMP)
			rp_tools_remove_code_from(t->mm, t->real);
		s->kind = STUB_GONE;
	}
}

static void room_for_more(struct dual *a, unsigned more)
{
	if (a->stubs_n + more <= a->stubs_max)
		return;
	a->stubs_max = (a->stubs_n + more) * 3 / 2;
	a->stub = alloc_more(a->stub, a->stubs_max, sizeof(*a->stub), "watchpoints");
}

static struct dual *dual_create(unsigned stubs)
{
	struct dual *a = alloc_zeroed(1, sizeof(*a), "watchpoints");

	room_for_more(a, stubs + STUBS_MORE);
	return a;
}

/* For a copy of the process, whose areas have the same stubs in them. */
void dual_copy(struct rp_mm *copy, const struct rp_mm *mm)
{
	const struct dual *a = stops_mm(mm)->dual;

	if (!a || a->in || !a->stubs_n)
		return;
	stops_mm(copy)->dual = dual_create(a->stubs_n);
	stops_mm(copy)->dual->made = a->made;
	stops_mm(copy)->dual->stubs_n = a->stubs_n;
	stops_mm(copy)->dual->wanting = a->wanting;
	memcpy(stops_mm(copy)->dual->stub, a->stub, a->stubs_n * sizeof(a->stub[0]));
	memcpy(stops_mm(copy)->dual->used, a->used, sizeof(a->used));
	memcpy(stops_mm(copy)->dual->index, a->index, sizeof(a->index));
	stops_mm(copy)->dual->index_n = a->index_n;
}

/* ---- tasks in stubs -------------------------------------------------------------------------- */

static struct stub *inside(struct dual *a, uint64_t rip)
{
	for (unsigned i = 0; i < a->stubs_n; i++) {
		if (rip >= a->stub[i].from && rip < a->stub[i].to)
			return &a->stub[i];
	}
	return NULL;
}

/* Where the program is when the task is at rip in its stub; 0: nowhere. */
static uint64_t place_of(const struct stub *s, uint64_t rip)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct dual_insn *in = &s->insn[i];

		if (rip == in->stub || rip == in->orig || (in->early && rip == in->early))
			return in->addr;
		if (rip == in->next)
			return in->addr + in->len;
		if (in->target && rip == in->target)
			return in->to;
	}
	for (unsigned i = 0; s->run.n && i <= s->run.n; i++) {
		const struct run_places *p = &s->run;
		uint64_t at = rip - s->from;

		if (at == p->at[i] || (i < p->n && ((p->orig[i] && at == p->orig[i]) ||
						    (p->back[i] && at == p->back[i]))))
			return s->site.addr + p->where[i];
	}
	return s->run.n && rip == s->from ? s->site.addr : 0;
}

void dual_leave(struct rp_task *t)
{
	struct dual *a = stops_mm(t->mm)->dual;
	uint64_t place;
	struct stub *s;

	if (!a || !a->stubs_n)
		return;
	a->from_stub = false;
	a->left = 0;
	if (!dual_area(t->mm, t->regs.rip))
		return;
	a->left = t->regs.rip;
	s = inside(a, t->regs.rip);
	place = s ? place_of(s, t->regs.rip) : 0;
	a->from_stub = true;
	if (!place)
		return;
	t->regs.rip = place;
	t->dirty = true;
}

/* An instruction that a jump has replaced: in its stub. */
static void into_site(struct dual *a, struct rp_task *t, uint64_t addr)
{
	unsigned which;
	struct stub *s = a->jumps ? dual_find(a, addr, STUB_JUMP, &which) : NULL;

	if (!s || s->in_place)
		return;
	t->regs.rip = s->insn[which].stub;
	t->dirty = true;
}

/* Something of ours may be where nothing should be. */
static void look_again(struct rp_task *t, struct dual *a)
{
	if (dual_unchecked_holds(t))
		return;
	dual_leave(t);
	jumps_out(a, t->real);
	a->view.unchecked = false;
	begin_anew(a);
}

void dual_enter(struct rp_task *t)
{
	if (stops_mm(t->mm)->dual && stops_mm(t->mm)->dual->in &&
	    stops_mm(t->mm)->dual->view.unchecked && stops_mm(t->mm)->unchecked.stale)
		look_again(t, stops_mm(t->mm)->dual);
	if (stops_mm(t->mm)->dual)
		into_site(stops_mm(t->mm)->dual, t, t->regs.rip);
}

bool dual_inside(const struct rp_task *t)
{
	return stops_mm(t->mm)->dual && stops_mm(t->mm)->dual->stubs_n &&
	       dual_area(t->mm, t->regs.rip);
}

struct err *dual_step_out(struct replay *r, struct rp_task *t)
{
	for (unsigned i = 0; i < STEPS_OUT && dual_inside(t); i++) {
		int status;

		TRY(rp_raw_step(t, &status));
		rp_debug_stepped(r, t);
		dual_leave(t);
		if (stops_mm(t->mm)->inprocess_n)
			/* it may be one that inprocess.c has moved, and counted */
			inprocess_interrupted(t);
	}
	return NULL;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static bool may_run_elsewhere(struct replay *r, struct rp_task *t)
{
	uint64_t rip = t->regs.rip;

	return !stops_of(r)->run.step && !stops_of(r)->leaving && !stops_of(r)->run.no_stubs &&
	       !stops_of(r)->diverted && !rp_others_watch(r) &&
	       (rip < FIXED_PAGE || rip >= FIXED_END) && !dual_area(t->mm, rip) &&
	       !patches_stub(&t->mm->patches, rip) && !patches_at(&t->mm->patches, rip);
}

/*
 * A run that rests, and that the instruction is in: for the next time, when the program comes to
 * its beginning.
 */
static void wake_run(struct replay *r, struct rp_task *t, struct dual *a, uint64_t rip)
{
	for (unsigned i = 0; i < a->stubs_n; i++) {
		struct stub *s = &a->stub[i];

		if (s->kind == STUB_RESTS && s->run.n &&
		    rip - s->site.addr < s->run.where[s->run.n])
			dual_wake(r, t, s);
	}
}

static void note_registers(struct stub *s, const struct regs *g)
{
	const uint64_t reg[16] = { g->rax, g->rcx, g->rdx, g->rbx, g->rsp, g->rbp, g->rsi, g->rdi,
				   g->r8, g->r9, g->r10, g->r11, g->r12, g->r13, g->r14, g->r15 };

	memcpy(s->reg, reg, sizeof(reg));
}

static struct err *fault(struct replay *r, struct rp_task *t, uint64_t page, bool *ret)
{
	struct rp_mm *mm = t->mm;
	struct dual *a = stops_mm(mm)->dual;
	uint64_t place = t->regs.rip;
	struct stub *s;
	unsigned which;

	if (!a)
		a = stops_mm(mm)->dual = dual_create(0);
	inprocess_enter(t, true, true);		/* moved by inprocess.c: from where it is now */
	if (a->from_stub || !may_run_elsewhere(r, t) || a->refused)
		return NULL;
	if (!a->in && !a->stubs_n && !(stops_of(r)->log && stops_of(r)->log->on) &&
	    a->tries++ < (dual_any_dense() ? TRIES_AGAIN : TRIES))
		return NULL;
	TRY(rp_regs_flush(t));
	if (!a->in)
		TRY(come_in(r, t, stops_of(r)->sets[stops_of(r)->run.set]));
	if (!a->in)
		return NULL;
	if (nearly_full(a)) {		/* of what the program does not do any more, most likely */
		jumps_out(a, t->real);
		begin_anew(a);
	}
	room_for_more(a, STUBS_MORE);
	for (a->hit = 0; a->hit + 1 < a->view.pages_n && a->view.page[a->hit] != page; a->hit++)
		;
	s = dual_find(a, t->regs.rip, STUB_RESTS, &which);
	if (s)
		dual_wake(r, t, s);
	else
		wake_run(r, t, a, t->regs.rip);
	if (s && s->kind == STUB_JUMP) {	/* the program's bytes are not there any more */
		into_site(a, t, t->regs.rip);
		a->faults++;
		faults_ever++;
		*ret = true;
		return NULL;
	}
	s = stub_of(t, t->regs.rip);
	if (!s && a->stubs_n < STUBS_MAX)
		TRY(stub_make(t, t->regs.rip, &s));
	if (!s || !s->insn[0].stub)
		return NULL;
	note_registers(s, &t->regs);
	s->page = (uint8_t)a->hit;
	if (!s->tried && (++s->faults >= PATCH_AFTER || dual_was_dense(place)))
		TRY(dual_want(r, t, s, place));
	t->regs.rip = s->insn[0].stub;
	t->dirty = true;
	into_site(a, t, s->insn[0].addr);
	*ret = true;
	a->faults++;
	faults_ever++;
	return NULL;
}

/*
 * Where the instruction (*addr: of the program) is as it was, that has faulted at rip; 0: it was no
 * unchecked one.
 */
static uint64_t as_it_was(const struct stub *s, uint64_t rip, uint64_t *addr)
{
	for (unsigned i = 0; i < s->n; i++) {
		*addr = s->insn[i].addr;
		if (s->insn[i].unchecked && rip >= s->insn[i].stub && rip <= s->insn[i].early)
			return s->insn[i].orig;
	}
	for (unsigned i = 0; i < s->run.n; i++) {
		*addr = s->site.addr + s->run.where[i];
		if (s->run.back[i] && rip >= s->from + s->run.at[i] &&
		    rip <= s->from + s->run.orig[i])
			return s->from + s->run.back[i];
	}
	return 0;
}

/* A unchecked access to something else: as it was. */
static bool missed(struct rp_task *t)
{
	struct dual *a = stops_mm(t->mm)->dual;
	const struct stub *s = a && a->from_stub && a->left ? inside(a, a->left) : NULL;
	uint64_t addr, to = s ? as_it_was(s, a->left, &addr) : 0;

	if (!to)
		return false;
	t->regs.rip = to;
	t->dirty = true;
	if (dual_note_miss(addr) && s->kind == STUB_JUMP)
		dual_jump_out(t, s);
	return true;
}

uint64_t dual_faults(void)
{
	return faults_ever;
}

bool dual_fault(struct replay *r, struct rp_task *t, const siginfo_t *info)
{
	uint64_t addr = (uint64_t)(uintptr_t)info->si_addr, page;
	bool done = false;
	int prot;

	if (!stops_mm(t->mm)->page_watch_n || info->si_signo != SIGSEGV || stops_of(r)->run.step)
		return false;
	if (missed(t))
		return true;
	if (info->si_code == SI_KERNEL)
		return false;
	for (unsigned i = 0; page_watch_page(t->mm, i, &page, &prot); i++) {
		if (page != page_down(addr))
			continue;
		if (addr - t->regs.rip < X86_JUMP && !(prot & PROT_EXEC) &&
		    (inprocess_begins(t) || rp_int3_at(t->mm, t->regs.rip)))
			return false;	/* page_watch.c: at a breakpoint that is there */
		err_free(fault(r, t, page, &done));
		if (!done && stops_mm(t->mm)->inprocess_n)
			inprocess_leave(t);
		return done;
	}
	return false;
}

void dual_free(struct rp_mm *mm)
{
	if (stops_mm(mm)->dual)
		free(stops_mm(mm)->dual->stub);
	free(stops_mm(mm)->dual);
	stops_mm(mm)->dual = NULL;
}
