/*
 * timer.c - the recorder's own timer, whose signal makes waitpid() return every few milliseconds.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "recorder/internal.h"

/* ALONE_OFTEN: to set the timer costs as much as some ticks do, and tasks that talk alternate */
enum { TICK_US = 5000, TICK_OFTEN_US = 250, ALONE_OFTEN = 6 };

static void on_tick(int sig)
{
	(void)sig;	/* only to make waitpid return */
}

/* A tick that comes before waitpid() sleeps is lost: so the next one must not be far. */
void rec_tick_in(struct recorder *rec, uint64_t first_ns)
{
	long usual = rec->ticks_often ? TICK_OFTEN_US : TICK_US;
	long first = (long)first_ns / 1000 < usual ? (long)first_ns / 1000 : usual;
	long next = first * 2 + 20 < usual ? first * 2 + 20 : usual;
	struct itimerval every = { { 0, next }, { 0, first ? first : 1 } };

	setitimer(ITIMER_REAL, &every, NULL);
	rec->ticks_fast = next != usual;
}

void rec_tick_as_usual(struct recorder *rec)
{
	if (rec->ticks_fast)
		rec_tick_in(rec, TICK_US * 1000);
}

void rec_tick_often(struct recorder *rec, bool often)
{
	if (rec->ticks_often == often)
		return;
	rec->ticks_often = often;
	rec_tick_in(rec, TICK_US * 1000);
}

void rec_tick_for(struct recorder *rec, bool others)
{
	if (others) {
		rec->alone = 0;
		rec_tick_often(rec, true);
	} else if (rec->ticks_often && ++rec->alone == ALONE_OFTEN) {
		rec_tick_often(rec, false);
	}
}

/*
 * A wake-up of ours takes the processor from the task at once, not when its slice ends: since Linux
 * 6.12 the one with the shorter slice goes first (EEVDF, sched_ext aside).  Where that is not to be
 * had ticks come some milliseconds late.
 */
static void prompt(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = 48, .flags = 1 /* SCHED_FLAG_RESET_ON_FORK */, .runtime = 100000 };

	syscall(SYS_sched_setattr, 0, &attr, 0);
}

void rec_ticks_start(struct recorder *rec)
{
	struct sigaction sa = { .sa_handler = on_tick };

	prompt();
	sigaction(SIGALRM, &sa, NULL);
	rec_tick_in(rec, TICK_US * 1000);
}
