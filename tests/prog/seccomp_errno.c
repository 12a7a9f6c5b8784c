/* The program's own filter answers calls with errors; filters stack; children inherit. */
#include "test.h"
#include "seccomp_one.h"
#include <sys/resource.h>

static void *thread(void *arg)
{
	CHECK_ERR(getpriority(0, 0), 77);
	return arg;
}

int main(void)
{
	pthread_t t;
	pid_t pid;

	CHECK_EQ(seccomp_one(SYS_getpriority, SECCOMP_RET_ERRNO | 77, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_ERR(getpriority(0, 0), 77);
	CHECK(getppid() > 0);
	CHECK_EQ(seccomp_one(SYS_getppid, SECCOMP_RET_ERRNO | 5, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_ERR(syscall(SYS_getppid), 5);
	CHECK_ERR(getpriority(0, 0), 77);
	CHECK_EQ(prctl(PR_GET_SECCOMP), 2);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	pid = fork();
	if (!pid) {
		CHECK_ERR(getpriority(0, 0), 77);
		execl("/bin/sh", "sh", "-c", "exit 9", NULL);
	}
	wait_exit(pid, 9);
	/* Errno 0: the call returns 0 and is not made. */
	CHECK_EQ(seccomp_one(SYS_sethostname, SECCOMP_RET_ERRNO | 0, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_EQ(syscall(SYS_sethostname, "x", 1), 0);
	CHECK_ERR(syscall(SYS_seccomp, 99, 0, NULL), EINVAL);
	return success();
}
