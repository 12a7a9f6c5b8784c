/*
 * points.c - breakpoints and watchpoints.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdbserver/internal.h"

/* ";X<length>,<bytecode>X..." as replay_condition() wants it.  What cannot be parsed is no condition. */
static unsigned parse_conditions(struct server *s, const char *p)
{
	static char bytes[PACKET_MAX];
	unsigned len = 0;

	if (!parse_char(&p, ';'))
		return 0;
	while (parse_char(&p, 'X')) {
		uint64_t n;

		if (!parse_hex(&p, &n) || !parse_char(&p, ',') || n > UINT16_MAX || strlen(p) < 2 * n || len + 2 + n + 1 > sizeof(bytes))
			return 0;
		bytes[len++] = (char)(n >> 8);
		bytes[len++] = (char)n;
		for (uint64_t i = 0; i < n; i++, p += 2) {
			const char two[3] = { p[0], p[1], 0 }, *q = two;
			uint64_t byte;

			if (!parse_hex(&q, &byte) || *q)
				return 0;
			bytes[len++] = (char)byte;
		}
	}
	return len ? replay_condition(s->r, bytes, len) : 0;
}

static bool same_place(const struct replay_break *a, const struct replay_break *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->addr == b->addr && a->len == b->len;
}

static bool parse_break(struct server *s, const char *p, struct replay_break *b)
{
	static const enum replay_break_kind kinds[] = { REPLAY_BREAK, REPLAY_BREAK_HW, REPLAY_WRITE, REPLAY_READ, REPLAY_ACCESS };
	struct replay_task t;

	memset(b, 0, sizeof(*b));
	if (*p < '0' || *p > '4' || !target_task(s, thread_to_read(s), &t))
		return false;
	/* The debug registers are for data: there are only four. */
	b->kind = *p == '1' ? REPLAY_BREAK : kinds[*p - '0'];
	b->pid = t.pid;
	p++;
	if (!parse_char(&p, ',') || !parse_hex(&p, &b->addr) || !parse_char(&p, ',') || !parse_hex(&p, &b->len))
		return false;
	b->cond = b->kind == REPLAY_BREAK ? parse_conditions(s, p) : 0;
	return true;
}

static void set_breaks(struct server *s)
{
	struct err *err = process_breaks(s);

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

