/* Who we are: ids, groups, sessions, process groups, capabilities, limits, personality, host. */
#include "test.h"
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

int main(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };
	uid_t r, e, s;
	gid_t rg, eg, sg, groups[200];
	struct rlimit rl, rl2;
	struct utsname u;
	struct sysinfo si;
	pid_t pid;
	int n;

	CHECK_EQ(getresuid(&r, &e, &s), 0);
	CHECK(r == getuid() && e == geteuid());
	CHECK_EQ(getresgid(&rg, &eg, &sg), 0);
	CHECK(rg == getgid() && eg == getegid());
	n = getgroups(200, groups);
	CHECK(n >= 0);
	CHECK_EQ(setuid(getuid()), 0);
	CHECK_EQ(setresgid(-1, -1, -1), 0);
	CHECK_EQ(setfsuid(geteuid()), geteuid());
	CHECK_EQ(syscall(SYS_capget, &h, d), 0);
	printf("%u %u %d %x\n", r, rg, n, d[0].effective);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl2 = rl;
	rl2.rlim_cur = 100;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &rl2), 0);
	CHECK_EQ(prlimit(0, RLIMIT_NOFILE, &rl, &rl2), 0);
	CHECK_EQ(rl2.rlim_cur, 100);
	CHECK_EQ(uname(&u), 0);
	CHECK_EQ(sysinfo(&si), 0);
	printf("%s %s %lu\n", u.nodename, u.release, si.uptime);
	CHECK(gethostname(u.nodename, sizeof(u.nodename)) == 0);
	int pers = personality(0xffffffff);

	CHECK(pers >= 0 || errno == EPERM);
	printf("%d %d %d %d\n", getpid(), getppid(), getpgrp(), getsid(0));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		CHECK_EQ(setpgid(0, 0), 0);
		CHECK_EQ(getpgid(0), getpid());
		_exit(0);
	}
	wait_exit(pid, 0);
	pid = fork();
	if (!pid) {
		CHECK_EQ(setsid(), getpid());
		CHECK_EQ(getsid(0), getpid());
		CHECK_ERR(setsid(), EPERM);
		if (geteuid() == 0 && !setgroups(0, NULL) && !setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534)) {
			CHECK_ERR(setuid(0), EPERM);
			CHECK_EQ(getuid(), 65534);
		}
		_exit(0);
	}
	wait_exit(pid, 0);
	return success();
}
