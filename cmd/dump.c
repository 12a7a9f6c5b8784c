/*
 * dump.c - `hindsight dump`: events one per line, system calls in the manner of strace.
 *
 * How an argument prints comes from its kind in the syscall table; what it pointed to comes from
 * the trace's TRACE_STR notes (input) and TRACE_WRITE effects (output).  The only knowledge kept
 * here is names of constants: arg_names[] says which argument of which call speaks which language.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <seccomp.h>

#include "abi/syscall.h"
#include "cmd/cmd.h"

/* ---- names of constants ---------------------------------------------------------- */

/* Holds when (v & mask) == value; takes mask's bits out of v.  Zero values come first. */
struct name {
	uint64_t mask, value;
	const char *text;
};

/* uint32_t: the kernel takes every such argument as an int; some constants are negative. */
#define BIT(x) { (uint32_t)(x), (uint32_t)(x), #x }
#define ONE(mask, x) { (uint32_t)(mask), (uint32_t)(x), #x }
#define ALL UINT32_MAX

static const struct name open_names[] = {
	ONE(O_ACCMODE, O_RDONLY), ONE(O_ACCMODE, O_WRONLY), ONE(O_ACCMODE, O_RDWR), BIT(O_CREAT),
	BIT(O_EXCL), BIT(O_NOCTTY), BIT(O_TRUNC), BIT(O_APPEND), BIT(O_NONBLOCK), BIT(O_SYNC),
	BIT(O_DSYNC), BIT(O_ASYNC), BIT(O_DIRECT), { 0100000, 0100000, "O_LARGEFILE" },
	BIT(O_TMPFILE), BIT(O_DIRECTORY), BIT(O_NOFOLLOW), BIT(O_NOATIME), BIT(O_CLOEXEC),
	BIT(O_PATH), { 0 }
};
static const struct name fd_names[] = {	/* pipe2, dup3, eventfd2, ... */
	BIT(O_CLOEXEC), BIT(O_NONBLOCK), BIT(O_DIRECT), { 0 }
};
static const struct name at_names[] = {
	BIT(AT_SYMLINK_NOFOLLOW), BIT(AT_SYMLINK_FOLLOW), BIT(AT_NO_AUTOMOUNT), BIT(AT_EMPTY_PATH),
	BIT(AT_STATX_FORCE_SYNC), BIT(AT_STATX_DONT_SYNC), { 0 }
};
static const struct name faccess_names[] = {
	BIT(AT_EACCESS), BIT(AT_SYMLINK_NOFOLLOW), BIT(AT_EMPTY_PATH), { 0 }
};
static const struct name unlink_names[] = { BIT(AT_REMOVEDIR), { 0 } };
static const struct name access_names[] = {
	ONE(ALL, F_OK), BIT(R_OK), BIT(W_OK), BIT(X_OK), { 0 }
};
static const struct name prot_names[] = {
	ONE(ALL, PROT_NONE), BIT(PROT_READ), BIT(PROT_WRITE), BIT(PROT_EXEC), BIT(PROT_GROWSDOWN),
	{ 0 }
};
static const struct name map_names[] = {
	ONE(0xf, MAP_SHARED), ONE(0xf, MAP_PRIVATE), ONE(0xf, MAP_SHARED_VALIDATE), BIT(MAP_FIXED),
	BIT(MAP_ANONYMOUS), BIT(MAP_FIXED_NOREPLACE), BIT(MAP_GROWSDOWN), BIT(MAP_DENYWRITE),
	BIT(MAP_EXECUTABLE), BIT(MAP_LOCKED), BIT(MAP_NORESERVE), BIT(MAP_POPULATE),
	BIT(MAP_NONBLOCK), BIT(MAP_STACK), BIT(MAP_HUGETLB), BIT(MAP_SYNC), { 0 }
};
static const struct name mremap_names[] = {
	BIT(MREMAP_MAYMOVE), BIT(MREMAP_FIXED), BIT(MREMAP_DONTUNMAP), { 0 }
};
static const struct name madvise_names[] = {
	ONE(ALL, MADV_NORMAL), ONE(ALL, MADV_RANDOM), ONE(ALL, MADV_SEQUENTIAL),
	ONE(ALL, MADV_WILLNEED), ONE(ALL, MADV_DONTNEED), ONE(ALL, MADV_FREE),
	ONE(ALL, MADV_REMOVE), ONE(ALL, MADV_DONTFORK), ONE(ALL, MADV_DOFORK),
	ONE(ALL, MADV_MERGEABLE), ONE(ALL, MADV_UNMERGEABLE), ONE(ALL, MADV_HUGEPAGE),
	ONE(ALL, MADV_NOHUGEPAGE), ONE(ALL, MADV_DONTDUMP), ONE(ALL, MADV_DODUMP),
	ONE(ALL, MADV_WIPEONFORK), ONE(ALL, MADV_KEEPONFORK), { 0 }
};
static const struct name clone_names[] = {
	BIT(CLONE_VM), BIT(CLONE_FS), BIT(CLONE_FILES), BIT(CLONE_SIGHAND), BIT(CLONE_PTRACE),
	BIT(CLONE_VFORK), BIT(CLONE_PARENT), BIT(CLONE_THREAD), BIT(CLONE_NEWNS),
	BIT(CLONE_SYSVSEM), BIT(CLONE_SETTLS), BIT(CLONE_PARENT_SETTID), BIT(CLONE_CHILD_CLEARTID),
	BIT(CLONE_UNTRACED), BIT(CLONE_CHILD_SETTID), BIT(CLONE_NEWCGROUP), BIT(CLONE_NEWUTS),
	BIT(CLONE_NEWIPC), BIT(CLONE_NEWUSER), BIT(CLONE_NEWPID), BIT(CLONE_NEWNET), BIT(CLONE_IO),
	ONE(0xff, SIGCHLD), { 0 }
};
static const struct name whence_names[] = {
	ONE(ALL, SEEK_SET), ONE(ALL, SEEK_CUR), ONE(ALL, SEEK_END), ONE(ALL, SEEK_DATA),
	ONE(ALL, SEEK_HOLE), { 0 }
};
static const struct name domain_names[] = {
	ONE(ALL, AF_UNSPEC), ONE(ALL, AF_UNIX), ONE(ALL, AF_INET), ONE(ALL, AF_INET6),
	ONE(ALL, AF_NETLINK), ONE(ALL, AF_PACKET), { 0 }
};
static const struct name socket_names[] = {
	ONE(0xf, SOCK_STREAM), ONE(0xf, SOCK_DGRAM), ONE(0xf, SOCK_RAW), ONE(0xf, SOCK_SEQPACKET),
	BIT(SOCK_CLOEXEC), BIT(SOCK_NONBLOCK), { 0 }
};
static const struct name accept_names[] = { BIT(SOCK_CLOEXEC), BIT(SOCK_NONBLOCK), { 0 } };
static const struct name shutdown_names[] = {
	ONE(ALL, SHUT_RD), ONE(ALL, SHUT_WR), ONE(ALL, SHUT_RDWR), { 0 }
};
static const struct name msg_names[] = {
	BIT(MSG_OOB), BIT(MSG_PEEK), BIT(MSG_DONTROUTE), BIT(MSG_CTRUNC), BIT(MSG_TRUNC),
	BIT(MSG_DONTWAIT), BIT(MSG_EOR), BIT(MSG_WAITALL), BIT(MSG_NOSIGNAL), BIT(MSG_MORE),
	BIT(MSG_WAITFORONE), BIT(MSG_CMSG_CLOEXEC), { 0 }
};
static const struct name wait_names[] = {
	BIT(WNOHANG), BIT(WUNTRACED), BIT(WEXITED), BIT(WCONTINUED), BIT(WNOWAIT),
	{ __WALL, __WALL, "__WALL" }, { __WCLONE, __WCLONE, "__WCLONE" }, { 0 }
};
static const struct name idtype_names[] = {
	ONE(ALL, P_ALL), ONE(ALL, P_PID), ONE(ALL, P_PGID), ONE(ALL, P_PIDFD), { 0 }
};
static const struct name sigmask_names[] = {
	ONE(ALL, SIG_BLOCK), ONE(ALL, SIG_UNBLOCK), ONE(ALL, SIG_SETMASK), { 0 }
};
static const struct name epoll_names[] = {
	ONE(ALL, EPOLL_CTL_ADD), ONE(ALL, EPOLL_CTL_DEL), ONE(ALL, EPOLL_CTL_MOD), { 0 }
};
static const struct name clock_names[] = {
	ONE(ALL, CLOCK_REALTIME), ONE(ALL, CLOCK_MONOTONIC), ONE(ALL, CLOCK_PROCESS_CPUTIME_ID),
	ONE(ALL, CLOCK_THREAD_CPUTIME_ID), ONE(ALL, CLOCK_MONOTONIC_RAW),
	ONE(ALL, CLOCK_REALTIME_COARSE), ONE(ALL, CLOCK_MONOTONIC_COARSE), ONE(ALL, CLOCK_BOOTTIME),
	{ 0 }
};
static const struct name timer_names[] = { { 1, 1, "TIMER_ABSTIME" }, { 0 } };
static const struct name random_names[] = {
	{ 1, 1, "GRND_NONBLOCK" }, { 2, 2, "GRND_RANDOM" }, { 4, 4, "GRND_INSECURE" }, { 0 }
};
static const struct name memfd_names[] = {
	{ 1, 1, "MFD_CLOEXEC" }, { 2, 2, "MFD_ALLOW_SEALING" }, { 4, 4, "MFD_HUGETLB" }, { 0 }
};
static const struct name rename_names[] = {
	{ 1, 1, "RENAME_NOREPLACE" }, { 2, 2, "RENAME_EXCHANGE" }, { 4, 4, "RENAME_WHITEOUT" },
	{ 0 }
};

