/* Writing to a pipe nobody reads: SIGPIPE handled, ignored, in mid-write of a blocked writer. */
#include "test.h"

static volatile int hits;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
}

static void *closer(void *arg)
{
	usleep(3000);
	close(*(int *)arg);
	return NULL;
}

int main(void)
{
	static char big[1 << 20];
	pthread_t t;
	ssize_t n;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	close(p[0]);
	on_signal(SIGPIPE, handler, 0);
	CHECK_ERR(write(p[1], "x", 1), EPIPE);
	CHECK_EQ(hits, 1);
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERR(write(p[1], "x", 1), EPIPE);
	close(p[1]);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pthread_create(&t, NULL, closer, &p[0]), 0);
	n = write(p[1], big, sizeof(big));
	CHECK(n == 65536 || (n == -1 && errno == EPIPE));
	pthread_join(t, NULL);
	return success();
}
