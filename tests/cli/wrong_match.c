/*
 * wrong_match.c - a computation whose passes differ in memory only that a recorder does not look
 * at: replay takes an earlier pass for the point, and finds out by what another thread sees.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BYTES = 96 << 20, ROUNDS = 20 };
static unsigned long *volatile counter;

static void *look(void *arg)
{
	struct timespec t = { 0, 6000000 };

	for (int i = 0; i < 1; i++) {
		nanosleep(&t, NULL);
		printf("%lu\n", *counter);
		fflush(stdout);
	}
	return arg;
}

int main(void)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t;

	if (p == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < BYTES; i += 4096)
		p[i] = (char)(i >> 12);
	counter = (unsigned long *)(void *)(p + BYTES / 2 + 64);
	puts("begins");
	fflush(stdout);
	if (pthread_create(&t, NULL, look, NULL))
		return 1;
	for (;*counter < ROUNDS;) {
		__asm__ volatile("mov %0, %%rax\n\tincq (%%rax)\n\txor %%eax, %%eax\n\t"
				 "mov $4000000, %%ecx\n1:\tdec %%ecx\n\tjnz 1b"
				 : : "m"(counter) : "rax", "rcx", "memory", "cc");
	}
	pthread_join(t, NULL);
	return 0;
}
