#include "base/stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

enum { WANTED = 8 << 20, GUARD = 1 << 16 };

static struct {
	int (*fn)(int argc, char **argv);
	int argc, ret;
	char **argv;
	ucontext_t before, own;
} run;

static void begin(void)
{
	run.ret = run.fn(run.argc, run.argv);
}

/* Threads get the size of the limit, too, unless told otherwise. */
static void threads_as_large(void)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, WANTED))
		pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

int stack_run(int (*fn)(int argc, char **argv), int argc, char **argv)
{
	struct rlimit limit;
	char *stack;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= WANTED)
		return fn(argc, argv);
	stack = mmap(NULL, GUARD + WANTED, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || getcontext(&run.own))
		return fn(argc, argv);	/* memory is limited as well */
	mprotect(stack, GUARD, PROT_NONE);
	threads_as_large();
	run.fn = fn;
	run.argc = argc;
	run.argv = argv;
	run.own.uc_stack.ss_sp = stack + GUARD;
	run.own.uc_stack.ss_size = WANTED;
	run.own.uc_link = &run.before;
	makecontext(&run.own, begin, 0);
	if (swapcontext(&run.before, &run.own))
		return fn(argc, argv);
	return run.ret;
}
