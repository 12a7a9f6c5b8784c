// test: timeout=60
/*
 * A timer signal strikes in loops of many kinds; the handler logs a counter that the loop keeps in a
 * register, in memory, on the stack, on the heap, in a vector register; replay must log the same.
 */
#include "test.h"
#include <emmintrin.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

enum { HITS = 12 };
static volatile sig_atomic_t hits;
static volatile long memory_counter, logged[HITS], *heap_counter;
static long table[256];

static void on_alarm(int sig, siginfo_t *info, void *uc)
{
	ucontext_t *u = uc;

	if (hits < HITS)
		logged[hits] = memory_counter ^ (heap_counter ? *heap_counter : 0) ^ u->uc_mcontext.gregs[REG_RAX] ^
			       u->uc_mcontext.gregs[REG_RCX] ^ u->uc_mcontext.gregs[REG_RDX];
	hits++;
}

static void report(const char *what)
{
	unsigned long sum = 0;

	for (int i = 0; i < HITS; i++)
		sum = sum * 31 + (unsigned long)logged[i];
	printf("%s %lx\n", what, sum);
	hits = 0;
}

static int compare(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

/* Inner turns look alike; only the outer loop's heap word tells them apart. */
static void nested(void)
{
	while (hits < HITS) {
		for (volatile int i = 0; i < 200; i++)
			table[i & 255] = i;
		++*heap_counter;
	}
}

static void in_register(void)
{
	unsigned long n = 0;

	while (hits < HITS)
		__asm__ volatile("add $1, %0" : "+r"(n));
}

static void in_vector(void)
{
	__m128i n = _mm_setzero_si128(), one = _mm_set1_epi64x(1);

	while (hits < HITS) {
		n = _mm_add_epi64(n, one);
		__asm__ volatile("" : "+x"(n));
	}
}

static void sorting(void)
{
	static long v[5000];
	unsigned long seed = 1;

	while (hits < HITS) {
		for (int i = 0; i < 5000; i++)
			v[i] = (long)(seed = seed * 6364136223846793005ul + 1442695040888963407ul);
		qsort(v, 5000, sizeof(*v), compare);
	}
}

static sigjmp_buf out;

static void jump_out(int sig)
{
	siglongjmp(out, 1);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval it = { { 0, 7000 }, { 0, 7000 } }, off = { { 0 } };

	heap_counter = calloc(1, sizeof(*heap_counter));
	CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	while (hits < HITS)
		memory_counter++;
	report("memory");
	in_register();
	report("register");
	nested();
	report("nested");
	in_vector();
	report("vector");
	sorting();
	report("sorting");
	CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
	signal(SIGALRM, jump_out);
	if (!sigsetjmp(out, 1)) {
		ualarm(20000, 0);
		for (;;)
			memory_counter++;
	}
	printf("counter %ld\n", memory_counter);
	return success();
}
