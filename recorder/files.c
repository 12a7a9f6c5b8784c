/*
 * files.c - what a task's file descriptors lead to, as far as the trace needs it: is it our
 * stdout or stderr (replay echoes those), and is the file mapped shared by somebody (then
 * a write changes memory).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/slow.h"
#include "recorder/internal.h"

enum { CLASS_MAX = 65536, PROC_BLOCK = 1024 };

int rec_fd_open(struct rec_task *t, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
	return slow_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool fd_stat(struct rec_task *t, int fd, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
	return slow_stat(path, st) == 0;
}

void rec_fd_forget(struct rec_files *files, uint64_t first, uint64_t last)
{
	if (first >= files->n)
		return;
	if (last >= files->n)
		last = files->n - 1;
	if (last >= first)
		memset(files->class + first, FD_UNKNOWN, last - first + 1);
}

/* The number of the process whose memory it is, or 0. */
static pid_t is_mem_file(struct rec_task *t, int fd)
{
	char link[64], path[64], end;
	ssize_t n;
	int pid;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", t->tid, fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	if (sscanf(path, "/proc/%d/task/%d/me%c", &pid, &pid, &end) != 3 &&
	    sscanf(path, "/proc/%d/me%c", &pid, &end) != 2)
		return 0;
	return pid;
}

static enum fd_class classify(struct recorder *rec, struct rec_task *t, int fd)
{
	struct stat st;

	if (!fd_stat(t, fd, &st))
		return FD_PLAIN;
	if (S_ISREG(st.st_mode) && is_mem_file(t, fd))
		return FD_MEM;
	for (int i = 1; i <= 2; i++) {
		/* where both are one file, the descriptor's number decides */
		int k = fd == 2 ? 3 - i : i;

		if (rec->stdio_ino[k] && st.st_dev == rec->stdio_dev[k] &&
		    st.st_ino == rec->stdio_ino[k])
			return k == 1 ? FD_STDOUT : FD_STDERR;
	}
	if (S_ISREG(st.st_mode) && !st.st_size && st.st_blksize == PROC_BLOCK && !major(st.st_dev))
		return rec_status_is(rec, t, fd) ? FD_STATUS : FD_PROC;
	return S_ISREG(st.st_mode) && rec_file_find(&st) ? FD_MAPPED : FD_PLAIN;
}

void rec_fd_reclassify(struct recorder *rec)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		for (unsigned i = 0; t->files && i < t->files->n; i++) {
			if (t->files->class[i] == FD_PLAIN)
				t->files->class[i] = FD_UNKNOWN;
		}
	}
}

enum fd_class rec_fd_class(struct recorder *rec, struct rec_task *t, int fd)
{
	struct rec_files *files = t->files;

	if (fd < 0 || fd >= CLASS_MAX)
		return FD_PLAIN;
	if ((unsigned)fd >= files->n) {
		unsigned n = ((unsigned)fd + 64) & ~63u;
		uint8_t *more = realloc(files->class, n);

		if (!more)
			return FD_PLAIN;
		memset(more + files->n, FD_UNKNOWN, n - files->n);
		files->class = more;
		files->n = n;
	}
	if (files->class[fd] == FD_UNKNOWN)
		files->class[fd] = (uint8_t)classify(rec, t, fd);
	return files->class[fd];
}

/* ---- echo --------------------------------------------------------------------------- */

/* 0: not to be read */
static uint64_t bytes_sum(struct rec_task *t, uint64_t addr, uint64_t len)
{
	unsigned char buf[65536];
	uint64_t sum = 0;

	for (uint64_t off = 0; off < len; off += sizeof(buf)) {
		size_t n = len - off < sizeof(buf) ? len - off : sizeof(buf);

		if (tracee_read_user(t->tid, addr + off, buf, n) != n)
			return 0;
		sum += mem_sum_bytes(off, buf, n);
	}
	return sum;
}

static void echo_memory(struct recorder *rec, struct rec_task *t, enum fd_class class,
			uint64_t addr, uint64_t len)
{
	struct trace_effect *e = rec_effect(rec, TRACE_ECHO);

	e->object = class == FD_STDOUT ? 1 : 2;
	e->addr = addr;
	e->len = len;
	e->x = bytes_sum(t, addr, len);
}

static void echo_iov(struct recorder *rec, struct rec_task *t, enum fd_class class,
		     const struct rec_call *call, uint64_t left)
{
	uint64_t iov[2];

	for (uint64_t i = 0; left && i < call->args[2] && i < 1024; i++) {
		if (tracee_read_user(t->tid, call->args[1] + 16 * i, iov, 16) < 16)
			return;
		if (iov[1] > left)
			iov[1] = left;
		if (iov[1])
			echo_memory(rec, t, class, iov[0], iov[1]);
		left -= iov[1];
	}
}

