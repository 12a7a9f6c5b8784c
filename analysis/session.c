/*
 * session.c - a replay with symbols and probes: its maps, and moving in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/internal.h"
#include "analysis/program.h"

void *must(void *p)
{
	alloc_must(p, "the analysis");
	return p;
}

void session_progress(const struct session *s, const char *what, uint64_t done, uint64_t total)
{
	if (s->options->progress)
		s->options->progress(s->options->ctx, what, done, total);
}

/* ---- maps ---------------------------------------------------------------------------------- */

static struct err *read_maps(struct session *s)
{
	char *text;

	TRY(replay_maps_text(s->r, s->pid, &text));
	free(s->maps);
	s->maps = text;
	return NULL;
}

static void read_texts(struct session *s)
{
	s->texts = 0;
	for (const char *p = s->maps; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		struct text t = { 0 };
		char prot[8], name[2] = "";

		if (sscanf(p, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s%*[ ]%1[^\n]", &t.start,
			   &t.end, prot, name) < 3 ||
		    prot[2] != 'x')
			continue;
		t.file = name[0];
		s->text = must(realloc(s->text, (s->texts + 1) * sizeof(*s->text)));
		s->text[s->texts++] = t;
	}
}

struct err *session_refresh(struct session *s)
{
	struct err *err = read_maps(s);

	if (err_catch(&err, ERR_END))
		return NULL;
	TRY(err);
	TRY(symbols_set_maps_text(s->sym, s->maps));
	s->maps_event = replay_where(s->r);
	read_texts(s);
	return NULL;
}

/* Memory that is there before anything was allocated belongs to the dynamic loader. */
static void find_loaders(struct session *s)
{
	uint64_t file_end = 0;

	s->loaders = 0;
	for (const char *p = s->maps; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		uint64_t start, end;
		unsigned inode;
		char prot[8];

		if (sscanf(p, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %u", &start, &end, prot,
			   &inode) < 4)
			continue;
		if (!inode && prot[1] == 'w' && start != file_end) {
			s->loader = must(realloc(s->loader, (s->loaders + 1) * sizeof(*s->loader)));
			s->loader[s->loaders++] = (struct range){ start, end };
		}
		file_end = inode ? end : 0;
	}
}

static struct err *maps_changed(struct session *s)
{
	s->pid = replay_probe_pid(s->r);
	TRY(session_refresh(s));
	if (!s->clock && !s->looked)
		find_loaders(s);
	s->ops->maps_changed(s);
	return NULL;
}

/* ---- moving ---------------------------------------------------------------------------------- */

void session_drop_bookmarks(struct session *s)
{
	replay_bookmark_drop(s->r, s->start);
	s->start = NULL;
	while (s->bookmarks)
		replay_bookmark_drop(s->r, s->bookmark[--s->bookmarks]);
}

static struct err *after_exec(struct session *s)
{
	s->exec_seen = false;
	replay_probes_drop(s->r);
	s->fns = s->loaders = 0;
	s->outlined = 0;
	s->ops->exec(s);
	session_drop_bookmarks(s);
	return replay_bookmark_take(s->r, &s->start);
}

/* Which process is it now?  Returns the event of the next fork. */
static uint64_t stage_now(struct session *s)
{
	unsigned i = 0;

	while (i + 1 < s->stages && s->stage[i + 1].event <= replay_where(s->r))
		i++;
	if (!s->stages)
		return NEVER;
	if (replay_probe_pid(s->r) != s->stage[i].pid)
		replay_probe_follow(s->r, s->stage[i].pid);
	s->pid = s->stage[i].pid;
	return i + 1 < s->stages ? s->stage[i + 1].event : NEVER;
}

