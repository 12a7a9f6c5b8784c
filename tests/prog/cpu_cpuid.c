/* cpuid: all leaves, the same each time and in every thread; flags agree with what works. */
#include "test.h"
#include <cpuid.h>
#include <sys/prctl.h>

static uint32_t first[0x20][4];

static void leaves(uint32_t out[0x20][4])
{
	for (uint32_t i = 0; i < 0x20; i++)
		__cpuid_count(i, 0, out[i][0], out[i][1], out[i][2], out[i][3]);
	/* What may differ from time to time and CPU to CPU: the APIC id. */
	out[1][1] &= 0xffffff;
	memset(out[0xb], 0, 16);
	memset(out[0x1f], 0, 16);
	memset(out[0xd], 0, 16);
	memset(out[0x19], 0, 16);
}

static void *thread(void *arg)
{
	uint32_t mine[0x20][4];

	leaves(mine);
	CHECK(!memcmp(first, mine, sizeof(mine)));
	return arg;
}

int main(void)
{
	uint32_t a, b, c, d;
	char vendor[13] = "";
	pthread_t t;
	sigset_t all;

	leaves(first);
	memcpy(vendor, &first[0][1], 4);
	memcpy(vendor + 4, &first[0][3], 4);
	memcpy(vendor + 8, &first[0][2], 4);
	printf("%s, up to %u\n", vendor, first[0][0]);
	for (uint32_t i = 0x80000000; i < 0x80000009; i++) {
		__cpuid(i, a, b, c, d);
		printf("%x: %x %x %x %x\n", i, a, b, c, d);
	}
	fflush(stdout);
	CHECK(first[1][3] & bit_SSE2);
	CHECK(__builtin_cpu_supports("sse2"));
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
		pthread_join(t, NULL);
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	thread(NULL);
	signal(SIGSEGV, SIG_IGN);
	thread(NULL);
	pid_t pid = fork();

	if (!pid) {
		thread(NULL);
		_exit(0);
	}
	wait_exit(pid, 0);
	/* An xgetbv that agrees with cpuid. */
	if (first[1][2] & bit_OSXSAVE) {
		asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
		CHECK_EQ(a & 3, 3);
	}
	return success();
}
