/*
 * replayer_hostile.c - traces that a stranger made to do harm.
 *
 * Each case writes a trace, replays it in a process of its own, and demands an error in
 * bounded time: no crash, no canary file, nothing written to a descriptor, nobody killed, no process left.
 * The program of a case is usually one instruction that enters the kernel, its arguments
 * in the registers that the EXEC event gives it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/internal.h"
#include "tests/unit/trace_common.h"
#include "tracee/mark.h"

enum { CODE = 0x100000, DATA = 0x200000, STACK = 0x300000, STACK_TOP = STACK + 0x8000, CANARY_FD = 77 };
enum { CS64 = 0x33, CS32 = 0x23, SS = 0x2b, OK_END = 100, SECONDS = 20 };

static char canary[128];

/* ---- making a trace ------------------------------------------------------------------- */

static struct trace_writer *writer;
static struct trace_event event;
static struct trace_effect effects[64];

static void begin_of(enum trace_event_kind kind, uint32_t task)
{
	memset(effects, 0, sizeof(effects));
	event = (struct trace_event){ .task = task, .kind = kind, .nr = -1, .effects = effects };
}

static struct trace_effect *effect(enum trace_effect_kind kind, uint64_t addr, uint64_t len)
{
	struct trace_effect *e = &effects[event.effects_len++];

	assert_true(event.effects_len <= 64);
	*e = (struct trace_effect){ .kind = kind, .addr = addr, .len = len };
	return e;
}

static struct trace_effect *effect_data(enum trace_effect_kind kind, uint64_t addr, const void *data, size_t len)
{
	struct trace_effect *e = effect(kind, addr, 0);

	e->data = data;
	e->data_len = len;
	return e;
}

static void commit(void) { OK(trace_writer_event(writer, &event)); }

static const struct trace_meta *meta(void)
{
	static struct trace_meta m;

	m = *test_meta();
	memset(m.cpuid_features, 0, sizeof(m.cpuid_features));
	m.xcr0 = 0;
	m.cpuid_trapped = false;
	m.marked = marks_needed();	/* else refused before anything has been tried */
	return &m;
}

static void trace_begin(void)
{
	remove_tree(test_trace);
	OK(trace_writer_create(test_trace, NULL, meta(), &writer));
}

static void trace_end(void) { OK(trace_writer_close(writer, 0)); }

static struct regs regs_at(uint64_t rip)
{
	return (struct regs){ .rip = rip, .rsp = STACK_TOP, .cs = CS64, .ss = SS, .eflags = 0x202, .orig_rax = ~0ull };
}

/* Task 1 starts with this code and these registers; data holds the canary's path. */
static void program(const void *code, size_t len, const struct regs *regs)
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
static void quiet_program(void)
{
	static const uint8_t spin[] = { 0xeb, 0xfe };
	struct regs regs = regs_at(CODE);

	trace_begin();
	program(spin, sizeof(spin), &regs);
	begin_of(TRACE_NOTE, 1);
}

/* ---- running it ------------------------------------------------------------------------ */

static int replay_whole(void)
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

static void ignore_signal(int sig) { (void)sig; }

/* False after so many seconds. */
static bool ends_within(pid_t pid, int seconds, int *status)
{
	for (int i = 0; i < seconds * 100; i++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(10000);
	}
	return false;
}

/* Whoever is left is now our child: nobody may be. */
static void nobody_left(void)
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

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (syscall(SYS_capset, &head, none) < 0)
		_exit(91);
}

static pid_t start_replay(int pipe_fd)
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
static int outcome(const char *what)
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

static void refused(const char *what)
{
	int code = outcome(what);

	if (code != ERR_TRACE && code != ERR_DIVERGED && code != ERR_OS)
		fail_msg("%s: ended with %d, not with an error of the trace", what, code);
}

/* An effect on the quiet program, which the replayer must not accept. */
static void effect_refused(const char *what)
{
	commit();
	trace_end();
	refused(what);
}

/* ---- system calls from program code ------------------------------------------------------- */

struct call { const char *name; int nr, nr32; uint64_t a[6]; };

