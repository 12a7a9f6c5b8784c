/* Memory shared between processes: anonymous, a file, a memfd; each sees the other's stores. */
#include "test.h"

static void play(int *a, int *b, const char *what)
{
	int down[2], up[2];
	pid_t pid;

	CHECK_EQ(pipe(down), 0);
	CHECK_EQ(pipe(up), 0);
	*a = 1;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		for (int i = 1; i < 20; i += 2) {
			get1(down[0]);
			CHECK_EQ(*b, i);
			(*b)++;
			put1(up[1]);
		}
		_exit(0);
	}
	for (int i = 1; i < 20; i += 2) {
		put1(down[1]);
		get1(up[0]);
		CHECK_EQ(*a, i + 1);
		(*a)++;
	}
	wait_exit(pid, 0);
	printf("%s: %d\n", what, *a);
	fflush(stdout);
}

int main(void)
{
	int fd, *a, *b;

	a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	play(a, a, "anonymous");
	fd = open("shared", O_CREAT | O_RDWR | O_TRUNC, 0600);
	CHECK_EQ(ftruncate(fd, 8192), 0);
	a = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	play(a, a, "file");
	/* Two views of the same page in one process. */
	a[1024] = 7;
	CHECK_EQ(b[0], 7);
	play(a + 1024, b, "two views");
	fd = memfd_create("m", 0);
	CHECK_EQ(ftruncate(fd, 4096), 0);
	a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	play(a, b, "memfd");
	/* A private view of shared memory stops following once written. */
	return success();
}
