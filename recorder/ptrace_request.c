/*
 * ptrace_request.c - ptrace() of a recorded program, answered by the recorder (ptrace.h).
 *
 * The call itself is never made.  At its exit the request is done on the tracee, which the recorder
 * holds stopped, by the same request of the recorder's own; what the tracee has then is an event of
 * the tracee, and what the tracer is given an effect of the tracer's call.
 */
#include <asm/prctl.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "recorder/ptrace.h"

enum {
	OPTIONS_ALL = 0x1000ff | PTRACE_O_EXITKILL | PTRACE_O_SUSPEND_SECCOMP,
	SIGNAL_MAX = 64,
	REQUEST_OLD_SETOPTIONS = 21,	/* the kernel takes it still */
	REGSET_MAX = 1 << 16,
	REQUEST_GET_METADATA = 0x420d,
	REQUEST_GET_RSEQ = 0x420f,
	REQUEST_SET_DISPATCH = 0x4210,
	REQUEST_GET_DISPATCH = 0x4211,
	REQUEST_SET_SYSCALL_INFO = 0x4212,
};

/* ---- memory of the two ----------------------------------------------------------------------- */

/* To the tracer's memory, as a result of its call. */
static int64_t give(struct recorder *rec, struct rec_task *t, uint64_t addr, const void *bytes,
		    size_t len)
{
	struct iovec local = { (void *)(uintptr_t)bytes, len };
	struct iovec remote = { (void *)(uintptr_t)addr, len };

	if (!len)
		return 0;
	if (process_vm_writev(t->tid, &local, 1, &remote, 1, 0) != (ssize_t)len)
		return -EFAULT;
	rec_effect_memory(rec, t, addr, len);
	return 0;
}

static int64_t take(struct rec_task *t, uint64_t addr, void *bytes, size_t len)
{
	return tracee_read_user(t->tid, addr, bytes, len) == len ? 0 : -EFAULT;
}

static int64_t real(int request, struct rec_task *t, uint64_t addr, void *data)
{
	long ret = syscall(SYS_ptrace, request, t->tid, addr, data);

	return ret < 0 ? -errno : ret;
}

/* The tracee's registers are what the tracer has set them to. */
static void regs_set(struct recorder *rec, struct rec_task *t, bool vector)
{
	struct rec_pending mine;
	struct regs regs;
	struct err *err = tracee_regs_get(t->tid, &regs);

	if (err) {
		err_free(err);
		return;
	}
	rec_pending_save(rec, &mine);
	rec_effect_regs(rec, &regs);
	if (vector)
		rec_effect_xstate(rec, t);
	rec_resume_point_set(t, &regs, false);
	t->at_syscall = false;
	rec_write(rec, t, TRACE_NOTE, 0, NULL, 0);
	rec_pending_restore(rec, &mine);
}

/* ---- peek and poke --------------------------------------------------------------------------- */

static int64_t peek(struct recorder *rec, struct rec_task *t, struct rec_task *of, uint64_t addr,
		    uint64_t data)
{
	uint64_t word;
	int64_t ret = real(PTRACE_PEEKDATA, of, addr, &word);

	if (ret < 0)
		return ret;
	patch_hide(&of->mm->buf.patches, addr, &word, sizeof(word));
	return give(rec, t, data, &word, sizeof(word));
}

/*
 * A ud2 patch (tracee/ud2.h) that the tracer overwrites with other bytes is gone; a write of the
 * bytes that the tracer believes to be there keeps the patch.
 */
static uint64_t keep_ud2s(struct rec_task *of, uint64_t addr, uint64_t word)
{
	uint64_t now = word;

	for (unsigned i = 0; i < 8; i++) {
		const struct patch *p = patches_at(&of->mm->buf.patches, addr + i);
		uint8_t *bytes = (uint8_t *)&now;
		unsigned k;

		if (!p || p->kind != PATCH_UD2)
			continue;
		k = (unsigned)(addr + i - p->addr);
		if (bytes[i] == p->bytes[k])
			bytes[i] = patch_ud2[k];
		else
			patches_cut(&of->mm->buf.patches, p->addr, p->len);
	}
	return now;
}

