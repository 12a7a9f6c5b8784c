// test: libs=-lpthread
/*
 * memprof.c - allocates in every way and says so: "WHAT OLD OLDSIZE NEW NEWSIZE LINE" for each, in order.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char text[4 << 20];
static size_t len;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *what, uintptr_t old, size_t old_size, uintptr_t new, size_t size, int line)
{
	len += snprintf(text + len, sizeof(text) - len, "%s %#lx %zu %#lx %zu %d\n", what, old, old_size, new, size, line);
}

#define NEW(p, size, call) do { pthread_mutex_lock(&lock); (p) = (call); say("alloc", 0, 0, (uintptr_t)(p), (size), __LINE__); pthread_mutex_unlock(&lock); } while (0)
#define FREE(p, size) do { pthread_mutex_lock(&lock); say("free", (uintptr_t)(p), (size), 0, 0, __LINE__); free(p); pthread_mutex_unlock(&lock); } while (0)
#define MOVE(p, was, size) do { uintptr_t o_ = (uintptr_t)(p); pthread_mutex_lock(&lock); (p) = realloc(p, size); \
	say(o_ ? "realloc" : "alloc", o_, o_ ? (size_t)(was) : 0, (uintptr_t)(p), (size), __LINE__); pthread_mutex_unlock(&lock); } while (0)

static unsigned next(unsigned *seed) { return *seed = *seed * 1103515245 + 12345, *seed >> 8; }

static void *work(void *arg)
{
	enum { SLOTS = 200, ROUNDS = 4000 };
	void *p[SLOTS] = { NULL };
	size_t size[SLOTS] = { 0 };
	unsigned seed = (unsigned)(long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned k = next(&seed) % SLOTS;
		size_t n = next(&seed) % 3000 + 1;

		switch (next(&seed) % 6) {
		case 0:
			if (p[k])
				FREE(p[k], size[k]);
			NEW(p[k], n, malloc(n));
			size[k] = n;
			break;
		case 1:
			if (p[k])
				FREE(p[k], size[k]);
			NEW(p[k], 4 * n, calloc(4, n));
			size[k] = 4 * n;
			break;
		case 2:
			MOVE(p[k], size[k], n);
			size[k] = n;
			break;
		case 3:
			if (p[k])
				FREE(p[k], size[k]);
			NEW(p[k], 64 * n, aligned_alloc(64, 64 * n));
			size[k] = 64 * n;
			break;
		default:
			if (p[k])
				FREE(p[k], size[k]);
			p[k] = NULL;
			break;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	void *m = NULL, *big;
	int fd;

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	if (posix_memalign(&m, 256, 1000))
		return 1;
	say("alloc", 0, 0, (uintptr_t)m, 1000, __LINE__ - 2);
	MOVE(m, 1000, 100000);
	FREE(m, 100000);
	big = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("alloc-map", 0, 0, (uintptr_t)big, 1 << 20, __LINE__ - 1);
	say("free-map", (uintptr_t)big, 1 << 20, 0, 0, __LINE__ + 1);
	munmap(big, 1 << 20);
	fd = open(argv[argc - 1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		return 1;
	puts("EXIT-SUCCESS");
	return 0;
}
