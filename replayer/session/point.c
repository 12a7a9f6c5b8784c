/*
 * point.c - points in time that a debugger keeps, and their names as text.
 *
 * The text means the same in every session with the trace:
 *
 *	POINT  = EVENT | EVENT ":next" | EVENT { ":" PART }
 *			after that event; just before the next one is made; further
 *	PART   = "+" N | PLACE { "," PLACE } "x" N
 *			N single steps; the N-th stop for these places
 *	PLACE  = [KIND] ADDR [ "." LENGTH ] [ "I" CONDITION ]
 *			hex; KIND = C, H: breakpoints, W, R, A: watchpoints
 *
 * Between two events one task runs, so its process need not be named.  A point that was come to by
 * a long way gets a short name: how often its instruction has been come to since the event.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/page.h"
#include "base/alloc.h"
#include "replayer/machine/event.h"
#include "replayer/machine/processor.h"
#include "replayer/machine/task.h"
#include "replayer/session/session.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"
#include "tracee/pages.h"

enum {
	SHORT_TEXT = 60,
	SHORT_BEGINNING = 40,
	SHORT_WAY_NS = 60000000,
	TEXT_STEPS_MAX = 40,
	STOPS_MAX = 1000,
	PIECE = 128,
	PIECES = 128,
	PLACES_PARSED = 256,
	STEPS_PARSED = 100000000
};

static const char kinds[] = { [REPLAY_BREAK] = 0,   [REPLAY_COUNT] = 'C', [REPLAY_BREAK_HW] = 'H',
			      [REPLAY_WRITE] = 'W', [REPLAY_READ] = 'R',  [REPLAY_ACCESS] = 'A' };

_Static_assert(REPLAY_LAST_MAX == PIECE * PIECES, "what can be watched at once");

struct replay_point {
	struct position pos;
	uint32_t current;
};

/* The present position in the recording, also while a copy of the program runs elsewhere. */
static const struct position *present(const struct replay *r)
{
	return stops_of(r)->diverted ? &session_of(r)->diversion_pos : &timeline_of(r)->pos;
}

struct replay_point *replay_point_here(struct replay *r)
{
	struct replay_point *p = alloc_zeroed(1, sizeof(*p), "a point");

	position_copy(&p->pos, present(r));
	p->current = timeline_of(r)->current;
	return p;
}

struct replay_point *replay_point_copy(const struct replay_point *p)
{
	struct replay_point *copy = alloc_zeroed(1, sizeof(*copy), "a point");

	position_copy(&copy->pos, &p->pos);
	copy->current = p->current;
	return copy;
}

void replay_point_drop(struct replay_point *p)
{
	if (p)
		free(p->pos.steps);
	free(p);
}

bool replay_point_is_here(const struct replay *r, const struct replay_point *p)
{
	return position_same(present(r), &p->pos);
}

uint64_t replay_point_event(const struct replay_point *p)
{
	return p->pos.where;
}

static struct rp_checkpoint *checkpoint_at(struct replay *r, const struct position *pos)
{
	struct rp_checkpoint *c = timeline_of(r)->newest;

	while (c && !position_same(&c->pos, pos))
		c = c->older;
	return c;
}

struct err *replay_point_keep(struct replay *r, const struct replay_point *p, bool keep)
{
	struct rp_checkpoint *c;

	if (keep && !stops_of(r)->diverted && replay_point_is_here(r, p))
		TRY(rp_checkpoint_take(r));
	c = checkpoint_at(r, &p->pos);
	if (c && c->older)	/* the first one stays */
		c->keep = keep;
	return NULL;
}

/* ---- going there -------------------------------------------------------------------------- */

/* The task whose time it is between this event and the next. */
static struct rp_task *running(struct replay *r)
{
	struct err *err = rp_next(r);

	if (err) {
		err_free(err);
		return NULL;
	}
	return rp_task_find(r, r->ev.task);
}

