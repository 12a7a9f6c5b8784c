/*
 * tracee_stopped.h - a child of our own, stopped under ptrace as the recorder's tasks are.
 */
#ifndef TESTS_UNIT_TRACEE_STOPPED_H
#define TESTS_UNIT_TRACEE_STOPPED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/layout.h"
#include "base/err.h"
#include "tracee/ptrace.h"

#define OK(expr) do { struct err *ok_ = (expr); \
	if (ok_) fail_msg("%s: %s", #expr, ok_->msg); } while (0)

enum { TRACED = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL };

/* It spins in user mode, in a signal-delivery stop; the fixed page is mapped. */
static inline pid_t stopped_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		uint8_t *page = mmap((void *)(uintptr_t)FIXED_PAGE, 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (page != (uint8_t *)(uintptr_t)FIXED_PAGE)
			_exit(1);
		memcpy(page, fixed_page_text, sizeof(fixed_page_text));
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		raise(SIGSTOP);
		for (;;)
			__asm__ volatile("");
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, TRACED), 0);
	OK(tracee_wait(pid, &status));		/* its group stop */
	kill(pid, SIGCONT);
	do {
		OK(tracee_resume(pid, PTRACE_CONT, 0));
		OK(tracee_wait(pid, &status));
	} while (tracee_stop_kind(status) != STOP_SIGNAL);
	/* SIGCONT is not delivered; from here on it spins */
	OK(tracee_resume(pid, PTRACE_CONT, 0));
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	OK(tracee_wait(pid, &status));
	assert_int_equal(tracee_stop_kind(status), STOP_EVENT);
	return pid;
}

static inline void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

#endif
