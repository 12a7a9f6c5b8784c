/*
 * intervals.c - the last stop before the present: between which checkpoints, and who looks there.
 *
 * The time between two checkpoints is an interval.  The newest are looked through first; several at
 * once, where there are processors (workers.c); and not at all, where nothing that is watched was
 * written (clean.c, write_log.c), or where that was done before (scanned.c).
 */
#include <poll.h>
#include <stdlib.h>

#include "replayer/machine/copy.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/interrupt.h"

/*
 * So much time is worth a worker: as much as the search has taken until now, between these; or
 * FORCED_NS, when they are asked for, as tests do.  Short intervals are put together.  Most stops
 * are near: a long interval, looked through from its beginning, or a worker that has to be started,
 * would make those late.
 */
enum { LANE_MIN_NS = 30000000, LANE_NS = 120000000, FORCED_NS = 5000000, POLL_MS = 20 };

/* Numbers count from the newest. */
struct lane {
	struct rp_worker *worker;	/* NULL: idle */
	struct position from, end;
	unsigned number;
};

struct intervals {
	struct position end;		/* of the next to be given out */
	uint64_t end_ns;
	unsigned next;			/* its number; 0: it ends at the present */
	bool possible;			/* interval_clean() */
	struct rp_found best;
	unsigned best_number;
	struct lane lane[RP_WORKERS_MAX];
	unsigned lanes;
	uint64_t lane_ns, began_ns;
};

static const struct rp_task *tasks_at_end(struct replay *r, const struct intervals *in)
{
	const struct rp_checkpoint *c;

	if (!in->next)
		return timeline_of(r)->pos_stale ? NULL : r->tasks;
	c = rp_checkpoint_before(r, &in->end, false);
	return c && position_same(&c->pos, &in->end) ? c->copy->tasks : NULL;
}

static void give_out(struct intervals *in, const struct rp_checkpoint *c)
{
	position_copy(&in->end, &c->pos);
	in->end_ns = c->clock_ns;
	in->next++;
}

/* From where on up to end is nothing, as is known without looking?  NULL: it is not known. */
static const struct position *after_scanned(const struct replay *r, const struct intervals *in,
					   const struct position *end, bool inclusive)
{
	const struct position *from = scanned_before(r, end, inclusive);

	return from || !in->possible ? from : write_log_before(r, end);
}

/* Passes intervals that need not be scanned. */
static void pass_scanned(struct replay *r, struct intervals *in)
{
	const struct rp_checkpoint *c;
	const struct position *from;

	while ((from = after_scanned(r, in, &in->end, in->next))) {
		c = rp_checkpoint_before(r, from, false);
		position_copy(&in->end, from);
		in->end_ns = c ? c->clock_ns : 0;
		in->next++;
	}
}

/* Where the next begins; NULL: there is none. */
static struct err *next_interval(struct replay *r, struct intervals *in, struct rp_checkpoint **ret)
{
	const struct rp_task *newer;
	bool clean = true;

	for (*ret = NULL; clean; ) {
		struct rp_checkpoint *c;

		pass_scanned(r, in);
		c = rp_checkpoint_before(r, &in->end, true);
		if (!c || in->end.where < rp_first(r))
			return NULL;
		clean = false;
		newer = in->possible ? tasks_at_end(r, in) : NULL;
		if (newer)
			TRY(interval_clean(r, c, newer, in->end.where, &clean));
		if (clean)
			give_out(in, c);
		else
			*ret = c;
	}
	return NULL;
}

static void found(struct intervals *in, const struct rp_found *f, unsigned number)
{
	if (!f->found || (in->best.found && in->best_number < number)) {
		free(f->pos.steps);
		return;
	}
	free(in->best.pos.steps);
	in->best = *f;
	in->best_number = number;
}

static void lane_end(struct lane *l)
{
	rp_worker_end(l->worker);
	free(l->from.steps);
	free(l->end.steps);
	*l = (struct lane){ 0 };
}

/*
 * From c further back, as far as something is written in each interval, until that is worth a
 * worker.
 */
