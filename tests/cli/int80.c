/* int80 [PROGRAM...]: without arguments makes 32-bit calls from 64-bit code; else runs PROGRAM under a filter that allows everything. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static long call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return ret;
}

int main(int argc, char **argv)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { 1, allow };

	if (argc > 1) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
		execvp(argv[1], argv + 1);
		return 126;
	}
	for (int i = 0; i < 5; i++)	/* getpid, write, as 64-bit numbers writev and stat */
		printf("%ld %ld\n", call(20, 0, 0, 0), call(4, 1, 0, 0));
	printf("%d\n", getpid() > 0);
	puts("EXIT-SUCCESS");
	return 0;
}
