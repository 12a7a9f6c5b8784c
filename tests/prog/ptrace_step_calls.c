// test: compare=plain
/* Singlestep over syscalls counts instructions; rip after each. */
#include "observe.h"
__attribute__((noinline)) static void body(void)
{
	asm volatile(
		"1: nop\n mov $39,%%eax\n syscall\n mov %%eax,%%ebx\n mov $1000000,%%edi\n mov $62,%%eax\n mov $0,%%esi\n syscall\n nop\n pushf\n pop %%rcx\n ud2\n" ::
			: "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "r11");
}
int main()
{
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		body();
		_exit(1);
	}
	say_wait(child, 0);
	struct user_regs_struct r;
	unsigned long base = (unsigned long)body;
	int n = 0, in = 0;
	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, child, 0, 0)) {
			SAY("step errno %d\n", errno);
			break;
		}
		int s;
		waitpid(child, &s, 0);
		if (!WIFSTOPPED(s)) {
			say_status("child", s);
			break;
		}
		ptrace(PTRACE_GETREGS, child, 0, &r);
		if (r.rip - base < 100) {
			siginfo_t si;
			ptrace(PTRACE_GETSIGINFO, child, 0, &si);
			SAY("+%lu sig %d code %d rcx-base %ld r11 %llx eflags %llx orig %lld\n",
			    (long)r.rip - base, WSTOPSIG(s), si.si_code,
			    in ? (r.rcx - base < 200 ? (long)(r.rcx - base) : -1) : 0,
			    in > 3 ? r.r11 : 0, r.eflags & 0x100, r.orig_rax);
			in++;
		} else if (in) {
			SAY("outside sig %d\n", WSTOPSIG(s));
		}
		if (WSTOPSIG(s) == SIGILL) {
			kill(child, 9);
			say_wait(child, 0);
			break;
		}
		if (n++ > 20000) {
			SAY("many\n");
			kill(child, 9);
			break;
		}
	}
	return success();
}
