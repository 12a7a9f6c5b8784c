/* x87, SSE and MXCSR state across handlers that spoil it, and edited through the context. */
#include "test.h"
#include <ucontext.h>

static void spoil(int sig, siginfo_t *si, void *ctx)
{
	uint32_t mxcsr = 0x1f80 | 0x6000;
	ucontext_t *u = ctx;

	asm volatile("fninit\n\tfldz\n\tfldz\n\tfldz\n\t"
		     "pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm5, %%xmm5\n\tpcmpeqd %%xmm15, %%xmm15\n\t"
		     "ldmxcsr %0" ::"m"(mxcsr)
		     : "xmm0", "xmm5", "xmm15");
	CHECK(u->uc_mcontext.fpregs);
	if (sig == SIGUSR2)
		u->uc_mcontext.fpregs->_xmm[5].element[0] = 0xabcdef01;
}

int main(void)
{
	uint64_t a[2] = { 0x0123456789abcdef, 0xfedcba9876543210 }, b[2];
	uint16_t cw = 0x0e7f, cw2;
	uint32_t mxcsr = 0x1fa0 | 0x2000, mxcsr2;
	/* pi as an 80-bit number, rounded towards zero as cw says. */
	static const uint8_t want[10] = { 0x34, 0xc2, 0x68, 0x21, 0xa2, 0xda, 0x0f, 0xc9, 0x00, 0x40 };
	uint8_t pi[16];
	pid_t me = getpid();

	on_signal(SIGUSR1, spoil, 0);
	on_signal(SIGUSR2, spoil, 0);
	for (int i = 0; i < 3; i++) {
		long r = SYS_kill;

		asm volatile("fninit\n\tfldcw %[cw]\n\tfldpi\n\tldmxcsr %[mx]\n\t"
			     "movdqu %[a], %%xmm5\n\tmovdqu %[a], %%xmm15\n\t"
			     "syscall\n\t"
			     "movdqu %%xmm5, %[b]\n\tfstpt %[pi]\n\tfnstcw %[cw2]\n\tstmxcsr %[mx2]\n\tfninit"
			     : [b] "=m"(b), [pi] "=m"(pi), [cw2] "=m"(cw2), [mx2] "=m"(mxcsr2), "+a"(r)
			     : [cw] "m"(cw), [mx] "m"(mxcsr), [a] "m"(a), "D"(me), "S"(SIGUSR1)
			     : "rcx", "r11", "memory", "xmm5", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)",
			       "st(5)", "st(6)", "st(7)");
		CHECK_EQ(r, 0);
		CHECK(!memcmp(a, b, 16));
		CHECK_EQ(cw, cw2);
		CHECK_EQ(mxcsr, mxcsr2);
		CHECK(!memcmp(pi, want, 10));
	}
	long r = SYS_kill;

	asm volatile("movdqu %[a], %%xmm5\n\tsyscall\n\tmovdqu %%xmm5, %[b]"
		     : [b] "=m"(b), "+a"(r)
		     : [a] "m"(a), "D"(me), "S"(SIGUSR2)
		     : "rcx", "r11", "memory", "xmm5");
	CHECK_EQ(b[0], 0x01234567abcdef01);
	CHECK_EQ(b[1], (long)a[1]);
	mxcsr = 0x1f80;
	asm volatile("ldmxcsr %0" ::"m"(mxcsr));
	return success();
}
