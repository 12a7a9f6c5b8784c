/* The calls of the vsyscall page, as old static programs make them. */
#include "test.h"
#include <setjmp.h>
#include <sys/time.h>

static void *others(void *arg)
{
	long (*time_call)(time_t *) = (void *)0xffffffffff600400ul;

	for (int i = 0; i < 20; i++) {
		CHECK(time_call(NULL) > 1000000000);
		usleep(100);
	}
	return arg;
}

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static void bad_pointers(void)
{
	long (*time_call)(long) = (void *)0xffffffffff600400ul;
	void (*nowhere)(void) = (void *)0xffffffffff600010ul;

	signal(SIGSEGV, on_fault);
	for (volatile int i = 0; i < 5; i++) {
		if (!sigsetjmp(back, 1)) {
			if (i & 1)
				nowhere();
			time_call(16);
			CHECK(false);
		}
		printf("fault %d\n", i);
	}
}

int main(void)
{
	long (*day)(struct timeval *, void *) = (void *)0xffffffffff600000ul;
	long (*time_call)(time_t *) = (void *)0xffffffffff600400ul;
	long (*cpu_call)(unsigned *, unsigned *, void *) = (void *)0xffffffffff600800ul;
	char line[256];
	bool there = false;
	pthread_t thread;
	FILE *f = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), f))
		there |= strstr(line, "[vsyscall]") != NULL;
	fclose(f);
	if (!there)
		skip("this kernel has no vsyscall page");
	CHECK_EQ(pthread_create(&thread, NULL, others, NULL), 0);
	for (int i = 0; i < 20; i++) {
		struct timeval tv = { 0 };
		struct timezone tz = { 77, 77 };
		time_t t = 0;
		unsigned cpu = 999, node = 999;

		CHECK_EQ(time_call(&t), t);
		CHECK(t > 1000000000);
		CHECK_EQ(day(&tv, &tz), 0);
		CHECK(tv.tv_sec >= t && tz.tz_minuteswest != 77);
		CHECK_EQ(day(NULL, NULL), 0);
		CHECK_EQ(cpu_call(&cpu, &node, NULL), 0);
		CHECK(cpu != 999 && node != 999);
		printf("%ld %ld.%06ld %u\n", (long)t, (long)tv.tv_sec, (long)tv.tv_usec, cpu);
	}
	pthread_join(thread, NULL);
	bad_pointers();
	return success();
}
