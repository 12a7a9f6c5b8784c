/*
 * interrupt.c - what ends a run from outside: a debugger's interrupt, and ticks of a timer; and
 * what a long one tells the debugger meanwhile.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "replayer/machine/alarm.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/stops.h"

/* OVERDUE_NS: who interrupts waits no longer than this for a point that has a name. */
enum { TICK_US = 25000, OVERDUE_NS = 60000000 };

/* The handler may find it stopped already: then the next run stops at once, and we look again. */
static volatile pid_t running;
static volatile sig_atomic_t interrupted;
/* the handler found nothing running: the next run is interrupted as it begins */
static volatile sig_atomic_t missed;
static volatile uint64_t interrupted_ns;
static volatile int interrupt_fd = -1;

/* The purpose of the timer, besides looking for a debugger's interrupt. */
static volatile sig_atomic_t timing;	/* enum rp_timing */
static volatile sig_atomic_t ticked;
static volatile sig_atomic_t late;	/* samples are wanted too often */

static void ring(void)
{
	struct pollfd p = { interrupt_fd, POLLIN, 0 };
	bool now = timing != RP_TIME_USER;

	if (now)
		ticked = 1;
	if (interrupt_fd >= 0 && poll(&p, 1, 0) > 0) {
		if (!interrupted)
			interrupted_ns = now_ns();
		interrupted = now = true;
	}
	if (now && running > 0)
		ptrace(PTRACE_INTERRUPT, running, NULL, NULL);
	else if (now && (timing != RP_TIME_SAMPLES || interrupted))
		missed = 1;
	/*
	 * what goes on between two runs takes longer than a sample: with `missed' nothing would
	 * ever run
	 */
	else if (now)
		late = 1;
}

void replay_interrupt_from(struct replay *r, int fd)
{
	(void)r;
	interrupt_fd = fd;
	interrupted = 0;
}

static long timer_us;

static void timer_set(long us)
{
	if (us != timer_us)
		rp_alarm(ring, (uint64_t)us * 1000, (uint64_t)us * 1000);
	timer_us = us;
}

/* ---- what a long way back tells -------------------------------------------------------------- */

static struct {
	replay_progress_fn *fn;
	void *ctx;
	uint64_t began_ns, next_ns;
} progress;

/* Nanoseconds from one line to the next; 0: never. */
static uint64_t progress_every(void)
{
	const char *asked = getenv("HINDSIGHT_PROGRESS");

	return !asked ? 10000000000 : strcmp(asked, "0") ? 1000000000 : 0;
}

void replay_progress_to(struct replay *r, replay_progress_fn *fn, void *ctx)
{
	uint64_t every = progress_every();

	(void)r;
	progress.fn = every ? fn : NULL;
	progress.ctx = ctx;
	progress.began_ns = now_ns();
	progress.next_ns = progress.began_ns + every;
}

void rp_progress(uint64_t event)
{
	uint64_t now;

	if (!progress.fn)
		return;
	now = now_ns();
	if (now < progress.next_ns)
		return;
	progress.fn(progress.ctx, event, now - progress.began_ns);
	progress.next_ns = now + progress_every();
}

void rp_timer_forked(void)
{
	progress.fn = NULL;
	interrupt_fd = -1;
	interrupted = ticked = 0;
	running = 0;
	timer_us = 0;
}

/*
 * Work of ours may take longer than a tick (a thousand breakpoints): the program would never run.
 */
void rp_tick_anew(void)
{
	long us = timer_us;

	if (!missed || interrupted)
		return;
	missed = ticked = 0;
	timer_us = 0;
	timer_set(us);
}

/* Tests want many interrupts: they may come anywhere. */
static long tick_us(void)
{
	static long us;

	if (!us) {
		const char *asked = getenv("HINDSIGHT_TICK_US");

		us = asked && atol(asked) > 0 ? atol(asked) : TICK_US;
	}
	return us;
}

void rp_timer(enum rp_timing what)
{
	timing = what;
	ticked = missed = 0;
	timer_set(tick_us());
}

void rp_timer_samples(struct replay *r, long us)
{
	stops_of(r)->samples_n = 0;
	timing = RP_TIME_SAMPLES;
	ticked = late = 0;
	timer_set(us);
}

void rp_timer_off(void)
{
	timing = RP_TIME_USER;
	timer_set(0);
}

bool rp_user_interrupt(enum on_interrupt how)
{
	return interrupted && how != INTERRUPT_WAITS;
}

bool rp_user_interrupt_overdue(enum on_interrupt how)
{
	return rp_user_interrupt(how) && now_ns() - interrupted_ns > OVERDUE_NS;
}

void rp_ticks_forget(void)
{
	ticked = 0;
}

bool rp_run_interrupted(const struct stops *stops)
{
	return (stops->run.ticks && timing == RP_TIME_TICK && ticked) ||
	       rp_user_interrupt(stops->run.on_interrupt);
}

void rp_interrupt_run(pid_t pid)
{
	running = pid;
	if (!pid || !missed)
		return;
	/* faults of watched pages keep us from running nearly all the time */
	missed = 0;
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
}

bool rp_sample_due(void)
{
	if (timing != RP_TIME_SAMPLES || !ticked)
		return false;
	ticked = 0;
	if (late && timer_us < TICK_US)
		timer_set(timer_us * 2);
	late = 0;
	return true;
}
