/*
 * filter.h - the program's own seccomp filters and system call dispatch, which the recorder carries
 * out.
 */
#ifndef RECORDER_FILTER_H
#define RECORDER_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/syscall.h"
#include "base/err.h"

struct recorder;
struct rec_task;
struct rec_call;
struct rec_filter_plan;
struct regs;

/*
 * PR_SET_SYSCALL_USER_DISPATCH: calls from outside [offset, offset + len) raise SIGSYS while the
 * byte at selector says so.
 */
struct rec_dispatch {
	bool on;
	uint64_t offset, len, selector;
};

/* A filter.  Several lists may end in it. */
struct rec_filter {
	struct rec_filter *prev;	/* installed before it */
	unsigned users;
	bool listener;			/* the kernel has it, as far as it says USER_NOTIF */
	bool logs;			/* SECCOMP_FILTER_FLAG_LOG; nothing is logged */
	/* for the hook, of this one and those before it; NULL: not made yet */
	struct rec_filter_plan *plan;
	unsigned len;
	uint8_t outlook[SYS_ROWS];	/* enum filter_outlook */
	struct sock_filter code[];
};

/* The filters that the program has installed, and nothing of ours. */
struct rec_filters {
	struct rec_filter *last;	/* the newest; each knows the one before it */
	bool strict;			/* seccomp strict mode */
	bool no_new_privs;
	struct rec_dispatch dispatch;
};

/*
 * Called at the entry stop of t->call.  May force the call's result; *done: the call is dealt with,
 * and not made.
 */
struct err *rec_filter_entry(struct recorder *rec, struct rec_task *t, bool *done) __must_check;
/*
 * Carry out seccomp(op, flags, addr), PR_SET_SECCOMP and PR_SET_SYSCALL_USER_DISPATCH, at their
 * entry stops, and force the result.
 */
void rec_filter_seccomp(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			uint64_t op, uint64_t flags, uint64_t addr);
void rec_filter_dispatch(struct recorder *rec, struct rec_task *t, struct rec_call *call);
/* Sets the dispatch of t, which a tracer may do as well. */
int64_t rec_filter_dispatch_set(struct recorder *rec, struct rec_task *t, uint64_t mode,
				uint64_t offset, uint64_t len, uint64_t selector);
/*
 * Called at the exit of seccomp(): a filter with a listener, which the kernel has too, is
 * installed.
 */
void rec_filter_seccomp_exit(struct recorder *rec, struct rec_task *t, const struct rec_call *call,
			     int64_t ret);
/*
 * The task's address space is new, or what its tasks have installed has changed: the hook is told
 * which calls it may make.
 */
struct err *rec_filter_tell(struct recorder *rec, struct rec_task *t) __must_check;

/* ---- filters.c: the list ------------------------------------------------------------------- */
/* Returns the number that /proc/PID/status and PR_GET_SECCOMP say. */
unsigned rec_filter_count(const struct recorder *rec, const struct rec_task *t);
/* Does the task's nth filter from the newest log?  (See struct rec_filter.) */
bool rec_filter_logs(const struct rec_task *t, unsigned n);
/* Returns the instructions of the task's nth filter from the newest; NULL: it has not so many. */
const void *rec_filter_code(const struct rec_task *t, unsigned n, unsigned *len);
int64_t rec_filter_mode(const struct recorder *rec, const struct rec_task *t);
void rec_filters_inherit(struct rec_filters *child, const struct rec_filters *parent);
void rec_filters_drop(struct rec_filters *fs);
/* Makes f, with those before it, the newest filter of fs; NULL: fs has none then. */
void rec_filters_set(struct rec_filters *fs, struct rec_filter *f);
/* The filter has one user less. */
void rec_filter_put(struct rec_filter *f);

#endif
