/* A sandbox without clock_gettime: the vdso's functions make no call that a filter could see; other clocks and calls by hand do. */
#include "test.h"
#include "seccomp_one.h"
#include <sys/time.h>

int main(void)
{
	struct timespec ts;
	struct timeval tv;

	for (int i = 0; i < 5; i++)
		CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	CHECK_EQ(seccomp_one(SYS_clock_gettime, SECCOMP_RET_ERRNO | 71, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_EQ(seccomp_one(SYS_gettimeofday, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_EQ(seccomp_one(SYS_time, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, 0), 0);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
		CHECK_EQ(clock_gettime(CLOCK_REALTIME, &ts), 0);
		CHECK_EQ(gettimeofday(&tv, NULL), 0);
		CHECK(time(NULL) > 1000000);
		if (i % 10 == 0) {
			CHECK_ERR(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 71);
			CHECK_ERR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts), 71);
		}
	}
	return success();
}
