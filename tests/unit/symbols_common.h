/* Small programs compiled by the test, and stopped processes to look at. */
#ifndef TESTS_UNIT_SYMBOLS_COMMON_H
#define TESTS_UNIT_SYMBOLS_COMMON_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/symbols.h"

static char temp_dir[] = "/tmp/hindsight-symbols-XXXXXX";

#define OK(expr) do { struct err *ok_err_ = (expr); \
	if (ok_err_) fail_msg("%s: %s", #expr, ok_err_->msg); } while (0)

static inline void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* True when there is such a command here. */
static inline bool have(const char *command)
{
	char text[256];

	snprintf(text, sizeof(text), "command -v %s >/dev/null", command);
	return system(text) == 0;
}

/* Compile source text to temp_dir/name: "cc -O2 -g" and so on.  False: that compiler is not here. */
static inline bool build(const char *name, const char *ext, const char *text, const char *cc, char path[256])
{
	char source[256], command[1024], first[64];

	if (!strstr(temp_dir, "XXXXXX") || !mkdtemp(temp_dir))
		assert_true(access(temp_dir, W_OK) == 0);
	sscanf(cc, "%63s", first);
	if (!have(first))
		return false;
	snprintf(source, sizeof(source), "%s/%s.%s", temp_dir, name, ext);
	snprintf(path, 256, "%s/%s", temp_dir, name);
	write_file(source, text);
	snprintf(command, sizeof(command), "cd %s && %s -o %s %s", temp_dir, cc, path, source);
	if (system(command))
		fail_msg("cannot build: %s", command);
	return true;
}

static inline int remove_temp(void **state)
{
	char command[256];

	(void)state;
	if (strstr(temp_dir, "XXXXXX"))
		return 0;
	snprintf(command, sizeof(command), "rm -rf %s", temp_dir);
	return system(command);
}

static inline bool process_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len }, remote = { (void *)(uintptr_t)addr, len };

	return process_vm_readv(*(pid_t *)ctx, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

/* Starts path, stopped at its first instruction. */
static inline pid_t start_traced(const char *path)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
	return pid;
}

static inline void end_traced(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Continue to the program's next int3 (__builtin_trap is not one: asm("int3")). */
static inline bool run_to_trap(pid_t pid)
{
	int status, sig = 0;

	for (;;) {
		ptrace(PTRACE_CONT, pid, 0, sig);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == SIGTRAP)
			return true;
		sig = WSTOPSIG(status);
	}
}

static inline void process_regs(pid_t pid, struct symbols_regs *ret)
{
	struct user_regs_struct u;
	struct regs r;

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &u), 0);
	_Static_assert(sizeof(u) == sizeof(r), "the kernel's order");
	memcpy(&r, &u, sizeof(r));
	symbols_regs_from(&r, ret);
}

static inline uint64_t process_fs_base(pid_t pid)
{
	struct user_regs_struct u;

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &u), 0);
	return u.fs_base;
}

static inline void load_maps(struct symbols *s, pid_t pid)
{
	char path[64], *text = NULL;
	size_t cap = 0, n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	for (;;) {
		text = realloc(text, cap += 65536);
		n += fread(text + n, 1, cap - n - 1, f);
		if (n < cap - 1)
			break;
	}
	text[n] = 0;
	fclose(f);
	OK(symbols_set_maps_text(s, text));
	free(text);
}

#endif
