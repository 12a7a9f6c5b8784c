// test: compare=plain
/*
 * What a shared mapping stores behind the end of its file, in the last page, goes when the file is
 * written back or grows, on most file systems: the mapping shows that, too.
 */
#include "test.h"

enum { SIZE = 10, PAGE = 4096, ROUNDS = 3 };

static unsigned char *map;
static int fd;

static void say(const char *what, long ret)
{
	unsigned sum = 0;

	CHECK(ret >= 0);
	for (int i = 0; i < PAGE; i++)
		sum = sum * 31 + map[i];
	printf("%s %d %d %08x\n", what, map[SIZE], map[2000], sum);
	memset(map + 5, 'a', PAGE - 100);
}

static void round_of(void)
{
	CHECK_EQ(ftruncate(fd, SIZE), 0);
	say("set", 0);
	say("msync", msync(map, PAGE, MS_SYNC));
	say("fsync", fsync(fd));
	say("fdatasync", fdatasync(fd));
	say("sync_file_range",
	    sync_file_range(fd, 0, PAGE, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
	say("syncfs", syncfs(fd));
	say("fadvise", posix_fadvise(fd, 0, PAGE, POSIX_FADV_DONTNEED));
	say("msync", msync(map, PAGE, MS_ASYNC));
	say("pwrite", pwrite(fd, "xy", 2, 0));
	say("pwrite behind the end", pwrite(fd, "xy", 2, SIZE + 2));
	say("ftruncate", ftruncate(fd, 2 * SIZE));
	say("ftruncate", ftruncate(fd, SIZE + 3));
	say("fallocate", fallocate(fd, 0, 0, 3000));
	say("fsync", fsync(fd));
	CHECK_EQ(munmap(map, PAGE), 0);
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	say("again", 0);
}

int main(void)
{
	fd = open("tail", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK_EQ(ftruncate(fd, SIZE), 0);
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	for (int i = 0; i < ROUNDS; i++)
		round_of();
	unlink("tail");
	return success();
}
