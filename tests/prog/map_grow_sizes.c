/* The file's size changes by ftruncate, truncate, O_TRUNC, fallocate and holes; mappings move and grow by mremap, whole and in part. */
#include "grow.h"

static void sizes(enum kind kind)
{
	char name[64], path[64];
	int fd = open_kind(kind, name), other;
	char *p;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	put_bytes(PWRITE, fd, 'a', 4 * PAGE, 0);
	p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	CHECK_EQ(truncate(path, 6 * PAGE), 0);
	CHECK_EQ(byte_at(p + 5 * PAGE), 0);
	CHECK_EQ(byte_at(p + 6 * PAGE), -1);
	p[5 * PAGE + 3] = 'x';
	CHECK_EQ(fallocate(fd, 0, 6 * PAGE, 2 * PAGE), 0);
	CHECK_EQ(byte_at(p + 7 * PAGE), 0);
	CHECK_EQ(byte_at(p + 8 * PAGE), -1);
	CHECK_EQ(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 12 * PAGE), 0);
	CHECK_EQ(byte_at(p + 8 * PAGE), -1);
	CHECK_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE + 100, 2 * PAGE), 0);
	CHECK_EQ(byte_at(p + PAGE + 99), 'a');
	CHECK_EQ(byte_at(p + PAGE + 100), 0);
	CHECK_EQ(byte_at(p + 3 * PAGE + 99), 0);
	CHECK_EQ(byte_at(p + 3 * PAGE + 100), 'a');
	if (fallocate(fd, FALLOC_FL_ZERO_RANGE, 7 * PAGE + 1, 3 * PAGE) == 0)	/* not on tmpfs */
		CHECK_EQ(byte_at(p + 10 * PAGE), 0);
	if (fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, PAGE) == 0)
		CHECK_EQ(byte_at(p + 4 * PAGE + 3), 'x');
	if (fallocate(fd, FALLOC_FL_INSERT_RANGE, PAGE, 2 * PAGE) == 0)
		CHECK_EQ(byte_at(p + 6 * PAGE + 3), 'x');
	printf("%d: %lx\n", kind, look(p, 16));
	CHECK_EQ(madvise(p + 3 * PAGE, PAGE, MADV_REMOVE), 0);
	CHECK_EQ(byte_at(p + 3 * PAGE + 100), 0);
	/* What was stored behind the end, in its page, is nobody's. */
	CHECK_EQ(ftruncate(fd, 2 * PAGE + 10), 0);
	p[2 * PAGE + 20] = 'y';
	CHECK_EQ(ftruncate(fd, 4 * PAGE), 0);
	printf("behind the end: %d\n", byte_at(p + 2 * PAGE + 20));
	other = open(path, O_RDWR | O_TRUNC);
	CHECK_EQ(byte_at(p), -1);
	CHECK_EQ(ftruncate(other, 1), 0);
	CHECK_EQ(byte_at(p), 0);
	close(other);
	CHECK_EQ(munmap(p, 16 * PAGE), 0);
	done_kind(kind, fd, name);
}

static void moves(enum kind kind)
{
	char name[64];
	int fd = open_kind(kind, name);
	char *p, *q, *r, *room;

	for (int i = 0; i < 8; i++)
		put_bytes(PWRITE, fd, (char)('a' + i), PAGE, i * PAGE);
	room = mmap(NULL, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	p = mmap(room, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, PAGE);
	CHECK(p == room);
	CHECK_EQ(munmap(room + 4 * PAGE, 8 * PAGE), 0);
	p = mremap(p, 4 * PAGE, 10 * PAGE, 0);		/* in place, beyond the end */
	CHECK(p == room);
	CHECK_EQ(byte_at(p + 6 * PAGE), 'h');
	CHECK_EQ(byte_at(p + 7 * PAGE), -1);
	put_bytes(PWRITE, fd, 'i', PAGE, 8 * PAGE);
	CHECK_EQ(byte_at(p + 7 * PAGE), 'i');
	/* A part of it elsewhere. */
	q = mremap(p + 2 * PAGE, 2 * PAGE, 9 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room + 32 * PAGE);
	CHECK(q == room + 32 * PAGE);
	CHECK_EQ(byte_at(q), 'd');
	CHECK_EQ(byte_at(q + 5 * PAGE), 'i');
	CHECK_EQ(byte_at(q + 6 * PAGE), -1);
	put_bytes(PWRITE, fd, 'j', PAGE, 9 * PAGE);
	CHECK_EQ(byte_at(q + 6 * PAGE), 'j');
	CHECK_EQ(byte_at(p + 8 * PAGE), 'j');
	put_bytes(PWRITE, fd, 'D', 5, 3 * PAGE);
	CHECK_EQ(byte_at(q), 'D');
	/* A second mapping of the same. */
	r = mremap(q, 0, 3 * PAGE, MREMAP_MAYMOVE);
	CHECK(r != MAP_FAILED);
	r[1] = 'R';
	CHECK_EQ(byte_at(q + 1), 'R');
	put_bytes(PWRITE, fd, 'S', 1, 3 * PAGE + 2);
	CHECK_EQ(byte_at(r + 2), 'S');
	q = mremap(q, 9 * PAGE, 2 * PAGE, 0);		/* shorter */
	CHECK(q == room + 32 * PAGE);
	put_bytes(PWRITE, fd, 'T', 1, 4 * PAGE);
	CHECK_EQ(byte_at(q + PAGE), 'T');
	CHECK_EQ(byte_at(r + PAGE), 'T');
	printf("%d: %lx %lx %lx\n", kind, look(p, 2), look(q, 2), look(r, 3));
	CHECK_EQ(munmap(room, 64 * PAGE), 0);
	CHECK_EQ(munmap(r, 3 * PAGE), 0);
	done_kind(kind, fd, name);
}

/* Anonymous shared memory does not get longer, whatever mremap says. */
static void anonymous(void)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	p[PAGE] = 'z';
	p = mremap(p, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	CHECK(p != MAP_FAILED);
	CHECK_EQ(byte_at(p + PAGE), 'z');
	CHECK_EQ(byte_at(p + 2 * PAGE), -1);
	CHECK_EQ(munmap(p, 4 * PAGE), 0);
}

int main(void)
{
	catch_bus();
	for (int kind = 0; kind < KINDS; kind++) {
		sizes(kind);
		moves(kind);
	}
	anonymous();
	return success();
}
