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
#include <unistd.h>

#include "recorder/internal.h"

enum { CLASS_MAX = 65536 };

int rec_fd_open(struct rec_task *t, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool fd_stat(struct rec_task *t, int fd, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
	return stat(path, st) == 0;
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
	if (sscanf(path, "/proc/%d/task/%d/me%c", &pid, &pid, &end) != 3 && sscanf(path, "/proc/%d/me%c", &pid, &end) != 2)
		return 0;
	return pid;
}

bool rec_file_mapped(struct recorder *rec, const struct stat *st, bool own)
{
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		for (struct rec_shared *s = o->mm->shared; s; s = s->next) {
			if (s->dev == st->st_dev && s->ino == st->st_ino && (s->own || !own))
				return true;
		}
	}
	return false;
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

		if (rec->stdio_ino[k] && st.st_dev == rec->stdio_dev[k] && st.st_ino == rec->stdio_ino[k])
			return k == 1 ? FD_STDOUT : FD_STDERR;
	}
	return S_ISREG(st.st_mode) && rec_file_mapped(rec, &st, false) ? FD_MAPPED : FD_PLAIN;
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

		if (tracee_read_some(t->tid, addr + off, buf, n) != n)
			return 0;
		sum += mem_sum_bytes(off, buf, n);
	}
	return sum;
}

static void echo_memory(struct recorder *rec, struct rec_task *t, enum fd_class class, uint64_t addr, uint64_t len)
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
		if (tracee_read_some(t->tid, call->args[1] + 16 * i, iov, 16) < 16)
			return;
		if (iov[1] > left)
			iov[1] = left;
		if (iov[1])
			echo_memory(rec, t, class, iov[0], iov[1]);
		left -= iov[1];
	}
}

/* File position of a descriptor: the offset that the pointer names, else from fdinfo. */
static int64_t fd_position(struct rec_task *t, int fd, uint64_t pointer)
{
	char path[64], text[128];
	int64_t pos = -1;
	ssize_t n;
	int info;

	if (pointer)
		return tracee_read_some(t->tid, pointer, &pos, 8) == 8 ? pos : -1;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->tid, fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -1;
	n = read(info, text, sizeof(text) - 1);
	close(info);
	text[n < 0 ? 0 : n] = '\0';
	return sscanf(text, "pos:\t%" SCNd64, &pos) == 1 ? pos : -1;
}

/* Bytes that went from file to file inside the kernel: read them where they came from. */
static void echo_file(struct recorder *rec, struct rec_task *t, enum fd_class class, int from,
		      uint64_t offset_pointer, uint64_t len)
{
	int64_t end = fd_position(t, from, offset_pointer);
	int fd = rec_fd_open(t, from);
	void *bytes = rec_alloc(rec, len);
	struct trace_effect *e;
	ssize_t n = -1;

	if (fd >= 0 && end >= (int64_t)len)
		n = pread(fd, bytes, len, end - (int64_t)len);
	if (fd >= 0)
		close(fd);
	if (n <= 0) {
		if (rec_warn_once(rec, (uint64_t)SYS_splice << 32))
			log_warn("output that was spliced to stdout is not in the recording: replay will not echo it");
		return;
	}
	e = rec_effect(rec, TRACE_ECHO);
	e->object = class == FD_STDOUT ? 1 : 2;
	e->data = bytes;
	e->data_len = (size_t)n;
}

/* ---- shared mappings ------------------------------------------------------------------ */

void rec_shared_add(struct rec_mm *mm, const struct rec_shared *s)
{
	struct rec_shared *copy = malloc(sizeof(*copy));

	BUG_ON(!copy, "out of memory for a mapping");
	*copy = *s;
	copy->next = mm->shared;
	mm->shared = copy;
}

/* The range is unmapped or mapped anew: ranges that lie in it go, others shrink. */
void rec_shared_cut(struct rec_mm *mm, uint64_t addr, uint64_t len)
{
	uint64_t end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len;
	struct rec_shared **p = &mm->shared;

	rec_buffer_cut(&mm->buf, addr, end - addr);
	while (*p) {
		struct rec_shared *s = *p;
		uint64_t s_end = s->addr + s->len;

		if (s_end <= addr || s->addr >= end) {
			p = &s->next;
		} else if (s->addr >= addr && s_end <= end) {
			*p = s->next;
			free(s);
		} else if (s->addr < addr) {
			if (s_end > end)
				rec_shared_add(mm, &(struct rec_shared){ .addr = end, .len = s_end - end,
					.offset = s->offset + (end - s->addr), .dev = s->dev, .ino = s->ino,
					.anon = s->anon, .own = s->own, .object = s->object });
			s->len = addr - s->addr;
			p = &s->next;
		} else {
			s->offset += end - s->addr;
			s->addr = end;
			s->len = s_end - end;
			p = &s->next;
		}
	}
}

/* New content of an object that replay keeps: whoever maps it sees it. */
static void effect_object_bytes(struct recorder *rec, uint32_t object, int file, uint64_t off, uint64_t len)
{
	void *bytes = rec_alloc(rec, len);
	ssize_t n = file < 0 ? -1 : pread(file, bytes, len, (off_t)off);
	struct trace_effect *e;

	if (n <= 0)
		return;
	e = rec_effect(rec, TRACE_WRITE);
	e->object = object;
	e->addr = off;
	e->len = e->data_len = (size_t)n;
	e->data = bytes;
}

