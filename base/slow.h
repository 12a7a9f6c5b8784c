/*
 * slow.h - calls of the system that may have to wait for a program which waits for us.
 *
 * A recorded program may serve a file system, or decide who opens a file.  What the recorder then
 * asks of a file, or of memory that is one, is answered by a task that the recorder has stopped.
 * Code that asks such things makes the call by slow_call(): where somebody has set slow_run, that
 * sees to it that the call can end.
 */
#ifndef BASE_SLOW_H
#define BASE_SLOW_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Runs fn(ctx), in whatever thread, and returns when that has; NULL: nobody needs it. */
extern void (*slow_run)(void (*fn)(void *), void *ctx);
/* Callers that have been left in the middle of a call, while others go on. */
extern unsigned slow_left;

/* fn(ctx), by slow_run where it is set. */
void slow_do(void (*fn)(void *), void *ctx);
/* The system call with these arguments: its result, or -1 and errno. */
long slow_call(long nr, long a0, long a1, long a2, long a3, long a4, long a5);

static inline int slow_open(const char *path, int flags)
{
	return (int)slow_call(SYS_openat, AT_FDCWD, (long)path, flags, 0, 0, 0);
}

static inline int slow_close(int fd)
{
	return (int)slow_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline int slow_stat(const char *path, struct stat *st)
{
	return (int)slow_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)st, 0, 0, 0);
}

static inline int slow_fstat(int fd, struct stat *st)
{
	return (int)slow_call(SYS_fstat, fd, (long)st, 0, 0, 0, 0);
}

static inline ssize_t slow_pread(int fd, void *buf, size_t len, off_t off)
{
	return slow_call(SYS_pread64, fd, (long)buf, (long)len, off, 0, 0);
}

static inline off_t slow_lseek(int fd, off_t off, int whence)
{
	return slow_call(SYS_lseek, fd, off, whence, 0, 0, 0);
}

static inline ssize_t slow_vm_readv(pid_t tid, const struct iovec *local, size_t locals,
				    const struct iovec *remote, size_t remotes)
{
	return slow_call(SYS_process_vm_readv, tid, (long)local, (long)locals, (long)remote,
			 (long)remotes, 0);
}

static inline ssize_t slow_vm_writev(pid_t tid, const struct iovec *local, size_t locals,
				     const struct iovec *remote, size_t remotes)
{
	return slow_call(SYS_process_vm_writev, tid, (long)local, (long)locals, (long)remote,
			 (long)remotes, 0);
}

#endif
