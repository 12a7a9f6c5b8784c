// test: timeout=40
/* /proc/self/status, a thread's and a child's, say what the program has installed, however they are read. */
#include "test.h"
#include "seccomp_one.h"
#include <sys/uio.h>

static long number(const char *path, const char *name, int how)
{
	static char text[8192];
	int fd = open(path, O_RDONLY);
	size_t len = 0;
	ssize_t n;
	char *at;

	CHECK(fd >= 0);
	for (;;) {
		struct iovec v[2] = { { text + len, 5 }, { text + len + 5, 3000 } };

		n = how == 0 ? read(fd, text + len, sizeof(text) - len - 1) : how == 1 ? pread(fd, text + len, 100, (off_t)len) :
		    how == 2 ? readv(fd, v, 2) : read(fd, text + len, 64);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	CHECK_EQ(n, 0);
	close(fd);
	text[len] = '\0';
	at = strstr(text, name);
	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static void expect(const char *path, long privs, long mode, long filters)
{
	CHECK_EQ(number(path, "\nSeccomp:\t", 3), mode);
	for (int how = 0; how < 3; how++) {
		CHECK_EQ(number(path, "\nNoNewPrivs:\t", how), privs);
		CHECK_EQ(number(path, "\nSeccomp:\t", how), mode);
		if (number(path, "\nSeccomp_filters:\t", how) >= 0)
			CHECK_EQ(number(path, "\nSeccomp_filters:\t", how), filters);
	}
}

static void *thread(void *arg)
{
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ALLOW, 0), 0);
	expect("/proc/thread-self/status", 1, 2, 3);
	return arg;
}

int main(void)
{
	long filters = number("/proc/self/status", "\nSeccomp_filters:\t", 0), mode = prctl(PR_GET_SECCOMP);
	char path[64];
	FILE *f;
	pthread_t t;
	int p[2];
	pid_t pid;

	if (mode || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
		skip("in a sandbox already");
	CHECK_EQ(filters > 0, 0);
	expect("/proc/self/status", 0, 0, 0);
	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ALLOW, 0), 0);
		read(p[0], path, 1);
		_exit(0);
	}
	usleep(20000);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	while (number(path, "\nSeccomp:\t", 0) != 2)
		usleep(1000);
	expect(path, 1, 2, 1);
	CHECK_EQ(write(p[1], "x", 1), 1);
	wait_exit(pid, 0);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ALLOW, 0), 0);
	expect("/proc/self/status", 1, 2, 1);
	CHECK_EQ(seccomp_one(SYS_getsid, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	expect("/proc/self/status", 1, 2, 2);
	f = fopen("/proc/self/status", "r");
	while (fgets(path, sizeof(path), f)) {
		if (!strncmp(path, "Seccomp", 7))
			printf("%s", path);
	}
	return success();
}