static struct err *go(struct replay *r, const struct position *pos)
{
	struct position start = { 0 };
	struct err *err, *back;

	position_copy(&start, present(r));
	err = rp_goto(r, pos, INTERRUPT_WAITS);
	if (err && err->code == ERR_DIVERGED) {		/* no such point: nothing has happened */
		err_free(err);
		err = err_new(ERR_USAGE, "the recording has no such point");
		timeline_of(r)->pos_stale = true;
		back = rp_goto(r, &start, INTERRUPT_WAITS);
		if (back) {
			err_free(err);
			err = back;
		}
	}
	free(start.steps);
	return err;
}

/* Some way was gone before it turned out that there is no such point: back. */
static struct err *no_point(struct replay *r, const struct replay_point *here, struct err *err,
			    struct replay_stop *ret)
{
	struct err *back = replay_seek(r, here->pos.where, ret);

	if (!back && ret->kind == REPLAY_STOP_STEP)
		back = go(r, &here->pos);
	rp_timer_off();
	rp_int3_out(r);
	timeline_of(r)->current = here->current;
	if (!back)
		return err;
	err_free(err);
	return back;
}

static struct err *point_go(struct replay *r, const struct replay_point *p, struct replay_stop *ret)
{
	struct rp_task *t;
	struct err *err;

	/* the long way can be interrupted */
	TRY(replay_seek(r, p->pos.where, ret));
	if (ret->kind != REPLAY_STOP_STEP || replay_point_is_here(r, p))
		goto out;
	if (r->where != p->pos.where)
		return err_new(ERR_USAGE, "the process shown has no such point");
	rp_timer(RP_TIME_USER);
	err = go(r, &p->pos);
	rp_timer_off();
	rp_int3_out(r);
	if (err)
		return err;
out:
	t = rp_task_find(r, p->current);
	if (ret->kind == REPLAY_STOP_STEP && (p->pos.steps_n || p->pos.pending) && !t)
		t = running(r);
	if (ret->kind == REPLAY_STOP_STEP && t && replay_shown(r, t->rec_pid))
		timeline_of(r)->current = t->serial;
	ret->tid = replay_current(r);
	return NULL;
}

struct err *replay_point_go(struct replay *r, const struct replay_point *p, struct replay_stop *ret)
{
	struct replay_point *here = replay_point_here(r);
	bool named = !timeline_of(r)->pos_stale && !stops_of(r)->diverted;
	struct err *err = point_go(r, p, ret);

	if (err && err->code == ERR_USAGE && named)
		err = no_point(r, here, err, ret);
	replay_point_drop(here);
	return err;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_place(FILE *f, const struct replay *r, const struct replay_break *b)
{
	if (kinds[b->kind])
		fputc(kinds[b->kind], f);
	fprintf(f, "%" PRIx64, b->addr);
	if (b->kind >= REPLAY_WRITE)
		fprintf(f, ".%" PRIx64, b->len);
	if (b->code)
		fprintf(f, "=%" PRIx64, b->code);
	if (b->cond) {
		const struct rp_cond *c = &stops_of(r)->conds[b->cond - 1];

		fputc('I', f);
		for (unsigned i = 0; i < c->len; i++)
			fprintf(f, "%02x", c->bytes[i]);
	}
}

static char *text_of(struct replay *r, const struct position *p)
{
	const struct rp_task *t = p->steps_n ? running(r) : NULL;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	alloc_must(f, "a point");
	fprintf(f, "%" PRIu64 "%s", p->where, p->pending ? ":next" : "");
	for (unsigned i = 0; i < p->steps_n; i++) {
		const struct rp_set *s = stops_of(r)->sets[p->steps[i].set];
		const char *comma = "";

		fputs(p->steps[i].set ? ":" : ":+", f);
		for (unsigned j = 0; j < s->n; j++) {
			if (t && s->b[j].pid != t->rec_pid)
				continue;
			fputs(comma, f);
			put_place(f, r, &s->b[j]);
			comma = ",";
		}
		fprintf(f, "%s%" PRIu64, p->steps[i].set ? "x" : "", p->steps[i].n);
	}
	fclose(f);
	return text;
}

/*
 * Names the point as "the n-th time at this instruction" after *ret; *ret->steps_n = 0 when it
 * cannot be named so.
 */
static struct err *shorter(struct replay *r, const struct position *p, struct position *ret)
{
	struct rp_task *t = running(r);
	struct regs there, here;
	struct replay_break b;
	uint64_t before;
	unsigned set, len;
	struct position base = { 0 };
	struct err *err = NULL;
	bool counted;

