// leaks: kind=none
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t main_context, co;
static void run(void) { exit(0); }
int main(void)
{
	char *stack = malloc(65536), *kept = malloc(99);
	kept[0] = 2;
	getcontext(&co);
	co.uc_stack.ss_sp = stack;
	co.uc_stack.ss_size = 65536;
	makecontext(&co, run, 0);
	swapcontext(&main_context, &co);
	free(kept);
	free(stack);
	return 0;
}
