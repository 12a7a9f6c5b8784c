/*
 * iterations.c - to a point in computing code (TRACE_AT_STATE) where a debugger's breakpoints are
 * in the way of search.c's jump.
 *
 * Without the jump each pass of the point costs a stop of some 10 us, and a loop may make millions
 * of iterations before.  So what is near the point is counted first, in a copy of the address space
 * (snapshot.c) and without the debugger's breakpoints: search.c finds the point there, and the
 * instruction that was executed last before it, of some that inprocess.c counts, has been executed
 * n times.  Then the task runs with the breakpoints, stops at the n-th execution, and only the last
 * iteration is looked at pass by pass.
 *
 * Runs are broken off all the time (periodic.c's ticks, stops), so what is left of the n is kept as
 * long as the task only runs on, and, by their names, for points with a name, from which it may go
 * on again.
 *
 * Rejected: a stub that does both at one place (each may be at any byte of what the other
 * replaces).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "replayer/machine/run.h"
#include "replayer/machine/snapshot.h"
#include "replayer/machine/task.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"
#include "replayer/timeline/timeline.h"
#include "tracee/pun.h"

enum { KEPT = 512, STEPS = 400 };

static struct iterations *iterations(struct replay *r)
{
	return &timeline_of(r)->iterations;
}

void iterations_lost(struct replay *r)
{
	iterations(r)->known = iterations(r)->on = false;
}

void iterations_free(struct replay *r)
{
	for (unsigned i = 0; i < iterations(r)->kept_n; i++)
		free(iterations(r)->kept[i].pos.steps);
	free(iterations(r)->kept);
	iterations(r)->kept = NULL;
	iterations(r)->kept_n = 0;
}

/* ---- what is known where --------------------------------------------------------------------- */

static struct iterations_kept *kept_at(struct replay *r, const struct position *pos)
{
	for (unsigned i = 0; i < iterations(r)->kept_n; i++) {
		if (position_same(&iterations(r)->kept[i].pos, pos))
			return &iterations(r)->kept[i];
	}
	return NULL;
}

static void keep(struct replay *r)
{
	struct iterations *u = iterations(r);
	struct iterations_kept *k;

	if (timeline_of(r)->pos_stale || kept_at(r, &timeline_of(r)->pos))
		return;
	if (!u->kept)
		u->kept = alloc_zeroed(KEPT, sizeof(*u->kept), "breakpoints");
	k = &u->kept[u->kept_next++ % KEPT];
	if (u->kept_n < KEPT)
		u->kept_n++;
	k->at = u->at;
	k->left = u->left;
	position_copy(&k->pos, &timeline_of(r)->pos);
}

static void recall(struct replay *r)
{
	struct iterations *u = iterations(r);
	const struct iterations_kept *k =
		timeline_of(r)->pos_stale ? NULL : kept_at(r, &timeline_of(r)->pos);

	if (!k)
		return;
	u->event = r->ev.n;
	u->at = k->at;
	u->left = k->left;
	u->known = true;
}

/* ---- what is to be counted ------------------------------------------------------------------- */

/* A counting site must leave room to the debugger's breakpoints and to search.c's jump. */
static bool good_place(struct rp_task *t, const struct counting_sites *p, const struct rp_set *s,
		       const struct pun *jump, uint64_t addr)
{
	unsigned len;

	return p->n < COUNTING_SITES && inprocess_solid(t, addr) &&
	       inprocess_possible(t, addr, &len) &&
	       (addr >= jump->addr + jump->len || addr + len <= jump->addr) &&
	       !counting_sites_blocked(t, s, addr, len) && !counting_sites_overlap(t, p, addr, len);
}

/*
 * In the loop that the task is in, at the point's instruction for the first time; a copy that is
 * thrown away.
 */
static struct err *look_around(struct replay *r, struct rp_task *t, unsigned set,
			       struct counting_sites *p)
{
	const struct rp_set *s = stops_of(r)->sets[set];
	struct counting_sites more = { .n = 0 };
	struct pun jump;