static const struct arg_names {
	short nr;
	short arg;
	const struct name *names;
} arg_names[] = {
	{ SYS_open, 1, open_names }, { SYS_openat, 2, open_names }, { SYS_pipe2, 1, fd_names },
	{ SYS_dup3, 2, fd_names }, { SYS_eventfd2, 1, fd_names },
	{ SYS_epoll_create1, 0, fd_names }, { SYS_inotify_init1, 0, fd_names },
	{ SYS_signalfd4, 3, fd_names },
	{ SYS_timerfd_create, 1, fd_names }, { SYS_newfstatat, 3, at_names },
	{ SYS_statx, 2, at_names }, { SYS_fchownat, 4, at_names }, { SYS_linkat, 4, at_names },
	{ SYS_utimensat, 3, at_names }, { SYS_execveat, 4, at_names },
	{ SYS_faccessat2, 3, faccess_names }, { SYS_unlinkat, 2, unlink_names },
	{ SYS_access, 1, access_names }, { SYS_faccessat, 2, access_names },
	{ SYS_faccessat2, 2, access_names }, { SYS_mmap, 2, prot_names },
	{ SYS_mmap, 3, map_names },
	{ SYS_mprotect, 2, prot_names }, { SYS_mremap, 3, mremap_names },
	{ SYS_madvise, 2, madvise_names }, { SYS_clone, 0, clone_names },
	{ SYS_unshare, 0, clone_names }, { SYS_lseek, 2, whence_names },
	{ SYS_socket, 0, domain_names }, { SYS_socket, 1, socket_names },
	{ SYS_socketpair, 0, domain_names }, { SYS_socketpair, 1, socket_names },
	{ SYS_accept4, 3, accept_names }, { SYS_shutdown, 1, shutdown_names },
	{ SYS_sendto, 3, msg_names }, { SYS_recvfrom, 3, msg_names }, { SYS_sendmsg, 2, msg_names },
	{ SYS_recvmsg, 2, msg_names }, { SYS_sendmmsg, 3, msg_names },
	{ SYS_recvmmsg, 3, msg_names },
	{ SYS_wait4, 2, wait_names }, { SYS_waitid, 3, wait_names },
	{ SYS_waitid, 0, idtype_names },
	{ SYS_rt_sigprocmask, 0, sigmask_names }, { SYS_epoll_ctl, 1, epoll_names },
	{ SYS_clock_gettime, 0, clock_names }, { SYS_clock_getres, 0, clock_names },
	{ SYS_clock_nanosleep, 0, clock_names }, { SYS_clock_nanosleep, 1, timer_names },
	{ SYS_timer_create, 0, clock_names }, { SYS_timerfd_create, 0, clock_names },
	{ SYS_timerfd_settime, 1, timer_names }, { SYS_getrandom, 2, random_names },
	{ SYS_memfd_create, 1, memfd_names }, { SYS_renameat2, 4, rename_names },
};

