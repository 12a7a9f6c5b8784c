/*
 * dual_jump.c - jumps to the stubs of dual.c: stores that happen all the time go on without even a
 * fault.
 */
#include <limits.h>
#include <string.h>

#include "base/hash.h"
#include "replayer/stops/dual.h"
#include "replayer/code/displace.h"
#include "replayer/code/branches.h"
#include "replayer/stops/inprocess_breakpoint.h"

enum { NEAR = 64, BACK = DUAL_SITE_BACK, PUSHES = 50, TOGETHER = 8, PATIENCE = 24 };

/* ---- which stub ------------------------------------------------------------------------------ */

static unsigned first_of(uint64_t addr)
{
	return (unsigned)(hash_word(addr) >> 50) % DUAL_INDEX;
}

void dual_index(struct dual *a, const struct stub *s)
{
	for (unsigned k = 0; k < s->n && a->index_n < DUAL_INDEX - 1; k++) {
		unsigned at = first_of(s->insn[k].addr);

		while (a->index[at].stub)
			at = (at + 1) % DUAL_INDEX;
		a->index[at].stub = (uint16_t)(s - a->stub + 1);
		a->index[at].insn = (uint16_t)k;
		a->index_n++;
	}
}

struct stub *dual_find(struct dual *a, uint64_t addr, enum stub_kind kind, unsigned *insn)
{
	for (unsigned at = first_of(addr); a->index[at].stub; at = (at + 1) % DUAL_INDEX) {
		struct stub *s = &a->stub[a->index[at].stub - 1];

		if (s->kind != kind || s->insn[a->index[at].insn].addr != addr)
			continue;
		*insn = a->index[at].insn;
		return s;
	}
	return NULL;
}

/* ---- jumps ----------------------------------------------------------------------------------- */

static bool near_point(const struct replay *r, uint64_t start, uint64_t end)
{
	const struct trace_event *ev = &r->ev;

	return ev->place == TRACE_AT_STATE && start < ev->regs.rip + NEAR &&
	       end + NEAR > ev->regs.rip;
}

bool dual_in_the_way(struct replay *r, struct rp_task *t, uint64_t start, uint64_t end)
{
	const struct rp_set *s = stops_of(r)->sets[stops_of(r)->run.set];

	for (unsigned i = 0; i < s->n; i++) {
		if (s->b[i].kind < REPLAY_WRITE && s->b[i].pid == t->rec_pid &&
		    s->b[i].addr >= start && s->b[i].addr < end)
			return true;
	}
	return inprocess_overlaps(t->mm, start, end) || near_point(r, start, end);
}

static bool overlaps(const struct stub *s, uint64_t start, uint64_t end)
{
	return s->site.addr < end && s->site.addr + s->site.len > start;
}

/* Behind a run the program goes on: not in the middle of a jump. */
static bool run_ends_in(const struct dual *a, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < a->jumps; i++) {
		const struct stub *s = &a->stub[a->jump[i]];
		uint64_t behind = s->site.addr + s->run.where[s->run.n];

		if (s->run.n && behind > start && behind < end)
			return true;
	}
	return false;
}

static bool is_inside_site(const struct dual *a, uint64_t addr)
{
	for (unsigned i = 0; i < a->jumps; i++) {
		const struct stub *s = &a->stub[a->jump[i]];

		if (!s->in_place && addr > s->site.addr && addr < s->site.addr + s->site.len)
			return true;
	}
	return false;
}

/* loads: they count, too; else not, as they give way to any jump. */
static bool others_there(const struct dual *a, uint64_t start, uint64_t end, bool loads)
{
	for (unsigned i = 0; i < a->jumps; i++) {
		const struct stub *s = &a->stub[a->jump[i]];

		if ((loads || !s->load) && overlaps(s, start, end))
			return true;
	}
	return run_ends_in(a, start, end);
}

/* Would one there do for all that are there? */
static bool covers(const struct dual *a, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < a->jumps; i++) {
		const struct site *s = &a->stub[a->jump[i]].site;

		if (overlaps(&a->stub[a->jump[i]], start, end) &&
		    (s->addr < start || s->addr + s->len > end))
			return false;
	}
	return true;
}

