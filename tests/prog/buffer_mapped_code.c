/* Code with system calls in files that come and go at one address, as dlopen and dlclose have it: another file, the same file changed,
 * memory of no file that changes, a mapping that moves, a copy that is written to. */
#include "test.h"

static char *const place = (char *)0x20000000;

/* mov $nr,%eax; syscall; mov/add with a result of its own; ret */
static size_t code(unsigned char *to, unsigned nr, unsigned add, int shape)
{
	unsigned char *p = to;

	*p++ = 0xb8;
	memcpy(p, &nr, 4);
	p += 4;
	if (shape)
		memcpy(p, "\x66\x90", 2), p += 2;
	memcpy(p, "\x0f\x05", 2);
	p += 2;
	memcpy(p, "\x48\x81\xc0", 3);	/* add $imm32,%rax */
	p += 3;
	memcpy(p, &add, 4);
	p += 4;
	*p++ = 0xc3;
	return (size_t)(p - to);
}

static int file(unsigned nr, unsigned add, int shape)
{
	char name[] = "buffer_code.XXXXXX";
	unsigned char page[4096];
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	unlink(name);
	memset(page, 0xcc, sizeof(page));
	code(page + 0x123 * (1 + shape), nr, add, shape);
	CHECK_EQ(write(fd, page, sizeof(page)), sizeof(page));
	return fd;
}

static void run(unsigned shape, long want)
{
	long (*fn)(void) = (long (*)(void))(place + 0x123 * (1 + shape));

	for (int i = 0; i < 5; i++)
		CHECK_EQ(fn(), want);
}

static char *map(int fd, int flags)
{
	char *p = mmap(place, 4096, PROT_READ | PROT_EXEC, flags | MAP_FIXED, fd, 0);

	CHECK_EQ((long)p, (long)place);
	return p;
}

int main(void)
{
	int a = file(SYS_getppid, 1000, 0), b = file(SYS_getuid, 77, 0), c = file(SYS_getppid, 5, 1);
	long ppid = getppid(), uid = getuid();
	unsigned char bytes[64];
	size_t n;

	for (int i = 0; i < 4; i++) {
		map(a, MAP_PRIVATE);
		run(0, ppid + 1000);
		CHECK_EQ(munmap(place, 4096), 0);
		map(b, MAP_PRIVATE);
		run(0, uid + 77);
		map(c, MAP_PRIVATE);		/* over it */
		run(1, ppid + 5);
		map(a, MAP_PRIVATE);
		run(0, ppid + 1000);
		/* the program changes its copy: not what the file has */
		CHECK_EQ(mprotect(place, 4096, PROT_READ | PROT_WRITE), 0);
		n = code(bytes, SYS_getuid, 3, 0);
		memcpy(place + 0x123, bytes, n);
		CHECK_EQ(mprotect(place, 4096, PROT_READ | PROT_EXEC), 0);
		run(0, uid + 3);
		CHECK_EQ(munmap(place, 4096), 0);
		/* code of no file */
		CHECK_EQ((long)mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), (long)place);
		for (int k = 0; k < 3; k++) {
			n = code(bytes, k & 1 ? SYS_getuid : SYS_getppid, (unsigned)k, 0);
			CHECK_EQ(mprotect(place, 4096, PROT_READ | PROT_WRITE), 0);
			memcpy(place + 0x123, bytes, n);
			CHECK_EQ(mprotect(place, 4096, PROT_READ | PROT_EXEC), 0);
			run(0, (k & 1 ? uid : ppid) + k);
		}
		CHECK_EQ(munmap(place, 4096), 0);
		/* moved */
		map(a, MAP_PRIVATE);
		run(0, ppid + 1000);
		char *far = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK_EQ((long)mremap(place, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, far), (long)far);
		long (*fn)(void) = (long (*)(void))(far + 0x123);
		for (int k = 0; k < 5; k++)
			CHECK_EQ(fn(), ppid + 1000);
		CHECK_EQ(munmap(far, 4096), 0);
	}
	return success();
}
