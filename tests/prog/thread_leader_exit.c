// test: exit=5
/* The leader ends first; the process lives on and exits with the last thread's choice. */
#include "test.h"

static void *rest(void *arg)
{
	char path[64], buf[512];
	ssize_t n;
	int fd;

	until_state(getpid(), 'Z');
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", gettid_());
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	n = read(fd, buf, sizeof(buf));
	CHECK(n > 0);
	printf("the leader is gone, we go on\n");
	fflush(stdout);
	exit(5);
	return arg;
}

int main(void)
{
	pthread_t t;

	CHECK_EQ(pthread_create(&t, NULL, rest, NULL), 0);
	pthread_exit(NULL);
}
