/*
 * hooks.c - calls that do more than write memory.
 *
 * abi/syscalls.def marks them with HOOK; a unit test demands that the two agree.
 * Address-space calls are in memory.c.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "recorder/ptrace.h"

static void force(struct rec_call *call, int64_t ret)
{
	call->force_ret = true;
	call->forced = ret;
}

/* ---- descriptors ------------------------------------------------------------------ */

static void fd_forget(struct rec_task *t, uint64_t first, uint64_t last)
{
	rec_fd_forget(t->files, first, last);
	rec_buffer_forget(t);
}

/*
 * A virtual machine's memory is written by its guest while KVM_RUN runs, and by the kernel
 * afterwards: nothing of that can be recorded.  So there is no KVM, as on a machine whose processor
 * has none.
 */
static void ioctl_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	enum { KVM_CREATE_VM = 0xae01, KVM_RUN = 0xae80 };
	char link[64], path[64];
	ssize_t n;

	if (call->args[1] != KVM_CREATE_VM && call->args[1] != KVM_RUN)
		return;
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", t->tid, (int)call->args[0]);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	if (strcmp(path, "/dev/kvm") && strncmp(path, "anon_inode:kvm-", 15))
		return;
	if (rec_warn_once(rec, (uint64_t)SYS_ioctl << 32 | KVM_CREATE_VM))
		log_warn(
			"virtual machines with KVM cannot be recorded: the program is told ENODEV");
	force(call, -ENODEV);
}

/* All processes have another look at what their descriptors are. */
static void forget_all(struct recorder *rec)
{
	for (struct rec_task *o = rec->tasks; o; o = o->next)
		rec_buffer_forget(o);
}

/*
 * F_SETFL, FIONBIO: may it sleep?  O_DIRECT belongs to the open file, which other processes may
 * have.
 */
static struct err *flags_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	(void)regs;
	if (ret >= 0)
		rec_buffer_forget(t);
	if (ret >= 0 && call->nr == SYS_fcntl && (int)call->args[1] == F_SETFL &&
	    (call->args[2] & O_DIRECT))
		forget_all(rec);
	if (ret >= 0 && call->nr == SYS_ioctl &&
	    (uint32_t)call->args[1] == SECCOMP_IOCTL_NOTIF_ADDFD) {
		for (struct rec_task *o = rec->tasks; o; o = o->next)
			fd_forget(o, (uint64_t)ret, (uint64_t)ret);
	}
	return NULL;
}

static struct err *close_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	(void)rec;
	(void)regs;
	if (ret >= 0 || ret == -EINTR)
		fd_forget(t, call->args[0], call->args[0]);
	return NULL;
}

static struct err *dup_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			    struct regs *regs, int64_t ret)
{
	(void)rec;
	(void)regs;
	(void)call;
	if (ret >= 0)
		fd_forget(t, (uint64_t)ret, (uint64_t)ret);
	return NULL;
}

static struct err *close_range_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				    struct regs *regs, int64_t ret)
{
	(void)rec;
	(void)regs;
	if (ret >= 0)
		fd_forget(t, call->args[0], call->args[1]);
	return NULL;
}

/* A write that fails (bad input) may have moved the file's end all the same. */
static struct err *write_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	bool third = call->nr == SYS_copy_file_range || call->nr == SYS_splice;

	(void)regs;
	if (ret > 0)
		rec_fd_written(rec, t, call, ret);
	else if (ret < 0)
		rec_fd_cut(rec, t, (int)call->args[third ? 2 : 0]);
	return NULL;
}

static struct err *ftruncate_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				  struct regs *regs, int64_t ret)
{
	(void)regs;
	if (ret == 0)
		rec_fd_cut(rec, t, (int)call->args[0]);
	return NULL;
}

static struct err *truncate_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				 struct regs *regs, int64_t ret)
{
	(void)regs;
	if (ret == 0)
		rec_path_cut(rec, t, call->args[0]);
	return NULL;
}

/* Even if it fails: it may have come half way. */
static struct err *fallocate_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				  struct regs *regs, int64_t ret)
{
	(void)regs;
	rec_fd_allocated(rec, t, (int)call->args[0], ret == 0 ? call->args[1] : 0, call->args[2],
			 call->args[3]);
	return NULL;
}

/*
 * FICLONE, FICLONERANGE put another file's content there, FS_IOC_UNRESVSP and its like holes and
 * zeros.  Even if they fail: they may have come half way.
 */