struct err *session_run(struct session *s, uint64_t clock, uint64_t event,
			enum replay_probe_stop *ret)
{
	for (;;) {
		bool unborn = replay_where(s->r) < s->born;
		uint64_t fork = unborn ? s->born : stage_now(s);
		uint64_t until = event < fork ? event : fork;
		uint64_t replaced = s->jit ? jit_view_replaced(s->jit, replay_where(s->r)) : NEVER;

		s->clock = replay_clock(s->r);
		TRY(replay_probe_run(s->r, clock, until < replaced ? until : replaced, ret));
		if (s->exec_seen)
			TRY(after_exec(s));
		if (*ret == REPLAY_PROBE_EVENT && replay_where(s->r) >= replaced) {
			replay_stacks_forget(s->r);
			if (replay_where(s->r) < until)
				continue;
		}
		if (*ret == REPLAY_PROBE_EVENT && fork != NEVER && replay_where(s->r) >= fork) {
			stage_now(s);
			TRY(unborn ? maps_changed(s) : session_refresh(s));
			if (replay_where(s->r) < event)
				continue;
		}
		if (*ret != REPLAY_PROBE_MAPS)
			return NULL;
		TRY(maps_changed(s));
	}
}

struct err *session_fine_in(struct session *s, const struct replay_break *b, unsigned n, bool step,
			    struct replay_fine *ret)
{
	TRY(replay_fine(s->r, b, n, step, ret));
	if (ret->kind == REPLAY_FINE_EVENT)
		stage_now(s);
	return NULL;
}

struct err *session_fine(struct session *s, struct replay_break *b, unsigned n, bool step,
			 struct replay_fine *ret)
{
	for (unsigned i = 0; i < n; i++)
		b[i].pid = s->pid;
	return session_fine_in(s, b, n, step, ret);
}

struct err *session_restore(struct session *s, struct replay_bookmark *m)
{
	TRY(replay_bookmark_restore(s->r, m));
	s->clock = replay_clock(s->r);
	stage_now(s);
	return session_refresh(s);
}

struct err *session_goto(struct session *s, struct replay_bookmark *m, uint64_t m_clock,
			 uint64_t clock)
{
	enum replay_probe_stop stop;
	unsigned best = BOOKMARKS_MAX;
	uint64_t have = m ? m_clock : replay_clock(s->r);

	for (unsigned i = 0; i < s->bookmarks; i++) {
		if (s->bookmark_clock[i] <= clock && s->bookmark_clock[i] > have) {
			best = i;
			have = s->bookmark_clock[i];
		}
	}
	if (best < BOOKMARKS_MAX)
		TRY(session_restore(s, s->bookmark[best]));
	else if (m)
		TRY(session_restore(s, m));
	return session_run(s, clock, NEVER, &stop);
}

/* Every other one goes. */
static void thin_bookmarks(struct session *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->bookmarks; i++) {
		if (i & 1) {
			s->bookmark[n] = s->bookmark[i];
			s->bookmark_clock[n++] = s->bookmark_clock[i];
		} else {
			replay_bookmark_drop(s->r, s->bookmark[i]);
		}
	}
	s->bookmarks = n;
}

struct err *session_first_run(struct session *s, uint64_t event, enum replay_probe_stop *ret)
{
	uint64_t spacing = 1 << 18;

	for (;;) {
		session_progress(s, "allocations", replay_clock(s->r), 0);
		TRY(session_run(s, replay_clock(s->r) + spacing, event, ret));
		s->looked = *ret != REPLAY_PROBE_CLOCK;
		if (s->looked)
			return NULL;
		if (s->bookmarks == BOOKMARKS_MAX) {
			thin_bookmarks(s);
			spacing *= 2;
		}
		s->bookmark_clock[s->bookmarks] = replay_clock(s->r);
		TRY(replay_bookmark_take(s->r, &s->bookmark[s->bookmarks]));
		s->bookmarks++;
	}
}

int session_any_task(struct session *s)
{
	struct replay_task t[THREADS_MAX];
	unsigned n = replay_tasks(s->r, true, t, THREADS_MAX);
	int any = 0;

	for (unsigned i = 0; i < n && i < THREADS_MAX; i++) {
		if (t[i].pid == s->pid && (!any || t[i].tid == s->pid))
			any = t[i].tid;
	}
	return any;
}
