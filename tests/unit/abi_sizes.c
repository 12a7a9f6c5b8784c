/* The sizes in abi/kernel.h against the headers (the kernel's wherever libc differs). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/ldt.h>
#include <asm/stat.h>
#include <linux/capability.h>
#include <linux/dqblk_xfs.h>
#include <linux/futex.h>
#include <linux/ipc.h>
#include <linux/keyctl.h>
#include <linux/mqueue.h>
#include <linux/msg.h>
#include <linux/quota.h>
#include <sys/resource.h>
#include <linux/sched.h>
#include <linux/sem.h>
#include <linux/shm.h>
#include <linux/stat.h>
#include <linux/sysinfo.h>

#include <linux/utime.h>
#include <linux/utsname.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/user.h>

#include "abi/kernel.h"

#define SAME(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)

SAME(struct k_iovec, struct iovec);
SAME(struct k_msghdr, struct msghdr);
SAME(struct k_mmsghdr, struct mmsghdr);
_Static_assert(offsetof(struct k_msghdr, flags) == offsetof(struct msghdr, msg_flags), "flags");
_Static_assert(offsetof(struct k_mmsghdr, len) == offsetof(struct mmsghdr, msg_len), "len");
SAME(struct k_stack, stack_t);
SAME(struct k_pollfd, struct pollfd);
SAME(struct k_epoll_event, struct epoll_event);
SAME(struct k_clone_args, struct clone_args);
_Static_assert(offsetof(struct k_wait_info, pid) == offsetof(siginfo_t, si_pid), "si_pid");
_Static_assert(offsetof(struct k_wait_info, status) == offsetof(siginfo_t, si_status), "status");
SAME(struct k_siginfo, siginfo_t);
SAME(struct k_sigevent, struct sigevent);
SAME(struct k_stat, struct stat);
SAME(struct k_statx, struct statx);
SAME(struct k_statfs, struct statfs);
SAME(struct k_utsname, struct new_utsname);
SAME(struct k_sysinfo, struct sysinfo);
SAME(struct k_rusage, struct rusage);
SAME(struct k_rlimit, struct rlimit64);
SAME(struct k_tms, struct tms);
SAME(struct k_timex, struct timex);
SAME(struct k_utimbuf, struct utimbuf);
SAME(struct k_sembuf, struct sembuf);
SAME(struct k_semid_ds, struct semid64_ds);
SAME(struct k_seminfo, struct seminfo);
SAME(struct k_shmid_ds, struct shmid64_ds);
SAME(struct k_shminfo, struct shminfo64);
SAME(struct k_shm_info, struct shm_info);
SAME(struct k_msqid_ds, struct msqid64_ds);
SAME(struct k_msginfo, struct msginfo);
SAME(struct k_mq_attr, struct mq_attr);
SAME(struct k_cap_header, struct __user_cap_header_struct);
SAME(struct k_futex_waitv, struct futex_waitv);
SAME(struct k_user_desc, struct user_desc);
SAME(struct k_user_regs, struct user_regs_struct);
SAME(struct k_user_fpregs, struct user_fpregs_struct);
SAME(struct k_if_dqblk, struct if_dqblk);
SAME(struct k_if_dqblk, struct if_nextdqblk);
SAME(struct k_if_dqinfo, struct if_dqinfo);
SAME(struct k_fs_disk_quota, struct fs_disk_quota);
SAME(struct k_fs_quota_stat, struct fs_quota_stat);
SAME(struct k_fs_quota_statv, struct fs_quota_statv);
SAME(struct k_keyctl_pkey_query, struct keyctl_pkey_query);

static void compiled(void **state)
{
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(compiled) };

	return cmocka_run_group_tests_name("abi sizes", tests, NULL, NULL);
}
