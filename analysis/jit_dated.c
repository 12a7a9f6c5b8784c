/*
 * jit_dated.c - when code began to be that a jitdump file names.
 *
 * A compiler keeps its records in a buffer: node 20 writes 2 MB of them at once, or all when it
 * ends.  But each record has the time at which it was made, which is what clock_gettime() said to
 * the program then; and what it said is in the recording.  So a record counts from the event on
 * with which the program got this very number.  A record whose number nobody got counts from where
 * the next one does, or from its write.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "abi/records.h"
#include "analysis/jit_log.h"
#include "base/alloc.h"

/* Events that are read for a file, in all: no more than so many times those that there are. */
enum { READ_AGAIN = 8 };

/* The claims of the records of one write, in their order. */
struct dated { uint64_t time, event; uint32_t was; };

void jit_dated_hold(struct jit_log *l, struct written_file *f, const struct jit_named *n)
{
	struct jit_named *to;

	jit_room(&f->said, &f->said_room, f->n_said, sizeof(*f->said));
	to = &f->said[f->n_said++];
	*to = *n;
	to->name = jit_keep_text(l, n->name);
	to->file = jit_keep_text(l, n->file);
}

static int time_compare(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->was < y->was ? -1 : x->was > y->was;
}

struct search {
	struct dated *d;		/* by time */
	size_t n, found;
	uint64_t last;			/* event of the last that was found */
};

/* The program got this time with that event. */
static void time_got(struct search *s, const uint8_t *bytes, size_t len, uint64_t event)
{
	size_t lo = 0, hi = s->n;
	struct timespec t;
	uint64_t time;

	if (!bytes || len < sizeof(t))
		return;
	memcpy(&t, bytes, sizeof(t));
	time = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->d[mid].time < time)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < s->n && s->d[lo].time == time && !s->d[lo].event; lo++) {
		s->d[lo].event = event;
		s->found++;
		s->last = event;
	}
}

static void event_look(struct search *s, const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];
		struct record_walk w = record_walk_of(e->data, e->data_len);
		struct record_call c;
		size_t len = 0;

		if (e->kind == TRACE_WRITE && ev->nr == SYS_clock_gettime &&
		    e->addr == ev->regs.rsi)
			time_got(s, e->data, e->data_len, ev->n);
		while (e->kind == TRACE_RECORDS && record_next(&w, &c)) {
			const uint8_t *p = c.nr == SYS_clock_gettime
						   ? record_bytes_at(&c, c.args[1], false, &len)
						   : NULL;

			time_got(s, p, len, ev->n);
		}
	}
}

/* Looks at events from f->dated_from on, up to this one. */
static struct err *events_look(struct jit_log *l, struct written_file *f, struct search *s,
			       uint64_t to)
{
	struct trace_event ev;
	struct err *err;

	if (!l->reader)
		TRY(trace_reader_open(l->trace, &l->reader));
	err = trace_reader_seek(l->reader, f->dated_from);
	while (!err && s->found < s->n) {
		err = trace_reader_next(l->reader, &ev);
		if (err || ev.n > to)
			break;
		event_look(s, &ev);
		f->dated_read++;
	}
	return err_catch(&err, ERR_END) ? NULL : err;
}

static void name_all(struct jit_log *l, struct written_file *f, const uint64_t *event)
{
	for (size_t i = 0; i < f->n_said; i++) {
		/* the file has them in the order in which they were made */
		if (event[i] > f->dated_last)
			f->dated_last = event[i];
		jit_named_begin(l, f, &f->said[i], f->dated_last);
	}
	f->n_said = 0;
}

void jit_dated_take(struct jit_log *l, struct written_file *f)
{
	struct dated *d = alloc_zeroed(f->n_said + 1, sizeof(*d), "JIT code");
	uint64_t *event = alloc_zeroed(f->n_said + 1, sizeof(*event), "JIT code");
	struct search s = { .d = d, .n = f->n_said };

	for (size_t i = 0; i < f->n_said; i++)
		d[i] = (struct dated){ .time = f->said[i].time, .was = (uint32_t)i };
	qsort(d, s.n, sizeof(*d), time_compare);
	if (s.n && !f->undated) {
		/* a trace that cannot be read again is one whose records count from their writes */
		err_free(events_look(l, f, &s, f->held_event));
		f->undated = !s.found || f->dated_read > READ_AGAIN * (f->held_event + 1000);
		f->dated_from = s.found ? s.last : f->dated_from;
	}
	for (size_t i = 0; i < s.n; i++)
		event[d[i].was] = d[i].event;
	for (size_t i = s.n; i-- > 0;) {
		if (!event[i])
			event[i] = i + 1 < s.n ? event[i + 1] : f->held_event;
	}
	name_all(l, f, event);
	free(event);
	free(d);
}