static const struct name *names_for(int32_t nr, unsigned arg)
{
	for (size_t i = 0; i < sizeof(arg_names) / sizeof(*arg_names); i++)
		if (arg_names[i].nr == nr && (unsigned)arg_names[i].arg == arg)
			return arg_names[i].names;
	return NULL;
}

static void print_names(FILE *out, const struct name *names, uint64_t v)
{
	uint64_t left = v & ALL;
	bool any = false;

	for (; names->text && (left || !any); names++) {
		if ((left & names->mask) != names->value)
			continue;
		fprintf(out, any ? "|%s" : "%s", names->text);
		left &= ~names->mask;
		any = true;
	}
	if (left)
		fprintf(out, any ? "|%#" PRIx64 : "%#" PRIx64, left);
	else if (!any)
		fputc('0', out);
}

const char *call_name(int32_t nr)
{
	static char *known[SYS_ROWS];	/* libseccomp gives them to us for keeps */
	static char other[32];
	char *name;

	if (nr < 0 || nr >= SYS_ROWS) {
		snprintf(other, sizeof(other), "syscall_%d", nr);
		return other;
	}
	if (known[nr])
		return known[nr];
	name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, nr);
	if (!name && sys_name((uint64_t)nr))
		name = strdup(sys_name((uint64_t)nr));
	if (!name && asprintf(&name, "syscall_%d", nr) < 0)
		return "?";
	known[nr] = name;
	return name;
}

/* ---- a call in words --------------------------------------------------------------- */

struct call {
	const struct trace_event *ev;	/* whose effects say what came out */
	int32_t nr;
	const uint64_t *args;
	bool entry;			/* nothing came out yet */
	uint64_t bytes;			/* how much of a string to show */
};

static const struct trace_effect *find_str(const struct call *c, unsigned arg)
{
	for (uint32_t i = 0; i < c->ev->effects_len; i++)
		if (c->ev->effects[i].kind == TRACE_STR && c->ev->effects[i].x == arg)
			return &c->ev->effects[i];
	return NULL;
}

