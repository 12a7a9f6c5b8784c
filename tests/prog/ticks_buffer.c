// test: timeout=120 variants=default,step,landmark,pmu
/*
 * Calls of the hook's between the points that a timer interrupts: where branches are counted, those in the hook count,
 * too, and replay must go the same way in it.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#define HITS 5
#define PERIOD_US 300000
#include "state.h"

static volatile uint64_t n;

static uint64_t probe(const ucontext_t *u) { return n; }

static void loop(void)
{
	int fd = open("/etc/passwd", O_RDONLY), pipes[2];
	char bytes[512];
	struct timespec ts;
	struct stat st;

	if (pipe(pipes) < 0)
		return;
	struct pollfd p[2] = { { pipes[0], POLLIN }, { fd, POLLIN } };
	while (hits < wanted) {
		n++;
		for (volatile int i = 0; i < 40 && hits < wanted; i++)
			n += i % 7 == 3;
		pread(fd, bytes, n % sizeof(bytes), n % 100);
		clock_gettime(CLOCK_MONOTONIC, &ts);
		fstat(fd, &st);
		__builtin_ia32_rdtsc();
		if (n % 5 == 0)
			poll(p, 2, 0);
		if (n % 7 == 0) {
			write(pipes[1], bytes, 1 + n % 9);
			read(pipes[0], bytes, sizeof(bytes));
		}
		if (n % 11 == 0)
			pread(fd, (char *)1, 5, 0);	/* EFAULT: by the traced way */
		if (n % 13 == 0) {
			void *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			*(volatile char *)m = (char)n;
			munmap(m, 8192);
		}
		n += (uint64_t)bytes[0] & 1;
	}
}

int main(void)
{
	state_probe = probe;
	run("loop", HITS, loop, false);
	return success();
}
