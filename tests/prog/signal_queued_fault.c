/*
 * Crash handlers raise a fault's signal again with the siginfo that they got: signals with the codes
 * of faults that no instruction has raised, to the thread, to the process, blocked, and while
 * another thread computes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned got[65], last_code, sum, others;
static volatile uintptr_t last_addr;
static char *page;
static volatile int again = 3;

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	got[sig]++;
	others += info->si_addr == (void *)0x55;
	last_code = (unsigned)info->si_code;
	last_addr = (uintptr_t)info->si_addr;
	if (sig == SIGSEGV && info->si_addr == (void *)page) {
		/* before the faulting instruction is carried out again */
		if (again-- > 0)
			syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), sig, info);
		else
			mprotect(page, 4096, PROT_READ | PROT_WRITE);
	}
}

static void compute(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + i;
}

static void *computes(void *arg)
{
	(void)arg;
	while (others < 10)
		compute(1000);
	return NULL;
}

static void queue(int sig, int code, uintptr_t addr, int to_thread)
{
	siginfo_t info;
	long r;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = code;
	info.si_addr = (void *)addr;
	r = to_thread ? syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), sig, &info)
		      : syscall(SYS_rt_sigqueueinfo, getpid(), sig, &info);
	if (r)
		abort();
}

/* Taken without a handler; beside instructions that the recorder has made trap. */
static void take(void)
{
	sigset_t set, old;
	struct signalfd_siginfo from;
	siginfo_t info;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, &old);
	queue(SIGSEGV, SI_KERNEL, 0, 0);
	__builtin_ia32_rdtsc();
	printf("taken %d", sigwaitinfo(&set, &info));
	printf(": %d %p\n", info.si_code, info.si_addr);
	queue(SIGSEGV, SI_KERNEL, 0, 1);
	fd = signalfd(-1, &set, 0);
	if (read(fd, &from, sizeof(from)) == sizeof(from))
		printf("read: %d %d %llx %d\n", from.ssi_signo, from.ssi_code, (unsigned long long)from.ssi_addr, from.ssi_int);
	queue(SIGSEGV, 2, 0x123456789abc, 1);
	queue(SIGSEGV, 1, 0x123456789abd, 0);
	for (int i = 0; i < 2; i++) {
		if (read(fd, &from, sizeof(from)) == sizeof(from))
			printf("read: %d %d %llx %d\n", from.ssi_signo, from.ssi_code, (unsigned long long)from.ssi_addr, from.ssi_int);
	}
	close(fd);
	queue(SIGSEGV, 2, 0x10, 1);
	queue(SIGSEGV, 1, 0x20, 0);
	__builtin_ia32_rdtsc();
	sigprocmask(SIG_SETMASK, &old, NULL);
	__builtin_ia32_rdtsc();
	info.si_code = 1;
	printf("to another process: %ld\n", syscall(SYS_rt_sigqueueinfo, getppid(), SIGSEGV, &info));
	printf("siginfo as it was: %d\n", info.si_code);
}

int main(void)
{
	static const int sigs[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigset_t all, none;
	pthread_t t;

	sigfillset(&all);
	sigemptyset(&none);
	for (unsigned i = 0; i < 5; i++)
		sigaction(sigs[i], &sa, NULL);
	for (unsigned i = 0; i < 5; i++) {
		for (int code = 1; code < 4; code++) {
			queue(sigs[i], code, 0x1000 * i + (unsigned)code, code & 1);
			printf("%d: %u %u %lx\n", sigs[i], got[sigs[i]], last_code, (long)last_addr);
		}
		queue(sigs[i], SI_KERNEL, 0, 1);
		sigprocmask(SIG_SETMASK, &all, NULL);
		queue(sigs[i], 2, 0x77, 1);
		queue(sigs[i], 2, 0x77, 1);
		compute(1000);
		printf("%d blocked: %u\n", sigs[i], got[sigs[i]]);
		sigprocmask(SIG_SETMASK, &none, NULL);
		printf("%d: %u %u %lx\n", sigs[i], got[sigs[i]], last_code, (long)last_addr);
	}
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(volatile char *)page = 1;
	printf("a fault that is raised again: %u\n", got[SIGSEGV]);
	take();
	printf("after both: %u\n", got[SIGSEGV]);
	/* threads: whoever has it not blocked */
	pthread_create(&t, NULL, computes, NULL);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 10; i++) {
		queue(sigs[i % 5], i < 5 ? 1 : SI_QUEUE, 0x55, 0);
		/* of a kind only one waits */
		while (others <= (unsigned)i && i >= 4)
			compute(1000);
		compute(1000000);
	}
	pthread_join(t, NULL);
	printf("by another thread: %u\n", others);
	printf("EXIT-SUCCESS\n");
	return 0;
}
