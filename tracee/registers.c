/*
 * registers.c - do the processor's debug registers work here, and how do they report string
 * instructions?
 *
 * Under some hypervisors ptrace takes whatever is written to them, and nothing ever triggers (seen
 * with a guest kernel in ring 3, PVM).  So a child of ours tries: it writes to a word that DR0
 * watches, then comes to an instruction that DR1 is set to.
 *
 * A repeated string instruction that stores to a watched word is reported between two of its
 * iterations: after the one that stored, or up to 192 bytes later (Intel's fast string stores).
 * Intel's processors push the flags with RF set then, which tells this case from a store by the
 * instruction before; an AMD guest whose hypervisor intercepts #DB does not see RF.  A second child
 * finds out which it is: a store in front of a string instruction, then a string instruction that
 * stores to the word.
 */
#include "tracee/registers.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITE_0 = 1 | (1 | 3 << 2) << 16, WRITE_8 = 1 | (1 | 2 << 2) << 16, EXECUTE_1 = 1 << 2 };

static volatile uint64_t watched;

enum { BLOCK = 1024, RF = 0x10000 };

/* On one page: a page fault in the middle of a string instruction would leave RF set, too. */
static struct {
	uint8_t before[BLOCK];
	volatile uint64_t word;
	uint8_t behind[BLOCK];
} block __attribute__((aligned(4096)));

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

static _Noreturn void string_child(void)
{
	uint8_t *to = block.behind;
	uint64_t n = BLOCK;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	__asm__ volatile("movq $1, -8(%0)\n\trep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
	to = block.before;
	n = sizeof(block);
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
	_exit(0);
}

static bool poke(pid_t pid, unsigned n, uint64_t value)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg) + 8ul * n, value) ==
	       0;
}

static bool stops_with(pid_t pid, int sig)
{
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
	       WSTOPSIG(status) == sig;
}

/* Is the next stop that of register n? */
static bool triggers(pid_t pid, unsigned n)
{
	if (ptrace(PTRACE_CONT, pid, NULL, NULL) < 0 || !stops_with(pid, SIGTRAP))
		return false;
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg) + 8 * 6, NULL) &
		       (1 << n) &&
	       poke(pid, 6, 0);
}

static bool try(void)
{
	pid_t pid = fork();
	bool good;

	if (pid == 0)
		child();
	if (pid < 0)
		return false;
	good = stops_with(pid, SIGSTOP) && poke(pid, 0, (uint64_t)(uintptr_t)&watched) &&
	       poke(pid, 1, (uint64_t)(uintptr_t)executed) && poke(pid, 7, WRITE_0 | EXECUTE_1) &&
	       triggers(pid, 0) && triggers(pid, 1);
	kill(pid, SIGKILL);
	while (waitpid(pid, &(int){ 0 }, __WALL) == pid)
		;
	return good;
}

/* Stopped at the string instruction by DR0; with RF? */
static bool at_string(pid_t pid, bool *marked_ret)
{
	struct user_regs_struct regs;

	if (!triggers(pid, 0) || ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return false;
	*marked_ret = regs.eflags & RF;
	return (ptrace(PTRACE_PEEKTEXT, pid, regs.rip, NULL) & 0xffff) == 0xaaf3;
}

static enum debug_strings try_strings(void)
{
	enum debug_strings ret = DEBUG_STRINGS_NEVER;
	bool in_front, inside;
	pid_t pid = fork();

	if (pid == 0)
		string_child();
	if (pid < 0)
		return ret;
	if (stops_with(pid, SIGSTOP) && poke(pid, 0, (uint64_t)(uintptr_t)&block.word) &&
	    poke(pid, 7, WRITE_8) && at_string(pid, &in_front) && at_string(pid, &inside))
		ret = inside && !in_front ? DEBUG_STRINGS_MARKED : DEBUG_STRINGS_LATE;
	kill(pid, SIGKILL);
	while (waitpid(pid, &(int){ 0 }, __WALL) == pid)
		;
	return ret;
}

static bool asked_for(const char *variable, const char *value)
{
	const char *asked = getenv(variable);

	return asked && !strcmp(asked, value);
}

enum debug_strings debug_registers_strings(void)
{
	static enum debug_strings known = DEBUG_STRINGS_UNKNOWN;

	if (known != DEBUG_STRINGS_UNKNOWN)
		return known;
	if (asked_for("HINDSIGHT_DR_STRINGS", "never"))
		return known = DEBUG_STRINGS_NEVER;
	known = try_strings();
	if (known == DEBUG_STRINGS_NEVER)
		return known;
	if (asked_for("HINDSIGHT_DR_STRINGS", "once"))
		known = DEBUG_STRINGS_ONCE;
	else if (asked_for("HINDSIGHT_DR_STRINGS", "late"))
		known = DEBUG_STRINGS_LATE;
	return known;
}

bool debug_registers_work(void)
{
	static enum { UNKNOWN, GOOD, BAD } known;

	if (known == UNKNOWN)
		known = !asked_for("HINDSIGHT_NODR", "1") && try() &&
					debug_registers_strings() != DEBUG_STRINGS_NEVER
				? GOOD
				: BAD;
	return known == GOOD;
}
