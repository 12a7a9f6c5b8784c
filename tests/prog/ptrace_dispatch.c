// test: compare=plain
/* Requests of ptrace about a tracee's system call user dispatch, and about flags of its filters. */
#include "observe.h"

enum { GET_METADATA = 0x420d, SET_DISPATCH = 0x4210, GET_DISPATCH = 0x4211 };
struct config { uint64_t mode, selector, offset, len; };
static volatile char selector;

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	(void)context;
	selector = 0;
	SAY("signal %d, call %d\n", sig, info->si_syscall);
}

static void filter(unsigned flags)
{
	struct sock_filter f[] = { { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW } };
	struct sock_fprog p = { 1, f };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	SAY("filter %ld\n", syscall(SYS_seccomp, 1L, (long)flags, &p));
}

static void ask(unsigned long size)
{
	struct config c = { 9, 9, 9, 9 };

	TELL(ptrace((enum __ptrace_request)GET_DISPATCH, child, size, &c));
	SAY("mode %d, selector %d, %lx, %lx\n", (int)c.mode, c.selector == (uintptr_t)&selector,
	    (unsigned long)c.offset, (unsigned long)c.len);
}

static void set(unsigned long size, struct config c)
{
	TELL(ptrace((enum __ptrace_request)SET_DISPATCH, child, size, &c));
	ask(sizeof(c));
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO };
	struct config on = { 1, (uintptr_t)&selector, 0x1000, 0x2000 };

	sigaction(SIGSYS, &sa, NULL);
	child = fork();
	if (!child) {
		filter(0);
		filter(2);	/* SECCOMP_FILTER_FLAG_LOG */
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		selector = 1;
		syscall(SYS_getppid);
		selector = 0;
		_exit(3);
	}
	say_wait(child, 0);
	for (uint64_t i = 0; i < 4; i++) {
		uint64_t md[2] = { i, 7 };

		TELL(ptrace((enum __ptrace_request)GET_METADATA, child, 16, md));
		SAY("%lu %lu\n", (unsigned long)md[0], (unsigned long)md[1]);
		TELL(ptrace((enum __ptrace_request)GET_METADATA, child, 4, md));
		TELL(ptrace((enum __ptrace_request)GET_METADATA, child, 16, 8));
	}
	ask(sizeof(on));
	ask(8);
	set(8, on);
	set(sizeof(on), (struct config){ 0, 0, 1, 0 });
	set(sizeof(on), (struct config){ 7, 0, 0, 0 });
	set(sizeof(on), (struct config){ 1, 1ull << 63, 0, 0 });
	set(sizeof(on), (struct config){ 1, 0, 5, -5ull });
	set(sizeof(on), on);
	ptrace(PTRACE_CONT, child, 0, 0);
	say_wait(child, 0);
	ptrace(PTRACE_CONT, child, 0, SIGSYS);
	say_wait(child, 0);
	return success();
}