static struct call calls[] = {
	{ "openat", SYS_openat, 295, { (uint64_t)AT_FDCWD, DATA, O_CREAT | O_RDWR, 0600 } },
	{ "creat", SYS_creat, 8, { DATA, 0600 } },
	{ "mknod", SYS_mknod, 14, { DATA, S_IFREG | 0600 } },
	{ "write", SYS_write, 4, { CANARY_FD, DATA, 8 } },
	{ "kill", SYS_kill, 37, { 0 /* our pid */, SIGKILL } },
	{ "mmap", SYS_mmap, 192, { FIXED_PAGE, 0x1000, 7, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, ~0ull } },
	{ "munmap", SYS_munmap, 91, { FIXED_PAGE, 0x1000 } },
	{ "mprotect", SYS_mprotect, 125, { FIXED_PAGE, 0x1000, 7 } },
	{ "mremap", SYS_mremap, 163, { CODE, 0x1000, 0x1000, MREMAP_FIXED | MREMAP_MAYMOVE, FIXED_PAGE } },
	{ "clone", SYS_clone, 120, { CLONE_PARENT } },
	{ "fork", SYS_fork, 2, { 0 } },
	{ "execve", SYS_execve, 11, { DATA, 0, 0 } },
	{ "ptrace", SYS_ptrace, 26, { PTRACE_TRACEME } },
	{ "exit_group", SYS_exit_group, 252, { 3 } },
	{ "io_uring_setup", SYS_io_uring_setup, 425, { 8, DATA } },
	{ "an unknown one", 4000, 4000, { 0 } },
	{ "x32 openat", 0x40000000 | SYS_openat, 295, { (uint64_t)AT_FDCWD, DATA, O_CREAT | O_RDWR, 0600 } },
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static const struct way { const char *name; uint8_t code[8]; uint64_t rip; uint16_t cs; bool numbers32; } ways[] = {
	{ "syscall", { 0x0f, 0x05, 0x0f, 0x0b }, CODE, CS64, false },
	{ "int 0x80", { 0xcd, 0x80, 0x0f, 0x0b }, CODE, CS64, true },
	{ "sysenter", { 0x0f, 0x34, 0x0f, 0x0b }, CODE, CS64, true },
	{ "jump to our own instruction", { 0x0f, 0x0b }, FIXED_INJECT, CS64, false },
	{ "32-bit syscall", { 0x0f, 0x05, 0x0f, 0x0b }, CODE, CS32, true },
	{ "32-bit int 0x80", { 0xcd, 0x80, 0x0f, 0x0b }, CODE, CS32, true },
	{ "32-bit sysenter", { 0x0f, 0x34, 0x0f, 0x0b }, CODE, CS32, true },
	{ "32-bit jump to our own instruction", { 0x0f, 0x0b }, FIXED_INJECT, CS32, true },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static struct regs call_regs(const struct way *w, const struct call *c)
{
	struct regs r = regs_at(w->rip);

	r.cs = w->cs;
	r.rax = (uint64_t)(w->numbers32 ? c->nr32 : c->nr);
	if (w->numbers32) {
		r.rbx = c->a[0], r.rcx = c->a[1], r.rdx = c->a[2];
		r.rsi = c->a[3], r.rdi = c->a[4], r.rbp = c->a[5];
	} else {
		r.rdi = c->a[0], r.rsi = c->a[1], r.rdx = c->a[2];
		r.r10 = c->a[3], r.r8 = c->a[4], r.r9 = c->a[5];
	}
	return r;
}

static void calls_without_an_event(void **state)
{
	char what[128];

	(void)state;
	calls[4].a[0] = (uint64_t)getpid();
	for (int w = 0; w < WAYS; w++) {
		for (int c = 0; c < CALLS; c++) {
			struct regs regs = call_regs(&ways[w], &calls[c]);

			trace_begin();
			program(ways[w].code, sizeof(ways[w].code), &regs);
			begin_of(TRACE_SYSCALL, 1);	/* something to run to */
			event.nr = SYS_getpid;
			event.regs = regs_at(CODE + 2);
			commit();
			trace_end();
			snprintf(what, sizeof(what), "%s by %s", calls[c].name, ways[w].name);
			refused(what);
		}
	}
}

/* An event that matches lets the program go on; the call still has only the event's effects. */
static void calls_with_an_event(void **state)
{
	(void)state;
	calls[4].a[0] = (uint64_t)getpid();
	for (int w = 0; w <= 3; w += 3) {	/* syscall, and our own instruction */
		for (int c = 0; c < CALLS; c++) {
			struct regs regs = call_regs(&ways[w], &calls[c]);
			int code;

			trace_begin();
			program(ways[w].code, sizeof(ways[w].code), &regs);
			begin_of(TRACE_SYSCALL, 1);
			event.nr = (int32_t)regs.rax;
			event.regs = regs;
			event.regs.rip = event.regs.rcx = ways[w].rip + 2;
			event.regs.r11 = regs.eflags;
			event.regs.rax = (uint64_t)-ENOSYS;
			effect(TRACE_RET, 0, 0)->x = 5;
			commit();
			begin_of(TRACE_SYSCALL, 1);	/* what follows is ud2 or int3 */
			event.nr = SYS_getpid;
			event.regs = regs_at(CODE);
			commit();
			trace_end();
			code = outcome(calls[c].name);
			if (code != ERR_DIVERGED)
				fail_msg("%s by %s: ended with %d", calls[c].name, ways[w].name, code);
		}
	}
}

static void vsyscall(void **state)
{
	static const uint8_t unused[] = { 0x0f, 0x0b };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct regs regs = regs_at(0xffffffffff600000ull + 0x400 * i);
		uint64_t back = CODE;

		regs.rdi = DATA;
		regs.rsi = DATA + 16;
		regs.rsp -= 64;
		trace_begin();
		program(unused, sizeof(unused), &regs);
		begin_of(TRACE_NOTE, 1);
		effect_data(TRACE_WRITE, regs.rsp, &back, 8);
		commit();
		begin_of(TRACE_SYSCALL, 1);
		event.nr = SYS_time;
		event.regs = regs_at(CODE);
		commit();
		trace_end();
		refused("the vsyscall page");
	}
}

/* ---- the cage itself, without the first wall ------------------------------------------------ */

static struct replay cage;

static int cage_setup(void **state)
{
	(void)state;
	memset(&cage, 0, sizeof(cage));
	OK(cage_start(&cage));
	return 0;
}

static int cage_teardown(void **state)
{
	(void)state;
	cage_kill(cage.zygote);
	nobody_left();
	return 0;
}

static pid_t caged(void)
{
	pid_t pid;

	OK(cage_process(&cage, &pid));
	return pid;
}

/* How the process ends that goes on from these registers as nobody else would let it: by PTRACE_CONT. */
static int cont_signal(pid_t pid, const struct regs *regs)
{
	int status;

	OK(tracee_regs_set(pid, regs));
	OK(tracee_resume(pid, PTRACE_CONT, 0));
	OK(tracee_wait(pid, &status));
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	cage_kill(pid);
	return WIFSTOPPED(status) ? -WSTOPSIG(status) : -1000;
}

static void cage_kills_program_calls(void **state)
{
	(void)state;
	calls[4].a[0] = (uint64_t)getpid();
	for (int w = 0; w < WAYS; w++) {
		for (int c = 0; c < CALLS; c++) {
			struct regs regs, wanted = call_regs(&ways[w], &calls[c]);
			pid_t pid = caged();
			int64_t at;
			int sig;

			if (ways[w].rip != CODE)
				wanted.rip = CODE;
			OK(tracee_regs_get(pid, &regs));
			OK(cage_call(pid, &regs, &at, SYS_mmap, CODE, 0x1000, PROT_READ | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0));
			assert_int_equal(at, CODE);
			OK(tracee_write(pid, CODE, ways[w].rip == CODE ? ways[w].code : ways[0].code, 4));
			sig = cont_signal(pid, &wanted);
			/* some ways are no instruction at all in some modes: those fault */
			if (sig != SIGSYS && (w == 0 || (sig != -SIGSEGV && sig != -SIGILL)))
				fail_msg("%s by %s: %d", calls[c].name, ways[w].name, sig);
			assert_int_not_equal(access(canary, F_OK), 0);
		}
	}
	for (unsigned i = 0; i < 3; i++) {
		struct regs regs = regs_at(0xffffffffff600000ull + 0x400 * i);
		int sig = cont_signal(caged(), &regs);

		assert_true(sig == SIGSYS || sig == -SIGSEGV);
	}
}

static bool is_ours(long nr)
{
	return nr == SYS_mmap || nr == SYS_munmap || nr == SYS_mprotect || nr == SYS_mremap || nr == SYS_madvise ||
		nr == SYS_clone;
}

/* From our own instruction everything but six calls kills, whoever asks for it. */
static void cage_kills_all_but_six(void **state)
{
	(void)state;
	for (long nr = 0; nr < 480; nr++) {
		struct regs regs = regs_at(FIXED_INJECT);
		int sig;

		if (is_ours(nr))
			continue;
		regs.rax = (uint64_t)nr;
		sig = cont_signal(caged(), &regs);
		/* uretprobe and uprobe pass by all filters (Linux 6.14); but from the kernel's own
		 * code they do nothing: SIGILL, or ENXIO and on to the int3 */
		if (sig != SIGSYS && !(nr == 335 && sig == -SIGILL) && !(nr == 336 && (sig == -SIGILL || sig == -SIGTRAP)))
			fail_msg("system call %ld: %d", nr, sig);
		if (nr % 8)
			continue;
		regs.rax = 0x40000000 | (uint64_t)nr;
		assert_int_equal(cont_signal(caged(), &regs), SIGSYS);
	}
}

/* ---- effects ------------------------------------------------------------------------------- */

static const uint64_t around_fixed[][2] = {
	{ FIXED_PAGE, 0x1000 }, { FIXED_PAGE - 0x1000, 0x2000 }, { FIXED_PAGE - 0x1000, 0x100000 }, { FIXED_PAGE, 1 },
	{ FIXED_PAGE + 0x1000, 0x1000 }, { FIXED_END - 1, 0x1000 }, { FIXED_PAGE - 1, 2 }, { 0x10000, 0x7fffffff0000 },
	{ FIXED_PAGE - 0x1000, 0xffffffffffffffff }, { 0, 0xffffffffffffffff }, { 0xfffffffffffff000, 0x1000 },
	{ FIXED_PAGE - 0x1000, 0x1001 }, { 0xffffffffff600000, 0x1000 },
};

static void effects_on_the_fixed_page(void **state)
{
	static const enum trace_effect_kind kinds[] = { TRACE_MAP, TRACE_UNMAP, TRACE_PROTECT, TRACE_ADVISE, TRACE_SUM };

	(void)state;
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (unsigned i = 0; i < sizeof(around_fixed) / sizeof(around_fixed[0]); i++) {
			char what[96];

			quiet_program();
			effect(kinds[k], around_fixed[i][0], around_fixed[i][1])->x = kinds[k] == TRACE_ADVISE ? 4 : 3;
			snprintf(what, sizeof(what), "%s 0x%lx+0x%lx", trace_effect_name(kinds[k]),
				 (long)around_fixed[i][0], (long)around_fixed[i][1]);
			effect_refused(what);
		}
	}
}

