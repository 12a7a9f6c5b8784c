/*
 * Two threads write code across a page's end, run it, and write it again: pages become executable one after the other, some when the
 * first instruction in them is fetched.  A slice that ends in front of an instruction that cannot be fetched whole ends at no point.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 4, ROUNDS = 300, STEPS = 2500 };
static __thread uint8_t *area;
static __thread unsigned faults;
static char result[2][32];

/* It is not executable yet: as a JIT compiler would that closes its pages. */
static void on_fault(int sig, siginfo_t *info, void *uc)
{
	uint8_t *page = (uint8_t *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));

	(void)uc;
	if (page < area || page >= area + PAGES * PAGE || mprotect(page, PAGE, PROT_READ | PROT_EXEC))
		abort();
	faults += (unsigned)sig == SIGSEGV;
}

static uint8_t *put(uint8_t *p, const char *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* mov %edi,%eax; then STEPS of add $imm32,%eax and rol $n,%eax; with a loop of three turns around; ret */
static uint8_t *emit(uint8_t *at, uint32_t seed)
{
	uint8_t *p = put(at, "\x89\xf8\xb9\x03\x00\x00\x00", 7), *loop = p;
	int32_t back;

	for (int i = 0; i < STEPS / 2; i++) {
		uint32_t imm = seed = seed * 1103515245 + 12345;

		p = put(p, "\x05", 1);
		p = put(p, (char *)&imm, 4);
		p = put(p, i & 1 ? "\xc1\xc0\x05" : "\x31\xc8\x90", 3);
	}
	p = put(p, "\xff\xc9\x0f\x85", 4);
	back = (int32_t)(loop - (p + 4));
	p = put(p, (char *)&back, 4);
	return put(p, "\xc3", 1);
}

static void *run(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg, sum = 0;

	area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < ROUNDS; i++) {
		/* where instructions lie across the end differs each time */
		uint8_t *at = area + i % 13;
		uint32_t (*f)(uint32_t);

		emit(at, seed + (uint32_t)i);
		if (i & 1)
			mprotect(area, PAGE, PROT_READ | PROT_EXEC);
		memcpy(&f, &at, sizeof(f));
		for (int k = 0; k < 3; k++)
			sum = sum * 31 + f(sum);
		mprotect(area, PAGES * PAGE, PROT_READ | PROT_WRITE);
	}
	snprintf(result[(uintptr_t)arg - 1], sizeof(*result), "%x %u", sum, faults);
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t t[2];

	sigaction(SIGSEGV, &sa, NULL);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%s\n%s\n", result[0], result[1]);
	return 0;
}