	rp_int3_out(r);
	if (!pun_decode(t->real, r->ev.regs.rip, &jump))
		return NULL;
	counting_sites_near(r, t, &more, set);
	for (unsigned i = 0; i < STEPS; i++) {
		int status;

		if (good_place(t, p, s, &jump, t->regs.rip))
			p->addr[p->n++] = t->regs.rip;
		TRY(rp_raw_step(t, &status));
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP || t->regs.rip == jump.addr)
			break;
	}
	for (unsigned i = 0; i < more.n; i++) {
		if (good_place(t, p, s, &jump, more.addr[i]))
			p->addr[p->n++] = more.addr[i];
	}
	return NULL;
}

static struct err *to_first_pass(struct replay *r, struct rp_task *t,
				 enum on_interrupt on_interrupt, bool *there)
{
	struct replay_break b = {
		.kind = REPLAY_BREAK, .pid = t->rec_pid, .addr = r->ev.regs.rip, .len = 1
	};
	enum rp_run stop;
	siginfo_t info;
	struct err *err;

	*there = t->regs.rip == b.addr;
	if (*there)
		return NULL;
	stops_run_begin(stops_of(r), &(struct stops_run){ .set = rp_set_intern(r, &b, 1),
							  .on_interrupt = on_interrupt });
	err = rp_run(r, t, &r->ev, &stop, &info);
	if (err != &rp_stopped)
		return err;
	*there = stops_of(r)->trapped && t->regs.rip == b.addr;
	return NULL;
}

/* From where the task is to the point, with the places counted. */
static struct err *count(struct replay *r, struct rp_task *t, const struct counting_sites *p,
			 enum on_interrupt on_interrupt, struct iterations *u)
{
	struct counted_sites sites = { .n = p->n };
	const struct stops_run run = { .set = counting_sites_set(r, t, p),
				       .on_interrupt = on_interrupt,
				       .sites = &sites };
	struct err *err;

	for (unsigned i = 0; i < p->n; i++)
		sites.b[i] = counting_site_break(t, p->addr[i]);
	stops_run_begin(stops_of(r), &run);
	err = inprocess_build(r, t, &run);
	for (unsigned i = 0; i < p->n && !err; i++)
		err = inprocess_limit(t, &sites.b[i], RP_NO_LIMIT);
	if (!err)
		err = inprocess_limit_all(t, RP_NO_LIMIT);
	if (!err)
		err = landmark_find(r, t, &r->ev);
	for (unsigned i = 0, best = 0; i < p->n && !err; i++) {
		sites.count[i] = inprocess_counted(t, &sites.b[i], RP_NO_LIMIT, &sites.last[i]);
		if (sites.count[i] && (!u->at || sites.last[i] > sites.last[best])) {
			best = i;
			u->at = p->addr[i];
			u->left = sites.count[i];
		}
	}
	return err;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static struct err *back_to(struct replay *r, struct rp_task *t, struct rp_snapshot *s)
{
	struct rp_mm *mm = t->mm;

	rp_debug_clear(r, t);
	/* areas that were mapped meanwhile are not there any more */
	rp_tools_memory_same(mm, s->mm);
	inprocess_forget(mm);
	return rp_snapshot_restore(r, t, s);
}

/* Makes one attempt in a copy; the task is where it was afterwards. */
static struct err *in_copy(struct replay *r, struct rp_task *t, unsigned set,
			   enum on_interrupt on_interrupt, struct counting_sites *p,
			   struct iterations *u)
{
	struct stops *stops = stops_of(r);
	struct rp_snapshot *back;
	struct err *err, *other;
	bool ran = stops->ran, there;

