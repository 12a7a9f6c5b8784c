// test: compare=plain
/* A thread forks a child that says TRACEME: the thread is the tracer (delve, Go). */
#include "observe.h"
static void *th(void *a)
{
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execl("/bin/true", "true", (char *)0);
		_exit(3);
	}
	say_wait(child, 0);
	struct user_regs_struct r;
	TELL(ptrace(PTRACE_GETREGS, child, 0, &r));
	*(int *)a = 1;
	while (*(volatile int *)a == 1)
		usleep(500);
	TELL(ptrace(PTRACE_CONT, child, 0, 0));
	say_wait(child, 0);
	TELL(ptrace(PTRACE_CONT, child, 0, 0));
	say_wait(child, 0);
	return 0;
}
int main()
{
	alarm(4);
	int x = 0;
	pthread_t t;
	pthread_create(&t, 0, th, &x);
	while (!*(volatile int *)&x)
		usleep(500);
	struct user_regs_struct r;
	TELL(ptrace(PTRACE_GETREGS, child, 0, &r));
	x = 2;
	pthread_join(t, 0);
	return success();
}
