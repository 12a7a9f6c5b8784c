// test: compare=plain
/* Tracer dies: tracee goes on; with EXITKILL dies. Grandparent observes with subreaper. */
#include "observe.h"
int main()
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int k = 0; k < 3; k++) {
		int p[2];
		pipe(p);
		pid_t t = fork();
		if (!t) {
			pid_t c = fork();
			if (!c) {
				close(p[0]);
				if (k < 2) {
					sleep_ms(100);
				} else {
					ptrace(PTRACE_TRACEME, 0, 0, 0);
					raise(SIGSTOP);
				}
				write(p[1], "alive", 5);
				_exit(3);
			}
			close(p[0]);
			close(p[1]);
			if (k < 2) {
				TELL(ptrace(PTRACE_SEIZE, c, 0, k ? PTRACE_O_EXITKILL : 0));
				ptrace(PTRACE_INTERRUPT, c, 0, 0);
				waitpid(c, 0, 0);
			} else
				waitpid(c, 0, 0);
			_exit(k + 10);
		}
		close(p[1]);
		child = t;
		say_wait(t, 0);
		char b[8] = { 0 };
		int n = read(p[0], b, 7);
		SAY("k %d read %d %s\n", k, n, b);
		int s;
		pid_t x = waitpid(-1, &s, 0);
		SAY("other %d\n", x > 0);
		say_status("orphan", s);
		close(p[0]);
	}
	return success();
}