/* Jumps there give way; what of theirs is not in the new one gets another. */
static void push_aside(struct rp_task *t, uint64_t start, uint64_t end)
{
	struct dual *a = stops_mm(t->mm)->dual;

	for (unsigned i = a->jumps; i--;) {
		struct stub *s = &a->stub[a->jump[i]];

		if (!overlaps(s, start, end))
			continue;
		err_free(dual_patch(t->real, s, false));
		s->kind = STUB_GONE;
		a->jump[i] = a->jump[--a->jumps];
		for (unsigned k = 0; k < a->stubs_n; k++) {
			if (a->stub[k].kind == STUB_ALONE &&
			    a->stub[k].insn[0].addr >= s->site.addr &&
			    a->stub[k].insn[0].addr < s->site.addr + s->site.len)
				a->stub[k].tried = false;
		}
	}
}

void dual_jump_out(struct rp_task *t, const struct stub *s)
{
	push_aside(t, s->site.addr, s->site.addr + s->site.len);
}

/*
 * Does it begin with what fills up the space to the next function, or to where an exception lands?
 * One comes to what follows in other ways.
 */
static bool from_padding(const struct displaced *d)
{
	const uint8_t *p = d->site.bytes;

	while (*p == 0x66 || *p == 0x2e || *p == 0xf3)
		p++;
	return *p == 0x90 || (p[0] == 0x0f && p[1] == 0x1f);
}

/*
 * Does a call come along with the instruction?  From a stub it is a push and a jump: the processor
 * foresees the wrong way for its return, and for those around it.
 */
static bool takes_call(const struct displaced *d)
{
	return d->site.n > 1 && (d->last == X86_CALL || d->last == X86_CALL_TO);
}

/*
 * A place for a jump (*none: never one) that has the instruction in it: it is the first; or the
 * last, if what follows is branched to.
 */
static bool look_for_site(struct replay *r, struct rp_task *t, const struct dual_insn *in,
			  struct displaced *d, bool *none)
{
	struct dual *a = stops_mm(t->mm)->dual;
	uint64_t start = stops_mm(t->mm)->solid_start, end = stops_mm(t->mm)->solid_end;
	struct displaced first;
	bool forward, alone;
	unsigned len;

	forward = displace_decode_any(t->real, in->addr, X86_JUMP, start, end, d);
	forward = forward && !displace_repeats(d);
	*none = !forward;
	forward = forward && !dual_in_the_way(r, t, in->addr, in->addr + d->site.len);
	alone = forward && !others_there(a, in->addr, in->addr + d->site.len, false);
	if (alone && !takes_call(d))
		return true;
	first = *d;
	for (unsigned back = 1; back <= BACK; back++) {
		uint64_t at = in->addr - back;

		len = back + in->len;
		if (len < X86_JUMP || !site_insn_starts(t->real, at, in->addr) ||
		    !displace_decode_any(t->real, at, len, start, end, d))
			continue;
		if (d->site.len != len || from_padding(d) || displace_repeats(d))
			continue;
		*none = false;
		if (dual_in_the_way(r, t, at, at + len) || !covers(a, at, at + len) ||
		    run_ends_in(a, at, at + len))
			continue;
		return true;
	}
	*d = first;
	if (alone)
		return true;
	return forward && !run_ends_in(a, d->site.addr, d->site.addr + d->site.len) &&
	       a->pushed++ <= PUSHES;
}

/* Sites that displace.c reads; all: nothing more is to be known of the rest. */
struct cleared { uint64_t at[TOGETHER]; unsigned n; bool all; };

static bool is_cleared(const struct cleared *b, uint64_t addr)
{
	enum { AROUND_IT = 4 * PAGE_BYTES };

	for (unsigned i = 0; i < b->n && !b->all; i++) {
		if (addr + AROUND_IT - b->at[i] < 2ull * AROUND_IT)
			return true;
	}
	return b->all;
}

/*
 * The program's code, while a site is chosen, or (back) with what we have put there: a branch that
 * is now in a stub would not be seen, and its target might be inside the new site; the rest of a
 * replaced instruction would be taken for others.
 */
static void clear_sites(struct rp_task *t, const struct cleared *b, bool back)
{
	const struct dual *a = stops_mm(t->mm)->dual;
	const uint8_t trap = 0xcc;

	for (unsigned i = 0; i < stops_mm(t->mm)->int3_n; i++)
		err_free(tracee_write(t->real, stops_mm(t->mm)->int3[i].at,
				      back ? &trap : &stops_mm(t->mm)->int3[i].byte, 1));
	inprocess_remove(t->mm, t->real, back);
	for (unsigned i = 0; i < a->jumps; i++) {
		const struct stub *s = &a->stub[a->jump[i]];

		if (is_cleared(b, s->site.addr))
			err_free(dual_patch(t->real, s, back));
	}
}

