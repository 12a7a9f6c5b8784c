/*
 * cores.c - how many processors the program sees (rec --num-cores).
 *
 * Everything recorded runs on one processor.  A program that believes there are 16 starts 16
 * threads, which take turns there, and spin while they wait for one another; so it is told that
 * there is one, or as many as were asked for, in each place it can look: sched_getaffinity, getcpu
 * and rdtscp, and the files of /proc, /sys and cgroups.
 *
 * The path of a call on such a file is replaced, for the kernel only, by that of a file of ours: in
 * a directory that is made when it is first needed, and removed at the end.
 * /sys/devices/system/cpu is a directory there, whose cpuN lead to the real ones. A path is
 * replaced where it is written out as it is known here, and where our directory can be reached from
 * the task.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/filter.h"
#include "recorder/internal.h"
#include "recorder/ptrace.h"

enum {
	PATH_BYTES = 512,
	PATH_AT = FIXED_STACK - 0x8000 /* the hook's stack, which nobody uses now */,
	DIR_MODE = 0755,
	CHAOS_MOST = 8
};

#define CPU_DIR "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"

struct rec_cores {
	char dir[64];		/* empty: not made */
	bool failed;
	unsigned real;		/* processors of the machine that have a number below this */
};

static void file_put(const char *dir, const char *name, const char *text)
{
	char path[256], fresh[264];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	f = fopen(fresh, "we");
	if (!f)
		return;
	fputs(text, f);
	if (fclose(f) == 0)	/* who has the last one open keeps it */
		rename(fresh, path);
}

static char *file_get(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = fopen(path, "re");

	if (f && getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/* ---- contents -------------------------------------------------------------------------------- */

static void list_put(const char *dir, const char *name, unsigned cores)
{
	char text[32];

	snprintf(text, sizeof(text), cores > 1 ? "0-%u\n" : "0\n", cores - 1);
	file_put(dir, name, text);
}

/* The end of the paragraph at text. */
static const char *paragraph_end(const char *text)
{
	const char *end = strstr(text, "\n\n");

	return end ? end + 2 : text + strlen(text);
}

static bool line_is(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && (line[n] == '\t' || line[n] == ' ' || line[n] == ':');
}

/* The processor that stands at from, as number i of n. */
static void cpuinfo_one(FILE *out, const char *from, const char *end, unsigned i, unsigned n)
{
	while (from < end) {
		const char *next = memchr(from, '\n', (size_t)(end - from));
		const char *colon = memchr(from, ':', (size_t)(end - from));

		next = next ? next + 1 : end;
		if (line_is(from, "processor") || line_is(from, "core id") ||
		    line_is(from, "apicid") || line_is(from, "initial apicid"))
			fprintf(out, "%.*s: %u\n", (int)(colon - from), from, i);
		else if (line_is(from, "siblings") || line_is(from, "cpu cores"))
			fprintf(out, "%.*s: %u\n", (int)(colon - from), from, n);
		else
			fwrite(from, 1, (size_t)(next - from), out);
		from = next;
	}
}

static void cpuinfo_make(const struct rec_cores *c, unsigned cores)
{
	char *real = file_get("/proc/cpuinfo"), *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (unsigned i = 0; real && out && i < cores; i++)
		cpuinfo_one(out, real, paragraph_end(real), i, cores);
	if (out && fclose(out) == 0 && real)
		file_put(c->dir, "cpuinfo", text);
	free(text);
	free(real);
}

/* As it is now; the lines of real processors are those of ours by turns. */
static void stat_make(const struct rec_cores *c, unsigned cores)
{
	char *real = file_get("/proc/stat"), *text = NULL, *save = NULL;
	const char *cpu[64] = { 0 };
	unsigned n = 0;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (char *line = real ? strtok_r(real, "\n", &save) : NULL; line && out;
	     line = strtok_r(NULL, "\n", &save)) {
		bool one = !strncmp(line, "cpu", 3) && line[3] >= '0' && line[3] <= '9';

		if (one && n < 64)
			cpu[n++] = strchr(line, ' ');
		if (!one && n && cpu[0]) {
			for (unsigned i = 0; i < cores; i++)
				fprintf(out, "cpu%u%s\n", i, cpu[i % n]);
			cpu[0] = NULL;
		}
		if (!one)
			fprintf(out, "%s\n", line);
	}
	if (out && fclose(out) == 0 && real)
		file_put(c->dir, "stat", text);
	free(text);
	free(real);
}

static void affinity_text(const cpu_set_t *set, FILE *out)
{
	bool any = false;

	fputs("Cpus_allowed:\t", out);
	for (int word = CPU_SETSIZE / 32 - 1; word >= 0; word--) {
		uint32_t bits = 0;

		for (int i = 0; i < 32; i++)
			bits |= CPU_ISSET(word * 32 + i, set) ? 1u << i : 0;
		if (any)
			fprintf(out, ",%08x", bits);
		else if (bits || !word)
			fprintf(out, "%x", bits);
		any |= bits != 0;
	}
	fputs("\nCpus_allowed_list:\t", out);
	any = false;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		int first = i;

		if (!CPU_ISSET(i, set))
			continue;
		while (i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, set))
			i++;
		fprintf(out, first == i ? "%s%d" : "%s%d-%d", any ? "," : "", first, i);
		any = true;
	}
	fputc('\n', out);
}

