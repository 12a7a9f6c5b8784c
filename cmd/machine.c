/*
 * machine.c - `hindsight info --machine`: what the processor and the kernel here can do for a
 * recording, and what is done instead of what they cannot.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "cmd/cmd.h"
#include "cmd/machine.h"
#include "tracee/cpu.h"
#include "tracee/level.h"
#include "tracee/ud2.h"
#include "tracee/registers.h"
#include "tracee/ticks.h"

enum { STOPS = 2000, TIMES = 5 };

/* A line of the answer: has the machine this ability, and what follows from it? */
struct ability {
	const char *key;
	bool has;
	const char *text;
};

/* ---- what a stop costs ----------------------------------------------------------------------- */

static uint64_t stops_once(pid_t pid)
{
	uint64_t began = now_ns();
	int status;

	for (int i = 0; i < STOPS; i++) {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) < 0 || waitpid(pid, &status, __WALL) != pid ||
		    !WIFSTOPPED(status))
			return 0;
	}
	return (now_ns() - began) / STOPS;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Nanoseconds for one ptrace stop of a process on this processor, both pinned, the median of a few
 * tries; 0: it may not be traced.
 */
static uint64_t stop_ns(void)
{
	uint64_t ns[TIMES] = { 0 };
	cpu_set_t before;
	int status;
	pid_t pid;

	cpu_pin(&before);
	pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(1);
		raise(SIGSTOP);
		for (;;)
			syscall(SYS_getppid);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		for (int i = 0; i < TIMES; i++)
			ns[i] = stops_once(pid);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	sched_setaffinity(0, sizeof(before), &before);
	qsort(ns, TIMES, sizeof(ns[0]), by_value);
	return ns[TIMES / 2];
}

/* ---- what there is --------------------------------------------------------------------------- */

enum { ABILITIES = 5 };

static void abilities_find(struct ability a[ABILITIES], char **why_ret)
{
	enum debug_strings strings = debug_registers_strings();
	enum ticks_source ticks;
	struct err *err = ticks_choose(TICKS_PMU, &ticks);
	bool cpuid = cpuid_can_trap(), tsc = tsc_can_trap(), registers = debug_registers_work();

	*why_ret = NULL;
	if (err && asprintf(why_ret, "none that can be used%s%s: points in computing code are "
				     "named "
			    "by state", err->os_errno ? ", " : "",
			    err->os_errno ? strerror(err->os_errno) : "") < 0)
		*why_ret = NULL;
	a[0] = (struct ability){ "counters", !err,
				 !err	    ? "branches are counted: --ticks=pmu can be used"
				 : *why_ret ? *why_ret
					    : "none" };
	err_free(err);
	a[1] = (struct ability){ "cpuid", cpuid,
				 cpuid ? "can be made to trap (cpuid faulting)"
				       : "cannot be made to trap: it is found in code and "
					 "replaced" };
	a[2] = (struct ability){ "rdtsc", tsc,
				 tsc ? "can be made to trap (PR_SET_TSC)"
				     : "does not trap though PR_SET_TSC is granted: it is found in "
				       "code and replaced" };
	a[3] = (struct ability){ "registers", registers,
				 registers ? "debug registers trigger"
					   : "debug registers never trigger: watchpoints protect "
					     "pages instead" };
	a[4] = (struct ability){ "strings", registers && strings != DEBUG_STRINGS_NEVER,
				 !registers ? "repeated stores to a watched word: by pages, too" :
				 strings == DEBUG_STRINGS_MARKED ?
					 "repeated stores to a watched word are told late, and "
					 "marked" :
				 strings == DEBUG_STRINGS_LATE ?
					 "repeated stores to a watched word are told late, "
					 "unmarked" :
				 strings == DEBUG_STRINGS_ONCE ?
					 "repeated stores to a watched word are told at once" :
					 "repeated stores to a watched word are not told" };
}

static struct err *machine_json(const struct ability *a, const char *brand,
				const struct utsname *u, uint64_t ns)
{
	json_t *o = json_object();

	json_object_set_new(o, "cpu", json_string(brand));
	json_object_set_new(o, "level", json_string(cpu_level_name(cpu_level_highest())));
	json_object_set_new(o, "xcr0", json_integer((json_int_t)cpu_xcr0()));
	json_object_set_new(o, "guest", json_boolean(cpu_is_guest()));
	json_object_set_new(o, "kernel", json_string(u->release));
	json_object_set_new(o, "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	json_object_set_new(o, "stop_ns", ns ? json_integer((json_int_t)ns) : json_null());
	for (int i = 0; i < ABILITIES; i++) {
		json_object_set_new(o, a[i].key, json_pack("{s:b, s:s}", "has", a[i].has, "text",
							   a[i].text));
	}
	return json_print(o, true);
}

static void machine_text(const struct ability *a, const char *brand, const struct utsname *u,
			 uint64_t ns)
{
	printf("%-12s %s, %s%s\n", "cpu", brand, cpu_level_name(cpu_level_highest()),
	       cpu_is_guest() ? ", under a hypervisor" : "");
	printf("%-12s %#" PRIx64 "\n", "xcr0", cpu_xcr0());
	printf("%-12s %s %s, %ld processors\n", "system", u->sysname, u->release,
	       sysconf(_SC_NPROCESSORS_ONLN));
	for (int i = 0; i < ABILITIES; i++)
		printf("%-12s %s\n", a[i].key, a[i].text);
	if (ns)
		printf("%-12s %.1f us each, on one processor\n", "stops", (double)ns / 1e3);
	else
		printf("%-12s processes here may not be traced (seccomp, ptrace_scope)\n",
		       "stops");
}

struct err *machine_show(bool json)
{
	struct ability a[ABILITIES];
	char brand[49], *why;
	struct utsname u;
	struct err *err = NULL;
	uint64_t ns = stop_ns();

	cpuid_brand(brand);
	uname(&u);
	abilities_find(a, &why);
	if (json)
		err = machine_json(a, brand, &u, ns);
	else
		machine_text(a, brand, &u, ns);
	free(why);
	return err;
}