static bool find_site(struct replay *r, struct rp_task *t, const struct dual_insn *in,
		      struct displaced *d)
{
	bool none = false, found;

	/* moved by inprocess.c, to where nobody jumps to */
	if (!rp_others_watch(r) && inprocess_moved(t->mm, in->addr))
		return displace_decode_ours(t->real, in->addr, X86_JUMP, d) &&
		       !others_there(stops_mm(t->mm)->dual, in->addr, in->addr + d->site.len,
				     false);
	if (rp_others_watch(r) || !inprocess_solid(t, in->addr - BACK) ||
	    !inprocess_solid(t, in->addr))
		return false;
	if (dual_site_known(t, in->addr, d, &none)) {
		if (none)
			return false;
		if (!dual_in_the_way(r, t, d->site.addr, d->site.addr + d->site.len) &&
		    !others_there(stops_mm(t->mm)->dual, d->site.addr, d->site.addr + d->site.len,
				  false))
			return true;
	}
	found = look_for_site(r, t, in, d, &none);
	if (found || none)
		dual_site_keep(t, in->addr, found ? d : NULL);
	return found;
}

static uint64_t run_end(const struct dual_run *run)
{
	return run->insn[run->n - 1].addr + run->insn[run->n - 1].len;
}

/* A run that the instruction is in, and a site at its beginning: the best that there is. */
static bool find_run(struct replay *r, struct rp_task *t, const struct stub *of,
		     struct dual_run *run, struct displaced *d)
{
	enum { TRIES = 4 };
	static struct run_code code;
	const struct dual_view *v = &stops_mm(t->mm)->dual->view;
	unsigned below = UINT_MAX;

	if (!v->bitmap || v->loads || rp_others_watch(r) ||
	    !dual_window(r, t, of->insn[0].addr, &code))
		return false;
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t start, end;

		run->score = 0;
		for (unsigned k = code.first; k <= code.at; k++) {
			struct dual_run one;

			dual_run_weigh(&code, k, v, of->reg, dual_sees, &one);
			if (one.score >= run->score && one.score < below)
				*run = one;
		}
		if (!run->score)
			return false;
		below = run->score;
		start = run->insn[0].addr;
		end = start + X86_JUMP;
		if (displace_decode_any(t->real, start, X86_JUMP, stops_mm(t->mm)->solid_start,
					stops_mm(t->mm)->solid_end, d) &&
		    start + d->site.len <= run_end(run) && !dual_in_the_way(r, t, start, end) &&
		    !others_there(stops_mm(t->mm)->dual, start, start + d->site.len, false) &&
		    !is_inside_site(stops_mm(t->mm)->dual, run_end(run)))
			return true;
	}
	return false;
}

/* The only page that it stores to, most likely; DUAL_PAGES: none. */
static unsigned untested_page(struct dual *a, uint64_t addr)
{
	unsigned which;
	const struct stub *alone = a->view.unchecked && !dual_sees(addr)
					   ? dual_find(a, addr, STUB_ALONE, &which)
					   : NULL;

	return alone && alone->faults ? alone->page : DUAL_PAGES;
}

/* The site's instructions, each by itself. */
static bool put_each(struct rp_task *t, struct dual_code *c, const struct displaced *d,
		     struct stub *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		c->unchecked = untested_page(stops_mm(t->mm)->dual,
					     d->site.addr + d->site.insn[i].at);
		if (!dual_put(c, &stops_mm(t->mm)->dual->view, t->real,
			      d->site.addr + d->site.insn[i].at, &s->insn[i]) ||
		    s->insn[i].len != d->site.insn[i].len)
			return false;
	}
	x86_put_jump(&c->code, X86_ALWAYS, d->site.addr + d->site.len);
	return !c->code.far;
}

