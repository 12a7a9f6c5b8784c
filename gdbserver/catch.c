/*
 * catch.c - which events are stops: what the debugger has asked for.
 */
#include <string.h>

#include "gdbserver/internal.h"

void catch_supported(struct server *s, const char *features)
{
	/* lldb stays with the process it has */
	s->fork_events = s->catching.fork = !s->lldb && strstr(features, "fork-events+");
	s->vfork_events = s->catching.vfork_done = !s->lldb && strstr(features, "vfork-events+");
	s->catching.exec = strstr(features, "exec-events+") != NULL;
	s->catching.ends = !s->lldb;
	replay_catch(s->r, &s->catching);
}

/* "0", or "1" for all, or "1;NR;NR..." */
void do_catch_calls(struct server *s, const char *p, size_t len)
{
	uint64_t nr[REPLAY_CALLS / 64] = { 0 }, n;
	bool on = *p == '1', all = on && !p[1];
	struct replay_task t;

	(void)len;
	if ((*p != '0' && *p != '1') || !target_task(s, thread_to_read(s), &t)) {
		reply_bad(s);
		return;
	}
	for (p++; *p;) {
		if (!parse_char(&p, ';') || !parse_hex(&p, &n)) {
			reply_bad(s);
			return;
		}
		if (n < REPLAY_CALLS)
			nr[n / 64] |= 1ull << (n % 64);
	}
	reply_done(s, replay_catch_calls(s->r, t.pid, nr, all, on));
}

/* gdb's numbers, those that are no stop. */
void do_pass_signals(struct server *s, const char *p, size_t len)
{
	uint64_t pass = 0, n;

	(void)len;
	while (*p) {
		if (!parse_hex(&p, &n) || (*p && !parse_char(&p, ';'))) {
			reply_bad(s);
			return;
		}
		for (int sig = 1; sig <= 64; sig++) {
			if ((uint64_t)gdb_signal(sig) == n)
				pass |= 1ull << (sig - 1);
		}
	}
	s->catching.pass_signals = pass;
	replay_catch(s->r, &s->catching);
	reply_ok(s);
}

void do_thread_events(struct server *s, const char *p, size_t len)
{
	(void)len;
	if ((*p != '0' && *p != '1') || p[1]) {
		reply_bad(s);
		return;
	}
	s->catching.threads = *p == '1';
	replay_catch(s->r, &s->catching);
	reply_ok(s);
}

/* This packet makes no difference: which signals the program gets is the recording's choice. */
void do_accept(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_ok(s);
}
