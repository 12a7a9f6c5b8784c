/* A ring of processes and threads hands a number on through pipes and socket pairs: each sleeps until it is his turn. */
#include "test.h"
#include <pthread.h>
#include <sys/socket.h>
enum { RING = 5, TURNS = 400 };
static int in[RING + 1], out[RING + 1];
static long sum;
static void turn(int i)
{
	for (int k = 0; k < TURNS; k++) {
		uint64_t x[2] = { 0, 0 };
		CHECK_EQ(i % 2 ? recv(in[i], x, sizeof(x), 0) : read(in[i], x, sizeof(x)), (long)sizeof(x));
		CHECK_EQ(x[1], x[0] * 3);
		x[0] += (unsigned)i + 1;
		x[1] = x[0] * 3;
		sum += (long)x[0];
		CHECK_EQ(write(out[i], x, sizeof(x)), (long)sizeof(x));
	}
}
static void *thread(void *arg)
{
	turn((int)(long)arg);
	return NULL;
}
int main(void)
{
	pid_t pid[RING];
	pthread_t t;
	uint64_t x[2] = { 0, 0 };
	for (int i = 0; i <= RING; i++) {
		int p[2];
		if (i % 2)
			CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
		else
			CHECK_EQ(pipe(p), 0);
		in[i] = p[0];
		out[(i + RING) % (RING + 1)] = p[1];
	}
	for (int i = 0; i < RING - 1; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			turn(i);
			_exit((int)(sum % 200));
		}
	}
	CHECK_EQ(pthread_create(&t, NULL, thread, (void *)(long)(RING - 1)), 0);
	for (int k = 0; k < TURNS; k++) {
		CHECK_EQ(write(out[RING], x, sizeof(x)), (long)sizeof(x));
		CHECK_EQ(read(in[RING], x, sizeof(x)), (long)sizeof(x));
	}
	CHECK_EQ(pthread_join(t, NULL), 0);
	printf("%ld %ld\n", (long)x[0], sum);
	for (int i = 0; i < RING - 1; i++) {
		int st;
		CHECK_EQ(waitpid(pid[i], &st, 0), pid[i]);
		printf("%d: %d\n", i, WEXITSTATUS(st));
	}
	return success();
}
