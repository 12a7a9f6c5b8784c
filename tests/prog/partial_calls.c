// test: cflags=-O0
/* Calls on ranges of memory that fail at the second mapping, when the first is done. */
#include "test.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { P = 4096 };

static char *pages(size_t n, int prot, int flags)
{
	char *p = mmap(NULL, n * P, prot, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* [0, 4) filled; what advice makes of it when [2, 4) is locked. */
static void locked_behind(int advice, int flags, int want, int first)
{
	char *p = pages(4, PROT_READ | PROT_WRITE, flags);
	int r, e;

	memset(p, 'x', 4 * P);
	CHECK_EQ(mlock(p + 2 * P, P), 0);
	r = madvise(p, 4 * P, advice);
	e = errno;
	CHECK_EQ(r, -1);
	CHECK_EQ(e, want);
	CHECK_EQ(p[0], first);
	CHECK_EQ(p[P + 5], first);
	CHECK_EQ(p[2 * P], 'x');
	CHECK_EQ(p[3 * P], 'x');
	p[P] = 'y';
	munmap(p, 4 * P);
}

static void hole(int advice)
{
	char *p = pages(4, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	memset(p, 'x', 4 * P);
	munmap(p + P, P);
	CHECK_ERR(madvise(p, 4 * P, advice), ENOMEM);
	CHECK_EQ(p[0], advice == MADV_DONTNEED ? 0 : 'x');
	CHECK_EQ(p[3 * P], advice == MADV_DONTNEED ? 0 : 'x');
	munmap(p, 4 * P);
}

static void file_dropped(void)
{
	char name[] = "/tmp/partial_XXXXXX", *p, text[4 * P];
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	unlink(name);
	memset(text, 'f', sizeof(text));
	CHECK_EQ(write(fd, text, sizeof(text)), sizeof(text));
	p = mmap(NULL, 4 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	memset(p, 'x', 4 * P);
	CHECK_EQ(mlock(p + 2 * P, P), 0);
	CHECK_ERR(madvise(p, 4 * P, MADV_DONTNEED), EINVAL);
	CHECK_EQ(p[0], 'f');
	CHECK_EQ(p[2 * P], 'x');
	munmap(p, 4 * P);
	close(fd);
}

/* Wiped in the child: only the private part can be. */
static void wiped_on_fork(void)
{
	char *p = pages(4, PROT_READ | PROT_WRITE, MAP_PRIVATE), *q;
	int status;

	memset(p, 'x', 4 * P);
	q = mmap(p + 2 * P, 2 * P, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(q == p + 2 * P);
	memset(q, 's', 2 * P);
	CHECK_ERR(madvise(p, 4 * P, MADV_WIPEONFORK), EINVAL);
	if (fork() == 0)
		_exit(p[0] == 0 && p[P] == 0 && p[2 * P] == 's' ? 7 : 8);
	CHECK(wait(&status) > 0);
	CHECK_EQ(WEXITSTATUS(status), 7);
	munmap(p, 4 * P);
}

static void protected(void)
{
	char *p = pages(4, PROT_READ | PROT_WRITE, MAP_PRIVATE), *q;
	char name[] = "/tmp/partial_XXXXXX";
	int fd = mkstemp(name), ro = open(name, O_RDONLY), status;

	CHECK(fd >= 0 && ro >= 0);
	unlink(name);
	CHECK_EQ(ftruncate(fd, 2 * P), 0);
	q = mmap(p + 2 * P, 2 * P, PROT_READ, MAP_SHARED | MAP_FIXED, ro, 0);
	CHECK(q == p + 2 * P);
	mprotect(p, 2 * P, PROT_READ);
	CHECK_ERR(mprotect(p, 4 * P, PROT_READ | PROT_WRITE), EACCES);
	p[0] = 'w';			/* faults in replay unless the first part was changed there too */
	p[P] = 'w';
	munmap(p + P, P);
	CHECK_ERR(mprotect(p, 2 * P, PROT_NONE), ENOMEM);
	if (fork() == 0) {
		volatile char c = p[0];

		(void)c;
		_exit(0);
	}
	CHECK(wait(&status) > 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	munmap(p, 4 * P);
	close(fd);
	close(ro);
}

/* The place is cleared before the old range is found to be bad. */
static void moved(void)
{
	char *p = pages(4, PROT_READ | PROT_WRITE, MAP_PRIVATE), *hole = pages(4, PROT_READ, MAP_PRIVATE);
	unsigned char vec[4];

	memset(p, 'x', 4 * P);
	munmap(hole + P, 3 * P);
	CHECK(mremap(hole, 2 * P, 4 * P, MREMAP_MAYMOVE | MREMAP_FIXED, p) == MAP_FAILED);
	printf("target is %s\n", mincore(p, P, vec) == 0 ? "there" : "gone");
	CHECK(mmap(p, 4 * P, PROT_READ, MAP_SHARED | MAP_FIXED, 12345, 0) == MAP_FAILED);
	CHECK(mmap(p, 4 * P, PROT_READ, MAP_PRIVATE | MAP_FIXED, 0x7fff, 0) == MAP_FAILED);
}

/* Beyond what a process can have (four levels of page tables, five, none): nothing goes. */
static void beyond(void)
{
	static const uint64_t at[] = { 1ull << 47, 1ull << 48, (1ull << 56) - P, 1ull << 56, -(uint64_t)(2 * P) };

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		void *p = mmap((void *)at[i], 2 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		if (p != MAP_FAILED)
			CHECK_EQ(munmap(p, 2 * P), 0);
		p = pages(1, PROT_READ, MAP_PRIVATE);
		CHECK(mremap(p, P, P, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at[i]) == MAP_FAILED || i < 3);
		munmap((void *)at[i], P);
		mprotect((void *)at[i], P, PROT_READ);
		madvise((void *)at[i], P, MADV_DONTNEED);
		munmap(p, P);
	}
}

int main(void)
{
	for (int i = 0; i < 4; i++) {		/* the third time the site is patched */
		locked_behind(MADV_DONTNEED, MAP_PRIVATE, EINVAL, 0);
		locked_behind(MADV_DONTNEED, MAP_SHARED, EINVAL, 'x');
		locked_behind(MADV_REMOVE, MAP_SHARED, EINVAL, 0);
		hole(MADV_DONTNEED);
		hole(MADV_WILLNEED);
		file_dropped();
		wiped_on_fork();
		protected();
		moved();
		beyond();
	}
	CHECK_ERR(madvise((void *)1, P, MADV_DONTNEED), EINVAL);
	CHECK_ERR(madvise((void *)P, -P, MADV_DONTNEED), EINVAL);
	return success();
}
