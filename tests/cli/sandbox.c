// test: libs=-lseccomp
/*
 * sandbox COMMAND... - runs COMMAND as a container with Docker's default seccomp profile would:
 * an allow list answering EPERM otherwise, no capabilities, an ordinary user.
 *
 * Rebuilt from knowledge of what the profile (moby, profiles/seccomp) permits a container
 * without extra capabilities on a 64-bit kernel later than 4.8.  Left out there and refused here:
 * io_uring, userfaultfd, perf_event_open, bpf, keyctl, mount, unshare, setns, kexec, modules,
 * personalities other than a few, namespaces in clone; clone3 answers ENOSYS.
 */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const allowed[] = {
	"accept", "accept4", "access", "adjtimex", "alarm", "bind", "brk", "cachestat", "capget", "capset", "chdir",
	"chmod", "chown", "clock_adjtime", "clock_getres", "clock_gettime", "clock_nanosleep", "close", "close_range",
	"connect", "copy_file_range", "creat", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl",
	"epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "execve",
	"execveat", "exit", "exit_group", "faccessat", "faccessat2", "fadvise64", "fallocate", "fanotify_mark", "fchdir",
	"fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock",
	"fork", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate", "futex", "futex_requeue",
	"futex_wait", "futex_waitv", "futex_wake", "futimesat", "getcpu", "getcwd", "getdents", "getdents64", "getegid",
	"geteuid", "getgid", "getgroups", "getitimer", "getpeername", "getpgid", "getpgrp", "getpid", "getppid",
	"getpriority", "getrandom", "getresgid", "getresuid", "getrlimit", "get_robust_list", "getrusage", "getsid",
	"getsockname", "getsockopt", "get_thread_area", "gettid", "gettimeofday", "getuid", "getxattr",
	"inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "io_cancel", "ioctl", "io_destroy",
	"io_getevents", "io_pgetevents", "ioprio_get", "ioprio_set", "io_setup", "io_submit", "kill",
	"landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "lchown", "lgetxattr", "link", "linkat",
	"listen", "listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "madvise", "map_shadow_stack",
	"membarrier", "memfd_create", "memfd_secret", "mincore", "mkdir", "mkdirat", "mknod", "mknodat", "mlock",
	"mlock2", "mlockall", "mmap", "mprotect", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive",
	"mq_timedsend", "mq_unlink", "mremap", "msgctl", "msgget", "msgrcv", "msgsnd", "msync", "munlock", "munlockall",
	"munmap", "name_to_handle_at", "nanosleep", "newfstatat", "open", "openat", "openat2", "pause", "pidfd_open",
	"pidfd_send_signal", "pipe", "pipe2", "pkey_alloc", "pkey_free", "pkey_mprotect", "poll", "ppoll", "prctl",
	"pread64", "preadv", "preadv2", "prlimit64", "process_mrelease", "process_vm_readv", "process_vm_writev",
	"pselect6", "ptrace", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv",
	"recvfrom", "recvmmsg", "recvmsg", "remap_file_pages", "removexattr", "rename", "renameat", "renameat2",
	"restart_syscall", "rmdir", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo",
	"rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_getaffinity", "sched_getattr",
	"sched_getparam", "sched_get_priority_max", "sched_get_priority_min", "sched_getscheduler",
	"sched_rr_get_interval", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler",
	"sched_yield", "seccomp", "select", "semctl", "semget", "semop", "semtimedop", "sendfile", "sendmmsg", "sendmsg",
	"sendto", "setfsgid", "setfsuid", "setgid", "setgroups", "setitimer", "setpgid", "setpriority", "setregid",
	"setresgid", "setresuid", "setreuid", "setrlimit", "set_robust_list", "setsid", "setsockopt", "set_thread_area",
	"set_tid_address", "setuid", "setxattr", "shmat", "shmctl", "shmdt", "shmget", "shutdown", "sigaltstack",
	"signalfd", "signalfd4", "socketpair", "splice", "stat", "statfs", "statx", "symlink", "symlinkat",
	"sync", "sync_file_range", "syncfs", "sysinfo", "tee", "tgkill", "time", "timer_create", "timer_delete",
	"timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime",
	"times", "tkill", "truncate", "umask", "uname", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vfork",
	"vmsplice", "wait4", "waitid", "write", "writev", "arch_prctl", "modify_ldt",
};

static int load_profile(int no_new_privs)
{
	/* CLONE_NEW*: cgroup, uts, ipc, user, pid, net, and newns. */
	static const uint64_t namespaces = 0x7e020000;
	static const uint64_t personalities[] = { 0x0, 0x8, 0x20000, 0x20008, 0xffffffff };
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc;

	if (!c)
		return -ENOMEM;
	seccomp_attr_set(c, SCMP_FLTATR_CTL_NNP, no_new_privs);
	/* x86-64, i386 and x32 programs pass the same list there. */
	seccomp_arch_add(c, SCMP_ARCH_X86);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		int nr = seccomp_syscall_resolve_name(allowed[i]);

		/* Unknown to this libseccomp: Docker's own would drop it as well. */
		if (nr == __NR_SCMP_ERROR)
			continue;
		rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, nr, 0);
		if (rc && rc != -EDOM)
			return rc;
	}
	rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));
	for (size_t i = 0; !rc && i < sizeof(personalities) / sizeof(personalities[0]); i++)
		rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(personality), 1, SCMP_A0(SCMP_CMP_EQ, personalities[i]));
	if (!rc)
		rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_VSOCK));
	if (!rc)
		rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return rc ? rc : seccomp_load(c);
}

int main(int argc, char **argv)
{
	int root = geteuid() == 0, rc;

	if (argc < 2) {
		fprintf(stderr, "usage: sandbox COMMAND...\n");
		return 2;
	}
	if (root) {
		for (int cap = 0; cap < 64; cap++)
			prctl(PR_CAPBSET_DROP, cap);
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	}
	/* Docker loads the filter while privileged, so that no_new_privs is not needed. */
	rc = load_profile(!root);
	if (rc) {
		fprintf(stderr, "sandbox: seccomp: %s\n", strerror(-rc));
		return 2;
	}
	if (root && (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))) {
		perror("sandbox: setuid");
		return 2;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
