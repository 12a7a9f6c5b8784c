/* Bad pointers to many calls: EFAULT, nothing else changes, and the program goes on. */
#include "test.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/utsname.h>

#define BAD(nr, ...) CHECK_ERR(syscall(nr, ##__VA_ARGS__), EFAULT)

int main(void)
{
	/* Kernel half, null page, hole. */
	long bad[] = { 8, 0x10000, -4096, (long)0xffff800000000000, (long)0x7fffffffe000 };
	int fd = open("/etc/passwd", O_RDONLY), p[2], s[2], ep = epoll_create1(0);

	CHECK_EQ(pipe(p), 0);
	put1(p[1]);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(write(s[1], "abc", 3), 3);
	for (int i = 0; i < 5; i++) {
		long b = bad[i];

		BAD(SYS_read, fd, b, 10L);
		BAD(SYS_read, p[0], b, 1L);
		BAD(SYS_write, p[1], b, 10L);
		BAD(SYS_stat, "/", b);
		BAD(SYS_stat, b, b);
		BAD(SYS_fstat, fd, b);
		BAD(SYS_open, b, 0L);
		BAD(SYS_poll, b, 1L, 0L);
		BAD(SYS_nanosleep, b, 0L);
		BAD(SYS_clock_gettime, 0L, b);
		BAD(SYS_gettimeofday, b, 0L);
		BAD(SYS_uname, b);
		BAD(SYS_sysinfo, b);
		BAD(SYS_getrlimit, 0L, b);
		BAD(SYS_getrusage, 0L, b);
		BAD(SYS_times, b);
		BAD(SYS_pipe, b);
		BAD(SYS_rt_sigaction, 1L, b, 0L, 8L);
		BAD(SYS_rt_sigaction, 1L, 0L, b, 8L);
		BAD(SYS_rt_sigpending, b, 8L);
		BAD(SYS_sigaltstack, b, 0L);
		BAD(SYS_getdents64, open("/", O_RDONLY | O_DIRECTORY), b, 1000L);
		BAD(SYS_readlink, "/proc/self/exe", b, 100L);
		BAD(SYS_getcwd, b, 100L);
		BAD(SYS_statfs, "/", b);
		BAD(SYS_recvfrom, s[0], b, 1L, MSG_PEEK | MSG_DONTWAIT, 0L, 0L);
		BAD(SYS_getsockname, s[0], b, b);
		BAD(SYS_sendmsg, s[0], b, 0L);
		BAD(SYS_recvmsg, s[0], b, 0L);
		BAD(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, p[0], b);
		BAD(SYS_select, 10L, b, 0L, 0L, 0L);
		BAD(SYS_execve, b, 0L, 0L);
		BAD(SYS_sched_getaffinity, 0L, 128L, b);
		BAD(SYS_getrandom, b, 10L, 0L);
		BAD(SYS_futex, b, 0L, 0L, 0L);
		BAD(SYS_ioctl, p[0], 0x541bL /* FIONREAD */, b);
		BAD(SYS_prctl, 16L /* PR_GET_NAME */, b, 0L, 0L, 0L);
		BAD(SYS_timer_create, 0L, 0L, b);
		BAD(SYS_setitimer, 0L, b, 0L);
		BAD(SYS_preadv, fd, b, 1L, 0L, 0L);
		BAD(SYS_statx, AT_FDCWD, "/", 0L, 0L, b);
		BAD(SYS_mincore, (long)&bad & ~4095, 4096L, b);
	}
	get1(p[0]);
	return success();
}
