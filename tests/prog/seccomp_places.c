// test: compare=plain
/* Filter on instruction pointer, and on arguments (64-bit compare), TRAP siginfo printed. */
#include "observe.h"
static void h(int s, siginfo_t *i, void *u)
{
	ucontext_t *c = u;
	SAY("SIGSYS code %d errno %d arch %x nr %d addr==rip %d rax %lld\n", i->si_code,
	    i->si_errno, i->si_arch, i->si_syscall,
	    (long)i->si_call_addr == c->uc_mcontext.gregs[REG_RIP],
	    c->uc_mcontext.gregs[REG_RAX]);
	c->uc_mcontext.gregs[REG_RAX] = -77;
}
__attribute__((noinline)) static long raw(long n, long a, long b)
{
	long r;
	asm volatile("syscall"
		     : "=a"(r)
		     : "a"(n), "D"(a), "S"(b), "d"(0L)
		     : "rcx", "r11", "memory");
	return r;
}
int main()
{
	struct sigaction a = { .sa_sigaction = h, .sa_flags = SA_SIGINFO };
	sigaction(SIGSYS, &a, 0);
	unsigned long lo = (unsigned long)raw, hi = lo + 64;
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
				   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 5),
				   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8),
				   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)lo, 0, 2),
				   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)hi, 1, 0),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 0x1234),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
				   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_dup, 0, 5),
				   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),
				   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 2),
				   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 20),
				   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 2, 0),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 200) };
	f[1].jf = 5;
	struct sock_fprog p = { sizeof f / 8, f };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	TELL(prctl(PR_SET_SECCOMP, 2, &p));
	TELL(raw(SYS_getppid, 0, 0));
	TELL(getppid() > 0);
	TELL(raw(SYS_dup, 5, 0));
	TELL(raw(SYS_dup, 0x100000005, 0));
	TELL(raw(SYS_dup, 0x200000005, 0));
	return success();
}
