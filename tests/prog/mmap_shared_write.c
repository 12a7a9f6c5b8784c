/* A shared file mapping changed by write, pwrite, ftruncate and by another process; msync. */
#include "test.h"

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600), fd2, status;
	char *p, *priv, buf[8192];
	pid_t pid;

	CHECK_EQ(ftruncate(fd, 16384), 0);
	p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	priv = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && priv != MAP_FAILED);
	CHECK_EQ(write(fd, "hello", 5), 5);
	CHECK(!memcmp(p, "hello", 5));
	CHECK(!memcmp(priv, "hello", 5));
	fill(buf, sizeof(buf), 3);
	CHECK_EQ(pwrite(fd, buf, sizeof(buf), 4000), sizeof(buf));
	CHECK(filled(p + 4000, sizeof(buf), 3));
	strcpy(p + 100, "by store");
	CHECK_EQ(msync(p, 4096, MS_SYNC), 0);
	CHECK_EQ(pread(fd, buf, 9, 100), 9);
	CHECK(!strcmp(buf, "by store"));
	/* Through another open file, from another process. */
	pid = fork();
	if (!pid) {
		fd2 = open("file", O_WRONLY);
		CHECK_EQ(pwrite(fd2, "from the child", 15, 200), 15);
		_exit(0);
	}
	wait_exit(pid, 0);
	CHECK(!strcmp(p + 200, "from the child"));
	priv[0] = 'J';
	CHECK_EQ(pwrite(fd, "X", 1, 0), 1);
	CHECK(priv[0] == 'J' && p[0] == 'X');
	/* Shorter: the rest of the last page becomes zeros, pages beyond raise SIGBUS. */
	CHECK_EQ(ftruncate(fd, 150), 0);
	CHECK_EQ(p[200], 0);
	pid = fork();
	if (!pid)
		_exit(((volatile char *)p)[8192]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	CHECK_EQ(ftruncate(fd, 16384), 0);
	CHECK_EQ(p[8192], 0);
	/* A file opened by O_TRUNC again. */
	p[0] = 'q';
	fd2 = open("file", O_RDWR | O_TRUNC);
	CHECK_EQ(ftruncate(fd2, 4096), 0);
	CHECK_EQ(p[0], 0);
	return success();
}
