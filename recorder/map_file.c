/*
 * map_file.c - the file behind a mapping, opened by us.
 *
 * The kernel opens it for us by /proc/TID/map_files, but only for one who may checkpoint processes
 * (CAP_CHECKPOINT_RESTORE).  Else there is its name, as d_path() makes it: as seen from our root
 * where the file is below that, else from the root of the mount namespace the file is in.  The
 * task's root may be yet another (chroot).  So the name is tried from each of these roots, and what
 * is found is compared with the device and the inode number of the mapping.
 *
 * Some file systems give a mapping another device than stat(2) tells (btrfs; overlayfs before Linux
 * 6.8).  So when no name leads to the very file, the inode number alone must do.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/slow.h"
#include "recorder/internal.h"

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

/* Enough to go up from any root to the one of its mount namespace. */
#define UP "/../../../../../../../.."
#define UP_FAR UP UP UP UP UP UP UP UP

static bool is_it(const struct stat *st, const struct tracee_map *m, bool exactly)
{
	return S_ISREG(st->st_mode) && st->st_ino == m->inode &&
	       (!exactly || (major(st->st_dev) == m->major && minor(st->st_dev) == m->minor));
}

/* Looked at before it is opened: to open a device or a FIFO does something. */
static int open_if_it(const char *path, const struct tracee_map *m, bool exactly, struct stat *st)
{
	int fd;

	if (slow_stat(path, st) < 0 || !is_it(st, m, exactly))
		return -1;
	fd = slow_open(path, FLAGS);
	if (fd < 0 || (slow_fstat(fd, st) == 0 && is_it(st, m, exactly)))
		return fd;
	slow_close(fd);
	return -1;
}

static int open_by_name(const struct rec_task *t, const struct tracee_map *m, const char *name,
			bool exactly, struct stat *st)
{
	char path[REC_MAP_NAME + sizeof(UP_FAR) + 32];
	int fd = -1;

	if (name[0] == '/') {
		snprintf(path, sizeof(path), "/proc/%d/root%s", t->tid, name);
		fd = open_if_it(path, m, exactly, st);
		if (fd < 0)
			fd = open_if_it(name, m, exactly, st);
		if (fd < 0) {
			snprintf(path, sizeof(path), "/proc/%d/root" UP_FAR "%s", t->tid, name);
			fd = open_if_it(path, m, exactly, st);
		}
	}
	if (fd < 0) {		/* the program itself, which may have been removed */
		snprintf(path, sizeof(path), "/proc/%d/exe", t->tid);
		fd = open_if_it(path, m, exactly, st);
	}
	return fd;
}

int rec_map_file(const struct rec_task *t, const struct tracee_map *m, struct stat *st,
		 char name[REC_MAP_NAME])
{
	const char *known = m->name ? m->name : "";
	char link[96];
	ssize_t n = 0;
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, t->tid, m->start,
		 m->end);
	if (strchr(known, '\\'))	/* newlines are \012 in maps */
		n = readlink(link, name, REC_MAP_NAME - 1);
	if (n > 0)
		name[n] = '\0';
	else
		snprintf(name, REC_MAP_NAME, "%s", known);
	fd = open_by_name(t, m, name, true, st);
	if (fd >= 0)
		return fd;
	fd = slow_open(link, FLAGS);
	if (fd >= 0 && slow_fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		slow_close(fd);
	return open_by_name(t, m, name, false, st);
}
