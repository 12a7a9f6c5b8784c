/*
 * worker.c - the cage around libdwarf.
 *
 * A trace may come from an untrusted source, and with it programs whose debug information was made
 * to take over whoever reads it. So it is read in a process that can only compute: a fork of ours,
 * in which all descriptors but the output's are closed and a filter kills for any system call but
 * read, write, anonymous memory and exit.  Memory and processor time are limited, and the parent
 * waits no longer than WALL_SECONDS.  What it writes is data, read with suspicion (format.h).
 *
 * Rejected: a worker that lives on and is handed one file after the other, since one file could
 * then lie about the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "symbols/worker.h"

/* gcc and clang each say in their own way that AddressSanitizer is in. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#endif

enum { WALL_SECONDS = 300, CPU_SECONDS = 240, QUIET_MS = 1500 };
#define MEMORY_BYTES (6ull << 30)
#define OUTPUT_BYTES (4ull << 30)

static bool allow(scmp_filter_ctx ctx, int nr)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0) == 0;
}

static bool cage(void)
{
	static const int calls[] = {
		SCMP_SYS(read),
		SCMP_SYS(write),
		SCMP_SYS(exit),
		SCMP_SYS(exit_group),
		SCMP_SYS(brk),
		SCMP_SYS(munmap),
		SCMP_SYS(mremap),
		SCMP_SYS(madvise),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(futex),
#ifdef SANITIZED
		/* what AddressSanitizer's own allocator does; such a build is for our tests */
		SCMP_SYS(mprotect),
		SCMP_SYS(sched_yield),
		SCMP_SYS(gettid),
		SCMP_SYS(prctl),
		SCMP_SYS(sigaltstack),
		SCMP_SYS(clock_gettime),
		SCMP_SYS(getrlimit),
		SCMP_SYS(prlimit64),
		SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(mincore),
#endif
	};
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	bool ok = ctx != NULL;

	for (size_t i = 0; ok && i < sizeof(calls) / sizeof(calls[0]); i++)
		ok = allow(ctx, calls[i]);
	/*
	 * Memory of no file: the fourth argument has MAP_ANONYMOUS, and nothing can be made
	 * executable.
	 */
	ok = ok && seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				    SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS),
				    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) == 0;
	ok = ok && seccomp_load(ctx) == 0;
	seccomp_release(ctx);
	return ok;
}

static void limit(int what, uint64_t value)
{
	struct rlimit r = { value, value };

	setrlimit(what, &r);
}

