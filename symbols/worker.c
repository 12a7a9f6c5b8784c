/*
 * worker.c - the cage around libdwarf.
 *
 * A trace may come from a stranger, and with it programs whose debug information was made to take
 * over whoever reads it. So it is read in a process that can only compute: a fork of ours, in which
 * all descriptors but the output's are closed and a filter kills for any system call but read,
 * write, anonymous memory and exit.  Memory and processor time are limited, and the parent waits no
 * longer than WALL_SECONDS.  What it writes is data, read with suspicion (format.h).
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

static void close_all_but(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	syscall(SYS_close_range, 3, low > 3 ? low - 1 : 3, low > 3 ? 0 : 4);
	if (high > low + 1)
		syscall(SYS_close_range, low + 1, high - 1, 0);
	syscall(SYS_close_range, high + 1, ~0u, 0);
}

/* For tests: what a worker that was taken over, or that hangs, would do. */
static void misbehave(void)
{
	const char *how = getenv("HINDSIGHT_WORKER_FAULT");

	if (!how)
		return;
	if (how[0] == 'c')
		getppid();		/* a call that the cage does not know */
	else if (how[0] == 's')
		__builtin_trap();
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
	struct rlimit none = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	close_all_but(job->out, alive);
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
	misbehave();
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
			"the process that reads debug information was killed for a forbidden system call");
	if (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
		return err_new(ERR_UNSUPPORTED,
			       "the process that reads debug information took too long");
	return err_new(ERR_UNSUPPORTED,
		       "the process that reads debug information crashed (signal %d)",
		       WTERMSIG(status));
}

struct err *worker_run(const struct worker_job *job)
{
	struct pollfd p = { .events = POLLIN };
	int ends[2], status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return err_os(errno, "pipe");
	pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_os(errno, "fork");
	}
	if (!pid) {
		close(ends[0]);
		worker(job, ends[1]);
	}
	close(ends[1]);
	p.fd = ends[0];
	if (poll(&p, 1, QUIET_MS) == 0 && isatty(2))
		log_warn("reading the debug information of %s ...", job->name);
	while (!p.revents && poll(&p, 1, WALL_SECONDS * 1000) < 0 && errno == EINTR)
		;
	if (!p.revents)
		kill(pid, SIGKILL);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_os(errno, "waitpid");
	return ended(status);
}
