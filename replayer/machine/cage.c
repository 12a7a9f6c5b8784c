/*
 * cage.c - processes that can do nothing by themselves.
 *
 * The replayer forks one process, the zygote, empties its address space down to one page and
 * never runs it; each exec of the recording starts as a clone of it, each fork and thread as a
 * clone of the replayed parent.  Two walls keep a trace from an untrusted source harmless:
 *
 *   1. Program code only ever runs under PTRACE_SYSEMU, so a system call instruction stops
 *      before the kernel has done anything, and is then skipped.
 *   2. A seccomp filter kills the process for any call that is not made by one of
 *      two instructions, at FIXED_INJECT and in list_text.S, and there for any but the few calls
 *      that we inject.
 *
 * PTRACE_O_EXITKILL takes all of them along when the replayer dies.
 *
 * All share the replayer's descriptor table (CLONE_FILES), so an injected mmap names
 * descriptors of ours; the filter leaves no call that could use one otherwise.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/machine/cage.h"
#include "replayer/machine/calls.h"
#include "replayer/machine/list.h"
#include "replayer/machine/machine.h"
#include "tracee/level.h"

enum {
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		  PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL,
};

#define ALLOW_CALL(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int install_cage(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		/*
		 * a jump to the vsyscall page, where nothing of ours is: it faults, in effect
		 * (event.c)
		 */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIXED_INJECT_AFTER, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 FIXED_LIST + (unsigned)(list_call_after - list_text), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW_CALL(SYS_mmap),
		ALLOW_CALL(SYS_munmap),
		ALLOW_CALL(SYS_mprotect),
		ALLOW_CALL(SYS_mremap),
		ALLOW_CALL(SYS_madvise),
		ALLOW_CALL(SYS_clone),
		ALLOW_CALL(SYS_setitimer),	/* signals go to the process itself */
		ALLOW_CALL(SYS_pkey_mprotect),	/* as mprotect; keys are the process's own */
		ALLOW_CALL(SYS_pkey_alloc),
		ALLOW_CALL(SYS_pkey_free),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog) ==
	    0)
		return 0;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

/* The child after the clone: only system calls, on memory that is ours alone. */
static _Noreturn void zygote_main(int go, bool trap_cpuid)
{
	sigset_t none;
	void *page;
	char byte;

	for (int i = 1; i < 65; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The kernel would write to this area, which is about to go (glibc 2.35 registers one). */
	if (__rseq_size &&
	    syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset,
		    __rseq_size < 32 ? 32 : __rseq_size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) < 0)
		_exit(6);
	setsid();		/* keys typed at the terminal are not for it */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	page = mmap((void *)(uintptr_t)FIXED_PAGE, FIXED_END - FIXED_PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (page != (void *)(uintptr_t)FIXED_PAGE)
		_exit(page == MAP_FAILED && errno == ENOMEM ? 7 : 1);
	calls_prepare();
	if (mprotect(page, FIXED_STATE - FIXED_PAGE, PROT_READ | PROT_EXEC) < 0 ||
	    read(go, &byte, 1) != 1)
		_exit(2);
	if (!cpu_emulated()->no_tsc && prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
		_exit(3);
	if (trap_cpuid && syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) < 0)
		_exit(4);
	if (install_cage() < 0)
		_exit(5);
	__asm__ volatile("int3");	/* the replayer takes over */
	for (;;)
		;
}

static struct err *zygote_failed(int status)
{
	static const char *const why[] = {
		"?",
		"the fixed page is taken",
		"no page to run in",
		"the time-stamp counter cannot be trapped",
		"the recording needs cpuid faulting, which this CPU or hypervisor does not have",
		"seccomp filters are not allowed here",
		"restartable sequences cannot be switched off",
		"there is too little memory; see free, ulimit -d and ulimit -v",
	};
	unsigned step = WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;

	return err_new(ERR_UNSUPPORTED, "cannot make a process to replay in: %s",
		       why[step < 8 ? step : 0]);
}

/*
 * Nothing of the replayer's memory stays: only the fixed pages (and the unremovable vsyscall page).
 */
static struct err *zygote_empty(pid_t pid)
{
	const uint64_t end = 0x7ffffffff000;
	struct regs regs;
	int64_t a, b;

	TRY(tracee_regs_get(pid, &regs));
	TRY(cage_call(pid, &regs, &a, SYS_munmap, 0, FIXED_PAGE, 0, 0, 0, 0));
	TRY(cage_call(pid, &regs, &b, SYS_munmap, FIXED_END, end - FIXED_END, 0, 0, 0, 0));
	if (a || b)
		return err_new(ERR_UNSUPPORTED, "cannot empty a process: munmap failed (%ld, %ld)",
			       (long)a, (long)b);
	return NULL;
}

struct err *cage_start(struct replay *r)
{
	int go[2], status, why;
	long pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_os(errno, "cannot make a pipe");
	pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		return err_os(errno, "cannot fork");
	if (pid == 0)
		zygote_main(go[0], r->cpuid_trapped);
	r->zygote = (pid_t)pid;
	if (ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) < 0) {
		why = errno;
		/* it may have ended already, where there is little memory */
		if (waitpid((pid_t)pid, &status, __WALL | WNOHANG) == pid)
			return zygote_failed(status);
		return err_os(why, "cannot trace a process of our own (is ptrace forbidden here?)");
	}
	if (write(go[1], "g", 1) != 1)
		return err_os(errno, "cannot start a process");
	TRY(tracee_wait(r->zygote, &status));
	close(go[0]);
	close(go[1]);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return zygote_failed(status);
	TRY(zygote_empty(r->zygote));
	return tracee_regs_get(r->zygote, &r->zygote_regs);
}