static void changed_in(struct recorder *rec, struct rec_task *o, const struct stat *st, int file, uint64_t off, uint64_t len)
{
	for (struct rec_shared *s = o->mm->shared; s; s = s->next) {
		uint64_t first = off > s->offset ? off : s->offset;
		uint64_t end = off + len < s->offset + s->len ? off + len : s->offset + s->len;

		if (s->dev != st->st_dev || s->ino != st->st_ino || first >= end)
			continue;
		if (s->object)
			effect_object_bytes(rec, s->object, file, first, end - first);
		else
			rec_effect_memory(rec, o, s->addr + (first - s->offset), end - first);
	}
}

static bool seen_mm(struct recorder *rec, const struct rec_task *upto, const struct rec_mm *mm)
{
	for (struct rec_task *o = rec->tasks; o != upto; o = o->next) {
		if (o->mm == mm)
			return true;
	}
	return false;
}

void rec_file_changed(struct recorder *rec, struct rec_task *t, int fd, uint64_t off, uint64_t len)
{
	struct stat st;
	int file;

	if (rec_fd_class(rec, t, fd) != FD_MAPPED || !fd_stat(t, fd, &st))
		return;
	file = rec_fd_open(t, fd);
	/* Other address spaces first: each gets an event of its own. */
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		struct rec_pending mine;

		if (o->mm == t->mm || o->exiting || !o->mm->shared || seen_mm(rec, o, o->mm))
			continue;
		if (rec->entered == t)
			rec_write_enter(rec);
		rec_pending_save(rec, &mine);
		changed_in(rec, o, &st, file, off, len);
		if (rec->effects)
			rec_write(rec, o, TRACE_NOTE, 0, NULL, 0);
		rec_pending_restore(rec, &mine);
	}
	changed_in(rec, t, &st, file, off, len);
	if (file >= 0)
		close(file);
}

/* Cutting a file takes even the private copies of its pages. */
static void effect_drop(struct recorder *rec, const struct rec_shared *s, uint64_t from)
{
	struct trace_effect *e = rec_effect(rec, TRACE_ADVISE);

	e->addr = s->addr + from;
	e->len = s->len - from;
	e->x = MADV_DONTNEED;
}

/* Behind the new end of a mapped file nothing is left. */
void rec_file_cut(struct recorder *rec, struct rec_task *t, int fd, uint64_t size)
{
	enum { CHUNK = 1 << 20, CUT_MAX = 64 };
	struct stat st;

	if (rec_fd_class(rec, t, fd) != FD_MAPPED || !fd_stat(t, fd, &st))
		return;
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		for (struct rec_shared *s = o->mm->shared; s; s = s->next) {
			uint64_t at = size > s->offset ? size : s->offset, end = s->offset + s->len;

			if (s->dev != st.st_dev || s->ino != st.st_ino)
				continue;
			if (!s->own && o->mm == t->mm && page_up(size) < end)
				effect_drop(rec, s, page_up(size) > s->offset ? page_up(size) - s->offset : 0);
			if (!s->object)
				continue;
			for (unsigned i = 0; at < end && i < CUT_MAX; i++) {
				struct trace_effect *e = rec_effect(rec, TRACE_WRITE);

				e->object = s->object;
				e->addr = at;
				e->len = e->data_len = end - at < CHUNK ? end - at : CHUNK;
				e->data = memset(rec_alloc(rec, e->data_len), 0, e->data_len);
				at += e->data_len;
			}
		}
	}
}

/* A write to /proc/PID/mem. */
static void memory_poked(struct recorder *rec, struct rec_task *t, int fd, uint64_t addr, uint64_t len)
{
	struct rec_task *target = rec_task_find(rec, is_mem_file(t, fd));
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

void rec_fd_written(struct recorder *rec, struct rec_task *t, struct rec_call *call, int64_t ret)
{
	uint64_t len = (uint64_t)ret, in_offset = 0, out_offset = 0;
	int out = (int)call->args[0], in = -1;
	enum fd_class class;
	int64_t end;

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
	if (call->nr == SYS_pwrite64 || call->nr == SYS_pwritev || call->nr == SYS_pwritev2)
		end = (int64_t)(call->args[3] + len);
	else
		end = -2;
	class = rec_fd_class(rec, t, out);
	if (class == FD_PLAIN)
		return;
	if (class == FD_MAPPED || class == FD_MEM) {
		if (end == -2)
			end = fd_position(t, out, out_offset);
		if (class == FD_MEM)
			memory_poked(rec, t, out, (uint64_t)end - len, len);
		else if (end >= (int64_t)len)
			rec_file_changed(rec, t, out, (uint64_t)end - len, len);
	} else if (in >= 0) {
		echo_file(rec, t, class, in, in_offset, len);
	} else if (call->nr == SYS_writev || call->nr == SYS_pwritev || call->nr == SYS_pwritev2) {
		echo_iov(rec, t, class, call, len);
	} else {
		echo_memory(rec, t, class, call->args[1], len);
	}
}