static bool changes_content(uint32_t command)
{
	enum { CLONE = 0x40049409, CLONE_RANGE = 0x4020940d, ZERO_RANGE = 0x40305839,
	       UNRESERVE = 0x40305829, UNRESERVE64 = 0x4030582b, RESERVE = 0x40305828,
	       RESERVE64 = 0x4030582a };

	switch (command) {
	case CLONE:
	case CLONE_RANGE:
	case ZERO_RANGE:
	case UNRESERVE:
	case UNRESERVE64:
	case RESERVE:
	case RESERVE64:
		return true;
	default:
		return false;
	}
}

static struct err *ioctl_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	if (changes_content((uint32_t)call->args[1]))
		rec_fd_cloned(rec, t, (int)call->args[0]);
	return flags_exit(rec, t, call, regs, ret);
}

/*
 * Writing a file back zeroes what mappings have stored behind its end, in its last page (not on
 * all file systems).
 */
static void write_back_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)call;
	(void)t;
	rec_files_tails(rec, false);
}

static struct err *write_back_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				   struct regs *regs, int64_t ret)
{
	(void)t;
	(void)call;
	(void)regs;
	(void)ret;
	rec_files_tails(rec, true);
	return NULL;
}

/* O_TRUNC cuts a file that may be mapped. */
static struct err *open_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			     struct regs *regs, int64_t ret)
{
	uint64_t flags = call->nr == SYS_open	 ? call->args[1]
			 : call->nr == SYS_creat ? O_TRUNC
						 : call->args[2];

	(void)regs;
	if (call->nr == SYS_openat2 && tracee_read_user(t->tid, call->args[2], &flags, 8) < 8)
		flags = 0;	/* struct open_how starts with them */
	if (ret >= 0 && (flags & O_TRUNC))
		rec_fd_cut(rec, t, (int)ret);
	return NULL;
}

/* ---- tasks ------------------------------------------------------------------------ */

/* CLONE_UNTRACED would take the child away from us; a task of policy DEADLINE makes none. */
static void clone_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)rec;
	if (rec_policy_no_fork(t))
		force(call, -EAGAIN);
	else
		rec_clone_enter(t);
	if (call->nr == SYS_clone && (call->args[0] & CLONE_UNTRACED)) {
		call->seen_args[0] &= ~(uint64_t)CLONE_UNTRACED;
		call->changed_args = true;
	}
}

static struct err *clone_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	(void)rec;
	(void)call;
	(void)regs;
	rec_clone_exit(t, ret);
	return NULL;
}

/* exec and exit do not come back as calls; their beginning must be in the trace by then. */
static void written_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)call;
	if (rec->entered && rec->entered != t)
		rec_write_enter(rec);
	rec->entered = t;
	rec_write_enter(rec);
}

static void exec_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	if (rec_exec_foreign(rec, t, call))
		return;
	rec_exec_leaves(rec, t);
	written_enter(rec, t, call);
}

static struct err *set_tid_address_exit(struct recorder *rec, struct rec_task *t,
					struct rec_call *call, struct regs *regs, int64_t ret)
{
	(void)rec;
	(void)regs;
	(void)ret;
	t->clear_tid = call->args[0];
	return NULL;
}

static struct err *set_robust_list_exit(struct recorder *rec, struct rec_task *t,
					struct rec_call *call, struct regs *regs, int64_t ret)
{
	(void)rec;
	(void)regs;
	if (ret == 0)
		t->robust_list = call->args[0];
	return NULL;
}

/* ---- scheduling: we pin everything to one CPU; the program sees what it asked for ----- */

static void ask_for_cpu(struct rec_task *t)
{
	static const uint8_t yes = 1;

	if (t->mm->buf.on)
		err_free(rec_buffer_state(t, offsetof(struct buf_state, cpu_asked), &yes, 1));
}

static struct err *getcpu_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			       struct regs *regs, int64_t ret)
{
	const uint32_t told[2] = { rec_cores_current(t), 0 };	/* processor, node */

	(void)regs;
	for (unsigned i = 0; i < 2 && ret == 0; i++) {
		if (!call->args[i])
			continue;
		TRY(tracee_write(t->tid, call->args[i], &told[i], sizeof(told[i])));
		rec_effect_memory(rec, t, call->args[i], sizeof(told[i]));
	}
	return NULL;
}

