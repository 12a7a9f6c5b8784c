/*
 * survey.c - which bytes of its data a program writes to, and when, found out while nobody waits for it.
 *
 * Two words on one page are often written at very different times, and a page is all that unwritten.c can tell.  So while the replayer
 * computes forward, a worker on an idle processor goes through the last half second of it with the program's busy data pages
 * doubled (alias.c), where each store leaves a mark: nothing stops, so that is nearly as fast as the program.  A search backwards for
 * the last write of a variable then passes what holds no store to it.
 *
 * What an event writes is what differs behind it, as for a watchpoint.  What could not be surveyed (no idle processor, too slow, beyond so many
 * pages, processes that come and go) is looked through, as everything was before.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "replayer/internal.h"

/* After some failures the program is given time to do something else, and others who have the processors are. */
#define REST_NS 5000000000ull
#define BUSY_NS 200000000ull
enum { STRETCH_NS = 500000000, STRETCH_MIN_NS = 150000000, SLOWER = 4, LATE_NS = 300000000, FAILURES_MAX = 3, STRETCHES = 256, LOOKED_AT = 256 };

struct stretch {
	struct rp_pos from, end;
	pid_t pid;
	unsigned n;
	uint64_t page[MARKS_PAGES];
	uint8_t written[MARKS_PAGES][MARKS_PAGE / 8];		/* a bit for each byte */
};

struct rp_survey {
	struct rp_worker *worker;
	struct rp_pos from, end;	/* what it looks at */
	struct rp_marks marks;
	uint64_t began_ns, length_ns;
	unsigned failures;		/* one after the other */
	uint64_t rests_until_ns;
	struct stretch *done[STRETCHES];	/* a ring */
	unsigned done_n;
};

static void drop(struct stretch *s)
{
	if (!s)
		return;
	free(s->from.legs);
	free(s->end.legs);
	free(s);
}

static void note(struct rp_survey *s)
{
	struct stretch *new = calloc(1, sizeof(*new)), **place = &s->done[s->done_n % STRETCHES];

	BUG_ON(!new, "out of memory for a survey");
	*new = (struct stretch){ .from = s->from, .end = s->end, .pid = s->marks.pid, .n = s->marks.n };
	s->from = s->end = (struct rp_pos){ 0 };
	memcpy(new->page, s->marks.page, sizeof(new->page));
	for (unsigned i = 0; i < new->n; i++) {
		for (unsigned k = 0; k < MARKS_PAGE; k++)
			new->written[i][k / 8] |= (uint8_t)(!!s->marks.byte[i][k] << k % 8);
	}
	drop(*place);
	*place = new;
	s->done_n++;
}

static void forget(struct rp_survey *s)
{
	rp_worker_end(s->worker);
	s->worker = NULL;
	free(s->from.legs);
	free(s->end.legs);
	s->from = s->end = (struct rp_pos){ 0 };
}

/* Its answer, if it is there, or else when it is late: then there is none. */
static void hear(struct rp_survey *s, bool wait)
{
	struct pollfd p = { s->worker ? rp_worker_fd(s->worker) : -1, POLLIN, 0 };
	bool there = s->worker && poll(&p, 1, 0) > 0;

	if (!s->worker || (!there && wait && rp_now_ns() - s->began_ns < SLOWER * s->length_ns + LATE_NS))
		return;
	if (there && rp_worker_surveyed(s->worker, &s->marks)) {
		s->failures = 0;
		log_debug("surveyed: %.0f ms of computing in %.0f ms", (double)s->length_ns / 1e6, (double)(rp_now_ns() - s->began_ns) / 1e6);
		note(s);
	} else {
		s->failures += wait;
		if (s->failures >= FAILURES_MAX)
			s->rests_until_ns = rp_now_ns() + REST_NS;
		log_debug("a survey was given up");
	}
	forget(s);
}

/* ---- what is to be looked at ------------------------------------------------------------------------- */

