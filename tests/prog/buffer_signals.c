/* Signals that a buffered call raises, and signals that come while calls are buffered: the handler runs where it would
 * have run, and sees everything that was done before. */
#include "test.h"
#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>

static volatile int hits, last;
static volatile unsigned long done, ahead, behind, ticks;
static int fd, p[2];

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
	last = sig;
}

/* What write() has done and what the program knows differ by the call that was interrupted, if any. */
static void tick(int sig, siginfo_t *si, void *ctx)
{
	unsigned long there = 0;
	int saved = errno;

	CHECK_EQ(pread(fd, &there, sizeof(there), 0), sizeof(there));
	if (there == done + 1)
		ahead++;
	else if (there != done)
		behind++;
	ticks++;
	errno = saved;
}

static void raised_by_calls(void)
{
	struct rlimit lim = { 4096, RLIM_INFINITY };
	char buf[5000] = { 0 }, name[] = "buffer_signals.XXXXXX";
	int f = mkstemp(name), q[2];

	unlink(name);
	on_signal(SIGPIPE, handler, 0);
	on_signal(SIGXFSZ, handler, 0);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &lim), 0);
	for (int i = 0; i < 5; i++) {
		hits = 0;
		CHECK_EQ(pwrite(f, buf, 100, 0), 100);
		CHECK_EQ(pwrite(f, buf, 5000, 0), 4096);
		CHECK_EQ(hits, 0);
		CHECK_ERR(pwrite(f, buf, 1, 4096), EFBIG);
		CHECK_EQ(hits, 1);
		CHECK_EQ(last, SIGXFSZ);
	}
	lim.rlim_cur = RLIM_INFINITY;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &lim), 0);
	close(f);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(pipe2(q, O_NONBLOCK), 0);
		CHECK_EQ(write(q[1], buf, 10), 10);
		close(q[0]);
		hits = 0;
		CHECK_ERR(write(q[1], buf, 10), EPIPE);
		CHECK_EQ(hits, 1);
		CHECK_EQ(last, SIGPIPE);
		close(q[1]);
	}
}

static void in_between(void)
{
	struct itimerval it = { { 0, 700 }, { 0, 700 } };
	char name[] = "buffer_signals.XXXXXX", c;
	uint64_t until;

	fd = mkstemp(name);
	unlink(name);
	CHECK_EQ(pwrite(fd, (void *)&done, sizeof(done), 0), sizeof(done));
	CHECK_EQ(pipe(p), 0);
	on_signal(SIGALRM, tick, SA_RESTART);
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	until = now_ns() + 200000000;
	while (now_ns() < until) {
		unsigned long next = done + 1;

		CHECK_EQ(pwrite(fd, &next, sizeof(next), 0), sizeof(next));
		done = next;
		CHECK_EQ(write(p[1], "x", 1), 1);
		CHECK_EQ(read(p[0], &c, 1), 1);
		if (done % 50 == 0)
			getppid();
	}
	it = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &it, NULL);
	CHECK_EQ(behind, 0);
	CHECK(ticks > 0);
}

/* While it is blocked no handler runs, and when it is let through it has run before the call returns. */
static void masked(void)
{
	struct itimerval it = { { 0, 300 }, { 0, 300 } };
	sigset_t set, old, pending;
	uint64_t until;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	on_signal(SIGALRM, handler, SA_RESTART);
	hits = 0;
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	until = now_ns() + 100000000;
	for (unsigned i = 0; now_ns() < until; i++) {
		int before;

		CHECK_EQ(sigprocmask(SIG_BLOCK, &set, &old), 0);
		before = hits;
		for (int k = 0; k < 20; k++)
			CHECK(getppid() > 0);
		if (i % 8 == 0)
			kill(getpid(), SIGALRM);
		CHECK_EQ(hits, before);
		CHECK_EQ(sigpending(&pending), 0);
		CHECK_EQ(sigprocmask(SIG_SETMASK, &old, NULL), 0);
		if (sigismember(&pending, SIGALRM))
			CHECK(hits > before);
	}
	it = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &it, NULL);
}

/* A handled signal ends a sleep in poll() and read(), though the hook asked without sleeping first. */
static void interrupted(void)
{
	struct itimerval it = { { 0, 3000 }, { 0, 3000 } }, none = { 0 };	/* again and again: it may come too early */
	struct pollfd pf = { p[0], POLLIN, 0 };
	char c;

	on_signal(SIGALRM, handler, 0);
	for (int i = 0; i < 5; i++) {
		hits = 0;
		CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
		CHECK_ERR(read(p[0], &c, 1), EINTR);
		CHECK(hits > 0);
		hits = 0;
		CHECK_ERR(poll(&pf, 1, -1), EINTR);
		CHECK(hits > 0);
		CHECK_EQ(setitimer(ITIMER_REAL, &none, NULL), 0);
		CHECK_EQ(poll(&pf, 1, 0), 0);
		CHECK_EQ(poll(&pf, 1, 2), 0);
	}
}

int main(void)
{
	raised_by_calls();
	in_between();
	masked();
	interrupted();
	return success();
}
