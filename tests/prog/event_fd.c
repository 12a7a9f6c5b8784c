/* eventfd as counter and semaphore, blocking between threads, overflow. */
#include "test.h"
#include <sys/eventfd.h>

static int ev, back;

static void *adder(void *arg)
{
	uint64_t v;

	for (int i = 1; i <= 50; i++) {
		v = i;
		CHECK_EQ(write(ev, &v, 8), 8);
		CHECK_EQ(read(back, &v, 8), 8);
	}
	return arg;
}

int main(void)
{
	uint64_t v, sum = 0;
	pthread_t t;
	int sem = eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK);

	ev = eventfd(0, 0);
	back = eventfd(0, 0);
	CHECK_EQ(pthread_create(&t, NULL, adder, NULL), 0);
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(read(ev, &v, 8), 8);
		sum += v;
		v = 1;
		CHECK_EQ(write(back, &v, 8), 8);
	}
	CHECK_EQ(sum, 50 * 51 / 2);
	pthread_join(t, NULL);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(read(sem, &v, 8), 8);
		CHECK_EQ(v, 1);
	}
	CHECK_ERR(read(sem, &v, 8), EAGAIN);
	v = UINT64_MAX - 1;
	CHECK_EQ(write(sem, &v, 8), 8);
	v = 1;
	CHECK_ERR(write(sem, &v, 8), EAGAIN);
	CHECK_ERR(read(sem, &v, 4), EINVAL);
	return success();
}
