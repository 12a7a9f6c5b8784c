// test: timeout=60 warns
/*
 * Long computing in code that lies where it is hard to change: in pages that the program itself writes to all the time, in
 * shared mappings, in a file that nobody may write to; in one thread and in two.
 */
#define PERIOD_US 3000
#include "state.h"
#include <fcntl.h>
#include <pthread.h>

enum { CODE = 65536 };

static uint64_t probe_rax(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RAX]; }

static unsigned char *put(unsigned char *p, const char *bytes, unsigned n)
{
	memcpy(p, bytes, n);
	return p + n;
}

static unsigned char *put_rel32(unsigned char *p, const unsigned char *to)
{
	int32_t rel = (int32_t)(to - (p + 4));

	return put(p, (const char *)&rel, 4);
}

/* xor %eax, %eax ; 1: n times lea 3(%rax,%rdi,2), %eax ; [mov %eax, store] ; dec %rdi ; jnz 1b (or jmp 1b) ; ret */
static void emit(unsigned char *p, unsigned n, const unsigned char *store, bool endless)
{
	unsigned char *top;

	p = put(p, "\x31\xc0", 2);
	top = p;
	p = put(p, "\x05\x01\0\0\0", 5);	/* add $1, %eax */
	for (unsigned i = 0; i < n; i++)
		p = put(p, "\x8d\x44\x78\x03", 4);
	if (store)
		p = put_rel32(put(p, "\x89\x05", 2), store);
	p = put(p, "\x48\xff\xcf", 3);
	p = endless ? put_rel32(put(p, "\xe9", 1), top) : put_rel32(put(p, "\x0f\x85", 2), top);
	put(p, "\xc3", 1);
}

static unsigned char *code;

static void in_code(void)
{
	((void (*)(unsigned long))(void *)code)(1000000000);
}

static unsigned char *writable(void)
{
	unsigned char *p = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* A counter in the same page, near the code and in it: a constant of an instruction. */
static void own_page(void)
{
	code = writable();
	emit(code, 20, code + 2048, true);
	state_probe = probe_rax;
	run("a counter in the page", HITS / 4, in_code, true);
	code = writable();
	emit(code, 40, code + 3, true);
	state_probe = probe_rax;
	run("a constant in the loop", HITS / 8, in_code, true);
}

static void shared(void)
{
	char name[] = "/tmp/hindsight-code-XXXXXX";
	unsigned char bytes[4096] = { 0 }, *other;
	int fd = memfd_create("code", 0);

	CHECK(fd >= 0 && ftruncate(fd, CODE) == 0);
	other = mmap(NULL, CODE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	code = mmap(NULL, CODE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(other != MAP_FAILED && code != MAP_FAILED);
	emit(other, 20, NULL, true);
	state_probe = probe_rax;
	run("shared", HITS / 4, in_code, true);
	fd = mkstemp(name);
	emit(bytes, 20, NULL, true);
	CHECK(fd >= 0 && write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
	close(fd);
	fd = open(name, O_RDONLY);
	unlink(name);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(code != MAP_FAILED);
	state_probe = probe_rax;
	run("a file", HITS / 4, in_code, true);
}

static volatile int turns[2];

/* Makes its code anew, runs it, and stores to the page that both threads' code is in. */
static void *worker(void *arg)
{
	unsigned me = arg != NULL;
	unsigned long sum = 0;

	for (int i = 0; i < 400; i++) {
		emit(code + 1024 * me, 10 + (unsigned)i % 7, NULL, false);
		sum += ((unsigned (*)(unsigned long))(void *)(code + 1024 * me))(30000);
		((volatile unsigned long *)(void *)(code + 2048))[me] = sum;
		turns[me]++;
	}
	return (void *)sum;
}

static void threads(void)
{
	static char second;
	pthread_t t;
	void *a, *b;

	code = writable();
	signal(SIGALRM, SIG_IGN);
	CHECK(!pthread_create(&t, NULL, worker, &second));
	a = worker(NULL);
	CHECK(!pthread_join(t, &b));
	CHECK_EQ(turns[0] + turns[1], 800);
	printf("threads %lx %lx\n", (unsigned long)a, (unsigned long)b);
}

int main(void)
{
	own_page();
	shared();
	threads();
	return success();
}
