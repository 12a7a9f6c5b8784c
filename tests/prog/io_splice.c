/* sendfile, splice, tee, vmsplice, copy_file_range. */
#include "test.h"
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

int main(void)
{
	int in = open("in", O_CREAT | O_RDWR | O_TRUNC, 0600), out = open("out", O_CREAT | O_RDWR | O_TRUNC, 0600);
	char data[20000], back[20000];
	off_t off = 100;
	loff_t a = 0, b = 0;
	int p[2], q[2], s[2];
	struct iovec iov;

	fill(data, sizeof(data), 12);
	CHECK_EQ(write(in, data, sizeof(data)), sizeof(data));
	CHECK_EQ(sendfile(out, in, &off, 1000), 1000);
	CHECK_EQ(off, 1100);
	CHECK_EQ(pread(out, back, 1000, 0), 1000);
	CHECK(!memcmp(back, data + 100, 1000));
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pipe(q), 0);
	a = 5000;
	CHECK_EQ(splice(in, &a, p[1], NULL, 3000, 0), 3000);
	CHECK_EQ(a, 8000);
	CHECK_EQ(tee(p[0], q[1], 3000, 0), 3000);
	CHECK_EQ(read(q[0], back, 3000), 3000);
	CHECK(!memcmp(back, data + 5000, 3000));
	b = 7;
	CHECK_EQ(splice(p[0], NULL, out, &b, 3000, 0), 3000);
	CHECK_EQ(b, 3007);
	CHECK_EQ(pread(out, back, 3000, 7), 3000);
	CHECK(!memcmp(back, data + 5000, 3000));
	iov = (struct iovec){ data, 2000 };
	CHECK_EQ(vmsplice(p[1], &iov, 1, 0), 2000);
	CHECK_EQ(read(p[0], back, 4000), 2000);
	CHECK(!memcmp(back, data, 2000));
	a = b = 0;
	CHECK_EQ(copy_file_range(in, &a, out, &b, 20000, 0), 20000);
	CHECK(a == 20000 && b == 20000);
	CHECK_EQ(pread(out, back, 20000, 0), 20000);
	CHECK(filled(back, 20000, 12));
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	off = 0;
	CHECK_EQ(sendfile(s[0], in, &off, 5000), 5000);
	CHECK_EQ(recv(s[1], back, 5000, MSG_WAITALL), 5000);
	CHECK_ERR(splice(in, NULL, out, NULL, 10, 0), EINVAL);
	return success();
}
