/*
 * The kernel writes to memory that may be written and not read, and a write to /proc/self/mem goes
 * to any page.  It reads paths and vectors from such memory, too: x86 can read what is only
 * writable.
 */
#include "test.h"
#include <sys/uio.h>
#include <sys/utsname.h>

enum { PAGE = 4096, PAGES = 4 };

static char *map(int flags)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void outputs(char *p)
{
	int fd = open("/etc/passwd", O_RDONLY), u[2];
	char want[40];

	CHECK_EQ(pipe(u), 0);
	CHECK_EQ(pread(fd, want, 40, 0), 40);
	for (int i = 0; i < 4; i++) {
		struct iovec *v = (struct iovec *)(p + 100);

		memset(p, i, PAGES * PAGE);
		CHECK_EQ(pread(fd, p + PAGE - 20, 40, 0), 40);
		CHECK(!memcmp(p + PAGE - 20, want, 40));
		CHECK_EQ(write(u[1], "pipe!", 5), 5);
		CHECK_EQ(read(u[0], p + 200, 5), 5);
		CHECK(!memcmp(p + 200, "pipe!", 5));
		CHECK_EQ(uname((struct utsname *)(p + 2 * PAGE)), 0);
		CHECK(!strcmp(((struct utsname *)(p + 2 * PAGE))->sysname, "Linux"));
		v[0] = (struct iovec){ p + PAGE, 10 };
		v[1] = (struct iovec){ p + 3 * PAGE, 30 };
		CHECK_EQ(preadv(fd, v, 2, 0), 40);
		CHECK(!memcmp(p + PAGE, want, 10) && !memcmp(p + 3 * PAGE, want + 10, 30));
	}
	close(u[0]);
	close(u[1]);
	close(fd);
}

static void inputs(char *p)
{
	struct iovec *v = (struct iovec *)(p + 100);

	strcpy(p, "/etc/passwd");
	CHECK(open(p, O_RDONLY) >= 0);
	strcpy(p + PAGE, "out of write-only memory\n");
	v[0] = (struct iovec){ p + PAGE, 7 };
	v[1] = (struct iovec){ p + PAGE + 7, strlen(p + PAGE) - 7 };
	for (int i = 0; i < 3; i++)
		CHECK_EQ(writev(1, v, 2), (long)strlen(p + PAGE));
}

/* Across pages of each protection, in both directions. */
static void poked(void)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int mem = open("/proc/self/mem", O_RDWR);
	char bytes[1024];

	CHECK(mem >= 0);
	for (int i = 0; i < 3; i++) {
		memset(p, 'a' + i, PAGES * PAGE);
		memset(bytes, 'x' + i, sizeof(bytes));
		CHECK_EQ(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
		CHECK_EQ(mprotect(p + 2 * PAGE, PAGE, PROT_READ), 0);
		CHECK_EQ(mprotect(p + 3 * PAGE, PAGE, PROT_WRITE), 0);
		CHECK_EQ(pwrite(mem, bytes, 1024, (long)p + PAGE - 200), 1024);
		CHECK_EQ(pwrite(mem, bytes, 1024, (long)p + 2 * PAGE - 200), 1024);
		CHECK_EQ(pwrite(mem, bytes, 1024, (long)p + 3 * PAGE - 200), 1024);
		CHECK_EQ(pwrite(mem, bytes, 10, (long)p + PAGE + 1000), 10);
		CHECK_EQ(mprotect(p, PAGES * PAGE, PROT_READ | PROT_WRITE), 0);
		for (int at = 0; at < PAGES * PAGE; at++) {
			int off = (at + 200) % PAGE;
			bool in = (at >= PAGE - 200 && at < 3 * PAGE + 824 && off < 1024) ||
				  (at >= PAGE + 1000 && at < PAGE + 1010);

			CHECK_EQ(p[at], in ? 'x' + i : 'a' + i);
		}
	}
	close(mem);
}

int main(void)
{
	char *private = map(MAP_PRIVATE), *shared = map(MAP_SHARED);

	outputs(private);
	outputs(shared);
	inputs(private);
	poked();
	return success();
}
