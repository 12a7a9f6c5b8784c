// test: compare=plain
/* What a mapping stores behind the end of its file, in the last page, is there for the next mapping of the file, shared or
 * private, although nobody can read it from the file and the first mapping is gone. */
#include "test.h"

enum { SIZE = 8, MAPPED = 80 };

static char *map(int fd, int prot, int flags)
{
	char *p = mmap(NULL, MAPPED, prot, flags, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void look(int fd, int prot, int flags, char want)
{
	char *p = map(fd, prot, flags);

	for (int i = 0; i < MAPPED; i++)
		CHECK_EQ(p[i], want);
	printf("%.20s\n", p);
	CHECK_EQ(munmap(p, MAPPED), 0);
}

int main(void)
{
	int fd = memfd_create("tail", 0);
	char *p;

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, SIZE), 0);
	p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	memset(p, 'a', MAPPED);
	CHECK_EQ(munmap(p, MAPPED), 0);

	look(fd, PROT_READ, MAP_PRIVATE, 'a');
	look(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE, 'a');
	look(fd, PROT_READ, MAP_SHARED, 'a');
	p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	memset(p, 'b', MAPPED);
	look(fd, PROT_READ, MAP_PRIVATE, 'b');
	CHECK_EQ(munmap(p, MAPPED), 0);
	p = map(fd, PROT_READ, MAP_PRIVATE);
	if (fork() == 0) {
		look(fd, PROT_READ | PROT_WRITE, MAP_SHARED, 'b');
		exit(0);
	}
	wait(NULL);
	printf("%.20s\n", p);
	return success();
}
