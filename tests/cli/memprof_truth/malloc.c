/*
 * malloc.c - for LD_PRELOAD: malloc() and its kin, written down with the line of Python (3.11) that runs, as
 * Python itself works it out, and the thread.  MALLOC_LOG names the file.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
extern char _PyRuntime[] __attribute__((weak));
extern int PyCode_Addr2Line(void *, int) __attribute__((weak));

static char text[128 << 20];
static size_t len;
static struct { uintptr_t addr; size_t size; } known[1 << 20];
static char file[128];

static size_t *size_of(void *p)
{
	size_t i = ((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15 >> 44;

	while (known[i].addr && known[i].addr != (uintptr_t)p)
		i = (i + 1) & ((1 << 20) - 1);
	known[i].addr = (uintptr_t)p;
	return &known[i].size;
}

/* Of the program's own code, 0 elsewhere. */
static int line(void)
{
	char *thread, *cframe, *frame, *code, *name;
	int now;

	if (!_PyRuntime || !(thread = *(char **)(_PyRuntime + 576)) || *(pthread_t *)(thread + 152) != pthread_self())
		return 0;
	cframe = *(char **)(thread + 56);
	frame = cframe ? *(char **)(cframe + 8) : NULL;
	if (!frame)
		return 0;
	code = *(char **)(frame + 32);
	name = *(char **)(code + 112) + 48;
	if (!file[0] || strlen(name) < strlen(file) || strcmp(name + strlen(name) - strlen(file), file))
		return 0;
	now = PyCode_Addr2Line(code, (int)(*(char **)(frame + 56) - (code + 184)));
	return now > 0 ? now : 0;
}

static void say(const char *what, void *old, size_t old_size, void *new, size_t size)
{
	static unsigned lock;
	static __thread pid_t self __attribute__((tls_model("initial-exec")));

	if (!self)
		self = gettid();
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	if (len + 200 < sizeof(text))
		len += (size_t)sprintf(text + len, "%s %#lx %zu %#lx %zu %d %d\n", what, (uintptr_t)old, old_size, (uintptr_t)new,
				       size, line(), self);
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

void *malloc(size_t n)
{
	void *p = __libc_malloc(n);

	if (p) {
		*size_of(p) = n;
		say("alloc", NULL, 0, p, n);
	}
	return p;
}

void *calloc(size_t a, size_t b)
{
	void *p = __libc_calloc(a, b);

	if (p) {
		*size_of(p) = a * b;
		say("alloc", NULL, 0, p, a * b);
	}
	return p;
}

void *realloc(void *was, size_t n)
{
	size_t old = was ? *size_of(was) : 0;
	void *p = __libc_realloc(was, n);

	if (p) {
		*size_of(p) = n;
		say(was ? "realloc" : "alloc", was, old, p, n);
	}
	return p;
}

void free(void *p)
{
	if (!p)
		return;
	say("free", p, *size_of(p), NULL, 0);
	__libc_free(p);
}

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("MALLOC_FILE");

	if (name)
		snprintf(file, sizeof(file), "%s", name);
}

/* All that there is by now. */
void malloc_log_write(void)
{
	const char *name = getenv("MALLOC_LOG");
	int fd = name ? open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	size_t n = len;

	for (size_t at = 0; fd >= 0 && at < n;) {
		ssize_t k = write(fd, text + at, n - at);

		if (k <= 0)
			break;
		at += (size_t)k;
	}
	close(fd);
}

__attribute__((destructor)) static void end(void)
{
	malloc_log_write();
}
