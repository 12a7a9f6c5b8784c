/*
 * start.c - from nothing to the first task under ptrace, and the end of it all.
 *
 * The child is forked by whoever wants it to be his (cmd/front.c).  It waits until it is seized,
 * sets what its descendants inherit (time-stamp counter traps, the seccomp filter) and execs the
 * program.  The order matters: a filter that asks for a tracer answers ENOSYS while there is none.
 *
 * The filter is written by hand, not with libseccomp: it decides by instruction pointer,
 * which libseccomp cannot express.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/internal.h"
#include "tracee/ud2.h"
#include "tracee/own.h"

enum {
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		  PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
		  PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL,
};

/*
 * Everything stops, except calls made by the instructions at FIXED_UNTRACED and FIXED_INJECT.
 * 32-bit calls (int 0x80) get ENOSYS here and in replay. */
static int install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIXED_UNTRACED_AFTER, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIXED_INJECT_AFTER, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog) ==
	    0)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog) ==
	    0)
		return 0;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

/*
 * Where a filter is in force already (a container's), it answers some calls by itself, before
 * ours would stop them.  PTRACE_SYSCALL stops before any filter; ours is not installed then: it
 * would only add a third stop.
 */
static bool filtered_already(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
}

struct child_failure { int step, os_errno; };

