// test: timeout=30
/* A thread sleeps in read while others write all around its buffer: the kernel must not race them. */
#include "test.h"

enum { N = 4096 };

static char buf[N * 3] __attribute__((aligned(4096)));
static int p[2], done;

static void *reader(void *arg)
{
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(read(p[0], buf + N, 100), 100);
		CHECK(filled(buf + N, 100, i));
		__atomic_store_n(&done, i + 1, __ATOMIC_SEQ_CST);
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	char data[100];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pthread_create(&t, NULL, reader, NULL), 0);
	for (int i = 0; i < 50; i++) {
		/* Into its buffer as well, while it surely is not looking. */
		memset(buf, i, N + 200);
		memset(buf + N + 200, i, N);
		sched_yield();
		fill(data, sizeof(data), i);
		CHECK_EQ(write(p[1], data, 100), 100);
		while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) <= i)
			sched_yield();
		CHECK_EQ(buf[0], i);
		CHECK_EQ(buf[N + 150], i);
	}
	pthread_join(t, NULL);
	return success();
}
