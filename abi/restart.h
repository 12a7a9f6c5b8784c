/*
 * restart.h - what the kernel leaves in rax of a call that a signal has interrupted, and that it
 * may make again.
 *
 * include/linux/errno.h of the kernel, not for programs: only who traces a task sees these.
 */
#ifndef ABI_RESTART_H
#define ABI_RESTART_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ERESTARTSYS = 512,		/* with SA_RESTART, or without a handler */
	ERESTARTNOINTR = 513,		/* always */
	ERESTARTNOHAND = 514,		/* without a handler */
	ENOIOCTLCMD = 515,		/* none of them */
	ERESTART_RESTARTBLOCK = 516,	/* by restart_syscall, without a handler */
};

/* Is it one of the four? */
static inline bool is_restart(int64_t ret)
{
	return ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK && ret != -ENOIOCTLCMD;
}

/* Is it any result that the kernel keeps to itself (its include/linux/errno.h)? */
static inline bool is_kernels_own(int64_t ret)
{
	return ret <= -ERESTARTSYS && ret >= -530;
}

#endif