/* What the call left at addr: *len_ret bytes, or NULL. */
static const char *find_output(const struct call *c, uint64_t addr, size_t *len_ret)
{
	for (uint32_t i = 0; i < c->ev->effects_len; i++) {
		const struct trace_effect *e = &c->ev->effects[i];

		if (e->kind != TRACE_WRITE || addr < e->addr || addr - e->addr >= e->data_len)
			continue;
		*len_ret = e->data_len - (size_t)(addr - e->addr);
		return (const char *)e->data + (addr - e->addr);
	}
	return NULL;
}

static void print_int(FILE *out, uint64_t v)
{
	/* An int in a 64-bit register: the upper half is whatever the compiler left there. */
	if (v >> 32 == 0 && v >= 0xfffff000)
		fprintf(out, "%" PRId32, (int32_t)v);
	else
		fprintf(out, "%" PRId64, (int64_t)v);
}

static void print_addr(FILE *out, uint64_t v)
{
	if (v)
		fprintf(out, "%#" PRIx64, v);
	else
		fputs("NULL", out);
}

/* execve's argv, from the ARGV effect or the notes on its elements. */
static void print_strv(FILE *out, const struct call *c, unsigned arg)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < c->ev->effects_len; i++) {
		const struct trace_effect *e = &c->ev->effects[i];

		if (e->kind != TRACE_STR || e->x != arg)
			continue;
		fputs(n++ ? ", " : "[", out);
		text_quoted(out, e->data, e->data_len, c->bytes * 4);
	}
	if (n)
		fputc(']', out);
	else
		print_addr(out, c->args[arg]);
}

static void print_mem(FILE *out, const struct call *c, const struct sys_arg *a, unsigned arg)
{
	size_t len = 0;
	const char *data = NULL;
	int32_t word;

	if (!c->entry && (a->dir & D_OUT) && c->args[arg])
		data = find_output(c, c->args[arg], &len);
	if (data && a->unit <= 1) {
		/* The effect may hold more than this argument's share. */
		if ((a->len == L_RET || a->len == L_RET_FITS || a->len == L_RECV) &&
		    c->ev->ret >= 0 && (uint64_t)c->ev->ret < len)
			len = (size_t)c->ev->ret;
		text_quoted(out, data, len, c->bytes);
	} else if (data && (a->len == L_FIXED || a->len == L_FIXED_POS) &&
		   a->unit % 4 == 0 && a->unit <= 8 && len >= a->unit) {
		for (size_t i = 0; i < a->unit; i += 4) {
			memcpy(&word, data + i, 4);
			fprintf(out, i ? ", %d" : "[%d", word);
		}
		fputc(']', out);
	} else {
		print_addr(out, c->args[arg]);
	}
}

static void print_cmd(FILE *out, const struct call *c, unsigned arg)
{
	const char *name = sys_cmd_name((uint64_t)c->nr, c->args);

	if (name)
		fputs(name, out);
	else
		fprintf(out, "%#" PRIx64, c->args[arg]);
}

static void print_signal(FILE *out, uint64_t v)
{
	const char *name = v < 65 ? sys_signal_name((int)v) : NULL;

	if (name && v)
		fputs(name, out);
	else
		print_int(out, v);
}

static void print_arg(FILE *out, const struct call *c, const struct sys_arg *a, unsigned arg)
{
	const struct name *names = names_for(c->nr, arg);
	const struct trace_effect *str = find_str(c, arg);
	uint64_t v = c->args[arg];

	if (a->what == W_STRV)
		print_strv(out, c, arg);
	else if (str)
		text_quoted(out, str->data, str->data_len,
			    a->what == W_STR ? str->data_len : c->bytes);
	else if (names)
		print_names(out, names, v);
	else if (a->what == W_DIRFD && (int32_t)v == AT_FDCWD)
		fputs("AT_FDCWD", out);
	else if (a->what == W_FD || a->what == W_DIRFD || a->what == W_PID)
		fprintf(out, "%" PRId32, (int32_t)v);
	else if (a->what == W_INT || a->what == W_SUB)
		print_int(out, v);
	else if (a->what == W_UINT)
		fprintf(out, "%" PRIu64, v);
	else if (a->what == W_MODE)
		fprintf(out, v & 0xffff ? "0%" PRIo64 : "%" PRIo64, v & 0xffff);
	else if (a->what == W_SIGNAL)
		print_signal(out, v);
	else if (a->what == W_CMD)
		print_cmd(out, c, arg);
	else if (a->what == W_MEM || a->what == W_STR)
		print_mem(out, c, a, arg);
	else if (a->what == W_HEX || a->what == W_FLAGS)
		fprintf(out, v ? "%#" PRIx64 : "%" PRIx64, v);
	else
		print_addr(out, v);
}

static unsigned count_args(const struct call *c, const struct sys_row *row, bool known)
{
	unsigned flags = c->nr == SYS_open ? 1 : 2;

	if (!known && !row->nargs)
		return 6;	/* of a stranger: all there may be */
	/* Without a file to make, the mode is whatever was in the register. */
	if ((c->nr == SYS_open || c->nr == SYS_openat) && row->nargs == flags + 2 &&
	    !(c->args[flags] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))))
		return flags + 1;
	return row->nargs <= 6 ? row->nargs : 6;
}

