// test: timeout=30
/* rdtsc and rdtscp: forward only, from several threads and processes, and with SIGSEGV
 * blocked, handled or ignored - the trap that records them must not show. */
#include "test.h"

static uint64_t rdtsc(void)
{
	uint32_t a, d;

	asm volatile("rdtsc" : "=a"(a), "=d"(d));
	return (uint64_t)d << 32 | a;
}

static uint64_t rdtscp(uint32_t *aux)
{
	uint32_t a, d;

	asm volatile("rdtscp" : "=a"(a), "=d"(d), "=c"(*aux));
	return (uint64_t)d << 32 | a;
}

static volatile int segv;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	segv++;
}

static uint64_t check(int n)
{
	uint64_t last = rdtsc(), first = last;
	uint32_t aux;

	for (int i = 0; i < n; i++) {
		uint64_t t = i % 2 ? rdtsc() : rdtscp(&aux);

		CHECK(t >= last);
		last = t;
	}
	return last - first;
}

static void *thread(void *arg)
{
	check(200);
	return arg;
}

int main(void)
{
	pthread_t t[3];
	sigset_t all, old;
	pid_t pid;

	printf("%lu\n", (unsigned long)rdtsc());
	printf("%lu\n", (unsigned long)check(500));
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, thread, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	pid = fork();
	if (!pid) {
		check(50);
		_exit(0);
	}
	wait_exit(pid, 0);
	on_signal(SIGSEGV, handler, 0);
	check(50);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	check(50);
	signal(SIGSEGV, SIG_IGN);
	check(50);
	sigprocmask(SIG_SETMASK, &old, NULL);
	check(50);
	CHECK_EQ(segv, 0);
	struct sigaction sa;

	sigaction(SIGSEGV, NULL, &sa);
	CHECK(sa.sa_handler == SIG_IGN);
	return success();
}
