/*
 * unmapped.c - memfds that no process maps.
 *
 * A program may map, write and unmap thousands of shared objects one after the other, and each copy
 * of all processes (copy.c) would have a descriptor for each of them.  What no process maps needs
 * none until it is mapped or written to again: its content is kept in memory of ours, once for all
 * copies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "replayer/machine/copy.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/object.h"

/* A piece of a file that is no hole. */
struct piece {
	struct piece *next;
	off_t at;
	size_t len;
	unsigned char bytes[];
};

struct rp_saved {
	unsigned users;
	off_t size;
	struct piece *pieces;
};

struct rp_saved *rp_saved_use(struct rp_saved *s)
{
	if (s)
		s->users++;
	return s;
}

void rp_saved_put(struct rp_saved *s)
{
	if (!s || --s->users)
		return;
	while (s->pieces) {
		struct piece *next = s->pieces->next;

		free(s->pieces);
		s->pieces = next;
	}
	free(s);
}

static struct err *read_piece(struct rp_saved *s, int fd, off_t at, size_t len)
{
	struct piece *p = malloc(sizeof(*p) + len);

	if (!p)
		return &err_nomem;
	*p = (struct piece){ .next = s->pieces, .at = at, .len = len };
	s->pieces = p;
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, p->bytes + done, len - done, at + (off_t)done);

		if (n <= 0)
			return err_os(n < 0 ? errno : EIO, "cannot read shared memory");
		done += (size_t)n;
	}
	return NULL;
}

static struct err *read_pieces(struct rp_saved *s, int fd)
{
	struct stat st;
	off_t at = 0, end;

	if (fstat(fd, &st) < 0)
		return err_os(errno, "cannot look at shared memory");
	s->size = st.st_size;
	while (at < s->size) {
		at = lseek(fd, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			break;
		end = at < 0 ? -1 : lseek(fd, at, SEEK_HOLE);
		if (end < 0)
			return err_os(errno, "cannot read shared memory");
		TRY(read_piece(s, fd, at, (size_t)(end - at)));
		at = end;
	}
	return NULL;
}

static struct err *save(struct rp_object *o)
{
	struct rp_saved *s = calloc(1, sizeof(*s));
	struct err *err;

	if (!s)
		return &err_nomem;
	s->users = 1;
	err = read_pieces(s, o->fd);
	if (err) {
		rp_saved_put(s);
		return err;
	}
	close(o->fd);
	o->fd = -1;
	o->saved = s;
	return NULL;
}

struct err *rp_object_load(struct rp_object *o)
{
	int fd = memfd_create("hindsight", MFD_CLOEXEC);
	bool good;

	if (fd < 0)
		return err_os(errno, "cannot make shared memory");
	good = ftruncate(fd, o->saved->size) == 0;
	for (const struct piece *p = o->saved->pieces; p && good; p = p->next) {
		for (size_t done = 0; done < p->len && good;) {
			ssize_t n = pwrite(fd, p->bytes + done, p->len - done, p->at + (off_t)done);

			good = n > 0;
			done += good ? (size_t)n : 0;
		}
	}
	if (!good) {
		close(fd);
		return err_os(errno, "cannot fill shared memory");
	}
	rp_saved_put(o->saved);
	o->saved = NULL;
	o->fd = fd;
	return NULL;
}

/* ---- which ----------------------------------------------------------------------------------- */

static int by_inode(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Adds the inodes of all memfds that t's process maps to the *n that are there. */
static struct err *add_inodes(const struct rp_task *t, uint64_t **inodes, size_t *n)
{
	struct tracee_maps maps;

	TRY(tracee_maps_read(t->real, &maps));
	*inodes = alloc_more(*inodes, *n + maps.n + 1, sizeof(**inodes), "shared memory");
	for (size_t i = 0; i < maps.n; i++) {
		if (!strncmp(maps.map[i].name, "/memfd:", 7))
			(*inodes)[(*n)++] = maps.map[i].inode;
	}
	tracee_maps_deinit(&maps);
	return NULL;
}

static bool has_memfd(const struct rp_object *o)
{
	return o->defined && o->fd >= 0 && o->kind != TRACE_OBJECT_FILE;
}

static struct err *save_unmapped(struct rp_object *o, const uint64_t *inodes, size_t n)
{
	struct stat st;
	uint64_t inode;

	if (fstat(o->fd, &st) < 0)
		return err_os(errno, "cannot look at shared memory");
	inode = st.st_ino;
	if (n && bsearch(&inode, inodes, n, sizeof(inode), by_inode))
		return NULL;
	if (!o->anonymous)
		return save(o);
	close(o->fd);
	o->fd = -1;
	return NULL;
}

struct err *rp_objects_save_unmapped(struct replay *r)
{
	uint64_t *inodes = NULL;
	struct err *err = NULL;
	bool any = false;
	size_t n = 0;

	r->memfds_made = 0;
	for (uint32_t i = 0; i < r->objects_n && !any; i++)
		any = has_memfd(&r->objects[i]);
	for (struct rp_task *t = r->tasks; t && any && !err; t = t->next) {
		if (t->real > 0 && rp_first_of_mm(r->tasks, t))
			err = add_inodes(t, &inodes, &n);
	}
	if (n)
		qsort(inodes, n, sizeof(*inodes), by_inode);
	for (uint32_t i = 0; i < r->objects_n && !err; i++) {
		if (has_memfd(&r->objects[i]))
			err = save_unmapped(&r->objects[i], inodes, n);
	}
	free(inodes);
	return err;
}
