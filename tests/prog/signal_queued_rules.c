/*
 * Signals that are queued with the codes of faults: who may send them (nobody but the thread that they name), from which
 * memory (read-only, up to the end of a page), with which codes, and what a signalfd and a tracer see of them.
 */
#include "test.h"
#include <sys/ptrace.h>
#include <sys/signalfd.h>

static volatile int got, code;
static pid_t main_tid;

static void comes_in(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	got++;
	code = info->si_code;
}

static siginfo_t fault(int sig, int si_code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = si_code;
	info.si_addr = (void *)0x123400005678;
	info.si_addr_lsb = 12;
	return info;
}

static long queue(pid_t pid, int sig, const void *info)
{
	return syscall(SYS_rt_sigqueueinfo, pid, sig, info);
}

static void comes(int si_code)
{
	CHECK_EQ(got, 1);
	CHECK_EQ(code, si_code);
	got = code = 0;
}

static void *thread(void *arg)
{
	siginfo_t info = fault(SIGSEGV, 1);
	pid_t pid = getpid(), tid = (pid_t)syscall(SYS_gettid);
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	(void)arg;
	CHECK_ERR((int)queue(pid, SIGSEGV, &info), EPERM);
	CHECK_ERR((int)syscall(SYS_rt_tgsigqueueinfo, pid, main_tid, SIGSEGV, &info), EPERM);
	CHECK_ERR((int)syscall(SYS_pidfd_send_signal, fd, SIGSEGV, &info, 0), EPERM);
	CHECK_EQ(got, 0);
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGSEGV, &info), 0);
	comes(1);
	close(fd);
	return NULL;
}

static void *to_own_number(void *arg)
{
	siginfo_t info = fault(SIGSEGV, 2);

	(void)arg;
	CHECK_EQ(queue((pid_t)syscall(SYS_gettid), SIGSEGV, &info), 0);
	return NULL;
}

static void places(void)
{
	siginfo_t info = fault(SIGSEGV, 2);
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("info", 0);

	munmap(p + 4096, 4096);
	memcpy(p + 4096 - 48, &info, 48);
	CHECK_EQ(queue(getpid(), SIGSEGV, p + 4096 - 48), 0);
	comes(2);
	CHECK_EQ(write(fd, &info, sizeof(info)), sizeof(info));
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK_EQ(queue(getpid(), SIGSEGV, p), 0);
	comes(2);
	info.si_signo = SIGBUS;
	CHECK_EQ(queue(getpid(), SIGSEGV, &info), 0);
	comes(2);
	close(fd);
	fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	CHECK_ERR((int)syscall(SYS_pidfd_send_signal, fd, SIGSEGV, &info, 0), EINVAL);
	close(fd);
	info = fault(SIGTRAP, 1000);
	CHECK_EQ(queue(getpid(), SIGTRAP, &info), 0);
	comes(1000);
	((char *)&info)[100] = 1;	/* behind what a code without meaning may have */
	CHECK_ERR((int)queue(getpid(), SIGTRAP, &info), E2BIG);
	info.si_code = 1;
	CHECK_EQ(queue(getpid(), SIGTRAP, &info), 0);
	comes(1);
}

static void from_file(const sigset_t *all)
{
	static const struct { int sig, code; } sent[] = {
		{ SIGSEGV, SEGV_MAPERR }, { SIGSEGV, SI_KERNEL }, { SIGBUS, BUS_MCEERR_AR }
	};
	int fd = signalfd(-1, all, 0);
	struct signalfd_siginfo s;

	for (unsigned i = 0; i < 3; i++) {
		siginfo_t info = fault(sent[i].sig, sent[i].code);

		CHECK_EQ(queue(getpid(), sent[i].sig, &info), 0);
		CHECK_EQ(read(fd, &s, sizeof(s)), sizeof(s));
		CHECK_EQ(s.ssi_code, sent[i].code);
		CHECK_EQ(s.ssi_addr, i == 1 ? 0 : 0x123400005678);
		CHECK_EQ(s.ssi_pid, i == 1 ? 0x5678 : 0);
		CHECK_EQ(s.ssi_uid, i == 1 ? 0x1234 : 0);
		CHECK_EQ(s.ssi_addr_lsb, i == 2 ? 12 : 0);
	}
	close(fd);
}

static void traced(void)
{
	struct __ptrace_peeksiginfo_args args = { 0, PTRACE_PEEKSIGINFO_SHARED, 1 };
	siginfo_t info = fault(SIGSEGV, 2);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		CHECK_EQ(ptrace(PTRACE_TRACEME, 0, NULL, NULL), 0);
		queue(getpid(), SIGSEGV, &info);
		kill(getpid(), SIGSTOP);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status));
	info = fault(0, 0);
	CHECK_EQ(ptrace(PTRACE_PEEKSIGINFO, pid, &args, &info), 1);
	CHECK_EQ(info.si_signo, SIGSEGV);
	CHECK_EQ(info.si_code, 2);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
}

int main(void)
{
	sigset_t all;
	pthread_t t;

	main_tid = (pid_t)syscall(SYS_gettid);
	on_signal(SIGSEGV, comes_in, 0);
	on_signal(SIGTRAP, comes_in, 0);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, to_own_number, NULL);
	pthread_join(t, NULL);
	comes(2);
	places();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	from_file(&all);
	traced();
	return success();
}
