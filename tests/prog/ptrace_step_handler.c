// test: compare=plain
/* Single step into and out of a signal handler, over sigreturn, rep movs, int3, rdtsc: codes and offsets. */
#include "observe.h"
static volatile int n;
static void h(int s)
{
	n++;
}
__attribute__((noinline)) static void body(void)
{
	asm volatile(
		"nop\n int3\n nop\n rdtsc\n mov $3,%%ecx\n lea -64(%%rsp),%%rdi\n mov %%rsp,%%rsi\n rep movsb\n mov $186,%%eax\n syscall\n ud2\n" ::
			: "rax", "rcx", "rdx", "rsi", "rdi", "r11");
}
int main()
{
	alarm(5);
	child = fork();
	if (!child) {
		signal(SIGUSR1, h);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		body();
		_exit(0);
	}
	say_wait(child, 0);
	unsigned long b = (unsigned long)body, hh = (unsigned long)h;
	int in = 0, sent = 0;
	for (int i = 0; i < 5000; i++) {
		int sig = 0, s;
		if (in == 2 && !sent) {
			sent = 1;
			sig = SIGUSR1;
		}
		ptrace(PTRACE_SINGLESTEP, child, 0, sig);
		waitpid(child, &s, 0);
		if (!WIFSTOPPED(s)) {
			say_status("child", s);
			break;
		}
		struct user_regs_struct r;
		siginfo_t si;
		ptrace(PTRACE_GETREGS, child, 0, &r);
		ptrace(PTRACE_GETSIGINFO, child, 0, &si);
		if (r.rip - b < 100 || r.rip - hh < 60) {
			SAY("%s+%lld sig %d code %d addr %s pid %s\n",
			    r.rip - b < 100 ? "body" : "h",
			    r.rip - b < 100 ? r.rip - b : r.rip - hh, WSTOPSIG(s), si.si_code,
			    (unsigned long)si.si_addr == r.rip ? "rip" : "other",
			    si.si_code == 5 ? who(si.si_pid) : "-");
			if (r.rip - b < 100)
				in++;
		}
		if (WSTOPSIG(s) == SIGILL) {
			kill(child, 9);
			say_wait(child, 0);
			break;
		}
	}
	return success();
}
