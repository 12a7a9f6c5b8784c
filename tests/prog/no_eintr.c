// test: timeout=60
/* Calls that the kernel ends with EINTR whenever it is disturbed must not tell the program that the recorder has disturbed it. */
#include "eintr_calls.h"
#include <pthread.h>

enum { ROUNDS = 60, THREADS = 3 };

static volatile uint64_t sink;

static void compute(unsigned turns)
{
	uint64_t x = sink;

	for (unsigned i = 0; i < turns; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	sink = x;
}

static void *work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	int ep = epoll_create1(0), sem = semget(IPC_PRIVATE, 1, 0600), s[2];
	struct timeval ms = { 0, 1000 };

	CHECK(sem >= 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &ms, sizeof(ms)), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		seed = seed * 1103515245u + 12345u;
		compute((seed >> 8) % 8000000);
		for (unsigned k = 0; k < 4; k++) {
			wait_in_vain(i + k, 1, ep, sem, s[0]);
			compute((seed >> 4) % 100000);
		}
	}
	CHECK_EQ(semctl(sem, 0, IPC_RMID), 0);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, work, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	return success();
}
