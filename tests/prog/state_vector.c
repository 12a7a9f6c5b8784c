// test: timeout=60 needs=avx2 cflags=-mavx2
/* Loops whose only counter is in a vector register: XMM, the upper half of a YMM, and x87. */
#include "state.h"
#include <immintrin.h>

static void xmm_low(void)
{
	__m128i n = _mm_setzero_si128(), one = _mm_set_epi64x(0, 1);

	for (;;) {
		n = _mm_add_epi64(n, one);
		__asm__ volatile("" : "+x"(n));
	}
}

static void xmm_high(void)
{
	__m128i n = _mm_setzero_si128(), one = _mm_set_epi64x(1, 0);

	for (;;) {
		n = _mm_add_epi64(n, one);
		__asm__ volatile("" : "+x"(n));
	}
}

static void ymm_upper(void)
{
	__m256i n = _mm256_setzero_si256(), one = _mm256_set_epi64x(1, 0, 0, 0);

	for (;;) {
		n = _mm256_add_epi64(n, one);
		__asm__ volatile("" : "+x"(n));
	}
}

static void x87(void)
{
	__asm__ volatile("fldz\n1:\tfld1\n\tfaddp\n\tjmp 1b");
}

int main(void)
{
	run("low", HITS, xmm_low, true);
	run("high", HITS / 2, xmm_high, true);
	run("upper", HITS, ymm_upper, true);
	run("x87", 4, x87, true);
	return success();
}
