/* SIGFPE, SIGILL, SIGBUS, SIGTRAP: siginfo, the context, and going on after changing it. */
#include "test.h"
#include <ucontext.h>

static volatile int sig_, code_;
static void *volatile addr_;
static volatile greg_t rip_, rax_;
static volatile int skip_;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;

	sig_ = sig;
	code_ = si->si_code;
	addr_ = si->si_addr;
	rip_ = g[REG_RIP];
	rax_ = g[REG_RAX];
	g[REG_RIP] += skip_;
	g[REG_RAX] = 4711;
}

int main(void)
{
	long rax = 1234, at;
	int fd;
	char *p;

	on_signal(SIGFPE, handler, 0);
	on_signal(SIGILL, handler, 0);
	on_signal(SIGBUS, handler, 0);
	on_signal(SIGTRAP, handler, 0);

	skip_ = 2;
	asm volatile("lea 1f(%%rip), %1\n1: ud2\n" : "+a"(rax), "=&r"(at)::"memory");
	CHECK_EQ(sig_, SIGILL);
	CHECK_EQ(code_, ILL_ILLOPN);
	CHECK_EQ(rip_, at);
	CHECK_EQ((long)addr_, at);
	CHECK_EQ(rax_, 1234);
	CHECK_EQ(rax, 4711);

	asm volatile("lea 1f(%%rip), %1\n\txor %%edx, %%edx\n\txor %%ecx, %%ecx\n1: div %%ecx\n"
		     : "+a"(rax), "=&r"(at)::"rcx", "rdx", "memory");
	CHECK_EQ(sig_, SIGFPE);
	CHECK_EQ(code_, FPE_INTDIV);
	CHECK_EQ((long)addr_, at);

	skip_ = 0;
	asm volatile("int3\n1: lea 1b(%%rip), %1" : "+a"(rax), "=&r"(at)::"memory");
	CHECK_EQ(sig_, SIGTRAP);
	CHECK_EQ(code_, SI_KERNEL);
	CHECK_EQ(rip_, at);

	fd = memfd_create("bus", 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	skip_ = 3;
	asm volatile("lea 1f(%%rip), %1\n1: movb $1, (%2)\n" : "+a"(rax), "=&r"(at) : "r"(p) : "memory");
	CHECK_EQ(sig_, SIGBUS);
	CHECK_EQ(code_, BUS_ADRERR);
	CHECK(addr_ == p);

	/* Single-stepping itself by the trap flag: one SIGTRAP for each instruction. */
	skip_ = 0;
	sig_ = 0;
	asm volatile("mov $5, %%eax\n\t"
		     "pushf\n\torl $0x100, (%%rsp)\n\tpopf\n\t"
		     "nop\n\t"
		     "pushf\n\tandl $~0x100, (%%rsp)\n\tpopf\n\t" ::: "rax", "memory", "cc");
	CHECK_EQ(sig_, SIGTRAP);
	CHECK_EQ(code_, TRAP_TRACE);

	/* Sent, not caused: si_code tells, and the instruction is not skipped. */
	raise(SIGFPE);
	CHECK_EQ(sig_, SIGFPE);
	CHECK_EQ(code_, SI_TKILL);
	return success();
}
