// test: libs=-lpthread
/*
 * Threads that turn round with a register pointing to the last bytes of their stacks, in a process with more memory than is compared
 * at each point.  The recorder looks at what registers point to.  Stacks are right below whatever else is mapped, which may be the
 * recorder's own memory: nothing of that is there in a replay.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY = 64 << 20, STACK = 64 << 10, PAGE = 4096, AROUND = 1 << 20, THREADS = 6, MS = 30 };

static volatile int stop;

static void *turn(void *top)
{
	unsigned long n = 0;

	while (!stop)
		__asm__ volatile("mov $20000, %%rcx\n1: add (%%rdi), %0\n\tdec %%rcx\n\tjnz 1b"
				 : "+r"(n) : "D"((char *)top - 16) : "rcx", "cc", "memory");
	return (void *)(n & 0);
}

static int ends[2];

static void *wait_for_end(void *unused)
{
	char c;

	return read(ends[0], &c, 1) ? NULL : unused;
}

static char *map(char *at, size_t len)
{
	char *got = mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	return got == MAP_FAILED ? NULL : got;
}

/* A stack below what is mapped lowest under `from' and is not ours. */
static char *new_stack(char *from)
{
	char *edge = NULL, *stack;
	int taken = 0;

	for (char *at = from; at > from - AROUND; at -= PAGE) {
		char *got = map(at - PAGE, PAGE);

		if (got && taken)
			edge = at;
		taken = !got;
		if (got)
			munmap(got, PAGE);
	}
	stack = edge ? map(edge - STACK, STACK) : NULL;
	return stack ? stack : map(NULL, STACK);
}

int main(void)
{
	struct pollfd never;
	char *memory = malloc(MEMORY), *stack[THREADS];
	pthread_t id[THREADS], waits;

	memset(memory, 1, MEMORY);
	if (pipe(ends))
		return 1;
	never = (struct pollfd){ ends[0], POLLIN, 0 };
	stack[0] = map(NULL, STACK);
	if (pthread_create(&waits, NULL, wait_for_end, NULL))
		return 1;
	poll(&never, 1, MS);
	for (int i = 1; i < THREADS; i++)
		stack[i] = new_stack(stack[0]);
	for (int i = 0; i < THREADS; i++) {
		pthread_attr_t attr;

		pthread_attr_init(&attr);
		if (!stack[i] || pthread_attr_setstack(&attr, stack[i], STACK) ||
		    pthread_create(&id[i], &attr, turn, stack[i] + STACK))
			return 1;
		poll(&never, 1, MS);
	}
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	if (write(ends[1], "", 1) != 1 || pthread_join(waits, NULL))
		return 1;
	printf("%d threads\nEXIT-SUCCESS\n", THREADS);
	free(memory);
	return 0;
}
