/*
 * async.c - async KIND N: work that switches and signals cut at any instruction, and hand-offs between threads.
 *
 *   threads K    K threads compute, 200 million steps in all
 *   timer HZ     one thread computes, a timer signal comes HZ times a second
 *   tight HZ     the same with a loop of one instruction a turn
 *   spin N       4 threads take a spin lock N times in all, and yield while it is taken
 *   futex N      two threads hand a word to and fro N times, sleeping in between
 *   pipe N       the same through two pipes
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { STEPS = 200 * 1000 * 1000, SPINNERS = 4 };

static long n;
static atomic_int lock, word;
static volatile long total;
static volatile sig_atomic_t ticks;
static int ab[2], ba[2];

static uint64_t compute(long steps)
{
	uint64_t x = 88172645463325252ull, sum = 0;

	for (long i = 0; i < steps; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		sum += x & 1023;
	}
	return sum;
}

static void *computer(void *arg)
{
	return (void *)(uintptr_t)compute(STEPS / (long)arg);
}

static void *spinner(void *arg)
{
	for (long i = 0; i < n / SPINNERS; i++) {
		while (atomic_exchange(&lock, 1))
			sched_yield();
		total++;
		atomic_store(&lock, 0);
	}
	return arg;
}

static void *futex_player(void *arg)
{
	int me = (int)(long)arg;

	for (long i = 0; i < n; i++) {
		int now;

		while ((now = atomic_load(&word)) != me)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
		atomic_store(&word, !me);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static void *pipe_player(void *arg)
{
	int me = (int)(long)arg;
	char c = 'x';

	for (long i = 0; i < n; i++) {
		if (me && (read(ab[0], &c, 1) != 1 || write(ba[1], &c, 1) != 1))
			exit(1);
		if (!me && (write(ab[1], &c, 1) != 1 || read(ba[0], &c, 1) != 1))
			exit(1);
	}
	return NULL;
}

static void threads(int k, void *(*fn)(void *), bool number)
{
	pthread_t t[64];

	for (long i = 0; i < k; i++)
		pthread_create(&t[i], NULL, fn, (void *)(number ? i : k));
	for (int i = 0; i < k; i++)
		pthread_join(t[i], NULL);
}

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static void timer(long hz, bool tight)
{
	struct itimerval it = { { 0, 1000000 / hz }, { 0, 1000000 / hz } };
	uint64_t r = 0;

	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &it, NULL);
	if (!tight)
		total = (long)compute(STEPS);
	for (long i = 0; tight && i < 4l * STEPS; i++)
		__asm__ volatile("" : "+r"(r));
	memset(&it, 0, sizeof(it));
	setitimer(ITIMER_REAL, &it, NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	n = argc > 2 ? atol(argv[2]) : 1;
	if (pipe(ab) < 0 || pipe(ba) < 0)
		return 1;
	if (!strcmp(kind, "threads"))
		threads((int)n, computer, false);
	else if (!strcmp(kind, "timer") || !strcmp(kind, "tight"))
		timer(n, kind[1] == 'i' && kind[2] == 'g');
	else if (!strcmp(kind, "spin"))
		threads(SPINNERS, spinner, true);
	else if (!strcmp(kind, "futex"))
		threads(2, futex_player, true);
	else if (!strcmp(kind, "pipe"))
		threads(2, pipe_player, true);
	else
		return 2;
	return 0;
}
