/*
 * state.h - programs that a timer interrupts in the middle of computing, and that check where.
 *
 * The handler logs what the loop's counter is, the registers it interrupted and the vector registers in its
 * frame; all of it is printed, so a replay that strikes one turn early or late prints something else.
 * A loop ends when it has been hit often enough: run() counts.
 */
#ifndef STATE_H
#define STATE_H

#include "test.h"
#include <setjmp.h>
#include <sys/time.h>
#include <ucontext.h>

#ifndef HITS
#define HITS 100
#endif
#ifndef PERIOD_US
#define PERIOD_US 1000
#endif

static volatile sig_atomic_t hits, wanted;
static uint64_t logged[4096];
static sigjmp_buf state_out;
static bool state_jumps;			/* the loop has no end: the last hit jumps out of it */
static uint64_t (*state_probe)(const ucontext_t *u);	/* the loop's own counter */

static uint64_t state_mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15ull + (h >> 29);
}

static void state_handler(int sig, siginfo_t *info, void *uc)
{
	const ucontext_t *u = uc;
	const unsigned char *fp = (const unsigned char *)u->uc_mcontext.fpregs;
	uint64_t h = 14695981039346656037ull, w;
	uint32_t magic, size, n = 512;

	if (hits >= wanted)
		return;
	for (int i = 0; i < 17; i++)	/* r8 ... rip */
		h = state_mix(h, (uint64_t)u->uc_mcontext.gregs[i]);
	memcpy(&magic, fp + 464, 4);
	memcpy(&size, fp + 468, 4);
	if (magic == 0x46505853 && size >= 832)
		n = 832;		/* the upper halves of YMM too */
	for (uint32_t i = 160; i < n; i += 8) {
		if (i >= 416 && i < 576)
			continue;
		memcpy(&w, fp + i, 8);
		h = state_mix(h, w);
	}
	if (state_probe)
		h = state_mix(h, state_probe(u));
	logged[hits] = h;
	hits++;
	if (state_jumps && hits == wanted)
		siglongjmp(state_out, 1);
}

static inline void state_timer(long us)
{
	struct itimerval it = { { 0, us }, { 0, us } };

	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
}

/* The loop is hit n times. */
static inline void run(const char *name, int n, void (*loop)(void), bool endless)
{
	uint64_t sum = 0;

	hits = 0;
	wanted = n;
	state_jumps = endless;
	on_signal(SIGALRM, state_handler, SA_RESTART);
	if (!sigsetjmp(state_out, 1)) {
		state_timer(PERIOD_US);
		while (hits < wanted)
			loop();
	}
	state_timer(0);
	CHECK_EQ(hits, wanted);
	for (int i = 0; i < n; i++) {
		sum = state_mix(sum, logged[i]);
		if (i < 8 || i == n - 1)
			printf("%s %d %016llx\n", name, i, (unsigned long long)logged[i]);
	}
	printf("%s %016llx\n", name, (unsigned long long)sum);
	state_probe = NULL;
}

#endif
