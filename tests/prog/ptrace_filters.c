// test: compare=plain
/* SECCOMP_GET_FILTER of a tracee with two filters. */
#include "observe.h"
static void inst(int v)
{
	struct sock_filter f[] = { { BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 },
				   { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 500 + v },
				   { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | v },
				   { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW } };
	struct sock_fprog p = { v == 2 ? 4 : 4, f };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, 2, &p);
}
int main()
{
	child = fork();
	if (!child) {
		inst(1);
		inst(2);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	say_wait(child, 0);
	struct sock_filter f[8];
	for (int i = 0; i < 4; i++) {
		memset(f, 0, sizeof f);
		TELL(ptrace(PTRACE_SECCOMP_GET_FILTER, child, i, f));
		SAY("%x %x %x\n", f[0].code, f[1].k, f[2].k);
	}
	TELL(ptrace(PTRACE_SECCOMP_GET_FILTER, child, 0, 0));
	TELL(ptrace(PTRACE_SECCOMP_GET_FILTER, child, 0, 8));
	ptrace(PTRACE_CONT, child, 0, 0);
	say_wait(child, 0);
	return success();
}
