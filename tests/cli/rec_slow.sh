#!/bin/bash
# test: timeout=200
# A recorder that is slow now and then, as on a loaded machine: a timer that is faster than its steps keeps no program from its end.
. "$LIB"
need gcc
cat >slow.c <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
static uint64_t x;
__attribute__((constructor)) static void init(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	x = (uint64_t)t.tv_nsec * 2654435761u + (uint64_t)getpid();
	unsetenv("LD_PRELOAD");		/* the recorder alone */
}
static void nap(void)
{
	struct timespec t = { 0, 0 };
	int saved = errno;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	t.tv_nsec = (long)((x >> 20) % 3000000);
	if (x % 40 == 0)
		nanosleep(&t, NULL);
	errno = saved;
}
pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t (*f)(pid_t, int *, int) = dlsym(RTLD_NEXT, "waitpid");
	pid_t ret;

	nap();
	ret = f(pid, status, options);
	nap();
	return ret;
}
long ptrace(int request, ...)
{
	long (*f)(int, pid_t, void *, void *) = dlsym(RTLD_NEXT, "ptrace");
	va_list ap;
	pid_t pid;
	void *addr, *data;
	long ret;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	nap();
	ret = f(request, pid, addr, data);
	nap();
	return ret;
}
X
gcc -O2 -w -shared -fPIC -o slow.so slow.c -ldl || skip 'no compiler'
for prog in timer_rushes state_code_timers timer_rushes state_timer timer_rushes no_eintr_storm timer_rushes ptrace_step_timer timer_rushes timer_rushes timer_rushes timer_rushes; do
	rm -rf t
	LD_PRELOAD=$PWD/slow.so timeout 60 "$REC" --checksum -o t -- "$BUILD/tests/prog/$prog" >out 2>err || fail "$prog: exit $?: $(tail -1 err)"
	timeout 60 "$REPLAY" -a t >again 2>err || fail "$prog: replay: exit $?: $(tail -1 err)"
	cmp -s out again || fail "$prog: other output"
done
