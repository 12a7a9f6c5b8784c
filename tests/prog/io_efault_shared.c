/*
 * Results that begin in a page which the program may only read, and which others share: EFAULT, and
 * not a byte is written.  And results that the kernel cannot store and says nothing about.
 */
#include "test.h"
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/utsname.h>

enum { PAGE = 4096, KINDS = 6 };

static int file(void)
{
	char name[] = "efaultXXXXXX";
	int fd = mkstemp(name);

	CHECK_EQ(ftruncate(fd, PAGE), 0);
	unlink(name);
	return fd;
}

/* Two pages, the first of which is of this kind; the second may be written. */
static char *pages(int kind)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = kind == 1 || kind == 5 ? file() : open("/etc/passwd", O_RDONLY);

	if (kind == 0)
		p = mmap(p, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	else if (kind == 3)
		mprotect(p, PAGE, PROT_READ);
	else if (kind == 4)
		mprotect(p, PAGE, PROT_NONE);
	else
		p = mmap(p, PAGE, kind == 5 ? PROT_NONE : PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	CHECK(p != MAP_FAILED);
	return p;
}

static void refused(char *p)
{
	char *q = p + PAGE - 16;
	int fd = open("/etc/passwd", O_RDONLY), u[2];
	struct iovec v[2] = { { p + PAGE + 100, 10 }, { q, 20 } };

	CHECK_EQ(pipe(u), 0);
	CHECK_EQ(write(u[1], "0123456789", 10), 10);
	memset(p + PAGE, 'z', PAGE);
	for (int i = 0; i < 3; i++) {
		CHECK_ERR(fstat(fd, (struct stat *)q), EFAULT);
		CHECK_ERR(syscall(SYS_stat, "/", q), EFAULT);
		CHECK_ERR(uname((struct utsname *)q), EFAULT);
		CHECK_ERR(sysinfo((struct sysinfo *)q), EFAULT);
		CHECK_ERR(read(u[0], q, 20), EFAULT);
		CHECK_ERR(pread(fd, q, 20, 0), EFAULT);
		CHECK_ERR(syscall(SYS_clock_gettime, 1L, p + PAGE - 8), EFAULT);
		CHECK_ERR(syscall(SYS_getcwd, p + PAGE - 1, 300L), EFAULT);
		CHECK_ERR(syscall(SYS_getrlimit, 1L, p + PAGE - 8), EFAULT);
		CHECK_EQ(preadv(fd, v, 2, 0), 10);
		for (int k = 0; k < PAGE; k++)
			CHECK(p[PAGE + k] == 'z' || (k >= 100 && k < 110));
	}
	close(u[0]);
	close(u[1]);
	close(fd);
}

/* The kernel stores numbers of tasks where it can. */
static void unsaid(char *p)
{
	int status;
	long pid;

	pid = syscall(SYS_clone, 0x100000L /* PARENT_SETTID */ | 0x1000000L /* CHILD_SETTID */ | SIGCHLD,
		      NULL, p, p + 8, NULL);
	CHECK(pid >= 0);
	if (!pid) {
		syscall(SYS_set_tid_address, p + 16);
		_exit(7);
	}
	CHECK_EQ(waitpid((pid_t)pid, &status, 0), pid);
	CHECK_EQ(status, 7 << 8);
}

int main(void)
{
	for (int kind = 0; kind < KINDS; kind++) {
		char *p = pages(kind);

		refused(p);
		unsaid(p);
	}
	return success();
}