static int64_t poke(struct recorder *rec, struct rec_task *of, uint64_t addr, uint64_t word)
{
	struct rec_pending mine;
	int64_t ret;

	word = keep_ud2s(of, addr, word);
	ret = real(PTRACE_POKEDATA, of, addr, (void *)(uintptr_t)word);
	if (ret < 0)
		return ret;
	rec_pending_save(rec, &mine);
	rec_effect_bytes(rec, addr, &word, sizeof(word));
	rec_write(rec, of, TRACE_NOTE, 0, NULL, 0);
	rec_pending_restore(rec, &mine);
	return 0;
}

static int64_t peek_user(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			 uint64_t addr, uint64_t data)
{
	uint64_t word;
	int64_t ret = real(PTRACE_PEEKUSER, of, addr, &word);

	return ret < 0 ? ret : give(rec, t, data, &word, sizeof(word));
}

static int64_t poke_user(struct recorder *rec, struct rec_task *of, uint64_t addr, uint64_t word)
{
	int64_t ret = real(PTRACE_POKEUSER, of, addr, (void *)(uintptr_t)word);

	if (ret >= 0 && addr < sizeof(struct regs))
		regs_set(rec, of, false);
	else if (ret >= 0 && word)
		of->pt->watches = true;
	return ret;
}

/* ---- registers ------------------------------------------------------------------------------- */

static int64_t get_block(struct recorder *rec, struct rec_task *t, struct rec_task *of, int request,
			 size_t len, uint64_t data)
{
	unsigned char buf[sizeof(struct user)];
	int64_t ret = real(request, of, 0, buf);

	return ret < 0 ? ret : give(rec, t, data, buf, len);
}

static int64_t set_block(struct recorder *rec, struct rec_task *t, struct rec_task *of, int request,
			 size_t len, uint64_t data)
{
	unsigned char buf[sizeof(struct user)];
	int64_t ret = take(t, data, buf, len);

	if (ret == 0)
		ret = real(request, of, 0, buf);
	if (ret >= 0)
		regs_set(rec, of, request != PTRACE_SETREGS);
	return ret;
}

static int64_t get_regset(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			  uint64_t type, uint64_t data)
{
	struct iovec iov, local;
	int64_t ret = take(t, data, &iov, sizeof(iov));

	if (ret < 0)
		return ret;
	local.iov_len = iov.iov_len < REGSET_MAX ? iov.iov_len : REGSET_MAX;
	local.iov_base = rec_alloc(rec, local.iov_len + 1);
	ret = real(PTRACE_GETREGSET, of, type, &local);
	if (ret < 0)
		return ret;
	ret = give(rec, t, (uint64_t)(uintptr_t)iov.iov_base, local.iov_base, local.iov_len);
	if (ret < 0)
		return ret;
	iov.iov_len = local.iov_len;
	return give(rec, t, data, &iov, sizeof(iov));
}

static int64_t set_regset(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			  uint64_t type, uint64_t data)
{
	struct iovec iov, local;
	int64_t ret = take(t, data, &iov, sizeof(iov));

	if (ret < 0)
		return ret;
	local.iov_len = iov.iov_len < REGSET_MAX ? iov.iov_len : REGSET_MAX;
	local.iov_base = malloc(local.iov_len + 1);
	if (!local.iov_base)
		return -ENOMEM;
	ret = take(t, (uint64_t)(uintptr_t)iov.iov_base, local.iov_base, local.iov_len);
	if (ret == 0)
		ret = real(PTRACE_SETREGSET, of, type, &local);
	free(local.iov_base);
	if (ret < 0)
		return ret;
	regs_set(rec, of, type != NT_PRSTATUS);
	iov.iov_len = local.iov_len;
	return give(rec, t, data, &iov, sizeof(iov));
}

