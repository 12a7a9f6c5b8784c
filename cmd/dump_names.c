/*
 * dump_names.c - names of constants, and which argument of which call speaks which language.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/dump.h"

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
const struct name madvise_names[] = {
	ONE(ALL, MADV_NORMAL), ONE(ALL, MADV_RANDOM), ONE(ALL, MADV_SEQUENTIAL),
	ONE(ALL, MADV_WILLNEED), ONE(ALL, MADV_DONTNEED), ONE(ALL, MADV_FREE),
	ONE(ALL, MADV_REMOVE), ONE(ALL, MADV_DONTFORK), ONE(ALL, MADV_DOFORK),
	ONE(ALL, MADV_MERGEABLE), ONE(ALL, MADV_UNMERGEABLE), ONE(ALL, MADV_HUGEPAGE),
	ONE(ALL, MADV_NOHUGEPAGE), ONE(ALL, MADV_DONTDUMP), ONE(ALL, MADV_DODUMP),
	ONE(ALL, MADV_WIPEONFORK), ONE(ALL, MADV_KEEPONFORK), { 0 }
};
const struct name clone_names[] = {
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

const struct name *names_for(int32_t nr, unsigned arg)
{
	for (size_t i = 0; i < sizeof(arg_names) / sizeof(*arg_names); i++)
		if (arg_names[i].nr == nr && (unsigned)arg_names[i].arg == arg)
			return arg_names[i].names;
	return NULL;
}

void print_names(FILE *out, const struct name *names, uint64_t v)
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
