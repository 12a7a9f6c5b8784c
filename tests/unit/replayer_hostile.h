/*
 * replayer_hostile.h - traces that were made to do harm: making them, and replaying them.
 *
 * Each case writes a trace, replays it in a process of its own, and demands an error in
 * bounded time: no crash, no canary file, nothing written to a descriptor, nobody killed, no process left.
 * The program of a case is usually one instruction that enters the kernel, its arguments
 * in the registers that the EXEC event gives it.
 */
#ifndef TESTS_UNIT_REPLAYER_HOSTILE_H
#define TESTS_UNIT_REPLAYER_HOSTILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/session/session.h"
#include "tests/unit/trace_common.h"
#include "tracee/ud2.h"

enum { CODE = 0x100000, DATA = 0x200000, STACK = 0x300000, STACK_TOP = STACK + 0x8000, CANARY_FD = 77 };
enum { CS64 = 0x33, CS32 = 0x23, SS = 0x2b, OK_END = 100, SECONDS = 20 };

static char canary[128];

/* ---- making a trace ------------------------------------------------------------------- */

static struct trace_writer *writer;
static struct trace_event event;
static struct trace_effect effects[64];

static inline void begin_of(enum trace_event_kind kind, uint32_t task)
{
	memset(effects, 0, sizeof(effects));
	event = (struct trace_event){ .task = task, .kind = kind, .nr = -1, .effects = effects };
}

static inline struct trace_effect *effect(enum trace_effect_kind kind, uint64_t addr, uint64_t len)
{
	struct trace_effect *e = &effects[event.effects_len++];

	assert_true(event.effects_len <= 64);
	*e = (struct trace_effect){ .kind = kind, .addr = addr, .len = len };
	return e;
}

static inline struct trace_effect *effect_data(enum trace_effect_kind kind, uint64_t addr, const void *data, size_t len)
{
	struct trace_effect *e = effect(kind, addr, 0);

	e->data = data;
	e->data_len = len;
	return e;
}

static inline void commit(void) { OK(trace_writer_event(writer, &event)); }

static inline const struct trace_meta *meta(void)
{
	static struct trace_meta m;

	m = *test_meta();
	memset(m.cpuid_features, 0, sizeof(m.cpuid_features));
	m.xcr0 = 0;
	m.cpuid_trapped = false;
	m.marked = ud2_needed();	/* else refused before anything has been tried */
	return &m;
}

static inline void trace_begin(void)
{
	remove_tree(test_trace);
	OK(trace_writer_create(test_trace, NULL, meta(), &writer));
}

static inline void trace_end(void) { OK(trace_writer_close(writer, 0)); }

static inline struct regs regs_at(uint64_t rip)
{
	return (struct regs){ .rip = rip, .rsp = STACK_TOP, .cs = CS64, .ss = SS, .eflags = 0x202, .orig_rax = ~0ull };
}

/* Task 1 starts with this code and these registers; data holds the canary's path. */
static inline void program(const void *code, size_t len, const struct regs *regs)
{
	begin_of(TRACE_EXEC, 1);
	event.regs = *regs;
	event.regs.cs = CS64;	/* our own calls need it; 32-bit code starts at the end */
	effect(TRACE_MAP, CODE, 0x1000)->x = PROT_READ | PROT_EXEC;
	effect(TRACE_MAP, DATA, 0x1000)->x = PROT_READ | PROT_WRITE;
	effect(TRACE_MAP, STACK, 0x8000)->x = PROT_READ | PROT_WRITE;
	effect_data(TRACE_WRITE, CODE, code, len);
	effect_data(TRACE_WRITE, DATA, canary, sizeof(canary));
	if (regs->cs != CS64)
		effect_data(TRACE_REGS, 0, regs, sizeof(*regs));
	commit();
}

/* The program does nothing: the harm is in the effects. */
static inline void quiet_program(void)
{
	static const uint8_t spin[] = { 0xeb, 0xfe };
	struct regs regs = regs_at(CODE);

	trace_begin();
	program(spin, sizeof(spin), &regs);
	begin_of(TRACE_NOTE, 1);
}

/* ---- running it ------------------------------------------------------------------------ */

static inline int replay_whole(void)
{
	struct replay_options options = { .echo = true };
	struct replay *r = NULL;
	struct err *err = replay_open(test_trace, &options, &r);
	int code;

	if (err)
		return 50 + (int)err->code;
	do {
		err = replay_event(r);
	} while (!err);
	code = err->code == ERR_END ? OK_END : (int)err->code;
	if (getenv("HOSTILE_VERBOSE"))
		fprintf(stderr, "    %s\n", err->code == ERR_END ? "end" : err->msg);
	err_free(err);
	replay_close(r);
	if (waitpid(-1, NULL, __WALL | WNOHANG) != -1 || errno != ECHILD)
		return 90;
	return code;
}

static inline void ignore_signal(int sig) { (void)sig; }

/* False after so many seconds. */
static inline bool ends_within(pid_t pid, int seconds, int *status)
{
	for (int i = 0; i < seconds * 100; i++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(10000);
	}
	return false;
}

/* Whoever is left is now our child: nobody may be. */
static inline void nobody_left(void)
{
	for (int i = 0; i < 2000; i++) {
		if (waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD)
			return;
		usleep(10000);
	}
	fail_msg("a replayed process was left behind");
}

/* A case that would really do harm, should it not be refused. */
static bool without_capabilities;

static inline void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (syscall(SYS_capset, &head, none) < 0)
		_exit(91);
}

static inline pid_t start_replay(int pipe_fd)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(pipe_fd, CANARY_FD);
		if (without_capabilities)
			drop_capabilities();
		_exit(replay_whole());
	}
	return pid;
}

/* -> enum err_code of the end, or OK_END */
static inline int outcome(const char *what)
{
	struct pollfd readable = { .events = POLLIN };
	int status, fds[2];
	pid_t pid;

	signal(SIGUSR1, ignore_signal);
	assert_return_code(pipe(fds), errno);
	pid = start_replay(fds[1]);
	if (!ends_within(pid, SECONDS, &status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		nobody_left();
		fail_msg("%s: the replay did not end", what);
	}
	nobody_left();
	if (!WIFEXITED(status))
		fail_msg("%s: the replayer died of signal %d", what, WTERMSIG(status));
	readable.fd = fds[0];
	if (poll(&readable, 1, 0) != 0)
		fail_msg("%s: something was written to a descriptor", what);
	close(fds[0]);
	close(fds[1]);
	if (access(canary, F_OK) == 0)
		fail_msg("%s: the canary was made", what);
	if (WEXITSTATUS(status) == 90)
		fail_msg("%s: replay_close left a process", what);
	return WEXITSTATUS(status);
}

static inline void refused(const char *what)
{
	int code = outcome(what);

	if (code != ERR_TRACE && code != ERR_DIVERGED && code != ERR_OS)
		fail_msg("%s: ended with %d, not with an error of the trace", what, code);
}

/* An effect on the quiet program, which the replayer must not accept. */
static inline void effect_refused(const char *what)
{
	commit();
	trace_end();
	refused(what);
}

static inline int hostile_setup(void **state)
{
	test_setup(state);
	snprintf(canary, sizeof(canary), "%s/canary", test_dir);
	/* whoever a replayer leaves behind becomes our child */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return 0;
}

#endif
