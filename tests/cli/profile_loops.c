// test: cflags=-O1
/* Loops of one kind of instruction in known shares: 60, 30 and 10 of a hundred (profile*.sh). */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;
#define LOOP(name)                                                                \
	__attribute__((noinline)) void name(unsigned long n)                      \
	{                                                                         \
		unsigned x = 1;                                                   \
		for (unsigned long i = 0; i < n; i++) {                           \
			x = x * 1103515245 + 12345;                               \
			__asm__ volatile("" : "+r"(x));                           \
		}                                                                 \
		sink = x;                                                         \
	}
LOOP(sixty)
LOOP(thirty)
LOOP(ten)

static inline __attribute__((always_inline)) void inlined(unsigned long n)
{
	unsigned x = 2;

	for (unsigned long i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		__asm__ volatile("" : "+r"(x));
	}
	sink = x;
}

__attribute__((noinline)) void first_phase(unsigned long n) { sixty(n); }
__attribute__((noinline)) void second_phase(unsigned long n) { thirty(n); inlined(n); }

static void *seventy_thread(void *n) { sixty(7 * *(unsigned long *)n); return NULL; }
static void *thirty_thread(void *n) { thirty(3 * *(unsigned long *)n); return NULL; }

static void calls(unsigned long n)
{
	int fd = open("/dev/zero", O_RDONLY);
	char b;

	for (unsigned long i = 0; i < n / 1000; i++) {
		sixty(6000);
		if (read(fd, &b, 1) != 1)
			exit(2);
		thirty(3000);
		lseek(fd, 0, SEEK_SET);
		ten(1000);
	}
}

static void threads(unsigned long n)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, seventy_thread, &n);
	pthread_create(&t[1], NULL, thirty_thread, &n);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

static void processes(unsigned long n)
{
	pid_t pid = fork();

	if (!pid) {
		sixty(7 * n);
		_exit(0);
	}
	thirty(3 * n);
	waitpid(pid, NULL, 0);
}

static void waits(void)
{
	struct timespec ts = { 0, 300000000 };

	nanosleep(&ts, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "loops";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 0) : 20000000;

	if (!strcmp(what, "loops")) {
		for (int i = 0; i < 100; i++) {
			sixty(6 * n / 100);
			thirty(3 * n / 100);
			ten(n / 100);
		}
	} else if (!strcmp(what, "calls")) {
		calls(n);
	} else if (!strcmp(what, "threads")) {
		threads(n);
	} else if (!strcmp(what, "processes")) {
		processes(n);
	} else if (!strcmp(what, "phases")) {
		first_phase(4 * n);
		waits();
		second_phase(3 * n);
	}
	puts("EXIT-SUCCESS");
	return 0;
}
