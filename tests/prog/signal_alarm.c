/* alarm and setitimer while the program sits in a call; ITIMER_VIRTUAL in one that computes. */
#include "test.h"
#include <sys/time.h>

static volatile int hits;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
}

int main(void)
{
	struct itimerval it = { .it_value = { 0, 100000 } }, old;	/* long enough that the call comes first, on a loaded machine too */
	int p[2];
	char c;

	on_signal(SIGALRM, handler, 0);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	CHECK_ERR(read(p[0], &c, 1), EINTR);
	CHECK_EQ(hits, 1);
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	CHECK_ERR(pause(), EINTR);
	CHECK_EQ(hits, 2);
	/* A periodic one. */
	it.it_value.tv_usec = 3000;
	it.it_interval = it.it_value;
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	while (hits < 7)
		pause();
	memset(&it, 0, sizeof(it));
	CHECK_EQ(setitimer(ITIMER_REAL, &it, &old), 0);
	CHECK_EQ(old.it_interval.tv_usec, 3000);
	CHECK_EQ(alarm(100), 0);
	CHECK(alarm(0) >= 99);
	CHECK_EQ(getitimer(ITIMER_REAL, &old), 0);
	CHECK_EQ(old.it_value.tv_sec, 0);

	/* CPU time passes only while we run: keep making calls. */
	hits = 0;
	on_signal(SIGVTALRM, handler, 0);
	on_signal(SIGPROF, handler, 0);
	it.it_value.tv_usec = 5000;
	CHECK_EQ(setitimer(ITIMER_VIRTUAL, &it, NULL), 0);
	while (hits < 1)
		for (volatile int i = 0; i < 100000 && !getppid(); i++)
			;
	it.it_value.tv_usec = 5000;
	CHECK_EQ(setitimer(ITIMER_PROF, &it, NULL), 0);
	while (hits < 2)
		getppid();
	return success();
}
