/*
 * profile_hook.c - computes nothing between instructions and calls that the recorder stands in for: cpuid, rdtsc, system calls.
 */
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

__attribute__((noinline)) static unsigned asks_cpuid(long n)
{
	unsigned a, b, c, d, sum = 0;

	while (n--) {
		__cpuid_count(4, 3, a, b, c, d);
		sum += a + b + c + d;
	}
	return sum;
}

__attribute__((noinline)) static unsigned long long asks_clock(long n)
{
	unsigned long long sum = 0;

	while (n--)
		sum += __rdtsc();
	return sum;
}

__attribute__((noinline)) static long asks_kernel(long n)
{
	long sum = 0;

	while (n--)
		sum += getppid();
	return sum;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (argc > 1 && !strcmp(argv[1], "cpuid"))
		return asks_cpuid(n) == 1;
	if (argc > 1 && !strcmp(argv[1], "rdtsc"))
		return asks_clock(n) == 1;
	return asks_kernel(n) == 1;
}
