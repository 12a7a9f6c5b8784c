/* Frames left by longjmp(), coroutines, handlers on stacks of their own. */
#define _GNU_SOURCE
#include "truth.h"
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
static jmp_buf j;
static void deep(int n)
{
	void *p;
	A(p, n + 1, malloc(n + 1));
	if (n)
		deep(n - 1);
	else
		longjmp(j, 1);
}
static ucontext_t uc[3];
static void co(int k)
{
	for (int i = 0; i < 50; i++) {
		void *p;
		A(p, 64 + k, malloc(64 + k));
		swapcontext(&uc[k], &uc[3 - k]);
		F(p, 64 + k);
	}
}
static void on(int s)
{
	void *p;
	A(p, 99, malloc(99));
	F(p, 99);
	siglongjmp(j, 2);
}
int main(int c, char **v)
{
	volatile int i = 0;
	static char st[2][65536];
	for (; i < 20; i++)
		if (!setjmp(j))
			deep(i);
	for (int k = 1; k < 3; k++) {
		getcontext(&uc[k]);
		uc[k].uc_stack.ss_sp = st[k - 1];
		uc[k].uc_stack.ss_size = 65536;
		uc[k].uc_link = &uc[0];
		makecontext(&uc[k], (void (*)(void))co, 1, k);
	}
	swapcontext(&uc[0], &uc[1]);
	signal(SIGUSR1, on);
	for (i = 0; i < 20; i++)
		if (!sigsetjmp(j, 1))
			raise(SIGUSR1);
	stack_t ss = { .ss_sp = malloc(65536), .ss_size = 65536 };
	sigaltstack(&ss, 0);
	struct sigaction sa = { .sa_handler = on, .sa_flags = SA_ONSTACK };
	sigaction(SIGUSR1, &sa, 0);
	for (i = 0; i < 20; i++)
		if (!sigsetjmp(j, 1))
			raise(SIGUSR1);
	dump(v[1]);
}
