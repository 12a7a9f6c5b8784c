/*
 * process.c - the processes that the debugger has inferiors for.
 *
 * It learns of one from a fork, a stop or a list of threads, and forgets it when it is told of its
 * end or lets go of it.  Where time has gone back over that end the process is there again
 * (replayer/timeline/shown.c): a stop for "libraries have changed" in one of its threads, which is
 * none for the user, makes gdb take it in, put its breakpoints there, and go on.  The same stop
 * makes gdb look at the libraries when a move has jumped over the places where it does so by
 * itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "gdbserver/internal.h"

enum { ALL_MAX = 2 * BREAKS_MAX, WATCH_PIECE = 248 };

/* Returns one of the process's threads, where the process is there; else 0. */
static int thread_of(const struct server *s, int pid)
{
	int found = 0;
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(s->r, true, tasks, TASKS_MAX);

	for (unsigned i = 0; i < n && i < TASKS_MAX; i++) {
		if (tasks[i].pid == pid && (!found || tasks[i].tid == pid))
			found = tasks[i].tid;
	}
	return found;
}

/*
 * gdb's breakpoint in the loader, which is for libraries to come.  On the way back they only go,
 * mostly: each stop there would be a search of its own, and what has gone can be told at the end
 * (resume.c: tell_later()).  Those that come, where they were unloaded, are told there.
 */
struct loader { int pid; uint64_t place; unsigned unloading; };

static unsigned loader_condition(struct server *s, const struct replay_break *b, struct loader *l)
{
	if (!s->backwards || b->kind != REPLAY_BREAK || b->cond)
		return 0;
	if (l->pid != b->pid) {
		int tid = thread_of(s, b->pid);

		l->pid = b->pid;
		l->place = tid ? link_place(s, tid, &l->unloading) : 0;
	}
	return l->place == b->addr ? l->unloading : 0;
}

/* A large watchpoint is several. */
static struct err *add(struct server *s, struct replay_break *all, unsigned *n,
		       const struct replay_break *b, int pid, struct loader *l)
{
	uint64_t most = b->kind >= REPLAY_WRITE && b->len > WATCH_PIECE ? WATCH_PIECE : b->len,
		 at = 0;
	unsigned cond = loader_condition(s, b, l);

	if (jit_left_out(s, b))
		return NULL;
	do {
		if (*n == ALL_MAX)
			return err_new(ERR_UNSUPPORTED,
				       "more than %d breakpoints and pieces of watchpoints at once",
				       ALL_MAX);
		all[*n] = *b;
		all[*n].pid = pid;
		all[*n].cond = cond ? cond : points_condition(s, b);
		all[*n].addr = b->addr + at;
		all[(*n)++].len = b->len - at < most ? b->len - at : most;
		at += most;
	} while (at < b->len);
	return NULL;
}

/* gdb sets those of a program space through any process of it. */
struct err *process_breaks(struct server *s)
{
	static struct replay_break all[ALL_MAX];
	struct loader l = { 0 };
	unsigned n = 0;

	s->breaks_later = false;
	for (unsigned i = 0; i < s->breaks_n; i++)
		TRY(add(s, all, &n, &s->breaks[i], s->breaks[i].pid, &l));
	s->shared = false;
	for (unsigned k = 0; k < s->known_n; k++) {
		int other = replay_shares_memory(s->r, s->known[k].pid);

		s->shared |= other != 0;
		for (unsigned i = 0; other && i < s->breaks_n; i++) {
			if (s->breaks[i].pid == other)
				TRY(add(s, all, &n, &s->breaks[i], s->known[k].pid, &l));
		}
	}
	return replay_breaks(s->r, all, n);
}

void process_going(struct server *s, bool back)
{
	bool late = back && s->libraries_late && !s->lock_told,
	     shared = s->shared || s->breaks_later || s->backwards != late;

	shared |= jit_going(s, back);
	s->backwards = late;
	for (unsigned k = 0; k < s->known_n && !shared; k++)
		shared = replay_shares_memory(s->r, s->known[k].pid) != 0;
	if (shared)
		err_free(process_breaks(s));
}

static void unknown(struct server *s, int pid)
{
	struct known *k = known_find(s, pid);

	if (k)
		*k = s->known[--s->known_n];
	for (unsigned i = 0; i < s->breaks_n; i++) {
		if (s->breaks[i].pid == pid)
			s->breaks[i--] = s->breaks[--s->breaks_n];
	}
	err_free(process_breaks(s));
}

void process_ended(struct server *s, int pid)
{
	replay_show_end(s->r, pid);
	unknown(s, pid);
}

/* Where it has not been forked yet it is only out of the way: it comes again. */
void process_let_go(struct server *s, int pid)
{
	if (thread_of(s, pid))
		replay_show(s->r, pid, false);
	unknown(s, pid);
}

void process_gone(struct server *s, struct reply *o)
{
	for (unsigned i = 0; i < s->known_n; i++) {
		if (!thread_of(s, s->known[i].pid))
			reply_text(o, "_gone %d\n", s->known[i].pid);
	}
}

/* ---- libraries ------------------------------------------------------------------------------- */

void process_libraries_told(struct server *s)
{
	struct replay_task t;
	struct known *k = target_task(s, thread_to_read(s), &t) ? known_find(s, t.pid) : NULL;

	if (!k)
		return;
	jit_forget(s);
	k->asked = true;
	k->libraries = link_sum(s);
}

bool process_libraries_old(struct server *s)
{
	struct replay_task t;
	const struct known *k = target_task(s, thread_to_read(s), &t) ? known_find(s, t.pid) : NULL;

	return k && k->asked && link_settled(s) && link_sum(s) != k->libraries;
}

int process_libraries_changed(struct server *s)
{
	int tid = s->tid, found = 0;

	for (unsigned i = 0; i < s->known_n && !found; i++) {
		struct known *k = &s->known[i];
		uint64_t sum;

		s->tid = k->asked ? thread_of(s, k->pid) : 0;
		if (!s->tid || !link_settled(s))
			continue;
		sum = link_sum(s);
		/*
		 * The beginning.  gdb 13 takes the type of `watch -l' from where it finds it first,
		 * which may be a library; when that is gone, with nothing else there instead, it
		 * goes on with what is not there any more, and crashes now and then.  Told as soon
		 * as it does no harm.
		 */
		if (!sum && points_watch(s))
			continue;
		found = sum != k->libraries ? s->tid : 0;
		k->libraries = sum;		/* told once, whatever comes of it */
	}
	s->tid = tid;
	return found;
}
