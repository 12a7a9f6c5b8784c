/* Breakpoints (int3), single steps over plain code, system calls, string instructions, rdtsc, cpuid, pushf, faults. */
#include "ptrace.h"

static volatile int calls, sum;
static volatile char from[64], to[64];

static void __attribute__((noinline)) target(int i)
{
	sum += i;
	calls++;
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	CHECK_EQ((long)info->si_addr, 64);
	u->uc_mcontext.gregs[REG_RIP] += 2;	/* mov (%rax),%eax */
	sum += 1000;
}

static void odd_instructions(void)
{
	unsigned a, b, c = 0, d;
	unsigned long flags = 0;
	const void *s = (const void *)from;
	void *t = (void *)to;
	unsigned long n = 20;

	__asm__ volatile("rep movsb" : "+S"(s), "+D"(t), "+c"(n) : : "memory");
	__asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
	a = 0;
	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	__asm__ volatile("pushf\n\tpop %0" : "=r"(flags));
	syscall(SYS_getpid);
	__asm__ volatile("mov (%%rax),%%eax" : "=a"(a) : "a"(64ul));
	syscall(SYS_gettid);
}

static void child(void)
{
	on_signal(SIGSEGV, on_segv, 0);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	fill((void *)from, sizeof(from), 3);
	raise(SIGSTOP);
	for (int i = 0; i < 5; i++)
		target(i);
	raise(SIGUSR1);	/* the tracer lets it get none */
	odd_instructions();
	CHECK(!memcmp((void *)from, (void *)to, 20));
	raise(SIGUSR2);
	_exit(calls + sum % 1000);
}

static unsigned long ip(pid_t pid)
{
	return (unsigned long)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
}

static void set_ip(pid_t pid, unsigned long to_ip)
{
	CHECK_EQ(ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rip), to_ip), 0);
}

int main(void)
{
	unsigned long at = (unsigned long)target, steps = 0;
	int status, hits = 0, faults = 0;
	long code;
	pid_t pid = fork();

	if (!pid)
		child();
	wait_stop(pid, SIGSTOP);
	code = ptrace(PTRACE_PEEKTEXT, pid, at, 0);
	for (int i = 0; i < 5; i++) {
		siginfo_t info;

		CHECK_EQ(ptrace(PTRACE_POKETEXT, pid, at, (code & ~0xffl) | 0xcc), 0);
		CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
		wait_stop(pid, SIGTRAP);
		CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
		CHECK_EQ(info.si_code, SI_KERNEL);
		CHECK_EQ(ip(pid), at + 1);
		hits++;
		CHECK_EQ(ptrace(PTRACE_POKETEXT, pid, at, code), 0);
		set_ip(pid, at);
		CHECK_EQ(ptrace(PTRACE_PEEKDATA, pid, &calls, 0) & 0xffffffff, i);
		CHECK_EQ(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		wait_stop(pid, SIGTRAP);
		CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
		CHECK_EQ(info.si_code, TRAP_TRACE);
		CHECK(ip(pid) > at && ip(pid) < at + 16);
		if (i == 4)
			CHECK_EQ(ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rdi), 14l), 0);
	}
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_stop(pid, SIGUSR1);
	for (;;) {
		CHECK_EQ(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGSEGV) {
			faults++;
			CHECK_EQ(ptrace(PTRACE_SINGLESTEP, pid, 0, SIGSEGV), 0);
			wait_stop(pid, SIGTRAP);
			CHECK_EQ(ip(pid), (unsigned long)on_segv);
			continue;
		}
		if (WSTOPSIG(status) == SIGUSR2)
			break;
		CHECK_EQ(WSTOPSIG(status), SIGTRAP);
		steps++;
	}
	CHECK_EQ(faults, 1);
	CHECK(steps > 60 && steps < 3000);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_exit(pid, 5 + 0 + 1 + 2 + 3 + 14);
	CHECK_EQ(hits, 5);
	printf("%lu steps\n", steps);
	return success();
}
