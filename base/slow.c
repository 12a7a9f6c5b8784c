#include "base/slow.h"

#include <errno.h>
#include <unistd.h>

void (*slow_run)(void (*fn)(void *), void *ctx);
unsigned slow_left;

struct call {
	long nr, arg[6], ret;
	int error;
};

static void make(void *ctx)
{
	struct call *c = ctx;

	c->ret = syscall(c->nr, c->arg[0], c->arg[1], c->arg[2], c->arg[3], c->arg[4], c->arg[5]);
	c->error = errno;
}

void slow_do(void (*fn)(void *), void *ctx)
{
	if (slow_run)
		slow_run(fn, ctx);
	else
		fn(ctx);
}

long slow_call(long nr, long a0, long a1, long a2, long a3, long a4, long a5)
{
	struct call c = { .nr = nr, .arg = { a0, a1, a2, a3, a4, a5 }, .ret = -1, .error = EIO };

	slow_do(make, &c);
	errno = c.error;
	return c.ret;
}
