// test: timeout=60
/* A sparse memfd of 2 TB (as .NET has), one of 4 GB, and a sparse file: a few pages are touched, others map them late. */
#include "grow.h"

static void touch(char *p, uint64_t size, int pages, char c)
{
	for (int i = 0; i < pages; i++)
		p[size / (uint64_t)pages * (uint64_t)i + 17] = (char)(c + i);
}

static void seen(const char *p, uint64_t size, int pages, char c)
{
	for (int i = 0; i < pages; i++) {
		CHECK_EQ(p[size / (uint64_t)pages * (uint64_t)i + 17], c + i);
		CHECK_EQ(p[size / (uint64_t)pages * (uint64_t)i + 3 * PAGE], 0);
	}
}

static void one(int fd, uint64_t size, bool before)
{
	char *p, *q, *r, byte;
	pid_t pid;

	CHECK(fd >= 0);
	if (before) {	/* it has content when it is mapped */
		CHECK_EQ(ftruncate(fd, (off_t)size), 0);
		CHECK_EQ(pwrite(fd, "hello", 5, (off_t)(size / 4 * 3)), 5);
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	CHECK(p != MAP_FAILED);
	if (!before) {
		CHECK_EQ(ftruncate(fd, (off_t)size), 0);
		CHECK_EQ(pwrite(fd, "hello", 5, (off_t)(size / 4 * 3)), 5);
	}
	CHECK(!memcmp(p + size / 4 * 3, "hello", 5));
	touch(p, size, 10, 'a');
	seen(p, size, 10, 'a');
	pid = fork();
	if (!pid) {
		touch(p, size, 10, 'k');
		_exit(0);
	}
	wait_exit(pid, 0);
	seen(p, size, 10, 'k');
	q = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	CHECK(q != MAP_FAILED);
	seen(q, size, 10, 'k');
	touch(q, size, 10, 'A');
	seen(p, size, 10, 'k');
	r = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(r != MAP_FAILED);
	seen(r, size, 10, 'k');
	CHECK_EQ(madvise(p, size / 2, MADV_REMOVE), 0);
	CHECK_EQ(r[17], 0);
	CHECK_EQ(q[17], 'A');
	CHECK_EQ(pread(fd, &byte, 1, (off_t)(size / 10 * 9 + 17)), 1);
	CHECK_EQ(byte, 'k' + 9);
	CHECK_EQ(munmap(p, size), 0);
	CHECK_EQ(munmap(q, size), 0);
	CHECK_EQ(munmap(r, size), 0);
	close(fd);
}

int main(void)
{
	char name[64];

	one(memfd_create("two terabytes", 0), 2ull << 40, true);
	one(memfd_create("two terabytes", 0), 2ull << 40, false);
	one(memfd_create("four gigabytes", 0), 4ull << 30, true);
	one(open_kind(DISK_GONE, name), 4ull << 30, true);
	one(open_kind(DISK_GONE, name), 64ull << 30, false);
	printf("%d\n", (int)getpid() != 0);
	return success();
}
