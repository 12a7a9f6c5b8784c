/*
 * debug_registers.c - which data watchpoints of a set get the debug registers; the others are
 * watched by pages (page_watch.c, dual.c).
 *
 * A register costs a stop for each write, also for one that changes nothing.  A watchpoint that has
 * had many of those for nothing does not get one any more, in any set: in dual-mapped pages such a
 * store is not even a stop.  Stops that are none for nothing cost more there (up to some
 * milliseconds, for what has been put into the program comes out and in again), so that after some
 * of them it gets its register back, and then keeps it longer.  Names of positions do not depend on
 * any of this (breakpoints.c).
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "base/alloc.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/stops.h"
#include "replayer/stops/store_log.h"

/*
 * SILENT_MOST: 20 to 50 us each, for each stop that was one, when there have been SILENT_FEW;
 * HITS_MOST: of those without a register.
 */
enum { SILENT_FEW = 2048, SILENT_MOST = 256, HITS_MOST = 64 };

unsigned rp_registers(void)
{
	return debug_registers_work() ? DEBUG_REGISTERS : 0;
}

unsigned rp_register_bytes(uint64_t addr, uint64_t end)
{
	unsigned n = 8;

	while (n > 1 && ((addr & (n - 1)) || addr + n > end))
		n /= 2;
	return n;
}

/* How many registers it needs. */
static unsigned chunks(const struct replay_break *b)
{
	unsigned n = 0;

	for (uint64_t a = b->addr; a < b->addr + b->len && n <= DEBUG_REGISTERS; n++)
		a += rp_register_bytes(a, b->addr + b->len);
	return n;
}

/* How many watchpoints share the page of this one. */
static unsigned neighbours(const struct rp_set *s, unsigned which)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		n += rp_is_watch(&s->b[i]) && s->b[i].pid == s->b[which].pid &&
		     s->b[i].addr / PAGE_BYTES == s->b[which].addr / PAGE_BYTES;
	return n;
}

static struct rp_silent *silent_of(const struct stops *stops, const struct replay_break *b)
{
	for (unsigned i = 0; i < stops->silent_n; i++) {
		if (!memcmp(&stops->silent[i].b, b, sizeof(*b)))
			return &stops->silent[i];
	}
	return NULL;
}

static bool is_silent(const struct stops *stops, const struct replay_break *b)
{
	const struct rp_silent *x = silent_of(stops, b);

	return x && x->out;
}

static struct rp_silent *silent_new(struct stops *stops, const struct replay_break *b)
{
	struct rp_silent *x;

	stops->silent = alloc_more(stops->silent, stops->silent_n + 1, sizeof(*stops->silent),
				   "watchpoints");
	x = &stops->silent[stops->silent_n++];
	memset(x, 0, sizeof(*x));
	memcpy(&x->b, b, sizeof(*b));
	return x;
}

void debug_registers_allocate(const struct stops *stops, struct rp_set *s)
{
	unsigned allocated = 0;

	memset(s->dr, 0, sizeof(s->dr));
	s->registers = 0;
	for (unsigned i = 0; i < s->n; i++)
		s->registers += s->b[i].kind == REPLAY_BREAK_HW;
	/* Registers go to those that are alone on their pages first: a page less to protect. */
	for (;;) {
		unsigned best = UINT32_MAX, least = UINT32_MAX;

		for (unsigned i = 0; i < s->n && i < WATCHES_MAX; i++) {
			unsigned n;

			if (!rp_is_watch(&s->b[i]) || !s->b[i].len /* write_log.c */ ||
			    rp_set_register(s, i) ||
			    s->registers + chunks(&s->b[i]) > rp_registers() ||
			    is_silent(stops, &s->b[i]) || store_log_has(stops->log, &s->b[i]))
				continue;
			n = neighbours(s, i);
			if (n < least) {
				least = n;
				best = i;
			}
		}
		if (best == UINT32_MAX)
			break;
		s->dr[best / 64] |= 1ull << (best % 64);
		s->registers += chunks(&s->b[best]);
		allocated++;
	}
	s->soft = allocated < s->watches;
}

