/*
 * write_log.c - which bytes of its data a program writes to, and when, found out while nobody waits
 * for it.
 *
 * Two words on one page are often written at very different times, and a page is all that clean.c
 * can tell.  So while the replayer computes forward, and while its debugger waits for the user, a
 * worker on an idle processor goes through what has been computed, half a second after the other,
 * with the program's busy data pages dual-mapped (dual.c), where each store sets a byte of the
 * store bitmap: nothing stops, so that is nearly as fast as the program.  A search backwards for
 * the last write of a variable then passes what holds no store to it.
 *
 * Few pages can be looked at so fast, and arrays, which fill many, are seldom what is watched: if
 * the debugger has told where the program's variables are (replay_variables()), it is only these
 * pages.
 *
 * What an event writes is what differs behind it, as for a watchpoint.  What could not be logged
 * (no idle processor, too slow, beyond so many pages, processes that come and go) is looked
 * through, as everything was before.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "replayer/machine/copy.h"
#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"

/*
 * After some failures the program is given time to do something else, and others who have the
 * processors are.
 */
#define REST_NS 5000000000ull
#define BUSY_NS 200000000ull
/* A log that is so far behind leaves intervals out. */
#define BEHIND_NS 4000000000ull
enum {
	LOGGED_NS = 500000000,
	LOGGED_MIN_NS = 150000000,
	SLOWER = 4,
	LATE_NS = 300000000,
	FAILURES_MAX = 3,
	LOGGED_MAX = 256,
	LOOKED_AT = 256
};

struct logged {
	struct position from, end;
	pid_t pid;
	unsigned n;
	uint64_t page[STORE_BITMAP_PAGES];
	/* a bit for each byte */
	uint8_t written[STORE_BITMAP_PAGES][STORE_BITMAP_PAGE / 8];
};

struct write_log {
	struct rp_worker *worker;
	struct position from, end;	/* what it looks at */
	struct store_bitmap bitmap;
	uint64_t began_ns, length_ns;
	unsigned failures;		/* one after the other */
	uint64_t rests_until_ns;
	struct logged *done[LOGGED_MAX];	/* a ring */
	unsigned done_n;
	/* where there are some, by address; pid 0: not told */
	struct variables { pid_t pid; uint64_t *page; unsigned n; } variables;
};

static void drop(struct logged *s)
{
	if (!s)
		return;
	free(s->from.steps);
	free(s->end.steps);
	free(s);
}

/* known: or it may have been anything. */
static void note(struct write_log *s, bool known)
{
	struct logged *new = alloc_zeroed(1, sizeof(*new), "a write log"),
		       **place = &s->done[s->done_n % LOGGED_MAX];

	*new = (struct logged){
		.from = s->from, .end = s->end, .pid = s->bitmap.pid, .n = known ? s->bitmap.n : 0
	};
	s->from = s->end = (struct position){ 0 };
	memcpy(new->page, s->bitmap.page, sizeof(new->page));
	for (unsigned i = 0; i < new->n; i++) {
		for (unsigned k = 0; k < STORE_BITMAP_PAGE; k++)
			new->written[i][k / 8] |= (uint8_t)(!!s->bitmap.byte[i][k] << k % 8);
	}
	drop(*place);
	*place = new;
	s->done_n++;
}

static void forget(struct write_log *s)
{
	rp_worker_end(s->worker);
	s->worker = NULL;
	free(s->from.steps);
	free(s->end.steps);
	s->from = s->end = (struct position){ 0 };
}

/*
 * HINDSIGHT_PATIENT=1: a write log may take as long as it likes (tests: on a machine that others
 * keep busy there would be none).
 */
static bool is_late(const struct write_log *s)
{
	static int patient = -1;

	if (patient < 0)
		patient = getenv("HINDSIGHT_PATIENT") != NULL;
	return !patient && now_ns() - s->began_ns >= SLOWER * s->length_ns + LATE_NS;
}

