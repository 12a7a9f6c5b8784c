/* A filter of the program's own outlives exec, and kills for calls that only we would make: polls, questions about descriptors. */
#include "test.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static void filter(void)
{
	static const int killed[] = { SYS_poll, SYS_rt_sigpending, SYS_prctl, SYS_fcntl };
	enum { N = sizeof(killed) / sizeof(*killed) };
	struct sock_filter f[2 * N + 2] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog prog = { 2 * N + 2, f };

	for (unsigned i = 0; i < N; i++) {
		f[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)killed[i], 0, 1);
		f[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	f[1 + 2 * N] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

static void calls(void)
{
	char c;
	int p[2], s[2];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(write(p[1], "x", 1), 1);
		CHECK_EQ(read(p[0], &c, 1), 1);
		CHECK_EQ(write(s[1], "y", 1), 1);
		CHECK_EQ(read(s[0], &c, 1), 1);
		CHECK(syscall(SYS_getppid) >= 0);
	}
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc > 1) {
		calls();
		if (argv[1][0] == '2')
			_exit(7);
		pid = fork();
		if (!pid) {
			calls();
			execl("/proc/self/exe", argv[0], "2", NULL);
			_exit(1);
		}
		wait_exit(pid, 7);
		_exit(3);
	}
	calls();
	pid = fork();
	if (!pid) {
		filter();
		calls();
		execl("/proc/self/exe", argv[0], "1", NULL);
		_exit(1);
	}
	wait_exit(pid, 3);
	return success();
}
