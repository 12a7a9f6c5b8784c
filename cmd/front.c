/*
 * front.c - the process that the shell sees: rec, while the recording is made by another.
 *
 *	shell
 *	  rec                 waits; same process group as the program; ends with its status
 *	    program           its parent is rec, as if rec had simply run it
 *	  (init)
 *	    recorder          session of its own; traces the program and all it starts
 *
 * ptrace ties tracees to the thread that traces them, so the recorder cannot leave the foreground
 * later: it is forked off first.  Then rec can return when the program does, and what it has left
 * behind goes on being recorded.  No signal to a process group and no key reaches the recorder.
 * rec itself ignores what a program sends to its own group.
 *
 * Both know of each other's end by a socket.  The recorder says: my process ID; all is recorded;
 * the program has ended, but others live.  When rec dies without having been told that (kill -9),
 * the recorder dies too, and the program with it: but not when the program has sent that signal to
 * its group and died as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "cmd/front.h"

enum news_kind { NEWS_PID = 1, NEWS_DONE, NEWS_LEFT };
struct news { enum news_kind kind; int value; };

struct front_page {
	uint32_t continued;	/* how often the program was, after a stop */
	uint32_t stopping;	/* rec is about to stop, or has */
};

static void tell(const struct front *f, enum news_kind kind, int value)
{
	struct news news = { kind, value };

	if (send(f->socket, &news, sizeof(news), MSG_NOSIGNAL) < 0)
		return;		/* nobody is left to hear it */
}

/* No stream of the program's may be held open by us: who reads it waits for its end. */
static void close_stream(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	if (null != fd) {
		dup2(null, fd);
		close(null);
	}
}

/* ---- the recorder's side --------------------------------------------------------------------- */

void front_left(void *front, int status)
{
	const struct front *f = front;

	if (f->ready)
		f->ready(f->ctx);
	tell(f, NEWS_LEFT, status);
	close_stream(STDERR_FILENO);
}

/*
 * Who continued the program may have meant its process alone.  rec is told until it is seen to run:
 * it may be just about to stop.
 */
void front_continued(void *front)
{
	enum { TRIES = 400, PAUSE_US = 250 };
	const struct front *f = front;

	__atomic_fetch_add(&f->page->continued, 1, __ATOMIC_SEQ_CST);
	if (kill(f->rec, SIGCONT) < 0)
		return;
	for (int i = 0; i < TRIES && __atomic_load_n(&f->page->stopping, __ATOMIC_SEQ_CST); i++) {
		usleep(PAUSE_US);
		kill(f->rec, SIGCONT);
	}
}

void front_done(const struct front *f, int code)
{
	tell(f, NEWS_DONE, code);
	_exit(0);
}

/* Descriptors 0 to 2 are open, whatever we were given: nothing of ours gets these numbers. */
static void fill_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int apart(int fd)
{
	int high = fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (high != fd)
		close(fd);
	return high;
}

static void become_recorder(struct front *f, int sockets[2])
{
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);	/* tracee/own.h */
	sigprocmask(SIG_UNBLOCK, &faults, NULL);
	setsid();
	close(sockets[0]);
	f->socket = apart(sockets[1]);
	fill_streams();
	tell(f, NEWS_PID, getpid());
}

/* ---- rec's side ------------------------------------------------------------------------------ */

static volatile sig_atomic_t asked_to_end;	/* by this signal */
static volatile pid_t asked_by;			/* 0: by the kernel */

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGCHLD)
		return;
	asked_to_end = sig;
	asked_by = info->si_code <= 0 ? info->si_pid : 0;
}

static void own_signals(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	for (int sig = 1; sig < SIGRTMAX; sig++) {
		if (sig != SIGCHLD && sig != SIGTERM && sig != SIGINT && sig != SIGQUIT &&
		    sig != SIGCONT)
			signal(sig, SIG_IGN); /* fails for some */
	}
	sigaction(SIGCHLD, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGQUIT, &sa, NULL);
}

struct watch {
	pid_t program, recorder;
	bool ended;		/* the program has, and has been waited for */
	int end;		/* SIGTERM has come, but not yet been passed on */
};

/* Parent of a process, 0 when there is none. */
static pid_t parent_of(pid_t pid)
{
	struct proc_stat s;

	return proc_stat(pid, &s) ? s.parent : 0;
}