/* Its answer, if it is there, or else when it is late: then there is none. */
static void hear(struct write_log *s)
{
	struct pollfd p = { s->worker ? rp_worker_fd(s->worker) : -1, POLLIN, 0 };
	bool there = s->worker && poll(&p, 1, 0) > 0;

	if (!s->worker || (!there && !is_late(s)))
		return;
	if (there && rp_worker_write_log_done(s->worker, &s->bitmap)) {
		s->failures = 0;
		log_debug("logged: %.0f ms of computing in %.0f ms", (double)s->length_ns / 1e6,
			  (double)(now_ns() - s->began_ns) / 1e6);
		note(s, true);
	} else {
		s->failures++;
		if (s->failures >= FAILURES_MAX)
			s->rests_until_ns = now_ns() + REST_NS;
		log_debug(there ? "a write log failed" : "a write log was given up");
		note(s, false);		/* it would be again */
	}
	forget(s);
}

/* ---- what is to be looked at ----------------------------------------------------------------- */

static bool is_known(const struct write_log *s, const struct position *p)
{
	for (unsigned i = 0; i < LOGGED_MAX; i++) {
		if (s->done[i] && position_within(&s->done[i]->from, p, &s->done[i]->end))
			return true;
	}
	return false;
}

/*
 * The oldest checkpoint with something behind it that is not known, not longer ago than that; NULL:
 * there is none.
 */
static struct rp_checkpoint *beginning(struct replay *r, const struct write_log *s, uint64_t ago_ns,
				       bool *more)
{
	const struct timeline *timeline = timeline_of(r);
	struct rp_checkpoint *c = rp_checkpoint_before(r, &timeline->pos, true), *first = NULL;

	*more = false;
	/* not `older': that may be on another way */
	for (; c && !c->pos.pending && c->clock_ns <= timeline->clock_ns;
	     c = rp_checkpoint_before(r, &c->pos, true)) {
		if (c->clock_ns + ago_ns < timeline->clock_ns && first) {
			*more = true;
			return first;
		}
		first = c;
		if (is_known(s, &c->pos))
			break;
	}
	return first;
}

/* Chooses the interval to log next, half a second or so; *from is NULL when there is none. */
static void choose(struct replay *r, const struct write_log *s, struct rp_checkpoint **from,
		   const struct position **end, uint64_t *length_ns)
{
	const struct timeline *timeline = timeline_of(r);
	struct rp_checkpoint *c;
	bool more;

	*from = beginning(r, s, BEHIND_NS, &more);
	if (more)
		*from = beginning(r, s, LOGGED_NS, &more);
	*end = &timeline->pos;
	if (!*from)
		return;
	*length_ns = timeline->clock_ns - (*from)->clock_ns;
	for (c = rp_checkpoint_before(r, &timeline->pos, true);
	     c && c != *from && *length_ns > LOGGED_NS;
	     c = rp_checkpoint_before(r, &c->pos, true)) {
		*end = &c->pos;
		*length_ns = c->clock_ns - (*from)->clock_ns;
	}
	if (*end == &timeline->pos && *length_ns < LOGGED_MIN_NS)
		*from = NULL;
}

/* Private data of a file, and what follows it without one. */
static bool is_data(const struct tracee_map *m, const struct tracee_map *before)
{
	if (!(m->prot & PROT_WRITE) || m->shared)
		return false;
	return m->inode || (before && before->end == m->start && before->inode &&
			    (before->prot & PROT_WRITE) && !before->shared);
}

/* An ordinary user is not told by the kernel what has been written to, and gets all pages. */
static bool differs(const struct rp_task *older, const struct rp_task *newer, uint64_t page)
{
	uint8_t was[PAGE_BYTES], is[PAGE_BYTES];

	return tracee_read_some(older->real, page, was, PAGE_BYTES) == PAGE_BYTES &&
	       tracee_read_some(newer->real, page, is, PAGE_BYTES) == PAGE_BYTES &&
	       memcmp(was, is, PAGE_BYTES);
}

static void add_busy(const struct rp_task *older, const struct rp_task *newer, uint64_t start,
		     uint64_t end, struct store_bitmap *m)
{
	uint64_t page[LOOKED_AT];
	unsigned n = rp_pages_written(older, newer, start, end, page, LOOKED_AT);

	for (unsigned i = 0; i < n && m->n < STORE_BITMAP_PAGES; i++) {
		if (differs(older, newer, page[i]))
			m->page[m->n++] = page[i];
	}
}

static void busy_pages(const struct write_log *s, const struct rp_task *older,
		       const struct rp_task *newer, const struct tracee_maps *maps,
		       struct store_bitmap *m)
{
	const struct variables *v = &s->variables;
	unsigned told = v->pid == newer->rec_pid ? v->n : 0, next;