static void print_result(FILE *out, const struct call *c)
{
	int64_t ret = c->ev->ret;
	const char *name;

	if (ret < 0 && ret >= -4095) {
		name = sys_errno_name((int)-ret);
		if (ret <= -512)
			fprintf(out, " = ? %s", name ? name : "ERESTART");
		else
			fprintf(out, " = -1 %s (%s)", name ? name : "?", strerror((int)-ret));
	} else if (c->nr == SYS_exit || c->nr == SYS_exit_group) {
		fputs(" = ?", out);
	} else if (c->nr == SYS_mmap || c->nr == SYS_mremap || c->nr == SYS_brk ||
		   c->nr == SYS_shmat) {
		fprintf(out, " = %#" PRIx64, (uint64_t)ret);
	} else {
		fprintf(out, " = %" PRId64, ret);
	}
}

static void print_call(FILE *out, const struct call *c)
{
	bool known = true;
	const struct sys_row *row = sys_row_for((uint64_t)(int64_t)c->nr, c->args, &known);
	unsigned n = count_args(c, row, known);

	fprintf(out, "%s(", call_name(c->nr));
	for (unsigned i = 0; i < n; i++) {
		if (i)
			fputs(", ", out);
		print_arg(out, c, &row->arg[i], i);
	}
	if (c->entry) {
		fputs(" <unfinished ...>", out);
		return;
	}
	fputc(')', out);
	print_result(out, c);
	if (c->ev->kind == TRACE_SYSCALL_EXIT)
		fputs(" <resumed>", out);
}

/* ---- an event in words --------------------------------------------------------------- */

static const char *const place_names[] = {
	[TRACE_AT_LAST] = "last", [TRACE_AT_SYSCALL] = "syscall", [TRACE_AT_FAULT] = "fault",
	[TRACE_AT_STATE] = "state", [TRACE_AT_NOWHERE] = "nowhere",
};
static const char *const fate_names[] = {
	[TRACE_SIGNAL_HANDLED] = "handled", [TRACE_SIGNAL_IGNORED] = "ignored",
	[TRACE_SIGNAL_FATAL] = "fatal",
};

#define NAME_IN(names, i) \
	((uint64_t)(i) < sizeof(names) / sizeof(*(names)) && (names)[i] ? (names)[i] : "?")

static const struct trace_effect *find_effect(const struct trace_event *ev,
					      enum trace_effect_kind kind)
{
	for (uint32_t i = 0; i < ev->effects_len; i++)
		if (ev->effects[i].kind == kind)
			return &ev->effects[i];
	return NULL;
}

static bool is_call(const struct trace_event *ev)
{
	return ev->kind == TRACE_SYSCALL || ev->kind == TRACE_SYSCALL_ENTER ||
	       ev->kind == TRACE_SYSCALL_EXIT;
}

static struct call call_of(const struct trace_event *ev, const struct task_info *t,
			   uint64_t args[6], uint64_t bytes)
{
	const struct regs *r = &ev->regs;
	struct call c = { ev, ev->nr, args, ev->kind == TRACE_SYSCALL_ENTER, bytes };

	if (ev->kind != TRACE_SYSCALL_EXIT) {
		memcpy(args, (uint64_t [6]){ r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 },
		       6 * sizeof(*args));
		return c;
	}
	/* Its registers were those of the entry, which the task list remembers. */
	if (c.nr < 0)
		c.nr = t->nr;
	memset(args, 0, 6 * sizeof(*args));
	if (c.nr == t->nr)
		memcpy(args, t->args, 6 * sizeof(*args));
	return c;
}

static void print_signal_event(FILE *out, const struct trace_event *ev)
{
	const struct trace_effect *e = find_effect(ev, TRACE_SIGINFO);
	siginfo_t info = { 0 };

	if (e) {
		print_signal(out, e->x);
		fprintf(out, " %s", NAME_IN(fate_names, e->y));
		if (e->data_len)
			memcpy(&info, e->data,
			       e->data_len < sizeof(info) ? e->data_len : sizeof(info));
	} else {
		fputs("?", out);
	}
	fprintf(out, " at=%s rip=%#" PRIx64, NAME_IN(place_names, ev->place), ev->regs.rip);
	if (ev->place == TRACE_AT_FAULT)
		fprintf(out, " addr=%#" PRIx64, (uint64_t)(uintptr_t)info.si_addr);
	else if (e && (info.si_code == SI_USER || info.si_code == SI_TKILL))
		fprintf(out, " from=%d", info.si_pid);
}

static void print_notes(FILE *out, const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (ev->effects[i].kind != TRACE_STR)
			continue;
		fputc(' ', out);
		text_quoted(out, ev->effects[i].data, ev->effects[i].data_len, 200);
	}
}

