/*
 * The program of tests/golden/cpu-*.pack: recorded once on each kind of machine, with
 *   musl-gcc -static -O1 -mavx2 -o cpu cpu.c && HINDSIGHT_CPU=KIND rec --cpu=x86-64-v3 --checksum -o t ./cpu && hindsight pack -o cpu-NAME.pack t
 */
#include <cpuid.h>
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int ticks;
static unsigned char area[4096] __attribute__((aligned(64)));

static void on_tick(int sig) { ticks += sig == SIGVTALRM; }

static void show(unsigned leaf, unsigned subleaf)
{
	unsigned a, b, c, d;

	__cpuid_count(leaf, subleaf, a, b, c, d);
	printf("cpuid %x.%x: %x %x %x %x\n", leaf, subleaf, a, b, c, d);
}

int main(void)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } };
	unsigned long long tsc = __rdtsc(), bv, sum = 0;
	unsigned aux, lo, hi;
	__m256i x = _mm256_set1_epi32(7);

	show(0, 0);
	show(1, 0);
	show(7, 0);
	show(0xd, 0);
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	printf("xcr0 %x %x hwcap %lx hwcap2 %lx\n", lo, hi, getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
	memset(area, 0x55, sizeof(area));
	memset(area + 512, 0, 64);
	__asm__ volatile("vpcmpeqd %%ymm7, %%ymm7, %%ymm7\n\txsave64 %0" : "+m"(area) : "a"(-1), "d"(-1) : "xmm7", "memory");
	memcpy(&bv, area + 512, 8);
	__asm__ volatile("vpxor %%ymm7, %%ymm7, %%ymm7\n\txrstor64 %0\n\tvmovdqu %%ymm7, %1" : "+m"(area), "=m"(area[2048]) : "a"(-1), "d"(-1) : "xmm7", "memory");
	printf("xstate_bv %llx, behind it %x, ymm7 %x %x\n", bv, area[832], area[2048], area[2048 + 31]);
	signal(SIGVTALRM, on_tick);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	while (ticks < 5) {
		for (int i = 0; i < 1000; i++)
			x = _mm256_add_epi32(_mm256_mullo_epi32(x, _mm256_set1_epi32(1103515245)), _mm256_set1_epi32(12345));
		sum++;
	}
	printf("%x\n", _mm256_extract_epi32(x, 3));
	fflush(stdout);
	if (!fork()) {
		show(1, 0);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	printf("%d %d\n", __rdtscp(&aux) > tsc, sum > 0);
	return 0;
}
