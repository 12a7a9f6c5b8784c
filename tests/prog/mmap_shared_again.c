/*
 * A file mapped shared, unmapped, changed by write(2) while nobody maps it, and mapped again; then
 * removed and made again, where the new one often gets the same inode number.
 */
#include "test.h"
#include <fcntl.h>
#include <sys/mman.h>

static char *map(const char *path, int *fd)
{
	char *p;

	*fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(*fd >= 0);
	CHECK_EQ(ftruncate(*fd, 8192), 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	CHECK(p != MAP_FAILED);
	return p;
}

int main(void)
{
	int fd;
	char *p = map("again", &fd);

	strcpy(p, "first");
	CHECK_EQ(munmap(p, 8192), 0);
	CHECK_EQ(pwrite(fd, "second", 7, 0), 7);
	close(fd);
	p = map("again", &fd);
	CHECK(!strcmp(p, "second"));
	strcpy(p + 4096, "stale");
	CHECK_EQ(munmap(p, 8192), 0);
	close(fd);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(unlink("again"), 0);
		p = map("again", &fd);
		CHECK(p[0] == 0 && p[4096] == 0);
		strcpy(p + 4096, "stale");
		CHECK_EQ(munmap(p, 8192), 0);
		close(fd);
	}
	CHECK_EQ(unlink("again"), 0);
	return success();
}