static struct err *write_stub(struct replay *r, struct rp_task *t, struct stub *of, struct stub *s,
			      bool *good)
{
	static struct dual_code c;
	const struct dual_view *v = &stops_mm(t->mm)->dual->view;
	struct dual_run run;
	struct displaced d;
	unsigned area;
	bool runs = find_run(r, t, of, &run, &d);

	*good = false;
	if (!runs && !find_site(r, t, &of->insn[0], &d))
		return NULL;
	push_aside(t, d.site.addr, d.site.addr + d.site.len);	/* none, most often */
	*s = (struct stub){ .site = d.site,
			    .n = d.site.n,
			    .solid_start = stops_mm(t->mm)->solid_start,
			    .solid_end = stops_mm(t->mm)->solid_end,
			    .patch_len = X86_JUMP };
	TRY(dual_begin_code(t, d.site.addr, &c, &area));
	if (!c.code.at)
		return NULL;
	c.first = of->page;
	if (runs && !dual_run_put(&c, v, t->real, &run, &s->run))
		c.code.len = s->run.n = 0;
	c.code.far &= c.code.len != 0;
	*good = put_each(t, &c, &d, s) && x86_jump(d.site.addr, c.code.at, s->bytes);
	return *good ? dual_write_code(t, area, &c, s) : NULL;
}

/* Does a run have it, which would be there when it comes to the run's beginning? */
static bool in_run(const struct dual *a, uint64_t addr)
{
	for (unsigned i = 0; i < a->jumps; i++) {
		const struct stub *s = &a->stub[a->jump[i]];

		if (addr >= s->site.addr && addr < s->site.addr + s->run.where[s->run.n])
			return true;
	}
	return false;
}

/* *ret, if it is: the new one. */
static struct err *jump_in(struct replay *r, struct rp_task *t, struct stub *of, struct stub **ret)
{
	struct dual *a = stops_mm(t->mm)->dual;
	struct stub *s = &a->stub[a->stubs_n];
	uint8_t now[SITE_MAX];
	bool good = false;

	if (!of->spared && in_run(a, of->insn[0].addr)) {
		of->spared = true;
		of->faults = 0;
		return NULL;
	}
	of->tried = true;
	if (stops_read(t->real, of->insn[0].addr, now, of->site.len) != of->site.len ||
	    memcmp(now, of->site.bytes, of->site.len))
		/* it has waited; inprocess.c's copies are others since, or the program's code is */
		return NULL;
	if (a->stubs_n == a->stubs_max || a->jumps == DUAL_JUMPS)
		return NULL;
	TRY(write_stub(r, t, of, s, &good));
	if (!good)
		return NULL;
	s->kind = STUB_JUMP;
	a->jump[a->jumps++] = (uint16_t)a->stubs_n++;
	dual_index(a, s);
	*ret = s;
	/* in its run; where that is of no use, it faults again */
	if (of->insn[0].addr >= s->site.addr + s->site.len) {
		of->tried = false;
		of->spared = true;
		of->faults = 0;
	}
	return NULL;
}

static void clear_near(struct rp_task *t, struct cleared *b, unsigned of[TOGETHER],
		      const struct stub *s)
{
	of[b->n] = (unsigned)(s - stops_mm(t->mm)->dual->stub);
	b->at[b->n++] = s->insn[0].addr;
	if (inprocess_solid(t, s->insn[0].addr))
		b->all |= !branches_known(t->real, stops_mm(t->mm)->solid_start,
				     stops_mm(t->mm)->solid_end);
}

struct stub *dual_displace(struct replay *r, struct rp_task *t, const struct site *site,
			   unsigned disp_at, int32_t disp)
{
	struct dual *a = stops_mm(t->mm)->dual;
	uint64_t addr = site->addr, end = addr + site->len;
	struct stub *s = &a->stub[a->stubs_n];
	struct err *err;

	if (a->stubs_n == a->stubs_max || a->jumps == DUAL_JUMPS || rp_others_watch(r) ||
	    others_there(a, addr, end, true))
		return NULL;
	if (!inprocess_moved(t->mm, addr) &&
	    (!inprocess_solid(t, addr) || dual_in_the_way(r, t, addr, end)))
		return NULL;
	*s = (struct stub){ .kind = STUB_JUMP,
			    .site = *site,
			    .n = 1,
			    .insn[0] = { .addr = addr, .len = site->len, .stores = true },
			    .solid_start = stops_mm(t->mm)->solid_start,
			    .solid_end = stops_mm(t->mm)->solid_end,
			    .in_place = true,
			    .patch_at = (uint8_t)disp_at,
			    .patch_len = sizeof(disp) };
	memcpy(s->bytes, &disp, sizeof(disp));
	err = dual_patch(t->real, s, true);
	if (err) {
		err_free(err);
		return NULL;
	}
	a->jump[a->jumps++] = (uint16_t)a->stubs_n++;
	return s;
}