	*m = (struct store_bitmap){ .pid = newer->rec_pid };
	for (unsigned i = 0; i < told && m->n < STORE_BITMAP_PAGES; i = next) {
		for (next = i + 1; next < told && v->page[next] == v->page[next - 1] + PAGE_BYTES;
		     next++)
			;
		add_busy(older, newer, v->page[i], v->page[next - 1] + PAGE_BYTES, m);
	}
	for (size_t i = 0; !m->n && i < maps->n; i++) {
		const struct tracee_map *at = &maps->map[i];
		uint64_t end = at->end < at->start + LOOKED_AT * PAGE_BYTES
				       ? at->end
				       : at->start + LOOKED_AT * PAGE_BYTES;

		if (is_data(at, i ? at - 1 : NULL))
			add_busy(older, newer, at->start, end, m);
	}
}

/* *worth: there is something to look at. */
static struct err *give_out(struct replay *r, const struct rp_task *t, struct write_log *s,
			    struct rp_checkpoint *c, bool *worth)
{
	const struct rp_task *older = rp_task_with_memory(c->copy->tasks, t->rec_pid);
	struct tracee_maps maps;
	bool can = false, stops = false;

	*worth = false;
	s->bitmap = (struct store_bitmap){ .pid = t->rec_pid };
	if (older)
		TRY(rp_worker_can(r, c, &s->end, &can));
	if (can)
		TRY(rp_events_stop(r, c->pos.where, s->end.where, &stops));
	if (can && !stops) {
		TRY(tracee_maps_read(t->real, &maps));
		busy_pages(s, older, t, &maps, &s->bitmap);
		tracee_maps_deinit(&maps);
	}
	*worth = s->bitmap.n != 0;
	if (*worth)
		return rp_worker_write_log(r, c, &s->end, &s->bitmap, &s->worker);
	note(s, false);
	return NULL;
}

static void next_one(struct replay *r, const struct rp_task *t, struct write_log *s)
{
	struct rp_checkpoint *c;
	const struct position *end;
	struct err *err;
	bool worth;

	choose(r, s, &c, &end, &s->length_ns);
	if (!c || !position_leads(&c->pos, end))
		return;
	position_copy(&s->from, &c->pos);
	position_copy(&s->end, end);
	s->began_ns = now_ns();
	err = give_out(r, t, s, c, &worth);
	if (err) {
		log_debug("no write log: %s", err->msg);
		note(s, false);
	}
	if (worth && !s->worker) {
		log_debug("no write log: no processor is idle");
		s->rests_until_ns = now_ns() + BUSY_NS;
	}
	if (!s->worker)
		forget(s);
	err_free(err);
}

void write_log_feed(struct replay *r, const struct rp_task *t)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct reverse *reverse = reverse_of(r);
	struct write_log *s = reverse->write_log;

	if (stops->bitmap || !rp_workers() || timeline->pos.pending)
		return;
	if (!s)
		s = reverse->write_log = calloc(1, sizeof(*s));
	if (!s)
		return;
	hear(s);
	if (!s->worker && now_ns() >= s->rests_until_ns && !is_known(s, &timeline->pos))
		next_one(r, t, s);
}

bool replay_idle(struct replay *r)
{
	const struct rp_task *t = rp_task_find(r, timeline_of(r)->current);
	const struct write_log *s = reverse_of(r)->write_log;
	bool had;

	if (!s || !t || t->real <= 0 || stops_of(r)->diverted || r->pending)
		return false;
	had = r->ev_read;
	write_log_feed(r, t);
	if (had && !r->ev_read)		/* others may ask about it */
		err_free(rp_next(r));
	return s->worker || (now_ns() < s->rests_until_ns && !is_known(s, &timeline_of(r)->pos));
}

void replay_variables(struct replay *r, int pid, const uint64_t *page, unsigned n)
{
	struct reverse *reverse = reverse_of(r);
	uint64_t *copy = malloc(n * sizeof(*copy) + 1);

	if (!reverse->write_log)
		reverse->write_log = calloc(1, sizeof(*reverse->write_log));
	if (!reverse->write_log || !copy) {
		free(copy);
		return;
	}
	if (n)
		memcpy(copy, page, n * sizeof(*copy));
	free(reverse->write_log->variables.page);
	reverse->write_log->variables = (struct variables){ pid, copy, n };
}

