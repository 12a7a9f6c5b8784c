// test: timeout=30
/* Signals between threads: pthread_kill at blocked threads, process-directed ones, in both directions. */
#include "test.h"

enum { N = 4 };

static pthread_t threads[N];
static __thread int my_hits;
static int total, ready[2];

static void handler(int sig, siginfo_t *si, void *ctx)
{
	my_hits++;
	__atomic_add_fetch(&total, 1, __ATOMIC_SEQ_CST);
}

static void *thread(void *arg)
{
	sigset_t none, block;

	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &block, NULL);
	put1(ready[1]);
	while (my_hits < 10)
		sigsuspend(&none);
	return (void *)(long)my_hits;
}

int main(void)
{
	sigset_t block;
	void *ret;

	CHECK_EQ(pipe(ready), 0);
	on_signal(SIGUSR1, handler, 0);
	for (int i = 0; i < N; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, thread, NULL), 0);
	for (int i = 0; i < N; i++)
		get1(ready[0]);
	for (int round = 1; round <= 10; round++) {
		for (int i = 0; i < N; i++)
			CHECK_EQ(pthread_kill(threads[i], SIGUSR1), 0);
		while (__atomic_load_n(&total, __ATOMIC_SEQ_CST) < round * N)
			sched_yield();
	}
	for (int i = 0; i < N; i++) {
		pthread_join(threads[i], &ret);
		CHECK_EQ((long)ret, 10);
	}
	sigemptyset(&block);
	CHECK_EQ(total, 10 * N);
	return success();
}
