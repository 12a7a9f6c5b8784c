// test: cflags=-O0
/* The kernel's own access grows the stack: a system call writes far below what was touched. */
#include "test.h"
#include <alloca.h>

static void __attribute__((noinline)) call(size_t below)
{
	int fd = open("/dev/zero", O_RDONLY);
	volatile char *p = alloca(below);

	CHECK_EQ(read(fd, (void *)p, 4096), 4096);
	CHECK_EQ(p[17], 0);
	close(fd);
}

int main(void)
{
	for (size_t n = 64 << 10; n <= 2 << 20; n *= 2)
		call(n);
	return success();
}