static void setaffinity_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	struct rec_task *target = call->args[0] ? rec_task_seen(rec, t, (pid_t)call->args[0]) : t;
	cpu_set_t mask, allowed;
	size_t len = call->args[1] < sizeof(mask) ? call->args[1] : sizeof(mask);

	if (!target)
		return;		/* a process outside the recording: as it is */
	CPU_ZERO(&mask);
	if (tracee_read_user(t->tid, call->args[2], &mask, len) < len) {
		force(call, -EFAULT);
		return;
	}
	CPU_AND(&allowed, &mask, &rec->affinity);
	if (CPU_COUNT(&allowed) == 0) {
		force(call, -EINVAL);
		return;
	}
	target->affinity = allowed;
	if (rec_cores_current(target))
		ask_for_cpu(target);
	force(call, 0);
}

static struct err *getaffinity_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				    struct regs *regs, int64_t ret)
{
	struct rec_task *target = call->args[0] ? rec_task_seen(rec, t, (pid_t)call->args[0]) : t;

	(void)regs;
	if (ret <= 0 || !target || (size_t)ret > sizeof(target->affinity))
		return NULL;
	TRY(tracee_write(t->tid, call->args[2], &target->affinity, (size_t)ret));
	rec_effect_memory(rec, t, call->args[2], (uint64_t)ret);
	return NULL;
}

static struct err *yield_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	(void)rec;
	(void)call;
	(void)regs;
	(void)ret;
	rec_slice_yield(rec, t);
	return NULL;
}

/* ---- signals ---------------------------------------------------------------------- */

static struct err *sigaction_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				  struct regs *regs, int64_t ret)
{
	uint64_t sig = call->args[0];
	struct rec_sigaction action;

	(void)rec;
	(void)regs;
	if (ret == 0 && call->args[1] && sig < SIGNALS) {
		TRY(tracee_read(t->tid, call->args[1], &action, sizeof(action)));
		t->sighand->action[sig] = action;
	}
	return NULL;
}

static struct err *sigmask_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				struct regs *regs, int64_t ret)
{
	(void)rec;
	(void)call;
	(void)regs;
	(void)ret;
	return tracee_sigmask_get(t->tid, &t->sigmask);
}

static struct err *sigreturn_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				  struct regs *regs, int64_t ret)
{
	(void)call;
	(void)ret;
	TRY(tracee_sigmask_get(t->tid, &t->sigmask));
	rec_effect_xstate(rec, t);
	rec_effect_regs(rec, regs);
	return NULL;
}

/* ---- prctl and its kin -------------------------------------------------------------- */

enum { TSC_ENABLE = 1, TSC_SIGSEGV = 2 };

/* Time-stamp counter and dumpability are ours; the program sees what it set. */
static void prctl_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)rec;
	switch (call->args[0]) {
	case PR_SET_TSC:
		if (call->args[1] != TSC_ENABLE && call->args[1] != TSC_SIGSEGV) {
			force(call, -EINVAL);
			break;
		}
		t->tsc_mode = call->args[1];
		if (call->args[1] == TSC_SIGSEGV)
			rec_buffer_off(t);	/* its stubs must trap */
		force(call, 0);
		break;
	case PR_SET_DUMPABLE:
		if (call->args[1] > 1) {
			force(call, -EINVAL);
			break;
		}
		t->dumpable_off = call->args[1] == 0;	/* else we could not read its memory */
		force(call, 0);
		break;
	case PR_SET_SECCOMP:
		/* SECCOMP_MODE_STRICT, _FILTER: one more than the operations */
		if (call->args[1] == 1 || call->args[1] == 2)
			rec_filter_seccomp(rec, t, call, call->args[1] - 1, 0,
					   call->args[1] == 2 ? call->args[2] : 0);
		break;
	case PR_GET_SECCOMP:
		force(call, rec_filter_mode(rec, t));
		break;
	case PR_SET_SYSCALL_USER_DISPATCH:
		rec_filter_dispatch(rec, t, call);
		break;
	case PR_GET_DUMPABLE:
		if (t->dumpable_off)
			force(call, 0);
		break;
	}
}

static struct err *prctl_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	struct trace_effect *e;
	uint32_t mode;
	char *name;

	if (call->args[0] == PR_GET_NO_NEW_PRIVS && ret >= 0)
		regs->rax = t->filters.no_new_privs;
	if (ret != 0)
		return NULL;
	switch (call->args[0]) {
	case PR_SET_NO_NEW_PRIVS:
		t->filters.no_new_privs = true;
		break;
	case PR_GET_TSC:
		mode = (uint32_t)t->tsc_mode;
		TRY(tracee_write(t->tid, call->args[1], &mode, 4));
		rec_effect_memory(rec, t, call->args[1], 4);
		break;
	case PR_SET_NAME:
		name = rec_alloc(rec, 16);
		tracee_read_string(t->tid, call->args[1], name, 16);
		e = rec_effect(rec, TRACE_NAME);
		e->data_len = strlen(name);
		e->data = e->data_len ? name : NULL;
		break;
	}
	return NULL;
}