	position_copy(&base, ret);
	ret->steps_n = 0;
	if (!t)
		goto out;
	/* else it takes a stop each to get there */
	counted = inprocess_possible(t, t->regs.rip, &len);
	b = (struct replay_break){
		.kind = REPLAY_BREAK, .pid = t->rec_pid, .addr = t->regs.rip, .len = 1,
		.code = counted ? inprocess_code_word(t, t->regs.rip) : 0
	};
	there = t->regs;
	set = rp_set_intern(r, &b, 1);
	err = rp_count_stops(r, set, &base, p, INTERRUPT_WAITS, &before);
	if (err || before == RP_NO_LIMIT || (before > STOPS_MAX && !counted))
		goto out;
	position_add(&base, set, before + 1);
	err = rp_goto(r, &base, INTERRUPT_WAITS);
	if (err)
		goto out;
	t = running(r);
	here = t ? t->regs : (struct regs){ 0 };
	there.eflags &= ~0x10100ull;	/* RF, TF: how we came here */
	here.eflags &= ~0x10100ull;
	/* else in the middle of a repeated string instruction */
	if (!memcmp(&there, &here, sizeof(here)))
		position_copy(ret, &base);
out:
	free(base.steps);
	return err;
}

/*
 * As much of the beginning of p as is short.  Is the way from there to p short, too?  It is gone
 * twice.
 */
static bool beginning(struct replay *r, const struct position *p, struct position *ret)
{
	const struct rp_checkpoint *near = rp_checkpoint_before(r, p, false), *c;

	position_copy(ret, p);
	/* each takes three characters at least */
	ret->steps_n = p->steps_n <= SHORT_BEGINNING / 3 ? p->steps_n - 1 : SHORT_BEGINNING / 3;
	for (;; ret->steps_n--) {
		char *text = text_of(r, ret);
		bool fits = strlen(text) <= SHORT_BEGINNING;

		free(text);
		if (fits || !ret->steps_n)
			break;
	}
	c = rp_checkpoint_before(r, ret, false);
	return c && near &&
	       (near->clock_ns < c->clock_ns + SHORT_WAY_NS || p->steps_n > TEXT_STEPS_MAX);
}

struct err *replay_point_text(struct replay *r, char **ret)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct position p = { 0 }, other = { 0 };
	struct err *err = NULL;
	bool shortened = false;

