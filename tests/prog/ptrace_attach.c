/* PTRACE_ATTACH to tasks that compute, sleep, have threads; the crash handler that attaches to its parent; memory of the tracee by all ways. */
#include "ptrace.h"
#include <sys/prctl.h>

static volatile long word = 5, turns;
static int wake[2], up[2];

static void *sleeper(void *arg)
{
	put1(up[1]);
	get1(wake[0]);
	return arg;
}

static void *computer(void *arg)
{
	put1(up[1]);
	while (word == 5)
		turns++;
	return arg;
}

static void victim(void)
{
	pthread_t t[2];

	CHECK_EQ(pthread_create(&t[0], NULL, sleeper, NULL), 0);
	CHECK_EQ(pthread_create(&t[1], NULL, computer, NULL), 0);
	pthread_join(t[1], NULL);
	pthread_join(t[0], NULL);
	_exit((int)word);
}

static int tasks_of(pid_t pid, pid_t *tid)
{
	int n = 0;

	for (pid_t i = pid; i < pid + 200 && n < 3; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, i);
		if (access(path, F_OK) == 0)
			tid[n++] = i;
	}
	return n;
}

static void three_tasks(void)
{
	struct user_regs_struct regs;
	pid_t pid, tid[3];
	char path[64], buf[8];
	struct iovec local, remote;
	long value;
	int fd;

	CHECK_EQ(pipe(wake), 0);
	CHECK_EQ(pipe(up), 0);
	pid = fork();
	if (!pid)
		victim();
	get1(up[0]);
	get1(up[0]);
	CHECK_EQ(tasks_of(pid, tid), 3);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(ptrace(PTRACE_ATTACH, tid[i], 0, 0), 0);
		CHECK_ERR(ptrace(PTRACE_ATTACH, tid[i], 0, 0), EPERM);
		wait_stop(tid[i], SIGSTOP);
		CHECK_EQ(ptrace(PTRACE_GETREGS, tid[i], 0, &regs), 0);
		CHECK(regs.rip && regs.rsp);
	}
	/* memory by all ways */
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, &value, 8, (off_t)(long)&word), 8);
	CHECK_EQ(value, 5);
	value = 6;
	local = (struct iovec){ &value, 8 };
	remote = (struct iovec){ (void *)&word, 8 };
	CHECK_EQ(process_vm_writev(pid, &local, 1, &remote, 1, 0), 8);
	CHECK_EQ(process_vm_readv(pid, &local, 1, &remote, 1, 0), 8);
	CHECK_EQ(value, 6);
	value = 7;
	CHECK_EQ(pwrite(fd, &value, 8, (off_t)(long)&word), 8);
	CHECK_EQ(ptrace(PTRACE_PEEKDATA, pid, &word, 0), 7);
	CHECK_EQ(pread(fd, buf, 8, (off_t)(long)victim), 8);	/* code as it was compiled */
	CHECK(!memcmp(buf, (void *)victim, 8));
	close(fd);
	CHECK_EQ(word, 5);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(ptrace(PTRACE_DETACH, tid[i], 0, 0), 0);
	put1(wake[1]);
	wait_exit(pid, 7);
}

static volatile int handled;

/* As Breakpad, Qt, KDE do: a child looks at who crashed. */
static void on_segv(int sig, siginfo_t *info, void *context)
{
	pid_t me = getpid(), pid = fork();
	int status;

	(void)sig;
	(void)context;
	CHECK_EQ((long)info->si_addr, 32);
	if (!pid) {
		struct user_regs_struct regs;

		CHECK_EQ(ptrace(PTRACE_ATTACH, me, 0, 0), 0);
		wait_stop(me, SIGSTOP);
		CHECK_EQ(ptrace(PTRACE_GETREGS, me, 0, &regs), 0);
		CHECK_EQ(ptrace(PTRACE_PEEKDATA, me, &handled, 0) & 0xffffffff, 0);
		CHECK_EQ(ptrace(PTRACE_POKEDATA, me, &handled, 0x17l), 0);
		CHECK_EQ(ptrace(PTRACE_DETACH, me, 0, 0), 0);
		_exit(regs.rip ? 9 : 1);
	}
	prctl(PR_SET_PTRACER, pid);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 9);
	_exit(handled);
}

static void crash(void)
{
	pid_t pid = fork();

	if (!pid) {
		on_signal(SIGSEGV, on_segv, 0);
		*(volatile int *)32 = 1;
	}
	wait_exit(pid, 0x17);
}

/* Who shares its memory with what it traces, as LeakSanitizer's thread does. */
static int tracer_main(void *arg)
{
	pid_t of = *(pid_t *)arg;
	struct user_regs_struct regs;
	int status;

	if (ptrace(PTRACE_ATTACH, of, 0, 0) < 0)
		return 10;
	if (waitpid(of, &status, __WALL) != of || !WIFSTOPPED(status))
		return 11;
	if (ptrace(PTRACE_GETREGS, of, 0, &regs) < 0 || !regs.rsp)
		return 12;
	word = (long)regs.orig_rax;
	return ptrace(PTRACE_DETACH, of, 0, 0) < 0 ? 13 : 0;
}

static void shared_memory(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t me = getpid(), pid;
	int status;

	pid = clone(tracer_main, stack + sizeof(stack), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, &me);
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, __WALL), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	CHECK(word == SYS_wait4 || word == SYS_clone || word == -1);
}

int main(void)
{
	three_tasks();
	crash();
	shared_memory();
	return success();
}
