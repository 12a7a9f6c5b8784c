/*
 * object.c - what is behind mappings: files of the trace, and memfds in the place of files that
 * change.
 *
 * An object of kind FILE is a file of the trace, mapped from there.  All others are memfds of ours:
 * they have the size of the recorded file, its content and its holes, so that mappings of them,
 * shared and private, behave as in the recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "replayer/machine/cage.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/object.h"

enum { OBJECTS_MAX = 1 << 20, COPY_BYTES = 1 << 20, SMALL = 256 << 10 };

static struct err *bad_effect(const struct trace_event *ev, const char *what)
{
	return err_new(ERR_TRACE, "the trace is not sound: event %" PRIu64 " %s", ev->n, what);
}

struct err *rp_object_define(struct replay *r, const struct trace_event *ev,
			     const struct trace_effect *e)
{
	struct rp_object *o;

	if (e->object >= OBJECTS_MAX)
		return bad_effect(ev, "defines an object with an absurd number");
	if (e->object >= r->objects_n) {
		uint32_t n = e->object + 64;

		o = realloc(r->objects, n * sizeof(*o));
		if (!o)
			return &err_nomem;
		memset(o + r->objects_n, 0, (n - r->objects_n) * sizeof(*o));
		r->objects = o;
		r->objects_n = n;
	}
	o = &r->objects[e->object];
	if (o->defined)
		return NULL;
	*o = (struct rp_object){ .defined = true,
				 .kind = (enum trace_object_kind)e->x,
				 /* MAP_SHARED without a file, or a device's; no segment */
				 .anonymous = e->x == TRACE_OBJECT_MEMORY && ev->nr == SYS_mmap,
				 .fd = -1,
				 .size = e->len,
				 .effect = *e };
	o->effect.data = malloc(e->data_len + 1);
	if (!o->effect.data)
		return &err_nomem;
	memcpy((void *)(uintptr_t)o->effect.data, e->data ? e->data : "", e->data_len);
	return NULL;
}

/*
 * Bytes behind a file's end, in its last page: read() and write() do not reach them, mappings do.
 * They are stored by a mapping, and stay until the file grows or the page is dropped.
 */
static struct err *write_tail(int fd, uint64_t off, const void *bytes, size_t len)
{
	uint64_t page = off & ~(uint64_t)(PAGE_BYTES - 1);
	char *p = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);

	if (p == MAP_FAILED)
		return err_os(errno, "cannot map shared memory");
	memcpy(p + (off - page), bytes, len);
	munmap(p, PAGE_BYTES);
	return NULL;
}

static struct err *copy_tail(int from, int to, uint64_t size)
{
	static const char zero[PAGE_BYTES];
	uint64_t in = size % PAGE_BYTES;
	struct err *err = NULL;
	char *p;

	if (!in)
		return NULL;
	p = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, from, (off_t)(size - in));
	if (p == MAP_FAILED)	/* no mapping can have stored there */
		return NULL;
	if (memcmp(p + in, zero, PAGE_BYTES - in))
		err = write_tail(to, size, p + in, PAGE_BYTES - in);
	munmap(p, PAGE_BYTES);
	return err;
}

/* All of from to the empty file to, what is behind its end too; holes stay holes. */
struct err *rp_object_copy(int from, int to)
{
	static char (*buf)[COPY_BYTES];
	struct stat st;
	off_t at = 0;

	ALLOC_ONCE(buf, "a copy of shared memory");
	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return err_os(errno, "cannot size shared memory");
	while (at < st.st_size) {
		off_t end = st.st_size;

		at = lseek(from, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			break;
		if (at >= 0)
			end = lseek(from, at, SEEK_HOLE);
		if (at < 0 || end < 0)
			return err_os(errno, "cannot copy shared memory");
		while (at < end) {
			ssize_t n =
				pread(from, *buf,
				      end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES, at);

			if (n <= 0 || pwrite(to, *buf, (size_t)n, at) != n)
				return err_os(n < 0 ? errno : ENOSPC, "cannot fill shared memory");
			at += n;
		}
	}
	return copy_tail(from, to, (uint64_t)st.st_size);
}

/* A memfd, filled with the object's content where it has some. */
static struct err *new_memfd(struct replay *r, const struct rp_object *o, int *ret)
{
	int fd = memfd_create("hindsight", MFD_CLOEXEC), from;
	struct err *err = NULL;

	if (fd < 0)
		return err_os(errno, "cannot make shared memory");
	if (o->kind != TRACE_OBJECT_MEMORY) {
		err = trace_reader_object(r->reader, &o->effect, &from);
		if (!err) {
			err = rp_object_copy(from, fd);
			close(from);
		}
	}
	if (err)
		close(fd);
	else
		*ret = fd;
	return err;
}

struct err *rp_object_memfd(struct replay *r, struct rp_object *o)
{
	int fd;

