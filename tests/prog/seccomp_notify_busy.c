// test: timeout=60
/*
 * A supervisor (SECCOMP_RET_USER_NOTIF) that computes when it has let a call go on: what the call writes meanwhile belongs to that call.
 * And a program that is interrupted all the time, with calls in between: a call that the supervisor is told of is not gone
 * when it asks.
 */
#include "seccomp_supervisor.h"

enum { READS = 4, CALLS = 80, BYTES = 3000 };

static volatile int finished;
static volatile uint64_t spun;
static char buffer[BYTES];

static void *supervisor(void *arg)
{
	CHECK_EQ(supervise(8000000), READS + CALLS + 1);
	return arg;
}

static void *spinner(void *arg)
{
	while (!finished)
		spun++;
	return arg;
}

int main(void)
{
	pthread_t s, t;
	int fd[2];

	CHECK_EQ(pipe(fd), 0);
	CHECK_EQ(pthread_create(&s, NULL, supervisor, NULL), 0);
	CHECK_EQ(pthread_create(&t, NULL, spinner, NULL), 0);
	listener = install();
	if (listener < 0) {
		printf("no listeners here: %d\n", errno);
		return 77;
	}
	for (int i = 0; i < READS; i++) {
		char text[BYTES];

		memset(text, 'a' + i, BYTES);
		CHECK_EQ(write(fd[1], text, BYTES), BYTES);
		CHECK_EQ(read(fd[0], i % 2 ? buffer : text, BYTES), BYTES);
		CHECK_EQ((i % 2 ? buffer : text)[BYTES - 1], 'a' + i);
	}
	for (int i = 0; i < CALLS; i++) {
		compute(i * 7919u % 40000);
		CHECK_EQ(getpgid(i), i + 1);
	}
	CHECK_EQ(getsid(4), 5);
	finished = 1;
	CHECK_EQ(pthread_join(s, NULL), 0);
	CHECK_EQ(pthread_join(t, NULL), 0);
	return success();
}
