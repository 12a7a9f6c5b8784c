// test: compare=plain
/* Detach with group stop pending, attach to a stopped process (ATTACH and SEIZE), CONT in between, SIGSTOP + SIGCONT orders. */
#include "observe.h"
int main()
{
	alarm(6);
	for (int k = 0; k < 4; k++) {
		child = fork();
		if (!child) {
			for (;;)
				pause();
		}
		sleep_ms(5);
		kill(child, SIGSTOP);
		say_wait(child, WUNTRACED);
		if (k < 2) {
			TELL(ptrace(PTRACE_ATTACH, child, 0, 0));
		} else
			TELL(ptrace(PTRACE_SEIZE, child, 0, 0));
		if (k >= 2)
			TELL(ptrace(PTRACE_INTERRUPT, child, 0, 0));
		int s = say_wait(child, 0);
		siginfo_t si;
		TELL(ptrace(PTRACE_GETSIGINFO, child, 0, &si));
		if (k == 0) {
			TELL(ptrace(PTRACE_CONT, child, 0, 0));
			sleep_ms(10);
			kill(child, SIGCONT);
			say_wait(child, WNOHANG);
		}
		if (k == 1) {
			TELL(ptrace(PTRACE_DETACH, child, 0, 0));
			sleep_ms(10);
			kill(child, SIGCONT);
		}
		if (k == 2) {
			TELL(ptrace(PTRACE_LISTEN, child, 0, 0));
			kill(child, SIGCONT);
			s = say_wait(child, 0);
			SAY("%x\n", s >> 8);
			TELL(ptrace(PTRACE_CONT, child, 0, 0));
			s = say_wait(child, 0);
			TELL(ptrace(PTRACE_CONT, child, 0, WSTOPSIG(s)));
		}
		if (k == 3) {
			TELL(ptrace(PTRACE_DETACH, child, 0, 0));
			sleep_ms(5);
			kill(child, SIGCONT);
			sleep_ms(5);
		}
		kill(child, SIGKILL);
		int e;
		do {
			e = say_wait(child, __WALL);
		} while (WIFSTOPPED(e));
	}
	return success();
}
