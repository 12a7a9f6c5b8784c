/* The program installs filters of its own in the middle of buffered calls: they hold for calls made before through the buffer too,
 * errors, SIGSYS and all. */
#include "test.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

static volatile int hits, nr;

static void on_sys(int sig, siginfo_t *si, void *ctx)
{
	hits++;
	nr = si->si_syscall;
}

static void filter(int call, unsigned action)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, f };

	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

static void calls(int fd, long ppid, long uid, long gid)
{
	char b[8];

	for (int i = 0; i < 10; i++) {
		errno = 0;
		CHECK_EQ(syscall(SYS_getppid), ppid);
		CHECK_EQ(syscall(SYS_getuid), uid);
		CHECK_EQ(syscall(SYS_getegid), gid);
		CHECK_EQ(read(fd, b, 8), 8);
	}
}

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	long ppid = getppid(), uid = getuid(), gid = getegid();

	calls(fd, ppid, uid, gid);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	filter(SYS_getppid, SECCOMP_RET_ERRNO | ENOSYS);
	calls(fd, -1, uid, gid);
	CHECK_EQ(errno, ENOSYS);
	on_signal(SIGSYS, on_sys, 0);
	filter(SYS_getegid, SECCOMP_RET_TRAP);
	for (int i = 0; i < 6; i++) {
		syscall(SYS_getegid);
		CHECK_EQ(hits, i + 1);
		CHECK_EQ(nr, SYS_getegid);
		CHECK_EQ(syscall(SYS_getuid), uid);
	}
	filter(SYS_getuid, SECCOMP_RET_ERRNO | EPERM);
	for (int i = 0; i < 6; i++)
		CHECK_ERR(syscall(SYS_getuid), EPERM);
	return success();
}
