/*
 * grow.h - files of several kinds and ways to write to them, for programs that map files which change.
 */
#ifndef GROW_H
#define GROW_H

#include "test.h"
#include <setjmp.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

enum { PAGE = 4096 };
enum kind { DISK, DISK_GONE, MEMFD, SHM, KINDS };
enum way { PWRITE, WRITE, APPEND, APPEND_PWRITE, WRITEV, PWRITEV2, RWF_APPENDS, COPY, SENDFILE, SPLICE, WAYS };

static const char *const way_names[] = { "pwrite", "write", "append", "append-pwrite", "writev", "pwritev2", "rwf-append", "copy_file_range",
					 "sendfile", "splice" };

static sigjmp_buf bus_jump;

static void on_bus(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)info;
	(void)uc;
	siglongjmp(bus_jump, 1);
}

static inline void catch_bus(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	CHECK_EQ(sigaction(SIGBUS, &sa, NULL), 0);
}

/* The byte there, or -1: behind the end of the file. */
static inline int byte_at(const volatile char *p)
{
	if (sigsetjmp(bus_jump, 1))
		return -1;
	return (unsigned char)*p;
}

static inline int open_kind(enum kind kind, char name[64])
{
	static int n;
	int fd;

	snprintf(name, 64, "%s/grow-%d-%d", kind == SHM ? "/dev/shm" : ".", (int)getpid(), n++);
	if (kind == MEMFD)
		return memfd_create("grow", 0);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0);
	if (kind == DISK_GONE)
		CHECK_EQ(unlink(name), 0);
	return fd;
}

static inline void done_kind(enum kind kind, int fd, const char *name)
{
	close(fd);
	if (kind == DISK || kind == SHM)
		CHECK_EQ(unlink(name), 0);
}

static inline int again(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, flags);
	CHECK(fd >= 0);
	return fd;
}

/* len bytes of c at off, which is the end of the file for those that append. */
static inline void put_bytes(enum way way, int fd, char c, size_t len, off_t off)
{
	struct iovec v[2];
	int other = -1, both[2];
	char *buf = malloc(len);
	off_t in = 0;

	memset(buf, c, len);
	v[0] = (struct iovec){ buf, len / 2 };
	v[1] = (struct iovec){ buf + len / 2, len - len / 2 };
	switch (way) {
	case PWRITE:
		CHECK_EQ(pwrite(fd, buf, len, off), len);
		break;
	case WRITE:
		CHECK_EQ(lseek(fd, off, SEEK_SET), off);
		CHECK_EQ(write(fd, buf, len), len);
		break;
	case APPEND:
		other = again(fd, O_WRONLY | O_APPEND);
		CHECK_EQ(write(other, buf, len), len);
		break;
	case APPEND_PWRITE:	/* Linux appends, wherever it was to go */
		other = again(fd, O_WRONLY | O_APPEND);
		CHECK_EQ(pwrite(other, buf, len, 1), len);
		break;
	case WRITEV:
		CHECK_EQ(lseek(fd, off, SEEK_SET), off);
		CHECK_EQ(writev(fd, v, 2), len);
		break;
	case PWRITEV2:
		CHECK_EQ(pwritev2(fd, v, 2, off, 0), len);
		break;
	case RWF_APPENDS:
		CHECK_EQ(pwritev2(fd, v, 2, 1, RWF_APPEND), len);
		break;
	case COPY:
		other = open(".", O_TMPFILE | O_RDWR, 0600);
		CHECK(other >= 0);
		CHECK_EQ(pwrite(other, buf, len, 0), len);
		if (copy_file_range(other, &in, fd, &off, len, 0) != (ssize_t)len)	/* between file systems: not always */
			CHECK_EQ(pwrite(fd, buf, len, off), len);
		break;
	case SENDFILE:
		other = memfd_create("from", 0);
		CHECK_EQ(pwrite(other, buf, len, 0), len);
		CHECK_EQ(lseek(fd, off, SEEK_SET), off);
		CHECK_EQ(sendfile(fd, other, &in, len), len);
		break;
	default:
		CHECK_EQ(pipe(both), 0);
		CHECK_EQ(write(both[1], buf, len), len);
		CHECK_EQ(splice(both[0], NULL, fd, &off, len, 0), len);
		close(both[0]);
		close(both[1]);
		break;
	}
	if (other >= 0)
		close(other);
	free(buf);
}

/* A sum of what the mapping shows, and where it ends. */
static inline unsigned long look(const volatile char *p, size_t pages)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < pages; i++)
		sum = sum * 31 + (unsigned)byte_at(p + i * PAGE) * 7 + (unsigned)byte_at(p + i * PAGE + PAGE - 1);
	return sum;
}

#endif
