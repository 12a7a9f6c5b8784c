// test: needs=avx2 cflags=-mavx2
/* AVX registers across handlers, forks, context switches and blocking calls. */
#include "test.h"
#include <immintrin.h>

static volatile int hits;

static void spoil(int sig, siginfo_t *si, void *ctx)
{
	asm volatile("vpcmpeqd %%ymm3, %%ymm3, %%ymm3\n\tvpcmpeqd %%ymm12, %%ymm12, %%ymm12" ::: "xmm3", "xmm12");
	hits++;
}

static void hold(int seed, long nr, long a, long b, long c)
{
	char in[64] __attribute__((aligned(32))), out[64] __attribute__((aligned(32)));

	fill(in, 64, seed);
	asm volatile("vmovdqa (%[in]), %%ymm3\n\tvmovdqa 32(%[in]), %%ymm12\n\t"
		     "syscall\n\t"
		     "vmovdqa %%ymm3, (%[out])\n\tvmovdqa %%ymm12, 32(%[out])"
		     : "+a"(nr)
		     : [in] "r"(in), [out] "r"(out), "D"(a), "S"(b), "d"(c)
		     : "rcx", "r11", "memory", "xmm3", "xmm12");
	CHECK(filled(out, 64, seed));
}

static void *thread(void *arg)
{
	for (int i = 0; i < 50; i++)
		hold((int)(long)arg + i, SYS_sched_yield, 0, 0, 0);
	return NULL;
}

int main(void)
{
	struct timespec ts = { 0, 1000000 };
	pthread_t t[3];

	on_signal(SIGUSR1, spoil, 0);
	for (int i = 0; i < 5; i++)
		hold(i, SYS_kill, getpid(), SIGUSR1, 0);
	CHECK_EQ(hits, 5);
	hold(77, SYS_nanosleep, (long)&ts, 0, 0);
	for (long i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, thread, (void *)(i * 100)), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	asm volatile("vzeroupper");
	return success();
}
