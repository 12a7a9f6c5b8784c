// test: timeout=60 libs=-lpthread
/* Threads that compute without a call: each switch is named by state.  What they saw of each other is printed. */
#include "state.h"

enum { THREADS = 4, TURNS = 30000000 };
static volatile uint64_t shared[8];
static uint64_t seen[THREADS];

static void *worker(void *arg)
{
	uint64_t me = (uint64_t)arg, h = 0;

	for (int i = 0; i < TURNS; i++) {
		shared[me]++;
		if (!(i & 1023))
			h = state_mix(h, shared[(me + 1) % THREADS]);
	}
	seen[me] = h;
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (uint64_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, worker, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	for (int i = 0; i < THREADS; i++)
		printf("%d %016llx\n", i, (unsigned long long)seen[i]);
	return success();
}
