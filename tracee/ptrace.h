/*
 * ptrace.h - what both sides do to a stopped task: registers, memory, resume, wait.
 *
 * Every function needs the task stopped under our ptrace unless it says otherwise, and
 * returns &err_gone when the task is dying or was never ours: SIGKILL can turn any stop
 * into that at any moment, so callers treat it as "wait for its exit status".
 */
#ifndef TRACEE_PTRACE_H
#define TRACEE_PTRACE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "abi/regs.h"
#include "base/err.h"

struct err *tracee_regs_get(pid_t tid, struct regs *ret) __must_check;
struct err *tracee_regs_set(pid_t tid, const struct regs *regs) __must_check;

enum { TRACEE_XSTATE_MAX = 16384 };	/* AMX states need 11 KB (Linux 5.16) */

/* The XSAVE area (NT_X86_XSTATE); *len_ret <= TRACEE_XSTATE_MAX with trailing zeros cut. */
struct err *tracee_xstate_get(pid_t tid, void *buf, size_t *len_ret) __must_check;
/* len may be short of the real size: the rest is zero. */
struct err *tracee_xstate_set(pid_t tid, const void *buf, size_t len) __must_check;

/*
 * A file of the task in /proc could not be opened (errno): &err_gone only where there is no such
 * task any more.  The task may run.
 */
struct err *tracee_proc_failed(pid_t tid, const char *path) __must_check;

/* Whole ranges: ERR_OS with EFAULT when any byte is not mapped.  Protection is ignored
 * by tracee_write only where the kernel lets a debugger do so (private mappings). */
struct err *tracee_read(pid_t tid, uint64_t addr, void *buf, size_t len) __must_check;
struct err *tracee_write(pid_t tid, uint64_t addr, const void *buf, size_t len) __must_check;
/*
 * A handle for many writes, some of them to code: the file that these go through is opened once.
 * tid's memory must stay the one it was at the first write.  Begin with fd -1.
 */
struct tracee_mem { pid_t tid; int fd; };
struct err *tracee_mem_write(struct tracee_mem *m, uint64_t addr, const void *buf,
			     size_t len) __must_check;
/*
 * As tracee_read_some(), and pages that the process and a copy of it share stay shared:
 * process_vm_readv() gives the process its own copy of such a page (Linux 5.19), which costs as
 * much as a fault does.
 */
size_t tracee_mem_read_some(struct tracee_mem *m, uint64_t addr, void *buf, size_t len);
void tracee_mem_close(struct tracee_mem *m);
/*
 * Until tracee_mem_let_go() all handles of tid use one file, which is opened at the first write
 * that needs it.  tid must stay stopped meanwhile, with the memory it has.
 */
void tracee_mem_keep(pid_t tid);
void tracee_mem_let_go(void);
/* As many bytes as are mapped for reading from addr on; 0 when none are. */
size_t tracee_read_some(pid_t tid, uint64_t addr, void *buf, size_t len);
/* As many as the program can read, and the kernel for it: x86 can read what is only writable. */
size_t tracee_read_user(pid_t tid, uint64_t addr, void *buf, size_t len);
/* As many as are mapped, PROT_NONE or not: what a write may have gone to. */
size_t tracee_read_mapped(pid_t tid, uint64_t addr, void *buf, size_t len);
/* Pages, each into a buffer of its own, in one call: how many of them, from the first on. */
enum { TRACEE_PAGES = 64 };
size_t tracee_read_pages(pid_t tid, const uint64_t *addr, void *const *buf, size_t n);
/* Pieces of memory, each as long as its buffer, in one call: how many bytes, from the first on. */
size_t tracee_read_pieces(pid_t tid, const struct iovec *local, const struct iovec *remote,
			  size_t n);
/* NUL-terminated, cut at size - 1; "" when unreadable. */
void tracee_read_string(pid_t tid, uint64_t addr, char *buf, size_t size);
/* A sys_peek_fn; ctx is a pid_t *. */
int tracee_peek(void *ctx, uint64_t addr, void *buf, size_t len);

/* request: PTRACE_CONT, PTRACE_SYSCALL, PTRACE_SYSEMU, PTRACE_SINGLESTEP, ... */
struct err *tracee_resume(pid_t tid, int request, int sig) __must_check;

/*
 * Asked by tracee_wait() when a signal has come first.  True: it has waited instead, and this is
 * what waitpid would have said.  NULL: nobody is asked.
 */
extern bool (*tracee_waits_on)(pid_t tid, int *status_ret);
/* waitpid(tid, __WALL) that repeats on EINTR; &err_gone when there is no such child. */
struct err *tracee_wait(pid_t tid, int *status_ret) __must_check;

/*
 * A task that the caller has given an interval timer stops when that rings, wherever it is then.
 * This says what tracee_wait() makes of the task's SIGALRM, for all tasks.
 */
enum tracee_alarm {
	TRACEE_ALARM_NONE,	/* a signal as others */
	TRACEE_ALARM_DROP,	/* nobody hears of it: the task goes on as it was resumed */
	TRACEE_ALARM_STOP,	/* STOP_EVENT */
};
void tracee_alarm(enum tracee_alarm what);
/* How many have been dropped so far. */
unsigned tracee_alarms_dropped(void);

/* The meanings of a wait status. */
enum tracee_stop {
	STOP_EXITED,		/* dead: WIFEXITED or WIFSIGNALED */
	STOP_SYSCALL,		/* syscall entry or exit stop (PTRACE_O_TRACESYSGOOD) */
	STOP_SECCOMP,
	STOP_CLONE,		/* fork, vfork or clone: a new task */
	STOP_VFORK_DONE,
	STOP_EXEC,
	STOP_EXIT,		/* about to die */
	STOP_GROUP,		/* group stop: SIGSTOP and its kin took effect */
	/* PTRACE_EVENT_STOP: a new task's first stop, PTRACE_INTERRUPT, SIGCONT */
	STOP_EVENT,
	STOP_SIGNAL,		/* signal-delivery stop */
};

enum tracee_stop tracee_stop_kind(int status);
/* Is it one that the kernel sends for what an instruction does? */
bool tracee_is_fault(int sig);

/* kernel sigset_t, 64 bits */
struct err *tracee_sigmask_get(pid_t tid, uint64_t *ret) __must_check;
struct err *tracee_sigmask_set(pid_t tid, uint64_t mask) __must_check;

#endif
