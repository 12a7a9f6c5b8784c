/*
 * A thread faults all the time, and its time slices end where a fault has been taken and its signal
 * not been given yet; the other thread changes meanwhile what the page allows.
 */

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

static volatile char *page;
static volatile unsigned faults, reads, over;

static void skip(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)info;
	faults++;
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] += 6;
}

static void *toggle(void *arg)
{
	(void)arg;
	while (!over) {
		mprotect((void *)page, 4096, PROT_READ);
		mprotect((void *)page, 4096, PROT_NONE);
	}
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };
	struct timespec from, now;
	pthread_t t;

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &sa, NULL);
	pthread_create(&t, NULL, toggle, NULL);
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		for (int i = 0; i < 1000; i++) {
			uint64_t v;

			/* mov eax, [rax + 0], in six bytes */
			__asm__ volatile (".byte 0x8b,0x80,0,0,0,0" : "=a" (v) : "a" (page) : "memory");
			reads++;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 700);
	over = 1;
	pthread_join(t, NULL);
	printf("%u faults of %u\n", faults, reads);
	return 0;
}