static void moves_and_writes_on_the_fixed_page(void **state)
{
	static const uint64_t moves[][4] = {	/* from, length, to, length */
		{ FIXED_PAGE, 0x1000, DATA, 0x1000 }, { DATA, 0x1000, FIXED_PAGE, 0x1000 },
		{ DATA, 0x1000, FIXED_PAGE - 0x1000, 0x2000 }, { DATA, 0x1000, FIXED_PAGE - 0x1000, 0x1001 },
		{ DATA, 0x1000, DATA, 0x70000000 }, { DATA, 0x1000, FIXED_PAGE - 0x1000, ~0ull },
		{ DATA, ~0ull, STACK, 0x1000 }, { DATA, 0, FIXED_PAGE, 0x1000 },
	};
	static const uint8_t nop[] = { 0x90, 0x90, 0x90, 0x90 };

	(void)state;
	for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		struct trace_effect *e;

		quiet_program();
		e = effect(TRACE_MOVE, moves[i][0], moves[i][1]);
		e->x = moves[i][2];
		e->y = moves[i][3];
		effect_refused("a move");
	}
	for (int delta = -3; delta < 8; delta += 3) {
		quiet_program();
		effect_data(TRACE_WRITE, (uint64_t)(FIXED_PAGE + delta), nop, sizeof(nop));
		effect_refused("a write to the fixed page");
	}
	quiet_program();
	effect_data(TRACE_WRITE, ~0ull - 1, nop, sizeof(nop));
	effect_refused("a write across the end of the address space");
}