/* The kernel's structures of PTRACE_GET_SYSCALL_INFO, which stop at what the kind of stop has. */
static int64_t syscall_info(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			    uint64_t size, uint64_t data)
{
	struct __ptrace_syscall_info info;
	size_t len = offsetof(struct __ptrace_syscall_info, entry);
	struct regs regs;
	struct err *err = tracee_regs_get(of->tid, &regs);
	int64_t ret;

	if (err) {
		err_free(err);
		return -ESRCH;
	}
	memset(&info, 0, sizeof(info));
	info.arch = AUDIT_ARCH_X86_64;
	info.instruction_pointer = regs.rip;
	info.stack_pointer = regs.rsp;
	if (of->pt->stop == PT_ENTRY || of->pt->stop == PT_SECCOMP) {
		info.op = PTRACE_SYSCALL_INFO_ENTRY;
		info.entry.nr = (uint64_t)regs_call(regs.orig_rax);
		memcpy(info.entry.args,
		       (const uint64_t[]){ regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8,
					   regs.r9 },
		       sizeof(info.entry.args));
		len += sizeof(info.entry);
		if (of->pt->stop == PT_SECCOMP) {
			info.op = PTRACE_SYSCALL_INFO_SECCOMP;
			info.seccomp.ret_data = (uint32_t)of->pt->message;
			len = offsetof(struct __ptrace_syscall_info, seccomp.ret_data) + 4;
		}
	} else if (of->pt->stop == PT_EXIT) {
		info.op = PTRACE_SYSCALL_INFO_EXIT;
		info.exit.rval = (int64_t)regs.rax;
		info.exit.is_error = (int64_t)regs.rax < 0 && (int64_t)regs.rax >= -4095;
		len = offsetof(struct __ptrace_syscall_info, exit.is_error) + 1;
	}
	ret = give(rec, t, data, &info, size < len ? size : len);
	return ret < 0 ? ret : (int64_t)len;
}

static int64_t set_syscall_info(struct recorder *rec, struct rec_task *t, struct rec_task *of,
				uint64_t size, uint64_t data)
{
	struct __ptrace_syscall_info info;
	struct regs regs;
	struct err *err;

	memset(&info, 0, sizeof(info));
	if (size < offsetof(struct __ptrace_syscall_info, entry))
		return -EINVAL;
	if (take(t, data, &info, size < sizeof(info) ? size : sizeof(info)) < 0)
		return -EFAULT;
	if ((info.op == PTRACE_SYSCALL_INFO_ENTRY) != (of->pt->stop == PT_ENTRY) ||
	    (info.op == PTRACE_SYSCALL_INFO_EXIT) != (of->pt->stop == PT_EXIT) ||
	    info.op == PTRACE_SYSCALL_INFO_NONE)
		return -EINVAL;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY &&
	    regs_call(info.entry.nr) != (int64_t)info.entry.nr)
		return -ERANGE;
	err = tracee_regs_get(of->tid, &regs);
	if (!err && info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		regs.orig_rax = info.entry.nr;
		regs.rdi = info.entry.args[0];
		regs.rsi = info.entry.args[1];
		regs.rdx = info.entry.args[2];
		regs.r10 = info.entry.args[3];
		regs.r8 = info.entry.args[4];
		regs.r9 = info.entry.args[5];
	} else if (!err) {
		regs.rax = (uint64_t)info.exit.rval;
	}
	if (!err)
		err = tracee_regs_set(of->tid, &regs);
	err_free(err);
	regs_set(rec, of, false);
	return 0;
}

/* ---- signals --------------------------------------------------------------------------------- */

static int64_t get_siginfo(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			   uint64_t data)
{
	if (!of->pt->has_info)
		return -EINVAL;
	if (of->pt->own_ids) {
		of->pt->info.si_pid = rec_tid_seen(of, of);
		of->pt->info.si_uid = rec_uid_seen(of, of->tid);
		of->pt->own_ids = false;
	}
	return give(rec, t, data, &of->pt->info, sizeof(of->pt->info));
}

static int64_t set_siginfo(struct rec_task *t, struct rec_task *of, uint64_t data)
{
	siginfo_t info;
	int64_t ret = take(t, data, &info, sizeof(info));

	if (ret < 0)
		return ret;
	if (!of->pt->has_info)
		return -EINVAL;
	of->pt->info = info;
	of->pt->own_ids = false;
	return of->pt->stop == PT_SIGNAL ? real(PTRACE_SETSIGINFO, of, 0, &info) : 0;
}

