/* A program that reads its own code: what it finds may show the patches, but replay finds the same; and through its file and
 * /proc/self/mem as well. */
// (compare is with the recording: native prints other sums)
#include "test.h"

static uint64_t sum(const void *p, size_t len)
{
	const unsigned char *b = p;
	uint64_t h = 1469598103934665603ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 1099511628211ull;
	return h;
}

extern char __executable_start, etext;

int main(void)
{
	size_t len = (size_t)(&etext - &__executable_start);
	static char copy[1 << 20];
	int fd = open("/proc/self/mem", O_RDONLY), self = open("/proc/self/exe", O_RDONLY);
	uint64_t file = 0;

	CHECK(len <= sizeof(copy) && fd >= 0 && self >= 0);
	for (int i = 0; i < 4; i++) {
		long r;

		for (int k = 0; k < 5; k++)
			asm volatile("syscall\n\tnop\n\tnop\n\tnop\n\tnop" : "=a"(r) : "0"(SYS_getppid) : "rcx", "r11", "memory");
		printf("%016lx\n", sum(&__executable_start, len));
		CHECK_EQ(pread(fd, copy, len, (off_t)(uintptr_t)&__executable_start), (ssize_t)len);
		printf("%016lx\n", sum(copy, len));
		printf("%016lx\n", sum((const void *)(uintptr_t)&read, 64));
		CHECK_EQ(pread(self, copy, len, 0), (ssize_t)len);
		CHECK(!file || file == sum(copy, len));
		file = sum(copy, len);
	}
	return success();
}