/* What happened, without number, time and task. */
static void print_event(FILE *out, const struct trace_event *ev, const struct task_info *t,
			uint64_t bytes)
{
	const struct trace_effect *e;
	uint64_t args[6];
	struct call c;
	char status[48];

	if (is_call(ev)) {
		c = call_of(ev, t, args, bytes);
		print_call(out, &c);
		return;
	}
	switch (ev->kind) {
	case TRACE_EXEC:
		e = find_effect(ev, TRACE_ARGV);
		if (e)
			text_words(out, e->data, e->data_len);
		break;
	case TRACE_SIGNAL:
		print_signal_event(out, ev);
		break;
	case TRACE_SWITCH:
		fprintf(out, "at=%s rip=%#" PRIx64, NAME_IN(place_names, ev->place), ev->regs.rip);
		break;
	case TRACE_TRAP:
		fprintf(out, "rip=%#" PRIx64, ev->regs.rip);
		break;
	case TRACE_EXIT:
		fprintf(out, WIFEXITED(ev->ret) ? "exited with %s" : "killed by %s",
			text_status(status, (int)ev->ret));
		break;
	default:
		fprintf(out, "%u effects", ev->effects_len);
		break;
	}
	print_notes(out, ev);
}

static void print_prot(FILE *out, uint64_t prot)
{
	fprintf(out, " %c%c%c", prot & PROT_READ ? 'r' : '-', prot & PROT_WRITE ? 'w' : '-',
		prot & PROT_EXEC ? 'x' : '-');
}

static void print_map(FILE *out, const struct trace_effect *e)
{
	static const char *const kinds[] = { "anonymous", "file", "shared" };

	fprintf(out, " %#" PRIx64 "+%#" PRIx64, e->addr, e->len);
	print_prot(out, e->x);
	fprintf(out, " %s", NAME_IN(kinds, e->y & 0xff));
	if ((e->y & 0xff) != TRACE_MAP_ANON)
		fprintf(out, " object %u at %#" PRIx64, e->object, e->offset);
}

static void print_task_effect(FILE *out, const struct trace_effect *e)
{
	fprintf(out, " %u tid %d pid %d parent %" PRIu64 " ", e->object, (int)e->x, (int)e->y,
		e->len);
	print_names(out, clone_names, e->addr);
}

static void print_object(FILE *out, const struct trace_effect *e)
{
	static const char *const kinds[] = { NULL, "file", "memory", "shared file" };
	const char *path = trace_object_path(e);

	fprintf(out, " %u %s %" PRIu64 " bytes ", e->object, NAME_IN(kinds, e->x), e->len);
	text_quoted(out, path, strlen(path), 4096);
}

static void print_effect_regs(FILE *out, const struct trace_effect *e)
{
	struct regs r;

	if (e->data_len != sizeof(r))
		return;
	memcpy(&r, e->data, sizeof(r));
	fprintf(out, " rip=%#" PRIx64 " rsp=%#" PRIx64 " rax=%#" PRIx64, r.rip, r.rsp, r.rax);
}

/* One line of --effects, without the data. */
static void print_effect(FILE *out, const struct trace_effect *e)
{
	fputs(trace_effect_name(e->kind), out);
	switch (e->kind) {
	case TRACE_RET:
		fprintf(out, " %" PRId64, (int64_t)e->x);
		break;
	case TRACE_MAP:
		print_map(out, e);
		break;
	case TRACE_PROTECT:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64, e->addr, e->len);
		print_prot(out, e->x);
		break;
	case TRACE_MOVE:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64 " to %#" PRIx64 "+%#" PRIx64 "%s", e->addr,
			e->len, e->x, e->y, e->object ? ", the old pages stay" : "");
		break;
	case TRACE_ADVISE:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64 " ", e->addr, e->len);
		print_names(out, madvise_names, e->x);
		break;
	case TRACE_UNMAP:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64, e->addr, e->len);
		break;
	case TRACE_SUM:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64 " %016" PRIx64, e->addr, e->len, e->x);
		break;
	case TRACE_OBJECT:
		print_object(out, e);
		break;
	case TRACE_TASK:
		print_task_effect(out, e);
		break;
	case TRACE_REGS:
		print_effect_regs(out, e);
		break;
	case TRACE_ECHO:
		fprintf(out, e->object == 1 ? " stdout" : " stderr");
		break;
	case TRACE_STR:
		fprintf(out, " argument %" PRIu64, e->x);
		break;
	case TRACE_SIGINFO:
		fputc(' ', out);
		print_signal(out, e->x);
		fprintf(out, " %s", NAME_IN(fate_names, e->y));
		break;
	default:
		if (e->addr)
			fprintf(out, " %#" PRIx64, e->addr);
		break;
	}
}

static void hexdump(FILE *out, const unsigned char *s, size_t len)
{
	for (size_t at = 0; at < len; at += 16) {
		size_t n = len - at < 16 ? len - at : 16;

		fprintf(out, "\t\t%08zx ", at);
		for (size_t i = 0; i < 16; i++)
			if (i < n)
				fprintf(out, " %02x", s[at + i]);
			else
				fputs("   ", out);
		fputs("  |", out);
		for (size_t i = 0; i < n; i++)
			fputc(s[at + i] >= 0x20 && s[at + i] < 0x7f ? s[at + i] : '.', out);
		fputs("|\n", out);
	}
}