void write_log_hear(struct replay *r)
{
	if (reverse_of(r)->write_log)
		hear(reverse_of(r)->write_log);
}

void write_log_free(struct reverse *reverse)
{
	struct write_log *s = reverse->write_log;

	if (!s)
		return;
	forget(s);
	for (unsigned i = 0; i < LOGGED_MAX; i++)
		drop(s->done[i]);
	free(s->variables.page);
	free(s);
	reverse->write_log = NULL;
}

/* ---- what is known of it --------------------------------------------------------------------- */

static bool is_written(const struct logged *s, const struct replay_break *b)
{
	for (uint64_t at = b->addr; at < b->addr + b->len; at++) {
		unsigned i = 0;

		while (i < s->n && at - s->page[i] >= STORE_BITMAP_PAGE)
			i++;
		if (i == s->n || s->written[i][(at - s->page[i]) / 8] >> (at - s->page[i]) % 8 & 1)
			return true;
	}
	return false;
}

static bool passes(const struct logged *s, const struct rp_set *user)
{
	for (unsigned i = 0; i < user->n; i++) {
		if (user->b[i].kind == REPLAY_WRITE &&
		    (user->b[i].pid != s->pid || is_written(s, &user->b[i])))
			return false;
	}
	return true;
}

const struct position *write_log_before(const struct replay *r, const struct position *end)
{
	const struct stops *stops = stops_of(r);
	const struct timeline *timeline = timeline_of(r);
	const struct reverse *reverse = reverse_of(r);
	const struct write_log *s = reverse->write_log;

	for (unsigned i = 0; s && i < LOGGED_MAX; i++) {
		const struct logged *x = s->done[i];

		if (x && position_within(&x->from, end, &x->end) &&
		    passes(x, stops->sets[timeline->user]))
			return &x->from;
	}
	return NULL;
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void read_pages(const struct replay *r, const struct store_bitmap *m,
		       uint8_t bytes[STORE_BITMAP_PAGES][STORE_BITMAP_PAGE],
		       bool there[STORE_BITMAP_PAGES])
{
	const struct rp_task *t = rp_task_with_memory(r->tasks, m->pid);

	for (unsigned i = 0; i < m->n; i++)
		there[i] = t && tracee_read_some(t->real, m->page[i], bytes[i],
						 STORE_BITMAP_PAGE) == STORE_BITMAP_PAGE;
}

static bool makes_or_ends(const struct trace_event *ev)
{
	bool makes = ev->kind == TRACE_EXEC || ev->kind == TRACE_EXIT;

	for (uint32_t i = 0; i < ev->effects_len; i++)
		makes |= ev->effects[i].kind == TRACE_TASK;
	return makes;
}

void write_log_event(struct replay *r, bool after)
{
	static uint8_t was[STORE_BITMAP_PAGES][STORE_BITMAP_PAGE],
		is[STORE_BITMAP_PAGES][STORE_BITMAP_PAGE];
	static bool there[STORE_BITMAP_PAGES];
	bool still[STORE_BITMAP_PAGES];
	struct store_bitmap *m = stops_of(r)->bitmap;

	if (!after) {
		if (makes_or_ends(&r->ev))
			store_bitmap_all(m);
		read_pages(r, m, was, there);
		return;
	}
	read_pages(r, m, is, still);
	for (unsigned i = 0; i < m->n; i++) {
		for (unsigned k = 0; k < STORE_BITMAP_PAGE; k++)
			m->byte[i][k] |= !there[i] || !still[i] || was[i][k] != is[i][k];
	}
}

struct err *write_log_run(struct replay *r, struct store_bitmap *m, const struct position *end,
			  bool *good)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct replay_break b[STORE_BITMAP_PAGES];
	struct rp_found found = { 0 };

	*good = false;
	stops->bitmap = m;
	for (unsigned i = 0; i < m->n; i++)	/* of no length: nothing stops there */
		b[i] = (struct replay_break){ .kind = REPLAY_WRITE,
					      .pid = m->pid,
					      .addr = m->page[i] };
	timeline->user = rp_set_intern(r, b, m->n);
	TRY(rp_scan(r, end, true, &found));
	rp_int3_out(r);
	for (struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->real && t->rec_pid == m->pid)
			TRY(dual_bitmap(t, m));
	}
	*good = !found.found && !rp_user_interrupt(INTERRUPT_GIVES_UP);
	return NULL;
}
