/*
 * store_log.c - values that stubs of dual.c have noted (dual_stub.c), and when that is worth it.
 *
 * A page that is dual-mapped costs some 100 us with each event, and a stop on one more than a stop
 * by a debug register.  So the watchpoint leaves its register when there have been many stops
 * between two events, and gets it back when there are many events between two stores, or many
 * stores that no stub can do.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "replayer/stops/dual.h"
#include "replayer/stops/store_log.h"

enum { STOPS_MIN = 32, STOPS_MOST = 64, PER_STOP = 16, WINDOW = 32, PER_EVENT = 8 };

bool store_log_has(const struct store_log *l, const struct replay_break *b)
{
	return l && l->on && b->kind == REPLAY_WRITE && b->pid == l->def.pid &&
	       b->addr >= l->def.addr && b->addr + b->len <= l->def.addr + l->def.size;
}

static void set_on(struct replay *r, struct store_log *l, bool on)
{
	l->on = on;
	l->stops = l->stops_on = l->logged = l->events = 0;
	stops_of(r)->reallocate = true;
	if (!on)
		l->stops_wanted *= 2;
	log_debug("event %" PRIu64 ": stores are %s", r->ev.n, on ? "logged" : "stops again");
}

void store_log_stopped(struct replay *r)
{
	struct store_log *l = stops_of(r)->log;

	if (!l->on && ++l->stops >= l->stops_wanted)
		set_on(r, l, true);
	else if (l->on && ++l->stops_on >= STOPS_MOST && l->stops_on * PER_STOP > l->logged)
		set_on(r, l, false);
}

void store_log_event(struct replay *r)
{
	struct store_log *l = stops_of(r)->log;

	if (!l->on) {
		l->stops /= 2;
		return;
	}
	if (++l->events < WINDOW)
		return;
	if (l->logged < PER_EVENT * l->events)
		set_on(r, l, false);
	l->logged = l->events = l->stops_on = 0;
}

void store_log_take(struct replay *r, const struct rp_task *t)
{
	struct store_log *l = stops_of(r)->log;
	uint64_t at, head[2], begin, room, n;
	uint64_t *record;

	if (!l || !t || !t->mm || !t->real || t->rec_pid != l->def.pid ||
	    !stops_mm(t->mm)->dual || !stops_mm(t->mm)->dual->log_at)
		return;
	at = stops_mm(t->mm)->dual->log_at;
	begin = at + STORE_LOG_BEGIN;
	room = store_log_room(l);
	if (tracee_read_some(t->real, at, head, sizeof(head)) != sizeof(head) || head[1] >= room)
		return;
	n = room - head[1];
	record = alloc_zeroed(n, store_log_record(l), "a log of stores");
	if (tracee_read_some(t->real, begin, record, n * store_log_record(l)) ==
	    n * store_log_record(l)) {
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t *one = record + i * (1 + l->words);

			l->def.store(l->def.ctx, t->rec_tid, one[0],
				     (const char *)(one + 1) + (l->def.addr - l->first));
		}
	}
	free(record);
	l->logged += n;
	head[0] = begin;
	head[1] = room;
	err_free(tracee_write(t->real, at, head, sizeof(head)));
}

void store_log_begin(struct replay *r, const struct replay_store_log *def)
{
	struct stops *stops = stops_of(r);
	struct store_log *l = def ? alloc_zeroed(1, sizeof(*l), "a log of stores") : NULL;

	stops->reallocate |= stops->log && stops->log->on;
	free(stops->log);
	stops->log = l;
	if (!l)
		return;
	l->def = *def;
	l->first = def->addr & ~7ull;
	l->words = (unsigned)((def->addr + def->size + 7 - l->first) / 8);
	l->stops_wanted = STOPS_MIN;
}
