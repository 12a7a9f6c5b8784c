/* nanosleep, clock_nanosleep relative and absolute, usleep, clocks that go forward. */
#include "test.h"
#include <sys/time.h>
#include <sys/times.h>

int main(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
		CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE,
		CLOCK_BOOTTIME, CLOCK_TAI };
	struct timespec ts = { 0, 3000000 }, a, b;
	uint64_t t0 = now_ns();
	struct timeval tv;
	struct tms tms;

	CHECK_EQ(nanosleep(&ts, NULL), 0);
	CHECK(now_ns() - t0 >= 3000000);
	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	a.tv_nsec += 2000000;
	if (a.tv_nsec >= 1000000000) {
		a.tv_nsec -= 1000000000;
		a.tv_sec++;
	}
	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &a, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
	ts.tv_nsec = 1000000000;
	CHECK_ERR(nanosleep(&ts, NULL), EINVAL);
	CHECK_ERR(nanosleep((void *)8, NULL), EFAULT);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		CHECK_EQ(clock_gettime(clocks[i], &a), 0);
		CHECK_EQ(clock_gettime(clocks[i], &b), 0);
		CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
		CHECK_EQ(clock_getres(clocks[i], &a), 0);
		printf("%d %ld.%09ld\n", clocks[i], (long)b.tv_sec, b.tv_nsec);
	}
	CHECK_EQ(gettimeofday(&tv, NULL), 0);
	/* time(2) reads the clock of the last tick, which may be up to 10 ms behind gettimeofday. */
	CHECK(time(NULL) >= tv.tv_sec - (tv.tv_usec < 20000));
	CHECK(times(&tms) != (clock_t)-1);
	printf("%ld.%06ld\n", (long)tv.tv_sec, (long)tv.tv_usec);
	return success();
}
