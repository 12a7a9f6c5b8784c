/* io_uring and libaio: natively they may work; recorded they answer as an old kernel would. Either
 * way a program that looks gets a sane answer and falls back. */
#include "test.h"
#include <linux/aio_abi.h>

int main(void)
{
	char params[256] = { 0 };
	aio_context_t ctx = 0;
	long fd = syscall(425 /* io_uring_setup */, 4, params);

	CHECK(fd >= 0 || errno == ENOSYS || errno == EPERM);
	printf("io_uring_setup %s\n", fd >= 0 ? "works" : strerror(errno));
	if (getenv("HINDSIGHT_EXPECT_ENOSYS"))
		CHECK(fd < 0 && errno == ENOSYS);
	long rc = syscall(SYS_io_setup, 4, &ctx);

	CHECK(rc == 0 || errno == ENOSYS || errno == EPERM || errno == EAGAIN);
	printf("io_setup %s\n", rc == 0 ? "works" : strerror(errno));
	if (rc == 0)
		CHECK_EQ(syscall(SYS_io_destroy, ctx), 0);
	/* userfaultfd, perf: refused or not, no crash. */
	fd = syscall(323, 0);
	printf("userfaultfd %s\n", fd >= 0 ? "works" : strerror(errno));
	return success();
}
