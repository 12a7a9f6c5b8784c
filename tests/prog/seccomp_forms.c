/* SECCOMP_RET_TRAP of calls that a recorder answers or changes itself, that sleep, make tasks or mappings: the siginfo is exact, and
 * nothing of the call happens. */
#include "test.h"
#include "seccomp_one.h"
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>

static volatile int hits;
static volatile siginfo_t last;
static volatile greg_t rip, rax;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;

	hits++;
	memcpy((void *)&last, si, sizeof(*si));
	rip = g[REG_RIP];
	rax = g[REG_RAX];
	g[REG_RAX] = -EXDEV;
}

static const int calls[] = {
	SYS_sched_setaffinity, SYS_sched_yield, SYS_clone, SYS_fork, SYS_vfork, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_openat, SYS_execve,
	SYS_nanosleep, SYS_ptrace, SYS_io_uring_setup, SYS_kill, SYS_dup2, SYS_prlimit64, SYS_pselect6, SYS_getppid, SYS_sendmsg,
	SYS_arch_prctl, SYS_sigaltstack, SYS_restart_syscall, 999, 0x40000027,
};
enum { N = sizeof(calls) / sizeof(calls[0]) };

static void install(unsigned from, unsigned action)
{
	struct sock_filter f[2 * N + 2] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog prog = { 2 * N + 2, f };

	for (unsigned i = 0; i < N; i++) {
		f[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		f[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action + from + i);
	}
	f[2 * N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), 0);
}

static long plain(long nr)
{
	register long r10 __asm__("r10") = 4, r8 __asm__("r8") = 5, r9 __asm__("r9") = 6;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(1L), "S"(2L), "d"(3L), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return ret;
}

int main(void)
{
	cpu_set_t set;

	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	on_signal(SIGSYS, handler, 0);
	install(100, SECCOMP_RET_TRAP);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < N; i++) {
			hits = 0;
			CHECK_EQ(plain(calls[i]), -EXDEV);
			CHECK_EQ(hits, 1);
			CHECK_EQ(last.si_signo, SIGSYS);
			CHECK_EQ(last.si_code, 1);
			CHECK_EQ(last.si_errno, 100 + i);
			CHECK_EQ(last.si_syscall, calls[i]);
			CHECK_EQ(last.si_arch, AUDIT_ARCH_X86_64);
			CHECK_EQ((greg_t)last.si_call_addr, rip);
			CHECK_EQ(((unsigned char *)rip)[-2], 0x0f);
			CHECK_EQ(rax, calls[i]);
		}
	}
	CHECK_ERR(sched_setaffinity(0, sizeof(set), &set), EXDEV);
	CHECK_EQ(last.si_errno, 100);
	/* A handler that longjmps out, or makes filtered calls itself, is as good as any. */
	for (int i = 0; i < 20; i++)
		CHECK_ERR(fork(), EXDEV);
	return success();
}
