/* A table of descriptors shared by two processes (CLONE_FILES without CLONE_VM). */
#include "test.h"
#include <sched.h>
static char stack[65536] __attribute__((aligned(16)));
static int go[2], done[2], file, zero;
static int child(void *arg)
{
	int p[2];
	for (int i = 0; i < 5; i++) {
		char c;
		CHECK_EQ(read(go[0], &c, 1), 1);
		CHECK_EQ(pipe(p), 0);
		CHECK_EQ(dup2(p[0], file), file);	/* was a file, is a pipe */
		close(p[0]);
		CHECK_EQ(write(done[1], "x", 1), 1);
		usleep(3000);
		CHECK_EQ(write(p[1], "late", 4), 4);
		close(p[1]);
		CHECK_EQ(read(go[0], &c, 1), 1);
		CHECK_EQ(dup2(1, file), file);	/* now our stdout */
		CHECK_EQ(write(done[1], "x", 1), 1);
		CHECK_EQ(read(go[0], &c, 1), 1);
		CHECK_EQ(dup2(zero, file), file);
		CHECK_EQ(write(done[1], "x", 1), 1);
	}
	return 0;
}
int main(void)
{
	char b[8];
	setvbuf(stdout, NULL, _IONBF, 0);
	CHECK_EQ(pipe(go), 0); CHECK_EQ(pipe(done), 0);
	file = open("/dev/zero", O_RDWR); zero = dup(file);
	pid_t pid = clone(child, stack + sizeof(stack), CLONE_FILES | SIGCHLD, NULL);
	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 4; k++) { CHECK_EQ(read(file, b, 8), 8); CHECK_EQ(b[0], 0); CHECK_EQ(write(file, "zz", 2), 2); }
		put1(go[1]); get1(done[0]);
		CHECK_EQ(read(file, b, 8), 4);
		CHECK(!memcmp(b, "late", 4));
		put1(go[1]); get1(done[0]);
		CHECK_EQ(write(file, "out\n", 4), 4);
		put1(go[1]); get1(done[0]);
	}
	wait_exit(pid, 0);
	return success();
}
