/*
 * mapped.c - files and shared memory that recorded processes have mapped, and what becomes of them.
 *
 * Memory that comes from a file changes when the file does: by a write to a descriptor, by a cut,
 * by growing. Replay has no files; what it maps is an object of the trace.  An object of kind
 * SHARED is a memfd there, and follows the file in all respects: size, content, holes.  So shared
 * and private mappings of it, their untouched pages, and SIGBUS behind its end are as in the
 * recording by themselves, whoever changes the file.
 *
 * Most mapped files never change (libraries).  Those are objects of kind FILE, which replay maps
 * from the trace without a copy; the first change makes a shared one of them (effect LIVE), before
 * what changes it is told.
 *
 * A struct rec_file stands for a file as long as somebody has it mapped: until then its inode
 * number cannot be another file's.  kept.c has what becomes of the object behind that.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/slow.h"
#include "recorder/internal.h"

enum { CHUNK = 1 << 20, SMALL = 256 << 10, LARGE = 64 << 20 };

static struct rec_file *files;	/* all that are mapped */

struct rec_file *rec_file_find(const struct stat *st)
{
	struct rec_file *found = NULL;

	for (struct rec_file *f = files; f; f = f->next) {
		if (f->dev == st->st_dev && f->ino == st->st_ino && (!found || f->live))
			found = f;
	}
	return found;
}

/*
 * The file's size must not be asked for at just any time: the task that is handled then may be the
 * one that serves the file.
 */
static bool is_served(int fd)
{
	enum { FUSE = 0x65735546 };	/* FUSE_SUPER_MAGIC of linux/magic.h */
	struct statfs fs;

	return slow_run && slow_call(SYS_fstatfs, fd, (long)&fs, 0, 0, 0, 0) == 0 &&
	       fs.f_type == FUSE;
}

struct rec_file *rec_file_add(const struct stat *st, uint32_t object, bool live, int keep)
{
	struct rec_file *f;

	for (f = files; f; f = f->next) {
		if (f->object == object)
			return f;
	}
	f = alloc_zeroed(1, sizeof(*f), "a mapped file");
	*f = (struct rec_file){ .next = files,
				.dev = st->st_dev,
				.ino = st->st_ino,
				.size = (uint64_t)st->st_size,
				.object = object,
				.live = live,
				.fd = -1 };
	if (keep >= 0)
		f->fd = fcntl(keep, F_DUPFD_CLOEXEC, 3);
	f->served = keep >= 0 && is_served(keep);
	files = f;
	return f;
}

void rec_file_unused(struct rec_file *f)
{
	struct rec_file **p = &files;

	if (!f || f->users)
		return;
	if (slow_left) {	/* in the middle of this list, maybe */
		f->dev = f->ino = UINT64_MAX;
		f->live = false;
		return;
	}
	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
	rec_outside_unmapped(f->dev, f->ino);
	if (f->fd >= 0)
		slow_close(f->fd);
	free(f);
}

static void unref(struct rec_file *f)
{
	if (!f)
		return;
	if (!--f->users)
		rec_kept_put(f);
	rec_file_unused(f);
}

void rec_file_live(struct recorder *rec, struct rec_file *f)
{
	if (f->live)
		return;
	f->live = true;
	rec_effect(rec, TRACE_LIVE)->object = f->object;
	rec_effect(rec, TRACE_SIZE)->object = f->object;
	rec->effect[rec->effects - 1].len = f->size;
}

/* ---- what calls do to files --------------------------------------------------------------- */

static void effect_bytes(struct recorder *rec, const struct rec_file *f, uint64_t off,
			 const void *bytes, size_t len)
{
	struct trace_effect *e = rec_effect(rec, TRACE_WRITE);

	e->object = f->object;
	e->addr = off;
	e->len = e->data_len = len;
	e->data = bytes;
}

/* Where nobody lets us open it for reading: those who have it mapped can read it. */
static size_t read_mapped(struct recorder *rec, const struct rec_file *f, uint64_t off, void *buf,
			  size_t len)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		for (struct rec_shared *s = t->exiting ? NULL : t->mm->shared; s; s = s->next) {
			if (s->file == f && off >= s->offset && off < s->offset + s->len)
				return tracee_read_some(t->tid, s->addr + (off - s->offset), buf,
							len < s->offset + s->len - off
								? len
								: s->offset + s->len - off);
		}
	}
	return 0;
}

/* The file's data in [off, end), as it is now. */
static void effect_content(struct recorder *rec, const struct rec_file *f, int fd, uint64_t off,
			   uint64_t end)
{
	if (fd < 0)
		fd = f->fd;
	while (off < end) {
		off_t data = fd < 0 || end - off <= SMALL ? (off_t)off
							  : slow_lseek(fd, (off_t)off, SEEK_DATA);
		size_t want, got;
		ssize_t n;
		void *buf;

		if (data < 0 || (uint64_t)data >= end)
			break;		/* only a hole is left */
		off = (uint64_t)data;
		want = end - off < CHUNK ? (size_t)(end - off) : CHUNK;
		buf = rec_alloc(rec, want);
		n = fd < 0 ? -1 : slow_pread(fd, buf, want, (off_t)off);
		got = n > 0 ? (size_t)n : n < 0 ? read_mapped(rec, f, off, buf, want) : 0;
		if (!got)
			break;
		effect_bytes(rec, f, off, buf, got);
		off += got;
	}
}