	TRY(new_memfd(r, o, &fd));
	if (o->fd >= 0)
		close(o->fd);
	o->fd = fd;
	return NULL;
}

/* A memfd more: those that are not needed any more go now and then. */
static struct err *open_memfd(struct replay *r, struct rp_object *o)
{
	enum { MANY = 256 };

	if (++r->memfds_made >= MANY)
		TRY(rp_objects_save_unmapped(r));
	return o->saved ? rp_object_load(o) : rp_object_memfd(r, o);
}

struct err *rp_object_open(struct replay *r, const struct trace_event *ev, uint32_t number,
			   struct rp_object **ret)
{
	struct rp_object *o;

	if (number >= r->objects_n || !r->objects[number].defined)
		return bad_effect(ev, "uses an object that is not defined");
	o = &r->objects[number];
	*ret = o;
	if (o->fd >= 0)
		return NULL;
	if (o->kind == TRACE_OBJECT_FILE)
		return trace_reader_object(r->reader, &o->effect, &o->fd);
	return open_memfd(r, o);
}

struct err *rp_object_reach(struct rp_object *o, uint64_t size)
{
	struct stat st;

	if (o->sized)
		return NULL;
	if (fstat(o->fd, &st) < 0 ||
	    ((uint64_t)st.st_size < size && ftruncate(o->fd, (off_t)size) < 0))
		return err_os(errno, "cannot size shared memory of %" PRIu64 " bytes", size);
	return NULL;
}

static struct err *open_changing(struct replay *r, const struct trace_event *ev, uint32_t number,
				 struct rp_object **ret)
{
	TRY(rp_object_open(r, ev, number, ret));
	return (*ret)->kind == TRACE_OBJECT_FILE
		       ? bad_effect(ev, "changes an object that does not change")
		       : NULL;
}

struct err *rp_object_resize(struct replay *r, const struct trace_event *ev,
			     const struct trace_effect *e)
{
	struct rp_object *o;

	TRY(open_changing(r, ev, e->object, &o));
	if (e->len > INT64_MAX || ftruncate(o->fd, (off_t)e->len) < 0)
		return err_os(errno,
			      "event %" PRIu64 ": cannot size shared memory of %" PRIu64 " bytes",
			      ev->n, e->len);
	o->sized = true;
	return NULL;
}

struct err *rp_object_zero(struct replay *r, const struct trace_event *ev,
			   const struct trace_effect *e)
{
	struct rp_object *o;

	TRY(open_changing(r, ev, e->object, &o));
	if (e->len && (e->addr > INT64_MAX || e->len > INT64_MAX - e->addr ||
		       fallocate(o->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)e->addr,
				 (off_t)e->len) < 0))
		return err_os(errno, "event %" PRIu64 ": cannot make a hole in shared memory",
			      ev->n);
	return NULL;
}

struct err *rp_object_write(struct replay *r, const struct trace_event *ev,
			    const struct trace_effect *e)
{
	struct rp_object *o;
	struct stat st;

	TRY(open_changing(r, ev, e->object, &o));
	if (fstat(o->fd, &st) == 0 && st.st_size % PAGE_BYTES &&
	    e->addr == (uint64_t)st.st_size &&
	    e->data_len == PAGE_BYTES - e->addr % PAGE_BYTES)
		return write_tail(o->fd, e->addr, e->data, e->data_len);
	if (pwrite(o->fd, e->data, e->data_len, (off_t)e->addr) != (ssize_t)e->data_len)
		return bad_effect(ev, "writes to an object that cannot be written");
	return NULL;
}

/* ---- private mappings of a file that changes ------------------------------------------------- */

struct saved {
	struct saved *next;
	uint64_t addr;
	size_t len;
	unsigned char bytes[];
};

struct saving {
	pid_t real;
	struct saved *list;
};

static struct err *save_range(void *ctx, uint64_t start, uint64_t end)
{
	struct saving *s = ctx;

	while (start < end) {
		size_t len = end - start < COPY_BYTES ? (size_t)(end - start) : COPY_BYTES;
		struct saved *c = malloc(sizeof(*c) + len);
		struct err *err;

		if (!c)
			return &err_nomem;
		c->addr = start;
		c->len = len;
		err = tracee_read(s->real, start, c->bytes, len);
		if (err) {
			free(c);
			return err;
		}
		c->next = s->list;
		s->list = c;
		start += len;
	}
	return NULL;
}

struct err *rp_object_remap(struct rp_task *t, const struct tracee_map *m, int fd)
{
	uint64_t len = m->end - m->start;
	struct saving s = { .real = t->real };
	struct err *err;
	int64_t ret;

