// test: compare=plain
/* Inferior calls as gdb does: save regs, set rip to a function with return to an int3, run, restore; inject a syscall (mmap) into a tracee stopped in sleep, restart it. */
#include "observe.h"
static volatile int v = 3;
__attribute__((noinline)) static int mul(int a, int b)
{
	return a * b * v;
}
int main()
{
	alarm(6);
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		struct timespec t = { 0, 80000000 }, r = { 0 };
		int x = nanosleep(&t, &r);
		SAY("sleep %d\n", x);
		_exit(7);
	}
	say_wait(child, 0);
	ptrace(PTRACE_CONT, child, 0, 0);
	sleep_ms(15);
	kill(child, SIGSTOP);
	say_wait(child, 0);
	struct user_regs_struct o, r;
	TELL(ptrace(PTRACE_GETREGS, child, 0, &o));
	SAY("nr %lld rax %lld\n", o.orig_rax, o.rax);
	r = o;
	unsigned long a = (unsigned long)main;
	long w = ptrace(PTRACE_PEEKTEXT, child, a, 0);
	ptrace(PTRACE_POKETEXT, child, a, (w & ~0xffL) | 0xcc);
	r.rsp = (o.rsp - 1024) & ~15;
	r.rsp -= 8;
	ptrace(PTRACE_POKEDATA, child, r.rsp, a);
	r.rip = (long)mul;
	r.rdi = 5;
	r.rsi = 7;
	r.orig_rax = -1;
	ptrace(PTRACE_SETREGS, child, 0, &r);
	TELL(ptrace(PTRACE_CONT, child, 0, 0));
	say_wait(child, 0);
	ptrace(PTRACE_GETREGS, child, 0, &r);
	SAY("ret %d rip %lld\n", (int)r.rax, r.rip - a);
	ptrace(PTRACE_POKETEXT, child, a, 0xcc050f);
	r.rip = a;
	r.rax = SYS_mmap;
	r.rdi = 0x40000000;
	r.rsi = 4096;
	r.rdx = 3;
	r.r10 = 0x100000 | MAP_PRIVATE | MAP_ANONYMOUS;
	r.r8 = -1;
	r.r9 = 0;
	r.orig_rax = -1;
	ptrace(PTRACE_SETREGS, child, 0, &r);
	ptrace(PTRACE_CONT, child, 0, 0);
	say_wait(child, 0);
	ptrace(PTRACE_GETREGS, child, 0, &r);
	SAY("mmap %llx\n", r.rax);
	TELL(ptrace(PTRACE_POKEDATA, child, 0x40000000, 0x1234));
	SAY("%lx\n", ptrace(PTRACE_PEEKDATA, child, 0x40000000, 0));
	ptrace(PTRACE_POKETEXT, child, a, w);
	ptrace(PTRACE_SETREGS, child, 0, &o);
	ptrace(PTRACE_CONT, child, 0, 0);
	say_wait(child, 0);
	return success();
}
