// test: timeout=60
/*
 * Windows of a file, mapped and unmapped one after the other, with nothing else of the file mapped.  In between the file
 * is written to, cut, punched, renamed over, stored to by a child; what is behind its end is stored to.
 */
#include "test.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { FILE_BYTES = 128 << 20, WINDOW = 65536, WINDOWS = 256 };

static char *window(int fd, unsigned n, int prot)
{
	char *p = mmap(NULL, WINDOW, prot, MAP_SHARED, fd, (off_t)n * WINDOW);

	CHECK(p != MAP_FAILED);
	return p;
}

static unsigned get(int fd, unsigned n)
{
	char *p = window(fd, n, PROT_READ);
	unsigned ret = (unsigned char)p[100] | (unsigned char)p[4200] << 8;

	CHECK_EQ(munmap(p, WINDOW), 0);
	return ret;
}

static void put(int fd, unsigned n, unsigned value)
{
	char *p = window(fd, n, PROT_READ | PROT_WRITE);

	p[100] = (char)value;
	p[4200] = (char)(value >> 8);
	CHECK_EQ(munmap(p, WINDOW), 0);
}

/* Each is changed between two mappings. */
static void changed_between(int fd, const char *path)
{
	char byte = 7;
	int status, other;
	struct stat st;
	pid_t pid;

	CHECK_EQ(pwrite(fd, &byte, 1, 3 * WINDOW + 100), 1);
	CHECK_EQ(get(fd, 3), 0x0107);
	CHECK_EQ(pwrite(fd, "\x09", 1, 5 * WINDOW + 4200), 1);
	CHECK_EQ(pwrite(fd, "\x08", 1, 5 * WINDOW + 100), 1);
	CHECK_EQ(get(fd, 5), 0x0908);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		put(fd, 6, 0x1234);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(get(fd, 6), 0x1234);
	CHECK_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 6 * WINDOW, WINDOW), 0);
	CHECK_EQ(get(fd, 6), 0);
	CHECK_EQ(ftruncate(fd, 7 * WINDOW), 0);
	CHECK_EQ(ftruncate(fd, FILE_BYTES), 0);
	CHECK_EQ(get(fd, 7), 0);
	put(fd, 7, 0x0203);
	CHECK_EQ(get(fd, 2), 0x0102);
	if (!path)
		return;
	other = open(path, O_RDWR | O_TRUNC);
	CHECK(other >= 0);
	CHECK_EQ(ftruncate(other, FILE_BYTES), 0);
	CHECK_EQ(get(fd, 2), 0);
	close(other);
	CHECK_EQ(unlink(path), 0);
	put(fd, 2, 77);
	other = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(other >= 0);
	CHECK_EQ(ftruncate(other, FILE_BYTES), 0);
	CHECK_EQ(get(other, 2), 0);
	CHECK_EQ(get(fd, 2), 77);
	close(other);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_nlink, 0);
}

/* Stored behind the end, where only mappings see it; and a private mapping. */
static void tails(int fd)
{
	char *p;

	CHECK_EQ(ftruncate(fd, 10 * WINDOW + 10), 0);
	for (int i = 0; i < 4; i++) {
		p = window(fd, 10, PROT_READ | PROT_WRITE);
		printf("tail %d\n", p[20]);
		p[20] = (char)(i + 1);
		p[1] = (char)i;
		CHECK_EQ(munmap(p, WINDOW), 0);
		if (i == 2)
			CHECK_EQ(fsync(fd), 0);
	}
	p = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 10 * WINDOW);
	CHECK(p != MAP_FAILED);
	printf("private %d %d\n", p[1], p[20]);
	p[1] = 50;
	put(fd, 4, 44);
	CHECK_EQ(munmap(p, WINDOW), 0);
	CHECK_EQ(get(fd, 4), 44);
}

static void all(int fd, const char *path)
{
	struct timespec a, b;

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, FILE_BYTES), 0);
	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &a), 0);
	for (unsigned i = 0; i < WINDOWS; i++)
		put(fd, i, 0x100 | (i & 0xff));
	for (unsigned i = 0; i < WINDOWS; i++)
		CHECK_EQ(get(fd, i), 0x100 | (i & 0xff));
	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &b), 0);
	/* some 100 us each; to take the file anew each time is 30 ms and more */
	CHECK(b.tv_sec - a.tv_sec < 8);
	changed_between(fd, path);
	tails(fd);
	close(fd);
}

int main(void)
{
	all(memfd_create("windows", 0), NULL);
	all(open("windows", O_RDWR | O_CREAT, 0600), "windows");
	return success();
}
