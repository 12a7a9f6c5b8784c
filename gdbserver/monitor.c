/*
 * monitor.c - commands of ours: qRcmd, which gdb calls `monitor'.
 *
 * A command that moves cannot stop the program itself: the debugger would not know.  It is kept,
 * and the next step or continue, in whatever direction, goes there and stops at once
 * (monitor_go()).  cmd/commands.py gives gdb commands that do both.  Answers that begin with
 * "error: " are failures; those with "goes there" wait for the step.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "gdbserver/internal.h"

struct monitor {
	struct server *s;
	struct reply *o;
	const char *args;
};
typedef void monitor_fn(struct monitor *m);

__attribute__((format(printf, 2, 3)))
static void failed(struct monitor *m, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m->o->len = 0;
	reply_text(m->o, "error: %s\n", text);
}

/* Errors of the user's are told, those of the replay end the session as everywhere. */
static bool went_wrong(struct monitor *m, struct err *err)
{
	if (!err)
		return false;
	failed(m, "%s", err->msg);
	if (err->code == ERR_USAGE || err->code == ERR_UNSUPPORTED || err->code == ERR_GONE) {
		err_free(err);
	} else {
		m->s->err = err;
		m->s->done = true;
	}
	return true;
}

static bool no_args(struct monitor *m, const char *usage)
{
	if (!*m->args)
		return true;
	failed(m, "%s takes no argument", usage);
	return false;
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void disarm(struct server *s)
{
	replay_point_drop(s->armed.point);
	s->armed = (struct armed){ .kind = ARMED_NOTHING };
}

static void arm(struct monitor *m, struct armed armed)
{
	disarm(m->s);
	m->s->armed = armed;
	reply_text(m->o, "the next step or continue goes there\n");
}

/* A point of one of the lists, which keep theirs. */
static struct replay_point *copy_of(struct monitor *m, const char *text)
{
	struct replay_point *p = NULL;

	return went_wrong(m, replay_point_parse(m->s->r, text, &p)) ? NULL : p;
}

static void do_seek(struct monitor *m)
{
	struct replay_point *p;

	if (!strcmp(m->args, "end")) {
		arm(m, (struct armed){ .kind = ARMED_END });
		return;
	}
	if (!*m->args) {
		failed(m, "seek EVENT or seek POSITION (`when' prints them), or seek end");
		return;
	}
	p = copy_of(m, m->args);
	if (p)
		arm(m, (struct armed){ .kind = ARMED_POINT, .point = p });
}

static void do_end(struct monitor *m)
{
	if (no_args(m, "end"))
		arm(m, (struct armed){ .kind = ARMED_END });
}

static void do_last(struct monitor *m)
{
	struct armed a = { .kind = ARMED_LAST };
	const char *p = m->args;
	char *end;

	a.addr = strtoull(p, &end, 0);
	if (end != p && *end == ' ') {
		p = end + 1;
		a.len = strtoull(p, &end, 0);
	}
	if (end == p || *end || !a.len) {
		failed(m, "last ADDRESS LENGTH: who wrote there last");
		return;
	}
	if (a.len > REPLAY_LAST_MAX)
		failed(m, "%" PRIu64 " bytes are more than can be watched (%d): name a part of it",
		       a.len, REPLAY_LAST_MAX);
	else
		arm(m, a);
}

static void do_last_was(struct monitor *m)
{
	if (m->s->last_found)
		reply_text(m->o, "thread %d\n", replay_current(m->s->r));
	else if (*m->s->went)
		failed(m, "%s", m->s->went);
	else
		failed(m, "not written since the recording of this process began");
}

/* A place without a name, which may take a while to find. */
static void do_mark(struct monitor *m)
{
	replay_point_drop(m->s->mark);
	m->s->mark = replay_point_here(m->s->r);
}

static void do_marked(struct monitor *m)
{
	if (m->s->mark)
		arm(m,
		    (struct armed){ .kind = ARMED_POINT, .point = replay_point_copy(m->s->mark) });
	else
		failed(m, "there is no mark");
}

static void do_went(struct monitor *m)
{
	if (*m->s->went)
		failed(m, "%s", m->s->went);
	else
		reply_text(m->o, "there\n");
}

bool monitor_armed(const struct server *s)
{
	return s->armed.kind != ARMED_NOTHING;
}

struct err *monitor_go(struct server *s, struct replay_stop *stop)
{
	struct armed a = s->armed;
	struct err *err = NULL;

	s->armed = (struct armed){ .kind = ARMED_NOTHING };
	switch (a.kind) {
	case ARMED_NOTHING:
		break;
	case ARMED_END:
		err = replay_seek(s->r, UINT64_MAX, stop);
		break;
	case ARMED_BEGIN:
		err = replay_seek(s->r, 0, stop);
		break;
	case ARMED_POINT:
		err = replay_point_go(s->r, a.point, stop);
		break;
	case ARMED_LAST:
		err = replay_last_write(s->r, s->tid > 0 ? s->tid : replay_current(s->r), a.addr,
					a.len, stop);
		s->last_found = !err && stop->kind == REPLAY_STOP_WATCH;
		break;
	}
	replay_point_drop(a.point);
	/* there is no such place: where we are */
	s->went[0] = '\0';
	if (err)
		snprintf(s->went, sizeof(s->went), "%s", err->msg);
	if (err_catch(&err, ERR_USAGE) || err_catch(&err, ERR_UNSUPPORTED) ||
	    err_catch(&err, ERR_GONE))
		*stop = (struct replay_stop){ .kind = REPLAY_STOP_STEP,
					      .tid = replay_current(s->r) };
	if (!err && (stop->kind == REPLAY_STOP_WATCH || a.kind != ARMED_END))
		stop->kind = stop->kind == REPLAY_STOP_INTERRUPT ? REPLAY_STOP_INTERRUPT
								 : REPLAY_STOP_STEP;
	return err;
}

/* ---- where and when -------------------------------------------------------------------------- */

static void do_when(struct monitor *m)
{
	struct server *s = m->s;
	char *text;

	if (!no_args(m, "when") || went_wrong(m, replay_point_text(s->r, &text)))
		return;
	reply_text(m->o, "event %" PRIu64 ", thread %d, position %s\n", replay_where(s->r),
		   thread_to_read(s), text);
	free(text);
}

static void do_elapsed(struct monitor *m)
{
	if (no_args(m, "elapsed"))
		reply_text(m->o, "%.6f s since the recording began (at event %" PRIu64 ")\n",
			   (double)replay_elapsed_ns(m->s->r) / 1e9, replay_where(m->s->r));
}

static void do_real_tid(struct monitor *m)
{
	struct replay_task t;

	if (!no_args(m, "real-tid"))
		return;
	if (target_task(m->s, thread_to_read(m->s), &t))
		reply_text(m->o, "thread %d of process %d, as recorded\n", t.tid, t.pid);
	else
		failed(m, "no thread is selected");
}

static void do_ps(struct monitor *m)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(m->s->r, true, tasks, TASKS_MAX);

	if (!no_args(m, "ps"))
		return;
	for (unsigned i = n < TASKS_MAX ? n : TASKS_MAX; i--;)
		reply_text(m->o, "process %d thread %d %s%s%s\n", tasks[i].pid, tasks[i].tid,
			   tasks[i].name, tasks[i].in_call ? " (in a system call)" : "",
			   replay_shown(m->s->r, tasks[i].pid) ? "" : " (not shown)");
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static struct kept *checkpoint_find(struct monitor *m)
{
	char *end;
	unsigned long id = strtoul(m->args, &end, 10);

	for (unsigned i = 0; i < m->s->checkpoints.n && isdigit((unsigned char)*m->args) && !*end;
	     i++) {
		if (m->s->checkpoints.kept[i].id == id)
			return &m->s->checkpoints.kept[i];
	}
	failed(m, *m->args ? "there is no checkpoint %.40s: see `info checkpoints'" :
	       "the number of a checkpoint is needed: see `info checkpoints'", m->args);
	return NULL;
}

static struct kept *kept_add(struct kept_list *l, unsigned id, struct replay_point *p)
{
	if (l->n == l->room) {
		l->room = l->room * 2 + 16;
		l->kept = alloc_more(l->kept, l->room, sizeof(*l->kept), "places");
	}
	l->kept[l->n] = (struct kept){ .id = id, .point = p };
	return &l->kept[l->n++];
}

static void kept_drop(struct kept_list *l, unsigned i)
{
	replay_point_drop(l->kept[i].point);
	free(l->kept[i].text);
	free(l->kept[i].where);
	l->n--;
	memmove(&l->kept[i], &l->kept[i + 1], (l->n - i) * sizeof(*l->kept));
}

static void do_checkpoint(struct monitor *m)
{
	struct server *s = m->s;
	struct kept *k;
	char *text;

	if (!no_args(m, "checkpoint") || went_wrong(m, replay_point_text(s->r, &text)))
		return;
	k = kept_add(&s->checkpoints, ++s->checkpoint_id, replay_point_here(s->r));
	k->text = text;
	k->where = names_of_here(s);
	if (!went_wrong(m, replay_point_keep(s->r, k->point, true)))
		reply_text(m->o, "Checkpoint %u at %s, event %" PRIu64 "\n", k->id, k->where,
			   replay_where(s->r));
}

static void do_checkpoints(struct monitor *m)
{
	const struct kept_list *l = &m->s->checkpoints;

	if (!no_args(m, "info checkpoints"))
		return;
	if (!l->n) {
		reply_text(m->o, "No checkpoints.\n");
		return;
	}
	reply_text(m->o, "%-4s %-10s %s\n", "Num", "Event", "Where");
	for (unsigned i = 0; i < l->n; i++)
		reply_text(m->o, "%-4u %-10" PRIu64 " %s, position %s\n", l->kept[i].id,
			   replay_point_event(l->kept[i].point), l->kept[i].where, l->kept[i].text);
}

static void do_delete_checkpoint(struct monitor *m)
{
	struct kept_list *l = &m->s->checkpoints;
	struct kept *k = checkpoint_find(m);
	bool other = false;

	if (!k)
		return;
	for (unsigned i = 0; i < l->n; i++)
		other |= &l->kept[i] != k && !strcmp(l->kept[i].text, k->text);
	if (other || !went_wrong(m, replay_point_keep(m->s->r, k->point, false)))
		kept_drop(l, (unsigned)(k - l->kept));
}

static void do_restart(struct monitor *m)
{
	struct kept *k;

	if (!*m->args) {
		arm(m, (struct armed){ .kind = ARMED_BEGIN });
		return;
	}
	k = checkpoint_find(m);
	if (k)
		arm(m, (struct armed){ .kind = ARMED_POINT, .point = replay_point_copy(k->point) });
}

/* ---- places that were visited ---------------------------------------------------------------- */

void monitor_note_place(struct server *s)
{
	struct kept_list *l = &s->places;

	if (l->n && replay_point_is_here(s->r, l->kept[s->place].point))
		return;
	while (l->n > s->place + 1)	/* another way from here */
		kept_drop(l, l->n - 1);
	if (l->n == PLACES_MAX)
		kept_drop(l, 0);
	kept_add(l, 0, replay_point_here(s->r));
	s->place = l->n - 1;
}

/*
 * gdb says which stops its user sees (commands.py), and wants to know which program that is, and
 * whether its libraries are others.
 */
static void do_place(struct monitor *m)
{
	char exe[4096];
	int status;

	m->s->places_told = true;
	m->s->tid_told = 0;
	callee_user_stop(m->s);
	monitor_note_place(m->s);
	replay_exe(m->s->r, replay_current(m->s->r), exe, sizeof(exe));
	reply_text(m->o, "%s\n", exe);
	if (process_libraries_old(m->s))
		reply_text(m->o, "libraries\n");
	process_gone(m->s, m->o);
	if (m->s->last.kind != REPLAY_STOP_END || !replay_end_status(m->s->r, &status))
		return;
	if (WIFSIGNALED(status))
		reply_text(m->o, "_exitsignal %d\n", gdb_signal(WTERMSIG(status)));
	else
		reply_text(m->o, "_exitcode %d\n", WEXITSTATUS(status));
}

static void do_exe(struct monitor *m)
{
	char exe[4096];

	replay_exe(m->s->r, atoi(m->args), exe, sizeof(exe));
	reply_text(m->o, "%s\n", exe);
}

/* A move begins, for the user's thread. */
static void do_thread(struct monitor *m)
{
	if (points_threads(m->s, m->args))
		err_free(process_breaks(m->s));
}

static void do_conditions(struct monitor *m)
{
	points_implied(m->s, m->args);
	err_free(process_breaks(m->s));
}

static void do_jit(struct monitor *m)
{
	jit_registered(m->s, m->args, m->o);
}

static void visit(struct monitor *m, int by)
{
	struct server *s = m->s;
	char *end;
	unsigned long n = *m->args ? strtoul(m->args, &end, 10) : 1;

	if (*m->args && (!isdigit((unsigned char)*m->args) || *end || !n)) {
		failed(m, "how many places? give a number");
		return;
	}
	monitor_note_place(s);
	if (by < 0 ? s->place < n : s->place + n >= s->places.n) {
		failed(m, by < 0 ? "places further back: %u" : "places further forward: %u",
		       by < 0 ? s->place : s->places.n - 1 - s->place);
		return;
	}
	s->place = by < 0 ? s->place - (unsigned)n : s->place + (unsigned)n;
	arm(m, (struct armed){ .kind = ARMED_POINT,
			       .point = replay_point_copy(s->places.kept[s->place].point) });
}

static void do_back_place(struct monitor *m) { visit(m, -1); }
static void do_forward_place(struct monitor *m) { visit(m, 1); }

static void do_find_pointer(struct monitor *m)
{
	const char *wrong = find_pointer(m->s, m->args, m->o);

	if (wrong)
		failed(m, "%s", wrong);
}

static void do_bt(struct monitor *m)
{
	went_wrong(m, stack_print(m->s, m->args, m->o));
}

/* ---- the table ------------------------------------------------------------------------------- */

static monitor_fn do_help;

static void go_back(struct monitor *m, bool step)
{
	struct err *err = lldb_back(m->s, step, m->o);

	if (err && err->code == ERR_GONE) {
		err_free(err);
		failed(m, "no such thread");
	} else if (err) {
		m->s->err = err;
		m->s->done = true;
	}
}

static void do_reverse_stepi(struct monitor *m)
{
	go_back(m, true);
}

static void do_reverse_continue(struct monitor *m)
{
	go_back(m, false);
}

/* "next", "step", "off", "wanted", or a table. */
static void do_lines(struct monitor *m)
{
	if (!strcmp(m->args, "next"))
		lines_mode(m->s, LINES_NEXT);
	else if (!strcmp(m->args, "step"))
		lines_mode(m->s, LINES_STEP);
	else if (!strcmp(m->args, "wanted"))
		lines_wanted(m->s, m->o);
	else if (!strcmp(m->args, "off"))
		lines_mode(m->s, LINES_OFF);
	else if (!lines_table(m->s, m->args))
		failed(m, "no lines");
}

static const struct { const char *name; monitor_fn *run; const char *args, *help;
} commands[] = {
	{ "when", do_when, "",
	  "event, thread and position; a position is good for seek and replay -e" },
	{ "elapsed", do_elapsed, "", "time from the start of the recording to the last event" },
	{ "real-tid", do_real_tid, "", "the thread's number as recorded" },
	{ "ps", do_ps, "", "processes and threads at this point" },
	{ "seek", do_seek, " EVENT|POSITION|end", "go there" },
	{ "end", do_end, "", "go to the end of the recording" },
	{ "checkpoint", do_checkpoint, "", "keep this point in time" },
	{ "restart", do_restart, " [N]", "go to a checkpoint; without number to the beginning" },
	{ "info checkpoints", do_checkpoints, "", "list them" },
	{ "delete checkpoint", do_delete_checkpoint, " N", "forget one" },
	{ "back", do_back_place, " [N]", "go to the place visited before this one" },
	{ "forward", do_forward_place, " [N]", "and back again" },
	{ "last", do_last, " ADDRESS LENGTH", "go to where that memory was changed last" },
	{ "find-pointer", do_find_pointer, " [-u] [-s SIZE] VALUE",
	  "who holds it: registers, stacks, variables, heap blocks" },
	{ "bt", do_bt, " [-l] [-g] [-a] [N]",
	  "native frames and those of Lua, Python, JavaScript; -l: with variables" },
	{ "reverse-stepi", do_reverse_stepi, "",
	  "for debuggers that cannot: one instruction back; the next step shows where that is" },
	{ "reverse-continue", do_reverse_continue, "", "the same, to the stop before" },
	{ "help", do_help, "", "this list" },
	/* for commands.py */
	{ "mark", do_mark, NULL, NULL },
	{ "marked", do_marked, NULL, NULL },
	{ "went", do_went, NULL, NULL },
	{ "last-was", do_last_was, NULL, NULL },
	{ "place", do_place, NULL, NULL },
	{ "lines", do_lines, NULL, NULL },
	{ "exe", do_exe, NULL, NULL },
	{ "thread", do_thread, NULL, NULL },
	{ "conditions", do_conditions, NULL, NULL },
	{ "jit", do_jit, NULL, NULL },
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void do_help(struct monitor *m)
{
	for (unsigned i = 0; i < COMMANDS; i++) {
		if (commands[i].help)
			reply_text(m->o, "monitor %s%s - %s\n", commands[i].name, commands[i].args,
				   commands[i].help);
	}
	reply_text(m->o, "After one that goes somewhere, the next step or continue does.\n");
}

static char *trim(char *line)
{
	size_t n;

	while (*line == ' ')
		line++;
	for (n = strlen(line); n && line[n - 1] == ' '; n--)
		line[n - 1] = 0;
	return line;
}

static void command(struct server *s, char *line, struct reply *o)
{
	struct monitor m = { s, o, "" };

	line = trim(line);
	for (unsigned i = 0; i < COMMANDS; i++) {
		size_t n = strlen(commands[i].name);

		if (strncmp(line, commands[i].name, n) || (line[n] && line[n] != ' '))
			continue;
		m.args = trim(line + n);
		commands[i].run(&m);
		return;
	}
	failed(&m, "no such command: `monitor help' lists them");
}

void do_monitor(struct server *s, const char *p, size_t len)
{
	static char line[PACKET_MAX / 2];
	struct reply o = { 0 };
	size_t n;

	(void)len;
	if (!parse_hex_bytes(&p, line, sizeof(line), &n) || *p) {
		reply_bad(s);
		return;
	}
	command(s, line, &o);
	if (o.len)
		reply_hex(&s->out, o.bytes, o.len);
	else
		reply_ok(s);
	free(o.bytes);
}

void monitor_deinit(struct server *s)
{
	replay_point_drop(s->mark);
	disarm(s);
	while (s->checkpoints.n)
		kept_drop(&s->checkpoints, s->checkpoints.n - 1);
	while (s->places.n)
		kept_drop(&s->places, s->places.n - 1);
	free(s->checkpoints.kept);
	free(s->places.kept);
	stack_deinit(s);
	jit_deinit(s);
	names_deinit(s);
	lines_deinit(s);
}
