/*
 * outer_filter NR=ACTION... -- COMMAND...   runs COMMAND under a filter that answers call NR (also -1) with ACTION (hex)
 * outer_filter calls [ring]                   makes calls that such filters are about, again and again, and says what became of them
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int hits, good, data, nr;

static void on_sys(int sig, siginfo_t *si, void *ctx)
{
	greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;

	(void)sig;
	hits++;
	nr = si->si_syscall;
	data = si->si_errno;
	good += (greg_t)si->si_call_addr == g[REG_RIP] && g[REG_RAX] == nr;
	g[REG_RAX] = -EXDEV;
}

static void try(const char *name, long number)
{
	long ret = 0;
	int e = 0;

	hits = good = data = nr = 0;
	for (int i = 0; i < 8; i++) {
		errno = 0;
		ret = syscall(number, 0, 0, 0, 0, 0, 0);
		e = errno;
	}
	printf("%s: %s errno %d, hits %d good %d data %d nr %d\n", name, ret < 0 ? "-1" : "fine", e, hits, good, data, nr);
}

static void *thread(void *arg)
{
	for (int i = 0; i < 50; i++)
		sched_yield();
	try("getppid in a thread", SYS_getppid);
	return arg;
}

static int calls(bool ring)
{
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	int status, p[2], fd = open("/dev/zero", O_RDONLY);
	char b[64];
	pthread_t t;
	sigset_t all, now;
	pid_t pid;

	sigaction(SIGSYS, &sa, NULL);
	try("getppid", SYS_getppid);
	try("getpgid", SYS_getpgid);
	try("getsid", SYS_getsid);
	try("sched_setaffinity", SYS_sched_setaffinity);
	if (ring)
		try("io_uring_setup", SYS_io_uring_setup);
	try("getuid", SYS_getuid);
	try("times", SYS_times);
	for (int i = 0; i < 100; i++)
		if (read(fd, b, 8) != 8)
			printf("read failed\n");
	/* all signals blocked when a call is made that is not buffered */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (pipe(p) || pipe2(p, O_CLOEXEC))
		printf("no pipe\n");
	munmap(mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 4096);
	sigprocmask(SIG_SETMASK, NULL, &now);
	printf("blocked: %d %d %d\n", sigismember(&now, SIGSYS), sigismember(&now, SIGUSR1), sigismember(&now, SIGTERM));
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	pid = fork();
	if (!pid)
		_exit(write(p[1], "child", 5));
	waitpid(pid, &status, 0);
	printf("child %d, read %d\n", status, (int)read(p[0], b, sizeof(b)));
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	signal(SIGSYS, SIG_IGN);
	munmap(mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 4096);
	sigaction(SIGSYS, NULL, &sa);
	printf("ignored: %d\n", sa.sa_handler == SIG_IGN);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl("/bin/echo", "echo", "executed", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("mode %d, end %d\n", prctl(PR_GET_SECCOMP), status);
	return 0;
}

int main(int argc, char **argv)
{
	struct sock_filter f[200] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog prog = { .filter = f };
	int n = 1, i;

	if (argc > 1 && !strcmp(argv[1], "calls"))
		return calls(argc > 2);
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		char *is = strchr(argv[i], '=');

		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(argv[i]), 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (unsigned)strtoul(is + 1, NULL, 16));
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 2;
	execvp(argv[i + 1], argv + i + 1);
	return 127;
}