static int64_t get_sigmask(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			   uint64_t size, uint64_t data)
{
	uint64_t mask;
	int64_t ret = real(PTRACE_GETSIGMASK, of, size, &mask);

	return ret < 0 ? ret : give(rec, t, data, &mask, sizeof(mask));
}

static int64_t set_sigmask(struct rec_task *t, struct rec_task *of, uint64_t size, uint64_t data)
{
	uint64_t mask;
	int64_t ret = take(t, data, &mask, sizeof(mask));

	if (ret == 0)
		ret = real(PTRACE_SETSIGMASK, of, size, &mask);
	if (ret == 0)
		err_free(tracee_sigmask_get(of->tid, &of->sigmask));
	return ret;
}

/* struct ptrace_peeksiginfo_args: offset, flags, count; the result counts what was given. */
static int64_t peek_siginfo(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			    uint64_t args, uint64_t data)
{
	struct { uint64_t off; uint32_t flags; int32_t nr; } want;
	siginfo_t *info;
	int64_t ret = take(t, args, &want, sizeof(want)), got = 0;
	int32_t nr;

	if (ret < 0)
		return ret;
	if (want.nr < 0)
		return -EINVAL;
	nr = want.nr < 64 ? want.nr : 64;
	info = rec_alloc(rec, (size_t)nr * sizeof(*info) + 1);
	do {	/* the kernel ends a list early where a signal waits for us */
		want.nr = nr - (int32_t)got;
		ret = real(PTRACE_PEEKSIGINFO, of, (uint64_t)(uintptr_t)&want, info + got);
		if (ret > 0)
			got += ret;
		want.off += ret > 0 ? (uint64_t)ret : 0;
	} while (ret > 0 && got < nr);
	for (int64_t i = 0; i < got; i++)
		(void)(rec_queued_show(&info[i]) || rec_pt_sigchld(&info[i]));
	if (got && give(rec, t, data, info, (size_t)got * sizeof(*info)) < 0)
		return -EFAULT;
	return got ? got : ret;
}

/* The nth filter of the tracee's from the oldest; the result counts its instructions. */
static int64_t get_filter(struct recorder *rec, struct rec_task *t, struct rec_task *of, uint64_t n,
			  uint64_t data)
{
	unsigned count = rec_filter_count(rec, of), len;
	const void *code;

	if (!(proc_status_number(t->tid, "CapEff:", 16) >> CAP_SYS_ADMIN & 1) ||
	    rec_filter_mode(rec, t))
		return -EACCES;
	if (rec_filter_mode(rec, of) != SECCOMP_MODE_FILTER)
		return -EINVAL;
	if (n >= count)
		return -ENOENT;
	code = rec_filter_code(of, count - 1 - (unsigned)n, &len);
	if (!code)
		return -EMEDIUMTYPE;	/* one of those that were there before us */
	if (data && give(rec, t, data, code, len * sizeof(struct sock_filter)) < 0)
		return -EFAULT;
	return len;
}

/* Gets struct seccomp_metadata of the filter, of which the kernel takes as much as there is. */
static int64_t get_metadata(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			    uint64_t size, uint64_t data)
{
	struct { uint64_t number, flags; } md = { 0 };
	int64_t ret;

	if (size > sizeof(md))
		size = sizeof(md);
	if (take(t, data, &md.number, sizeof(md.number)) < 0)
		md.number = 0;
	ret = get_filter(rec, t, of, md.number, 0);
	if (ret == -EACCES)
		return ret;
	if (size < sizeof(md.number))
		return -EINVAL;
	if (take(t, data, &md.number, sizeof(md.number)) < 0)
		return -EFAULT;
	if (ret < 0 && ret != -EMEDIUMTYPE)
		return ret;
	if (rec_filter_logs(of, rec_filter_count(rec, of) - 1 - (unsigned)md.number))
		md.flags = SECCOMP_FILTER_FLAG_LOG;
	return give(rec, t, data, &md, size) < 0 ? -EFAULT : (int64_t)size;
}

/* The tracee's system call user dispatch: struct ptrace_sud_config. */
struct sud_config { uint64_t mode, selector, offset, len; };

