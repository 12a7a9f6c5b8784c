/*
 * resume.c - what makes the program move, and the stop replies that answer it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gdbserver/internal.h"

/* ---- stops ----------------------------------------------------------------------------- */

static void put_end(struct server *s, const struct replay_stop *stop)
{
	bool killed = WIFSIGNALED(stop->status);
	unsigned code = killed ? (unsigned)gdb_signal(WTERMSIG(stop->status))
			       : (unsigned)WEXITSTATUS(stop->status);

	if (stop->kind == REPLAY_STOP_THREAD_EXIT)
		reply_text(&s->out, "w%02x;p%x.%x", code, (unsigned)stop->child_pid,
			   (unsigned)stop->child_tid);
	else
		reply_text(&s->out, "%c%02x;process:%x", killed ? 'X' : 'W', code,
			   (unsigned)stop->child_pid);
}

int stop_signal(const struct server *s, const struct replay_stop *stop)
{
	if (stop->kind == REPLAY_STOP_SIGNAL)
		return s->lldb ? stop->signal : gdb_signal(stop->signal);
	return stop->kind == REPLAY_STOP_INTERRUPT ? SIGINT : SIGTRAP;
}

/* ---- scheduler-locking ----------------------------------------------------------------------- */

/*
 * The recording decides what runs, but a debugger that lets one thread go on bears no stop in
 * another (gdb 13 fails an assertion, later). Stops in other threads are passed, and where all
 * ends, the end is that thread's.
 */
static void lock(struct server *s, int tid)
{
	s->tid_locked = tid;
	if (tid)
		err_free(process_breaks(s));
}

static void unlock(struct server *s)
{
	bool was = s->tid_locked;

	s->tid_locked = 0;
	if (was)
		err_free(process_breaks(s));
}

static bool locked_is_here(struct server *s)
{
	struct replay_task t;

	return s->tid_locked && target_task(s, s->tid_locked, &t);
}

static bool is_for_all(const struct replay_stop *stop)
{
	return stop->kind == REPLAY_STOP_BEGIN || stop->kind == REPLAY_STOP_END ||
	       stop->kind == REPLAY_STOP_INTERRUPT;
}

static bool is_others(struct server *s, const struct replay_stop *stop)
{
	switch (stop->kind) {
	case REPLAY_STOP_BREAK:
	case REPLAY_STOP_WATCH:
	case REPLAY_STOP_SIGNAL:
	case REPLAY_STOP_CALL_ENTRY:
	case REPLAY_STOP_CALL_RETURN:
		return s->tid_locked && replay_current(s->r) != s->tid_locked;
	default:
		return false;
	}
}

/* A stop before which a debugger may be told of libraries: it is about no process. */
static bool is_plain(const struct replay_stop *stop)
{
	return is_for_all(stop) || stop->kind == REPLAY_STOP_BREAK ||
	       stop->kind == REPLAY_STOP_WATCH || stop->kind == REPLAY_STOP_SIGNAL ||
	       stop->kind == REPLAY_STOP_STEP || stop->kind == REPLAY_STOP_CALL_ENTRY ||
	       stop->kind == REPLAY_STOP_CALL_RETURN;
}

