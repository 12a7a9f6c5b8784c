/*
 * names - what names cost, of a library with DWARF that python3 has mapped: the first index, an index opened again, a name and line
 * asked again, a frame of a stack.
 *	build/bench/names [PYTHON]		(the first python3 whose code has DWARF)
 */
#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbols/symbols.h"

enum { ROUNDS = 7, PLACES = 1000, DEPTH = 200, MAPS = 1 << 20 };

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double children(void)		/* processor time of those that ended */
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), double_compare);
	return v[ROUNDS / 2];
}

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "names: %s\n", err->msg);
	exit(1);
}

/* ---- a process to look at -------------------------------------------------------------------- */

static pid_t pid;

static void end(void)
{
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static bool process_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len }, remote = { (void *)(uintptr_t)addr, len };

	(void)ctx;
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

/* Python, stopped in a call of the system that Python code made, eight functions deep. */
static bool python_start(const char *python, struct symbols_regs *ret)
{
	static const char code[] = "import os\ndef f(n):\n    return f(n - 1) if n else os.kill(os.getpid(), 19)\nf(8)\n";
	struct user_regs_struct u;
	struct regs r;
	int status;

	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(python, python, "-c", code, (char *)NULL);
		_exit(127);
	}
	for (;;) {
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
			pid = 0;
			return false;
		}
		if (WSTOPSIG(status) == SIGSTOP)
			break;
		ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	}
	ptrace(PTRACE_GETREGS, pid, 0, &u);
	memcpy(&r, &u, sizeof(r));
	symbols_regs_from(&r, ret);
	return true;
}

static char maps[MAPS];

static void maps_read(void)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	maps[f ? fread(maps, 1, MAPS - 1, f) : 0] = 0;
	if (f)
		fclose(f);
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static char dir[] = "/tmp/bench-names-XXXXXX";

static void forget(void)
{
	char path[PATH_MAX];
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
}

static struct symbols *space(void)
{
	struct symbols_options o = { .index_dir = dir };
	struct symbols *s;

	check(symbols_create(&o, &s));
	check(symbols_set_maps_text(s, maps));
	return s;
}

/* The time of the first question for names (line set), or for a caller; *cpu_ret: with the worker's processor time. */
static double first_question(const struct symbols_regs *regs, uint64_t addr, bool names, double *cpu_ret)
{
	struct symbols_memory mem = { .read = process_read };
	struct symbols *s = space();
	double t = seconds(CLOCK_MONOTONIC), mine = seconds(CLOCK_PROCESS_CPUTIME_ID), theirs = children();
	struct symbols_frame f[8];
	struct symbols_regs r = *regs;
	enum symbols_how how;
	uint64_t cfa;

	if (names)
		symbols_lookup(s, addr, f, 8);
	r.r[SYMBOLS_RIP] = addr + 1;
	if (!names)
		symbols_unwind_step(s, &r, &mem, false, &cfa, &how);
	t = seconds(CLOCK_MONOTONIC) - t;
	*cpu_ret = seconds(CLOCK_PROCESS_CPUTIME_ID) - mine + children() - theirs;
	symbols_destroy(s);
	return t;
}

static void show_first(const struct symbols_regs *regs, uint64_t addr, bool names)
{
	const char *what = names ? "names" : "frames";
	double wall[ROUNDS], cpu[ROUNDS], again[ROUNDS], ignored;

	for (int i = 0; i < ROUNDS; i++) {
		forget();
		wall[i] = first_question(regs, addr, names, &cpu[i]);
		again[i] = first_question(regs, addr, names, &ignored);
	}
	printf("%9.3f s   first index of %s (%.3f s of processor time)\n", median(wall), what, median(cpu));
	printf("%9.2f ms  %s from the index opened again\n", median(again) * 1e3, what);
}

static void show_warm(const struct symbols_regs *regs)
{
	struct symbols_memory mem = { .read = process_read };
	struct symbols *s = space();
	struct symbols_pc pc[DEPTH];
	struct symbols_frame f[8];
	double name[ROUNDS], frame[ROUNDS];
	static char stack[1 << 20];
	struct symbols_regs r = *regs;
	size_t n = 0;

	mem.copy = stack;
	mem.copy_start = regs->r[SYMBOLS_RSP];
	for (mem.copy_len = sizeof(stack); mem.copy_len && !process_read(NULL, mem.copy_start, stack, mem.copy_len);)
		mem.copy_len -= 4096;
	n = symbols_unwind(s, &r, &mem, pc, DEPTH);
	for (size_t i = 0; i < n; i++)
		symbols_lookup(s, pc[i].lookup, f, 8);
	for (int i = 0; i < ROUNDS; i++) {
		double t = seconds(CLOCK_MONOTONIC);

		for (int j = 0; j < PLACES; j++)
			n = symbols_unwind(s, &r, &mem, pc, DEPTH);
		frame[i] = (seconds(CLOCK_MONOTONIC) - t) / (PLACES * (double)n);
		t = seconds(CLOCK_MONOTONIC);
		for (int j = 0; j < PLACES; j++)
			for (size_t k = 0; k < n; k++)
				symbols_lookup(s, pc[k].lookup, f, 8);
		name[i] = (seconds(CLOCK_MONOTONIC) - t) / (PLACES * (double)n);
	}
	printf("%9.0f ns  a name and line asked again\n%9.0f ns  a frame, of a stack of %zu\n", median(name) * 1e9, median(frame) * 1e9, n);
	symbols_destroy(s);
}

/* An address of code that DWARF describes, in the stack; 0 = there is none. */
static uint64_t described(const struct symbols_regs *regs)
{
	struct symbols_memory mem = { .read = process_read };
	struct symbols *s = space();
	struct symbols_pc pc[DEPTH];
	size_t n = symbols_unwind(s, regs, &mem, pc, DEPTH);
	uint64_t found = 0;

	for (size_t i = 0; i < n && !found; i++) {
		struct symbols_frame f[8];

		if (symbols_lookup(s, pc[i].lookup, f, 8) && f[0].source == SYMBOLS_DWARF && f[0].module && strstr(f[0].module, "python")) {
			printf("%s\n", f[0].module);
			found = pc[i].lookup;
		}
	}
	symbols_destroy(s);
	return found;
}

static bool measure(const char *python)
{
	struct symbols_regs regs;
	uint64_t addr;

	if (!python_start(python, &regs))
		return false;
	maps_read();
	addr = described(&regs);
	if (addr) {
		show_first(&regs, addr, true);
		show_first(&regs, addr, false);
		show_warm(&regs);
	}
	end();
	pid = 0;
	return addr != 0;
}

int main(int argc, char **argv)
{
	static const char *const where[] = { "/usr/bin/python3", "/usr/local/bin/python3", "/root/.pyenv/versions/3.11*/bin/python3",
					     "/usr/lib/debug/usr/bin/python3*" };
	bool done = false;

	if (!mkdtemp(dir))
		return 1;
	atexit(end);
	if (argc > 1)
		done = measure(argv[1]);
	for (size_t i = 0; argc < 2 && !done && i < sizeof(where) / sizeof(where[0]); i++) {
		glob_t g;

		if (!glob(where[i], 0, NULL, &g))
			for (size_t j = 0; j < g.gl_pathc && !done; j++)
				done = measure(g.gl_pathv[j]);
		globfree(&g);
	}
	forget();
	rmdir(dir);
	if (!done)
		printf("names: no python3 whose code has DWARF\n");
	return 0;
}
