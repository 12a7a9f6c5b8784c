/*
 * Writes code into memory that is writable and executable at once, as JIT compilers do: cpuid and
 * xgetbv in a page that is run before and after; over code that was run; at the end of one page and
 * the beginning of the next; in a child; in memory that changes its protection, moves, and is
 * unmapped; a page that changes often; faults of its own.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 16, ALL = PROT_READ | PROT_WRITE | PROT_EXEC };
typedef unsigned long fn(unsigned long leaf);
static sigjmp_buf back;
static int faults;

/* push %rbx; mov %edi,%eax; xor %ecx,%ecx; cpuid; mov %ebx,%eax; pop %rbx; ret */
static const unsigned char cpuid_code[] = { 0x53, 0x89, 0xf8, 0x31, 0xc9, 0x0f, 0xa2, 0x89, 0xd8, 0x5b, 0xc3 };
/* xor %ecx,%ecx; xgetbv; ret */
static const unsigned char xgetbv_code[] = { 0x31, 0xc9, 0x0f, 0x01, 0xd0, 0xc3 };
/* mov $N,%eax; ret */
static const unsigned char number_code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
/* rdtsc; mov $7,%eax; ret */
static const unsigned char tsc_code[] = { 0x0f, 0x31, 0xb8, 7, 0, 0, 0, 0xc3 };

static fn *put(unsigned char *at, const void *code, size_t len)
{
	memcpy(at, code, len);
	return (fn *)(void *)at;
}
#define PUT(at, code) put(at, code, sizeof(code))

static fn *put_number(unsigned char *at, int n)
{
	fn *f = PUT(at, number_code);

	memcpy(at + 1, &n, sizeof(n));
	return f;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	faults++;
	if (sig == SIGSEGV)
		printf("fault %d at %s\n", info->si_code, info->si_addr ? "memory" : "0");
	siglongjmp(back, 1);
}

static void often(unsigned char *page)
{
	unsigned long sum = 0;

	for (int i = 0; i < 60; i++)
		sum += put_number(page + 16 * (i & 3), i)(0);
	printf("often %lu\n", sum);
}

static void in_child(unsigned char *page)
{
	int status;

	fflush(stdout);
	if (fork() == 0) {
		printf("child %lx", PUT(page, cpuid_code)(0));
		printf(" %lu", put_number(page, 5)(0));
		printf(" %lx\n", PUT(page + 64, cpuid_code)(0));
		fflush(stdout);
		_exit(3);
	}
	wait(&status);
	printf("child ended with %d, parent %lu\n", WEXITSTATUS(status), ((fn *)(void *)page)(0));
}

static void changed(unsigned char *page)
{
	unsigned char *to;

	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	if (!sigsetjmp(back, 1))
		((fn *)(void *)page)(0);
	PUT(page, cpuid_code);
	mprotect(page, PAGE, PROT_READ | PROT_EXEC);
	printf("read, exec %lx\n", ((fn *)(void *)page)(0));
	if (!sigsetjmp(back, 1))
		page[0] = 0;
	mprotect(page, PAGE, ALL);
	printf("all again %lx", ((fn *)(void *)page)(0));
	printf(" %lu\n", put_number(page, 9)(0));
	to = mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page + 8 * PAGE);
	printf("moved %lu", ((fn *)(void *)to)(0));
	printf(" %lx\n", PUT(to + 32, cpuid_code)(0));
	munmap(to, PAGE);
	if (!sigsetjmp(back, 1))
		((fn *)(void *)to)(0);
	page = mmap(NULL, PAGE, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	put_number(page, 3);
	page = mremap(page, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	printf("grown %lx", PUT(page + 2 * PAGE, cpuid_code)(0));
	printf(" %lu", ((fn *)(void *)page)(0));
	page = mremap(page + 2 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	printf(" %lu %lx\n", PUT(page + PAGE + 64, number_code)(0), ((fn *)(void *)page)(0));
}

/* Pages in a row, of which some were run and some written to: they move, and shrink, as one. */
static void moved(void)
{
	unsigned char *m = mmap(NULL, 4 * PAGE, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to;

	printf("pieces %lx", PUT(m + PAGE, cpuid_code)(0));
	printf(" %lu", put_number(m + 3 * PAGE, 8)(0));
	PUT(m + 3 * PAGE + 64, cpuid_code);
	to = mremap(m, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
	if (to == MAP_FAILED)
		printf(" not moved\n");
	else
		printf(" %lx %lx", ((fn *)(void *)(to + PAGE))(0), ((fn *)(void *)(to + 3 * PAGE + 64))(0));
	m = mmap(NULL, PAGE, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m = mremap(to, 8 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, m);
	printf(" %lx\n", ((fn *)(void *)(m + PAGE))(0));
}

/* More pages than are kept apart: one in two is run, forwards and back. */
static void many(void)
{
	enum { MANY = 18000 };
	unsigned char *m = mmap(NULL, (size_t)MANY * PAGE, ALL, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long sum = 0;

	for (int i = 0; i < MANY; i += 2)
		sum += i % 100 ? put_number(m + (size_t)i * PAGE, i)(0) : PUT(m + (size_t)i * PAGE, cpuid_code)(1) & 0xff00;
	for (int i = MANY - 200; i >= 0; i -= 200)
		sum = sum * 31 + ((fn *)(void *)(m + (size_t)i * PAGE))(0);
	printf("many %lx\n", sum);
}

/* Between zeros; where it cannot be run and written to at once. */
static void padded(void)
{
	unsigned char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fn *f = PUT(m + 101, cpuid_code);

	mprotect(m, PAGE, PROT_READ | PROT_EXEC);
	printf("padded %lx\n", f(0));
}

static void by_call(unsigned char *page)
{
	int fds[2];

	if (pipe(fds) || write(fds[1], cpuid_code, sizeof(cpuid_code)) != (ssize_t)sizeof(cpuid_code) ||
	    read(fds[0], page, sizeof(cpuid_code)) != (ssize_t)sizeof(cpuid_code))
		printf("pipe\n");
	printf("read %lx\n", ((fn *)(void *)page)(0));
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	unsigned char *m = mmap(NULL, PAGES * PAGE, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *edge = m + 2 * PAGE - 6;

	(void)argv;
	sigaction(SIGSEGV, &sa, NULL);
	printf("first %lx", PUT(m, cpuid_code)(0));
	printf(" %lx", PUT(m + 64, cpuid_code)(0));
	printf(" %lu", put_number(m, 1)(0));
	printf(" %lx %lx\n", PUT(m, cpuid_code)(1) & 0xff00, ((fn *)(void *)(m + 64))(0));
	if (PUT(m + 128, cpuid_code)(7) & (1 << 5))	/* AVX2: so XSAVE */
		printf("xgetbv %lx\n", PUT(m + 256, xgetbv_code)(0) & 7);
	printf("edge %lx", PUT(edge, cpuid_code)(0));
	printf(" %lx\n", PUT(edge - 64, cpuid_code)(0));
	printf("tsc %lu\n", PUT(m + 3 * PAGE, tsc_code)(0));
	often(m + 4 * PAGE);
	put_number(m + 5 * PAGE, 4)(0);
	in_child(m + 5 * PAGE);
	by_call(m + 7 * PAGE);
	changed(m + 6 * PAGE);
	moved();
	padded();
	if (argc > 1)
		many();
	printf("%d faults\n", faults);
	return 0;
}
