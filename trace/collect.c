/*
 * collect.c - what nobody needs in a content store and in traces: contents, index entries,
 * temporary files.
 *
 * A trace keeps the files it needs in its own files/ (store.c): hard links to the store where that
 * is possible, else copies.  So a content of the store that has one link is used by no trace,
 * wherever traces are, and removing any content is always safe: a recorder that was about to link
 * it finds it gone, and takes the live file again.
 *
 * A temporary file belongs to whoever holds a lock on it (store_lock_temporary()), which ends with
 * that process, in whatever container.  TEMPORARY_AGE covers the moment between making a file and
 * locking it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "trace/internal.h"

enum { TEMPORARY_AGE_S = 10, LINK_AGE_S = 60 };

static const char temporary[] = ".tmp-", latest[] = ".latest-";

void store_lock_temporary(int fd)
{
	flock(fd, LOCK_EX | LOCK_NB);	/* a file system without locks: then age has to do */
}

static bool older(const struct stat *st, time_t seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return st->st_ctim.tv_sec + seconds < now.tv_sec &&
	       st->st_mtim.tv_sec + seconds < now.tv_sec;
}

static uint64_t disk_bytes(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

/* Does nobody write this temporary file any more? */
static bool is_stray(int dir, const char *name, struct stat *st)
{
	bool stray;
	int fd;

	if (os.fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW))
		return false;
	if (S_ISLNK(st->st_mode))
		return older(st, LINK_AGE_S);
	if (!S_ISREG(st->st_mode) || !older(st, TEMPORARY_AGE_S))
		return false;
	fd = os.openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	stray = !flock(fd, LOCK_EX | LOCK_NB) || errno == ENOLCK || errno == EOPNOTSUPP;
	close(fd);
	return stray;
}

/* Calls fn for each name in an open directory. */
static void each_name(int at, void (*fn)(int dir, const char *name, void *ctx), void *ctx)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			fn(dirfd(dir), d->d_name, ctx);
	if (dir)
		closedir(dir);
}

struct sweep { bool dry_run; struct trace_garbage *found; };

static void sweep_one(int dir, const char *name, void *ctx)
{
	struct sweep *s = ctx;
	struct stat st;

	if (strncmp(name, temporary, sizeof(temporary) - 1) &&
	    strncmp(name, latest, sizeof(latest) - 1))
		return;
	if (!is_stray(dir, name, &st) || (!s->dry_run && unlinkat(dir, name, 0)))
		return;
	s->found->temporary++;
	s->found->temporary_bytes += disk_bytes(&st);
}

void store_sweep(int dir)
{
	struct trace_garbage ignored = { 0 };
	struct sweep s = { false, &ignored };

	each_name(dir, sweep_one, &s);
}

/* ---- a whole trace directory, and its store -------------------------------------------------- */

/* Calls fn for what is in the directory NAME of dir, if it is one. */
static void each_below(int dir, const char *name, void (*fn)(int dir, const char *name, void *ctx),
		       void *ctx)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	each_name(fd, fn, ctx);
	close(fd);
}

/* Sweeps a trace directory: DIR/NAME/files/.tmp-* */
static void sweep_trace(int base, const char *name, void *ctx)
{
	int dir;

	sweep_one(base, name, ctx);
	dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return;
	if (!faccessat(dir, "meta", F_OK, AT_SYMLINK_NOFOLLOW))
		each_below(dir, "files", sweep_one, ctx);
	close(dir);
}

static void content(int dir, const char *name, void *ctx)
{
	struct sweep *s = ctx;
	struct stat st;

	if (strlen(name) != HASH_HEX || !hash_hex_ok(name) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	if (st.st_nlink > 1) {
		s->found->used++;
		s->found->used_bytes += disk_bytes(&st);
	} else if (s->dry_run || !unlinkat(dir, name, 0)) {
		s->found->unused++;
		s->found->unused_bytes += disk_bytes(&st);
	}
}

static void contents(int store, const char *name, void *ctx)
{
	if (strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2)
		each_below(store, name, content, ctx);
}

struct entries { int store; struct sweep *sweep; };

/* An index entry whose content is not in the store. */
static void index_entry(int dir, const char *name, void *ctx)
{
	struct entries *e = ctx;
	char hex[HASH_HEX + 2], path[2 * HASH_HEX];
	struct stat st;

	sweep_one(dir, name, e->sweep);
	if (name[0] == '.' || readlinkat(dir, name, hex, sizeof(hex)) != HASH_HEX ||
	    !hash_hex_ok(hex))
		return;
	hex[HASH_HEX] = 0;
	snprintf(path, sizeof(path), "%.2s/%s", hex, hex);
	if (!fstatat(e->store, path, &st, AT_SYMLINK_NOFOLLOW) || errno != ENOENT)
		return;
	if (e->sweep->dry_run || !unlinkat(dir, name, 0))
		e->sweep->found->index++;
}

struct err *trace_garbage(const char *base, bool dry_run, struct trace_garbage *ret)
{
	struct sweep s = { dry_run, ret };
	struct entries e = { -1, &s };
	int dir;

	*ret = (struct trace_garbage){ 0 };
	dir = openat(AT_FDCWD, base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_os(errno, "cannot read %s", base);
	each_name(dir, sweep_trace, &s);
	e.store = openat(dir, "store", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (e.store >= 0) {
		each_name(e.store, sweep_one, &s);
		each_name(e.store, contents, &s);
		each_below(e.store, "index", index_entry, &e);
		close(e.store);
	}
	close(dir);
	return NULL;
}

bool trace_content_used(const char *base, const uint8_t hash[16])
{
	char path[PATH_MAX], hex[HASH_HEX + 1];
	struct content_hash h;
	struct stat st;

	memcpy(h.byte, hash, sizeof(h.byte));
	hash_hex(&h, hex);
	snprintf(path, sizeof(path), "%s/store/%.2s/%s", base, hex, hex);
	/* A file that cannot be looked at may be there. */
	return lstat(path, &st) ? errno != ENOENT : st.st_nlink > 1;
}
