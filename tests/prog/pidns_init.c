// test: timeout=60
/* Process 1 of a pid namespace dies of its own faults, and of no signal's default action. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready[2], hold[2];

static void fault_read(void) { *(volatile int *)8 = 1; }
static void fault_call(void) { void (*fn)(void) = (void (*)(void))16; fn(); }
static void fault_int3(void) { __asm__ volatile("int3"); }
static void fault_cd03(void) { __asm__ volatile(".byte 0xcd, 3"); }
static void fault_ud2(void) { __asm__ volatile("ud2"); }
static void fault_zero(void) { volatile int zero = 0, many = 100; many = many / zero; }
static void fault_hlt(void) { __asm__ volatile("hlt"); }
static void fault_abort(void) { abort(); }
static void fault_bus(void)
{
	FILE *f = tmpfile();
	char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(f), 0);

	(void)*(volatile char *)p;
}
static void fault_blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	fault_read();
}
static void fault_ignored(void) { signal(SIGSEGV, SIG_IGN); fault_read(); }

static void *thread(void *arg) { fault_read(); return arg; }
static void fault_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	_exit(1);
}

static volatile int got;
static void handler(int sig) { got = sig; }

/* Ignored: it exits. */
static void sent(void)
{
	for (int sig = 1; sig < 32; sig++) {
		if (sig != SIGKILL && sig != SIGSTOP)
			kill(getpid(), sig);
	}
	signal(SIGUSR1, handler);
	kill(getpid(), SIGUSR1);
	_exit(got == SIGUSR1 ? 7 : 8);
}

static void sent_outside(void)
{
	char byte = 0;

	if (write(ready[1], &byte, 1) != 1 || read(hold[0], &byte, 1) != 1)
		_exit(1);
	_exit(9);
}

static const struct { const char *name; void (*fn)(void); int sig, code; } shapes[] = {
	{ "read", fault_read, SIGSEGV, 0 }, { "call", fault_call, SIGSEGV, 0 }, { "int3", fault_int3, SIGTRAP, 0 },
	{ "cd03", fault_cd03, SIGTRAP, 0 }, { "ud2", fault_ud2, SIGILL, 0 }, { "zero", fault_zero, SIGFPE, 0 },
	{ "hlt", fault_hlt, SIGSEGV, 0 }, { "abort", fault_abort, SIGSEGV, 0 }, { "bus", fault_bus, SIGBUS, 0 },
	{ "blocked", fault_blocked, SIGSEGV, 0 }, { "ignored", fault_ignored, SIGSEGV, 0 }, { "thread", fault_thread, SIGSEGV, 0 },
	{ "sent", sent, 0, 7 }, { "outside", sent_outside, 0, 9 },
};

static void run(unsigned i)
{
	int status, p[2];
	char byte;
	pid_t pid;

	if (pipe(p) || pipe(ready) || pipe(hold))
		exit(1);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(0);
		if (getpid() != 1)
			_exit(77);
		if (fork() == 0) {	/* dies with it */
			close(p[0]);
			for (;;)
				pause();
		}
		shapes[i].fn();
		_exit(0);
	}
	close(p[1]);
	if (shapes[i].fn == sent_outside) {
		if (read(ready[0], &byte, 1) != 1)
			exit(1);
		kill(pid, SIGTERM);
		kill(pid, SIGSEGV);
		if (write(hold[1], &byte, 1) != 1)
			exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || read(p[0], &byte, 1) != 0) {
		printf("%s: %s\n", shapes[i].name, strerror(errno));
		exit(1);
	}
	printf("%s: signal %d, code %d\n", shapes[i].name, WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	if ((WIFSIGNALED(status) ? WTERMSIG(status) : 0) != shapes[i].sig || (WIFEXITED(status) ? WEXITSTATUS(status) : 0) != shapes[i].code)
		exit(2);
	close(p[0]);
}

/* A process has children in one new namespace only, and there is one first process in it. */
static void run_apart(unsigned i)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID)) {
			printf("no pid namespaces: %s\n", strerror(errno));
			exit(77);
		}
		run(i);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		run_apart(i);
	puts("EXIT-SUCCESS");
	return 0;
}
