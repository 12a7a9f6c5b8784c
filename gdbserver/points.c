/*
 * points.c - breakpoints and watchpoints.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "gdbserver/internal.h"

/* Conditions, as replay_condition() wants them. */
struct conditions { char bytes[PACKET_MAX]; unsigned len; };

/* Adds one more condition, of n bytes in hexadecimal digits. */
static bool add_condition(struct conditions *c, const char **p, uint64_t n)
{
	if (n > UINT16_MAX || strlen(*p) < 2 * n || c->len + 2 + n + 1 > sizeof(c->bytes))
		return false;
	c->bytes[c->len++] = (char)(n >> 8);
	c->bytes[c->len++] = (char)n;
	for (uint64_t i = 0; i < n; i++, *p += 2) {
		const char two[3] = { (*p)[0], (*p)[1], 0 }, *q = two;
		uint64_t byte;

		if (!parse_hex(&q, &byte) || *q)
			return false;
		c->bytes[c->len++] = (char)byte;
	}
	return true;
}

/* ";X<length>,<bytecode>X...".  What cannot be parsed is no condition. */
static unsigned parse_conditions(struct server *s, const char *p)
{
	static struct conditions c;
	uint64_t n;

	c.len = 0;
	if (!parse_char(&p, ';'))
		return 0;
	while (parse_char(&p, 'X')) {
		if (!parse_hex(&p, &n) || !parse_char(&p, ',') || !add_condition(&c, &p, n))
			return 0;
	}
	return c.len ? replay_condition(s->r, c.bytes, c.len) : 0;
}

/* ---- what must hold for a condition that the debugger evaluates itself ----------------------- */

/*
 * " ADDRESS:CODE,CODE"...: gdb sends no condition for these places, but at least one of these holds
 * wherever it would stop (commands_conditions.py).  They are for this move of the user's alone.
 */
void points_implied(struct server *s, const char *text)
{
	static struct conditions c;
	struct implied one;

	s->implied_n = 0;
	while (parse_hex(&text, &one.addr) && parse_char(&text, ':')) {
		c.len = 0;
		do {
			if (!add_condition(&c, &text, strspn(text, "0123456789abcdef") / 2))
				return;
		} while (parse_char(&text, ','));
		one.cond = replay_condition(s->r, c.bytes, c.len);
		s->implied = alloc_more(s->implied, s->implied_n + 1, sizeof(*s->implied),
					"conditions");
		s->implied[s->implied_n++] = one;
		if (!parse_char(&text, ' '))
			break;
	}
}

static unsigned implied_at(const struct server *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->implied_n; i++) {
		if (s->implied[i].addr == addr)
			return s->implied[i].cond;
	}
	return 0;
}

/* After another stop than these the debugger may find another program, or another task's. */
bool points_implied_end(struct server *s, const struct replay_stop *stop)
{
	if (!s->implied_n || stop->kind == REPLAY_STOP_STEP || stop->kind == REPLAY_STOP_BREAK)
		return false;
	s->implied_n = 0;
	return true;
}

/* ---- for some threads ---------------------------------------------------------------------- */

/*
 * gdb tells nobody that a breakpoint is for one thread (`break f thread 3'), and goes on by itself
 * where another comes to it: with many threads, seconds.  commands.py knows, and says so before
 * each move.  The thread that the user moves is always one of them, as gdb may have its own
 * breakpoints at the same place, which are for that one.
 */
bool points_threads(struct server *s, const char *text)
{
	char *end;
	int tid = (int)strtol(text, &end, 10);
	bool changed;

	s->tid_told = tid;
	s->lock_told = *end == '+';
	end += s->lock_told;
	s->over = *end == '!';
	end += s->over;
	s->libraries_late = *end != '*';
	end += !s->libraries_late;
	changed = jit_flags(s, (const char **)&end) || s->implied_n;
	s->implied_n = 0;
	if (!(*end || s->only_n) || (s->only_text && !strcmp(s->only_text, text)))
		return changed;
	free(s->only_text);
	s->only_text = alloc_text(text, "breakpoints");
	s->only_n = 0;
	while (*end == ' ') {
		struct only o = { .addr = strtoull(end + 1, &end, 16), .n = 1, .tid = { tid } };

		while ((*end == ':' || *end == ',') && o.n < sizeof(o.tid) / sizeof(o.tid[0]))
			o.tid[o.n++] = (int)strtol(end + 1, &end, 10);
		if (*end && *end != ' ')
			break;		/* too many */
		s->only = alloc_more(s->only, s->only_n + 1, sizeof(*s->only), "breakpoints");
		s->only[s->only_n++] = o;
	}
	return true;
}

