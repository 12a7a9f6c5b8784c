/*
 * Linux takes the number of a system call from the low half of rax, as an int; the upper half is
 * there for tracers to see, and for a call that is made again.
 */
#include "test.h"
#include <sys/ptrace.h>
#include <sys/user.h>

#define HIGH(nr, upper) ((long)((unsigned long)(upper) << 32 | (uint32_t)(nr)))

static long call(long nr, long a, long b, long c)
{
	register long r10 __asm__("r10") = 0;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static void numbers(void)
{
	const unsigned upper[] = { 0, 1, 0x80000000, 0xffffffff };
	char bytes[16];
	int p[2];

	CHECK_EQ(pipe(p), 0);
	for (int i = 0; i < 12; i++) {
		unsigned u = upper[i % 4];

		CHECK_EQ(call(HIGH(SYS_getpid, u), 0, 0, 0), getpid());
		CHECK_EQ(call(HIGH(SYS_getppid, u), 0, 0, 0), getppid());
		CHECK_EQ(call(HIGH(SYS_write, u), p[1], (long)"hello", 5), 5);
		memset(bytes, 0, sizeof(bytes));
		CHECK_EQ(call(HIGH(SYS_read, u), p[0], (long)bytes, 16), 5);
		CHECK(!memcmp(bytes, "hello", 5));
		CHECK_EQ(call(HIGH(SYS_read, u), p[0], 8, 0), 0);
		CHECK_EQ(call(HIGH(-1, u), 0, 0, 0), -ENOSYS);
		CHECK_EQ(call(HIGH(500, u), 0, 0, 0), -ENOSYS);
		CHECK_EQ(call(HIGH(66000, u), 0, 0, 0), -ENOSYS);
		CHECK_EQ(call(HIGH(0x80000000 | SYS_getpid, u), 0, 0, 0), -ENOSYS);
	}
	close(p[0]);
	close(p[1]);
}

static int hits;

static void on_alarm(int sig)
{
	(void)sig;
	hits++;
}

/* A call that is made again after a handler. */
static void again(void)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	char byte;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	if (!fork()) {
		for (int i = 0; i < 2; i++) {
			usleep(20000);
			kill(getppid(), SIGUSR1);
			usleep(20000);
			CHECK_EQ(write(p[1], "x", 1), 1);
		}
		_exit(0);
	}
	CHECK_EQ(call(HIGH(SYS_read, 7), p[0], (long)&byte, 1), 1);
	CHECK_EQ(call(HIGH(SYS_read, 0xfffffff0), p[0], (long)&byte, 1), 1);
	CHECK_EQ(hits, 2);
	CHECK(wait(NULL) > 0);
}

/* What a tracer sees. */
static void traced(void)
{
	struct user_regs_struct regs;
	int status;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		call(HIGH(SYS_getppid, 0x12345678), 1, 2, 3);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD), 0);
	for (int stops = 0; stops < 2;) {
		CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFSTOPPED(status));
		CHECK_EQ(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
		if ((int)regs.orig_rax != SYS_getppid)
			continue;
		CHECK_EQ((long)regs.orig_rax, HIGH(SYS_getppid, 0x12345678));
		CHECK_EQ((long)regs.rax, stops ? getpid() : -ENOSYS);
		stops++;
	}
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int main(void)
{
	numbers();
	again();
	traced();
	return success();
}
