/* Files that are mapped change while a child, which has them mapped too, is inside execve. */
#include "test.h"

enum { CHILDREN = 30, WRITES = 10, SIZE = 65536, STRINGS = 1500, LENGTH = 1000 };

int main(void)
{
	char name[] = "/tmp/exec_meanwhile_XXXXXX", *env[STRINGS + 1], *argv[] = { "true", NULL }, bytes[100];
	int fd = mkstemp(name), status;
	char *shared, *private;

	CHECK(fd >= 0);
	unlink(name);
	CHECK_EQ(ftruncate(fd, SIZE), 0);
	for (int i = 0; i < STRINGS; i++) {	/* so that it takes a while */
		env[i] = calloc(1, LENGTH);
		memset(env[i], 'a', LENGTH - 1);
	}
	env[STRINGS] = NULL;
	shared = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	private = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(shared != MAP_FAILED && private != MAP_FAILED);
	private[5] = 1;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (!child) {
			execve("/bin/true", argv, env);
			_exit(1);
		}
		for (int k = 0; k < WRITES; k++) {
			memset(bytes, i + k, sizeof(bytes));
			CHECK_EQ(pwrite(fd, bytes, sizeof(bytes), 4096 + 1000 * k), sizeof(bytes));
			CHECK_EQ(shared[4096 + 1000 * k], (char)(i + k));
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	return success();
}
