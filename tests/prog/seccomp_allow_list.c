// test: libs=-lseccomp
/* A sandbox as libseccomp builds it: an allow list by default ERRNO, argument checks; and strict mode in a child. */
#include "test.h"
#include <seccomp.h>
#include <sys/prctl.h>

int main(void)
{
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ERRNO(EXDEV));
	static const int ok[] = { SCMP_SYS(write), SCMP_SYS(exit_group), SCMP_SYS(exit), SCMP_SYS(brk), SCMP_SYS(fstat),
		SCMP_SYS(newfstatat), SCMP_SYS(rt_sigreturn), SCMP_SYS(getpid), SCMP_SYS(wait4), SCMP_SYS(mmap) };
	int p[2];
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		CHECK_EQ(prctl(PR_SET_SECCOMP, 1), 0);
		syscall(SYS_write, p[1], "x", 1);
		syscall(SYS_exit, 4);
	}
	get1(p[0]);
	wait_exit(pid, 4);
	pid = fork();
	if (!pid) {
		CHECK_EQ(prctl(PR_SET_SECCOMP, 1), 0);
		syscall(SYS_getpid);
		syscall(SYS_exit, 4);
	}
	wait_signal(pid, SIGKILL);

	for (size_t i = 0; i < sizeof(ok) / sizeof(ok[0]); i++)
		CHECK_EQ(seccomp_rule_add(c, SCMP_ACT_ALLOW, ok[i], 0), 0);
	CHECK_EQ(seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(dup), 1, SCMP_A0(SCMP_CMP_EQ, 1)), 0);
	CHECK_EQ(seccomp_load(c), 0);
	CHECK_EQ(getpid(), syscall(SYS_getpid));
	CHECK_ERR(open("/etc/passwd", O_RDONLY), EXDEV);
	CHECK_ERR(dup(0), EXDEV);
	CHECK(dup(1) > 2);
	CHECK_ERR(syscall(SYS_getuid), EXDEV);
	return success();
}
