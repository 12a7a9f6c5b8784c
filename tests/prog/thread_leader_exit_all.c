/* Every thread including the leader ends by pthread_exit; status 0 only when the last has gone. */
#include "test.h"

static int gate[2];

static void *rest(void *arg)
{
	get1(gate[0]);
	if (arg)
		success();
	put1(gate[1]);
	return NULL;
}

int main(void)
{
	pthread_t t;
	pid_t pid;

	CHECK_EQ(pipe(gate), 0);
	pid = fork();
	if (!pid) {
		for (long i = 0; i < 4; i++)
			CHECK_EQ(pthread_create(&t, NULL, rest, NULL), 0);
		pthread_exit(NULL);
	}
	put1(gate[1]);
	wait_exit(pid, 0);
	CHECK_EQ(pthread_create(&t, NULL, rest, (void *)1), 0);
	pthread_exit(NULL);
}