/* By a shared mapping of its last page.  How many bytes; 0: there is none. */
static size_t tail_mapped(struct recorder *rec, const struct rec_file *f, void *buf, size_t len)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		for (struct rec_shared *s = t->exiting ? NULL : t->mm->shared; s; s = s->next) {
			if (s->file == f && s->own && f->size >= s->offset &&
			    f->size + len <= s->offset + s->len)
				return tracee_read_some(t->tid, s->addr + (f->size - s->offset),
							buf, len);
		}
	}
	return 0;
}

/* Makes an effect of what mappings find behind the end of the file. */
static void effect_tail(struct recorder *rec, const struct rec_file *f)
{
	size_t len = PAGE_BYTES - f->size % PAGE_BYTES;
	void *buf = rec_alloc(rec, len);

	if (len < PAGE_BYTES && tail_mapped(rec, f, buf, len) == len)
		effect_bytes(rec, f, f->size, buf, len);
}

/*
 * Bytes between the old end and the end of its page, which a mapping could write to: what they are
 * now the kernel decides, and not all file systems decide alike.
 */
static void size_now(struct recorder *rec, struct rec_file *f, int fd, uint64_t size)
{
	uint64_t old = f->size, end = page_up(old) < size ? page_up(old) : size;
	struct trace_effect *e;

	if (size == old)
		return;
	e = rec_effect(rec, TRACE_SIZE);
	e->object = f->object;
	e->len = size;
	f->size = size;
	if (old < end)
		effect_content(rec, f, fd, old, end);
	effect_tail(rec, f);
}

/*
 * The bytes behind the end of the file, in its last page: a mapping that is gone may have stored
 * there.  Reading the file does not show it; the next mapping does.
 */
struct tail {
	int fd;
	uint64_t at;
	bool there;
	char page[PAGE_BYTES];
};

static void tail_read(void *ctx)
{
	struct tail *tail = ctx;
	char *p = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, tail->fd, (off_t)tail->at);

	if (p == MAP_FAILED)
		return;
	memcpy(tail->page, p, PAGE_BYTES);
	tail->there = true;
	munmap(p, PAGE_BYTES);
}

void rec_file_tail(struct recorder *rec, const struct rec_file *f, int fd, bool fresh)
{
	static const char zero[PAGE_BYTES];
	uint64_t in = f->size % PAGE_BYTES;
	size_t len = (size_t)(PAGE_BYTES - in);
	struct tail tail = { .fd = fd, .at = f->size - in };

	if (!in)
		return;
	slow_do(tail_read, &tail);
	if (tail.there && (!fresh || memcmp(tail.page + in, zero, len))) {
		char *bytes = rec_alloc(rec, len);

		memcpy(bytes, tail.page + in, len);
		effect_bytes(rec, f, f->size, bytes, len);
	}
}

void rec_files_tails(struct recorder *rec, bool gone)
{
	static const char zero[PAGE_BYTES];

	for (struct rec_file *f = files; f; f = f->next) {
		size_t len = PAGE_BYTES - f->size % PAGE_BYTES;
		bool had = f->tail;
		char buf[PAGE_BYTES];

		f->tail = false;
		if (!f->live || f->served || len == PAGE_BYTES)
			continue;
		if (gone && had)
			effect_tail(rec, f);
		else if (!gone && tail_mapped(rec, f, buf, len) == len)
			f->tail = memcmp(buf, zero, len) != 0;
	}
}

/* The next object of the file, live by now. */
static struct rec_file *next_of(struct recorder *rec, struct rec_file *f, const struct stat *st)
{
	while (f && (f->dev != st->st_dev || f->ino != st->st_ino))
		f = f->next;
	if (f) {
		rec->file_written = true;
		rec_file_live(rec, f);
	}
	return f;
}

void rec_file_resized(struct recorder *rec, const struct stat *st, int fd)
{
	for (struct rec_file *f = files; f; f = f->next) {
		if (f->dev != st->st_dev || f->ino != st->st_ino ||
		    f->size == (uint64_t)st->st_size)
			continue;
		rec->file_written = true;
		rec_file_live(rec, f);
		size_now(rec, f, fd, (uint64_t)st->st_size);
	}
}

void rec_files_resized(struct recorder *rec)
{
	for (struct rec_file *f = files; f; f = f->next) {
		struct stat st;

		if (f->live && f->fd >= 0 && !f->served && slow_fstat(f->fd, &st) == 0)
			size_now(rec, f, f->fd, (uint64_t)st.st_size);
	}
}

void rec_file_changed(struct recorder *rec, const struct stat *st, int fd, uint64_t off,
		      uint64_t len)
{
	uint64_t size = (uint64_t)st->st_size, end = len < size - off ? off + len : size;

	for (struct rec_file *f = files; (f = next_of(rec, f, st)); f = f->next) {
		size_now(rec, f, fd, size);
		if (off < size)
			effect_content(rec, f, fd, off, end);
	}
}

