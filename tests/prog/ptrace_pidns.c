// test: compare=plain
/* Tracing inside pid and user namespaces: numbers are those of the tracer's, in requests, waits, events, signals; and /proc/PID/mem,
 * process_vm_writev() and sched_setaffinity() by such numbers. */
#include "ptrace.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

static char text[64] = "before";
static siginfo_t first;		/* SIGCHLD */

static void on_sigchld(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (!first.si_signo)
		first = *info;
}

static void tracee(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGUSR1);
	pid_t pid = fork();

	if (!pid)
		_exit(1);
	waitpid(pid, NULL, 0);
	_exit(strcmp(text, "AFTER!") ? 8 : 7);
}

static void change_memory(pid_t pid)
{
	struct iovec local = { "AFT", 3 }, remote = { text, 3 };
	cpu_set_t cpus;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR);
	if (fd >= 0 && pread(fd, path, 6, (off_t)(uintptr_t)text) == 6)
		printf("%.6s\n", path);
	printf("%zd ", pwrite(fd, "ER!", 3, (off_t)(uintptr_t)text + 3));
	printf("%zd ", process_vm_writev(pid, &local, 1, &remote, 1, 0));
	sched_getaffinity(pid, sizeof(cpus), &cpus);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	printf("%d\n", sched_setaffinity(pid, sizeof(cpus), &cpus));
	close(fd);
}

static int init(void)
{
	struct sigaction action = { .sa_sigaction = on_sigchld, .sa_flags = SA_SIGINFO };
	unsigned long message;
	siginfo_t info = { 0 };
	pid_t pid, p = 0;
	int status;

	CHECK_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	CHECK_EQ(mount("proc", "/proc", "proc", 0, NULL), 0);
	sigaction(SIGCHLD, &action, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("init is %d of %d\n", getpid(), getppid());
	pid = fork();
	if (!pid)
		tracee();
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	printf("child %d: 0x%x\n", pid, status);
	printf("code %d of %d, uid %u\n", first.si_code, first.si_pid, first.si_uid);
	ptrace(PTRACE_GETSIGINFO, pid, 0, &info);
	printf("signal %d from %d, uid %u\n", info.si_signo, info.si_pid, info.si_uid);
	change_memory(pid);
	printf("%ld\n", ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEFORK));
	for (ptrace(PTRACE_CONT, pid, 0, 0);; ptrace(PTRACE_CONT, p, 0, 0)) {
		siginfo_t w = { 0 };

		if (waitid(P_ALL, 0, &w, WEXITED | WSTOPPED | __WALL | WNOWAIT) < 0 && errno == EINTR)
			continue;
		p = w.si_pid;
		if (waitpid(p, &status, __WALL) < 0)
			break;
		if (p != pid)
			continue;
		printf("%d 0x%x", p, status);
		if (WIFSTOPPED(status) && status >> 16 && !ptrace(PTRACE_GETEVENTMSG, p, 0, &message))
			printf(" message %lu", message);
		printf("\n");
		if (!WIFSTOPPED(status))
			break;
	}
	printf("%ld\n", ptrace(PTRACE_ATTACH, 1, 0, 0));
	printf("%ld %d\n", ptrace(PTRACE_ATTACH, 4000000, 0, 0), errno);
	return 5;
}

int main(void)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) < 0)
		skip("no namespaces here");
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(init());
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 5 << 8);
	return success();
}