	err = m->shared ? NULL : pages_private(t->real, m->start, len, save_range, &s);
	if (!err)
		err = cage_call(t->real, &t->regs, &ret, SYS_mmap, m->start, len, (uint64_t)m->prot,
				(m->shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED | MAP_NORESERVE,
				(uint64_t)fd, m->offset);
	if (!err && ret != (int64_t)m->start)
		err = err_os((int)-ret, "cannot map shared memory again");
	while (s.list) {
		struct saved *next = s.list->next;

		if (!err)
			err = tracee_write(t->real, s.list->addr, s.list->bytes, s.list->len);
		free(s.list);
		s.list = next;
	}
	return err;
}

static bool maps_inode(const struct tracee_map *m, const struct stat *st)
{
	return m->inode == st->st_ino && m->name[0] == '/' && strncmp(m->name, "/memfd:", 7) != 0;
}

/* In t's address space, what maps the file of the trace (st) shall map fd. */
static struct err *follow(struct rp_task *t, const struct stat *st, int fd)
{
	struct tracee_maps maps;
	struct err *err = NULL;

	TRY(tracee_maps_read(t->real, &maps));
	for (size_t i = 0; i < maps.n && !err; i++) {
		if (!maps_inode(&maps.map[i], st))
			continue;
		err = rp_object_remap(t, &maps.map[i], fd);
		t->dirty = t->mm->patches.n != 0;	/* as in effect.c */
	}
	tracee_maps_deinit(&maps);
	return err;
}

static bool is_first(const struct replay *r, const struct rp_task *t)
{
	for (const struct rp_task *o = r->tasks; o != t; o = o->next) {
		if (o->mm == t->mm && o->real)
			return false;
	}
	return true;
}

struct err *rp_object_live(struct replay *r, const struct trace_event *ev,
			   const struct trace_effect *e)
{
	struct rp_object *o;
	struct stat st;
	struct err *err;
	int file, fd = -1;

	TRY(rp_object_open(r, ev, e->object, &o));
	if (o->kind != TRACE_OBJECT_FILE)
		return bad_effect(ev, "lets an object change that does already");
	/* o->fd may be a memfd: noexec file systems */
	TRY(trace_reader_object(r->reader, &o->effect, &file));
	err = fstat(file, &st) < 0 ? err_os(errno, "cannot look at a file of the trace")
				   : new_memfd(r, o, &fd);
	close(file);
	for (struct rp_task *t = r->tasks; t && !err; t = t->next) {
		if (t->real && t->mm && is_first(r, t))
			err = follow(t, &st, fd);
	}
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	close(o->fd);
	o->fd = fd;
	o->kind = TRACE_OBJECT_SHARED;
	return NULL;
}

void rp_object_restored(struct rp_object *o, int fd, struct rp_saved *saved)
{
	if (o->fd >= 0)
		close(o->fd);
	rp_saved_put(o->saved);
	o->fd = fd;
	o->saved = saved;
	if (fd < 0 && !saved) {	/* it had not begun to change */
		o->kind = (enum trace_object_kind)o->effect.x;
		o->sized = false;
	} else if (o->kind == TRACE_OBJECT_FILE) {
		/* it had: an earlier copy was restored since */
		o->kind = TRACE_OBJECT_SHARED;
		o->sized = true;
	}
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Returns a descriptor, which stays ours, of the file behind addr, and the offset in it; or -1. */
static int file_at(const struct replay *r, const struct rp_task *t, uint64_t addr, uint64_t *offset)
{
	struct tracee_maps maps;
	const struct tracee_map *m;
	struct err *err;
	int fd = -1;

	err = tracee_maps_read(t->real, &maps);
	if (err) {
		err_free(err);
		return -1;
	}
	m = tracee_maps_find(&maps, addr);
	for (uint32_t i = 0; m && m->inode && i < r->objects_n && fd < 0; i++) {
		const struct rp_object *o = &r->objects[i];
		struct stat st;

		if (!o->defined || o->fd < 0 || fstat(o->fd, &st) < 0 || st.st_ino != m->inode ||
		    (strncmp(m->name, "/memfd:", 7) == 0) != (o->kind != TRACE_OBJECT_FILE))
			continue;
		fd = o->fd;
		*offset = m->offset + (addr - m->start);
	}
	tracee_maps_deinit(&maps);
	return fd;
}

struct err *rp_object_pages(const struct replay *r, const struct rp_task *t, uint64_t addr,
			    uint64_t len, tracee_page_fn *fn, void *ctx)
{
	uint64_t offset = 0;
	int fd = len <= SMALL ? -1 : file_at(r, t, addr, &offset);

	return pages_of_file(t->real, addr, len, PAGES_FORKED, fd, offset, fn, ctx);
}
