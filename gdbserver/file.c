/*
 * file.c - vFile: the recorded program's files, read-only, from the trace.
 *
 * Only content that was mapped is there, by the path the program saw, what /proc says of a process,
 * and debug files that were packed with the trace; nothing of the live file system.
 *
 * gdb keeps a descriptor for each library whose symbols it has read from here, so a program with
 * many libraries needs many: as many as the system gives this process, but for FILES_OWN that the
 * replay needs itself.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gdbserver/internal.h"

enum { FILES_OWN = 256, FILES_FEW = 64 };

static void failed(struct server *s, int os_errno)
{
	reply_text(&s->out, "F-1,%x", os_errno);
}

static bool same_name(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

	return !strcmp(x ? x : a, y ? y : b);
}

/*
 * Makes a file that is in no trace but that everybody knows: /proc/PID/NAME of a process.  *out is
 * this one file's content.
 */
static bool proc_file(struct server *s, const char *path, struct reply *out)
{
	struct replay_task t;
	const struct trace_meta *meta = replay_meta(s->r);
	char name[32] = "", exe[4096];
	int pid = 0, tid = 0;

	if (sscanf(path, "/proc/%d/task/%d/%31s", &pid, &tid, name) != 3) {
		if (sscanf(path, "/proc/%d/%31s", &pid, name) != 2)
			return false;
		tid = pid;
	}
	if (!target_task(s, tid, &t) || t.pid != pid)
		return false;
	replay_exe(s->r, tid, exe, sizeof(exe));
	if (!strcmp(name, "comm")) {
		reply_text(out, "%s\n", t.name);
	} else if (!strcmp(name, "stat")) {
		reply_text(out, "%d (%s) t 0 %d %d 0 -1 0", tid, t.name, pid, pid);
		for (int i = 9; i < 52; i++)
			reply_text(out, " 0");
		reply_text(out, "\n");
	} else if (!strcmp(name, "status")) {
		reply_text(out, "Name:\t%s\nState:\tt (tracing stop)\nTgid:\t%d\nPid:\t%d\n",
			   t.name, pid, tid);
	} else if (!strcmp(name, "cmdline") && same_name(exe, meta->exe)) {
		for (char **arg = meta->argv; *arg; arg++)
			reply_bytes(out, *arg, strlen(*arg) + 1);
	} else if (!strcmp(name, "cmdline")) {
		reply_bytes(out, exe, strlen(exe) + 1);
	} else {
		return false;
	}
	return true;
}

static int proc_open(struct server *s, const char *path)
{
	struct reply out = { 0 };
	int fd = proc_file(s, path, &out) ? memfd_create("proc", MFD_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, out.bytes, out.len) != (ssize_t)out.len) {
		close(fd);
		fd = -1;
	}
	free(out.bytes);
	return fd;
}

/*
 * gdb looks for the file that .gnu_debuglink or .gnu_debugaltlink names where the program was, so
 * on the target.  A link of an untrusted trace must not lead out of it.
 */
static int debug_open(const struct server *s, const char *path)
{
	static const char below[] = "/sources.d/debug";
	char *whole, *real, *trace = NULL;
	struct stat st;
	int fd = -1;

	if (!s->debug_dir || asprintf(&whole, "%s/%s", s->debug_dir, path) < 0)
		return -1;
	real = realpath(whole, NULL);
	free(whole);
	if (real)
		trace = realpath(s->debug_dir, NULL);
	if (trace && strlen(trace) > strlen(below))
		trace[strlen(trace) - strlen(below)] = '\0';
	if (trace && !strncmp(real, trace, strlen(trace)) && real[strlen(trace)] == '/' &&
	    !stat(real, &st) && S_ISREG(st.st_mode))
		fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	free(real);
	free(trace);
	return fd;
}

static void file_readlink(struct server *s, const char *p)
{
	char path[4096], name[16] = "", target[4096] = "";
	size_t len;
	int pid;

	if (!parse_hex_bytes(&p, path, sizeof(path), &len) || *p) {
		failed(s, EINVAL);
		return;
	}
	if (sscanf(path, "/proc/%d/%15s", &pid, name) == 2 && !strcmp(name, "exe"))
		replay_exe(s->r, pid, target, sizeof(target));
	else if (!strcmp(name, "cwd"))
		snprintf(target, sizeof(target), "%s", replay_meta(s->r)->cwd);
	if (!target[0]) {
		failed(s, EINVAL);
		return;
	}
	reply_text(&s->out, "F%zx;", strlen(target));
	reply_bytes(&s->out, target, strlen(target));
}

/* Raises our soft limit of descriptors to the hard one. */
static unsigned descriptors_limit(void)
{
	struct rlimit limit = { 1024, 1024 }, raised;

	getrlimit(RLIMIT_NOFILE, &limit);
	raised = (struct rlimit){ limit.rlim_max, limit.rlim_max };
	if (limit.rlim_cur < limit.rlim_max && !setrlimit(RLIMIT_NOFILE, &raised))
		limit = raised;
	if (limit.rlim_cur > INT32_MAX)
		limit.rlim_cur = INT32_MAX;
	return limit.rlim_cur > FILES_OWN + FILES_FEW ? (unsigned)limit.rlim_cur - FILES_OWN
						      : FILES_FEW;
}

