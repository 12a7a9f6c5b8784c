/* mprotect in all directions; madvise DONTNEED, FREE, REMOVE, DONTFORK, WIPEONFORK; mlock, mincore. */
#include "test.h"

static int dies(char *p, bool store)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (store)
			*(volatile char *)p = 1;
		_exit(*(volatile char *)p == 127);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int main(void)
{
	unsigned char vec[16];
	char *p = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *s;

	fill(p, 16 * 4096, 2);
	CHECK_EQ(mprotect(p + 4096, 4096, PROT_READ), 0);
	CHECK_EQ(mprotect(p + 3 * 4096, 2 * 4096, PROT_NONE), 0);
	CHECK_EQ(dies(p, true), 0);
	CHECK_EQ(dies(p + 4096, false), 0);
	CHECK_EQ(dies(p + 4096, true), SIGSEGV);
	CHECK_EQ(dies(p + 3 * 4096, false), SIGSEGV);
	/* The kernel refuses the same pages. */
	int fd = open("/dev/zero", O_RDONLY);

	CHECK_ERR(read(fd, p + 4096, 10), EFAULT);
	CHECK_ERR(mprotect(p + 1, 4096, PROT_READ), EINVAL);
	CHECK_EQ(mprotect(p, 16 * 4096, PROT_READ | PROT_WRITE), 0);
	CHECK(filled(p, 16 * 4096, 2));

	CHECK_EQ(madvise(p + 4096, 8192, MADV_DONTNEED), 0);
	for (int i = 4096; i < 3 * 4096; i++)
		CHECK_EQ(p[i], 0);
	CHECK(filled(p, 4096, 2));
	/* After FREE, a page holds the old bytes or zeros until written; then what was written. */
	int rc = madvise(p, 4096, MADV_FREE);

	CHECK(rc == 0 || errno == EINVAL);
	CHECK(p[1] == 0 || filled(p, 4096, 2));
	memset(p, 'z', 4096);
	CHECK_EQ(p[100], 'z');
	CHECK_EQ(madvise(p, 16 * 4096, MADV_WILLNEED), 0);
	CHECK_EQ(madvise(p, 16 * 4096, MADV_SEQUENTIAL), 0);
	CHECK_ERR(madvise(p, 4096, 9999), EINVAL);
	CHECK_EQ(madvise(p + 8 * 4096, 4096, MADV_DONTFORK), 0);
	CHECK_EQ(dies(p + 8 * 4096, false), SIGSEGV);
	CHECK_EQ(madvise(p + 9 * 4096, 4096, MADV_WIPEONFORK), 0);
	p[9 * 4096] = 127;
	pid_t pid = fork();

	if (!pid)
		_exit(p[9 * 4096]);
	wait_exit(pid, 0);
	CHECK_EQ(p[9 * 4096], 127);
	if (madvise(p + 10 * 4096, 4096, 102) == 0) {	/* MADV_GUARD_INSTALL, Linux 6.13 */
		CHECK_EQ(dies(p + 10 * 4096, false), SIGSEGV);
		CHECK_EQ(madvise(p + 10 * 4096, 4096, 103), 0);
		CHECK_EQ(p[10 * 4096], 0);
	}

	s = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	s[0] = s[4096] = 1;
	CHECK_EQ(madvise(s, 4096, MADV_REMOVE), 0);
	CHECK(s[0] == 0 && s[4096] == 1);
	CHECK_EQ(madvise(s, 8192, MADV_DONTNEED), 0);
	CHECK_EQ(s[4096], 1);
	CHECK_EQ(mlock(s, 4096), 0);
	CHECK_EQ(mincore(s, 8192, vec), 0);
	CHECK_EQ(vec[0] & 1, 1);
	CHECK_EQ(munlock(s, 4096), 0);
	return success();
}
