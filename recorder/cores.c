/*
 * cores.c - how many processors the program sees (rec --num-cores).
 *
 * Everything recorded runs on one processor.  A program that believes there are 16 starts 16
 * threads, which share it, and spin while they wait for one another; so it is told that
 * there is one, or as many as were asked for, in each place it can look: sched_getaffinity, getcpu
 * and rdtscp, and the files of /proc, /sys and cgroups.
 *
 * The path of a call on such a file is replaced, for the kernel only, by that of a file of ours: in
 * a directory that is made when it is first needed, and removed at the end (cpu_files.c).  A path
 * is replaced where it is written out as it is known here, from the root, a working directory or an
 * open directory, and where our directory can be reached from the task.
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

#include "recorder/cores.h"
#include "recorder/filter.h"
#include "recorder/internal.h"
#include "recorder/ptrace.h"
#include "tracee/topology.h"

enum {
	PATH_BYTES = 512,
	PATH_AT = FIXED_STACK - 0x8000 /* the hook's stack, which nobody uses now */,
	DIR_MODE = 0755,
	CHAOS_MOST = 8
};

struct rec_cores {
	char dir[64];		/* empty: not made */
	bool failed;
	bool each;		/* cpu0, cpu1, ... are there, too */
};

static void cpuinfo_make(const struct rec_cores *c, unsigned cores)
{
	char *real = cores_file_get("/proc/cpuinfo"),
	     *text = real ? cpuinfo_text(real, cores) : NULL;

	if (text)
		cores_file_put(c->dir, "cpuinfo", text);
	free(text);
	free(real);
}

/* As it is now; the lines of real processors are those of ours, one after the other. */
static void stat_make(const struct rec_cores *c, unsigned cores)
{
	char *real = cores_file_get("/proc/stat"), *text = NULL, *save = NULL;
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
		cores_file_put(c->dir, "stat", text);
	free(text);
	free(real);
}

/* A table of the kernel's that changes, as it is now. */
static const char *table_make(const struct rec_cores *c, const char *path, const char *name,
			      char *(*text_of)(const char *real, unsigned cores), unsigned cores)
{
	char *real = cores_file_get(path), *text = real ? text_of(real, cores) : NULL;

	if (text)
		cores_file_put(c->dir, name, text);
	free(real);
	free(text);
	return text ? name : NULL;
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
 * Makes a line say what the kernel says of us (status.c does the same where the real file is read).
 * False: the line stays as it is.
 */
static bool status_line(struct recorder *rec, const struct rec_task *t, bool own, const char *line,
			FILE *out)
{
	if (!strncmp(line, "Cpus_allowed:", 13))
		affinity_text(&t->affinity, out);
	else if (own && !strncmp(line, "State:\t", 7))
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

/* Makes the status text of a task; own: the task asks for its own. */
static void status_make(struct recorder *rec, const struct rec_cores *c, const struct rec_task *t,
			bool own)
{
	char path[64], *real, *text = NULL, *save = NULL;
	size_t size;
	FILE *out;

	snprintf(path, sizeof(path), "/proc/%d/status", t->tid);
	real = cores_file_get(path);
	out = open_memstream(&text, &size);
	for (char *line = real ? strtok_r(real, "\n", &save) : NULL; line && out;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!status_line(rec, t, own, line, out))
			fprintf(out, "%s\n", line);
	}
	if (out && fclose(out) == 0 && real)
		cores_file_put(c->dir, "status", text);
	free(text);
	free(real);
}

static bool dir_make(struct recorder *rec)
{
	struct rec_cores *c = rec->cores_files;
	const char *tmp = getenv("TMPDIR");

	if (c && (c->failed || c->dir[0]))
		return !c->failed;
	c = c ? c : calloc(1, sizeof(*c));
	rec->cores_files = c;
	if (!c)
		return false;
	snprintf(c->dir, sizeof(c->dir), "%s/hindsight-cpus-XXXXXX",
		 tmp && *tmp == '/' && strlen(tmp) < 36 ? tmp : "/tmp");
	c->failed = !mkdtemp(c->dir) || chmod(c->dir, DIR_MODE) < 0;
	if (c->failed)
		return false;
	cores_sys_make(c->dir, rec->cores);
	cores_nodes_make(c->dir, rec->cores);
	cpuinfo_make(c, rec->cores);
	cores_list_put(c->dir, "cpus", 0, rec->cores);
	cores_file_put(c->dir, "cpu.max", "max 100000\n");
	cores_file_put(c->dir, "quota", "-1\n");
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
static const char *ours_for_cgroup(const struct recorder *rec, const struct rec_task *t,
				   const char *path)
{
	static const struct { const char *end, *ours; } of[] = {
		{ "/cpu.max", "cpu.max" },
		{ "/cpu.cfs_quota_us", "quota" },
		{ "/cpuset.cpus", "cpus" },
		{ "/cpuset.cpus.effective", "cpus" },
		{ "/cpuset.cpus.exclusive", "cpus" },
		{ "/cpuset.cpus.exclusive.effective", "cpus" },
		{ "/cpuset.effective_cpus", "cpus" },
	};
	char real[PATH_BYTES * 2], *text;
	bool says;

	snprintf(real, sizeof(real), "/proc/%d/root%s", t->tid, path);
	if (strstr(path, "/cpuacct.usage_percpu"))	/* and _sys, _user */
		return table_make(rec->cores_files, real, "percpu", cores_numbers_text, rec->cores);
	if (ends_with(path, "/cpuacct.usage_all"))
		return table_make(rec->cores_files, real, "all", cores_rows_text, rec->cores);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		if (!ends_with(path, of[i].end))
			continue;
		text = cores_file_get(real);
		says = text && text[0] > ' ';	/* an empty cpuset.cpus: as the group above */
		free(text);
		return says ? of[i].ours : NULL;
	}
	return NULL;
}

/* A number, or self, as task t has it: the task whose number that is, and the text behind it. */
static struct rec_task *task_named(struct recorder *rec, struct rec_task *t, pid_t self,
				   const char **path)
{
	char *end = NULL;
	long number;

	if (!strncmp(*path, "self/", 5)) {
		*path += 5;
		for (struct rec_task *other = rec->tasks; other; other = other->next) {
			if (other->tid == self)
				return other;
		}
		return t;	/* its first thread has ended */
	}
	number = strtol(*path, &end, 10);
	if (number <= 0 || number > INT_MAX || *end != '/')
		return NULL;
	*path = end + 1;
	return rec_task_seen(rec, t, (pid_t)number);
}

/* The task whose status a path of /proc is; NULL: none of ours. */
static struct rec_task *status_of(struct recorder *rec, struct rec_task *t, const char *path)
{
	struct rec_task *of, *thread;

	path += 6;
	if (!strcmp(path, "thread-self/status"))
		return t;
	of = task_named(rec, t, t->pid, &path);
	if (of && !strncmp(path, "task/", 5)) {
		path += 5;
		thread = task_named(rec, t, t->tid, &path);
		of = thread && thread->pid == of->pid ? thread : NULL;
	}
	return of && !strcmp(path, "status") ? of : NULL;
}

/* Does it say the same whatever directories there are? */
static bool is_list(const char *path)
{
	static const char *const lists[] = {
		"online", "possible", "present", "has_cpu", "cpulist", "kernel_max", "offline"
	};
	const char *last = strrchr(path, '/');

	for (size_t i = 0; last && i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (!strcmp(last + 1, lists[i]))
			return !strstr(path, "cpu/cpu");
	}
	return false;
}

/* Returns the path in our copy for a path in or below a directory that we have made anew. */
static const char *ours_below(struct rec_cores *c, unsigned cores, const char *path)
{
	static const struct { const char *real, *ours; } of[] = {
		{ CPU_DIR, "cpu" }, { NODE_DIR, "node" }, { BUS_DIR, "bus" }
	};
	static char below[PATH_BYTES];

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		size_t n = strlen(of[i].real);

		if (strncmp(path, of[i].real, n) != 0 || (path[n] && path[n] != '/'))
			continue;
		if (!c->each && !is_list(path)) {
			cores_each_make(c->dir, cores);
			c->each = true;
		}
		snprintf(below, sizeof(below), "%s%s", of[i].ours, path + n);
		return below;
	}
	return NULL;
}

