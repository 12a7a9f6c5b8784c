/*
 * os.h - the operating system calls that a test may make fail.
 *
 * Code that must survive a full disk calls os.pwrite(...) instead of pwrite(...).  A
 * test then says os_fault_set(n, ENOSPC) for n = 1, 2, ... until nothing fails any more:
 * every error path has run once.  The members may also be replaced one by one.
 */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* OS_CALL(type of result, name, (parameters), (arguments)): -1 and errno on failure */
#define OS_CALLS(OS_CALL) \
	OS_CALL(int, openat, (int dir, const char *path, int flags, mode_t mode), \
		(dir, path, flags, mode)) \
	OS_CALL(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode)) \
	OS_CALL(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags)) \
	OS_CALL(int, linkat, (int from_dir, const char *from, int to_dir, const char *to, \
			      int flags), (from_dir, from, to_dir, to, flags)) \
	OS_CALL(int, renameat, (int from_dir, const char *from, int to_dir, const char *to), \
		(from_dir, from, to_dir, to)) \
	OS_CALL(int, symlinkat, (const char *target, int dir, const char *path), \
		(target, dir, path)) \
	OS_CALL(ssize_t, readlinkat, (int dir, const char *path, char *buf, size_t len), \
		(dir, path, buf, len)) \
	OS_CALL(int, fstat, (int fd, struct stat *st), (fd, st)) \
	OS_CALL(int, fstatat, (int dir, const char *path, struct stat *st, int flags), \
		(dir, path, st, flags)) \
	OS_CALL(int, fchmod, (int fd, mode_t mode), (fd, mode)) \
	OS_CALL(ssize_t, pread, (int fd, void *buf, size_t len, off_t off), (fd, buf, len, off)) \
	OS_CALL(ssize_t, pwrite, (int fd, const void *buf, size_t len, off_t off), \
		(fd, buf, len, off)) \
	OS_CALL(ssize_t, copy_file_range, (int in, off_t *in_off, int out, off_t *out_off, \
					   size_t len, unsigned int flags), \
		(in, in_off, out, out_off, len, flags)) \
	OS_CALL(int, clone_file, (int to, int from), (to, from)) \
	OS_CALL(int, allocate, (int fd, off_t off, off_t len), (fd, off, len)) \
	OS_CALL(int, truncate_fd, (int fd, off_t len), (fd, len)) \
	OS_CALL(void *, mmap, (void *addr, size_t len, int prot, int flags, int fd, off_t off), \
		(addr, len, prot, flags, fd, off))

#define OS_MEMBER(type, name, params, args) type (*name) params;
struct os_calls {
	OS_CALLS(OS_MEMBER)
};
#undef OS_MEMBER

/*
 * clone_file: FICLONE, the whole of from becomes the content of to, sharing blocks.
 * allocate: posix_fallocate, with -1 and errno, not interrupted by signals; what is there becomes
 * zeros where the system does not have that call.
 * truncate_fd: ftruncate.
 */
extern struct os_calls os;

/* The nth call from now (1 = the next) through the default table fails with os_errno; when
 * sticky, so does every later one. */
void os_fault_set(unsigned long n, int os_errno, bool sticky);
/* No more faults.  True when one was delivered. */
bool os_fault_clear(void);

#endif