/*
 * What the kernel says of us (status.c does the same where the real file is read).  False: the line
 * stays as it is.
 */
static bool status_line(struct recorder *rec, const struct rec_task *t, const char *line, FILE *out)
{
	if (!strncmp(line, "Cpus_allowed:", 13))
		affinity_text(&t->affinity, out);
	else if (!strncmp(line, "State:\t", 7))
		fputs("State:\tR (running)\n", out);		/* it is stopped while we read */
	else if (!strncmp(line, "TracerPid:", 10))
		fprintf(out, "TracerPid:\t%d\n", rec_pt_traced(t) ? (int)t->pt->tracer->pid : 0);
	else if (!strncmp(line, "NoNewPrivs:", 11))
		fprintf(out, "NoNewPrivs:\t%d\n", t->filters.no_new_privs);
	else if (!strncmp(line, "Seccomp:", 8))
		fprintf(out, "Seccomp:\t%d\n", (int)rec_filter_mode(rec, t));
	else if (!strncmp(line, "Seccomp_filters:", 16))
		fprintf(out, "Seccomp_filters:\t%u\n", rec_filter_count(rec, t));
	else
		return !strncmp(line, "Cpus_allowed_list:", 18);
	return true;
}

static void status_make(struct recorder *rec, const struct rec_cores *c, const struct rec_task *t,
			bool thread)
{
	char path[64], *real, *text = NULL, *save = NULL;
	size_t size;
	FILE *out;

	snprintf(path, sizeof(path), "/proc/%d/status", thread ? t->tid : t->pid);
	real = file_get(path);
	out = open_memstream(&text, &size);
	for (char *line = real ? strtok_r(real, "\n", &save) : NULL; line && out;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!status_line(rec, t, line, out))
			fprintf(out, "%s\n", line);
	}
	if (out && fclose(out) == 0 && real)
		file_put(c->dir, "status", text);
	free(text);
	free(real);
}

/*
 * /sys/devices/system/cpu: what is there leads to the real one, but for what tells of the number.
 */
static void sys_make(const struct rec_cores *c, unsigned cores)
{
	static const char *const same[] = {
		"kernel_max", "smt",	 "vulnerabilities", "modalias",
		"cpuidle",    "cpufreq", "isolated",	    "nohz_full"
	};
	char dir[96], path[192], to[192];

	snprintf(dir, sizeof(dir), "%s/cpu", c->dir);
	mkdir(dir, DIR_MODE);
	list_put(dir, "online", cores);
	list_put(dir, "possible", cores);
	list_put(dir, "present", cores);
	file_put(dir, "offline", "\n");
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		snprintf(to, sizeof(to), CPU_DIR "/%s", same[i]);
		snprintf(path, sizeof(path), "%s/%s", dir, same[i]);
		if (access(to, F_OK) == 0 && symlink(to, path) < 0)
			return;
	}
	for (unsigned i = 0; i < cores; i++) {
		snprintf(to, sizeof(to), CPU_DIR "/cpu%u", i % c->real);
		snprintf(path, sizeof(path), "%s/cpu%u", dir, i);
		if (symlink(to, path) < 0)
			return;
	}
}

/*
 * What else is in `from', but for what is called so, whatever its number, and for blocks of memory,
 * of which there are hundreds.
 */
static void link_others(const char *from, const char *dir, const char *but)
{
	DIR *d = opendir(from);
	struct dirent *e;
	char path[192 + NAME_MAX], to[192 + NAME_MAX];

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !strncmp(e->d_name, but, strlen(but)) ||
		    !strncmp(e->d_name, "memory", 6))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		snprintf(to, sizeof(to), "%s/%s", from, e->d_name);
		if (symlink(to, path) < 0 && errno != EEXIST)	/* that is ours */
			break;
	}
	if (d)
		closedir(d);
}