	position_copy(&p, present(r));
	*ret = text_of(r, &p);
	if (strlen(*ret) > SHORT_TEXT && !stops->diverted && !timeline->pos_stale &&
	    beginning(r, &p, &other)) {
		rp_timer(RP_TIME_USER);
		err = rp_checkpoint_take(r);		/* the way back may be long */
		if (!err)
			err = shorter(r, &p, &other);
		if (err_catch(&err, ERR_DIVERGED))
			other.steps_n = 0;
		if (!err) {
			timeline->pos_stale |= !other.steps_n;
			err = rp_goto(r, &p, INTERRUPT_WAITS);
		}
		rp_timer_off();
		rp_int3_out(r);
		shortened = other.steps_n > 0;
	}
	if (!err && shortened) {
		free(*ret);
		*ret = text_of(r, &other);
	}
	free(p.steps);
	free(other.steps);
	return err;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool take_decimal(const char **p, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	*ret = strtoull(*p, &end, 10);
	*p = end;
	return *ret < RP_NO_LIMIT;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex(const char **p, uint64_t *ret)
{
	const char *start = *p;

	for (*ret = 0; digit(**p) >= 0 && *p - start < 16; (*p)++)
		*ret = *ret << 4 | (unsigned)digit(**p);
	return *p > start && digit(**p) < 0;
}

static bool take_condition(struct replay *r, const char **p, unsigned *ret)
{
	size_t n = strspn(*p, "0123456789abcdef") / 2, at = 0;
	uint8_t *bytes = alloc_zeroed(n + 1, 1, "a condition");
	bool sound = n > 2 && n <= 1 << 16;

	for (size_t i = 0; i < n; i++, *p += 2)
		bytes[i] = (uint8_t)(digit((*p)[0]) << 4 | digit((*p)[1]));
	while (sound && at + 2 <= n)	/* lengths and bytes: see replay_condition() */
		at += 2u + (unsigned)(bytes[at] << 8 | bytes[at + 1]);
	sound = sound && at == n;
	if (sound)
		*ret = replay_condition(r, bytes, (unsigned)n);
	free(bytes);
	return sound;
}

static bool take_place(struct replay *r, const char **p, struct replay_break *b)
{
	*b = (struct replay_break){ .kind = REPLAY_BREAK, .len = 1 };
	for (unsigned k = 1; k < sizeof(kinds); k++) {
		if (**p == kinds[k]) {
			b->kind = (enum replay_break_kind)k;
			++*p;
			break;
		}
	}
	if (!take_hex(p, &b->addr))
		return false;
	if (b->kind >= REPLAY_WRITE &&
	    (*(*p)++ != '.' || !take_hex(p, &b->len) || !b->len || b->len > 255))
		return false;
	if (**p == '=' && (++*p, b->kind >= REPLAY_BREAK_HW || !take_hex(p, &b->code)))
		return false;
	if (**p != 'I')
		return true;
	++*p;
	return b->kind == REPLAY_BREAK && take_condition(r, p, &b->cond);
}

static bool take_pos_step(struct replay *r, const char **p, int pid, struct position *pos)
{
	struct replay_break b[PLACES_PARSED];
	unsigned n = 0, watches = 0;
	uint64_t count;

	if (**p == '+') {
		++*p;
		if (!take_decimal(p, &count) || !count || count > STEPS_PARSED)
			return false;
		position_add(pos, 0, count);
		return true;
	}
	do {
		if (n == PLACES_PARSED || !take_place(r, p, &b[n]))
			return false;
		b[n].pid = pid;
		watches += b[n++].kind >= REPLAY_WRITE;
	} while (*(*p)++ == ',');
	if ((*p)[-1] != 'x' || !take_decimal(p, &count) || !count || (watches && n > WATCHES_MAX))
		return false;
	position_add(pos, rp_set_intern(r, b, n), count);
	return true;
}

struct err *replay_point_parse(struct replay *r, const char *text, struct replay_point **ret)
{
	struct replay_point *point = alloc_zeroed(1, sizeof(*point), "a point");
	const char *p = text;
	bool sound;

	sound = take_decimal(&p, &point->pos.where);
	if (sound && !strcmp(p, ":next")) {
		point->pos.pending = true;
	} else if (sound && *p) {
		struct replay_stop stop;
		struct replay_point *here = replay_point_here(r);
		/* whose time is it then? */
		struct err *err = replay_seek(r, point->pos.where, &stop);
		struct rp_task *t = !err && r->where == point->pos.where ? running(r) : NULL;
		int pid = t ? t->rec_pid : 0;

		if (!err)
			err = replay_point_go(r, here, &stop);
		replay_point_drop(here);
		if (err) {
			replay_point_drop(point);
			return err;
		}
		while (sound && *p == ':') {
			p++;
			sound = pid && take_pos_step(r, &p, pid, &point->pos);
		}
		sound = sound && !*p;
	}
	if (sound) {
		*ret = point;
		return NULL;
	}
	replay_point_drop(point);
	return err_new(
		ERR_USAGE,
		"'%.60s' is no point in this recording: give an event number, or what `when' "
		"prints as position",
		text);
}

/* ---- who wrote this last, and when was that -------------------------------------------------- */

/*
 * In front of the last write of a process to memory that is shared: is what it wrote still there at
 * `here', where the bytes are `now'?  Else another process has written since.
 */
static struct err *last_holds(struct replay *r, const struct replay_stop *at, uint64_t addr,
			      const void *now, uint64_t len, bool *holds)
{
	struct replay_point *here = replay_point_here(r);
	char *then = alloc_zeroed(1, len, "memory");
	struct replay_stop stop;
	int tid = at->tid ? at->tid : replay_current(r);
	struct err *err = replay_step(r, tid, 0, 0, &stop);

	if (!err)
		*holds = replay_memory(r, tid, addr, then, len) == len &&
			 !memcmp(then, now, len);
	if (!err)
		err = replay_point_go(r, here, &stop);
	replay_point_drop(here);
	free(then);
	return err;
}

struct err *replay_last_write(struct replay *r, int tid, uint64_t addr, uint64_t len,
			      struct replay_stop *ret)
{
	struct replay_break b[PIECES];
	struct timeline *timeline = timeline_of(r);
	const struct rp_task *task = rp_task_of_tid(r, tid);
	struct replay_task t[1];
	struct replay_point *here;
	struct replay_catch catching;
	unsigned n = 0, user, calls;
	int pid = task ? task->rec_pid : 0;
	bool holds = true;
	char *now = NULL;
	struct err *err;

	if (!len || len > REPLAY_LAST_MAX)
		return err_new(ERR_USAGE, "%" PRIu64 " bytes are too many to watch", len);
	if (!pid || !replay_tasks(r, false, t, 1))
		return &err_gone;
	for (uint64_t at = 0; at < len; at += PIECE)
		b[n++] = (struct replay_break){ .kind = REPLAY_WRITE, .pid = pid, .addr = addr + at,
						.len = len - at < PIECE ? len - at : PIECE };
	if (rp_memory_shared(task, addr)) {
		now = alloc_zeroed(1, len, "memory");
		replay_memory(r, tid, addr, now, len);
	}
	here = replay_point_here(r);
	user = timeline->user;
	catching = timeline->catching;
	calls = timeline->caught_n;
	/* forks, signals and calls that the debugger stops for are not what is looked for */
	timeline->catching = (struct replay_catch){ .pass_signals = UINT64_MAX };
	timeline->caught_n = 0;
	err = replay_breaks(r, b, n);
	if (!err)
		err = replay_backward(r, ret);
	timeline->user = user;
	timeline->catching = catching;
	timeline->caught_n = calls;
	if (!err && now && ret->kind == REPLAY_STOP_WATCH)
		err = last_holds(r, ret, addr, now, len, &holds);
	if (!err && (ret->kind == REPLAY_STOP_BEGIN || !holds)) {
		err = replay_point_go(r, here, ret);
		ret->kind = REPLAY_STOP_BEGIN;
	}
	if (!err && !holds)
		err = err_new(ERR_USAGE, "another process was the last to change this shared "
					 "memory: "
					 "'hindsight heap --history=EXPR' tells which");
	replay_point_drop(here);
	free(now);
	return err;
}

uint64_t replay_elapsed_ns(struct replay *r)
{
	struct trace_event ev = { 0 };
	struct err *err;

	if (!r->where)
		return 0;
	err = trace_reader_seek(r->reader, r->where);
	if (!err)
		err = trace_reader_next(r->reader, &ev);
	if (!err && r->ev_read)
		err = trace_reader_next(r->reader, &r->ev);
	if (!err && r->ev_read)
		err = rp_machine_event(r, &r->ev);
	err_free(err);
	return ev.time_ns;
}
