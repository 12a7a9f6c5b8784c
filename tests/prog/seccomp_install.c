/* What installing a filter says: errors in the kernel's order, modes, no_new_privs, strict mode. */
#include "test.h"
#include "seccomp_one.h"

static int try(struct sock_filter *f, unsigned n, unsigned flags)
{
	struct sock_fprog prog = { (unsigned short)n, f };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static void bad_programs(void)
{
	static const struct sock_filter bad[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 32), BPF_STMT(BPF_LD | BPF_MEM, 1), BPF_STMT(BPF_ST, 16),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_STMT(BPF_RET | BPF_X, 0),
		BPF_STMT(0xffff, 0), BPF_STMT(BPF_LDX | BPF_MSH | BPF_B, 0),
	};
	struct sock_filter f[3];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f[0] = bad[i];
		f[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		CHECK_ERR(try(f, 2, 0), EINVAL);
	}
	f[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 1);	/* no return at the end */
	CHECK_ERR(try(f, 1, 0), EINVAL);
	/* stored to on one path only */
	struct sock_filter g[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1), BPF_STMT(BPF_ST, 2),
		BPF_STMT(BPF_LD | BPF_MEM, 2), BPF_STMT(BPF_RET | BPF_A, 0) };
	CHECK_ERR(try(g, 5, 0), EINVAL);
	g[1].jf = 0;
	g[3] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0);
	g[4] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	CHECK_EQ(try(g, 5, 0), 0);
}

int main(void)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { 1, all };
	int root = geteuid() == 0;
	unsigned action = SECCOMP_RET_TRAP;
	pid_t pid;

	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL), EINVAL);
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, &prog), EINVAL);
	CHECK_ERR(prctl(PR_SET_SECCOMP, 7, &prog), EINVAL);
	CHECK_ERR(prctl(PR_SET_SECCOMP, 2, NULL), EFAULT);
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0x8000, &prog), EINVAL);
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 16), EFAULT);
	prog.len = 0;
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), EINVAL);
	prog.len = 5000;
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), EINVAL);
	prog.len = 1;
	if (!root && !prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
		CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), EACCES);
	printf("no new privileges %d, mode %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP));
	CHECK_ERR(prctl(PR_GET_NO_NEW_PRIVS, 1, 0, 0, 0), EINVAL);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	prog.filter = NULL;
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), EINVAL);
	prog.filter = (void *)16;
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), EFAULT);
	CHECK_EQ(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action), 0);
	action = 0x12340000;
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action), EOPNOTSUPP);
	bad_programs();
	CHECK_EQ(prctl(PR_GET_SECCOMP), 2);
	CHECK_ERR(prctl(PR_SET_SECCOMP, 1), EINVAL);	/* no way to strict mode from there */
	pid = fork();
	if (!pid) {	/* so many filters that there are too many */
		static struct sock_filter f[4096];
		int n = 0;

		for (int i = 0; i < 4096; i++)
			f[i] = all[0];
		while (n < 100 && try(f, 4096, 0) == 0)
			n++;
		CHECK_EQ(errno, ENOMEM);
		_exit(n > 1 && n < 20 ? 0 : 1);
	}
	wait_exit(pid, 0);
	return success();
}
