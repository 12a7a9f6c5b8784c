/*
 * call.c - call KIND N: N system calls of one kind and nothing else; or N times rdtsc.
 *
 * By syscall(), because a C library may answer from its own memory or from the vdso.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0, sum = 0;
	const char *kind = argc > 1 ? argv[1] : "getppid";
	struct timespec ts;
	char buf[4096];
	int fd = open("/dev/zero", O_RDWR);

	if (fd < 0)
		return 1;
	for (long i = 0; i < n; i++) {
		if (!strcmp(kind, "getppid"))
			sum += syscall(SYS_getppid);
		else if (!strcmp(kind, "read"))
			sum += syscall(SYS_read, fd, buf, 64);
		else if (!strcmp(kind, "read4k"))
			sum += syscall(SYS_read, fd, buf, 4096);
		else if (!strcmp(kind, "write"))
			sum += syscall(SYS_write, fd, buf, 64);
		else if (!strcmp(kind, "libc-clock"))
			sum += clock_gettime(CLOCK_MONOTONIC, &ts);
		else if (!strcmp(kind, "alarm"))
			sum += syscall(SYS_alarm, 0);
		else if (!strcmp(kind, "rdtsc"))
			sum += (long)__rdtsc() == -1;
		else if (!strcmp(kind, "clock"))
			sum += syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
		else
			return 2;
	}
	return sum == -1;
}
