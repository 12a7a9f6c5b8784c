// test: compare=plain
/* A traced child sleeps in sigsuspend, ppoll, pselect, epoll_pwait with another mask; the tracer passes the signal on. */
#include "observe.h"
#include <sys/select.h>
static int n;
static void h(int s)
{
	n++;
}
int main()
{
	alarm(5);
	for (int k = 0; k < 4; k++) {
		child = fork();
		if (!child) {
			sigset_t b, e;
			sigemptyset(&e);
			sigemptyset(&b);
			sigaddset(&b, SIGUSR1);
			sigaddset(&b, SIGUSR2);
			sigprocmask(SIG_BLOCK, &b, 0);
			signal(SIGUSR1, h);
			signal(SIGUSR2, h);
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			raise(SIGSTOP);
			pid_t me = getpid();
			if (!syscall(SYS_clone, 0, 0, 0, 0, 0)) {
				sleep_ms(20);
				kill(me, SIGUSR1);
				_exit(0);
			}
			sigset_t no;
			sigfillset(&no);
			sigdelset(&no, SIGUSR1);
			int r = 0;
			struct timespec t = { 3 };
			if (k == 0)
				r = sigsuspend(&no);
			if (k == 1)
				r = ppoll(0, 0, &t, &no);
			if (k == 2)
				r = pselect(0, 0, 0, 0, &t, &no);
			if (k == 3) {
				int e = epoll_create1(0);
				struct epoll_event ev;
				r = epoll_pwait(e, &ev, 1, 3000, &no);
			}
			int er = errno;
			sigset_t pe;
			sigpending(&pe);
			_exit(n * 16 + (r == -1 && er == EINTR) * 2 + sigismember(&pe, SIGUSR2));
		}
		say_wait(child, 0);
		ptrace(PTRACE_CONT, child, 0, 0);
		for (int i = 0; i < 10; i++) {
			int s;
			waitpid(child, &s, 0);
			say_status("child", s);
			if (!WIFSTOPPED(s))
				break;
			int sig = WSTOPSIG(s);
			if (k == 3 && sig == SIGUSR1)
				sig = SIGUSR2;
			ptrace(PTRACE_CONT, child, 0, sig == SIGCHLD ? 0 : sig);
		}
		kill(child, 9);
	}
	return success();
}