static bool is_known(const struct rp_survey *s, const struct rp_pos *p)
{
	for (unsigned i = 0; i < STRETCHES; i++) {
		if (s->done[i] && rp_pos_within(&s->done[i]->from, p, &s->done[i]->end))
			return true;
	}
	return false;
}

/* The oldest checkpoint of the last half second, that is behind what is known, and from where a worker can come here.  NULL: there is none. */
static struct err *beginning(struct replay *r, const struct rp_survey *s, struct rp_checkpoint **ret)
{
	const struct rp_debug *d = r->debug;
	struct rp_checkpoint *c = rp_checkpoint_before(r, &d->pos, true), *best = NULL;
	const struct rp_pos *end = &d->pos;
	bool can = true;

	*ret = NULL;
	for (; c && !c->pos.pending && c->clock_ns + STRETCH_NS >= d->clock_ns && c->clock_ns <= d->clock_ns; c = c->older) {
		TRY(rp_worker_can(r, c, end, &can));
		if (!can)
			break;
		best = c;
		end = &c->pos;
		if (is_known(s, end))
			break;
	}
	if (best && best->clock_ns + STRETCH_MIN_NS <= d->clock_ns)
		*ret = best;
	return NULL;
}

/* Private data of a file, and what follows it without one. */
static bool is_data(const struct tracee_map *m, const struct tracee_map *before)
{
	if (!(m->prot & PROT_WRITE) || m->shared)
		return false;
	return m->inode || (before && before->end == m->start && before->inode && (before->prot & PROT_WRITE) && !before->shared);
}

static void busy_pages(const struct rp_task *older, const struct rp_task *newer, const struct tracee_maps *maps, struct rp_marks *m)
{
	*m = (struct rp_marks){ .pid = newer->rec_pid };
	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *at = &maps->map[i];
		uint64_t end = at->end < at->start + LOOKED_AT * PAGE_BYTES ? at->end : at->start + LOOKED_AT * PAGE_BYTES;

		if (!is_data(at, i ? at - 1 : NULL))
			continue;
		m->n += rp_pages_written(older, newer, at->start, end, m->page + m->n, MARKS_PAGES - m->n);
	}
}

/* *worth: there is something to look at. */
static struct err *give_out(struct replay *r, const struct rp_task *t, struct rp_survey *s, struct rp_checkpoint *c, bool *worth)
{
	const struct rp_task *older = rp_task_with_memory(c->tasks, t->rec_pid);
	struct tracee_maps maps;

	*worth = false;
	if (!older)
		return NULL;
	TRY(tracee_maps_read(t->real, &maps));
	busy_pages(older, t, &maps, &s->marks);
	tracee_maps_deinit(&maps);
	*worth = s->marks.n != 0;
	if (!*worth)
		return NULL;
	rp_pos_copy(&s->from, &c->pos);
	rp_pos_copy(&s->end, &r->debug->pos);
	s->length_ns = r->debug->clock_ns - c->clock_ns;
	s->began_ns = rp_now_ns();
	return rp_worker_survey(r, c, &s->end, &s->marks, &s->worker);
}

void rp_survey_feed(struct replay *r, const struct rp_task *t)
{
	struct rp_debug *d = r->debug;
	struct rp_survey *s = d->survey;
	struct rp_checkpoint *c;
	struct err *err;
	bool worth;

	if (d->marks || d->breakable || !rp_workers() || d->pos.pending)	/* going back, workers and we have the processors */
		return;
	if (!s)
		s = d->survey = calloc(1, sizeof(*s));
	if (!s)
		return;
	hear(s, true);
	if (s->worker || rp_now_ns() < s->rests_until_ns || is_known(s, &d->pos))
		return;
	worth = false;
	err = beginning(r, s, &c);
	if (!err && c)
		err = give_out(r, t, s, c, &worth);
	if (err)
		log_debug("no survey: %s", err->msg);
	if (worth && !s->worker) {
		log_debug("no survey: no processor is idle");
		s->rests_until_ns = rp_now_ns() + BUSY_NS;
		forget(s);
	}
	err_free(err);
}

void rp_survey_pause(struct replay *r)
{
	if (r->debug->survey)
		hear(r->debug->survey, false);
}