void put_stop(struct server *s, const struct replay_stop *stop)
{
	static const char *const watch_names[] = {
		[REPLAY_WRITE] = "watch", [REPLAY_READ] = "rwatch", [REPLAY_ACCESS] = "awatch"
	};
	int sig = stop_signal(s, stop);
	char exe[4096];

	if (stop->kind == REPLAY_STOP_EXIT || stop->kind == REPLAY_STOP_THREAD_EXIT) {
		put_end(s, stop);
		return;
	}
	reply_text(&s->out, "T%02xthread:", sig);
	put_thread(s, stop->kind == REPLAY_STOP_THREAD	      ? stop->child_tid
		      : is_for_all(stop) && locked_is_here(s) ? s->tid_locked
							      : replay_current(s->r));
	reply_text(&s->out, ";");
	if (s->lldb)
		lldb_stop(s);
	switch (stop->kind) {
	case REPLAY_STOP_BREAK:
		reply_text(&s->out, "swbreak:;");
		break;
	case REPLAY_STOP_WATCH:
		reply_text(&s->out, "%s:%" PRIx64 ";", watch_names[stop->watch.kind],
			   stop->watch.addr);
		break;
	case REPLAY_STOP_BEGIN:
		reply_text(&s->out, "replaylog:begin;");
		break;
	case REPLAY_STOP_END:
		reply_text(&s->out, "replaylog:end;");
		break;
	case REPLAY_STOP_FORK:
		process_told(s, stop->child_pid);
		reply_text(&s->out, "%s:p%x.%x;", stop->vfork && s->vfork_events ? "vfork" : "fork",
			   (unsigned)stop->child_pid, (unsigned)stop->child_tid);
		break;
	case REPLAY_STOP_VFORK_DONE:
		reply_text(&s->out, "vforkdone:;");
		break;
	case REPLAY_STOP_THREAD:
		reply_text(&s->out, "create:;");
		break;
	case REPLAY_STOP_CALL_ENTRY:
	case REPLAY_STOP_CALL_RETURN:
		reply_text(&s->out, "syscall_%s:%x;",
			   stop->kind == REPLAY_STOP_CALL_ENTRY ? "entry" : "return",
			   (unsigned)stop->call);
		break;
	case REPLAY_STOP_EXEC:
		replay_exe(s->r, replay_current(s->r), exe, sizeof(exe));
		reply_text(&s->out, "exec:");
		reply_hex(&s->out, exe, strlen(exe));
		reply_text(&s->out, ";");
		break;
	default:
		break;
	}
}

static void stopped(struct server *s, struct err *err, const struct replay_stop *stop)
{
	if (err && err->code == ERR_GONE) {
		err_free(err);
		reply_bad(s);
		return;
	}
	if (err) {
		s->err = err;
		s->done = true;
		reply_bad(s);
		return;
	}
	s->last = *stop;
	if (points_implied_end(s, stop))
		err_free(process_breaks(s));
	threads_unchosen(s);
	if (!s->places_told)
		monitor_note_place(s);
	if (stop->kind == REPLAY_STOP_FORK)
		replay_show(s->r, stop->child_pid, true);
	if (stop->kind == REPLAY_STOP_EXIT)
		process_ended(s, stop->child_pid);
	if (stop->kind == REPLAY_STOP_FORK && stop->vfork)
		s->vfork_open = s->vfork_events;
	if (stop->kind == REPLAY_STOP_VFORK_DONE)
		s->vfork_open = false;
	put_stop(s, stop);
}

/*
 * Between vfork and vforkdone a debugger has no breakpoints in, and waits.  Elsewhere than forward
 * that end never comes: it is told at once, and resumes again.
 */
static bool close_vfork(struct server *s)
{
	struct replay_stop stop = { .kind = REPLAY_STOP_VFORK_DONE };

	if (!s->vfork_open)
		return false;
	stopped(s, NULL, &stop);
	return true;
}

/* Somewhere else, and at no breakpoint, whatever is there. */
static void arrived(struct server *s, const struct replay_stop *stop)
{
	s->last = *stop;
	threads_unchosen(s);
	reply_text(&s->out, "T00thread:");
	put_thread(s, replay_current(s->r));
	reply_text(&s->out, ";");
}

/* ---- what a debugger must see before a stop -------------------------------------------------- */

static void tell_process(struct server *s, int tid)
{
	reply_text(&s->out, "T05thread:");
	put_thread(s, tid);
	reply_text(&s->out, ";library:;");
	s->tid = tid;		/* a debugger takes the thread that stopped for chosen */
}

/* A stop after a move that jumped: libraries first. */
static bool tell_later(struct server *s)
{
	int tid;

	if (!s->later.set)
		return false;
	tid = s->lldb ? 0 : process_libraries_changed(s);
	if (tid) {
		tell_process(s, tid);
		return true;
	}
	s->later.set = false;
	if (s->later.arrived)
		arrived(s, &s->later.stop);
	else
		stopped(s, NULL, &s->later.stop);
	return true;
}

