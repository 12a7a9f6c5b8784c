// test: timeout=60 needs=avx512bw
/* The only counter is in the upper half of a ZMM register, in one that has no XMM name, in a mask register. */
#include "state.h"

static void upper(void)
{
	__asm__ volatile("vpxorq %%zmm0, %%zmm0, %%zmm0\n\tvpxorq %%zmm1, %%zmm1, %%zmm1\n\tmov $1, %%eax\n\tvmovq %%rax, %%xmm2\n"
			 "	vinserti64x2 $3, %%xmm2, %%zmm1, %%zmm1\n"
			 "1:	vpaddq %%zmm1, %%zmm0, %%zmm0\n\tjmp 1b" ::: "rax", "xmm0", "xmm1", "xmm2");
}

static void high_number(void)
{
	__asm__ volatile("vpxorq %%zmm31, %%zmm31, %%zmm31\n\tmov $1, %%eax\n\tvpbroadcastq %%rax, %%zmm30\n"
			 "1:	vpaddq %%zmm30, %%zmm31, %%zmm31\n\tjmp 1b" ::: "rax");
}

static void mask(void)
{
	__asm__ volatile("kxorq %%k1, %%k1, %%k1\n\tmov $1, %%eax\n\tkmovq %%rax, %%k2\n1:\tkaddq %%k2, %%k1, %%k1\n\tjmp 1b" ::: "rax");
}

int main(void)
{
	run("upper", HITS / 4, upper, true);
	run("high", HITS / 4, high_number, true);
	run("mask", HITS / 4, mask, true);
	return success();
}
