/* timerfd: one-shot, periodic, absolute, non-blocking, with poll. */
#include "test.h"
#include <poll.h>
#include <sys/timerfd.h>

int main(void)
{
	struct itimerspec it = { .it_value = { 0, 2000000 } }, cur;
	struct pollfd p = { .events = POLLIN };
	uint64_t n;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(timerfd_settime(fd, 0, &it, NULL), 0);
	CHECK_EQ(read(fd, &n, 8), 8);
	CHECK_EQ(n, 1);
	it.it_interval.tv_nsec = 1000000;
	CHECK_EQ(timerfd_settime(fd, 0, &it, &cur), 0);
	for (uint64_t sum = 0; sum < 5; sum += n)
		CHECK_EQ(read(fd, &n, 8), 8);
	CHECK_EQ(timerfd_gettime(fd, &cur), 0);
	CHECK_EQ(cur.it_interval.tv_nsec, 1000000);
	memset(&it, 0, sizeof(it));
	CHECK_EQ(timerfd_settime(fd, 0, &it, NULL), 0);
	CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	CHECK_ERR(read(fd, &n, 8), EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &it.it_value);
	CHECK_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME, &it, NULL), 0);
	p.fd = fd;
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(read(fd, &n, 8), 8);
	return success();
}
