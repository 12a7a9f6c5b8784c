/* /proc/self: maps, stat, status, exe, cmdline, comm, fd, task, environ, limits as the program knows them. */
#include "test.h"
#include <dirent.h>
#include <sys/prctl.h>

static char buf[1 << 16];

static ssize_t slurp(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n, all = 0;

	CHECK(fd >= 0);
	while ((n = read(fd, buf + all, sizeof(buf) - 1 - all)) > 0)
		all += n;
	CHECK_EQ(n, 0);
	buf[all] = 0;
	close(fd);
	return all;
}

static int count(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	char want[64], link[4096];
	unsigned long lo, hi;
	bool main_seen = false, stack_seen = false;
	ssize_t n;
	FILE *f;

	CHECK(slurp("/proc/self/stat") > 0);
	CHECK_EQ(atoi(buf), getpid());
	CHECK(slurp("/proc/self/status") > 0);
	snprintf(want, sizeof(want), "\nPid:\t%d\n", getpid());
	CHECK(strstr(buf, want));
	snprintf(want, sizeof(want), "\nPPid:\t%d\n", getppid());
	CHECK(strstr(buf, want));
	CHECK(slurp("/proc/self/cmdline") == (ssize_t)strlen(argv[0]) + 1 && !strcmp(buf, argv[0]));
	n = readlink("/proc/self/exe", link, sizeof(link) - 1);
	CHECK(n > 0);
	link[n] = 0;
	CHECK(strstr(link, "proc_self"));
	CHECK_EQ(prctl(PR_SET_NAME, "renamed"), 0);
	slurp("/proc/self/comm");
	CHECK(!strcmp(buf, "renamed\n"));
	f = fopen("/proc/self/maps", "r");
	CHECK(f);
	while (fgets(buf, sizeof(buf), f)) {
		CHECK_EQ(sscanf(buf, "%lx-%lx", &lo, &hi), 2);
		main_seen |= lo <= (uintptr_t)main && (uintptr_t)main < hi;
		stack_seen |= lo <= (uintptr_t)&n && (uintptr_t)&n < hi;
		fputs(buf, stdout);
	}
	fclose(f);
	CHECK(main_seen && stack_seen);
	int before = count("/proc/self/fd"), fd = dup(0);

	CHECK(fd >= 0);
	CHECK_EQ(count("/proc/self/fd"), before + 1);
	snprintf(want, sizeof(want), "/proc/self/fd/%d", fd);
	CHECK(readlink(want, link, sizeof(link)) > 0);
	CHECK_EQ(count("/proc/self/task"), 1);
	CHECK(slurp("/proc/self/environ") > 0);
	CHECK(slurp("/proc/self/limits") > 0);
	CHECK(slurp("/proc/self/auxv") > 0);
	CHECK(slurp("/proc/meminfo") > 0);
	CHECK(slurp("/proc/cpuinfo") > 0);
	CHECK(slurp("/proc/uptime") > 0);
	printf("%s", buf);
	/* One's own memory, through a file. */
	int mem = open("/proc/self/mem", O_RDWR);

	if (mem >= 0) {
		volatile long v = 0x1234567;
		long w = 0;

		CHECK_EQ(pread(mem, &w, sizeof(w), (off_t)&v), sizeof(w));
		CHECK_EQ(w, 0x1234567);
		w = 77;
		CHECK_EQ(pwrite(mem, &w, sizeof(w), (off_t)&v), sizeof(w));
		CHECK_EQ(v, 77);
	}
	return success();
}
