/*
 * front.c - the process that the shell sees: rec, while the recording is made by another.
 *
 *	shell
 *	  rec                 waits; same process group as the program; ends with its status
 *	    program           its parent is rec, as if rec had simply run it
 *	    observer          in the same process group; of no use to anybody else
 *	  (init)
 *	    recorder          session of its own; traces the program and all it starts
 *
 * ptrace ties tracees to the thread that traces them, so the recorder cannot leave the foreground
 * later: it is forked off first.  Then rec can return when the program does, and what it has left
 * behind goes on being recorded.  No signal to a process group and no key reaches the recorder.
 *
 * Who sends a signal to rec means the program: rec blocks all signals, reads them, and passes them
 * on.  These reach the program without rec's help, and are not passed on:
 *
 *	what a terminal sends to its foreground group (^C; SIGWINCH); a hangup, though, it tells
 *	the leader of the session alone
 *	what a program of the recording sends to its own group
 *	what another process sends to the group
 *
 * Nothing tells a signal to a group from one to a process.  So one more process is in the group,
 * the observer, which blocks all signals, too, and does nothing: rec asks it whether it has got the
 * same.  (The kernel gives a signal first to those of a group that came last.)
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
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/*
 * All signals are read from the descriptor returned.  Those that a background process gets from its
 * terminal stay ignored: they would only be rec's own.
 */
static int own_signals(void)
{
	sigset_t all;

	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigfillset(&all);
	sigdelset(&all, SIGTTIN);
	sigdelset(&all, SIGTTOU);
	return apart(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
}

struct watch {
	pid_t program, recorder;
	int observer;		/* a socket; -1: there is none */
	bool ended;		/* the program has, and has been waited for */
	int end;		/* SIGTERM has come, but not yet been passed on */
};

/* ---- the observer --------------------------------------------------------------------------- */

static _Noreturn void be_observer(int fd)
{
	const struct timespec now = { 0 };
	sigset_t set;
	int sig;

	close_range(0, (unsigned)fd - 1, 0);
	close_range((unsigned)fd + 1, ~0u, 0);
	while (read(fd, &sig, sizeof(sig)) == sizeof(sig)) {
		sigemptyset(&set);
		sigaddset(&set, sig);
		sig = sigtimedwait(&set, NULL, &now) == sig;
		if (write(fd, &sig, sizeof(sig)) != sizeof(sig))
			break;
	}
	_exit(0);
}

/* All signals are blocked. */
static int start_observer(pid_t *pid)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -1;
	*pid = fork();
	if (*pid == 0)
		be_observer(apart(sockets[1]));
	close(sockets[1]);
	if (*pid > 0)
		return apart(sockets[0]);
	close(sockets[0]);
	return -1;
}

static bool observer_has(const struct watch *w, int sig)
{
	const struct timespec patience = { .tv_nsec = 200000000 };
	struct pollfd p = { w->observer, POLLIN, 0 };
	int answer = 0;

	return send(w->observer, &sig, sizeof(sig), MSG_NOSIGNAL) == sizeof(sig) &&
	       ppoll(&p, 1, &patience, NULL) == 1 &&
	       recv(w->observer, &answer, sizeof(answer), 0) == sizeof(answer) && answer;
}

static void end_observer(int fd, pid_t pid)
{
	if (fd < 0)
		return;
	close(fd);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Was it sent to the group, and so to the program, too? */
static bool was_for_group(const struct watch *w, int sig)
{
	enum { AGAIN_US = 2000 };

	if (observer_has(w, sig))
		return true;
	usleep(AGAIN_US);	/* should a kernel have another order */
	return observer_has(w, sig);
}

/* ---- signals --------------------------------------------------------------------------------- */

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

/*
 * By sigqueue: so it carries its true sender (recorder/recorder.h).  One that was sent with a value
 * keeps that.
 */
static void queue(pid_t pid, const struct signalfd_siginfo *from)
{
	siginfo_t info = { 0 };

	info.si_signo = (int)from->ssi_signo;
	info.si_code = SI_QUEUE;
	if (from->ssi_code <= 0) {
		info.si_pid = (pid_t)from->ssi_pid;
		info.si_uid = from->ssi_uid;
	}
	info.si_value.sival_ptr =
		(void *)(uintptr_t)(from->ssi_code == SI_QUEUE ? from->ssi_ptr : PASSED_ON);
	syscall(SYS_rt_sigqueueinfo, pid, info.si_signo, &info);
}

static void pass_on(struct watch *w, const struct signalfd_siginfo *s)
{
	int sig = (int)s->ssi_signo;
	pid_t by = s->ssi_code <= 0 ? (pid_t)s->ssi_pid : 0;
	bool ours = by && (by == getpid() || by == w->recorder), group;

	if (sig == SIGCHLD || ours)
		return;
	group = was_for_group(w, sig);
	if (by ? is_recorded(w, by) : group && !w->ended)
		return;
	if (sig == SIGTERM || (w->ended && (sig == SIGINT || sig == SIGQUIT)))
		w->end = sig;
	if (!group && !w->ended && sig != SIGXCPU)
		queue(w->program, s);
}

static void read_signals(struct watch *w, int fd)
{
	struct signalfd_siginfo s;

	while (read(fd, &s, sizeof(s)) == sizeof(s))
		pass_on(w, &s);
	if (w->end && w->recorder) {
		union sigval none = { 0 };

		/* by sigqueue: the program has it already */
		if (w->ended || sigqueue(w->recorder, SIGTERM, none) < 0)
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

static int wait_for_recorder(const struct front *f, pid_t program, int observer)
{
	struct watch w = { .program = program, .observer = observer };
	int signals = own_signals();
	struct news news;

	for (;;) {
		struct pollfd p[] = { { f->socket, POLLIN, 0 }, { signals, POLLIN, 0 } };
		ssize_t n;

		watch_program(f, &w);
		read_signals(&w, signals);
		if (ppoll(p, 2, NULL, NULL) < 0 || !p[0].revents)
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
					"rec: what the program has left behind goes on being "
					"recorded (kill %d ends it)\n",
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

/* Forked twice: nobody's child that the program's parent would have to know of.  -1 and errno. */
static pid_t fork_recorder(void)
{
	pid_t pid = fork(), inner;
	int status;

	if (pid == 0) {
		inner = fork();
		if (inner == 0)
			return 0;
		_exit(inner < 0 ? errno : 0);
	}
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!status)
		return pid;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
	return -1;
}

struct err *front_start(struct front *f, const struct recorder_options *o,
			struct recorder_child *child, int *code)
{
	int sockets[2], observer;
	sigset_t all, before;
	pid_t pid, observer_pid = 0;
	struct err *err;

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
		err = err_fork(errno);
		set_back(child, &before);
		return err;
	}
	if (pid == 0) {
		become_recorder(f, sockets);
		return NULL;
	}
	close(sockets[1]);
	f->socket = apart(sockets[0]);
	recorder_child_forget(child);
	observer = start_observer(&observer_pid);
	close_stream(STDIN_FILENO);
	close_stream(STDOUT_FILENO);
	*code = wait_for_recorder(f, child->pid, observer);
	end_observer(observer, observer_pid);
	return &err_end;
}