static struct err *lengthen(struct replay *r, const struct intervals *in, struct rp_checkpoint **c)
{
	while (in->end_ns < (*c)->clock_ns + in->lane_ns && (*c)->pos.where >= rp_first(r)) {
		struct rp_checkpoint *older = rp_checkpoint_before(r, &(*c)->pos, true);
		bool clean = !older || after_scanned(r, in, &(*c)->pos, true);

		if (!clean && in->possible)
			TRY(interval_clean(r, older, (*c)->copy->tasks, (*c)->pos.where,
					   &clean));
		if (clean)
			break;
		*c = older;
	}
	return NULL;
}

static bool runs(const struct intervals *in, const struct lane *l)
{
	return l->worker && (!in->best.found || l->number < in->best_number);
}

/*
 * On our own processor there is one, too, while another has others: we only wait, and none has to
 * wait for us.
 */
static bool next_is_here(const struct intervals *in)
{
	bool others = false;

	for (unsigned i = 0; i < in->lanes; i++) {
		if (runs(in, &in->lane[i]) && rp_worker_is_here(in->lane[i].worker))
			return false;
		others |= runs(in, &in->lane[i]);
	}
	return others;
}

/* Has the search taken long enough for workers? */
static bool is_long(struct intervals *in)
{
	uint64_t ns = now_ns() - in->began_ns;

	if (rp_workers_forced())
		return true;
	in->lane_ns = ns < LANE_MIN_NS ? LANE_MIN_NS : ns > LANE_NS ? LANE_NS : ns;
	return ns >= LANE_MIN_NS;
}

/*
 * Intervals that are short are looked through sooner than given away.  *full: all lanes have work.
 */
static struct err *feed_lanes(struct replay *r, struct intervals *in, bool *full)
{
	struct rp_checkpoint *c;

	*full = false;
	for (unsigned i = 0; i < in->lanes; i++) {
		struct lane *l = &in->lane[i];

		if (l->worker)
			continue;
		TRY(next_interval(r, in, &c));
		if (c)
			TRY(lengthen(r, in, &c));
		if (!c || in->end_ns < c->clock_ns + in->lane_ns)
			return NULL;
		TRY(rp_worker_start(r, c, &in->end, next_is_here(in), &l->worker));
		if (!l->worker)
			return NULL;
		position_copy(&l->from, &c->pos);
		position_copy(&l->end, &in->end);
		l->number = in->next;
		give_out(in, c);
	}
	*full = in->lanes > 1;
	return NULL;
}

/* From `from' or a checkpoint before it to end. */
static struct err *scan_one(struct replay *r, struct intervals *in, const struct position *from,
			     const struct position *end, unsigned number)
{
	struct rp_checkpoint *c = rp_checkpoint_before(r, from, false);
	struct rp_found f;
	struct err *err = c ? rp_checkpoint_restore(r, c) : rp_lost(r);

	if (!err)
		err = rp_scan(r, end, number != 0, &f);
	if (!err && !f.found && !rp_user_interrupt(INTERRUPT_GIVES_UP))
		scanned_add(r, from, end, number != 0);
	if (!err)
		found(in, &f, number);
	return err;
}

/* Takes a worker's answer; when the worker failed, its interval is scanned here. */
static struct err *lane_done(struct replay *r, struct intervals *in, struct lane *l)
{
	struct rp_found f;
	struct err *err = NULL;

	if (rp_worker_answer(r, l->worker, &f)) {
		log_debug("worker %u answers", l->number);
		if (!f.found && !rp_user_interrupt(INTERRUPT_GIVES_UP))
			scanned_add(r, &l->from, &l->end, true);
		found(in, &f, l->number);
	} else {
		log_debug("a worker failed");
		in->lanes = 0;	/* no more of these */
		err = scan_one(r, in, &l->from, &l->end, l->number);
	}
	lane_end(l);
	return err;
}

/* Answers that are there; `wait': for one more. */
static struct err *hear_lanes(struct replay *r, struct intervals *in, bool wait)
{
	struct pollfd p[RP_WORKERS_MAX];
	int n = 0;

