// test: cc=g++ cflags=-xc++,-std=gnu++17,-fnon-call-exceptions
/* A C++ exception thrown by the handler of a signal that interrupted a call at a patched site: the unwinder finds its way from the
 * signal frame, whose address is in the middle of the patch. */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static int p[2];

extern "C" char behind_sleep[];

/* Elsewhere nobody expects it. */
static void thrower(int sig, siginfo_t *, void *ctx)
{
	if (((ucontext_t *)ctx)->uc_mcontext.gregs[REG_RIP] == (greg_t)behind_sleep)
		throw sig;
}

struct guard {
	int *n;
	~guard() { ++*n; }
};

static __attribute__((noinline, noclone)) void sleeper()
{
	char c;
	ssize_t r;

	/* the calls of libc have no tables for a throw in between: our own instruction, with some behind it */
	do
		asm volatile("syscall\n\t.globl behind_sleep\n\tbehind_sleep:\n\tcmp $-4096, %%rax\n\tnop\n\t" : "=a"(r) : "0"(SYS_read), "D"(p[0]), "S"(&c), "d"(1) : "rcx", "r11", "memory");
	while (r < 0);
	if (c != 'x')
		abort();
}

int main()
{
	struct sigaction sa = {};
	itimerval it = { { 0, 3000 }, { 0, 3000 } }, none = {};
	volatile int caught = 0;
	int unwound = 0;
	sigset_t set;

	sa.sa_sigaction = thrower;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGALRM, &sa, nullptr);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	if (pipe(p))
		return 1;
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < 3; k++) {
			if (write(p[1], "x", 1) != 1)
				return 2;
			sleeper();
		}
		try {
			setitimer(ITIMER_REAL, &it, nullptr);
			guard g{&unwound};
			sleeper();
			return 3;
		} catch (int sig) {
			setitimer(ITIMER_REAL, &none, nullptr);
			sigprocmask(SIG_UNBLOCK, &set, nullptr);
			caught += sig == SIGALRM;
		}
	}
	if (caught != 8 || unwound != 8) {
		fprintf(stderr, "caught %d, unwound %d\n", caught, unwound);
		return 4;
	}
	puts("EXIT-SUCCESS");
	return 0;
}