/*
 * An instruction that always stores to the same place needs no stub: it stores through the other
 * mapping from where it is, as fast as ever.
 */
static bool in_place(struct replay *r, struct rp_task *t, struct stub *of)
{
	struct dual *a = stops_mm(t->mm)->dual;
	struct site site = of->site;
	struct stub *s;
	unsigned disp_at;
	int32_t disp;

	site.addr = of->insn[0].addr;
	if (!dual_fixed(&a->view, site.bytes, site.len, site.addr, &disp_at, &disp))
		return false;
	s = dual_displace(r, t, &site, disp_at, disp);
	if (!s)
		return false;
	of->tried = true;
	dual_index(a, s);
	dual_loads(r, t, s, site.addr);
	return true;
}

struct err *dual_want(struct replay *r, struct rp_task *t, struct stub *s, uint64_t place)
{
	struct dual *a = stops_mm(t->mm)->dual;
	struct cleared cleared = { .n = 0 };
	bool fixed = in_place(r, t, s);
	struct err *err = NULL;
	struct stub *new[TOGETHER] = { NULL };
	unsigned of[TOGETHER];

	dual_note_dense(place, fixed);
	if (fixed)
		return NULL;
	a->wanting += !s->wants;
	s->wants = true;
	if (a->wanting < TOGETHER && s->faults < PATIENCE)
		return NULL;
	/*
	 * several at once: to see the code as it is costs as much for one as for all; s, and no
	 * more than are seen so
	 */
	clear_near(t, &cleared, of, s);
	for (unsigned i = 0; i < a->stubs_n && cleared.n < TOGETHER; i++) {
		if (a->stub[i].wants && &a->stub[i] != s)
			clear_near(t, &cleared, of, &a->stub[i]);
	}
	clear_sites(t, &cleared, false);
	for (unsigned i = 0; i < cleared.n && !err; i++) {
		struct stub *one = &a->stub[of[i]];

		if (!one->tried && one->kind == STUB_ALONE)
			err = jump_in(r, t, one, &new[i]);
		one->wants = false;
		a->wanting--;
	}
	clear_sites(t, &cleared, true);		/* with the new ones */
	for (unsigned i = 0; i < cleared.n && !err; i++) {
		if (new[i])
			dual_loads(r, t, new[i], a->stub[of[i]].insn[0].addr);
	}
	return err;
}

/* Puts the stub in that was there before, if that is possible. */
static bool wake(struct replay *r, struct rp_task *t, struct stub *s)
{
	uint64_t start = s->site.addr, end = start + s->site.len,
		 run_end = start + s->run.where[s->run.n];
	uint8_t bytes[SITE_MAX];
	struct err *err;

	if (s->kind != STUB_RESTS || stops_mm(t->mm)->dual->jumps == DUAL_JUMPS ||
	    (rp_tools_own(t->mm, start) && !inprocess_moved(t->mm, start)) || rp_others_watch(r) ||
	    dual_in_the_way(r, t, start, run_end > end ? run_end : end) ||
	    others_there(stops_mm(t->mm)->dual, start, end, true) ||
	    (s->run.n && is_inside_site(stops_mm(t->mm)->dual, run_end)) ||
	    stops_read(t->real, start, bytes, s->site.len) != s->site.len ||
	    memcmp(bytes, s->site.bytes, s->site.len))
		return false;
	err = dual_patch(t->real, s, true);
	if (err) {
		err_free(err);
		return false;
	}
	s->kind = STUB_JUMP;
	stops_mm(t->mm)->dual->jump[stops_mm(t->mm)->dual->jumps++] =
		(uint16_t)(s - stops_mm(t->mm)->dual->stub);
	return true;
}

void dual_wake(struct replay *r, struct rp_task *t, struct stub *s)
{
	if (!wake(r, t, s))
		return;
	for (unsigned i = 0; i < s->loads_n; i++)
		wake(r, t, &stops_mm(t->mm)->dual->stub[s->loads + i]);
}
