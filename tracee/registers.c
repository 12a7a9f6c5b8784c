/*
 * registers.c - do the processor's debug registers work here?
 *
 * Under some hypervisors ptrace takes whatever is written to them, and nothing ever triggers (seen with a guest kernel in
 * ring 3, PVM).  So a child of ours tries: it writes to a word that DR0 watches, then comes to an instruction that DR1 is set to.
 */
#include "tracee/registers.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITE_0 = 1 | (1 | 3 << 2) << 16, EXECUTE_1 = 1 << 2 };

static volatile uint64_t watched;

static __attribute__((noinline)) void executed(void)
{
	__asm__ volatile("");
}

static _Noreturn void child(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	watched = 1;
	executed();
	_exit(0);
}

static bool poke(pid_t pid, unsigned n, uint64_t value)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg) + 8ul * n, value) == 0;
}

static bool stops_with(pid_t pid, int sig)
{
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == sig;
}

/* Is the next stop that of register n? */
static bool triggers(pid_t pid, unsigned n)
{
	if (ptrace(PTRACE_CONT, pid, NULL, NULL) < 0 || !stops_with(pid, SIGTRAP))
		return false;
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg) + 8 * 6, NULL) & (1 << n) && poke(pid, 6, 0);
}

static bool try(void)
{
	pid_t pid = fork();
	bool good;

	if (pid == 0)
		child();
	if (pid < 0)
		return false;
	good = stops_with(pid, SIGSTOP) && poke(pid, 0, (uint64_t)(uintptr_t)&watched) && poke(pid, 1, (uint64_t)(uintptr_t)executed) &&
		poke(pid, 7, WRITE_0 | EXECUTE_1) && triggers(pid, 0) && triggers(pid, 1);
	kill(pid, SIGKILL);
	while (waitpid(pid, &(int){ 0 }, __WALL) == pid)
		;
	return good;
}

static bool forbidden(void)
{
	const char *asked = getenv("HINDSIGHT_NODR");

	return asked && *asked == '1';
}

bool debug_registers_work(void)
{
	static enum { UNKNOWN, GOOD, BAD } known;

	if (known == UNKNOWN)
		known = !forbidden() && try() ? GOOD : BAD;
	return known == GOOD;
}
