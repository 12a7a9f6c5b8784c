/*
 * kept.c - files that nobody has mapped any more, whose objects may serve again.
 *
 * Programs map a window of a file, look, unmap it, and map the next one.  To take the whole file
 * anew each time would cost as much as the file is large.  So its object is kept: replay still has
 * the content as it was when the last mapping went, and that is right as long as the file has not
 * changed.  Whoever changes it by a call is told of by inotify, recorded or not.  Stores of
 * others by mappings of their own show in the times of the file, where the file system keeps them;
 * a file that is known to be shared with others (outside.c) is not kept.
 *
 * The watch begins with the mapping.  Of an unmapping in a buffered call the recorder hears later,
 * when somebody outside may have written to the file; so a file that was written to while it was
 * mapped is not kept, whoever that was.
 *
 * inotify holds no file open: what the program has deleted goes, and a file system can be
 * unmounted.  Then there is an event, too.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "recorder/internal.h"

enum { KEPT = 64 };

static struct kept {
	int watch;			/* 0: unused */
	bool mapped;			/* it is watched, but somebody has it */
	struct rec_version version;	/* of a mapped one only dev and ino */
	uint64_t ctime_s, ctime_ns;
	uint32_t object;		/* of one that is not mapped */
} kept[KEPT];
static unsigned next;		/* where to look for a place first */
static int events = -1;		/* inotify */

static void version_put(struct kept *k, const struct stat *st)
{
	k->version = rec_version_of(st);
	k->ctime_s = (uint64_t)st->st_ctim.tv_sec;
	k->ctime_ns = (uint64_t)st->st_ctim.tv_nsec;
}

static bool version_same(const struct kept *k, const struct stat *st)
{
	struct rec_version now = rec_version_of(st);

	return !memcmp(&k->version, &now, sizeof(now)) &&
	       k->ctime_s == (uint64_t)st->st_ctim.tv_sec &&
	       k->ctime_ns == (uint64_t)st->st_ctim.tv_nsec;
}

static struct kept *find(uint64_t dev, uint64_t ino)
{
	for (unsigned i = 0; i < KEPT; i++) {
		if (kept[i].watch && kept[i].version.dev == dev && kept[i].version.ino == ino)
			return &kept[i];
	}
	return NULL;
}

static void drop(struct kept *k)
{
	if (k && k->watch)
		inotify_rm_watch(events, k->watch);	/* fails if the file is gone */
	if (k)
		*k = (struct kept){ 0 };
}

/* Something has happened to a file: watch -1, to any of them. */
static void happened(int watch)
{
	for (unsigned i = 0; i < KEPT; i++) {
		if (kept[i].watch && (watch < 0 || kept[i].watch == watch))
			drop(&kept[i]);
	}
}

static void read_events(void)
{
	_Alignas(struct inotify_event) char buf[4096];
	ssize_t n;

	while (events >= 0 && (n = read(events, buf, sizeof(buf))) > 0) {
		for (const char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const void *)p;

			happened(e->wd);
			p += sizeof(*e) + e->len;
		}
	}
}

/* Returns an unused place, else the oldest that nobody has mapped; NULL: there is none. */
static struct kept *place(void)
{
	struct kept *old = NULL;

	for (unsigned i = 0; i < KEPT; i++) {
		struct kept *k = &kept[(next + i) % KEPT];

		if (!k->watch)
			return k;
		if (!old && !k->mapped)
			old = k;
	}
	drop(old);
	return old;
}

void rec_kept_watch(const struct stat *st, int fd)
{
	char path[64];
	struct kept *k;
	int watch;

	if (events < 0)
		events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (events < 0)
		return;
	drop(find(st->st_dev, st->st_ino));
	k = place();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	watch = k ? inotify_add_watch(events, path, IN_MODIFY | IN_DELETE_SELF) : -1;
	if (watch < 0)
		return;
	*k = (struct kept){ .watch = watch,
			    .mapped = true,
			    .version = { .dev = st->st_dev, .ino = st->st_ino } };
	next = (unsigned)(k - kept + 1) % KEPT;
}

void rec_kept_put(const struct rec_file *f)
{
	struct kept *k;
	struct stat st;

	read_events();
	k = f->live && f->fd >= 0 ? find(f->dev, f->ino) : NULL;
	if (!k)
		return;
	if (rec_outside_knows(f->dev, f->ino) || fstat(f->fd, &st) < 0 ||
	    (uint64_t)st.st_size != f->size) {
		drop(k);
		return;
	}
	version_put(k, &st);
	k->object = f->object;
	k->mapped = false;
}

void rec_kept_drop(const struct stat *st)
{
	drop(find(st->st_dev, st->st_ino));
}

bool rec_kept_take(const struct stat *st, uint32_t *object_ret)
{
	struct kept *k;

	read_events();
	k = find(st->st_dev, st->st_ino);
	if (!k || k->mapped)
		return false;
	if (!version_same(k, st)) {
		drop(k);
		return false;
	}
	*object_ret = k->object;
	k->mapped = true;
	return true;
}