unsigned points_condition(struct server *s, const struct replay_break *b)
{
	/* the first thread has none until its loader sets it */
	uint64_t fs_base[sizeof(s->only->tid) / sizeof(s->only->tid[0]) + 1] = { 0 };
	const struct only locked = { .n = 1, .tid = { s->tid_locked } }, *o;
	unsigned n = 1, cond = b->cond;

	if (b->kind == REPLAY_BREAK && !cond)
		cond = implied_at(s, b->addr);

	if (s->tid_locked) {
		o = &locked;
	} else {
		unsigned i = 0;

		while (i < s->only_n && s->only[i].addr != b->addr)
			i++;
		o = i < s->only_n ? &s->only[i] : NULL;
	}
	if (b->kind != REPLAY_BREAK || !o)
		return cond;
	for (unsigned i = 0; i < o->n; i++) {
		struct regs regs;
		struct err *err = replay_regs(s->r, o->tid[i], &regs);

		if (err) {
			err_free(err);
			continue;	/* not here, now */
		}
		if (!regs.fs_base)
			return cond;
		fs_base[n++] = regs.fs_base;
	}
	return replay_condition_threads(s->r, cond, fs_base, n);
}

/* ---- set and removed ------------------------------------------------------------------------- */

static bool same_place(const struct replay_break *a, const struct replay_break *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->addr == b->addr && a->len == b->len;
}

static bool parse_break(struct server *s, const char *p, struct replay_break *b)
{
	static const enum replay_break_kind kinds[] = { REPLAY_BREAK, REPLAY_BREAK_HW, REPLAY_WRITE,
							REPLAY_READ, REPLAY_ACCESS };
	struct replay_task t;

	memset(b, 0, sizeof(*b));
	if (*p < '0' || *p > '4' || !target_task(s, thread_to_read(s), &t))
		return false;
	/* The debug registers are for data: there are only four. */
	b->kind = *p == '1' ? REPLAY_BREAK : kinds[*p - '0'];
	b->pid = t.pid;
	p++;
	if (!parse_char(&p, ',') || !parse_hex(&p, &b->addr) || !parse_char(&p, ',') ||
	    !parse_hex(&p, &b->len))
		return false;
	b->cond = b->kind == REPLAY_BREAK ? parse_conditions(s, p) : 0;
	return true;
}

bool points_watch(const struct server *s)
{
	for (unsigned i = 0; i < s->breaks_n; i++) {
		if (s->breaks[i].kind >= REPLAY_WRITE)
			return true;
	}
	return false;
}

/*
 * gdb takes a thousand out after each stop, one by one, and sets them again: the replay need not
 * know before it moves, if nothing can be too much.
 */
static bool can_wait(const struct server *s)
{
	return !points_watch(s) && s->breaks_n < BREAKS_MAX;
}

static void set_breaks(struct server *s)
{
	struct err *err = NULL;

	s->breaks_later = can_wait(s);
	if (!s->breaks_later)
		err = process_breaks(s);

	if (!err) {
		reply_ok(s);
		return;
	}
	err_free(err);
	s->breaks_n--;		/* the newest was too much */
	err_free(process_breaks(s));
	reply_bad(s);
}

void do_insert(struct server *s, const char *p, size_t len)
{
	struct replay_break b;

	(void)len;
	if (!parse_break(s, p, &b) || s->breaks_n == BREAKS_MAX) {
		reply_bad(s);
		return;
	}
	for (unsigned i = 0; i < s->breaks_n; i++) {
		if (same_place(&s->breaks[i], &b)) {
			s->breaks[i].cond = b.cond;
			callee_user_stop(s);
			set_breaks(s);
			return;
		}
	}
	s->breaks[s->breaks_n++] = b;
	jit_inserted(s);
	callee_inserted(s, &b);
	set_breaks(s);
}

void do_remove(struct server *s, const char *p, size_t len)
{
	struct replay_break b;

	(void)len;
	if (!parse_break(s, p, &b)) {
		reply_bad(s);
		return;
	}
	callee_user_stop(s);
	for (unsigned i = 0; i < s->breaks_n; i++) {
		if (same_place(&s->breaks[i], &b))
			s->breaks[i--] = s->breaks[--s->breaks_n];
	}
	set_breaks(s);
}

