/*
 * diverge.c - say where replay found something else than the recording.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/event.h"
#include "replayer/machine/machine.h"

struct err *diverge(const struct rp_task *t, const struct trace_event *ev, const char *fmt, ...)
{
	char *what = NULL;
	struct err *err;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		what = NULL;
	va_end(ap);
	err = err_new(ERR_DIVERGED,
		      "replay diverged at event %" PRIu64 " (%s), task %d, instruction 0x%" PRIx64
		      ": %s",
		      ev->n, trace_event_name(ev->kind), t ? t->rec_tid : 0, t ? t->regs.rip : 0,
		      what ? what : "?");
	free(what);
	return err;
}

/* RF is set by the processor around faults; orig_rax is the kernel's bookkeeping; the direction of
 * neither can be seen by the program.  Linux does not keep the selectors of flat segments exact
 * across ptrace. */
static bool word_matters(int word)
{
	enum { ORIG_RAX = 15 };

	return word != ORIG_RAX;
}

struct err *diverge_regs(const struct rp_task *t, const struct trace_event *ev,
			 const struct regs *found)
{
	const uint64_t *want = (const uint64_t *)&ev->regs, *have = (const uint64_t *)found;
	enum { EFLAGS = 18, RF = 1 << 16 };
	char text[1024];
	size_t len = 0;

	text[0] = '\0';
	for (int i = 0; i < REGS_WORDS && len < sizeof(text) - 100; i++) {
		uint64_t mask = i == EFLAGS ? ~(uint64_t)RF : ~0ull;

		if (!word_matters(i) || (want[i] & mask) == (have[i] & mask))
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s%s expected 0x%" PRIx64 ", found 0x%" PRIx64,
					len ? "; " : "", regs_names[i], want[i], have[i]);
	}
	return len ? diverge(t, ev, "%s", text) : NULL;
}