void rp_survey_free(struct rp_debug *d)
{
	struct rp_survey *s = d->survey;

	if (!s)
		return;
	forget(s);
	for (unsigned i = 0; i < STRETCHES; i++)
		drop(s->done[i]);
	free(s);
	d->survey = NULL;
}

/* ---- what is known of it ---------------------------------------------------------------------------- */

static bool is_written(const struct stretch *s, const struct replay_break *b)
{
	for (uint64_t at = b->addr; at < b->addr + b->len; at++) {
		unsigned i = 0;

		while (i < s->n && at - s->page[i] >= MARKS_PAGE)
			i++;
		if (i == s->n || s->written[i][(at - s->page[i]) / 8] >> (at - s->page[i]) % 8 & 1)
			return true;
	}
	return false;
}

static bool passes(const struct stretch *s, const struct rp_set *user)
{
	for (unsigned i = 0; i < user->n; i++) {
		if (user->b[i].kind == REPLAY_WRITE && (user->b[i].pid != s->pid || is_written(s, &user->b[i])))
			return false;
	}
	return true;
}

const struct rp_pos *rp_survey_before(const struct replay *r, const struct rp_pos *end)
{
	const struct rp_debug *d = r->debug;
	const struct rp_survey *s = d->survey;

	for (unsigned i = 0; s && i < STRETCHES; i++) {
		const struct stretch *x = s->done[i];

		if (x && rp_pos_within(&x->from, end, &x->end) && passes(x, d->sets[d->user]))
			return &x->from;
	}
	return NULL;
}

/* ---- the worker ---------------------------------------------------------------------------------------- */

static void read_pages(const struct replay *r, const struct rp_marks *m, uint8_t bytes[MARKS_PAGES][MARKS_PAGE], bool there[MARKS_PAGES])
{
	const struct rp_task *t = rp_task_with_memory(r->tasks, m->pid);

	for (unsigned i = 0; i < m->n; i++)
		there[i] = t && tracee_read_some(t->real, m->page[i], bytes[i], MARKS_PAGE) == MARKS_PAGE;
}

static bool makes_or_ends(const struct trace_event *ev)
{
	bool makes = ev->kind == TRACE_EXEC || ev->kind == TRACE_EXIT;

	for (uint32_t i = 0; i < ev->effects_len; i++)
		makes |= ev->effects[i].kind == TRACE_TASK;
	return makes;
}

void rp_survey_event(struct replay *r, bool after)
{
	static uint8_t was[MARKS_PAGES][MARKS_PAGE], is[MARKS_PAGES][MARKS_PAGE];
	static bool there[MARKS_PAGES];
	bool still[MARKS_PAGES];
	struct rp_marks *m = r->debug->marks;

	if (!after) {
		if (makes_or_ends(&r->ev))
			rp_marks_all(m);
		read_pages(r, m, was, there);
		return;
	}
	read_pages(r, m, is, still);
	for (unsigned i = 0; i < m->n; i++) {
		for (unsigned k = 0; k < MARKS_PAGE; k++)
			m->byte[i][k] |= !there[i] || !still[i] || was[i][k] != is[i][k];
	}
}

struct err *rp_survey_run(struct replay *r, struct rp_marks *m, const struct rp_pos *end, bool *good)
{
	struct rp_debug *d = r->debug;
	struct replay_break b[MARKS_PAGES];
	struct rp_found found = { 0 };

	*good = false;
	d->marks = m;
	for (unsigned i = 0; i < m->n; i++)	/* of no length: nothing stops there */
		b[i] = (struct replay_break){ .kind = REPLAY_WRITE, .pid = m->pid, .addr = m->page[i] };
	d->user = rp_set_intern(r, b, m->n);
	TRY(rp_scan(r, end, true, &found));
	rp_int3_out(r);
	for (struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->real && t->rec_pid == m->pid)
			TRY(rp_alias_marks(t, m));
	}
	*good = !found.found && !rp_debug_interrupted(r);
	return NULL;
}