void rec_file_zeroed(struct recorder *rec, const struct stat *st, int fd, uint64_t off,
		     uint64_t len)
{
	uint64_t size = (uint64_t)st->st_size,
		 end = off < size && len < size - off ? off + len : size;

	for (struct rec_file *f = files; (f = next_of(rec, f, st)); f = f->next) {
		struct trace_effect *e;

		size_now(rec, f, fd, size);
		if (off >= size)
			continue;
		e = rec_effect(rec, TRACE_ZERO);
		e->object = f->object;
		e->addr = off;
		e->len = end - off;
	}
}

void rec_file_shifted(struct recorder *rec, const struct stat *st, int fd, uint64_t off)
{
	for (struct rec_file *f = files; (f = next_of(rec, f, st)); f = f->next) {
		uint64_t size = (uint64_t)st->st_size;

		size_now(rec, f, fd, off);	/* which takes private copies, as the kernel does */
		size_now(rec, f, fd, size);
		if (off < size)
			effect_content(rec, f, fd, off, size);
	}
}

/* ---- mappings -------------------------------------------------------------------------------- */

void rec_shared_add(struct rec_mm *mm, const struct rec_shared *s)
{
	struct rec_shared *copy = alloc_zeroed(1, sizeof(*copy), "a mapping");

	*copy = *s;
	copy->next = mm->shared;
	mm->shared = copy;
	if (copy->file)
		copy->file->users++;
}

/* A part of s, len bytes from off on. */
static struct rec_shared part_of(const struct rec_shared *s, uint64_t off, uint64_t len)
{
	struct rec_shared part = *s;

	part.addr += off;
	part.offset += off;
	part.len = len;
	return part;
}

/* The range is unmapped or mapped anew: ranges that lie in it go, others shrink. */
static void cut(struct rec_mm *mm, uint64_t addr, uint64_t end)
{
	struct rec_shared **p = &mm->shared, *s;

	while ((s = *p)) {
		uint64_t s_end = s->addr + s->len;
		struct rec_shared behind;

		if (s_end <= addr || s->addr >= end) {
			p = &s->next;
			continue;
		}
		if (s_end > end) {
			behind = part_of(s, end - s->addr, s_end - end);
			rec_shared_add(mm, &behind);
			if (p == &mm->shared)
				p = &mm->shared->next;
		}
		if (s->addr < addr) {
			s->len = addr - s->addr;
			p = &s->next;
			continue;
		}
		*p = s->next;
		unref(s->file);
		free(s);
	}
}

void rec_shared_cut(struct rec_mm *mm, uint64_t addr, uint64_t len)
{
	uint64_t end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len;

	rec_buffer_cut(&mm->buf, addr, end - addr);
	rec_outside_cut(mm, addr, end);
	rec_written_cut(mm, addr, end);
	cut(mm, addr, end);
}

void rec_shared_move(struct rec_mm *mm, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len,
		     bool stays)
{
	/* 0: another mapping of the same */
	uint64_t from_len = len ? len : 1, end = addr + from_len;
	struct rec_shared *moved = NULL, *last = NULL, *next;

	rec_outside_move(mm, addr, from_len, to, to_len);
	rec_written_move(mm, addr, len, to, to_len);
	for (struct rec_shared *s = mm->shared; s; s = s->next) {
		uint64_t start = s->addr > addr ? s->addr : addr;
		uint64_t stop = s->addr + s->len < end ? s->addr + s->len : end;
		struct rec_shared *copy;

		if (start >= stop || start - addr >= to_len)
			continue;
		copy = alloc_zeroed(1, sizeof(*copy), "a mapping");
		*copy = part_of(s, start - s->addr, stop - start);
		copy->addr = to + (start - addr);
		copy->len =
			copy->len < to_len - (start - addr) ? copy->len : to_len - (start - addr);
		copy->next = moved;
		moved = copy;
		if (copy->file)
			copy->file->users++;
		if (!last || copy->addr > last->addr)
			last = copy;
	}
	if (last && last->addr + last->len - to >= len)
		last->len = to + to_len - last->addr;
	if (len && !stays)
		cut(mm, addr, addr + len);
	cut(mm, to, to + to_len);
	for (; moved; moved = next) {
		next = moved->next;
		moved->next = mm->shared;
		mm->shared = moved;
	}
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void collect_page(void *ctx, uint64_t addr, const void *bytes)
{
	static const unsigned char zeros[PAGE_BYTES];
	struct recorder *rec = ctx;
	struct trace_effect *e;
	void *copy;

	if (!memcmp(bytes, zeros, PAGE_BYTES))
		return;
	copy = rec_alloc(rec, PAGE_BYTES);
	memcpy(copy, bytes, PAGE_BYTES);
	e = rec_effect(rec, TRACE_WRITE);
	e->addr = addr;
	e->len = e->data_len = PAGE_BYTES;
	e->data = copy;
}

void rec_effect_pages(struct recorder *rec, struct rec_task *t, const struct tracee_map *m)
{
	err_free(rec_map_pages(t, m, collect_page, rec));
}