/* The parent's memory counts, too. */
static uint64_t size_now(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f) {
		if (fscanf(f, "%lu", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	return pages * 4096ull;
}

static int int_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* keep: may have -1; the standard ones stay. */
static void close_all_but(int *keep, size_t n)
{
	int from = 3;

	qsort(keep, n, sizeof(*keep), int_compare);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] > from)
			syscall(SYS_close_range, from, keep[i] - 1, 0);
		if (keep[i] >= from)
			from = keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

/*
 * For tests: what a worker that was taken over, or that hangs, would do; only the second of two
 * where the word ends with 2.
 */
static void misbehave(enum worker_half half)
{
	const char *how = getenv("HINDSIGHT_WORKER_FAULT");

	if (!how || !*how || (how[strlen(how) - 1] == '2' && half != WORKER_SECOND))
		return;
	if (how[0] == 'c')
		getppid();		/* a call that the cage does not know */
	else if (how[0] == 's')
		__builtin_trap();
	else if (!strcmp(how, "late"))
		for (volatile int i = 0; i < 200000000; i++)
			;
	else if (how[0] == 'm')
		while (memset(malloc(1 << 26), 1, 1 << 26))
			;
}

/* libelf writes into an image whose sections it unpacks: into this process's copy of the pages. */
static void make_writable(struct span s)
{
	if (s.n && !((uintptr_t)s.p & 4095))
		mprotect((void *)(uintptr_t)s.p, s.n, PROT_READ | PROT_WRITE);
}

static int nothing_compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

/* glibc's qsort() asks for the size of memory at its first large array: before the cage, then. */
static void warm_up(void)
{
	char many[4096] = { 0 };

	qsort(many, sizeof(many), 1, nothing_compare);
}

static void __attribute__((noreturn)) worker(const struct worker_job *job, int alive)
{
	int keep[] = { job->half == WORKER_SECOND ? -1 : job->out, alive,
		       job->half == WORKER_WHOLE ? -1 : job->peer };
	struct rlimit none = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	close_all_but(keep, sizeof(keep) / sizeof(keep[0]));
	make_writable(job->main);
	make_writable(job->debug);
	make_writable(job->alt);
	make_writable(job->frames);
	for (size_t i = 0; i < job->n_split; i++)
		make_writable(job->split[i]);
	setrlimit(RLIMIT_CORE, &none);
#ifndef SANITIZED
	limit(RLIMIT_AS, size_now() + MEMORY_BYTES);
#else
	(void)size_now;
#endif
	limit(RLIMIT_CPU, CPU_SECONDS);
	limit(RLIMIT_FSIZE, OUTPUT_BYTES);
	warm_up();
	if (!cage())
		_exit(2);
	misbehave(job->half);
	compile_index(job);
	_exit(0);
}

static struct err *ended(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NULL;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return err_new(
			ERR_UNSUPPORTED,
			"the process that reads debug information could not be caged (seccomp)");
	if (WIFEXITED(status))
		return err_new(
			ERR_UNSUPPORTED,
			"the process that reads debug information ran out of memory or disk");
	if (WTERMSIG(status) == SIGSYS)
		return err_new(
			ERR_UNSUPPORTED,
			"the process that reads debug information was killed for a forbidden "
			"system call");
	if (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
		return err_new(ERR_UNSUPPORTED,
			       "the process that reads debug information took too long");
	return err_new(ERR_UNSUPPORTED,
		       "the process that reads debug information crashed (signal %d)",
		       WTERMSIG(status));
}

/* A child that does its part of the job; alive is open for as long as it runs. */
static pid_t start(const struct worker_job *job, enum worker_half half, int peer, int alive)
{
	struct worker_job mine = *job;
	pid_t pid = fork();

	if (pid)
		return pid;
	mine.half = half;
	mine.peer = peer;
	worker(&mine, alive);
}

struct workers {
	pid_t pid[2];
	int n;
	int alive[2], peers[2];		/* pipes; -1 = closed */
};

static void close_ends(struct workers *w, bool all)
{
	int *ends[] = { &w->peers[0], &w->peers[1], &w->alive[1], &w->alive[0] };

	for (int i = 0; i < (all ? 4 : 3); i++) {
		if (*ends[i] >= 0)
			close(*ends[i]);
		*ends[i] = -1;
	}
}

static struct err *start_all(const struct worker_job *job, struct workers *w)
{
	if (pipe2(w->alive, O_CLOEXEC) || (job->halves && pipe2(w->peers, O_CLOEXEC)))
		return err_os(errno, "pipe");
	for (int i = 0; i < 1 + job->halves; i++) {
		enum worker_half half = i ? WORKER_SECOND : WORKER_FIRST;

		w->pid[i] = start(job, job->halves ? half : WORKER_WHOLE, w->peers[i], w->alive[1]);
		if (w->pid[i] < 0)
			return err_fork(errno);
		w->n++;
	}
	return NULL;
}

/* Until they are gone, or for as long as they may take. */
static void wait_for_all(const struct worker_job *job, struct workers *w, int status[2])
{
	struct pollfd p = { .fd = w->alive[0], .events = POLLIN };

	if (poll(&p, 1, QUIET_MS) == 0 && isatty(2))
		log_warn("reading the debug information of %s ...", job->name);
	while (!p.revents && poll(&p, 1, WALL_SECONDS * 1000) < 0 && errno == EINTR)
		;
	for (int i = 0; i < w->n; i++) {
		if (!p.revents)
			kill(w->pid[i], SIGKILL);
		while (waitpid(w->pid[i], &status[i], 0) < 0 && errno == EINTR)
			;
	}
}

struct err *worker_run(const struct worker_job *job)
{
	struct workers w = { .alive = { -1, -1 }, .peers = { -1, -1 } };
	int status[2] = { 0, 0 };
	struct err *err = start_all(job, &w);

	close_ends(&w, err != NULL);
	if (err) {
		for (int i = 0; i < w.n; i++) {
			kill(w.pid[i], SIGKILL);
			waitpid(w.pid[i], NULL, 0);
		}
		return err;
	}
	wait_for_all(job, &w, status);
	close_ends(&w, true);
	/* A process that waited for the other in vain does not know why. */
	if (WIFEXITED(status[0]) && WEXITSTATUS(status[0]) == WORKER_ALONE && status[1])
		return ended(status[1]);
	return ended(status[0]);
}
