/* mmap of every kind: anonymous, private file, fixed, hints, NORESERVE, POPULATE, at the file's end. */
#include "test.h"

int main(void)
{
	char *p, *q, buf[100];
	int fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600);

	fill(buf, sizeof(buf), 1);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(write(fd, buf, sizeof(buf)), sizeof(buf));	/* 10000 bytes: not a page multiple */
	p = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && filled(p + 300, 100, 1));
	CHECK_EQ(p[10000], 0);
	p[5] = 'x';
	CHECK_EQ(pread(fd, buf, 10, 0), 10);
	CHECK(buf[5] != 'x');
	q = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
	CHECK(!memcmp(q, p + 4096, 4096));
	/* Replace the middle page. */
	CHECK(mmap(p + 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + 4096);
	CHECK_EQ(p[4096], 0);
	CHECK(q[0] != 0 || q[1] != 0);
	CHECK_EQ(munmap(p + 4096, 4096), 0);
	CHECK_EQ(p[5], 'x');
	CHECK_ERR(mincore(p + 4096, 4096, (unsigned char *)buf), ENOMEM);
	/* A hole is found again by a hint; MAP_FIXED_NOREPLACE refuses what is taken. */
	CHECK(mmap(p + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p + 4096);
	CHECK(mmap(p, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
	CHECK_EQ(errno, EEXIST);
	CHECK_EQ(munmap(p, 12288), 0);

	p = mmap(NULL, 1ul << 36, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(p != MAP_FAILED);
	CHECK_EQ(mprotect(p + (1ul << 35), 4096, PROT_READ | PROT_WRITE), 0);
	p[1ul << 35] = 9;
	CHECK_EQ(munmap(p, 1ul << 36), 0);
	p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	for (int i = 0; i < 1 << 20; i += 4096)
		CHECK_EQ(p[i], 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_32BIT | MAP_ANONYMOUS, -1, 0);
	CHECK((uintptr_t)p < 1ul << 32);
	printf("%p\n", (void *)p);
	CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED && errno == EBADF);
	/* Code made at run time. */
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED) {
		memcpy(p, "\xb8\x2a\x00\x00\x00\xc3", 6);
		CHECK_EQ(((int (*)(void))p)(), 42);
		p[1] = 43;
		CHECK_EQ(((int (*)(void))p)(), 43);
	}
	/* A file that was unlinked, and /dev/zero. */
	unlink("file");
	p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && p[1] != 0);
	fd = open("/dev/zero", O_RDWR);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && p[0] == 0);
	p[0] = 1;
	return success();
}