static int64_t get_dispatch(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			    uint64_t size, uint64_t data)
{
	const struct rec_dispatch *d = &of->filters.dispatch;
	const struct sud_config config = { d->on, d->selector, d->offset, d->len };

	return size != sizeof(config) ? -EINVAL : give(rec, t, data, &config, sizeof(config));
}

static int64_t set_dispatch(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			    uint64_t size, uint64_t data)
{
	struct sud_config config;

	if (size != sizeof(config))
		return -EINVAL;
	if (take(t, data, &config, sizeof(config)) < 0)
		return -EFAULT;
	return rec_filter_dispatch_set(rec, of, config.mode, config.offset, config.len,
				       config.selector);
}

/* ---- to become a tracer ---------------------------------------------------------------------- */

static uint32_t uid_of(pid_t tid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", tid);
	return stat(path, &st) == 0 ? st.st_uid : (uint32_t)-1;
}

static int64_t may_trace(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			 uint64_t number)
{
	uint32_t uid = uid_of(t->tid);

	if (!of) {
		if ((pid_t)number <= 0 || !rec_sees_all(t) ||
		    (kill((pid_t)number, 0) < 0 && errno == ESRCH))
			return -ESRCH;
		if (rec_warn_once(rec, (uint64_t)SYS_ptrace << 32))
			log_warn(
				"the program traces process %d, which is not recorded: it is told "
				"EPERM",
				(int)number);
		return -EPERM;
	}
	if (of->pid == t->pid || rec_pt_traced(of) || of->exiting)
		return -EPERM;
	if (uid && (of->dumpable_off || uid_of(of->tid) != uid))
		return -EPERM;
	return 0;
}

static int64_t attach(struct recorder *rec, struct rec_task *t, struct rec_task *of,
		      uint64_t number)
{
	int64_t ret = may_trace(rec, t, of, number);
	siginfo_t stop;

	if (ret < 0)
		return ret;
	rec_pt_attach(rec, of, t, false, 0);
	memset(&stop, 0, sizeof(stop));
	stop.si_signo = SIGSTOP;
	stop.si_code = SI_KERNEL;
	if (of->in_group_stop)
		real(PTRACE_INTERRUPT, of, 0, NULL);	/* it is told again, and held then */
	rec_pt_send(of, &stop);
	return 0;
}

static int64_t seize(struct recorder *rec, struct rec_task *t, struct rec_task *of, uint64_t number,
		     uint64_t addr, uint64_t options)
{
	int64_t ret = may_trace(rec, t, of, number);

	if (addr != 0 || (options & ~(uint64_t)OPTIONS_ALL))
		return -EIO;
	if (ret < 0)
		return ret;
	rec_pt_attach(rec, of, t, true, options);
	if (of->in_group_stop)
		real(PTRACE_INTERRUPT, of, 0, NULL);
	return 0;
}

/* The thread that made it, or another of that process when it has ended. */
static struct rec_task *parent_of(struct recorder *rec, struct rec_task *t)
{
	pid_t pid = rec_pt_parent(t->tid);
	struct rec_task *any = NULL;

	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o->pid != pid || o->exiting)
			continue;
		if (o->serial == t->made_by)
			return o;
		if (!any)
			any = o;
	}
	return any;
}

static int64_t traceme(struct recorder *rec, struct rec_task *t)
{
	struct rec_task *parent = parent_of(rec, t);

	if (rec_pt_traced(t) || t->traced_outside)
		return -EPERM;
	/* not recorded: it would wait for the one who has started us */
	if (!parent) {
		t->traced_outside = true;
		return 0;
	}
	rec_pt_attach(rec, t, parent, false, 0);
	t->pt->child = true;
	return 0;
}

static int64_t interrupt(struct recorder *rec, struct rec_task *of)
{
	if (!of->pt->seized)
		return -EIO;
	if (rec_pt_held(of) && of->pt->stop == PT_TRAP && of->pt->pending)
		return 0;	/* that is it: the tracee would not have got there yet */
	of->pt->interrupt = true;
	if (of->pt->listening && of->pt->stop == PT_TRAP)
		rec_pt_before_user(rec, of);
	else if (of->pt->listening)
		real(PTRACE_INTERRUPT, of, 0, NULL);
	else if (rec_pt_held(of) || of->pt->resumed)
		;		/* when it goes on */
	else if (of->state == TASK_READY)
		rec_pt_before_user(rec, of);
	else if (of->state == TASK_RUNNING)
		real(PTRACE_INTERRUPT, of, 0, NULL);
	return 0;
}

