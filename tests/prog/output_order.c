/* A lot of output, to stdout and stderr, from several processes and threads; and no newline at an end. */
#include "test.h"

static void *thread(void *arg)
{
	for (int i = 0; i < 50; i++) {
		char line[200];
		int n = snprintf(line, sizeof(line), "thread %ld line %d %0*d\n", (long)arg, i, i + 1, i);

		CHECK_EQ(write(1, line, n), n);
	}
	return NULL;
}

int main(void)
{
	char *big = malloc(200000);
	pthread_t t[4];
	pid_t pid;

	memset(big, 'b', 200000);
	for (int i = 999; i < 200000; i += 1000)
		big[i] = '\n';
	CHECK_EQ(write(1, big, 200000), 200000);
	for (long i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, thread, (void *)i), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			fprintf(stderr, "child %d", i);
			printf("child %d out\n", i);
			fflush(stdout);
			_exit(0);
		}
		wait_exit(pid, 0);
	}
	CHECK_EQ(write(1, "binary \0\1\2\377\n", 12), 12);
	fputs("\nlast line\n", stderr);
	return success();
}
