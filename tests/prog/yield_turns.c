// test: timeout=60
/*
 * Threads that wait for each other by sched_yield take turns without a stop: beside one that
 * computes, one that sleeps, signals, a lock that is held at each yield, threads that come and go.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { THREADS = 9, ROUNDS = 60 };

static atomic_int arrived, round_no, ticks;
static unsigned long value[THREADS], sum;

static void on_alarm(int sig)
{
	(void)sig;
	ticks++;
}

static void barrier(void)
{
	int mine = round_no;

	if (++arrived == THREADS) {
		for (int i = 0; i < THREADS; i++)
			sum = sum * 31 + value[i];
		arrived = 0;
		round_no++;
		return;
	}
	while (round_no == mine)
		sched_yield();
}

static void *work(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		int turns = me == i % THREADS ? 100000 : 100;

		for (int k = 0; k < turns; k++)
			value[me] = value[me] * 1103515245 + (unsigned long)(me + k);
		if (me == 3 && i % 20 == 0)
			usleep(300);
		barrier();
	}
	return arg;
}

int main(void)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, never = { 0 };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pthread_t t[THREADS];

	sigaction(SIGALRM, &sa, NULL);
	for (int again = 0; again < 2; again++) {
		setitimer(ITIMER_REAL, &every, NULL);
		for (long i = 1; i < THREADS; i++)
			pthread_create(&t[i], NULL, work, (void *)i);
		work(0);
		for (int i = 1; i < THREADS; i++)
			pthread_join(t[i], NULL);
		setitimer(ITIMER_REAL, &never, NULL);
	}
	printf("%lx\n", sum);
	puts("EXIT-SUCCESS");
	return round_no == 2 * ROUNDS ? 0 : 1;
}
