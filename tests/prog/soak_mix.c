// test: libs=-lpthread timeout=60
/* Threads, children and signals at once, over pipes, files, futexes and clocks: for `make soak T=soak_mix N=200`. */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

enum { THREADS = 4, ROUNDS = 60 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int next_thread, pipes[2];
static volatile sig_atomic_t alarms, usr1;
static unsigned long sum;

static void caught(int sig)
{
	char c = 'x';

	if (sig == SIGALRM)
		alarms++;
	else
		usr1++;
	(void)!write(pipes[1], &c, 1);
}

static unsigned long compute(unsigned long x, int n)
{
	for (int i = 0; i < n; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}

static void *worker(void *arg)
{
	long me = (long)arg;
	char name[32], buf[64];

	snprintf(name, sizeof(name), "file%ld", me);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec now;
		int fd = open(name, O_CREAT | O_RDWR | (i % 8 ? O_APPEND : O_TRUNC), 0600);
		ssize_t n;

		clock_gettime(CLOCK_MONOTONIC, &now);
		n = snprintf(buf, sizeof(buf), "%ld %d %ld\n", me, i, now.tv_nsec % 7);
		if (write(fd, buf, (size_t)n) != n || pread(fd, buf, 8, 0) < 1)
			abort();
		close(fd);
		pthread_mutex_lock(&lock);
		while (next_thread % THREADS != me)
			pthread_cond_wait(&turn, &lock);
		sum = compute(sum + (unsigned long)now.tv_nsec, 2000);
		next_thread++;
		pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&lock);
		if (i % 16 == me)
			pthread_kill(pthread_self(), SIGUSR1);
	}
	return NULL;
}

static void children(void)
{
	for (int i = 0; i < 6; i++) {
		int status, p[2];
		char c = 0;
		pid_t pid;

		CHECK(pipe(p) == 0);
		pid = fork();
		if (!pid) {
			c = (char)('a' + compute((unsigned long)getpid(), 100) % 26);
			_exit(write(p[1], &c, 1) == 1 ? i : 99);
		}
		while (waitpid(pid, &status, 0) < 0)
			CHECK_EQ(errno, EINTR);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == i);
		while (read(p[0], &c, 1) < 0)
			CHECK_EQ(errno, EINTR);
		sum += (unsigned long)c;
		close(p[0]);
		close(p[1]);
	}
}

int main(void)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, off = { 0 };
	struct sigaction sa = { .sa_handler = caught, .sa_flags = SA_RESTART };
	pthread_t threads[THREADS];
	char c;

	CHECK(pipe2(pipes, O_NONBLOCK) == 0);
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (long i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, worker, (void *)i), 0);
	children();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	while (read(pipes[0], &c, 1) == 1)
		sum += (unsigned long)c;
	CHECK(usr1 > 0);
	printf("%lu %d\n", sum, (int)alarms);
	return success();
}