	do {
		rp_progress(r->where);
		for (unsigned i = 0; i < RP_WORKERS_MAX; i++) {
			struct lane *l = &in->lane[i];

			if (l->worker && !runs(in, l))
				lane_end(l);
			p[i] = (struct pollfd){ l->worker ? rp_worker_fd(l->worker) : -1, POLLIN,
						0 };
		}
		n = poll(p, RP_WORKERS_MAX, wait ? POLL_MS : 0);
	} while (wait && n <= 0 && !rp_user_interrupt(INTERRUPT_GIVES_UP));
	for (unsigned i = 0; n > 0 && i < RP_WORKERS_MAX; i++) {
		if (in->lane[i].worker && p[i].revents)
			TRY(lane_done(r, in, &in->lane[i]));
	}
	return NULL;
}

static bool lanes_busy(const struct intervals *in)
{
	bool busy = false;

	for (unsigned i = 0; i < RP_WORKERS_MAX; i++)
		busy |= runs(in, &in->lane[i]);
	return busy;
}

static struct err *scan_from(struct replay *r, struct intervals *in, const struct rp_checkpoint *c)
{
	struct position from = { 0 }, end = { 0 };
	unsigned number = in->next;
	bool longer = is_long(in) || in->end_ns > c->clock_ns + LANE_NS, full;
	struct err *err;

	position_copy(&from, &c->pos);	/* it may be thinned out meanwhile */
	position_copy(&end, &in->end);
	give_out(in, c);
	err = longer ? feed_lanes(r, in, &full) : NULL;
	if (!err)
		err = scan_one(r, in, &from, &end, number);
	free(from.steps);
	free(end.steps);
	return err;
}

/* The newest that runs, if it is the only one, and on another processor: ours is idle. */
static const struct lane *only_lane(const struct intervals *in)
{
	const struct lane *only = NULL;

	for (unsigned i = 0; i < RP_WORKERS_MAX; i++) {
		if (runs(in, &in->lane[i])) {
			if (only)
				return NULL;
			only = &in->lane[i];
		}
	}
	return only && !rp_worker_is_here(only->worker) ? only : NULL;
}

/*
 * Nothing to do but wait: we go where its answer will probably lead, or (that of an older interval
 * is there) where we go if it finds nothing.
 */
static struct err *wait_for_lanes(struct replay *r, struct intervals *in)
{
	const struct lane *l = only_lane(in);
	struct position to = { 0 };
	struct err *err = NULL;

	if (l) {
		position_copy(&to, in->best.found ? &in->best.pos : &l->end);
		err = rp_go_ahead(r, in->best.found ? &to : &l->from, &to, rp_worker_fd(l->worker),
				  INTERRUPT_GIVES_UP);
		free(to.steps);
	}
	if (err && err->code == ERR_DIVERGED) {		/* nobody has asked for that */
		err_free(err);
		err = NULL;
		timeline_of(r)->pos_stale = true;
	}
	return err ? err : hear_lanes(r, in, true);
}

struct err *rp_last_stop(struct replay *r, struct rp_found *ret)
{
	struct intervals in = { .end_ns = timeline_of(r)->clock_ns,
				.possible = interval_clean_possible(r),
				.lanes = rp_workers(),
				.lane_ns = FORCED_NS,
				.began_ns = now_ns() };
	struct err *err = NULL;

	if (in.lanes > RP_WORKERS_MAX)
		in.lanes = RP_WORKERS_MAX;
	position_copy(&in.end, &timeline_of(r)->pos);
	while (!err && !rp_user_interrupt(INTERRUPT_GIVES_UP)) {
		struct rp_checkpoint *c = NULL;
		bool full = false;

		write_log_hear(r);
		err = hear_lanes(r, &in, false);
		if (!err && !in.best.found && in.next && is_long(&in))
			err = feed_lanes(r, &in, &full);
		if (!err && !in.best.found && !full)
			err = next_interval(r, &in, &c);
		if (!err && c)
			err = scan_from(r, &in, c);
		else if (!err && lanes_busy(&in))
			err = wait_for_lanes(r, &in);
		else
			break;
	}
	for (unsigned i = 0; i < RP_WORKERS_MAX; i++)
		lane_end(&in.lane[i]);
	*ret = in.best;
	free(in.end.steps);
	return err;
}