/* Ours for a path, below our directory; NULL: it stays. */
static const char *ours_for(struct recorder *rec, struct rec_task *t, const char *path)
{
	struct rec_cores *c = rec->cores_files;
	const struct rec_task *of;

	if (!strcmp(path, "/proc/cpuinfo"))
		return "cpuinfo";
	if (!strcmp(path, "/proc/stat")) {
		stat_make(c, rec->cores);
		return "stat";
	}
	if (!strcmp(path, "/proc/interrupts"))
		return table_make(c, path, "interrupts", cores_columns_text, rec->cores);
	if (!strcmp(path, "/proc/softirqs"))
		return table_make(c, path, "softirqs", cores_columns_text, rec->cores);
	if (!strncmp(path, "/proc/", 6)) {
		of = ends_with(path, "/status") ? status_of(rec, t, path) : NULL;
		if (of)
			status_make(rec, c, of, of->pid == t->pid);
		return of ? "status" : NULL;
	}
	if (!strncmp(path, "/sys/fs/cgroup/", 15))
		return ours_for_cgroup(rec, t, path);
	return ours_below(c, rec->cores, path);
}

/*
 * A working directory stays the real one, whose name the program may ask for, but for one that is
 * not there, or that is to be hidden.
 */
static bool stays(const struct rec_task *t, const char *path, const char *ours)
{
	char real[PATH_BYTES * 2];

	snprintf(real, sizeof(real), "/proc/%d/root%s", t->tid, path);
	return (access(real, F_OK) == 0) == (access(ours, F_OK) == 0);
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
	case SYS_chdir:
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
	if (tracee_read_user(t->tid, call->args[arg], path, sizeof(path) - 1) < 2 ||
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
	if (call->nr == SYS_chdir && stays(t, path, full))
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
	topology_show(rec->cores);
	CPU_ZERO(&rec->affinity);
	for (unsigned i = 0; i < rec->cores; i++)
		CPU_SET(i, &rec->affinity);
}
