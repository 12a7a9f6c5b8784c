// test: timeout=60
/* Mappings that reach beyond the end of a file, which then grows, in all ways that files grow: they show it, and SIGBUS comes behind
 * the end only. */
#include "grow.h"

static void one(enum kind kind, enum way way, int prot, int flags)
{
	int append = way == APPEND || way == APPEND_PWRITE || way == RWF_APPENDS;
	char name[64];
	int fd = open_kind(kind, name), map_fd = fd;
	char *p, *q;

	CHECK(fd >= 0);
	put_bytes(PWRITE, fd, 'a', 3 * PAGE, 0);
	if (!(prot & PROT_WRITE))
		map_fd = again(fd, O_RDONLY);
	p = mmap(NULL, 6 * PAGE, prot, flags, map_fd, 0);
	CHECK(p != MAP_FAILED);
	if (map_fd != fd)
		close(map_fd);
	CHECK_EQ(byte_at(p + 9000), 'a');
	CHECK_EQ(byte_at(p + 3 * PAGE), -1);
	put_bytes(append ? PWRITE : way, fd, 'b', 100, 50);
	CHECK_EQ(byte_at(p + 60), 'b');
	put_bytes(way, fd, 'c', PAGE + 10, 3 * PAGE);
	CHECK_EQ(byte_at(p + 3 * PAGE), 'c');
	CHECK_EQ(byte_at(p + 4 * PAGE + 9), 'c');
	CHECK_EQ(byte_at(p + 4 * PAGE + 10), 0);
	CHECK_EQ(byte_at(p + 5 * PAGE), -1);
	q = mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED, fd, 2 * PAGE);
	CHECK(q != MAP_FAILED);
	CHECK_EQ(ftruncate(fd, 7 * PAGE), 0);
	CHECK_EQ(byte_at(q + 4 * PAGE), 0);
	CHECK_EQ(byte_at(q + 5 * PAGE), -1);
	put_bytes(way, fd, 'd', PAGE, 7 * PAGE);
	CHECK_EQ(byte_at(q + 5 * PAGE + 17), 'd');
	if (prot & PROT_WRITE) {
		p[3 * PAGE + 5] = 'e';
		CHECK_EQ(byte_at(q + PAGE + 5), flags & MAP_SHARED ? 'e' : 'c');
	}
	CHECK_EQ(ftruncate(fd, PAGE + 1), 0);
	CHECK_EQ(byte_at(p + PAGE), 'a');
	CHECK_EQ(byte_at(p + PAGE + 1), 0);
	CHECK_EQ(byte_at(p + 3 * PAGE + 5), -1);
	CHECK_EQ(byte_at(q), -1);
	put_bytes(way, fd, 'f', 4 * PAGE, PAGE + 1);
	CHECK_EQ(byte_at(p + 3 * PAGE + 5), 'f');
	CHECK_EQ(byte_at(q + PAGE), 'f');
	printf("%d %s %d %d: %lx %lx\n", kind, way_names[way], prot, flags, look(p, 6), look(q, 8));
	CHECK_EQ(munmap(p, 6 * PAGE), 0);
	CHECK_EQ(munmap(q, 8 * PAGE), 0);
	done_kind(kind, fd, name);
}

int main(void)
{
	catch_bus();
	for (int kind = 0; kind < KINDS; kind++) {
		for (int way = 0; way < WAYS; way++) {
			one(kind, way, PROT_READ, MAP_SHARED);
			one(kind, way, PROT_READ | PROT_WRITE, MAP_SHARED);
			one(kind, way, PROT_READ | PROT_WRITE, MAP_PRIVATE);
			one(kind, way, PROT_READ, MAP_PRIVATE);
		}
	}
	return success();
}
