/* Calls that the buffer makes look as the kernel's own: pipes that fill and drain, O_NONBLOCK changed behind
 * its back, bad memory.  Each scene is played several times, so that its call sites are patched. */
#include "test.h"
#include <poll.h>
#include <sys/ioctl.h>

enum { ROUNDS = 6 };

static char big[300000], back[300000];

static void partial_writes(void)
{
	ssize_t n, all = 0;
	int p[2];

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	CHECK_ERR(read(p[0], back, 10), EAGAIN);
	while ((n = write(p[1], big, 50000)) > 0)
		all += n;
	CHECK_EQ(n, -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK(all > 60000 && all <= 65536);	/* in pages */
	CHECK_EQ(read(p[0], back, 5000), 5000);
	CHECK_EQ(write(p[1], big, 4096), 4096);
	all -= 5000 - 4096;
	while ((n = read(p[0], back, 7777)) > 0)
		all -= n;
	CHECK_EQ(all, 0);
	CHECK_EQ(errno, EAGAIN);
	close(p[1]);
	CHECK_EQ(read(p[0], back, 10), 0);
	CHECK_EQ(write(p[0], back, 10), -1);
	CHECK_EQ(errno, EBADF);
	close(p[0]);
	CHECK_ERR(read(p[0], back, 1), EBADF);
}

/* What would sleep fails at once, and sleeps again. */
static void made_nonblocking(int how)
{
	int p[2], one = 1, twin;

	CHECK_EQ(pipe(p), 0);
	for (int i = 0; i < 3; i++) {
		put1(p[1]);
		get1(p[0]);
	}
	twin = dup(p[0]);
	if (how == 0)
		CHECK_EQ(fcntl(p[0], F_SETFL, O_NONBLOCK), 0);
	else if (how == 1)
		CHECK_EQ(ioctl(p[0], FIONBIO, &one), 0);
	else
		CHECK_EQ(fcntl(twin, F_SETFL, O_NONBLOCK), 0);
	CHECK_ERR(read(p[0], back, 1), EAGAIN);
	put1(p[1]);
	CHECK_EQ(read(p[0], back, 100), 1);
	CHECK_EQ(fcntl(p[0], F_SETFL, 0), 0);
	put1(p[1]);
	CHECK_EQ(read(p[0], back, 100), 1);
	close(twin);
	close(p[0]);
	close(p[1]);
}

/* Memory that ends in the middle: what the kernel does, and nothing is lost. */
static void bad_memory(void)
{
	char *mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int p[2], left = -1;

	CHECK_EQ(mprotect(mem + 4096, 4096, PROT_NONE), 0);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(write(p[1], "hello", 5), 5);
	CHECK_ERR(read(p[0], mem + 4096, 5), EFAULT);
	CHECK_ERR(read(p[0], NULL, 5), EFAULT);
	CHECK_ERR(read(p[0], (void *)-8l, 5), EFAULT);
	CHECK_EQ(ioctl(p[0], FIONREAD, &left), 0);
	CHECK_EQ(left, 5);
	/* There is room for what comes, though not for what may come. */
	CHECK_EQ(read(p[0], mem + 4096 - 5, 100), 5);
	CHECK(!memcmp(mem + 4096 - 5, "hello", 5));
	CHECK_ERR(write(p[1], mem + 4096, 10), EFAULT);
	CHECK_ERR(write(p[1], (void *)1, 10), EFAULT);
	CHECK_EQ(ioctl(p[0], FIONREAD, &left), 0);
	CHECK_EQ(left, 0);
	CHECK_ERR(poll((void *)(mem + 4096), 1, 0), EFAULT);
	CHECK_EQ(mprotect(mem, 4096, PROT_READ), 0);
	CHECK_EQ(write(p[1], "abc", 3), 3);
	CHECK_ERR(read(p[0], mem, 3), EFAULT);
	CHECK_EQ(mprotect(mem, 4096, PROT_READ | PROT_WRITE), 0);
	CHECK_EQ(read(p[0], mem, 3), 3);
	CHECK_EQ(munmap(mem, 8192), 0);
	close(p[0]);
	close(p[1]);
}

/* Into a private page nobody has written to, and a page shared with a child. */
static void fresh_pages(void)
{
	char *mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *both = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(write(p[1], big, 60000), 60000);
	CHECK_EQ(read(p[0], mem + 100, 60000), 60000);
	CHECK(filled(mem + 100, 60000, 1));
	CHECK_EQ(mem[99] | mem[60100] | mem[65535], 0);
	pid = fork();
	if (!pid) {
		CHECK_EQ(write(p[1], "from below", 10), 10);
		CHECK_EQ(read(p[0], both + 5, 4), 4);
		_exit(0);
	}
	wait_exit(pid, 0);
	CHECK(!memcmp(both, "\0\0\0\0\0from", 10));
	CHECK_EQ(read(p[0], both, 100), 6);
	CHECK(!memcmp(both, " belowrom", 10));
	munmap(mem, 65536);
	munmap(both, 4096);
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	fill(big, sizeof(big), 1);
	for (int i = 0; i < ROUNDS; i++) {
		partial_writes();
		for (int how = 0; how < 3; how++)
			made_nonblocking(how);
		bad_memory();
		fresh_pages();
	}
	return success();
}
