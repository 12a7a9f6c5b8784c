/*
 * Makes 40 functions, runs them, and writes a perf map of them when it ends, as HotSpot does.  Where
 * the sixth is, other code is first, which no line names.
 *	jit_late dump	a jitdump file instead, whose records have the times at which the functions were made, as node does; it names
 *			that other code, too, and code that is unmapped by then
 *	jit_late lines	a perf map that is open while the functions are made, whose lines are in a buffer up to the end, as mono's are
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { N = 40, STEP = 256 };
typedef void fn(void);

/* n times nop; mov $turns,%ecx; 1: dec %ecx; jnz 1b; ret */
static void make(unsigned char *at, int n, unsigned turns)
{
	static const unsigned char loop[] = { 0xb9, 0, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };

	memset(at, 0x90, n);
	memcpy(at + n, loop, sizeof(loop));
	memcpy(at + n + 1, &turns, sizeof(turns));
}

static char dump[N * STEP];
static size_t len;

static void word(unsigned long v, size_t size)
{
	memcpy(dump + len, &v, size);
	len += size;
}

/* A record for code that is made now. */
static void note(const void *at, size_t size, const char *what, int i)
{
	struct timespec t;
	char name[32];
	size_t n = (size_t)snprintf(name, sizeof(name), "%s_%d", what, i) + 1;

	clock_gettime(CLOCK_MONOTONIC, &t);
	word(0, 4);
	word(16 + 40 + n, 4);
	word((unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec, 8);
	word((unsigned long)getpid(), 4);
	word((unsigned long)getpid(), 4);
	word((unsigned long)at, 8);
	word((unsigned long)at, 8);
	word(size, 8);
	word((unsigned long)i, 8);
	memcpy(dump + len, name, n);
	len += n;
}

static int dumped(unsigned char *m)
{
	unsigned char *other = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "jit-%d.dump", getpid());
	f = fopen(name, "w");
	word(0x4A695444, 4);
	word(1, 4);
	word(40, 4);
	word(62, 4);
	word(0, 24);
	memset(dump + 24, 0, 16);
	note(m + 5 * STEP, 100, "early", 5);
	note(other, 100, "gone", 0);
	syscall(SYS_getppid);
	munmap(other, 4096);
	for (int i = 0; i < N; i++) {
		note(m + i * STEP, 20 + i, "late", i);
		syscall(SYS_getppid);
	}
	for (int i = 0; i < 100; i++)
		syscall(SYS_gettid);
	fwrite(dump, 1, len, f);
	fclose(f);
	unlink(name);
	return 0;
}

static int lines(unsigned char *m)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "perf-%d.map", getpid());
	f = fopen(name, "w");
	for (int i = 0; i < N; i++) {
		make(m + i * STEP, 10 + i, 20000);
		fprintf(f, "%lx %x late_%d\n", (unsigned long)(m + i * STEP), 20 + i, i);
		syscall(SYS_getppid);
	}
	fclose(f);
	unlink(name);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned char *m = mmap(NULL, N * STEP, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64];
	FILE *f;

	if (argc > 1)
		return *argv[1] == 'd' ? dumped(m) : lines(m);
	/* other code, longer: not a name's */
	make(m + 5 * STEP, 100, 200000000);
	((fn *)(void *)(m + 5 * STEP))();
	for (int i = 0; i < N; i++)
		make(m + i * STEP, 10 + i, i == 7 ? 100000000 : i == 5 ? 20000000 : 20000);
	for (int i = 0; i < N; i++) {
		syscall(SYS_getppid);	/* moments */
		((fn *)(void *)(m + i * STEP))();
		syscall(SYS_getppid);
	}
	for (int i = 0; i < 100; i++)
		syscall(SYS_gettid);
	snprintf(name, sizeof(name), "perf-%d.map", getpid());
	f = fopen(name, "w");
	for (int i = 0; i < N; i++)
		fprintf(f, "%lx %x late_%d\n", (unsigned long)(m + i * STEP), 20 + i, i);
	fclose(f);
	unlink(name);
	return 0;
}
