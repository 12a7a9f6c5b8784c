/* Nothing is left to the program: no descriptors, none to be had, another root; its calls are buffered all the same, and it is
 * the program's own table of descriptors that they see. */
#include "test.h"
#include <sched.h>
#include <sys/resource.h>

static char buf[64];

static void some_calls(void)
{
	for (int i = 0; i < 20; i++) {
		CHECK(getppid() >= 0);
		CHECK_ERR(read(0, buf, 1), EBADF);
		CHECK_ERR(write(1, buf, 1), EBADF);
		CHECK_ERR(close(2), EBADF);
		CHECK(now_ns() > 0);
	}
}

static void no_descriptors(void)
{
	struct rlimit none = { 0, 0 };

	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	some_calls();
	CHECK_EQ(open("/", O_RDONLY), 0);
	CHECK_EQ(dup(0), 1);
	CHECK_ERR(read(1, buf, 5), EISDIR);
	CHECK_EQ(close(0), 0);
	CHECK_EQ(close(1), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	some_calls();
	CHECK_ERR(open("/", O_RDONLY), EMFILE);
	CHECK_ERR(pipe((int *)buf), EMFILE);
}

static void another_root(void)
{
	char dir[] = "/tmp/buffer_limits.XXXXXX";

	CHECK(mkdtemp(dir));
	if (chroot(dir) < 0 && (unshare(CLONE_NEWUSER) < 0 || chroot(dir) < 0)) {
		rmdir(dir);
		return;
	}
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(chdir("/"), 0);
		CHECK_ERR(access("/proc", F_OK), ENOENT);
		CHECK_ERR(open("/etc/passwd", O_RDONLY), ENOENT);
		CHECK(getppid() >= 0);
		CHECK(now_ns() > 0);
	}
}

int main(void)
{
	pid_t pid = fork();
	char c;
	int p[2];

	if (!pid) {
		no_descriptors();
		_exit(5);
	}
	wait_exit(pid, 5);
	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		another_root();
		CHECK_EQ(write(p[1], "r", 1), 1);
		no_descriptors();
		_exit(6);
	}
	CHECK_EQ(read(p[0], &c, 1), 1);
	wait_exit(pid, 6);
	system("rmdir /tmp/buffer_limits.* 2>/dev/null");
	return success();
}
