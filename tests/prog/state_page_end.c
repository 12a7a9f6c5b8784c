/*
 * Two threads compute in a loop of the last four bytes of a page, where a jump to a test of ours
 * would reach into the next page.  That becomes executable only when the program has faulted there.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ROUNDS = 4, TURNS = 30000000 };
static __thread uint8_t *area;
static __thread unsigned faults;
static char result[2][64];

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	(void)sig, (void)uc;
	if ((uint8_t *)info->si_addr != area + PAGE ||
	    mprotect(area + PAGE, PAGE, PROT_READ | PROT_EXEC))
		abort();
	faults++;
}

static void *run(void *arg)
{
	/* mov %edi, %eax; 1: dec %eax; jne 1b; then mov %edi, %eax; ret in the next page */
	static const uint8_t code[] = { 0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0x89, 0xf8, 0xc3 };
	uint32_t sum = 0, (*f)(uint32_t);
	uint8_t *at;

	area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at = area + PAGE - 6;
	memcpy(at, code, sizeof(code));
	memcpy(&f, &at, sizeof(f));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		mprotect(area, PAGE, PROT_READ | PROT_EXEC);
		mprotect(area + PAGE, PAGE, i & 1 ? PROT_READ | PROT_WRITE : PROT_READ);
		sum = sum * 31 + f(TURNS + i);
	}
	snprintf(result[(uintptr_t)arg], sizeof(*result), "%x after %u faults", sum, faults);
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t t[2];

	sigaction(SIGSEGV, &sa, NULL);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%s\n%s\nEXIT-SUCCESS\n", result[0], result[1]);
	return 0;
}