/* A stack above the reserved range may not grow into it. */
static void stack_into_the_fixed_page(void **state)
{
	static const uint8_t touch[] = { 0x48, 0x89, 0x07, 0x0f, 0x0b };	/* mov %rax,(%rdi); ud2 */

	(void)state;
	for (uint64_t at = FIXED_PAGE - 0x1000; at < FIXED_END; at += 0x1000) {
		struct regs regs = regs_at(CODE);
		struct trace_effect *e;

		regs.rdi = at;
		trace_begin();
		program(touch, sizeof(touch), &regs);
		begin_of(TRACE_NOTE, 1);
		e = effect(TRACE_MAP, FIXED_END, 0x1000);
		e->x = PROT_READ | PROT_WRITE | PROT_EXEC;
		e->y = (uint64_t)MAP_GROWSDOWN << 8;
		commit();
		begin_of(TRACE_SYSCALL, 1);
		event.regs = regs_at(CODE);
		commit();
		trace_end();
		refused("a stack that grows over the fixed page");
	}
}

static void unmap_everything(void **state)
{
	(void)state;
	quiet_program();
	effect(TRACE_UNMAP, 0, FIXED_PAGE);
	effect(TRACE_UNMAP, FIXED_END, 0x7ffffffff000 - FIXED_END);
	commit();
	begin_of(TRACE_SYSCALL, 1);
	event.regs = regs_at(CODE);
	effect_refused("nothing left to run");
}