/* Runs in the child: nothing here may allocate or print. */
static _Noreturn void child_main(const struct recorder_options *options,
				 const struct recorder_child *child, int go, int report)
{
	bool outer_filter = filtered_already();
	struct child_failure failure = { 1, 0 };
	char byte = 'r';

	/*
	 * Where only ancestors may trace (Yama): the recorder is none.  It reads the byte before it
	 * begins.
	 */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (write(report, &byte, 1) == 1 && read(go, &byte, 1) == 1) {
		prctl(PR_SET_PTRACER, 0, 0, 0, 0);
		sigprocmask(SIG_SETMASK, &child->sigmask, NULL);
		if ((cpu_emulated()->no_tsc || prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0) &&
		    (outer_filter || install_filter() == 0)) {
			failure.step = 2;
			execv(options->exe, options->argv);
		}
	}
	failure.os_errno = errno;
	if (write(report, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(125);
}

/* Not among the standard streams, should these be closed: they are replaced. */
static int apart(int fd)
{
	int high = fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (high != fd)
		close(fd);
	return high;
}

struct err *recorder_child_fork(const struct recorder_options *options, struct recorder_child *ret)
{
	int go[2], report[2];

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
		return err_os(errno, "cannot make a pipe");
	ret->pid = fork();
	if (ret->pid < 0)
		return err_fork(errno);
	if (ret->pid == 0) {
		close(go[1]);
		child_main(options, ret, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	ret->go = apart(go[1]);
	ret->report = apart(report[0]);
	return NULL;
}

void recorder_child_forget(struct recorder_child *child)
{
	close(child->go);
	close(child->report);
}

void recorder_child_end(struct recorder_child *child)
{
	recorder_child_forget(child);
	waitpid(child->pid, NULL, 0);
}

static uint64_t ignored_signals(void)
{
	uint64_t set = 0;

	for (int i = 1; i < SIGNALS; i++) {
		struct sigaction sa;

		if (sigaction(i, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			set |= 1ull << (i - 1);
	}
	return set;
}

/* Nobody who reads what the program writes waits for us. */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
}

static struct err *spawn(struct recorder *rec)
{
	const struct recorder_child *child = &rec->options->child;
	char byte;

	rec->exec_pipe = child->report;
	rec->root = child->pid;
	if (read(rec->exec_pipe, &byte, 1) != 1)
		return err_new(ERR_OS, "the program died before it started");
	if (cpu_own() >= 0)
		cpu_move(rec->root, cpu_own());
	/* without our filter, TRACE is an answer of somebody else's: ENOSYS, as without us */
	if (ptrace(PTRACE_SEIZE, rec->root, NULL,
		   rec->outer_filter ? OPTIONS & ~PTRACE_O_TRACESECCOMP : OPTIONS) < 0) {
		int seize = errno;

		kill(rec->root, SIGKILL);
		return err_os(seize, "cannot trace the program (is ptrace forbidden here?)");
	}
	rec_outer_try(rec, rec->root);
	if (write(child->go, "g", 1) != 1)
		return err_os(errno, "cannot start the program");
	close(child->go);
	leave_streams();
	rec_end_signals(rec);
	rec_ticks_start(rec);
	return NULL;
}

static void first_task(struct recorder *rec)
{
	struct rec_task *t = rec_task_add(rec, rec->root, rec->root);

	t->mm = rec_mm_create();
	t->files = rec_files_copy(NULL);
	t->sighand = rec_sighand_copy(NULL);
	rec_task_set(t, TASK_RUNNING);
	t->affinity = rec->affinity;
	rec_policy_take(t);
	t->every_call = rec->outer_filter && !rec->dispatch;
	t->by_dispatch = rec->dispatch;
	t->filters.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0;
}

static void remember_stdio(struct recorder *rec)
{
	for (int i = 1; i <= 2; i++) {
		struct stat st;

		/* /dev/null */
		if (fstat(i, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == 0x103))
			continue;
		rec->stdio_dev[i] = st.st_dev;
		rec->stdio_ino[i] = st.st_ino;
	}
}

/* A random UUID, version 4 (RFC 9562). */
static void make_uuid(char uuid[37])
{
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		memset(b, 0x11, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(uuid, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		 b[13], b[14], b[15]);
}

struct meta_text { char uname[512], brand[49], cwd[4096]; };

static void fill_meta(struct recorder *rec, struct meta_text *text)
{
	struct trace_meta *m = &rec->meta;
	struct utsname uts;

	uname(&uts);
	snprintf(text->uname, sizeof(text->uname), "%s %s %s", uts.sysname, uts.release,
		 uts.machine);
	cpuid_brand(text->brand);
	if (!getcwd(text->cwd, sizeof(text->cwd)))
		snprintf(text->cwd, sizeof(text->cwd), "?");
	m->version = TRACE_VERSION;
	make_uuid(m->uuid);
	m->start_realtime_ns = clock_ns(CLOCK_REALTIME);
	m->exe = (char *)(uintptr_t)rec->options->exe;
	m->argv = rec->options->argv;
	m->cwd = text->cwd;
	m->uname = text->uname;
	m->cpu_model = text->brand;
	cpu_level_show(rec->options->level);
	cpu_vendor(m->cpu_vendor);
	m->cpu_signature = cpu_signature();
	xsave_layout_recorded(m->xsave_part);
	m->marked = ud2_needed() || rec->options->level != CPU_HOST;
	ud2_of_recording(m->marked);
	m->cpuid_trapped = m->marked || cpuid_can_trap();
	cpuid_features(m->cpuid_trapped, m->cpuid_features);
	m->xcr0 = cpu_xcr0_shown();
	m->xsave_size = cpuid_here(0xd, 0).ebx;
	m->ticks = (char *)(uintptr_t)ticks_names[rec->options->ticks];
	m->syscallbuf = rec->options->buffer_bytes != 0;
	m->flow = m->syscallbuf && rec_ticks_counted(rec);
	m->checksums = rec->options->sums != SUMS_NONE;
}

static struct err *exec_failure(struct recorder *rec)
{
	struct child_failure failure;
	ssize_t n = read(rec->exec_pipe, &failure, sizeof(failure));

	close(rec->exec_pipe);
	if (n != sizeof(failure))
		return rec->started ? NULL : err_new(ERR_OS, "the program died before it started");
	if (failure.step == 1)
		return err_os(failure.os_errno,
			      "cannot install the seccomp filter that recording needs");
	return err_os(failure.os_errno, "cannot run %s", rec->options->exe);
}

static void recorder_deinit(struct recorder *rec)
{
	while (rec->tasks)
		rec_task_remove(rec, rec->tasks);
	free(rec->effect);
	rec_hook_block_deinit(rec);
	rec_buffer_deinit(rec);
	rec_ud2_deinit(rec);
	rec_cores_deinit(rec);
	while (rec->arena) {
		struct rec_arena *next = rec->arena->next;

		free(rec->arena);
		rec->arena = next;
	}
	mem_sum_destroy(rec->sum);
	err_free(rec->write_error);
	free(rec);
}

/* An error of ours in the middle: nobody must stay behind stopped. */
static void kill_all(struct recorder *rec)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next)
		kill(t->tid, SIGKILL);
}

static struct err *record(struct recorder *rec)
{
	struct err *err;

	TRY(spawn(rec));
	first_task(rec);
	err = rec_loop(rec);
	if (err) {
		kill_all(rec);
		return err;
	}
	return exec_failure(rec);
}

/* aborted: the trace must not be taken for all that the program did. */
static struct err *close_trace(struct recorder *rec, bool aborted)
{
	struct trace_totals totals;

	trace_writer_totals(rec->writer, &totals);
	if (!aborted || !totals.events)
		return trace_writer_close(rec->writer, rec->root_status);
	trace_writer_abandon(rec->writer);
	return NULL;
}

struct err *recorder_run(const struct recorder_options *options, int *status_ret)
{
	struct recorder *rec = calloc(1, sizeof(*rec));
	struct meta_text text;
	struct err *err, *close_err;
	const char *lacks;
	struct stat proc;

	if (!rec)
		return &err_nomem;
	if (options->level != CPU_HOST && !cpu_level_here(options->level, &lacks)) {
		free(rec);
		return err_new(
			ERR_UNSUPPORTED,
			"this processor is no %s: it has no %s; the most it can be is --cpu=%s",
			cpu_level_name(options->level), lacks, cpu_level_name(cpu_level_highest()));
	}
	rec->options = options;
	rec->sum = mem_sum_create();
	rec_chaos_start(rec);
	rec->witness = getenv("HINDSIGHT_WITNESS");
	rec->audit = getenv("HINDSIGHT_AUDIT") != NULL;
	rec->sigignore = ignored_signals();
	rec_outer_look(rec);
	rec->proc_dev = stat("/proc", &proc) == 0 ? proc.st_dev : 0;
	signal(SIGXFSZ, SIG_IGN);	/* a full trace must not kill us */
	remember_stdio(rec);
	fill_meta(rec, &text);
	bug_context.doing = "recording";
	err = trace_writer_create(options->trace_dir, options->store_dir, &rec->meta, &rec->writer);
	if (err) {
		recorder_deinit(rec);
		return err;
	}
	trace_writer_limit(rec->writer, options->max_bytes);
	cpu_pin(&rec->affinity);
	rec_cores_start(rec);
	own_trap(rec->meta.cpuid_trapped && !rec->meta.marked);
	rec->start_ns = now_ns();
	err = record(rec);
	close_err = close_trace(rec, err != NULL);
	if (!err && !rec->failed)
		err = close_err;
	else
		err_free(close_err);
	*status_ret = rec->root_status;
	recorder_deinit(rec);
	return err;
}
