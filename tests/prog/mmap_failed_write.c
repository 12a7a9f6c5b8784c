/* A write that fails, for its input is not there, and moves the end of a mapped file all the same. */
#include "test.h"
#include <sys/uio.h>

enum { PAGE = 4096 };

static void end_of(int fd, char *m, int turn)
{
	struct stat st;

	CHECK_EQ(fstat(fd, &st), 0);
	printf("%d: the end is at %ld\n", turn, (long)st.st_size);
	for (int at = 0; at < st.st_size; at += PAGE)
		m[at]++;	/* SIGBUS, where it is not */
}

static void writes(int fd)
{
	char *m = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct iovec v = { (void *)8, 10 };

	CHECK(m != MAP_FAILED);
	CHECK_EQ(write(fd, "abc", 3), 3);
	for (int i = 0; i < 8; i++) {
		CHECK_ERR(pwrite(fd, (void *)8, 10, (3 * i + 1) * PAGE + 5), EFAULT);
		end_of(fd, m, i);
		CHECK_ERR(pwritev(fd, &v, 1, (3 * i + 2) * PAGE + 7), EFAULT);
		end_of(fd, m, i);
		CHECK_EQ(lseek(fd, (3 * i + 3) * PAGE + 9, SEEK_SET), (3 * i + 3) * PAGE + 9);
		CHECK_ERR(write(fd, (void *)8, 10), EFAULT);
		end_of(fd, m, i);
	}
	munmap(m, 64 * PAGE);
	close(fd);
}

int main(void)
{
	writes(memfd_create("x", 0));
	writes(open("mapped", O_CREAT | O_RDWR | O_TRUNC, 0600));
	unlink("mapped");
	return success();
}