static void stopped_later(struct server *s, const struct replay_stop *stop, bool arrived)
{
	s->later.set = true;
	s->later.stop = *stop;
	s->later.arrived = arrived;
	tell_later(s);
}

/*
 * A fork whose child the debugger has already: it went back over it, or saw it before.  The end of
 * a process that it has never seen.
 */
static bool is_known(const struct server *s, const struct replay_stop *stop)
{
	if (stop->kind == REPLAY_STOP_EXIT)
		return !process_known(s, stop->child_pid);
	return stop->kind == REPLAY_STOP_FORK && process_known(s, stop->child_pid);
}

void stop_reply(struct server *s, const struct replay_stop *stop)
{
	stopped(s, NULL, stop);
}

static const char copy_note[] =
	"With other registers than the recording's this is a copy of the program, to be thrown "
	"away: its system calls "
	"fail.  Any step back leads to the recording, as it was.\n";

/* alone: this thread, no other */
static void go(struct server *s, int tid, bool alone, bool step, uint64_t start, uint64_t end)
{
	struct replay_stop stop;
	struct err *err;

	s->shown.tid = 0;
	if (lldb_told(s) || tell_later(s))
		return;
	process_going(s, false);
	replay_interrupt_from(s->r, packet_interrupts(s));
	if (monitor_armed(s) && close_vfork(s))
		return;
	if (monitor_armed(s)) {
		err = monitor_go(s, &stop);
		if (err) {
			stopped(s, err, &stop);
			return;
		}
		stopped_later(s, &stop, stop.kind == REPLAY_STOP_STEP);
		return;
	}
	if (replay_copy_goes_on(s->r) && !packet_console(s, copy_note))
		return;
	if (!step)
		names_tell(s, tid);
	lock(s, alone ? tid : 0);
	do {
		err = step ? replay_step(s->r, tid, start, end, &stop)
			   : replay_forward(s->r, &stop);
	} while (!err && (is_known(s, &stop) || is_others(s, &stop)));
	/* gdb 13 would wait for the end of this step for ever */
	if (!err && step && s->over && stop.kind == REPLAY_STOP_END)
		arrived(s, &stop);
	else
		stopped(s, err, &stop);
	s->over = false;
	unlock(s);
}

static int thread_to_go(const struct server *s, int64_t tid)
{
	int chosen = tid > 0 ? (int)tid : s->tid_go;
	struct regs regs;
	struct err *err = chosen > 0 ? replay_regs(s->r, chosen, &regs) : &err_gone;

	if (!err)
		return chosen;
	err_free(err);
	return replay_current(s->r);
}

/* The first action decides: which task runs when is the recording's choice. */
void do_vcont(struct server *s, const char *p, size_t len)
{
	uint64_t sig, start = 0, end = 0;
	int64_t pid, tid = 0;
	char action = p[0];
	bool step;

	(void)len;
	if (!strchr("cCsSr", action) || !action) {
		reply_bad(s);
		return;
	}
	p++;
	if ((action == 'C' || action == 'S') && !parse_hex(&p, &sig)) {
		reply_bad(s);
		return;
	}
	if (action == 'r' &&
	    (!parse_hex(&p, &start) || !parse_char(&p, ',') || !parse_hex(&p, &end))) {
		reply_bad(s);
		return;
	}
	if (parse_char(&p, ':') && !parse_thread(&p, &pid, &tid)) {
		reply_bad(s);
		return;
	}
	step = action != 'c' && action != 'C';
	/* a step alone may be one off a breakpoint */
	go(s, thread_to_go(s, tid), tid > 0 && !*p && (!step || s->lock_told), step, start, end);
}

void do_vcont_ask(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_text(&s->out, "vCont;c;C;s;S;r");
}

void do_continue(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	go(s, 0, false, false, 0, 0);
}

void do_step(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	go(s, thread_to_go(s, 0), false, true, 0, 0);
}

