/*
 * thread.c - threads: their names on the wire, which are there, which is meant.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdbserver/internal.h"

/* "pPID.TID", "TID", -1 and 0 allowed for both.  *tid = -1: all, 0: any. */
bool parse_thread(const char **p, int64_t *pid, int64_t *tid)
{
	uint64_t v;

	*pid = *tid = 0;
	if (parse_char(p, 'p')) {
		if (!strncmp(*p, "-1", 2)) {
			*pid = *tid = -1;
			*p += 2;
			return true;
		}
		if (!parse_hex(p, &v))
			return false;
		*pid = (int64_t)v;
		*tid = -1;
		if (!parse_char(p, '.'))
			return true;
	}
	if (!strncmp(*p, "-1", 2)) {
		*tid = -1;
		*p += 2;
		return true;
	}
	if (!parse_hex(p, &v))
		return false;
	*tid = (int64_t)(v & INT32_MAX);
	return true;
}

void threads_unchosen(struct server *s)
{
	s->tid = s->tid_go = s->tid_chosen = 0;
}

void put_thread(struct server *s, int tid)
{
	struct replay_task t;

	if (!target_task(s, tid, &t)) {
		reply_text(&s->out, "p1.1");
		return;
	}
	process_told(s, t.pid);
	reply_text(&s->out, "p%x.%x", (unsigned)t.pid, (unsigned)t.tid);
}

int thread_meant(const struct server *s)
{
	if (s->tid_told)
		return s->tid_told;
	return s->tid_chosen ? s->tid_chosen : replay_current(s->r);
}

int thread_to_read(const struct server *s)
{
	return s->tid > 0 ? s->tid : replay_current(s->r);
}

/* ---- threads ------------------------------------------------------------------------------ */

void do_choose(struct server *s, const char *p, size_t len)
{
	struct replay_task t, all[1];
	int64_t pid, tid;
	char what = *p;
	int named;

	if (!len || (what != 'g' && what != 'c')) {
		reply_bad(s);
		return;
	}
	p++;
	if (!parse_thread(&p, &pid, &tid) || (tid > 0 && !target_task(s, (int)tid, &t))) {
		reply_bad(s);
		return;
	}
	named = tid > 0 ? (int)tid : 0;
	/* any thread of a process: the one we are at, if it is there */
	if (tid <= 0 && pid > 0 && !(target_task(s, thread_meant(s), &t) && t.pid == pid) &&
	    target_task(s, (int)pid, &t) && replay_tasks(s->r, false, all, 1))
		tid = pid;
	*(what == 'g' ? &s->tid : &s->tid_go) = tid > 0 ? (int)tid : 0;
	if (what == 'c')
		s->tid_named = named;
	reply_ok(s);
}

/*
 * Before a step back gdb only says "any thread of the process" (Hc), and means the user's.
 * commands.py tells which that is.  Without it: the one where we are, unless `thread N' has chosen
 * another: then gdb asks whether that is alive, and not for one after the other, as for a list.
 */
static void maybe_chosen(struct server *s, int tid)
{
	if (!s->listing)
		s->tid_before = s->tid_chosen;
	s->tid_chosen = s->listing ? s->tid_before : tid;
}

void do_alive(struct server *s, const char *p, size_t len)
{
	struct replay_task t;
	int64_t pid, tid;

	(void)len;
	if (parse_thread(&p, &pid, &tid) && tid > 0 && target_task(s, (int)tid, &t) &&
	    (process_known(s, t.pid) || replay_shown(s->r, t.pid))) {
		maybe_chosen(s, (int)tid);
		reply_ok(s);
	} else {
		reply_bad(s);
	}
}

void do_current(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_text(&s->out, "QC");
	put_thread(s, replay_current(s->r));
}

void do_threads(struct server *s, const char *p, size_t len)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = target_tasks(s, false, tasks);

	(void)p;
	(void)len;
	reply_text(&s->out, "%s", n ? "m" : "l");
	for (unsigned i = n; i--;) {
		process_told(s, tasks[i].pid);
		reply_text(&s->out, "p%x.%x%s", (unsigned)tasks[i].pid, (unsigned)tasks[i].tid,
			   i ? "," : "");
	}
}

void do_threads_end(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_text(&s->out, "l");
}

void do_thread_info(struct server *s, const char *p, size_t len)
{
	struct replay_task t;
	int64_t pid, tid;

	(void)len;
	if (!parse_char(&p, ',') || !parse_thread(&p, &pid, &tid) ||
	    !target_task(s, (int)tid, &t)) {
		reply_bad(s);
		return;
	}
	reply_hex(&s->out, t.name, strlen(t.name));
	if (t.in_call)
		reply_hex(&s->out, " (in a system call)", 19);
	if (!s->out.len)
		reply_hex(&s->out, "?", 1);
}

void do_attached(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_text(&s->out, "1");
}

