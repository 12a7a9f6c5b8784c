/*
 * vmsplice with vectors that reach over gigabytes: what fails has written nothing, and what
 * succeeds no more than its result says.
 */
#include "test.h"
#include <sys/uio.h>

enum { SIZE = 65536 };

int main(void)
{
	char *m = mmap((void *)0x10000000, SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), back[100];
	struct iovec wild[4] = { { m + 0x6253, -1ul }, { m + 0x4fdf, 109 }, { m + 0xafe0, 2 }, { m + 0x7fdb, 6 } },
		     large = { m + 0x100, 0x7f000000 }, small = { back, 10 };
	int p[2], file = memfd_create("file", 0);

	CHECK_EQ(m, (void *)0x10000000);
	fill(m, SIZE, 1);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
		CHECK_EQ(vmsplice(file, wild, 4, SPLICE_F_NONBLOCK), -1);
		CHECK_EQ(vmsplice(file, wild, 1, SPLICE_F_NONBLOCK), -1);
		CHECK_ERR(vmsplice(file, &large, 1, SPLICE_F_NONBLOCK), EBADF);
		CHECK_EQ(vmsplice(p[0], wild, 4, SPLICE_F_NONBLOCK), -1);
		CHECK_ERR(vmsplice(p[0], &large, 1, SPLICE_F_NONBLOCK), EAGAIN);
		CHECK_EQ(vmsplice(p[1], &large, 1, SPLICE_F_NONBLOCK), SIZE - 0x100);
		CHECK_EQ(read(p[0], back, 100), 100);
		CHECK(!memcmp(back, m + 0x100, 100));
		CHECK_EQ(vmsplice(p[0], &small, 1, SPLICE_F_NONBLOCK), 10);	/* to memory */
		CHECK(!memcmp(back, m + 0x100 + 100, 10));
		close(p[0]);
		close(p[1]);
	}
	return success();
}
