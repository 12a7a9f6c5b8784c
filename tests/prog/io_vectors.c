/* readv, writev, preadv2, pwritev2: short ones, empty parts, a thousand parts, bad parts. */
#include "test.h"
#include <sys/uio.h>

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600), p[2];
	char in[5000], out[5000];
	struct iovec iov[1024];

	fill(in, sizeof(in), 6);
	for (int i = 0; i < 1000; i++)
		iov[i] = (struct iovec){ in + i * 5, 5 };
	CHECK_EQ(writev(fd, iov, 1000), 5000);
	for (int i = 0; i < 1000; i++)
		iov[i] = (struct iovec){ out + i * 5, 5 };
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(readv(fd, iov, 1000), 5000);
	CHECK(filled(out, 5000, 6));
	memset(out, 0, sizeof(out));
	iov[0] = (struct iovec){ out, 0 };
	iov[1] = (struct iovec){ out, 10 };
	iov[2] = (struct iovec){ NULL, 0 };
	iov[3] = (struct iovec){ out + 10, 4000 };
	CHECK_EQ(preadv(fd, iov, 4, 2000), 3000);	/* the file ends in the last part */
	CHECK(!memcmp(out, in + 2000, 3000) && out[3000] == 0);
	CHECK_EQ(preadv2(fd, iov, 4, 0, 0), 4010);
	CHECK_EQ(lseek(fd, 100, SEEK_SET), 100);
	CHECK_EQ(preadv2(fd, iov, 4, -1, 0), 4010);
	CHECK(!memcmp(out, in + 100, 4010));
	CHECK_EQ(pwritev2(fd, iov, 2, 0, RWF_APPEND), 10);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 5010);
	CHECK_ERR(readv(fd, iov, -1), EINVAL);
	CHECK_ERR(readv(fd, (void *)8, 1), EFAULT);
	iov[1].iov_base = (void *)16;
	CHECK_ERR(preadv(fd, iov, 2, 0), EFAULT);
	iov[0] = (struct iovec){ out, 7 };
	CHECK_EQ(preadv(fd, iov, 2, 0), 7);		/* the first part is good */
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(write(p[1], in, 12), 12);
	iov[1] = (struct iovec){ out + 7, 100 };
	CHECK_EQ(readv(p[0], iov, 2), 12);
	CHECK(!memcmp(in, out, 12));
	return success();
}