/*
 * The program, or one it started: then it has sent the signal to its group, and got it by itself.
 */
static bool is_recorded(const struct watch *w, pid_t pid)
{
	for (int depth = 0; depth < 64 && pid > 1; depth++) {
		if (pid == w->program)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

static void pass_on(struct watch *w)
{
	int sig = asked_to_end;

	asked_to_end = 0;
	if (sig && asked_by && is_recorded(w, asked_by))
		sig = 0;
	/* From the terminal the program gets these two by itself, and may go on. */
	if (sig && (sig == SIGTERM || w->ended))
		w->end = sig;
	if (w->end && w->recorder) {
		kill(w->recorder, SIGTERM);
		w->end = 0;
	}
}

/*
 * The program is stopped: so are we, for the shell waits for us.  Who continues it continues its
 * group, or it alone: then the recorder continues us.
 */
static void watch_program(const struct front *f, struct watch *w)
{
	struct front_page *page = f->page;
	uint32_t before = __atomic_load_n(&page->continued, __ATOMIC_SEQ_CST);
	int status;

	while (!w->ended && waitpid(w->program, &status, WNOHANG | WUNTRACED) == w->program) {
		w->ended = !WIFSTOPPED(status);
		__atomic_store_n(&page->stopping, !w->ended, __ATOMIC_SEQ_CST);
		if (!w->ended && __atomic_load_n(&page->continued, __ATOMIC_SEQ_CST) == before)
			kill(getpid(), SIGSTOP);
		__atomic_store_n(&page->stopping, 0, __ATOMIC_SEQ_CST);
		before = __atomic_load_n(&page->continued, __ATOMIC_SEQ_CST);
	}
}

static int wait_for_recorder(const struct front *f, pid_t program, const sigset_t *before)
{
	struct watch w = { .program = program };
	struct news news;
	sigset_t open;

	open = *before;
	sigdelset(&open, SIGCHLD);
	sigdelset(&open, SIGTERM);
	sigdelset(&open, SIGINT);
	sigdelset(&open, SIGQUIT);
	for (;;) {
		struct pollfd p = { f->socket, POLLIN, 0 };
		ssize_t n;

		watch_program(f, &w);
		pass_on(&w);
		if (ppoll(&p, 1, NULL, &open) < 0)
			continue;
		n = recv(f->socket, &news, sizeof(news), 0);
		if (n != sizeof(news))
			break;
		if (news.kind == NEWS_PID)
			w.recorder = news.value;
		if (news.kind == NEWS_DONE)
			return news.value;
		if (news.kind == NEWS_LEFT) {
			if (isatty(STDERR_FILENO))
				fprintf(stderr,
					"rec: what the program has left behind goes on being recorded (kill %d ends it)\n",
					(int)w.recorder);
			return news.value;
		}
	}
	return cmd_fail(
		"rec",
		err_new(ERR_OS, "the recorder has died; what it has recorded replays up to there"));
}

static void set_back(struct recorder_child *child, const sigset_t *before)
{
	recorder_child_end(child);
	sigprocmask(SIG_SETMASK, before, NULL);
}

/* Forked twice: nobody's child that the program's parent would have to know of. */
static pid_t fork_recorder(void)
{
	pid_t pid = fork(), inner;
	int status;

	if (pid == 0) {
		inner = fork();
		if (inner == 0)
			return 0;
		_exit(inner < 0);
	}
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -1 : pid;
}

struct err *front_start(struct front *f, const struct recorder_options *o,
			struct recorder_child *child, int *code)
{
	int sockets[2];
	sigset_t all, before;
	pid_t pid;

	f->rec = getpid();
	f->page = mmap(NULL, sizeof(*f->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (f->page == MAP_FAILED)
		return err_os(errno, "no memory to share with the recorder");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return err_os(errno, "cannot make a socket");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child->sigmask = before;
	TRY(recorder_child_fork(o, child));
	pid = fork_recorder();
	if (pid < 0) {
		set_back(child, &before);
		return err_os(errno, "cannot fork");
	}
	if (pid == 0) {
		become_recorder(f, sockets);
		return NULL;
	}
	close(sockets[1]);
	f->socket = apart(sockets[0]);
	recorder_child_forget(child);
	own_signals();
	close_stream(STDIN_FILENO);
	close_stream(STDOUT_FILENO);
	*code = wait_for_recorder(f, child->pid, &before);
	return &err_end;
}
