// test: compare=plain
/* Commands of ioctl that change what is in a file: its mapping shows it, as far as they have come. */
#include "test.h"
#include <sys/ioctl.h>

enum { SIZE = 32768, ROUNDS = 4 };

struct range { int16_t type, from; int64_t start, len; int32_t zero, pad[5]; };
#define RESERVE _IOW('X', 42, struct range)
#define UNRESERVE_OLD _IOW('X', 41, struct range)
#define UNRESERVE _IOW('X', 43, struct range)
#define ZERO_RANGE _IOW('X', 57, struct range)
#define CLONE _IOW(0x94, 9, int)

static unsigned char *map;

static int file(const char *name, unsigned seed)
{
	static char bytes[SIZE];
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	fill(bytes, SIZE, seed);
	CHECK_EQ(write(fd, bytes, SIZE), SIZE);
	CHECK_EQ(fsync(fd), 0);
	unlink(name);
	return fd;
}

static void say(const char *what, int ret)
{
	const char *error = ret < 0 ? strerror(errno) : "";
	unsigned sum = 0;

	for (int i = 0; i < SIZE; i++)
		sum = sum * 31 + map[i];
	printf("%s %d %s %08x\n", what, ret, error, sum);
}

static void change(int fd, const char *what, unsigned long command, int from, long start, long len)
{
	struct range r = { .from = (int16_t)from, .start = start, .len = len };

	say(what, ioctl(fd, command, &r));
}

int main(void)
{
	int fd = file("changed", 1);

	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	for (int i = 0; i < ROUNDS; i++) {
		change(fd, "unreserve", UNRESERVE, SEEK_SET, i * 4096, 4096);
		change(fd, "zero", ZERO_RANGE, SEEK_SET, i * 4200, 100);
		change(fd, "unreserve", UNRESERVE_OLD, SEEK_SET, 20000 + i * 100, 100);
		change(fd, "reserve", RESERVE, SEEK_SET, 30000, 3000 + i);
		lseek(fd, 10000 + i, SEEK_SET);
		change(fd, "zero", ZERO_RANGE, SEEK_CUR, 0, 4000);
		change(fd, "unreserve", UNRESERVE, SEEK_END, -5000, 4000);
		say("clone", ioctl(fd, CLONE, file("other", 7)));
		say("clone", ioctl(fd, CLONE, -1));
	}
	return success();
}
