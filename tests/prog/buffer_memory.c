/* Memory calls that the buffer makes, with all their errors and half-done effects: what is mapped afterwards, and what is in it, is
 * what the kernel alone would have left; in replay too. */
#include "test.h"

enum { P = 4096 };

static uint64_t sum;

static void mix(const void *p, size_t len)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ b[i]) * 1099511628211ull;
}

static char *anon(void *at, size_t len, int prot, int flags)
{
	return mmap(at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/* Does the page fault?  The kernel says so without a signal. */
static bool readable(const void *p)
{
	static int zero = -1, pipes[2];
	char c;

	if (zero < 0) {
		zero = 1;
		CHECK_EQ(pipe(pipes), 0);
	}
	if (write(pipes[1], p, 1) < 0)
		return false;
	CHECK_EQ(read(pipes[0], &c, 1), 1);
	return true;
}

static void holes(int i)
{
	char *m = anon(NULL, 8 * P, PROT_READ | PROT_WRITE, 0);

	fill(m, 8 * P, (unsigned)i);
	CHECK_EQ(munmap(m + 3 * P, P), 0);
	CHECK_ERR(mprotect(m, 8 * P, PROT_READ), ENOMEM);	/* done up to the hole */
	CHECK_ERR(read(open("/dev/zero", O_RDONLY), m, 1), EFAULT);
	CHECK_ERR(mprotect(m + 1, P, PROT_READ), EINVAL);
	CHECK_ERR(munmap(m + 1, P), EINVAL);
	CHECK_ERR(munmap(m, 0), EINVAL);
	CHECK_EQ(munmap(m + 3 * P, P), 0);
	m[5 * P] = 1;
	CHECK_ERR(madvise(m, 8 * P, MADV_DONTNEED), ENOMEM);	/* all the same: done on both sides */
	CHECK_EQ(m[0] | m[2 * P + 17] | m[7 * P], 0);
	CHECK(!readable(m + 3 * P));
	CHECK_EQ(mprotect(m, 3 * P, PROT_NONE), 0);
	CHECK(!readable(m));
	CHECK_EQ(mprotect(m, P, PROT_READ | PROT_WRITE), 0);
	m[1] = (char)i;
	mix(m, P);
	CHECK_EQ(munmap(m, 8 * P), 0);
	CHECK(!readable(m) && !readable(m + 7 * P));
	for (int fd = 3; fd < 20; fd++)
		if (fd > 8)
			close(fd);
}

static void fixed(int i)
{
	char *m = anon(NULL, 16 * P, PROT_READ | PROT_WRITE, 0), *n;

	fill(m, 16 * P, (unsigned)i);
	CHECK_EQ((long)anon(m + 4 * P, 2 * P, PROT_READ | PROT_WRITE, MAP_FIXED), (long)(m + 4 * P));
	CHECK_EQ(m[4 * P] | m[6 * P - 1], 0);
	CHECK(filled(m, 4 * P, (unsigned)i));
	CHECK_ERR((long)anon(m, P, PROT_READ, MAP_FIXED_NOREPLACE), EEXIST);
	n = anon(m, P, PROT_READ, 0);		/* a hint that is taken */
	CHECK(n != m && n != MAP_FAILED);
	CHECK_EQ(munmap(n, P), 0);
	CHECK_ERR((long)anon(NULL, 0, PROT_READ, 0), EINVAL);
	CHECK_ERR((long)anon((void *)1, P, PROT_READ, MAP_FIXED), EINVAL);
	CHECK_ERR((long)anon(NULL, 1ul << 60, PROT_READ, 0), ENOMEM);
	m[4 * P + 5] = (char)i;
	mix(m, 16 * P);
	CHECK_EQ(munmap(m + P, 14 * P), 0);
	mix(m, P);
	mix(m + 15 * P, P);
	CHECK_EQ(munmap(m, P), 0);
	CHECK_EQ(munmap(m + 15 * P, P), 0);
}

static void heap(int i)
{
	char *now = sbrk(0), *m;

	CHECK_EQ((long)sbrk(3 * P + 7), (long)now);
	fill(now, 3 * P + 7, (unsigned)i);
	CHECK_EQ(brk(now + 100), 0);
	CHECK(!readable(now + 3 * P));
	CHECK_EQ(brk(now + 2 * P), 0);
	m = (char *)(((uintptr_t)now + 100 + P - 1) & ~(uintptr_t)(P - 1));
	for (char *p = m; p < now + 2 * P; p++)
		CHECK_EQ(*p, 0);
	mix(now, 2 * P);
	CHECK_EQ(syscall(SYS_brk, 1), (long)now + 2 * P);	/* refused */
	CHECK_EQ(brk(now), 0);
}

static void kinds(int i)
{
	char name[] = "buffer_memory.XXXXXX", *s, *f, *p;
	int fd = mkstemp(name);

	unlink(name);
	CHECK_EQ(ftruncate(fd, 4 * P), 0);
	f = mmap(NULL, 4 * P, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	p = mmap(NULL, 4 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	s = mmap(NULL, 4 * P, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(f != MAP_FAILED && p != MAP_FAILED && s != MAP_FAILED);
	fill(f, 4 * P, (unsigned)i);
	fill(s, 4 * P, (unsigned)i);
	p[P] = 'p';
	CHECK_EQ(madvise(f, 4 * P, MADV_DONTNEED), 0);
	CHECK_EQ(madvise(s, 4 * P, MADV_DONTNEED), 0);
	CHECK_EQ(madvise(p, 4 * P, MADV_DONTNEED), 0);
	CHECK(filled(f, 4 * P, (unsigned)i) && filled(s, 4 * P, (unsigned)i) && filled(p, 4 * P, (unsigned)i));
	CHECK_EQ(pwrite(fd, "written", 7, 2 * P), 7);
	CHECK(!memcmp(f + 2 * P, "written", 7) && !memcmp(p + 2 * P, "written", 7));
	CHECK_EQ(mprotect(f, P, PROT_READ), 0);
	CHECK_ERR(pread(fd, f, 5, 0), EFAULT);
	CHECK_EQ(pread(fd, f + P, 5, 0), 5);
	mix(f, 4 * P);
	mix(p, 4 * P);
	CHECK_EQ(munmap(f + P, 2 * P), 0);
	CHECK_EQ(munmap(f, 4 * P), 0);
	CHECK_EQ(munmap(p, 4 * P), 0);
	CHECK_EQ(munmap(s, 4 * P), 0);
	close(fd);
}

/* A stack below another: pages that come by themselves, a guard that does not move. */
static void __attribute__((noinline)) deep(int n)
{
	volatile char page[3000];

	page[0] = (char)n;
	page[2999] = (char)n;
	if (n)
		deep(n - 1);
	mix((const void *)page, 1);
	CHECK(getppid() >= 0);
}

int main(void)
{
	for (int i = 1; i < 9; i++) {
		holes(i);
		fixed(i);
		heap(i);
		kinds(i);
		deep(i * 20);
	}
	printf("%016lx\n", sum);
	return success();
}
