// test: timeout=40
/*
 * Threads that wait in loops with `pause' for one another: loops as compilers make them, one that
 * begins behind its pause, signals and forks in the middle of waiting, a spinlock of the library's.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SIGNALS
#define SIGNALS 1
#endif

enum { THREADS = 4, ROUNDS = 60 };

static atomic_uint arrived, generation;
static atomic_ulong turns[THREADS], handled;
static pthread_spinlock_t lock;
static unsigned long shared;

/* pause is where the loop begins */
__attribute__((noinline)) static unsigned long wait_for(atomic_uint *at, unsigned before)
{
	unsigned long n = 0;

	while (atomic_load_explicit(at, memory_order_acquire) == before) {
		__builtin_ia32_pause();
		n++;
	}
	return n;
}

/* It begins behind the pause, and what it counts is in registers of the other half, too. */
__attribute__((noinline)) static unsigned long wait_behind(atomic_uint *at, unsigned before)
{
	unsigned long n = 0, rcx = 0x1234567;

	__asm__ volatile("jmp 2f\n"
			 "1:	pause\n"
			 "2:	incq	%0\n"
			 "	leaq	1(%1), %1\n"
			 "	movl	(%2), %%eax\n"
			 "	cmpl	%3, %%eax\n"
			 "	je	1b\n"
			 : "+r"(n), "+c"(rcx)
			 : "r"(at), "r"(before)
			 : "eax", "memory", "cc");
	if (rcx - 0x1234567 != n) {
		printf("rcx is lost: %#lx after %lu turns\n", rcx, n);
		_exit(1);
	}
	return n;
}

/* Nothing but flags tells that it is over: the stub must leave them alone. */
__attribute__((noinline)) static unsigned long wait_carry(atomic_uint *at, unsigned before)
{
	unsigned long n = 0, bad = 0;

	__asm__ volatile("1:	movl	(%2), %%eax\n"
			 "	cmpl	%3, %%eax\n"
			 "	jne	2f\n"
			 "	incq	%0\n"
			 "	stc\n"
			 "	pause\n"
			 "	nopl	(%%rax)\n"
			 "	jc	1b\n"
			 "	incq	%1\n"
			 "	jmp	1b\n"
			 "2:\n"
			 : "+r"(n), "+r"(bad)
			 : "r"(at), "r"(before)
			 : "eax", "memory", "cc");
	if (bad) {
		puts("the carry is lost");
		_exit(1);
	}
	return n;
}

static void barrier(long who, unsigned round)
{
	unsigned before = atomic_load(&generation);
	unsigned long n;

	if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
		atomic_store(&arrived, 0);
		atomic_fetch_add(&generation, 1);
		return;
	}
	n = round % 3 == 0   ? wait_for(&generation, before)
	    : round % 3 == 1 ? wait_behind(&generation, before)
			     : wait_carry(&generation, before);
	atomic_fetch_add(&turns[who], n);
}

static void *worker(void *arg)
{
	long who = (long)arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_spin_lock(&lock);
		for (int k = 0; k < 500; k++)
			shared += (unsigned long)k;
		pthread_spin_unlock(&lock);
		barrier(who, i);
		if (who == 0 && i % 20 == 10) {
			pid_t pid = fork();

			if (!pid)
				_exit(7);
			int status;
			if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
				puts("the child is lost");
		}
	}
	return NULL;
}

static void on_alarm(int sig)
{
	(void)sig;
	atomic_fetch_add(&handled, 1);
}

int main(void)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, never = { 0 };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	unsigned long all = 0;
	pthread_t t[THREADS];

	pthread_spin_init(&lock, 0);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, SIGNALS ? &every : &never, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (long i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	for (long i = 0; i < THREADS; i++)
		all += turns[i];
	printf("%lu %s\n", shared, generation == ROUNDS ? "all came" : "somebody is missing");
	fprintf(stderr, "%lu turns, %lu signals\n", all, (unsigned long)handled);
	puts("EXIT-SUCCESS");
	return 0;
}