bool rp_set_register(const struct rp_set *s, unsigned i)
{
	return s->b[i].kind == REPLAY_BREAK_HW ||
	       (i < WATCHES_MAX && (s->dr[i / 64] >> (i % 64) & 1));
}

uint64_t rp_registers_of(const struct rp_set *s, unsigned which, int pid)
{
	unsigned n = 0;

	for (unsigned i = 0; i <= which; i++) {
		const struct replay_break *b = &s->b[i];
		uint64_t end = b->addr + (b->kind == REPLAY_BREAK_HW ? 1 : b->len), bits = 0;

		if (b->pid != pid || !rp_set_register(s, i))
			continue;
		for (uint64_t a = b->addr; a < end && n < DEBUG_REGISTERS; bits |= 1u << n++)
			a += b->kind == REPLAY_BREAK_HW ? 1 : rp_register_bytes(a, end);
		if (i == which)
			return bits;
	}
	return 0;
}

bool debug_registers_silent(struct stops *stops, const struct rp_set *s, int pid)
{
	bool many = false;

	for (unsigned i = 0; i < s->n && i < WATCHES_MAX; i++) {
		const struct replay_break *b = &s->b[i];
		struct rp_silent *x;

		if (b->kind != REPLAY_WRITE || b->pid != pid || !rp_set_register(s, i) ||
		    !(stops->dr_hit & rp_registers_of(s, i, pid)))
			continue;
		x = silent_of(stops, b);
		if (!x)
			x = silent_new(stops, b);
		if (++x->n < SILENT_FEW || x->n / SILENT_MOST <= x->hits)
			continue;
		x->out = many = true;
		x->since = 0;
	}
	stops->reallocate |= many;
	return many;
}

void debug_registers_hit(struct stops *stops, const struct rp_set *s,
			 const uint64_t hit[WATCHES_MAX / 64])
{
	for (unsigned i = 0; stops->silent_n && i < s->n && i < WATCHES_MAX; i++) {
		struct rp_silent *x =
			hit[i / 64] >> (i % 64) & 1 ? silent_of(stops, &s->b[i]) : NULL;

		if (!x)
			continue;
		x->hits++;
		if (!x->out || ++x->since < HITS_MOST)
			continue;
		x->out = false;
		x->n = 0;
		stops->reallocate = true;
	}
}

void debug_registers_reallocate(struct replay *r)
{
	struct stops *stops = stops_of(r);

	if (!stops->reallocate)
		return;
	stops->reallocate = false;
	rp_tools_remove_code(r);
	for (unsigned i = 0; i < stops->sets_n; i++) {
		if (stops->sets[i]->watches)
			debug_registers_allocate(stops, stops->sets[i]);
	}
	stops->dr_gen++;
	log_debug("event %" PRIu64 ": debug registers are allocated anew", r->ev.n);
}

bool rp_debug_register_set(pid_t real, unsigned n, uint64_t value)
{
	return ptrace(PTRACE_POKEUSER, real, offsetof(struct user, u_debugreg) + 8ul * n, value) ==
	       0;
}

uint64_t rp_debug_hits(struct rp_task *t)
{
	uint64_t hits = (uint64_t)ptrace(PTRACE_PEEKUSER, t->real,
					 offsetof(struct user, u_debugreg) + 8 * 6, NULL) &
			15;

	if (hits)
		rp_debug_register_set(t->real, 6, 0);
	return hits;
}

void rp_debug_stepped(struct replay *r, struct rp_task *t)
{
	struct stops *stops = stops_of(r);
	uint64_t hits = stops->dr_gen ? rp_debug_hits(t) : 0;

	stops->dr_hit |= hits;
	stops->trapped |= hits != 0;
}