static void absurd_registers(void **state)
{
	static const struct { const char *name; size_t word; uint64_t value; } odd[] = {
		{ "cs of the kernel", 17, 0x10 }, { "cs 0", 17, 0 }, { "ss of the kernel", 20, 0x18 }, { "cs of nobody", 17, 0xfffb },
		{ "fs_base", 21, 0x8000000000000000 }, { "gs_base of the kernel", 22, 0xffff888000000000 },
		{ "rip of the kernel", 16, 0xffffffff81000000 }, { "rip not canonical", 16, 0x0001000000000000 },
		{ "all flags", 18, ~0ull }, { "single step", 18, 0x302 }, { "nested task", 18, 0x4202 }, { "ds", 23, 0xffff },
		{ "fs", 25, 0x10 }, { "rip in the fixed page", 16, FIXED_PAGE + 2 }, { "i/o privilege", 18, 0x3202 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		static const uint8_t code[] = { 0x0f, 0x0b };
		struct regs regs = regs_at(CODE);

		((uint64_t *)&regs)[odd[i].word] = odd[i].value;
		trace_begin();
		program(code, sizeof(code), &regs);
		begin_of(TRACE_NOTE, 1);	/* our own calls with these registers */
		effect(TRACE_MAP, 0x400000, 0x1000)->x = 3;
		commit();
		begin_of(TRACE_SYSCALL, 1);
		event.regs = regs_at(CODE);
		commit();
		trace_end();
		refused(odd[i].name);
	}
}

static void absurd_effects(void **state)
{
	static uint8_t junk[4096];
	struct trace_effect *e;
	struct regs regs = regs_at(CODE);

	(void)state;
	memset(junk, 0xff, sizeof(junk));
	quiet_program();
	e = effect(TRACE_MAP, 0x400000, 0x1000);
	e->x = PROT_READ;
	e->y = TRACE_MAP_FILE;
	e->object = 7;
	effect_refused("an object nobody defined");

	quiet_program();
	e = effect(TRACE_OBJECT, 0, 0);
	e->object = 0xffffffff;
	e->x = TRACE_OBJECT_MEMORY;
	effect_refused("an object with an absurd number");

	quiet_program();
	e = effect(TRACE_OBJECT, 0, 0x1000);
	e->object = 3;
	e->x = TRACE_OBJECT_MEMORY;
	e = effect_data(TRACE_WRITE, 1ull << 63, junk, 16);
	e->object = 3;
	effect_refused("a write before the start of an object");

	quiet_program();
	e = effect(TRACE_OBJECT, 0, 0x1000);
	e->object = 3;
	e->x = TRACE_OBJECT_MEMORY;
	e = effect(TRACE_MAP, 0x400000, 0x1000);
	e->y = TRACE_MAP_SHARED;
	e->object = 3;
	e->offset = 0x7ffffffffffff000;
	effect_refused("a mapping beyond the end of all files");

	quiet_program();
	effect(TRACE_MAP, 0x400000, 0x1000)->x = ~0ull;
	effect_refused("all protections");

	quiet_program();
	effect(TRACE_MAP, 0x400001, 0x1000)->x = 3;
	effect_refused("an odd address");

	quiet_program();
	effect_data(TRACE_XSTATE, 0, junk, 832);
	effect_refused("junk as vector state");

	quiet_program();
	e = effect_data(TRACE_TASK, 0, &regs, sizeof(regs));
	e->object = 2;
	e = effect_data(TRACE_TASK, 0, &regs, sizeof(regs));
	e->object = 2;
	effect_refused("a task twice");

	quiet_program();
	effect_data(TRACE_WITNESS, 0xdead0000, junk, 64);
	effect_refused("a witness where nothing is");

	quiet_program();
	effect(TRACE_ECHO, 0xdead0000, 64)->object = 1;
	effect_refused("output from where nothing is");
}

/* Advice that harms the machine (MADV_HWPOISON, MADV_SOFT_OFFLINE; they need a capability). */
static void dangerous_advice(void **state)
{
	(void)state;
	without_capabilities = true;
	for (uint64_t advice = 100; advice <= 101; advice++) {
		quiet_program();
		effect(TRACE_ADVISE, DATA, 0x1000)->x = advice;
		effect_refused("advice that breaks memory");
	}
	without_capabilities = false;
}

/* One write(2) moves at most 2 GB. */
static void endless_output(void **state)
{
	(void)state;
	quiet_program();
	effect(TRACE_MAP, 0x100000000000, 0x100000000000)->x = PROT_READ;
	effect(TRACE_ECHO, 0x100000000000, 0x100000000000)->object = 1;
	effect_refused("output of 16 TB");
}

/* A point in computing code is compared by ranges that the trace names. */
static void points_that_lie(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(around_fixed) / sizeof(around_fixed[0]); i++) {
		for (unsigned kind = 0; kind < 2; kind++) {
			quiet_program();
			commit();
			begin_of(TRACE_SWITCH, 1);
			event.place = TRACE_AT_STATE;
			event.regs = regs_at(CODE);
			effect(TRACE_SUM, around_fixed[i][0], around_fixed[i][1])->y = kind;
			effect(TRACE_POINT, 0, 0)->object = 1;
			commit();
			begin_of(TRACE_SYSCALL, 1);
			event.regs = regs_at(CODE);
			effect_refused("a point with a sum of memory that is not the program's");
		}
	}
}