/* A free number for gdb; -1: there are too many. */
static int free_number(struct server *s)
{
	unsigned i = 0, n;
	int *grown;

	while (i < s->files_n && s->files[i] >= 0)
		i++;
	if (i < s->files_n)
		return (int)i;
	if (!s->files_limit)
		s->files_limit = descriptors_limit();
	n = s->files_n ? 2 * s->files_n : FILES_FEW;
	if (n > s->files_limit)
		n = s->files_limit;
	grown = n > s->files_n ? reallocarray(s->files, n, sizeof(*grown)) : NULL;
	if (!grown)
		return -1;
	memset(grown + s->files_n, -1, (n - s->files_n) * sizeof(*grown));
	s->files = grown;
	s->files_n = n;
	return (int)i;
}

static void file_open(struct server *s, const char *p)
{
	char path[4096];
	struct err *err;
	size_t len;
	uint64_t flags;
	int fd, number;

	if (!parse_hex_bytes(&p, path, sizeof(path), &len) || !parse_char(&p, ',') ||
	    !parse_hex(&p, &flags)) {
		failed(s, EINVAL);
		return;
	}
	if (flags & 3) {
		failed(s, EROFS);
		return;
	}
	number = free_number(s);
	if (number < 0) {
		failed(s, EMFILE);
		return;
	}
	err = replay_file(s->r, path, &fd);
	if (err) {
		err_free(err);
		fd = proc_open(s, path);
		if (fd < 0)
			fd = debug_open(s, path);
	}
	if (fd < 0) {
		failed(s, ENOENT);
		return;
	}
	s->files[number] = fd;
	reply_text(&s->out, "F%x", (unsigned)number);
}

static bool parse_file(struct server *s, const char **p, uint64_t *n)
{
	return parse_hex(p, n) && *n < s->files_n && s->files[*n] >= 0;
}

static void file_pread(struct server *s, const char *p)
{
	static char buf[PACKET_MAX / 2];
	uint64_t n, count, offset;
	ssize_t got;

	if (!parse_file(s, &p, &n) || !parse_char(&p, ',') || !parse_hex(&p, &count) ||
	    !parse_char(&p, ',') || !parse_hex(&p, &offset)) {
		failed(s, EBADF);
		return;
	}
	got = pread(s->files[n], buf, count < sizeof(buf) ? count : sizeof(buf), (off_t)offset);
	if (got < 0) {
		failed(s, EINVAL);
		return;
	}
	reply_text(&s->out, "F%zx;", (size_t)got);
	reply_bytes(&s->out, buf, (size_t)got);
}

/*
 * gdb's own struct fst_stat, big-endian (gdb doc, "Protocol-specific Representation of Datatypes")
 */
struct __attribute__((packed)) gdb_stat {
	uint32_t dev, ino, mode, nlink, uid, gid, rdev;
	uint64_t size, blksize, blocks;
	uint32_t atime, mtime, ctime;
};

static void file_fstat(struct server *s, const char *p)
{
	struct gdb_stat g = { 0 };
	struct stat st;
	uint64_t n;

	if (!parse_file(s, &p, &n) || fstat(s->files[n], &st) < 0) {
		failed(s, EBADF);
		return;
	}
	g.mode = htobe32(0100555);
	g.nlink = htobe32(1);
	g.size = htobe64((uint64_t)st.st_size);
	g.blksize = htobe64(4096);
	g.blocks = htobe64(((uint64_t)st.st_size + 511) / 512);
	reply_text(&s->out, "F%zx;", sizeof(g));
	reply_bytes(&s->out, &g, sizeof(g));
}

static void file_close(struct server *s, const char *p)
{
	uint64_t n;

	if (!parse_file(s, &p, &n)) {
		failed(s, EBADF);
		return;
	}
	close(s->files[n]);
	s->files[n] = -1;
	reply_text(&s->out, "F0");
}

void file_command(struct server *s, const char *args)
{
	static const struct {
		const char *name;
		void (*run)(struct server *s, const char *p);
	} commands[] = {
		{ "open:", file_open },	  { "pread:", file_pread },	  { "fstat:", file_fstat },
		{ "close:", file_close }, { "readlink:", file_readlink },
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		size_t n = strlen(commands[i].name);

		if (!strncmp(args, commands[i].name, n)) {
			commands[i].run(s, args + n);
			return;
		}
	}
	if (!strncmp(args, "setfs:", 6))
		reply_text(&s->out, "F0");
	else if (!strncmp(args, "pwrite:", 7) || !strncmp(args, "unlink:", 7))
		failed(s, EROFS);
}

void file_close_all(struct server *s)
{
	for (unsigned i = 0; i < s->files_n; i++) {
		if (s->files[i] >= 0)
			close(s->files[i]);
	}
	free(s->files);
	s->files = NULL;
	s->files_n = 0;
}
