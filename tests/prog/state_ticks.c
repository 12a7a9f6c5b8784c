// test: timeout=60 static variants=default,step,landmark,pmu
/* A loop that a timer interrupts, under each source of ticks; small, because single steps are slow. */
#define HITS 10
#define PERIOD_US 3000
#include "state.h"

static volatile uint64_t n;

static uint64_t probe(const ucontext_t *u) { return n; }

static void loop(void)
{
	while (hits < wanted) {
		n++;
		if (n % 7 == 3)
			n += 2;
	}
}

int main(void)
{
	state_probe = probe;
	run("loop", HITS, loop, false);
	return success();
}
