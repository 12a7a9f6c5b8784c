// test: needs=avx512f cflags=-mavx512f
/* AVX-512 registers and masks across a handler and across system calls. */
#include "test.h"

static void spoil(int sig, siginfo_t *si, void *ctx)
{
	asm volatile("vpternlogd $0xff, %%zmm3, %%zmm3, %%zmm3\n\t"
		     "vpternlogd $0xff, %%zmm29, %%zmm29, %%zmm29\n\tkxnorw %%k3, %%k3, %%k3" ::: "xmm3");
}

int main(void)
{
	char in[128] __attribute__((aligned(64))), out[128] __attribute__((aligned(64)));

	on_signal(SIGUSR1, spoil, 0);
	for (int i = 0; i < 6; i++) {
		long nr = i % 2 ? SYS_kill : SYS_getppid;
		int k = 0x1230 + i, k2 = 0;

		fill(in, sizeof(in), i);
		asm volatile("vmovdqa64 (%[in]), %%zmm3\n\tvmovdqa64 64(%[in]), %%zmm29\n\tkmovw %[k], %%k3\n\t"
			     "syscall\n\t"
			     "vmovdqa64 %%zmm3, (%[out])\n\tvmovdqa64 %%zmm29, 64(%[out])\n\tkmovw %%k3, %[k2]"
			     : "+a"(nr), [k2] "=r"(k2)
			     : [in] "r"(in), [out] "r"(out), [k] "r"(k), "D"(getpid()), "S"(SIGUSR1)
			     : "rcx", "r11", "memory", "xmm3");
		CHECK(filled(out, sizeof(out), i));
		CHECK_EQ(k, k2);
	}
	asm volatile("vzeroupper");
	return success();
}