struct err *cage_call(pid_t pid, const struct regs *regs, int64_t *ret, long nr, uint64_t a0,
		      uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
	struct inject in = { .tid = pid, .site = FIXED_INJECT, .trap = true };
	const uint64_t args[6] = { a0, a1, a2, a3, a4, a5 };

	return inject_call_regs(&in, regs, ret, nr, args);
}

static struct cage_children *children;

void cage_children_to(struct cage_children *b)
{
	children = b;
}

/* CLONE_PARENT: all are children of the replayer, which reaps them. */
static struct err *clone_of(pid_t pid, const struct regs *regs, bool share_memory, bool leave,
			    pid_t *ret)
{
	struct inject in = {
		.tid = pid, .site = FIXED_INJECT, .trap = true, .leave = leave
	};
	const uint64_t args[6] = { CLONE_FILES | CLONE_PARENT | (share_memory ? CLONE_VM : 0) };
	int64_t r;

	for (unsigned attempt = 0; attempt < 100; attempt++) {
		TRY(inject_call_regs(&in, regs, &r, SYS_clone, args));
		if (r > 0 && in.child)
			break;
		if (r != -EAGAIN)
			return err_os((int)-r, "cannot clone a replayed process");
		usleep(1000);
	}
	if (in.child && children && children->n < children->room)
		children->pid[children->n++] = in.child;
	if (!in.child || (children && children->n == children->room))
		return err_os(EAGAIN, "cannot clone a replayed process (too many processes?)");
	*ret = in.child;
	return NULL;
}

struct err *cage_process(struct replay *r, pid_t *ret)
{
	/* the zygote has no others, and does nothing else */
	return clone_of(r->zygote, &r->zygote_regs, false, true, ret);
}

struct err *cage_clone(struct rp_task *t, bool share_memory, pid_t *ret)
{
	t->raw_known = false;	/* the kernel now has those of our own call */
	return clone_of(t->real, &t->regs, share_memory, false, ret);
}

struct err *cage_call_now(pid_t pid, int64_t *ret, long nr, uint64_t a0, uint64_t a1, uint64_t a2,
			  uint64_t a3, uint64_t a4)
{
	struct regs regs;

	TRY(tracee_regs_get(pid, &regs));
	return cage_call(pid, &regs, ret, nr, a0, a1, a2, a3, a4, 0);
}

void cage_kill(pid_t pid)
{
	int status;

	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	do {
		struct err *err = tracee_wait(pid, &status);

		if (err) {
			err_free(err);
			return;
		}
	} while (WIFSTOPPED(status));
}

/* The process stops by a signal, of which its parent is told. */
struct err *cage_let_go(pid_t pid)
{
	int status;

	if (kill(pid, SIGSTOP) < 0 || ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0)
		return err_os(errno, "cannot let go of a replayed process");
	while (waitpid(pid, &status, WUNTRACED | __WALL) < 0) {
		if (errno != EINTR)
			return err_os(errno, "waitpid");
	}
	return WIFSTOPPED(status) ? NULL : &err_gone;
}

struct err *cage_take(pid_t pid, int cpu)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) < 0)
		return err_os(errno, "cannot take over a replayed process");
	TRY(tracee_wait(pid, &status));
	cpu_move(pid, cpu);
	/* out of the group stop: the signal is met on the way, before any instruction */
	if (kill(pid, SIGCONT) < 0)
		return err_os(errno, "cannot take over a replayed process");
	do {
		TRY(tracee_resume(pid, PTRACE_CONT, 0));
		TRY(tracee_wait(pid, &status));
		if (!WIFSTOPPED(status))
			return &err_gone;
	} while (status >> 16 || WSTOPSIG(status) != SIGCONT);
	return NULL;
}
