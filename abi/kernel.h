/*
 * kernel.h - structures as the kernel reads and writes them.
 *
 * libc has its own ideas of some of them (termios, sigset_t, sigaction), and the blob
 * must not depend on libc's headers, so the table's sizes come from here.  Where only
 * the size matters the structure is opaque; tests/unit/abi_sizes.c compares every one
 * with the system's headers.
 */
#ifndef ABI_KERNEL_H
#define ABI_KERNEL_H

#include <stddef.h>
#include <stdint.h>

struct k_iovec {
	uint64_t base, len;
};

struct k_msghdr {
	uint64_t name;
	uint32_t namelen, pad0;
	uint64_t iov, iovlen, control, controllen;
	uint32_t flags, pad1;
};
_Static_assert(sizeof(struct k_msghdr) == 56, "msghdr");
_Static_assert(offsetof(struct k_msghdr, controllen) == 40, "msghdr");

struct k_mmsghdr {
	struct k_msghdr hdr;
	uint32_t len, pad;
};
_Static_assert(sizeof(struct k_mmsghdr) == 64, "mmsghdr");

struct k_timespec {
	int64_t sec, nsec;
};

struct k_timeval {
	int64_t sec, usec;
};

struct k_itimerspec {
	struct k_timespec interval, value;
};

struct k_sigaction {
	uint64_t handler, flags, restorer, mask;
};
_Static_assert(sizeof(struct k_sigaction) == 32, "sigaction");

typedef uint64_t k_sigset;

struct k_stack {
	uint64_t sp;
	int32_t flags, pad;
	uint64_t size;
};
_Static_assert(sizeof(struct k_stack) == 24, "stack_t");

struct k_pollfd {
	int32_t fd;
	int16_t events, revents;
};

struct k_epoll_event {
	uint32_t events;
	uint64_t data;
} __attribute__((packed));
_Static_assert(sizeof(struct k_epoll_event) == 12, "epoll_event");

struct k_xattr_args {
	uint64_t value;
	uint32_t size, flags;
};
_Static_assert(sizeof(struct k_xattr_args) == 16, "xattr_args");

struct k_clone_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	uint64_t set_tid, set_tid_size, cgroup;
};
_Static_assert(sizeof(struct k_clone_args) == 88, "clone_args");

/* The part of siginfo_t that waitid stores, field by field (128 bytes in all). */
struct k_wait_info {
	int32_t signo, err, code, pad, pid, uid, status;
};
_Static_assert(sizeof(struct k_wait_info) == 28, "waitid");

#define K_OPAQUE(name, size) struct name { unsigned char bytes[size]; }

K_OPAQUE(k_siginfo, 128);
K_OPAQUE(k_sigevent, 64);
K_OPAQUE(k_stat, 144);
K_OPAQUE(k_statx, 256);
K_OPAQUE(k_statfs, 120);
K_OPAQUE(k_ustat, 32);
K_OPAQUE(k_utsname, 390);
K_OPAQUE(k_sysinfo, 112);
K_OPAQUE(k_rusage, 144);
K_OPAQUE(k_rlimit, 16);
K_OPAQUE(k_tms, 32);
K_OPAQUE(k_timex, 208);
K_OPAQUE(k_timezone, 8);
K_OPAQUE(k_utimbuf, 16);
K_OPAQUE(k_flock, 32);
K_OPAQUE(k_f_owner_ex, 8);
K_OPAQUE(k_mq_attr, 64);
K_OPAQUE(k_sembuf, 6);
K_OPAQUE(k_semid_ds, 104);
K_OPAQUE(k_seminfo, 40);
K_OPAQUE(k_shmid_ds, 112);
K_OPAQUE(k_shminfo, 72);
K_OPAQUE(k_shm_info, 48);
K_OPAQUE(k_msqid_ds, 120);
K_OPAQUE(k_msginfo, 32);
K_OPAQUE(k_cap_header, 8);
K_OPAQUE(k_cachestat, 40);
K_OPAQUE(k_futex_waitv, 24);
K_OPAQUE(k_user_desc, 16);
K_OPAQUE(k_user_regs, 216);
K_OPAQUE(k_user_fpregs, 512);
K_OPAQUE(k_if_dqblk, 72);
K_OPAQUE(k_if_dqinfo, 24);
K_OPAQUE(k_fs_disk_quota, 112);
K_OPAQUE(k_fs_quota_stat, 80);
K_OPAQUE(k_fs_quota_statv, 160);
K_OPAQUE(k_keyctl_pkey_query, 56);

#endif