/* ---- hindsight dump -------------------------------------------------------------------- */

struct dump_options {
	uint64_t tid, bytes;
	struct option_range event;
	bool regs, effects, raw, calls, json;
};

static const struct option_row dump_rows[] = {
	{ "tid", 't', "TID", OPTION_U64, offsetof(struct dump_options, tid),
	  "only events of this thread" },
	{ "event", 'e', "N[-M]", OPTION_RANGE, offsetof(struct dump_options, event),
	  "only event N, or N to M, or from N on (N-)" },
	{ "calls", 'c', NULL, OPTION_FLAG, offsetof(struct dump_options, calls),
	  "only system calls" },
	{ "regs", 'r', NULL, OPTION_FLAG, offsetof(struct dump_options, regs),
	  "show the registers that replay must find" },
	{ "effects", 'f', NULL, OPTION_FLAG, offsetof(struct dump_options, effects),
	  "list what each event changed" },
	{ "raw", 'x', NULL, OPTION_FLAG, offsetof(struct dump_options, raw),
	  "the same, with the data in hex" },
	{ "bytes", 'b', "N", OPTION_U64, offsetof(struct dump_options, bytes),
	  "show at most N bytes of data (default 32, with --raw 256)" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct dump_options, json),
	  "print one JSON object per line" },
	{ 0 }
};

static const struct option_set dump_set = {
	"hindsight dump", "[options] [TRACE]", "List the recorded events, one per line.", dump_rows,
	true,
};

static void dump_regs(const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;

	for (size_t i = 0; i < REGS_WORDS; i++)
		printf("%s%-8s %#18" PRIx64 "%s", i % 3 ? "  " : "\t", regs_names[i], word[i],
		       i % 3 == 2 || i + 1 == REGS_WORDS ? "\n" : "");
}

static bool is_binary(enum trace_effect_kind kind)
{
	return kind == TRACE_REGS || kind == TRACE_XSTATE || kind == TRACE_TASK ||
	       kind == TRACE_SIGINFO || kind == TRACE_AUXV;
}

static void dump_effect(const struct dump_options *o, const struct trace_effect *e)
{
	size_t n = e->data_len < o->bytes ? e->data_len : (size_t)o->bytes;

	fputs("\t- ", stdout);
	print_effect(stdout, e);
	if (e->data_len && e->kind != TRACE_OBJECT) {
		printf(" %zu bytes", e->data_len);
		if (!o->raw && !is_binary(e->kind)) {
			putchar(' ');
			text_quoted(stdout, e->data, e->data_len, o->bytes);
		}
	}
	putchar('\n');
	if (o->raw && e->data_len)
		hexdump(stdout, e->data, n);
}

static void dump_text(const struct dump_options *o, const struct trace_event *ev,
		      const struct task_info *t)
{
	printf("%8" PRIu64 " %5" PRIu64 ".%06" PRIu64 " %7d %-13s ", ev->n,
	       ev->time_ns / 1000000000, ev->time_ns / 1000 % 1000000, t->tid,
	       trace_event_name(ev->kind));
	print_event(stdout, ev, t, o->bytes);
	putchar('\n');
	if (o->regs && ev->kind != TRACE_NOTE && ev->kind != TRACE_EXIT &&
	    ev->kind != TRACE_SYSCALL_EXIT)
		dump_regs(&ev->regs);
	for (uint32_t i = 0; (o->effects || o->raw) && i < ev->effects_len; i++)
		dump_effect(o, &ev->effects[i]);
}

static json_t *json_bytes(const unsigned char *s, size_t len)
{
	char *text = malloc(2 * len + 1);
	json_t *ret;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", s[i]);
	ret = json_stringn(text, 2 * len);
	free(text);
	return ret;
}

static json_t *json_effect(const struct dump_options *o, const struct trace_effect *e)
{
	json_t *j = json_object();

	json_object_set_new(j, "kind", json_string(trace_effect_name(e->kind)));
	json_object_set_new(j, "object", json_integer(e->object));
	json_object_set_new(j, "addr", json_hex(e->addr));
	json_object_set_new(j, "len", json_count(e->len));
	json_object_set_new(j, "x", json_hex(e->x));
	json_object_set_new(j, "y", json_hex(e->y));
	json_object_set_new(j, "offset", json_hex(e->offset));
	json_object_set_new(j, "data_len", json_count(e->data_len));
	if (e->kind == TRACE_OBJECT)
		json_object_set_new(j, "path", json_text(trace_object_path(e),
							 strlen(trace_object_path(e))));
	if (o->raw && e->data_len)
		json_object_set_new(j, "data", json_bytes(e->data, e->data_len < o->bytes ?
							  e->data_len : (size_t)o->bytes));
	return j;
}

