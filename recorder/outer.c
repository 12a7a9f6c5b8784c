/*
 * outer.c - recording inside a sandbox: a seccomp filter of somebody else's is in force (a
 * container's, systemd's).
 *
 * Such a filter answers some calls by itself, and then a filter of ours that says TRACE is not
 * heard: the stricter answer wins.  PTRACE_SYSCALL stops before any filter, but stops for the calls
 * of the hook as well.  So tasks run under system call user dispatch, which comes before filters
 * and knows addresses: every call that is not made by one of the instructions in FIXED_PAGE raises
 * SIGSYS, whose stop is the task's coming to a call.  Dispatch is switched off then, and the call
 * is made by the program's own instruction between two PTRACE_SYSCALL stops; it is switched on
 * again when the task goes on in user mode. That is one stop more than elsewhere for a traced call,
 * and none for a buffered one.
 *
 * The filter decides on the hook's calls as it would on the program's.  What it refuses is refused
 * and recorded.  What raises SIGSYS, or sleeps for a supervisor, is made again, traced.  The few
 * calls that the hook makes for itself must be allowed: that is tried out, by a child under a
 * filter that says TRACE to all, so that none is made for real.
 *
 * The few that the recorder answers itself (sched_setaffinity, ptrace, ...) the filter does not
 * see.  What it would say is found out by a child in the same way.
 *
 * Without dispatch (it needs ptrace to set it: Linux 6.4), all calls are stopped, and none is
 * buffered.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/internal.h"

enum {
	SET_DISPATCH = 0x4210 /* PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG */,
	SIGSYS_DISPATCH = 2 /* SYS_USER_DISPATCH */
};

/*
 * A child that must not leave a core dump behind.  Returns what became of it; -1: there was none.
 */
static int try_in_child(int (*what)(void))
{
	static const struct rlimit none;
	pid_t pid = fork(), got;
	int status;

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGSYS, SIG_DFL);
		_exit(what());
	}
	do {
		got = pid < 0 ? -1 : waitpid(pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -1 : status;
}

static int call_nothing(void)
{
	syscall(-1);
	return 0;
}

/* From now on calls are not made: what the filter in force allows is answered with ENOSYS. */
static bool make_none(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
	};
	struct sock_fprog prog = { 4, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == 0;
}

static int call_own(void)
{
	static const long own[] = { SYS_fstat,	    SYS_poll,  SYS_fcntl, SYS_rt_sigpending,
				    SYS_newfstatat, SYS_futex, SYS_brk,	  SYS_prctl };

	if (!make_none())
		return 1;
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (syscall(own[i], 0, 3, 0, 0, 0, 0) >= 0 || errno != ENOSYS)
			return 2;
	}
	return 0;
}

/* ---- what would it say? ---------------------------------------------------------------------- */

/* Between rec_outer_answer() and its child. */
static struct question { uint64_t nr, args[6]; uint32_t answer; } *question;

static void trapped(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	question->answer = SECCOMP_RET_TRAP | ((uint32_t)info->si_errno & SECCOMP_RET_DATA);
	_exit(0);
}

static int call_it(void)
{
	struct sigaction trap = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	const uint64_t *a = question->args;
	long ret;

	sigaction(SIGSYS, &trap, NULL);
	if (!make_none())
		return 1;
	errno = 0;
	ret = syscall((long)question->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	question->answer = ret == -1 && errno == ENOSYS
				   ? SECCOMP_RET_ALLOW
				   : SECCOMP_RET_ERRNO | (ret == -1 ? (uint32_t)errno : 0);
	return 0;
}

uint32_t rec_outer_answer(uint64_t nr, const uint64_t args[6])
{
	enum { KNOWN = 32 };
	static struct question known[KNOWN];
	static unsigned n;
	struct question q = { .nr = nr };
	int status;

	memcpy(q.args, args, sizeof(q.args));
	for (unsigned i = 0; i < KNOWN && i < n; i++) {
		if (!memcmp(&known[i], &q, offsetof(struct question, answer)))
			return known[i].answer;
	}
	if (!question) {
		void *shared = mmap(NULL, sizeof(*question), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (shared == MAP_FAILED)
			return SECCOMP_RET_ALLOW;
		question = shared;
	}
	*question = q;
	question->answer = SECCOMP_RET_ALLOW;
	status = try_in_child(call_it);
	if (status > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		question->answer = SECCOMP_RET_KILL_PROCESS;
	known[n++ % KNOWN] = *question;
	return question->answer;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static bool dispatch_set(pid_t tid, bool on)
{
	struct { uint64_t mode, selector, offset, len; } config = { 0, 0, 0, 0 };

	if (on) {
		config.mode = 1;
		config.offset = FIXED_PAGE;
		config.len = FIXED_BLOB - FIXED_PAGE;
	}
	return ptrace((enum __ptrace_request)SET_DISPATCH, tid, sizeof(config), &config) == 0;
}

/*
 * Where a filter is in force already (a container's), it answers some calls by itself, before
 * ours would stop them; ours is not installed then.
 */
void rec_outer_look(struct recorder *rec)
{
	rec->outer_filter = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
	rec->null_nr = (uint64_t)-1;
	if (!rec->outer_filter)
		return;
	rec->outer_filters = (unsigned)proc_status_number(getpid(), "Seccomp_filters:", 10);
	if (try_in_child(call_nothing) != 0)
		rec->null_nr = SYS_getpid;
	rec->dispatch = try_in_child(call_own) == 0 && !getenv("HINDSIGHT_NO_DISPATCH");
}

/* The first child has been seized and has not begun. */
void rec_outer_try(struct recorder *rec, pid_t pid)
{
	int status;

	if (!rec->dispatch)
		return;
	rec->dispatch = ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0 &&
			waitpid(pid, &status, __WALL) == pid && dispatch_set(pid, false);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
}

struct err *rec_dispatch(struct rec_task *t, bool on)
{
	if (!t->by_dispatch || t->dispatched == on || t->ended)
		return NULL;
	if (!dispatch_set(t->tid, on))
		return &err_gone;
	t->dispatched = on;
	return NULL;
}

bool rec_dispatch_stopped(const struct rec_task *t)
{
	siginfo_t info;

	return t->dispatched && tracee_stop_kind(t->status) == STOP_SIGNAL &&
	       WSTOPSIG(t->status) == SIGSYS &&
	       ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) == 0 &&
	       info.si_code == SIGSYS_DISPATCH;
}

static bool is_dispatch(const siginfo_t *info, void *ctx)
{
	(void)ctx;
	return info->si_signo == SIGSYS && info->si_code == SIGSYS_DISPATCH;
}

/* Our interrupt is told first.  Its registers are behind a call then that has not been made. */
bool rec_dispatch_pending(const struct rec_task *t)
{
	return t->dispatched && rec_signals_find(t, 0, is_dispatch, NULL);
}

struct err *rec_dispatch_stop(struct recorder *rec, struct rec_task *t)
{
	struct regs regs;
	int status;

	TRY(rec_dispatch(t, false));
	TRY(rec_signal_unforce(rec, t, SIGSYS));
	TRY(tracee_regs_get(t->tid, &regs));
	regs.rip -= 2;
	regs.orig_rax = (uint64_t)-1;	/* nothing to begin again */
	TRY(tracee_regs_set(t->tid, &regs));
	TRY(rec_resume(t, PTRACE_SYSCALL, 0));
	return rec_wait_task(rec, t, &status);
}
