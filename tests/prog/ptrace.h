/* ptrace.h - what the programs share that trace others. */
#ifndef TEST_PTRACE_H
#define TEST_PTRACE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test.h"
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>

#ifndef TRAP_TRACE
#define TRAP_TRACE 2
#endif

/* The next stop of pid is this one. */
static inline void wait_stop(pid_t pid, int sig)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, __WALL), pid);
	if (!WIFSTOPPED(status) || status >> 8 != sig)
		fprintf(stderr, "status is 0x%x, not that of stop 0x%x\n", status, sig);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(status >> 8, sig);
}

/* From a stop outside of a call to the entry stop of call nr. */
static inline void to_syscall(pid_t pid, long nr, struct user_regs_struct *regs)
{
	for (;;) {
		CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
		wait_stop(pid, SIGTRAP | 0x80);
		CHECK_EQ(ptrace(PTRACE_GETREGS, pid, 0, regs), 0);
		if ((long)regs->orig_rax == nr)
			return;
		CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
		wait_stop(pid, SIGTRAP | 0x80);
	}
}

#endif
