#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	unsigned long left;	/* calls until the fault; 0: none planned */
	int os_errno;
	bool sticky, hit;
} fault;

void os_fault_set(unsigned long n, int os_errno, bool sticky)
{
	fault.left = n;
	fault.os_errno = os_errno;
	fault.sticky = sticky;
	fault.hit = false;
}

bool os_fault_clear(void)
{
	bool hit = fault.hit;

	os_fault_set(0, 0, false);
	return hit;
}

/* The calls that a test makes fail do the real thing unless it is their turn. */
static int os_fault_now(void)
{
	if (__builtin_expect(!fault.left, 1) || (--fault.left && !fault.hit))
		return 0;
	fault.hit = true;
	fault.left = fault.sticky ? 1 : 0;
	errno = fault.os_errno;
	return 1;
}

static int clone_file(int to, int from)
{
	return ioctl(to, FICLONE, from);
}

/* Zeros in each block, so that the disk has them. */
static int fill(int fd, off_t off, off_t len)
{
	static const char zeros[4096];

	while (len > 0) {
		size_t want = len < (off_t)sizeof(zeros) ? (size_t)len : sizeof(zeros);
		ssize_t n = pwrite(fd, zeros, want, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		off += n;
		len -= n;
	}
	return 0;
}

static int allocate(int fd, off_t off, off_t len)
{
	int e;

	do
		e = posix_fallocate(fd, off, len);
	while (e == EINTR);
	/* of a sandbox, or of an old kernel: no word on the file or the disk */
	if (e == EPERM || e == ENOSYS || e == EOPNOTSUPP)
		return fill(fd, off, len);
	errno = e;
	return e ? -1 : 0;
}

static int truncate_fd(int fd, off_t len)
{
	return ftruncate(fd, len);
}

#define OS_DEFAULT(type, name, params, args) \
	static type os_##name params { return os_fault_now() ? (type)(intptr_t)-1 : name args; }
OS_CALLS(OS_DEFAULT)

#define OS_ENTRY(type, name, params, args) .name = os_##name,
struct os_calls os = { OS_CALLS(OS_ENTRY) };