/* File position and O_* flags of a descriptor. */
static bool fd_info(struct rec_task *t, int fd, int64_t *pos, unsigned *flags)
{
	char path[64], text[128];
	ssize_t n;
	int info;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->tid, fd);
	info = slow_open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return false;
	n = read(info, text, sizeof(text) - 1);
	slow_close(info);
	text[n < 0 ? 0 : n] = '\0';
	return sscanf(text, "pos:\t%" SCNd64 "\nflags:\t%o", pos, flags) == 2;
}

/* The offset that the pointer names, else the descriptor's own. */
int64_t rec_fd_position(struct rec_task *t, int fd, uint64_t pointer)
{
	unsigned flags;
	int64_t pos;

	if (pointer)
		return tracee_read_user(t->tid, pointer, &pos, 8) == 8 ? pos : -1;
	return fd_info(t, fd, &pos, &flags) ? pos : -1;
}

/* Bytes that went from file to file inside the kernel: read them where they came from. */
static void echo_file(struct recorder *rec, struct rec_task *t, enum fd_class class, int from,
		      uint64_t offset_pointer, uint64_t len)
{
	int64_t end = rec_fd_position(t, from, offset_pointer);
	int fd = rec_fd_open(t, from);
	void *bytes = rec_alloc(rec, len);
	struct trace_effect *e;
	ssize_t n = -1;

	if (fd >= 0 && end >= (int64_t)len)
		n = slow_pread(fd, bytes, len, end - (int64_t)len);
	if (fd >= 0)
		slow_close(fd);
	if (n <= 0) {
		if (rec_warn_once(rec, (uint64_t)SYS_splice << 32))
			log_warn(
				"output that was spliced to stdout is not in the recording: replay "
				"will not echo it");
		return;
	}
	e = rec_effect(rec, TRACE_ECHO);
	e->object = class == FD_STDOUT ? 1 : 2;
	e->data = bytes;
	e->data_len = (size_t)n;
}

/* ---- what a call wrote ------------------------------------------------------------------ */

/* A write to /proc/PID/mem. */
static void memory_poked(struct recorder *rec, struct rec_task *t, int fd, uint64_t addr,
			 uint64_t len)
{
	struct rec_task *target = rec_task_seen(rec, t, is_mem_file(t, fd));
	struct rec_pending mine;

	if (!target || target->mm == t->mm) {
		rec_effect_memory(rec, t, addr, len);
		return;
	}
	if (rec->entered == t)
		rec_write_enter(rec);
	rec_pending_save(rec, &mine);
	rec_effect_memory(rec, target, addr, len);
	rec_write(rec, target, TRACE_NOTE, 0, NULL, 0);
	rec_pending_restore(rec, &mine);
}

/* Where in the file the written bytes end; st: as it is now. */
static int64_t written_end(struct rec_task *t, const struct rec_call *call, int out,
			   uint64_t pointer, const struct stat *st, uint64_t len)
{
	enum { APPEND = 0x10, NOAPPEND = 0x20 };	/* RWF_*, Linux 4.16 and 6.9 */
	bool at = call->nr == SYS_pwrite64 || call->nr == SYS_pwritev || call->nr == SYS_pwritev2;
	unsigned rwf = call->nr == SYS_pwritev2 ? (unsigned)call->args[5] : 0, flags = 0;
	int64_t pos;

	if (pointer || !fd_info(t, out, &pos, &flags))
		return rec_fd_position(t, out, pointer);
	/* whatever offset was given */
	if ((rwf & APPEND) || ((flags & O_APPEND) && !(rwf & NOAPPEND)))
		return st->st_size;
	return at && (call->nr != SYS_pwritev2 || call->args[3] != UINT64_MAX)
		       ? (int64_t)(call->args[3] + len)
		       : pos;
}

/* Bytes went into a file that somebody may have mapped. */
static void file_written(struct recorder *rec, struct rec_task *t, const struct rec_call *call,
			 int out, uint64_t pointer, uint64_t len)
{
	struct stat st;
	int64_t end;
	int fd;

	if (!fd_stat(t, out, &st) || !S_ISREG(st.st_mode) || !rec_file_find(&st))
		return;
	end = written_end(t, call, out, pointer, &st, len);
	fd = rec_fd_open(t, out);
	if (end >= (int64_t)len)
		rec_file_changed(rec, &st, fd, (uint64_t)end - len, len);
	if (fd >= 0)
		slow_close(fd);
}

