/*
 * Pages given back by MADV_FREE hold the old bytes or zeros until they are written; it is refused
 * for shared memory and files, as it is natively.  And hints by process_madvise(), to itself and to
 * another process.
 */
#include "test.h"
#include <sys/uio.h>

enum { PAGE = 4096, PAGES = 16, ROUNDS = 20 };

static long hint(pid_t pid, char *p, int advice)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct iovec v[2] = { { p, PAGE }, { p + 2 * PAGE, PAGE } };
	long ret = syscall(SYS_process_madvise, fd, v, 2L, (long)advice, 0L);
	int error = errno;

	close(fd);
	errno = error;
	return ret;
}

static void freed(char *p)
{
	for (int i = 0; i < ROUNDS; i++) {
		memset(p, 'a' + i, PAGES * PAGE);
		CHECK_EQ(madvise(p + PAGE, 3 * PAGE - 10, MADV_FREE), 0);
		CHECK_EQ(p[PAGE - 1], 'a' + i);
		CHECK_EQ(p[4 * PAGE], 'a' + i);
		for (int n = PAGE; n < 4 * PAGE; n++)
			CHECK(p[n] == 0 || p[n] == 'a' + i);
		p[PAGE] = 'z';
		CHECK_EQ(p[PAGE], 'z');
	}
}

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY), prot = PROT_READ | PROT_WRITE;
	char *p = mmap(NULL, PAGES * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *shared = mmap(NULL, PAGE, prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *file = mmap(NULL, PAGE, prot, MAP_PRIVATE, fd, 0);
	pid_t pid;

	freed(p);
	CHECK_ERR(madvise(shared, PAGE, MADV_FREE), EINVAL);
	CHECK_ERR(madvise(file, PAGE, MADV_FREE), EINVAL);
	CHECK_ERR(madvise(p + 1, PAGE, MADV_FREE), EINVAL);
	CHECK_EQ(madvise(p, 0, MADV_FREE), 0);
	CHECK_EQ(munmap(p + 5 * PAGE, PAGE), 0);
	memset(p, 'y', 5 * PAGE);
	CHECK_ERR(madvise(p + 4 * PAGE, 3 * PAGE, MADV_FREE), ENOMEM);
	CHECK(p[4 * PAGE] == 0 || p[4 * PAGE] == 'y');

	memset(p, 'x', 5 * PAGE);
	pid = fork();
	if (!pid) {
		pause();
		_exit(p[0] != 'x');
	}
	for (int i = 0; i < 3; i++) {
		long ret = hint(getpid(), p, 20 /* MADV_COLD */);

		if (ret < 0 && errno == ENOSYS)
			break;		/* an older kernel */
		CHECK_EQ(ret, 2 * PAGE);
		CHECK_EQ(hint(getpid(), p, 21 /* MADV_PAGEOUT */), 2 * PAGE);
		CHECK_EQ(hint(getpid(), p, MADV_WILLNEED), 2 * PAGE);
		CHECK_ERR(hint(pid, p, MADV_DONTFORK), EINVAL);
		ret = hint(pid, p, 20);
		CHECK(ret == 2 * PAGE || errno == EPERM);
	}
	for (int i = 0; i < 5 * PAGE; i++)
		CHECK_EQ(p[i], 'x');
	kill(pid, SIGKILL);
	wait_signal(pid, SIGKILL);
	return success();
}