static int64_t listen_on(struct rec_task *of)
{
	if (!of->pt->seized || (of->pt->stop != PT_GROUP && of->pt->stop != PT_TRAP))
		return -EIO;
	if (of->pt->stop == PT_GROUP && real(PTRACE_LISTEN, of, 0, NULL) < 0)
		return -ESRCH;
	of->pt->listening = true;
	of->pt->pending = false;
	return 0;
}

static int64_t let_go_on(struct recorder *rec, struct rec_task *of, int request, uint64_t sig)
{
	if (sig > SIGNAL_MAX)
		return -EIO;
	if (of->pt->stop == PT_GROUP)
		of->in_group_stop = false;
	of->pt->mode = request;
	rec_pt_resume(rec, of, (int)sig);
	return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int64_t arch_prctl(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			  uint64_t addr, int code)
{
	uint64_t word = 0;
	int64_t ret;

	if (code == ARCH_GET_FS || code == ARCH_GET_GS) {
		ret = real(PTRACE_ARCH_PRCTL, of, (uint64_t)(uintptr_t)&word,
			   (void *)(intptr_t)code);
		return ret < 0 ? ret : give(rec, t, addr, &word, sizeof(word));
	}
	if (code != ARCH_SET_FS && code != ARCH_SET_GS)
		return -EINVAL;
	ret = real(PTRACE_ARCH_PRCTL, of, addr, (void *)(intptr_t)code);
	if (ret >= 0)
		regs_set(rec, of, false);
	return ret;
}

/* Descriptors of thread-local storage, which 64-bit programs do not have: struct user_desc. */
enum { AREA_FIRST = 12, AREA_LAST = 14 };	/* GDT_ENTRY_TLS_MIN, _MAX */
struct area { uint32_t number, base, limit, flags; };

static int64_t get_thread_area(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			       uint64_t n, uint64_t data)
{
	struct area area;
	int64_t ret = real(PTRACE_GET_THREAD_AREA, of, n, &area);

	return ret < 0 ? ret : give(rec, t, data, &area, sizeof(area));
}

/* None can be made: the call set_thread_area() cannot do it, either. */
static int64_t set_thread_area(struct rec_task *t, uint64_t n, uint64_t data)
{
	enum { EMPTY = 0x28 };		/* read_exec_only and seg_not_present */
	struct area area;
	int64_t ret;

	if ((int)n < 0)
		return -EIO;
	ret = take(t, data, &area, sizeof(area));
	if (ret < 0)
		return ret;
	if ((int)n < AREA_FIRST || (int)n > AREA_LAST)
		return -EINVAL;
	return area.base || area.limit || (area.flags && area.flags != EMPTY) ? -EIO : 0;
}

/* The tracee is stopped. */
static int64_t on_stopped(struct recorder *rec, struct rec_task *t, struct rec_task *of,
			  const uint64_t args[4])
{
	static const uint64_t no_rseq[3];	/* struct ptrace_rseq_configuration */
	uint64_t addr = args[2], data = args[3];

	switch ((int)args[0]) {
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
		return peek(rec, t, of, addr, data);
	case PTRACE_POKETEXT:
	case PTRACE_POKEDATA:
		return poke(rec, of, addr, data);
	case PTRACE_PEEKUSER:
		return peek_user(rec, t, of, addr, data);
	case PTRACE_POKEUSER:
		return poke_user(rec, of, addr, data);
	case PTRACE_GETREGS:
		return get_block(rec, t, of, PTRACE_GETREGS, sizeof(struct regs), data);
	case PTRACE_SETREGS:
		return set_block(rec, t, of, PTRACE_SETREGS, sizeof(struct regs), data);
	case PTRACE_GETFPREGS:
		return get_block(rec, t, of, PTRACE_GETFPREGS, sizeof(struct user_fpregs_struct),
				 data);
	case PTRACE_SETFPREGS:
		return set_block(rec, t, of, PTRACE_SETFPREGS, sizeof(struct user_fpregs_struct),
				 data);
	case PTRACE_GETREGSET:
		return get_regset(rec, t, of, addr, data);
	case PTRACE_SETREGSET:
		return set_regset(rec, t, of, addr, data);
	case PTRACE_GETSIGINFO:
		return get_siginfo(rec, t, of, data);
	case PTRACE_SETSIGINFO:
		return set_siginfo(t, of, data);
	case PTRACE_GETSIGMASK:
		return get_sigmask(rec, t, of, addr, data);
	case PTRACE_SETSIGMASK:
		return set_sigmask(t, of, addr, data);
	case PTRACE_PEEKSIGINFO:
		return peek_siginfo(rec, t, of, addr, data);
	case PTRACE_GETEVENTMSG:
		return give(rec, t, data, &of->pt->message, sizeof(of->pt->message));
	case PTRACE_SETOPTIONS:
	case REQUEST_OLD_SETOPTIONS:
		if (data & ~(uint64_t)OPTIONS_ALL)
			return -EINVAL;
		of->pt->options = data;
		return 0;
	case PTRACE_GET_SYSCALL_INFO:
		return syscall_info(rec, t, of, addr, data);
	case REQUEST_SET_SYSCALL_INFO:
		return set_syscall_info(rec, t, of, addr, data);
	case PTRACE_CONT:
	case PTRACE_SYSCALL:
	case PTRACE_SYSEMU:
	case PTRACE_SINGLESTEP:
	case PTRACE_SYSEMU_SINGLESTEP:
	case PTRACE_SINGLEBLOCK:
		return let_go_on(rec, of, (int)args[0], data);
	case PTRACE_DETACH:
		if (data > SIGNAL_MAX)
			return -EIO;
		rec_pt_detach(rec, of, (int)data);
		return 0;
	case PTRACE_LISTEN:
		return listen_on(of);
	case PTRACE_ARCH_PRCTL:
		return arch_prctl(rec, t, of, addr, (int)data);
	case PTRACE_GET_THREAD_AREA:
		return get_thread_area(rec, t, of, addr, data);
	case PTRACE_SET_THREAD_AREA:
		return set_thread_area(t, addr, data);
	case PTRACE_SECCOMP_GET_FILTER:
		return get_filter(rec, t, of, addr, data);
	case REQUEST_GET_METADATA:
		return get_metadata(rec, t, of, addr, data);
	case REQUEST_GET_DISPATCH:
		return get_dispatch(rec, t, of, addr, data);
	case REQUEST_SET_DISPATCH:
		return set_dispatch(rec, t, of, addr, data);
	case REQUEST_GET_RSEQ:
		return give(rec, t, data, no_rseq,
			    addr < sizeof(no_rseq) ? addr : sizeof(no_rseq)) < 0
			       ? -EFAULT
			       : (int64_t)sizeof(no_rseq);
	default:
		return -EIO;
	}
}

static int64_t request(struct recorder *rec, struct rec_task *t, const uint64_t args[4])
{
	struct rec_task *of = rec_task_seen(rec, t, (pid_t)args[1]);

	switch ((int)args[0]) {
	case PTRACE_TRACEME:
		return traceme(rec, t);
	case PTRACE_ATTACH:
		return attach(rec, t, of, args[1]);
	case PTRACE_SEIZE:
		return seize(rec, t, of, args[1], args[2], args[3]);
	}
	if (!of || !rec_pt_traced(of) || of->pt->tracer != t)
		return -ESRCH;
	if ((int)args[0] == PTRACE_KILL) {
		syscall(SYS_tgkill, of->pid, of->tid, SIGKILL);
		return 0;
	}
	if ((int)args[0] == PTRACE_INTERRUPT)
		return interrupt(rec, of);
	if (!rec_pt_held(of))
		return -ESRCH;
	return on_stopped(rec, t, of, args);
}

void rec_pt_request_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)rec;
	(void)t;
	call->force_ret = true;
	call->forced = -EIO;
}

struct err *rec_pt_request_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				struct regs *regs, int64_t ret)
{
	(void)ret;
	regs->rax = (uint64_t)request(rec, t, call->args);
	return NULL;
}
