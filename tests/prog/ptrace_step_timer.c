// test: compare=plain
/* Trace self-modifying JIT child with breakpoints in anonymous memory, and shared libs; child uses signals heavily (timer) while being stepped. */
#include "observe.h"
static volatile int n;
static void h(int s)
{
	n++;
}
int main()
{
	alarm(9);
	unsigned char *j =
		mmap((void *)0x50000000, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	unsigned char code[] = { 0x8d, 0x47, 0x01, 0x90, 0xc3 };
	memcpy(j, code, 5);
	child = fork();
	if (!child) {
		signal(SIGALRM, h);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		struct itimerval t = { { 0, 2000 }, { 0, 2000 } };
		setitimer(ITIMER_REAL, &t, 0);
		int s = 0;
		for (int i = 0; i < 20; i++) {
			s = ((int (*)(int))j)(s);
			for (volatile int k = 0; k < 3000; k++)
				;
			if (i == 10)
				j[3] = 0xcc, j[3] = 0x90;
		}
		t.it_value.tv_usec = t.it_interval.tv_usec = 0;
		setitimer(ITIMER_REAL, &t, 0);
		_exit(s);
	}
	say_wait(child, 0);
	long w = ptrace(PTRACE_PEEKTEXT, child, j, 0);
	ptrace(PTRACE_POKETEXT, child, j, (w & ~0xffL) | 0xcc);
	int hits = 0, al = 0;
	ptrace(PTRACE_CONT, child, 0, 0);
	for (;;) {
		int s;
		waitpid(child, &s, 0);
		if (!WIFSTOPPED(s)) {
			say_status("child", s);
			break;
		}
		int sig = WSTOPSIG(s);
		struct user_regs_struct r;
		ptrace(PTRACE_GETREGS, child, 0, &r);
		if (sig == SIGTRAP) {
			hits++;
			r.rip = (long)j;
			ptrace(PTRACE_SETREGS, child, 0, &r);
			ptrace(PTRACE_POKETEXT, child, j, w);
			int q;
			do {
				ptrace(PTRACE_SINGLESTEP, child, 0, 0);
				waitpid(child, &q, 0);
				if (WSTOPSIG(q) == SIGALRM)
					al++;
			} while (WIFSTOPPED(q) && WSTOPSIG(q) != SIGTRAP);
			ptrace(PTRACE_POKETEXT, child, j, (w & ~0xffL) | 0xcc);
			ptrace(PTRACE_CONT, child, 0, 0);
		} else {
			al += sig == SIGALRM;
			ptrace(PTRACE_CONT, child, 0, sig);
		}
	}
	SAY("hits %d\n", hits);
	return success();
}
