// test: warns
/* Calls, ioctls, options that nobody knows: the kernel's own answer, never a crash. */
#include "test.h"
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(void)
{
	char buf[4096];
	socklen_t len = sizeof(buf);
	int fd = open("/dev/null", O_RDWR), s = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK_ERR(syscall(500), ENOSYS);
	CHECK_ERR(syscall(511, 1, 2, 3, 4, 5, 6), ENOSYS);
	CHECK_ERR(syscall(1 << 20), ENOSYS);
	CHECK_ERR(syscall(-1), ENOSYS);
	CHECK_ERR(syscall(0x40000000 | 39), ENOSYS);	/* x32 */
	CHECK_ERR(syscall(387), ENOSYS);		/* in the hole below 424; 335 and 336 are uprobes' */
	memset(buf, 7, sizeof(buf));
	CHECK_ERR(ioctl(fd, 0x12345678, buf), ENOTTY);
	CHECK_ERR(ioctl(fd, _IOR('z', 99, char[64]), buf), ENOTTY);
	CHECK_ERR(ioctl(fd, _IOWR('z', 99, char[4000]), buf), ENOTTY);
	CHECK_ERR(ioctl(fd, 0xffffffff, (void *)8), ENOTTY);
	CHECK_ERR(ioctl(12345, FIONBIO, buf), EBADF);
	for (int i = 0; i < 4096; i++)
		CHECK_EQ(buf[i], 7);
	CHECK_ERR(fcntl(fd, 9999, buf), EINVAL);
	CHECK_ERR(getsockopt(s, SOL_SOCKET, 9999, buf, &len), ENOPROTOOPT);
	CHECK_ERR(setsockopt(s, 9999, 1, buf, 4), EOPNOTSUPP);
	CHECK_ERR(syscall(SYS_futex, buf, 99, 0, NULL, NULL, 0), ENOSYS);
	CHECK_ERR(syscall(SYS_arch_prctl, 0x99999, 0), EINVAL);
	CHECK_EQ(syscall(SYS_keyctl, 9999, 0, 0, 0, 0), -1);
	return success();
}
