// test: libs=-lrt
/* timer_create with signals and overruns, timer_gettime, timer_delete. */
#include "test.h"

static volatile int hits, value;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	CHECK_EQ(si->si_code, SI_TIMER);
	value = si->si_value.sival_int;
	hits++;
}

static void notified(union sigval v)
{
	__atomic_add_fetch(&hits, v.sival_int, __ATOMIC_SEQ_CST);
}

int main(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 42 };
	struct itimerspec it = { .it_value = { 0, 2000000 }, .it_interval = { 0, 1000000 } }, cur;
	timer_t t;

	on_signal(SIGRTMIN, handler, 0);
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &ev, &t), 0);
	CHECK_EQ(timer_settime(t, 0, &it, NULL), 0);
	while (hits < 5)
		pause();
	CHECK_EQ(value, 42);
	CHECK_EQ(timer_gettime(t, &cur), 0);
	CHECK_EQ(cur.it_interval.tv_nsec, 1000000);
	CHECK(timer_getoverrun(t) >= 0);
	CHECK_EQ(timer_delete(t), 0);
	CHECK_ERR(syscall(SYS_timer_gettime, 12345, &cur), EINVAL);

	hits = 0;
	ev.sigev_notify = SIGEV_NONE;
	CHECK_EQ(timer_create(CLOCK_REALTIME, &ev, &t), 0);
	it.it_value.tv_sec = 1000;
	CHECK_EQ(timer_settime(t, 0, &it, NULL), 0);
	CHECK_EQ(timer_gettime(t, &cur), 0);
	CHECK(cur.it_value.tv_sec > 900 && cur.it_value.tv_sec <= 1000);
	CHECK_EQ(timer_delete(t), 0);

	ev.sigev_notify = SIGEV_THREAD;
	ev.sigev_notify_function = notified;
	ev.sigev_value.sival_int = 100;
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &ev, &t), 0);
	it = (struct itimerspec){ .it_value = { 0, 1000000 } };
	CHECK_EQ(timer_settime(t, 0, &it, NULL), 0);
	while (__atomic_load_n(&hits, __ATOMIC_SEQ_CST) < 100)
		usleep(500);
	return success();
}
