/*
 * choose.c - which process of a recording, and from where: replay -p, -f, -e.
 *
 * One pass over the events, as far as needed: a recording knows a process by its number, or by what
 * it runs.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/debugger.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* By the first word of its command line, the last part of that, or its name. */
static bool runs(const struct task_info *t, const char *command)
{
	const char *first = t->words && t->words->len ? t->words->bytes : "";
	char word[4096];

	snprintf(word, sizeof(word), "%.*s", t->words ? (int)strnlen(first, t->words->len) : 0,
		 first);
	return !strcmp(word, command) || !strcmp(base_name(word), command) ||
	       !strcmp(t->name, command);
}

static bool is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

static bool is_process(const struct task_info *t, const char *which)
{
	return is_number(which) && t->leader->pid == (int)strtol(which, NULL, 10);
}

struct search {
	const struct replay_args *o;
	struct task_list tasks;
	struct start *ret;
	uint64_t event;		/* of -e, without -p and -f: whose time is that? */
	bool exact;		/* the task that goes on after it, not the one that did it */
	int pid, root;
};

/* -p: true when this event is where to start. */
static bool exec_found(struct search *q, const struct trace_event *ev, const struct task_info *t)
{
	if (ev->kind != TRACE_EXEC || !(is_process(t, q->o->pid) || runs(t, q->o->pid)))
		return false;
	*q->ret = (struct start){ t->leader->pid, ev->n };
	return true;
}

static bool event_found(struct search *q, const struct trace_event *ev, const struct task_info *t)
{
	if (ev->n > q->event + q->exact)
		return true;
	if ((ev->n == q->event && ev->kind != TRACE_EXIT) || (q->exact && ev->n == q->event + 1))
		q->ret->pid = t->leader->pid;
	return false;
}

/* A process that never exec'd, after all: -f, or -p with such a number. */
static struct err *forked(struct search *q, const char *which, bool any)
{
	for (const struct task_info *t = q->tasks.first; t; t = t->next) {
		if (t->thread || !t->parent ||
		    !(is_process(t, which) ||
		      (!t->face->execed && !is_number(which) && runs(t, which))))
			continue;
		*q->ret = (struct start){ t->pid, 0 };
		return NULL;
	}
	if (any && is_number(which))
		return err_new(ERR_USAGE, "the recording has no process %s: see 'hindsight ps'",
			       which);
	return err_new(
		ERR_USAGE,
		any ? "no process of the recording runs '%s': see 'hindsight ps'"
		    : "no process of the recording was forked from '%s' and stayed so: see "
		      "'hindsight ps'",
		which);
}

static struct err *search(struct search *q, struct trace_reader *r)
{
	struct trace_event ev;
	struct task_info *t;
	struct err *err;
	bool found = false;

	while (!found && !(err = trace_reader_next(r, &ev))) {
		TRY(task_list_event(&q->tasks, &ev, &t));
		found = q->o->pid ? exec_found(q, &ev, t) : !q->o->fork && event_found(q, &ev, t);
	}
	if (found)
		return NULL;
	/* the end is missing: what there is can be debugged */
	if (!err_catch(&err, ERR_END)) {
		if (!q->tasks.n)
			return err;
		err_free(err);
	}
	if (q->o->pid)
		return forked(q, q->o->pid, true);
	return q->o->fork ? forked(q, q->o->fork, false) : NULL;
}

bool cmd_has_process(const char *dir, uint64_t pid)
{
	struct trace_reader *r;
	struct err *err = trace_reader_open(dir, &r);
	struct task_list tasks;
	struct trace_event ev;
	struct task_info *t;
	bool found = err != NULL;

	err_free(err);
	if (found)
		return true;
	task_list_init(&tasks);
	while (!found && !(err = trace_reader_next(r, &ev)) &&
	       !(err = task_list_event(&tasks, &ev, &t)))
		found = (uint64_t)t->leader->pid == pid;
	err_free(err);
	task_list_deinit(&tasks);
	trace_reader_close(r);
	return found;
}

static struct err *first_event(const char *text, uint64_t *event, bool *exact)
{
	char *end;

	errno = 0;
	*event = strtoull(text, &end, 10);
	*exact = *end == ':';
	if (!isdigit((unsigned char)*text) || errno || (*end && *end != ':'))
		return err_new(ERR_USAGE,
			       "-e %.60s: give an event number, or a position as `when' prints it",
			       text);
	return NULL;
}

struct err *choose_start(const char *dir, const struct replay_args *o, struct start *ret)
{
	struct search q = { .o = o, .ret = ret };
	struct trace_reader *r;
	struct err *err;
	uint64_t event = 0;

	*ret = (struct start){ 0 };
	if (o->event)
		TRY(first_event(o->event, &event, &q.exact));
	q.event = event;
	if (!o->pid && !o->fork && !o->event)
		return NULL;
	TRY(trace_reader_open(dir, &r));
	task_list_init(&q.tasks);
	err = search(&q, r);
	task_list_deinit(&q.tasks);
	trace_reader_close(r);
	if (event > ret->event)
		ret->event = event;
	return err;
}
