/*
 * mismatch.c - matches that may be wrong, and the way back from them.
 *
 * A point in computing code is found by its state (search.c).  Where the recorder could not look at
 * all of a program's memory, an earlier pass may look just like the point: then a later event does
 * not agree, and the replay goes back to the match to look for the next one.  For that, copies of
 * all processes are kept (machine/copy.c): of each such match, and where the search ran untested
 * for a while, and so may have passed the point, of its beginning.
 *
 *	match, next match, ... until the task's next call;  then from the beginning without running
 *	untested;  then the mismatch before
 *
 * It may also be that the program has seen our jump: once gone back, the event that failed is
 * searched in copies of code that can change (mismatch_failed_at()).
 *
 * Bounds, in processor time: the last MISMATCHES_MAX mismatches; going back on behalf of one
 * failure ends after BACK_NS: what failed first is what is reported then.  And as long as no match
 * has proved wrong, there are no copies while replay takes longer than one and a half times the
 * recording, or when all copies have taken a sixth of it (those of a browser's processes take a
 * tenth of a second, and there are hundreds of such points).
 *
 * Where the replay is only run to its end, nothing is kept in the first ANEW_NS of the recording: a
 * failure there leads to another replay from the beginning, with copies.
 *
 * Output that a wrong way has made cannot be taken back: it waits as long as there is a mismatch in
 * front of it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "replayer/landmark/landmark.h"
#include "replayer/machine/copy.h"
#include "replayer/machine/effect.h"

enum { MISMATCHES_MAX = 12, OUTPUT_MAX = 4 << 20, TRIES_MAX = 3000, TRIES_BLIND = 60 };
#define FREE_NS 100000000ull
#define ANEW_NS 2000000000ull
#define COPY_LEAST_NS 1000000ull
#define BACK_NS 30000000000ull

struct mismatch {
	uint64_t event;
	struct rp_copy *match, *start;	/* either may be NULL */
	size_t output;				/* how much there was before it */
	unsigned tries;
};

struct output { int fd; size_t len; };

struct mismatches {
	struct mismatch d[MISMATCHES_MAX];
	unsigned n;
	uint64_t began_ns, began_spent_ns, began_recorded_ns, copy_ns;	/* a copy takes so long */
	uint64_t copies_ns;			/* processor time of all of them */
	bool refused;				/* a copy could not be made */
	bool wrong;				/* a match was, at least one */
	bool left_out;				/* a copy was, since the replay can begin anew */
	/* going back */
	struct err *failure;			/* the first, or NULL */
	uint64_t failed_at, back_ns;		/* back_ns: processor time */
	enum rp_search how;			/* at event how_at */
	uint64_t how_at;
	/* held back: each piece as a struct output and its bytes */
	char *output;
	size_t output_len, output_room;
};

/*
 * Processor time of the replayer and of what it replays: a machine that others keep busy leaves us
 * no fewer ways to go.  Of tasks that have ended it is known where they were our own children.
 */
static uint64_t spent_ns(const struct replay *r)
{
	struct rusage ended;
	uint64_t ns = rp_processor_ns(0);

	if (!getrusage(RUSAGE_CHILDREN, &ended))
		ns += (uint64_t)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1000000000 +
		      (uint64_t)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec) * 1000;
	for (const struct rp_task *t = r->tasks; t; t = t->next)
		ns += t->real > 0 ? rp_processor_ns(t->real) : 0;
	return ns;
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static struct mismatches *mismatches(struct replay *r)
{
	if (!landmarks_of(r)->mismatches) {
		landmarks_of(r)->mismatches = alloc_zeroed(1, sizeof(*landmarks_of(r)->mismatches),
							   "a mismatch");
		landmarks_of(r)->mismatches->began_ns = now_ns();
		landmarks_of(r)->mismatches->began_spent_ns = spent_ns(r);
		landmarks_of(r)->mismatches->began_recorded_ns = r->ev.time_ns;
	}
	return landmarks_of(r)->mismatches;
}

/* ---- output ---------------------------------------------------------------------------- */

/* Output before `at' in the buffer cannot be wrong any more, and is written. */
static void let_out(struct replay *r, size_t at)
{
	struct mismatches *b = landmarks_of(r)->mismatches;
	size_t done = 0;

	if (!at)
		return;
	while (done < at) {
		struct output o;

		memcpy(&o, b->output + done, sizeof(o));
		rp_write_all(o.fd, b->output + done + sizeof(o), o.len);
		landmarks_of(r)->echoed += o.len;
		done += sizeof(o) + o.len;
	}
	memmove(b->output, b->output + at, b->output_len - at);
	b->output_len -= at;
	for (unsigned i = 0; i < b->n; i++)
		b->d[i].output -= b->d[i].output < at ? b->d[i].output : at;
}

/* ---- the list, oldest first --------------------------------------------------------------- */

static void copies_drop(struct mismatch *d)
{
	rp_copy_drop(d->match);
	rp_copy_drop(d->start);
	d->match = d->start = NULL;
}

static void newest_drop(struct replay *r)
{
	struct mismatches *b = landmarks_of(r)->mismatches;

	copies_drop(&b->d[--b->n]);
}