/* /sys/devices/system/node: one node, with all of them. */
static void nodes_make(const struct rec_cores *c, unsigned cores)
{
	static const char *const which[] = { "online", "possible", "has_cpu" };
	char dir[96], node[104], path[192], to[192];
	unsigned rest = cores % 32;

	if (access(NODE_DIR "/node0", F_OK) < 0)
		return;
	snprintf(dir, sizeof(dir), "%s/node", c->dir);
	mkdir(dir, DIR_MODE);
	for (unsigned i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		list_put(dir, which[i], 1);
	snprintf(node, sizeof(node), "%s/node0", dir);
	mkdir(node, DIR_MODE);
	list_put(node, "cpulist", cores);
	/* words of 32, the highest first; cores is 64 at most */
	snprintf(to, sizeof(to), "%x%s\n", rest ? (1u << rest) - 1 : UINT32_MAX,
		 cores > 32 ? ",ffffffff" : "");
	file_put(node, "cpumap", to);
	for (unsigned i = 0; i < cores; i++) {
		snprintf(path, sizeof(path), "%s/cpu%u", node, i);
		snprintf(to, sizeof(to), CPU_DIR "/cpu%u", i % c->real);
		if (symlink(to, path) < 0)
			return;
	}
	file_put(node, "distance", "10\n");
	link_others(NODE_DIR "/node0", node, "cpu");
	link_others(NODE_DIR, dir, "node");
}

static bool dir_make(struct recorder *rec)
{
	struct rec_cores *c = rec->cores_files;
	const char *tmp = getenv("TMPDIR");
	char path[64];

	if (c && (c->failed || c->dir[0]))
		return !c->failed;
	c = c ? c : calloc(1, sizeof(*c));
	rec->cores_files = c;
	if (!c)
		return false;
	for (c->real = 0; c->real < 1024; c->real++) {
		snprintf(path, sizeof(path), CPU_DIR "/cpu%u", c->real);
		if (access(path, F_OK) < 0)
			break;
	}
	if (!c->real)
		c->real = 1;
	snprintf(c->dir, sizeof(c->dir), "%s/hindsight-cpus-XXXXXX",
		 tmp && *tmp == '/' && strlen(tmp) < 36 ? tmp : "/tmp");
	c->failed = !mkdtemp(c->dir) || chmod(c->dir, DIR_MODE) < 0;
	if (c->failed)
		return false;
	sys_make(c, rec->cores);
	nodes_make(c, rec->cores);
	cpuinfo_make(c, rec->cores);
	list_put(c->dir, "cpus", rec->cores);
	file_put(c->dir, "cpu.max", "max 100000\n");
	file_put(c->dir, "quota", "-1\n");
	return true;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void rec_cores_deinit(struct recorder *rec)
{
	struct rec_cores *c = rec->cores_files;

	if (c && c->dir[0] && !c->failed)
		nftw(c->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(c);
	rec->cores_files = NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

/*
 * Files that limit processors, of cgroups of version 2 (cpu.max, cpuset.cpus.effective) and 1.
 * Those that are not there stay so: by them programs tell the versions apart.
 */
static const char *ours_for_cgroup(const struct rec_task *t, const char *path)
{
	static const struct { const char *end, *ours; } of[] = {
		{ "/cpu.max", "cpu.max" },
		{ "/cpu.cfs_quota_us", "quota" },
		{ "/cpuset.cpus", "cpus" },
		{ "/cpuset.cpus.effective", "cpus" },
		{ "/cpuset.effective_cpus", "cpus" },
	};
	char real[PATH_BYTES * 2], *text;
	bool says;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		if (!ends_with(path, of[i].end))
			continue;
		snprintf(real, sizeof(real), "/proc/%d/root%s", t->tid, path);
		text = file_get(real);
		says = text && text[0] > ' ';	/* an empty cpuset.cpus: as the group above */
		free(text);
		return says ? of[i].ours : NULL;
	}
	return NULL;
}

/* Ours for a path, below our directory; NULL: it stays. */
static const char *ours_for(struct recorder *rec, const struct rec_task *t, const char *path)
{
	const struct rec_cores *c = rec->cores_files;
	static char below[PATH_BYTES];
	size_t n = strlen(CPU_DIR), m = strlen(NODE_DIR);

	if (!strcmp(path, "/proc/cpuinfo"))
		return "cpuinfo";
	if (!strcmp(path, "/proc/stat")) {
		stat_make(c, rec->cores);
		return "stat";
	}
	if (!strcmp(path, "/proc/self/status") || !strcmp(path, "/proc/thread-self/status")) {
		status_make(rec, c, t, path[6] == 't');
		return "status";
	}
	if (!strncmp(path, CPU_DIR, n) && (!path[n] || path[n] == '/')) {
		snprintf(below, sizeof(below), "cpu%s", path + n);
		return below;
	}
	if (!strncmp(path, NODE_DIR, m) && (!path[m] || path[m] == '/')) {
		snprintf(below, sizeof(below), "node%s", path + m);
		return below;
	}
	return strncmp(path, "/sys/fs/cgroup/", 15) ? NULL : ours_for_cgroup(t, path);
}

/* The argument of a call that is a path to look at; -1: it has none. */
static int path_arg(uint64_t nr)
{
	switch (nr) {
	case SYS_open:
	case SYS_stat:
	case SYS_lstat:
	case SYS_access:
	case SYS_readlink:
		return 0;
	case SYS_openat:
	case SYS_openat2:
	case SYS_newfstatat:
	case SYS_statx:
	case SYS_faccessat:
	case SYS_faccessat2:
	case SYS_readlinkat:
		return 1;
	default:
		return -1;
	}
}

/* Where the task sees it: the real thing is there, and so is ours. */
static bool reaches(const struct rec_task *t, const char *real, const char *ours)
{
	char path[PATH_BYTES * 2];
	struct stat here, there, sys;

	snprintf(path, sizeof(path), "/proc/%d/root%s", t->tid, ours);
	if (stat(ours, &here) < 0 || stat(path, &there) < 0 || here.st_ino != there.st_ino ||
	    here.st_dev != there.st_dev)
		return false;
	if (stat(!strncmp(real, "/proc/", 6) ? "/proc" : "/sys", &sys) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/root%s", t->tid,
		 !strncmp(real, "/proc/", 6) ? "/proc" : "/sys");
	return stat(path, &there) == 0 && there.st_dev == sys.st_dev && there.st_ino == sys.st_ino;
}

/* The path from the root, where its directory is in /proc or /sys, or the root itself. */
static bool path_whole(const struct rec_task *t, const struct rec_call *call, int arg,
		       char path[PATH_BYTES])
{
	char link[64], dir[PATH_BYTES], whole[PATH_BYTES * 2];
	int fd = arg ? (int)call->args[0] : AT_FDCWD;
	ssize_t n;

	if (path[0] == '/')
		return true;
	if (fd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", t->tid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", t->tid, fd);
	n = readlink(link, dir, sizeof(dir) - 1);
	if (n <= 0 || n >= (ssize_t)sizeof(dir) - 1)
		return false;
	dir[n] = '\0';
	if (n > 1 && strncmp(dir, "/proc", 5) != 0 && strncmp(dir, "/sys", 4) != 0)
		return false;
	if (snprintf(whole, sizeof(whole), "%s/%s", n > 1 ? dir : "", path) >= PATH_BYTES)
		return false;
	memcpy(path, whole, strlen(whole) + 1);
	return true;
}

void rec_cores_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	int arg = path_arg(call->nr);
	char path[PATH_BYTES] = "", full[PATH_BYTES * 2];
	const char *ours;
	struct err *err;

	if (arg < 0 || call->force_ret || !rec->cores)
		return;
	if (tracee_read_user(t->tid, call->args[arg], path, sizeof(path) - 1) < 3 ||
	    !memchr(path, '\0', sizeof(path) - 1) || !path_whole(t, call, arg, path))
		return;
	if ((strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0) ||
	    strstr(path, "/.."))
		return;
	if (!dir_make(rec))
		return;
	ours = ours_for(rec, t, path);
	if (!ours)
		return;
	snprintf(full, sizeof(full), "%s/%s", rec->cores_files->dir, ours);
	if (strlen(full) >= PATH_BYTES || !reaches(t, path, rec->cores_files->dir))
		return;
	err = tracee_write(t->tid, PATH_AT, full, strlen(full) + 1);
	if (err) {
		err_free(err);
		return;
	}
	call->seen_args[arg] = PATH_AT;
	call->changed_args = true;
}

unsigned rec_cores_current(const struct rec_task *t)
{
	for (unsigned i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &t->affinity))
			return i;
	}
	return 0;
}

void rec_cores_start(struct recorder *rec)
{
	rec->cores = rec->options->num_cores;
	if (!rec->cores)
		rec->cores = rec->options->chaos ? 1 + rec_random(rec, CHAOS_MOST) : 1;
	CPU_ZERO(&rec->affinity);
	for (unsigned i = 0; i < rec->cores; i++)
		CPU_SET(i, &rec->affinity);
}
