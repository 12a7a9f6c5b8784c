/*
 * reply.c - the replies that many commands give, and the numbers that they give signals.
 */
#include "gdbserver/internal.h"

void reply_ok(struct server *s) { reply_text(&s->out, "OK"); }
void reply_bad(struct server *s) { reply_text(&s->out, "E01"); }

void reply_done(struct server *s, struct err *err)
{
	if (!err) {
		reply_ok(s);
		return;
	}
	err_free(err);
	reply_bad(s);
}

/* gdb numbers signals its own way (gdb/signals.def); these differ from Linux's. */
int gdb_signal(int sig)
{
	static const uint8_t map[32] = { 0,  1,	 2,  3,	 4,  5,	 6,  10, 8,  9,	 30,
					 11, 31, 13, 14, 15, 0,	 20, 19, 17, 18, 21,
					 22, 16, 24, 25, 26, 27, 28, 23, 32, 12 };

	if (sig == 16)
		return 143;	/* SIGSTKFLT has no number there: unknown */
	if (sig > 0 && sig < 32)
		return map[sig];
	if (sig == 32)
		return 77;
	if (sig > 32 && sig < 64)
		return sig + 12;
	return sig == 64 ? 78 : 143;
}