static struct err *step_back(struct server *s, struct replay_stop *stop)
{
	int tid = thread_to_go(s, s->tid_go ? s->tid_go : thread_meant(s));
	struct regs regs = { 0 };
	struct err *err;
	bool done;

	TRY(lines_back(s, tid, stop, &done));
	if (done)
		return NULL;
	err_free(replay_regs(s->r, tid, &regs));
	err = replay_step_back(s->r, tid, stop);
	if (err || stop->kind != REPLAY_STOP_STEP)
		return err;
	callee_stepped(s, tid, regs.rip);
	return lines_over_call(s, tid, &regs, stop);
}

/* For people who wait: a line in the debugger's console. */
static void tell_progress(void *ctx, uint64_t event, uint64_t ns)
{
	char text[120];

	snprintf(text, sizeof(text),
		 "still going back, now at event %" PRIu64 ", after %" PRIu64 " s (^C stops it)\n",
		 event, ns / 1000000000);
	packet_console(ctx, text);
}

static struct err *go_back(struct server *s, struct replay_stop *stop)
{
	bool callee = callee_begin(s);
	struct err *err = replay_backward(s->r, stop);

	if (callee)
		callee_end(s, !err && stop->kind == REPLAY_STOP_BREAK);
	return err;
}

void do_back(struct server *s, const char *p, size_t len)
{
	struct replay_stop stop;
	struct err *err;

	(void)len;
	s->shown.tid = 0;
	if (lldb_told(s) || tell_later(s))
		return;
	process_going(s, true);
	replay_interrupt_from(s->r, packet_interrupts(s));
	if (monitor_armed(s)) {
		go(s, 0, false, false, 0, 0);
		return;
	}
	if (close_vfork(s))
		return;
	lock(s, s->lock_told ? s->tid_named : 0);
	/* where each packet is answered, the answer would be taken for an interrupt */
	replay_progress_to(s->r, s->no_ack ? tell_progress : NULL, s);
	do {
		err = p[-1] == 'c' ? go_back(s, &stop) : step_back(s, &stop);
	} while (!err && stop.kind == REPLAY_STOP_EXIT
			 ? process_known(s, stop.child_pid)
			 : !err && (is_known(s, &stop) || is_others(s, &stop)));
	replay_progress_to(s->r, NULL, NULL);
	if (!err && stop.kind == REPLAY_STOP_EXIT)
		tell_process(s, stop.tid);
	else if (!err && s->backwards && !s->shown.tid && is_plain(&stop))
		stopped_later(s, &stop, false);
	else
		stopped(s, err, &stop);
	unlock(s);
}

void do_why(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	switch (s->last.kind) {		/* what may be said again */
	case REPLAY_STOP_BREAK:
	case REPLAY_STOP_WATCH:
	case REPLAY_STOP_SIGNAL:
	case REPLAY_STOP_BEGIN:
	case REPLAY_STOP_END:
	case REPLAY_STOP_INTERRUPT:
		break;
	default:
		s->last.kind = REPLAY_STOP_STEP;
	}
	put_stop(s, &s->last);
}


/* ---- target extended-remote ------------------------------------------------------------------ */

/* "run" and "start over": to the beginning. */
void do_run_again(struct server *s, const char *p, size_t len)
{
	struct replay_stop stop;
	struct err *err;

	(void)p;
	(void)len;
	s->later.set = false;
	err = replay_seek(s->r, 0, &stop);
	stop.kind = REPLAY_STOP_STEP;
	stopped(s, err, &stop);
}

/* A process of the recording that is there at this point. */
void do_attach(struct server *s, const char *p, size_t len)
{
	struct replay_stop stop = { .kind = REPLAY_STOP_STEP };
	struct replay_task t;
	uint64_t pid;

	(void)len;
	if (!parse_hex(&p, &pid) || *p || pid > INT32_MAX || !target_task(s, (int)pid, &t)) {
		reply_bad(s);
		return;
	}
	replay_show(s->r, t.pid, true);
	s->later.set = false;
	s->last = stop;
	threads_unchosen(s);
	reply_text(&s->out, "T00thread:");
	put_thread(s, t.tid);
	reply_text(&s->out, ";");
}
