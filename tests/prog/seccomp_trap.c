// test: warns
/* SECCOMP_RET_TRAP: SIGSYS with the call's number and address; the handler chooses the result. */
#include "test.h"
#include "seccomp_one.h"
#include <ucontext.h>

static volatile int hits, nr, data;
static void *volatile where;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;

	hits++;
	nr = si->si_syscall;
	data = si->si_errno;
	where = si->si_call_addr;
	CHECK_EQ(si->si_code, 1 /* SYS_SECCOMP */);
	CHECK_EQ(si->si_arch, AUDIT_ARCH_X86_64);
	CHECK_EQ((long)si->si_call_addr, g[REG_RIP]);
	CHECK_EQ(g[REG_RAX], nr);
	g[REG_RAX] = 1000 + g[REG_RDI];
}

int main(void)
{
	on_signal(SIGSYS, handler, 0);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_TRAP | 123, SECCOMP_RET_ALLOW, 0), 0);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(syscall(SYS_getpgid, i), 1000 + i);
	CHECK_EQ(hits, 5);
	CHECK_EQ(nr, SYS_getpgid);
	CHECK_EQ(data, 123);
	/* A call no kernel has. */
	CHECK_EQ(seccomp_one(777, SECCOMP_RET_TRAP | 9, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_EQ(syscall(777, 8), 1008);
	CHECK_EQ(nr, 777);
	return success();
}