static void json_call(json_t *j, const struct trace_event *ev, const struct task_info *t)
{
	uint64_t args[6];
	struct call c = call_of(ev, t, args, 0);
	const char *name = !c.entry && ev->ret < 0 && ev->ret >= -4095 ?
			   sys_errno_name((int)-ev->ret) : NULL;
	json_t *list = json_array();

	for (unsigned i = 0; i < 6; i++)
		json_array_append_new(list, json_hex(args[i]));
	json_object_set_new(j, "call", json_string(call_name(c.nr)));
	json_object_set_new(j, "nr", json_integer(c.nr));
	json_object_set_new(j, "args", list);
	json_object_set_new(j, "ret", c.entry ? json_null() : json_integer(ev->ret));
	json_object_set_new(j, "errno", name ? json_string(name) : json_null());
}

static void json_kind(json_t *j, const struct trace_event *ev, const struct task_info *t)
{
	const struct trace_effect *e = find_effect(ev, TRACE_SIGINFO);
	const struct trace_effect *words = find_effect(ev, TRACE_ARGV);

	if (is_call(ev))
		json_call(j, ev, t);
	if (ev->kind == TRACE_SIGNAL || ev->kind == TRACE_SWITCH) {
		json_object_set_new(j, "place", json_string(NAME_IN(place_names, ev->place)));
		json_object_set_new(j, "rip", json_hex(ev->regs.rip));
	}
	if (ev->kind == TRACE_SIGNAL && e) {
		const char *name = e->x < 65 ? sys_signal_name((int)e->x) : NULL;

		json_object_set_new(j, "signal", name ? json_string(name) : json_count(e->x));
		json_object_set_new(j, "fate", json_string(NAME_IN(fate_names, e->y)));
	}
	if (ev->kind == TRACE_EXEC && words)
		json_object_set_new(j, "argv", json_words(words->data, words->data_len));
	if (ev->kind == TRACE_EXIT)
		json_status(j, true, (int)ev->ret);
}

static json_t *json_regs(const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;
	json_t *j = json_object();

	for (size_t i = 0; i < REGS_WORDS; i++)
		json_object_set_new(j, regs_names[i], json_hex(word[i]));
	return j;
}

static json_t *json_event_text(const struct trace_event *ev, const struct task_info *t,
			       uint64_t bytes)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *ret = NULL;

	if (!out)
		return NULL;
	print_event(out, ev, t, bytes);
	if (!fclose(out))
		ret = json_text(text, len);
	free(text);
	return ret;
}

static struct err *dump_json(const struct dump_options *o, const struct trace_event *ev,
			     const struct task_info *t)
{
	json_t *j = json_object(), *list;

	json_object_set_new(j, "event", json_count(ev->n));
	json_object_set_new(j, "time_ns", json_count(ev->time_ns));
	json_object_set_new(j, "task", json_integer(ev->task));
	json_object_set_new(j, "tid", json_integer(t->tid));
	json_object_set_new(j, "pid", json_integer(t->pid));
	json_object_set_new(j, "kind", json_string(trace_event_name(ev->kind)));
	json_kind(j, ev, t);
	json_object_set_new(j, "text", json_event_text(ev, t, o->bytes));
	if (o->regs)
		json_object_set_new(j, "regs", json_regs(&ev->regs));
	if (o->effects || o->raw) {
		list = json_array();
		for (uint32_t i = 0; i < ev->effects_len; i++)
			json_array_append_new(list, json_effect(o, &ev->effects[i]));
		json_object_set_new(j, "effects", list);
	}
	return json_print(j, false);
}

static struct err *dump_events(const struct dump_options *o, struct trace_reader *r,
			       struct task_list *tasks)
{
	uint64_t last = 0;
	struct trace_event ev;
	struct task_info *t;
	struct err *err;

	/* From the first event on, whatever --event says: they tell who the tasks are. */
	while (!ferror(stdout) && !(err = trace_reader_next(r, &ev))) {
		last = ev.n;
		if (o->event.to && ev.n > o->event.to)
			return NULL;
		TRY(task_list_event(tasks, &ev, &t));
		if (ev.n < o->event.from || (o->calls && !is_call(&ev)) ||
		    (o->tid && (uint64_t)t->tid != o->tid))
			continue;
		if (o->json)
			TRY(dump_json(o, &ev, t));
		else
			dump_text(o, &ev, t);
	}
	if (ferror(stdout))
		return NULL;
	if (err_catch(&err, ERR_END) && last < o->event.from)
		return err_new(ERR_USAGE, "there is no event %" PRIu64 ": the trace ends with "
			       "event %" PRIu64, o->event.from, last);
	return err;
}

static struct err *dump_run(const void *opts, int argc, char **argv)
{
	struct dump_options o = *(const struct dump_options *)opts;
	struct task_list tasks;
	struct trace_reader *r;
	struct err *err;

	if (!o.bytes)
		o.bytes = o.raw ? 256 : 32;
	TRY(cmd_trace_open(argc, argv, &r));
	task_list_init(&tasks);
	err = dump_events(&o, r, &tasks);
	task_list_deinit(&tasks);
	trace_reader_close(r);
	return err;
}

const struct cmd cmd_dump = { "dump", &dump_set, sizeof(struct dump_options), dump_run };