/* Our stdout or stderr may be a file, and that may be mapped. */
static bool stdio_mapped(const struct recorder *rec, enum fd_class class)
{
	unsigned i = class == FD_STDOUT ? 1 : 2;
	uint32_t bit = buf_file_bit(rec->stdio_dev[i], rec->stdio_ino[i]);

	return rec->mapped[bit / 8] >> bit % 8 & 1;
}

void rec_fd_cut(struct recorder *rec, struct rec_task *t, int fd)
{
	struct stat st;
	int file;

	if (rec_fd_class(rec, t, fd) == FD_PLAIN || !fd_stat(t, fd, &st) || !S_ISREG(st.st_mode) ||
	    !rec_file_find(&st))
		return;
	file = rec_fd_open(t, fd);
	rec_file_resized(rec, &st, file);
	if (file >= 0)
		slow_close(file);
}

/* Names are resolved as t would, as far as that is possible from outside. */
void rec_path_cut(struct recorder *rec, struct rec_task *t, uint64_t path)
{
	char name[4096], real[4200];
	struct stat st;
	int file;

	rec_files_resized(rec);
	tracee_read_string(t->tid, path, name, sizeof(name));
	if (!strncmp(name, "/proc/self/", 11))
		snprintf(real, sizeof(real), "/proc/%d/%s", t->tid, name + 11);
	else
		snprintf(real, sizeof(real), "/proc/%d/%s%s", t->tid,
			 name[0] == '/' ? "root" : "cwd/", name);
	if (slow_stat(real, &st) < 0 || !rec_file_find(&st))
		return;
	file = slow_open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	rec_file_resized(rec, &st, file);
	if (file >= 0)
		slow_close(file);
}

void rec_fd_allocated(struct recorder *rec, struct rec_task *t, int fd, uint64_t mode, uint64_t off,
		      uint64_t len)
{
	enum { PUNCH = 2, COLLAPSE = 8, ZERO = 16, INSERT = 32 };
	struct stat st;
	int file;

	if (rec_fd_class(rec, t, fd) == FD_PLAIN || !fd_stat(t, fd, &st) || !S_ISREG(st.st_mode) ||
	    !rec_file_find(&st))
		return;
	file = rec_fd_open(t, fd);
	if (mode & (COLLAPSE | INSERT))
		rec_file_shifted(rec, &st, file, off);
	else if (mode & (PUNCH | ZERO))
		rec_file_zeroed(rec, &st, file, off, len);
	else
		rec_file_resized(rec, &st, file);
	if (file >= 0)
		slow_close(file);
}

void rec_fd_cloned(struct recorder *rec, struct rec_task *t, int fd)
{
	struct stat st;
	int file;

	if (rec_fd_class(rec, t, fd) == FD_PLAIN || !fd_stat(t, fd, &st) || !S_ISREG(st.st_mode) ||
	    !rec_file_find(&st))
		return;
	file = rec_fd_open(t, fd);
	rec_file_shifted(rec, &st, file, 0);
	if (file >= 0)
		slow_close(file);
}

void rec_fd_written(struct recorder *rec, struct rec_task *t, struct rec_call *call, int64_t ret)
{
	uint64_t len = (uint64_t)ret, in_offset = 0, out_offset = 0;
	int out = (int)call->args[0], in = -1;
	enum fd_class class;

	switch (call->nr) {
	case SYS_sendfile:
		in = (int)call->args[1];
		in_offset = call->args[2];
		break;
	case SYS_copy_file_range:
	case SYS_splice:
		out = (int)call->args[2];
		out_offset = call->args[3];
		in = (int)call->args[0];
		in_offset = call->args[1];
		break;
	default:
		break;
	}
	class = rec_fd_class(rec, t, out);
	if (class == FD_PLAIN || class == FD_PROC || class == FD_STATUS)
		return;
	if (class == FD_MEM) {
		bool at = call->nr == SYS_pwrite64 || call->nr == SYS_pwritev ||
			  (call->nr == SYS_pwritev2 && call->args[3] != UINT64_MAX);
		int64_t end =
			at ? (int64_t)(call->args[3] + len) : rec_fd_position(t, out, out_offset);

		memory_poked(rec, t, out, (uint64_t)end - len, len);
		return;
	}
	if (class == FD_MAPPED || stdio_mapped(rec, class))
		file_written(rec, t, call, out, out_offset, len);
	if (class == FD_MAPPED)
		return;
	if (in >= 0)
		echo_file(rec, t, class, in, in_offset, len);
	else if (call->nr == SYS_writev || call->nr == SYS_pwritev || call->nr == SYS_pwritev2)
		echo_iov(rec, t, class, call, len);
	else
		echo_memory(rec, t, class, call->args[1], len);
}