static void oldest_drop(struct replay *r)
{
	struct mismatches *b = landmarks_of(r)->mismatches;

	copies_drop(&b->d[0]);
	memmove(&b->d[0], &b->d[1], --b->n * sizeof(b->d[0]));
	let_out(r, b->n ? b->d[0].output : b->output_len);
}

static void all_drop(struct replay *r)
{
	while (landmarks_of(r)->mismatches->n)
		oldest_drop(r);
}

/*
 * Is there any sense in a look at the next match?  A search that ran untested may have passed the
 * point: then soon from the start.
 */
static bool next_left(const struct mismatch *d)
{
	return d->match && d->tries < (d->start ? TRIES_BLIND : TRIES_MAX);
}

static struct mismatch *newest_of(struct replay *r, uint64_t n)
{
	struct mismatches *b = mismatches(r);
	struct mismatch *d = b->n ? &b->d[b->n - 1] : NULL;

	return d && d->event == n ? d : NULL;
}

static struct mismatch *add(struct replay *r, uint64_t n)
{
	struct mismatches *b = mismatches(r);

	if (b->n == MISMATCHES_MAX)
		oldest_drop(r);
	b->d[b->n] = (struct mismatch){ .event = n, .output = b->output_len };
	return &b->d[b->n++];
}

/*
 * Before where the failure was that one has gone back for: once it is overcome, all is as before.
 */
bool mismatch_failed(const struct replay *r)
{
	return landmarks_of(r)->mismatches && landmarks_of(r)->mismatches->failure &&
	       r->where < landmarks_of(r)->mismatches->failed_at;
}

bool mismatch_failed_at(const struct replay *r, uint64_t n)
{
	const struct mismatches *b = landmarks_of(r)->mismatches;

	return b && b->failure && b->failed_at == n;
}

/* Is the way back to the beginning short enough to do without another? */
static bool may_begin_anew(const struct replay *r)
{
	return r->options.undisturbed && r->ev.time_ns < ANEW_NS;
}

/*
 * Is there time for a copy, which may save so much?  Most of what it costs comes later: the first
 * write to each page.
 */
static bool affordable(struct replay *r, uint64_t saves_ns)
{
	struct mismatches *b = mismatches(r);
	uint64_t recorded = r->ev.time_ns - b->began_recorded_ns,
		 most = FREE_NS + recorded + recorded / 2,
		 cost = b->copy_ns > COPY_LEAST_NS ? b->copy_ns : COPY_LEAST_NS;

	if (b->wrong || mismatch_failed(r) || 8 * cost < saves_ns)
		return true;
	if (may_begin_anew(r)) {
		b->left_out = true;
		return false;
	}
	if (b->refused || b->copies_ns >= FREE_NS + recorded / 6)
		return false;
	return now_ns() - b->began_ns < most || since(spent_ns(r), b->began_spent_ns) < most;
}

static struct err *take(struct replay *r, uint64_t saves_ns, struct rp_copy **ret)
{
	uint64_t start = now_ns(), spent = spent_ns(r);
	struct err *err;

	*ret = NULL;
	if (!affordable(r, saves_ns)) {
		/* some day it is tried again */
		landmarks_of(r)->mismatches->copy_ns -= landmarks_of(r)->mismatches->copy_ns / 8;
		return NULL;
	}
	err = rp_copy_take(r, ret);
	/* too many descriptors, say: it goes on without, and does not try again at each */
	if (err) {
		log_debug("no copy to go back to: %s", err->msg);
		err_free(err);
		*ret = NULL;
		landmarks_of(r)->mismatches->refused = true;
		return NULL;
	}
	landmarks_of(r)->mismatches->copy_ns =
		(landmarks_of(r)->mismatches->copy_ns * 3 + (now_ns() - start) * 2) / 4;
	landmarks_of(r)->mismatches->copies_ns += since(spent_ns(r), spent);
	return NULL;
}

/* ---- what search.c asks and tells --------------------------------------------------------- */

enum rp_search mismatch_how(struct replay *r, uint64_t n)
{
	struct mismatches *b = landmarks_of(r)->mismatches;
	enum rp_search how = b && b->how_at == n ? b->how : SEARCH_FIRST;

	if (b)
		b->how_at = 0;
	return how;
}

struct err *mismatch_start(struct replay *r, uint64_t n, uint64_t saves_ns, bool *kept)
{
	struct rp_copy *start;

	TRY(take(r, saves_ns, &start));
	*kept = start != NULL;
	if (start)
		add(r, n)->start = start;
	return NULL;
}

struct err *mismatch_match(struct replay *r, uint64_t n)
{
	struct rp_copy *match = NULL;
	struct mismatch *d = newest_of(r, n);

	TRY(take(r, 0, &match));
	if (!d && match)
		d = add(r, n);
	if (d) {
		d->match = match;
		d->tries++;
	}
	return NULL;
}

void mismatch_settle(struct replay *r, uint64_t n)
{
	if (!landmarks_of(r)->mismatches || !newest_of(r, n))
		return;
	newest_drop(r);
	if (!landmarks_of(r)->mismatches->n)
		let_out(r, landmarks_of(r)->mismatches->output_len);
}

