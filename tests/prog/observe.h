/*
 * observe.h - programs that say what they see, to be compared with what they say when they are not recorded (compare=plain):
 * results, errors, wait statuses and siginfo, with names instead of numbers that differ from run to run.
 */
#ifndef TEST_OBSERVE_H
#define TEST_OBSERVE_H

#include "ptrace.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#define SAY(...) (printf(__VA_ARGS__), fflush(stdout))
/* The expression, its value and error. */
#define TELL(e)                                                             \
	do {                                                                \
		errno = 0;                                                  \
		long r_ = (long)(e);                                        \
		SAY("%s = %ld errno %d\n", #e, r_, r_ == -1 ? errno : 0);   \
	} while (0)

static pid_t child;	/* of whom the program speaks */

static inline const char *who(pid_t pid)
{
	return pid == child ? "child" : pid == getpid() ? "self" : pid == getppid() ? "parent" : pid ? "other"
					       : "0";
}

static inline void say_status(const char *of, int status)
{
	if (WIFEXITED(status))
		SAY("%s exited with %d\n", of, WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		SAY("%s killed by %d\n", of, WTERMSIG(status));
	else if (WIFSTOPPED(status))
		SAY("%s stopped by %d event %d\n", of, WSTOPSIG(status), status >> 16);
	else
		SAY("%s status 0x%x\n", of, status);
}

static inline int say_wait(pid_t pid, int options)
{
	int status = 0;
	pid_t got = waitpid(pid, &status, options);

	if (got > 0)
		say_status(who(got), status);
	else
		SAY("wait: %d errno %d\n", got, got ? errno : 0);
	return status;
}

static inline void sleep_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

#endif
