/*
 * monitor.c - what people type behind `monitor'.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdbserver/internal.h"

/* ---- monitor ---------------------------------------------------------------------------------------- */

static void monitor_ps(struct server *s, struct reply *o)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(s->r, true, tasks, TASKS_MAX);

	for (unsigned i = n < TASKS_MAX ? n : TASKS_MAX; i--;)
		reply_text(o, "process %d thread %d %s%s%s\n", tasks[i].pid, tasks[i].tid, tasks[i].name,
			   tasks[i].in_call ? " (in a system call)" : "", replay_shown(s->r, tasks[i].pid) ? "" : " (not shown)");
}

static void monitor_when(struct server *s, struct reply *o)
{
	char text[128];

	replay_where_text(s->r, text, sizeof(text));
	reply_text(o, "%s, thread %d\n", text, replay_current(s->r));
}

void do_monitor(struct server *s, const char *p, size_t len)
{
	char line[256];
	struct reply o = { 0 };
	size_t n;

	(void)len;
	if (!parse_hex_bytes(&p, line, sizeof(line), &n) || *p) {
		reply_bad(s);
		return;
	}
	if (!strcmp(line, "when")) {
		monitor_when(s, &o);
	} else if (!strcmp(line, "ps")) {
		monitor_ps(s, &o);
	} else if (!strcmp(line, "end") || (!strncmp(line, "seek ", 5) && line[5] >= '0' && line[5] <= '9')) {
		s->seek = true;
		s->seek_to = line[0] == 'e' ? UINT64_MAX : strtoull(line + 5, NULL, 10);
		reply_text(&o, "the next step or continue goes there\n");
	} else {
		reply_text(&o, "monitor when | ps | seek EVENT | end\n");
	}
	reply_hex(&s->out, o.bytes, o.len);
	free(o.bytes);
}