static void unknown_tasks(void **state)
{
	(void)state;
	for (unsigned kind = TRACE_SYSCALL; kind < TRACE_KIND_COUNT; kind++) {
		quiet_program();
		begin_of((enum trace_event_kind)kind, 99);
		effect_refused("an event of an unknown task");
		trace_begin();
		begin_of((enum trace_event_kind)kind, 1);
		effect_refused("an event before the first exec");
	}
	quiet_program();
	begin_of(TRACE_EXEC, 2);
	effect_refused("an exec of an unknown task");
	quiet_program();
	begin_of(TRACE_EXIT, 1);
	commit();
	begin_of(TRACE_EXIT, 1);
	effect_refused("a second end");
}

static void ends_of_everybody(void **state)
{
	struct regs regs = regs_at(CODE);
	int code;

	(void)state;
	quiet_program();
	for (uint32_t i = 0; i < 20; i++) {
		struct trace_effect *e = effect_data(TRACE_TASK, i % 2 ? CLONE_VM : 0, &regs, sizeof(regs));

		e->object = 10 + i;
	}
	commit();
	begin_of(TRACE_EXIT, 1);	/* the parent first; its children have no end */
	commit();
	trace_end();
	code = outcome("children without an end");
	assert_int_equal(code, OK_END);
}

/* Thousands of tasks: either they are refused, or all of them are gone afterwards. */
static void many_tasks(void **state)
{
	struct regs regs = regs_at(CODE);

	(void)state;
	quiet_program();
	commit();
	for (uint32_t i = 0; i < 4000; i++) {
		struct trace_effect *e;

		begin_of(TRACE_NOTE, 1);
		e = effect_data(TRACE_TASK, 0, &regs, sizeof(regs));
		e->object = 10 + i;
		commit();
	}
	begin_of(TRACE_SYSCALL, 5000);
	effect_refused("thousands of tasks");
}

