// test: libs=-lpthread
/*
 * Threads that hand on to each other by epoll_wait, poll and read; a signal that means nothing to the program disturbs who sleeps, and what
 * the call then writes must not be seen by those who run before it is back.
 */
#include "test.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>

enum { ROUNDS = 60 };
static int there[2], back[2], kind;

static void *sleeper(void *arg)
{
	int ep = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = 77 };

	(void)arg;
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, there[0], &e), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct pollfd p = { there[0], POLLIN, 0 };
		struct epoll_event got[8] = { 0 };
		char c = 0;

		if (kind == 0) {
			CHECK_EQ(epoll_wait(ep, got, 8, 5000), 1);
			CHECK_EQ(got[0].data.u32, 77);
		} else if (kind == 1) {
			CHECK_EQ(poll(&p, 1, 5000), 1);
			CHECK_EQ(p.revents, POLLIN);
		}
		CHECK_EQ(read(there[0], &c, 1), 1);
		CHECK_EQ(c, (char)i);
		CHECK_EQ(write(back[1], &c, 1), 1);
	}
	close(ep);
	return NULL;
}

int main(void)
{
	for (kind = 0; kind < 3; kind++) {
		pthread_t t;

		CHECK(pipe(there) == 0 && pipe(back) == 0);
		CHECK_EQ(pthread_create(&t, NULL, sleeper, NULL), 0);
		for (int i = 0; i < ROUNDS; i++) {
			char c = (char)i;

			if (i > 20 && i % 3 == 0) {
				kill(getpid(), SIGCONT);	/* to each traced thread, as it is */
				usleep(300);
			}
			CHECK_EQ(write(there[1], &c, 1), 1);
			for (int k = 0; i % 4 == 3 && k < 4; k++)	/* calls with a stop */
				CHECK_EQ(setpriority(PRIO_PROCESS, 0, 0), 0);
			CHECK_EQ(read(back[0], &c, 1), 1);
		}
		CHECK_EQ(pthread_join(t, NULL), 0);
		close(there[0]), close(there[1]), close(back[0]), close(back[1]);
	}
	return success();
}
