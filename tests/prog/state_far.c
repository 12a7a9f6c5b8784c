// test: timeout=60 libs=-lpthread
/*
 * 80 MB, and what tells one turn from the next is a word in the middle of it that no register or stack word points to: the recorder
 * cannot compare all of that at each point, so replay meets states that look just right and are not.  It shows a call or two
 * later, and then there must be a way back.
 */
#include "state.h"

enum { BYTES = 80 << 20, MIDDLE = BYTES / 2, APART = BYTES / 8, THREAD_TURNS = 8 };

static unsigned char *volatile memory;
static volatile uint64_t sink[2];
static uint64_t seen[2];
static unsigned every;		/* so many signals, one call that shows the word */

static uint64_t word(long i)
{
	return *(volatile uint64_t *)(memory + MIDDLE + i * APART);
}

/* Leaves no address behind. */
static __attribute__((noinline)) void bump(long i)
{
	unsigned char *at = memory + MIDDLE + i * APART;

	__asm__ volatile("incq (%1)\n\txor %%eax, %%eax\n\txor %0, %0\n\txor %1, %1"
			 : "+r"(i), "+r"(at) :: "rax", "memory", "cc");
}

static __attribute__((noinline)) void inner(uint64_t turns)
{
	__asm__ volatile("1:\tmov %0, %1\n\tdec %0\n\tjnz 1b" : "+r"(turns), "=m"(sink[0]) :: "memory", "cc");
}

static uint64_t probe(const ucontext_t *u)
{
	if (hits % every == 0)
		syscall(SYS_getppid, word(0));
	return word(0);
}

static void turns(void)
{
	while (hits < wanted) {
		for (int i = 0; i < 3; i++)
			inner(150000);
		bump(0);
	}
}

static void *thread(void *arg)
{
	long me = (long)arg;
	uint64_t h = 0;

	for (int i = 0; i < THREAD_TURNS; i++) {
		for (int k = 0; k < 10; k++) {
			inner(2000000);
			inner(2000000);
			bump(me);
		}
		h = state_mix(h, word(!me));
		syscall(SYS_getppid, h);
	}
	seen[me] = h;
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	for (long i = 0; i < BYTES; i += 4096)
		memory[i + 8] = 1;
	state_probe = probe;
	every = 1;
	run("each", HITS / 4, turns, false);
	state_probe = probe;
	every = 2;
	run("second", 6, turns, false);
	for (long i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, thread, (void *)i), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	printf("threads %016llx %016llx\n", (unsigned long long)seen[0], (unsigned long long)seen[1]);
	return success();
}
