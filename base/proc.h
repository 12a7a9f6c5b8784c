/*
 * proc.h - what /proc says of a task: proc_pid_stat(5).
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Some fields of /proc/TID/stat; their numbers are the manual page's. */
struct proc_stat {
	char state;			/* 3: 'R', 'S', 't', 'Z', 'X' ... */
	pid_t parent;			/* 4 */
	unsigned flags;			/* 9: PF_* of include/linux/sched.h */
	uint64_t minor_faults;		/* 10 */
	uint64_t user, kernel;		/* 14, 15: in hundredths of a second */
	uint64_t resident_pages;	/* 24 */
};

/* False: there is no such task, and *ret is all 0. */
bool proc_stat(pid_t tid, struct proc_stat *ret);
/* Dead, though somebody may still have to wait for it? */
static inline bool proc_is_dead(const struct proc_stat *s)
{
	return s->state == 'Z' || s->state == 'X';
}
/* Where the heap of the task's program began (start_brk, field 47); 0 where that is not told. */
uint64_t proc_heap_start(pid_t tid);
/* Processor time of a task in ns (/proc/TID/schedstat); 0 where the system does not tell. */
uint64_t proc_cpu_ns(pid_t tid);
/*
 * Stores the text behind name ("NSpid:") in a line of /proc/TID/status to ret, cut to fit room
 * (PROC_STATUS_LINE: never); false: there is none.
 */
enum { PROC_STATUS_LINE = 512 };
bool proc_status_line(pid_t tid, const char *name, char *rest, size_t room);
/*
 * The last number of the line of /proc/TID/status that begins with name ("NSpid:"), in this base;
 * 0 where there is none.
 */
uint64_t proc_status_number(pid_t tid, const char *name, int base);

#endif
