/*
 * recorder.h - run a program and everything it starts, and write a trace of it.
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "tracee/level.h"
#include "tracee/ticks.h"

enum { CORES_MAX = 64 };
enum recorder_sums { SUMS_NONE = 0, SUMS_SOME, SUMS_ALL };

/*
 * A signal that is sent to rec by kill(2), or by the kernel, is passed on to the program by
 * rt_sigqueueinfo with this value, and with the sender's numbers (0: the kernel).
 */
#define PASSED_ON 0x48696e6473696768ull

/* The first process: forked, and waiting. */
struct recorder_child {
	pid_t pid;
	sigset_t sigmask;	/* it gets */
	int go, report;		/* a byte to go starts it; report tells why it failed */
};

struct recorder_options {
	const char *exe;	/* absolute path of the program, checked */
	char **argv;
	const char *trace_dir;	/* must not exist or be empty */
	const char *store_dir;	/* or NULL */
	uint64_t max_bytes;	/* trace_writer_limit() */
	/* of the system call buffer of each process; 0 = none, stop at every call */
	unsigned buffer_bytes;
	enum recorder_sums sums;	/* SOME: as often as takes about a fifth of the time */
	enum ticks_source ticks;	/* AUTO is taken for LANDMARK */
	enum cpu_level level;	/* what processor the program sees */
	bool chaos;		/* schedule at random */
	uint64_t seed;
	/*
	 * processors that the program sees, up to CORES_MAX; 0: what is fast, with chaos any number
	 */
	unsigned num_cores;
	struct recorder_child child;
	/* what the first process leaves behind: is waited for, is ended; else is left */
	bool wait_all, kill_rest;
	int front;		/* a socket; where its other end is closed, we have been killed */
	/* the first process has ended, others live */
	void (*left)(void *front_ctx, int status);
	/* the first process was stopped, as a job of a shell, and goes on */
	void (*continued)(void *front_ctx);
	void *front_ctx;
};

/*
 * Fork the process that is going to be the program; it inherits everything from the caller.
 * options: exe, argv.
 */
struct err *recorder_child_fork(const struct recorder_options *options,
				struct recorder_child *ret) __must_check;
/* Another process has it now; or it is not wanted any more. */
void recorder_child_forget(struct recorder_child *child);
void recorder_child_end(struct recorder_child *child);

/*
 * Record options->child.  Returns when the last task has ended; *status_ret is the wait status of
 * the first process. The caller's own signal dispositions and CPU affinity are changed for good.
 * Warnings go to stderr, each once.
 */
struct err *recorder_run(const struct recorder_options *options, int *status_ret) __must_check;

/* Does an ELF file that cannot be recorded begin so?  EI_NIDENT bytes. */
bool recorder_is_32bit(const char *head);
/*
 * May we execute this file and not read it?  The kernel then keeps us from the program's memory,
 * and it cannot be recorded.
 */
bool recorder_is_closed(const char *path);

#endif