/* Content in the trace that is something else by now. */
static void objects_that_lie(void **state)
{
	char path[256], link[512], cmd[600];
	struct trace_effect *e;
	struct stat st;
	uint32_t object;
	bool fresh;
	int fd;

	(void)state;
	for (int how = 0; how < 4; how++) {
		quiet_program();
		path_in(path, test_dir, "content");
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(write(fd, canary, sizeof(canary)), sizeof(canary));
		assert_return_code(fstat(fd, &st), errno);
		OK(trace_writer_file(writer, fd, &st, false, &object, &fresh));
		e = effect(TRACE_OBJECT, 0, 0);
		trace_writer_object_effect(writer, object, path, e);
		snprintf(link, sizeof(link), "%s/files/%s", test_trace, (const char *)e->data);
		e = effect(TRACE_MAP, 0x400000, 0x1000);
		e->x = PROT_READ;
		e->y = TRACE_MAP_FILE;
		e->object = object;
		commit();
		trace_end();
		close(fd);
		assert_return_code(unlink(link), errno);
		if (how == 0)
			assert_return_code(symlink("/etc/passwd", link), errno);
		else if (how == 1)
			assert_return_code(mkfifo(link, 0600), errno);
		else if (how == 2)
			assert_return_code(mkdir(link, 0700), errno);
		snprintf(cmd, sizeof(cmd), "object content replaced (%d)", how);
		refused(cmd);
	}
}

/* ---- no end ---------------------------------------------------------------------------------- */

static void ended_by(int sig)
{
	int status, null = open("/dev/null", O_WRONLY);
	pid_t pid = start_replay(null);

	close(null);
	assert_false(ends_within(pid, 1, &status));
	kill(pid, sig);
	assert_true(ends_within(pid, 5, &status));
	assert_true(WIFSIGNALED(status));
	nobody_left();
}

/* A program may compute for ever; there is no telling.  But whoever asked for the replay can end it. */
static void endless_loop(void **state)
{
	(void)state;
	quiet_program();
	commit();
	begin_of(TRACE_SYSCALL, 1);
	event.regs = regs_at(CODE);
	commit();
	trace_end();
	ended_by(SIGTERM);
	ended_by(SIGINT);
	ended_by(SIGKILL);
}

/* Programs do map terabytes, so a sum over them is legal, and takes its time. */
static void endless_sum(void **state)
{
	struct trace_effect *e;

	(void)state;
	quiet_program();
	effect(TRACE_MAP, 0x100000000000, 0x100000000000)->x = PROT_READ;
	e = effect(TRACE_SUM, 0x100000000000, 0x100000000000);
	e->y = 1;	/* all pages */
	commit();
	trace_end();
	ended_by(SIGTERM);
}

static int setup(void **state)
{
	test_setup(state);
	snprintf(canary, sizeof(canary), "%s/canary", test_dir);
	/* whoever a replayer leaves behind becomes our child */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cage_kills_program_calls, cage_setup, cage_teardown),
		cmocka_unit_test_setup_teardown(cage_kills_all_but_six, cage_setup, cage_teardown),
		cmocka_unit_test(calls_without_an_event),
		cmocka_unit_test(calls_with_an_event),
		cmocka_unit_test(vsyscall),
		cmocka_unit_test(effects_on_the_fixed_page),
		cmocka_unit_test(moves_and_writes_on_the_fixed_page),
		cmocka_unit_test(stack_into_the_fixed_page),
		cmocka_unit_test(unmap_everything),
		cmocka_unit_test(absurd_registers),
		cmocka_unit_test(absurd_effects),
		cmocka_unit_test(dangerous_advice),
		cmocka_unit_test(endless_output),
		cmocka_unit_test(points_that_lie),
		cmocka_unit_test(unknown_tasks),
		cmocka_unit_test(ends_of_everybody),
		cmocka_unit_test(many_tasks),
		cmocka_unit_test(objects_that_lie),
		cmocka_unit_test(endless_loop),
		cmocka_unit_test(endless_sum),
	};

	return cmocka_run_group_tests(tests, setup, test_teardown);
}
