/*
 * store.c - contents of files, by what is in them.
 *
 *	STORE/ab/abcd...	content with the XXH3_128 abcd... (hex), mode 0444, never changed
 *	STORE/index/KEY		symlink to such a hash; KEY = dev-ino-size-mtime_ns-ctime_ns (hex)
 *	DIR/files/abcd...	hard link to it, else reflink, else copy
 *
 * A file that was seen before costs one readlink, one link and one stat.  The live file is
 * never hard linked: somebody may write to it.  Whoever adds a content writes a file of
 * its own and renames it, so any number of recorders may share a store, and one that dies
 * leaves only a stray .tmp- file, which the next recorder removes (collect.c).  Nothing is synced:
 * after a power failure a content may be short, so its size is compared before it is used.
 *
 * Time stamps move in ticks (up to 2 s on old file systems), so a file changed within the
 * last two seconds may change again unseen: the index neither gives nor takes it.  ctime is what
 * counts: every write sets it and no program can set it back.  A program that writes through
 * a shared mapping all the time can still fool us; those files are recorded as shared objects.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os.h"
#include "trace/internal.h"

enum { KEY_MAX = 128, NAME_LEN = 64 };

/* ---- the store ------------------------------------------------------------------ */

static int open_dir(int dir, const char *name, bool make)
{
	if (make && os.mkdirat(dir, name, 0700) && errno != EEXIST)
		return -1;
	return os.openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

void store_open(struct store *s, const char *dir, int files)
{
	*s = (struct store){ -1, -1, files };
	if (!dir)
		return;
	s->dir = open_dir(AT_FDCWD, dir, true);
	if (s->dir >= 0)
		s->index = open_dir(s->dir, "index", true);
	if (s->index < 0)
		store_close(s);
	else
		store_sweep(s->dir);
}

void store_close(struct store *s)
{
	if (s->dir >= 0)
		close(s->dir);
	if (s->index >= 0)
		close(s->index);
	s->dir = s->index = -1;
}

static void store_name(const char *hex, char name[NAME_LEN])
{
	snprintf(name, NAME_LEN, "%.2s/%s", hex, hex);
}

bool store_stat_is_stable(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return st->st_ctim.tv_sec + 2 < now.tv_sec;
}

static void index_key(const struct stat *st, char key[KEY_MAX])
{
	snprintf(key, KEY_MAX, "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64,
		 (uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
		 timespec_ns(&st->st_mtim), timespec_ns(&st->st_ctim));
}

static bool index_get(struct store *s, const struct stat *st, struct content_hash *ret)
{
	char key[KEY_MAX], hex[HASH_HEX + 2];

	if (s->index < 0)
		return false;
	index_key(st, key);
	if (os.readlinkat(s->index, key, hex, sizeof(hex)) != HASH_HEX || !hash_hex_ok(hex))
		return false;
	hash_from_hex(hex, ret);
	return true;
}

static void tmp_name(char name[NAME_LEN])
{
	static unsigned int count;
	uint32_t rnd = 0;

	if (getrandom(&rnd, sizeof(rnd), GRND_NONBLOCK) < 0)
		rnd = (uint32_t)time(NULL);
	snprintf(name, NAME_LEN, ".tmp-%d-%u-%08x", (int)getpid(), count++, rnd);
}

/* Failing to remember is no error. */
static void index_put(struct store *s, const struct stat *st, const char *hex)
{
	char key[KEY_MAX], tmp[NAME_LEN];

	if (s->index < 0)
		return;
	index_key(st, key);
	tmp_name(tmp);
	if (os.symlinkat(hex, s->index, tmp))
		return;
	if (os.renameat(s->index, tmp, s->index, key))
		unlinkat(s->index, tmp, 0);
}

/* ---- into files/ ---------------------------------------------------------------- */

static bool has_file(int dir, const char *name, uint64_t size)
{
	struct stat st;

	return !os.fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
		(uint64_t)st.st_size == size;
}

/* All of from to the empty file to.  0 or errno. */
static int copy_fd(int from, int to)
{
	struct content_hash ignored;
	struct stat st;
	uint64_t len;
	bool reading;
	off_t in = 0, out = 0;
	ssize_t n;

	if (!os.clone_file(to, from))
		return 0;
	/* holes, which copy_file_range() fills */
	if (os.fstat(from, &st) || file_allocated(&st) < (uint64_t)st.st_size)
		return hash_and_copy(from, UINT64_MAX, to, &ignored, &len, &reading);
	do
		n = os.copy_file_range(from, &in, to, &out, 1 << 30, 0);
	while (n > 0);
	if (!n && in)
		return 0;
	return hash_and_copy(from, UINT64_MAX, to, &ignored, &len, &reading);
}

/* The store's content NAME of this size as files/HEX.  0 or errno. */
static int files_from_store(struct store *s, const char *hex, uint64_t size, bool *added_ret)
{
	char name[NAME_LEN], tmp[NAME_LEN];
	struct stat st;
	int from, to, e = 0;

	store_name(hex, name);
	if (!os.linkat(s->dir, name, s->files, hex, 0)) {
		*added_ret = true;
		if (has_file(s->files, hex, size))
			return 0;
		unlinkat(s->files, hex, 0);	/* the store has a short one */
		return EIO;
	}
	if (errno == EEXIST)
		return has_file(s->files, hex, size) ? 0 : EIO;
	from = open_plain(s->dir, name, &st);
	if (from < 0)
		return errno;
	tmp_name(tmp);
	to = os.openat(s->files, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (to >= 0)
		store_lock_temporary(to);
	if (to < 0 || (uint64_t)st.st_size != size)
		e = to < 0 ? errno : EIO;
	else
		e = copy_fd(from, to);
	if (!e && (!has_file(s->files, tmp, size) || os.renameat(s->files, tmp, s->files, hex)))
		e = errno;
	if (e && to >= 0)
		unlinkat(s->files, tmp, 0);
	if (to >= 0)
		close(to);
	close(from);
	*added_ret = !e;
	return e;
}

/*
 * Make dir/<place of the hash> from the live file: a clone if the file system can, else a
 * copy; in any case the hash is that of what is stored.  0 or errno.
 */
static int copy_live(int dir, bool is_store, int fd, struct content_hash *hash, uint64_t *size_ret,
		     bool *reading_ret)
{
	char tmp[NAME_LEN], name[NAME_LEN], hex[HASH_HEX + 1];
	int out, e;

	*reading_ret = false;
	tmp_name(tmp);
	out = os.openat(dir, tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return errno;
	store_lock_temporary(out);
	if (!os.clone_file(out, fd)) {
		e = hash_and_copy(out, UINT64_MAX, -1, hash, size_ret, reading_ret);
		*reading_ret = false;
	} else {
		e = hash_and_copy(fd, UINT64_MAX, out, hash, size_ret, reading_ret);
	}
	if (!e && os.fchmod(out, 0444))
		e = errno;
	if (!e) {
		hash_hex(hash, hex);
		snprintf(name, sizeof(name), "%s", hex);
		if (is_store) {
			store_name(hex, name);
			name[2] = 0;
			os.mkdirat(dir, name, 0700);
			name[2] = '/';
		}
		if (os.renameat(dir, tmp, dir, name))
			e = errno;
	}
	if (e)
		unlinkat(dir, tmp, 0);
	close(out);		/* only now: with it goes the lock */
	return e;
}

static bool same_times(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && timespec_ns(&a->st_mtim) == timespec_ns(&b->st_mtim) &&
		timespec_ns(&a->st_ctim) == timespec_ns(&b->st_ctim);
}

/* The file has not been touched since st was taken. */
static bool unchanged(int fd, const struct stat *st)
{
	struct stat now;

	return !os.fstat(fd, &now) && same_times(&now, st);
}

/* Without a store, or where it does not work: straight into files/.  0 or errno. */
static int take_directly(struct store *s, int fd, struct content_hash *hash, uint64_t *size_ret,
			 bool *added_ret, bool *reading_ret)
{
	char hex[HASH_HEX + 1];
	int e = hash_and_copy(fd, UINT64_MAX, -1, hash, size_ret, reading_ret);

	*added_ret = false;
	if (e)
		return e;
	hash_hex(hash, hex);
	if (has_file(s->files, hex, *size_ret))
		return 0;
	*added_ret = true;
	return copy_live(s->files, false, fd, hash, size_ret, reading_ret);
}

/* The content is in the store when this returns 0. */
static int take_to_store(struct store *s, int fd, bool shared, struct content_hash *hash,
			 uint64_t *size_ret, bool *reading_ret)
{
	char name[NAME_LEN], hex[HASH_HEX + 1];
	int e;

	if (!shared) {		/* often there already, under another key */
		e = hash_and_copy(fd, UINT64_MAX, -1, hash, size_ret, reading_ret);
		if (e)
			return e;
		hash_hex(hash, hex);
		store_name(hex, name);
		if (has_file(s->dir, name, *size_ret))
			return 0;
	}
	return copy_live(s->dir, true, fd, hash, size_ret, reading_ret);
}

int store_take(struct store *s, int fd, const struct stat *st, bool shared,
	       struct content_hash *hash, uint64_t *size_ret, bool *added_ret, bool *reading_ret)
{
	bool stable = !shared && store_stat_is_stable(st);
	char hex[HASH_HEX + 1];

	*added_ret = *reading_ret = false;
	if (s->dir >= 0 && stable && index_get(s, st, hash)) {
		hash_hex(hash, hex);
		*size_ret = (uint64_t)st->st_size;
		if (!files_from_store(s, hex, *size_ret, added_ret))
			return 0;
	}
	if (s->dir >= 0 && !take_to_store(s, fd, shared, hash, size_ret, reading_ret)) {
		hash_hex(hash, hex);
		if (!files_from_store(s, hex, *size_ret, added_ret)) {
			if (stable && unchanged(fd, st))
				index_put(s, st, hex);
			return 0;
		}
	}
	return take_directly(s, fd, hash, size_ret, added_ret, reading_ret);
}
