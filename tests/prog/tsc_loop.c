// test: timeout=60 variants=default,nobuf,smallbuf
/*
 * Time-stamp counters by the thousand: the process is let read them without a trap, and all are recorded: in loops, in threads,
 * after fork and exec, in code that is mapped or generated later, also in mappings that can be written to.
 */
#include "test.h"
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/wait.h>

static uint64_t tsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static uint64_t tscp(uint32_t *aux)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(*aux));
	return (uint64_t)hi << 32 | lo;
}

/* Another site, which is not patched before the process is let through. */
static __attribute__((noinline)) uint64_t elsewhere(void)
{
	uint32_t lo, hi;

	__asm__ volatile("nop; rdtsc; nop; nop; nop; nop" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static uint64_t sum(uint64_t n)
{
	uint64_t last = 0, all = 0, now;
	uint32_t aux;

	for (uint64_t i = 0; i < n; i++) {
		now = i % 4 ? tsc() : tscp(&aux);
		CHECK(now >= last);
		all = all * 31 + now;
		last = now;
	}
	return all;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Counters a second, from a while of computing. */
static double rate(void)
{
	double from = seconds(), to;
	uint64_t first = elsewhere(), last = first;

	do {
		for (int i = 0; i < 1000; i++)
			last = tsc();
		to = seconds();
	} while (to - from < 0.03);
	return (double)(last - first) / (to - from);
}

static void *work(void *arg)
{
	*(uint64_t *)arg = sum(3000);
	return NULL;
}

static const uint8_t code[] = { 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3 };	/* rdtsc; shl $32,%rdx; or %rdx,%rax; ret */

static uint64_t call(const void *p)
{
	uint64_t (*fn)(void), all = 0;

	memcpy(&fn, &p, sizeof(fn));
	for (int i = 0; i < 20; i++)
		all = all * 31 + fn();
	return all;
}

static void generated(void)
{
	char path[] = "/tmp/tsc_loopXXXXXX";
	uint8_t page[4096] = { 0 };
	int fd = mkstemp(path);
	uint8_t *p;

	/* of a file */
	memcpy(page + 64, code, sizeof(code));
	CHECK(fd >= 0);
	unlink(path);
	CHECK_EQ(write(fd, page, sizeof(page)), 4096);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	printf("mapped %" PRIx64 "\n", call(p + 64));
	/* written, then executable */
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p + 100, code, sizeof(code));
	CHECK_EQ(mprotect(p, 4096, PROT_READ | PROT_EXEC), 0);
	printf("written %" PRIx64 "\n", call(p + 100));
	/* ... and written to again */
	CHECK_EQ(mprotect(p, 4096, PROT_READ | PROT_WRITE), 0);
	memset(p + 100, 0x90, 10);
	memcpy(p + 110, code, sizeof(code));
	CHECK_EQ(mprotect(p, 4096, PROT_READ | PROT_EXEC), 0);
	printf("again %" PRIx64 "\n", call(p + 100));
	/* both at once */
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p + 200, code, sizeof(code));
	printf("both %" PRIx64 "\n", call(p + 200));
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t got[3];
	pthread_t t[3];
	double first, then = 0;
	int status;
	pid_t pid;

	if (argc > 1) {
		printf("exec %" PRIx64 " %" PRIx64 "\n", sum(1000), elsewhere());
		return success();
	}
	first = rate();
	printf("%" PRIx64 "\n", sum(20000));
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, work, &got[i]), 0);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		printf("thread %" PRIx64 "\n", got[i]);
	}
	for (int i = 0; i < 100 && !(then > first * 0.8 && then < first * 1.25); i++) {	/* another process may run in between */
		first = i % 10 ? first : rate();
		then = rate();
	}
	CHECK(then > first * 0.8 && then < first * 1.25);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		printf("child %" PRIx64 " %" PRIx64 "\n", sum(1000), elsewhere());
		fflush(stdout);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	generated();
	printf("%" PRIx64 "\n", sum(2000));
	fflush(stdout);
	execl("/proc/self/exe", argv[0], "x", NULL);
	return 1;
}
