/* truth.h - a program says what it allocates: WHAT OLD OLDSIZE NEW NEWSIZE LINE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/mman.h>
static struct {
	char what;
	int line;
	uintptr_t old;
	size_t osize;
	uintptr_t now;
	size_t size;
} T[400000];
static volatile int tn;
static void say(char w, uintptr_t o, size_t os, uintptr_t n, size_t s, int line)
{
	int i = __sync_fetch_and_add(&tn, 1);
	T[i].what = w;
	T[i].line = line;
	T[i].old = o;
	T[i].osize = os;
	T[i].now = n;
	T[i].size = s;
}
static void dump(const char *file)
{
	int fd = open(file, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	char b[200];
	for (int i = 0; i < tn; i++) {
		int n = snprintf(b, sizeof b, "%s %#lx %zu %#lx %zu %d\n",
				 T[i].what == 'a'   ? "alloc"
				 : T[i].what == 'f' ? "free"
						    : "realloc",
				 T[i].old, T[i].osize, T[i].now, T[i].size, T[i].line);
		if (write(fd, b, n)) {
		}
	}
	close(fd);
}
#define A(p, s, call)                                                  \
	do {                                                           \
		(p) = (call);                                          \
		if (p)                                                 \
			say('a', 0, 0, (uintptr_t)(p), (s), __LINE__); \
	} while (0)
#define F(p, s)                                                \
	do {                                                   \
		say('f', (uintptr_t)(p), (s), 0, 0, __LINE__); \
		free(p);                                       \
	} while (0)
