// test: timeout=60
/*
 * While a call waits that its supervisor lets go on, a thread computes, and the only word that it changes lies in the page
 * that the call writes to, beside what it writes: points in that loop are told apart by it.
 */
#include "seccomp_supervisor.h"

enum { READS = 30, BYTES = 3000 };

static volatile int finished;
static struct {
	char before[8];
	volatile uint64_t spun;
	char buffer[BYTES];
	volatile uint64_t behind;
} page __attribute__((aligned(4096)));

static void *supervisor(void *arg)
{
	CHECK_EQ(supervise(4000000), READS + 1);
	return arg;
}

static void *spinner(void *arg)
{
	while (!finished) {
		if (arg)
			page.behind++;
		else
			page.spun++;
	}
	return arg;
}

int main(void)
{
	pthread_t s, t[2];
	char text[BYTES];
	int fd[2];

	CHECK_EQ(pipe(fd), 0);
	CHECK_EQ(pthread_create(&s, NULL, supervisor, NULL), 0);
	CHECK_EQ(pthread_create(&t[0], NULL, spinner, NULL), 0);
	CHECK_EQ(pthread_create(&t[1], NULL, spinner, &page), 0);
	listener = install();
	if (listener < 0) {
		printf("no listeners here: %d\n", errno);
		return 77;
	}
	for (int i = 0; i < READS; i++) {
		memset(text, 'a' + i, BYTES);
		CHECK_EQ(write(fd[1], text, BYTES), BYTES);
		CHECK_EQ(read(fd[0], page.buffer, BYTES), BYTES);
		CHECK_EQ(page.buffer[BYTES - 1], 'a' + i);
	}
	CHECK_EQ(getsid(4), 5);
	finished = 1;
	CHECK_EQ(pthread_join(s, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	return success();
}
