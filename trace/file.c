/*
 * file.c - reading and writing plain files of a trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "trace/internal.h"

struct err *trace_err_os(int os_errno, const char *fmt, ...)
{
	char *msg = NULL;
	struct err *err;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&msg, fmt, ap) < 0)
		msg = NULL;
	va_end(ap);
	err = msg ? err_new(ERR_OS, "%s", msg) : &err_nomem;
	free(msg);
	if (err != &err_nomem)
		err->os_errno = os_errno;
	return err;
}

int write_all(int fd, const void *data, size_t len, uint64_t off)
{
	const char *from = data;

	while (len) {
		ssize_t n = os.pwrite(fd, from, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		from += n;
		off += (size_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int read_all(int fd, void *data, size_t len, uint64_t off)
{
	char *to = data;

	while (len) {
		ssize_t n = os.pread(fd, to, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : ENODATA;
		to += n;
		off += (size_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int open_plain(int dir, const char *name, struct stat *st_ret)
{
	int fd = os.openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	int e;

	if (fd < 0)
		return -1;
	if (!os.fstat(fd, st_ret)) {
		if (S_ISREG(st_ret->st_mode))
			return fd;
		errno = EINVAL;
	}
	e = errno;
	close(fd);
	errno = e;
	return -1;
}

int write_file(int dir, const char *name, const void *data, size_t len)
{
	char tmp[64];
	int fd, e;

	snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	fd = os.openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno;
	e = write_all(fd, data, len, 0);
	if (!e && os.renameat(dir, tmp, dir, name))
		e = errno;
	if (e)
		unlinkat(dir, tmp, 0);
	close(fd);
	return e;
}