	rp_debug_clear(r, t);
	TRY(rp_regs_flush(t));
	TRY(rp_snapshot_take(t, &back));
	if (!back)
		return NULL;
	if (u) {
		err = count(r, t, p, on_interrupt, u);
	} else {
		err = to_first_pass(r, t, on_interrupt, &there);
		if (!err && there)
			err = look_around(r, t, set, p);
	}
	if (err == &rp_stopped) {
		log_debug("event %" PRIu64 ": the copy was stopped", r->ev.n);
		err = NULL;
		if (u)
			u->at = 0;
	}
	other = back_to(r, t, back);
	stops->ran = ran;
	err_catch(&err, ERR_DIVERGED);	/* no help; the run itself will say so */
	if (!err)
		return other;
	err_free(other);
	return err;
}

struct err *iterations_measure(struct replay *r, struct rp_task *t, unsigned set)
{
	struct stops *stops = stops_of(r);
	struct iterations found = { 0 };
	struct counting_sites p = { .n = 0 };
	const struct stops_run run = stops->run;
	bool trapped = stops->trapped, at_limit = stops->at_limit;
	uint64_t stub = t->stub, shown = t->shown;
	struct err *err;

	err = in_copy(r, t, set, run.on_interrupt, &p, NULL);
	if (!err && p.n && !rp_user_interrupt(run.on_interrupt))
		err = in_copy(r, t, set, run.on_interrupt, &p, &found);
	rp_ticks_forget();
	stops->run = run;
	stops->trapped = trapped;
	stops->at_limit = at_limit;
	t->stub = stub;
	t->shown = shown;
	log_debug("event %" PRIu64 ": %u places counted, %" PRIx64 " %" PRIu64 " times", r->ev.n,
		  p.n, found.at, found.left);
	iterations(r)->failed =
		!err && !found.at && !rp_user_interrupt(run.on_interrupt) ? r->ev.n : 0;
	if (err || !found.at)
		return err;
	iterations(r)->event = r->ev.n;
	iterations(r)->at = found.at;
	iterations(r)->left = found.left;
	iterations(r)->known = true;
	keep(r);
	return NULL;
}

/* ---- around an advance ----------------------------------------------------------------------- */

void iterations_begin(struct replay *r, struct rp_task *t, struct stops_run *run)
{
	struct iterations *u = iterations(r);
	struct replay_break b;
	unsigned len;

	u->on = false;
	run->iteration_site = 0;
	if (u->event != r->ev.n)
		u->known = false;
	if (r->ev.place != TRACE_AT_STATE || t->mm->calls)
		return;
	if (!u->known)
		recall(r);
	else
		keep(r);
	if (!u->known || !u->left)
		return;
	if (u->set != run->set || u->checked != u->at) {
		rp_int3_out_mm(t->mm, t->real);		/* the code as it is */
		u->known = inprocess_solid(t, u->at) && inprocess_possible(t, u->at, &len) &&
			   !counting_sites_blocked(t, stops_of(r)->sets[run->set], u->at, len);
	}
	if (!u->known)
		return;
	u->on = true;
	u->set = run->set;
	u->checked = u->at;
	b = counting_site_break(t, u->at);
	run->iteration_site = u->at;
	run->set = rp_set_union(r, run->set, rp_set_intern(r, &b, 1));
}

struct err *iterations_limit(struct replay *r, struct rp_task *t)
{
	struct replay_break b = counting_site_break(t, iterations(r)->at);

	return iterations(r)->on ? inprocess_limit(t, &b, iterations(r)->left) : NULL;
}

void iterations_end(struct replay *r, struct rp_task *t, struct stops_run *run, bool same_event)
{
	struct iterations *u = iterations(r);
	struct replay_break b = counting_site_break(t, u->at);
	uint64_t last;

	if (u->on) {
		u->left -= inprocess_counted(t, &b, u->left, &last);
		run->set = u->set;
	} else if (u->left) {
		u->known = false;	/* nobody has counted */
	}
	u->on = false;
	run->iteration_site = 0;
	u->known = u->known && same_event;
}

bool iterations_near(const struct replay *r)
{
	const struct iterations *u = &timeline_of(r)->iterations;

	return u->known && u->event == r->ev.n && !u->left;
}

bool iterations_possible(const struct replay *r, const struct rp_task *t)
{
	return !t->mm->shared && !timeline_of(r)->iterations.on &&
	       timeline_of(r)->iterations.failed != r->ev.n;
}
