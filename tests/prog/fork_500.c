// test: timeout=60
/* 500 children, alive together in groups of 50, each with a result to tell. */
#include "test.h"

int main(void)
{
	long sum = 0;

	for (int round = 0; round < 10; round++) {
		pid_t pids[50];
		int p[2];

		CHECK_EQ(pipe(p), 0);
		for (int i = 0; i < 50; i++) {
			pids[i] = fork();
			CHECK(pids[i] >= 0);
			if (!pids[i]) {
				int v = round * 50 + i;

				CHECK_EQ(write(p[1], &v, sizeof(v)), sizeof(v));
				_exit(i);
			}
		}
		for (int i = 0; i < 50; i++) {
			int v;

			CHECK_EQ(read(p[0], &v, sizeof(v)), sizeof(v));
			sum += v;
		}
		for (int i = 49; i >= 0; i--)
			wait_exit(pids[i], i);
		close(p[0]);
		close(p[1]);
	}
	CHECK_EQ(sum, 499 * 500 / 2);
	return success();
}
