/*
 * maps.c - the mappings of a process: which of them are the program's state, and how to read them.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slow.h"
#include "recorder/internal.h"

enum { SMALL = 256 << 10, LARGE = 64 << 20 };

/* ---- which of them --------------------------------------------------------------------------- */

bool rec_is_scratch(const struct rec_mm *mm, const struct tracee_map *m)
{
	for (const struct rec_scratch *s = mm->scratch; s; s = s->next) {
		if (m->start < s->addr + s->len && m->end > s->addr)
			return true;
	}
	return false;
}

bool rec_is_outside(const struct rec_mm *mm, const struct tracee_map *m)
{
	for (const struct rec_outside *o = mm->outside; o; o = o->next) {
		if (m->start < o->addr + o->len && m->end > o->addr)
			return true;
	}
	return false;
}

bool rec_sum_wanted(const struct rec_mm *mm, const struct tracee_map *m)
{
	if (rec_is_scratch(mm, m) || rec_is_outside(mm, m))
		return false;
	if (m->start >= FIXED_PAGE && m->start < FIXED_END)
		return false;
	if (m->name[0] == '[' && (!strncmp(m->name, "[vvar", 5) || !strcmp(m->name, "[vsyscall]")))
		return false;
	return (m->prot & PROT_READ) && ((m->prot & PROT_WRITE) || m->inode == 0);
}

uint64_t rec_writable(struct rec_task *t, uint64_t addr, uint64_t len)
{
	struct tracee_map m = { 0 };
	uint64_t n = 0;
	bool found;

	while (n < len) {
		struct err *err = tracee_map_at(t->tid, addr + n, &m, &found);

		if (err || !found || !(m.prot & PROT_WRITE)) {
			err_free(err);
			break;
		}
		n = m.end - addr;
	}
	return n < len ? n : len;
}

/*
 * The results of such calls do not go to scratch memory, whose addresses their supervisor would
 * see.
 */
bool rec_filter_writes(const struct recorder *rec, const struct rec_task *t)
{
	for (const struct rec_task *o = rec->supervised ? rec->tasks : NULL; o; o = o->next) {
		if (o != t && o->mm == t->mm && o->in_syscall && o->call.notifies)
			return true;
	}
	return false;
}

/* The first part of [start, end) that call may write to. */
static bool next_write(const struct rec_call *call, uint64_t start, uint64_t end,
		       struct rec_range *ret)
{
	*ret = (struct rec_range){ end, end };
	if (call->guessed && !call->planned)
		*ret = (struct rec_range){ start, end };
	for (unsigned i = 0; i < call->spans; i++) {
		const struct sys_span *s = &call->span[i];
		uint64_t from = s->addr > start ? s->addr : start,
			 to = s->addr + s->cap < end ? s->addr + s->cap : end;

		if ((s->dir & D_OUT) && from < to && from < ret->start)
			*ret = (struct rec_range){ from, to };
	}
	return ret->start < end;
}

bool rec_filter_next_write(const struct recorder *rec, const struct rec_task *t, uint64_t start,
			   uint64_t end, struct rec_range *ret)
{
	struct rec_range one;

	*ret = (struct rec_range){ end, end };
	for (const struct rec_task *o = rec->supervised ? rec->tasks : NULL; o; o = o->next) {
		if (o != t && o->mm == t->mm && o->in_syscall && o->call.notifies &&
		    next_write(&o->call, start, end, &one) && one.start < ret->start)
			*ret = one;
	}
	return ret->start < end;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static const struct rec_shared *shared_at(const struct rec_mm *mm, uint64_t addr)
{
	const struct rec_shared *s = mm->shared;

	while (s && (addr < s->addr || addr >= s->addr + s->len))
		s = s->next;
	return s;
}

/* A descriptor to be closed, or -1: to find out where the mapped file has holes. */
static int map_fd(struct rec_task *t, const struct tracee_map *m)
{
	const struct rec_shared *s;
	char name[REC_MAP_NAME];
	struct stat st;
	int fd = -1;

	if (m->end - m->start <= SMALL || (!m->inode && !m->shared))
		return -1;
	s = shared_at(t->mm, m->start);
	if (s && s->file && s->file->fd >= 0)
		fd = fcntl(s->file->fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? rec_map_file(t, m, &st, name) : fd;
}

bool rec_map_readable(struct rec_task *t, const struct tracee_map *m)
{
	int fd;

	if (m->end - m->start <= LARGE || !m->shared)
		return true;
	fd = map_fd(t, m);
	if (fd >= 0)
		slow_close(fd);
	return fd >= 0;
}

struct err *rec_map_pages(struct rec_task *t, const struct tracee_map *m, tracee_page_fn *fn,
			  void *ctx)
{
	bool all = m->inode != 0 || m->shared;
	int fd = all ? map_fd(t, m) : -1;
	struct err *err;

	if (fd < 0)
		return tracee_pages(t->tid, m->start, m->end - m->start,
				    all ? PAGES_ALL : PAGES_THERE, fn, ctx);
	err = pages_of_file(t->tid, m->start, m->end - m->start, PAGES_ALL, fd, m->offset, fn,
			    ctx);
	slow_close(fd);
	return err;
}