bool mismatch_left(const struct replay *r)
{
	const struct mismatches *b = landmarks_of(r)->mismatches;
	bool left = false;

	for (unsigned i = 0; b && i < b->n; i++)
		left |= next_left(&b->d[i]) || b->d[i].start;
	return left;
}

/* What has been written before the replay began anew is not written again. */
static size_t echo_again(struct replay *r, size_t len)
{
	struct landmarks *l = landmarks_of(r);
	size_t n = l->echo_again < len ? (size_t)l->echo_again : len;

	l->echo_again -= n;
	return n;
}

static bool keep_back(struct replay *r, int fd, const void *bytes, size_t len)
{
	struct output o = { fd, len };
	struct mismatches *b = landmarks_of(r)->mismatches;

	if (!b || !b->n)
		return false;
	if (b->output_len + len > OUTPUT_MAX) {
		all_drop(r);
		return false;
	}
	if (b->output_len + sizeof(o) + len > b->output_room) {
		b->output_room = (b->output_len + sizeof(o) + len) * 2;
		b->output = alloc_more(b->output, b->output_room, 1, "output");
	}
	memcpy(b->output + b->output_len, &o, sizeof(o));
	memcpy(b->output + b->output_len + sizeof(o), bytes, len);
	b->output_len += sizeof(o) + len;
	return true;
}

bool mismatch_echo(struct replay *r, int fd, const void *bytes, size_t len)
{
	size_t done = echo_again(r, len);
	const char *rest = (const char *)bytes + done;

	if (!keep_back(r, fd, rest, len - done)) {
		rp_write_all(fd, rest, len - done);
		landmarks_of(r)->echoed += len - done;
	}
	return true;
}

/* ---- back ------------------------------------------------------------------------------------ */

static void give_up(struct replay *r, struct err **err)
{
	struct mismatches *b = landmarks_of(r)->mismatches;

	if (b->failure) {
		err_free(*err);
		*err = b->failure;
		b->failure = NULL;
	}
	all_drop(r);
}

/* The newest mismatch that leaves another way to go; NULL: none. */
static struct mismatch *choose(struct replay *r)
{
	struct mismatches *b = landmarks_of(r)->mismatches;

	while (b->n) {
		struct mismatch *d = &b->d[b->n - 1];

		if (next_left(d) || d->start)
			return d;
		newest_drop(r);
	}
	return NULL;
}

static struct err *go_back(struct replay *r, struct mismatch *d)
{
	struct mismatches *b = landmarks_of(r)->mismatches;
	bool next = next_left(d);
	struct rp_copy **from = next ? &d->match : &d->start;
	struct err *err = rp_copy_restore(r, *from);

	log_debug("event %" PRIu64 ": back to %s the point of event %" PRIu64 " (%u)", r->ev.n,
		  next ? "behind" : "before", d->event, d->tries);
	rp_copy_drop(*from);
	*from = NULL;
	b->wrong |= next;
	if (!next) {
		copies_drop(d);
		d->tries = 0;
	}
	b->how = next ? SEARCH_NEXT : SEARCH_ANEW;
	b->how_at = d->event;
	b->output_len = d->output;
	return err;
}

/* To the beginning of the recording, where there are no processes yet. */
static struct err *begin_anew(struct replay *r)
{
	struct mismatches *b = landmarks_of(r)->mismatches;
	struct rp_copy none = { .where = 0 };

	log_debug("event %" PRIu64 ": back to the beginning", r->ev.n);
	b->wrong = true;
	b->left_out = false;
	b->output_len = 0;
	landmarks_of(r)->echo_again = landmarks_of(r)->echoed;
	return rp_copy_restore(r, &none);
}

bool mismatch_back(struct replay *r, struct err **err)
{
	struct mismatches *b = landmarks_of(r)->mismatches;
	struct mismatch *d;
	uint64_t now;

	if (!b || rp_watched(r))
		return false;
	now = spent_ns(r);
	if (b->failure && r->where >= b->failed_at) {	/* that one is overcome */
		err_free(b->failure);
		b->failure = NULL;
	}
	if ((*err)->code != ERR_DIVERGED || (b->failure && since(now, b->back_ns) > BACK_NS) ||
	    (!(d = choose(r)) && !b->left_out)) {
		if ((*err)->code == ERR_DIVERGED)
			give_up(r, err);
		return false;
	}
	if (!b->failure) {
		b->failure = *err;
		b->failed_at = r->where + 1;
		b->back_ns = now;
	} else {
		err_free(*err);
	}
	*err = d ? go_back(r, d) : begin_anew(r);
	if (!*err)
		rp_tools_went_back(r, false);
	return *err == NULL;
}

void mismatches_end(struct replay *r)
{
	struct mismatches *b = landmarks_of(r)->mismatches;

	if (!b)
		return;
	all_drop(r);
	let_out(r, b->output_len);
	err_free(b->failure);
	free(b->output);
	free(b);
	landmarks_of(r)->mismatches = NULL;
}