static void seccomp_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	rec_filter_seccomp(rec, t, call, (uint32_t)call->args[0], (uint32_t)call->args[1],
			   call->args[2]);
}

static struct err *seccomp_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				struct regs *regs, int64_t ret)
{
	(void)regs;
	rec_filter_seccomp_exit(rec, t, call, ret);
	return NULL;
}

static void arch_prctl_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)rec;
	if (call->args[0] == ARCH_SET_CPUID) {
		t->cpuid_off = !call->args[1];
		force(call, 0);
	} else if (call->args[0] == ARCH_GET_CPUID) {
		force(call, !t->cpuid_off);
	}
}

static struct err *arch_prctl_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				   struct regs *regs, int64_t ret)
{
	if (ret == 0 && call->args[0] == ARCH_SET_CPUID)
		rec_buffer_no_cpuid(rec, t);
	if (ret == 0 && (call->args[0] == ARCH_SET_FS || call->args[0] == ARCH_SET_GS))
		rec_effect_regs(rec, regs);
	return NULL;
}

/* A level has no protection keys: as on a processor that has none. */
static void pkey_alloc_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)rec;
	(void)t;
	if (cpu_level_shown() == CPU_HOST)
		return;
	call->force_ret = true;
	call->forced = -ENOSPC;
}

/* Protection keys: the kernel sets the key's bits in PKRU, which is part of the vector state. */
static struct err *pkey_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			     struct regs *regs, int64_t ret)
{
	(void)call;
	(void)regs;
	if (ret >= 0)
		rec_effect_xstate(rec, t);
	return NULL;
}

static void process_vm_writev_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	enum { VECTOR_MAX = 1024 };	/* UIO_MAXIOV */
	uint64_t n = call->args[4] < VECTOR_MAX ? call->args[4] : VECTOR_MAX;

	(void)rec;
	if (!n)
		return;
	call->vector = alloc_more(NULL, n, sizeof(*call->vector), "a vector");
	n = tracee_read_user(t->tid, call->args[3], call->vector, n * sizeof(*call->vector));
	call->vector_n = (unsigned)(n / sizeof(*call->vector));
}

static struct err *process_vm_writev_exit(struct recorder *rec, struct rec_task *t,
					  struct rec_call *call, struct regs *regs, int64_t ret)
{
	struct rec_task *target = rec_task_seen(rec, t, (pid_t)call->args[0]);
	uint64_t left = ret > 0 ? (uint64_t)ret : 0;
	bool own_event = target && target->mm != t->mm;
	struct rec_pending mine;

	(void)regs;
	if (!target || !left)
		return NULL;
	if (own_event) {	/* it is another address space that changes */
		if (rec->entered == t)
			rec_write_enter(rec);
		rec_pending_save(rec, &mine);
	}
	for (unsigned i = 0; left && i < call->vector_n; i++) {
		const struct iovec *v = &call->vector[i];
		uint64_t n = v->iov_len < left ? v->iov_len : left;

		rec_effect_memory(rec, target, (uintptr_t)v->iov_base, n);
		left -= n;
	}
	if (own_event) {
		rec_write(rec, target, TRACE_NOTE, 0, NULL, 0);
		rec_pending_restore(rec, &mine);
	}
	return NULL;
}

