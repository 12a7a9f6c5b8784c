// test: static cc=musl-gcc
/* A static program of another C library: threads, signals, files. */
#include "test.h"

static volatile int hits;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
}

static void *thread(void *arg)
{
	return (void *)((long)arg + 1);
}

int main(void)
{
	pthread_t t;
	void *ret;
	FILE *f;
	char buf[100];

	on_signal(SIGUSR1, handler, SA_RESTART);
	raise(SIGUSR1);
	CHECK_EQ(hits, 1);
	for (long i = 0; i < 10; i++) {
		CHECK_EQ(pthread_create(&t, NULL, thread, (void *)i), 0);
		pthread_join(t, &ret);
		CHECK_EQ((long)ret, i + 1);
	}
	f = fopen("/proc/self/stat", "r");
	CHECK(f && fgets(buf, sizeof(buf), f));
	CHECK_EQ(atoi(buf), getpid());
	pid_t pid = fork();

	if (!pid)
		_exit(3);
	wait_exit(pid, 3);
	printf("%lu\n", (unsigned long)now_ns());
	return success();
}