static const struct rec_hook hooks[SYS_ROWS] = {
	[SYS_open] = { NULL, open_exit },
	[SYS_openat] = { NULL, open_exit },
	[SYS_openat2] = { NULL, open_exit },
	[SYS_creat] = { NULL, open_exit },
	[SYS_close] = { NULL, close_exit },
	[SYS_dup2] = { NULL, dup_exit },
	[SYS_dup3] = { NULL, dup_exit },
	[SYS_close_range] = { NULL, close_range_exit },
	[SYS_write] = { NULL, write_exit },
	[SYS_writev] = { NULL, write_exit },
	[SYS_pwrite64] = { NULL, write_exit },
	[SYS_pwritev] = { NULL, write_exit },
	[SYS_pwritev2] = { NULL, write_exit },
	[SYS_sendfile] = { NULL, write_exit },
	[SYS_copy_file_range] = { NULL, write_exit },
	[SYS_splice] = { NULL, write_exit },
	[SYS_ftruncate] = { NULL, ftruncate_exit },
	[SYS_truncate] = { NULL, truncate_exit },
	[SYS_fallocate] = { NULL, fallocate_exit },
	[SYS_msync] = { write_back_enter, write_back_exit },
	[SYS_fsync] = { write_back_enter, write_back_exit },
	[SYS_fdatasync] = { write_back_enter, write_back_exit },
	[SYS_sync] = { write_back_enter, write_back_exit },
	[SYS_syncfs] = { write_back_enter, write_back_exit },
	[SYS_sync_file_range] = { write_back_enter, write_back_exit },
	[SYS_fadvise64] = { write_back_enter, write_back_exit },
	[SYS_fcntl] = { NULL, flags_exit },
	[SYS_ioctl] = { ioctl_enter, ioctl_exit },
	[SYS_clone] = { clone_enter, clone_exit },
	[SYS_clone3] = { clone_enter, clone_exit },
	[SYS_fork] = { clone_enter, clone_exit },
	[SYS_vfork] = { clone_enter, clone_exit },
	[SYS_execve] = { exec_enter, NULL },
	[SYS_execveat] = { exec_enter, NULL },
	[SYS_exit] = { written_enter, NULL },
	[SYS_exit_group] = { written_enter, NULL },
	[SYS_set_tid_address] = { NULL, set_tid_address_exit },
	[SYS_set_robust_list] = { NULL, set_robust_list_exit },
	[SYS_sched_setaffinity] = { setaffinity_enter, NULL },
	[SYS_sched_getaffinity] = { NULL, getaffinity_exit },
	[SYS_getcpu] = { NULL, getcpu_exit },
	[SYS_sched_yield] = { NULL, yield_exit },
	[SYS_sched_setparam] = { rec_policy_enter, rec_policy_exit },
	[SYS_sched_getparam] = { rec_policy_enter, rec_policy_exit },
	[SYS_sched_setscheduler] = { rec_policy_enter, rec_policy_exit },
	[SYS_sched_getscheduler] = { rec_policy_enter, rec_policy_exit },
	[SYS_sched_rr_get_interval] = { rec_policy_enter, rec_policy_exit },
	[SYS_sched_setattr] = { rec_policy_enter, rec_policy_exit },
	[SYS_sched_getattr] = { rec_policy_enter, rec_policy_exit },
	[SYS_rt_sigaction] = { NULL, sigaction_exit },
	[SYS_rt_sigprocmask] = { NULL, sigmask_exit },
	[SYS_rt_sigreturn] = { NULL, sigreturn_exit },
	[SYS_prctl] = { prctl_enter, prctl_exit },
	[SYS_seccomp] = { seccomp_enter, seccomp_exit },
	[SYS_arch_prctl] = { arch_prctl_enter, arch_prctl_exit },
	[SYS_pkey_alloc] = { pkey_alloc_enter, pkey_exit },
	[SYS_pkey_free] = { NULL, pkey_exit },
	[SYS_ptrace] = { rec_pt_request_enter, rec_pt_request_exit },
	[SYS_rt_sigqueueinfo] = { rec_queued_enter, NULL },
	[SYS_rt_tgsigqueueinfo] = { rec_queued_enter, NULL },
	[SYS_pidfd_send_signal] = { rec_queued_enter, NULL },
	[SYS_rt_sigtimedwait] = { NULL, rec_signal_taken_exit },
	[SYS_signalfd] = { NULL, rec_pt_signalfd_exit },
	[SYS_signalfd4] = { NULL, rec_pt_signalfd_exit },
	[SYS_read] = { NULL, rec_pt_signalfd_read_exit },
	[SYS_wait4] = { rec_pt_wait_enter, rec_pt_wait_exit },
	[SYS_waitid] = { rec_pt_wait_enter, rec_pt_wait_exit },
	[SYS_process_vm_writev] = { process_vm_writev_enter, process_vm_writev_exit },
};

const struct rec_hook *rec_hook_for(uint64_t nr)
{
	const struct rec_hook *hook;

	if (nr >= SYS_ROWS)
		return NULL;
	hook = &hooks[nr];
	if (!hook->enter && !hook->exit)
		hook = &rec_memory_hooks[nr];
	return hook->enter || hook->exit ? hook : NULL;
}
