/*
 * identity.c - the hash of a file's content, without reading a file whose hash is known.
 *
 * Hashing CPython takes longer than everything else that opening a kept index does.  So the hash
 * is kept beside the indexes, under what the kernel says of the file: device, inode, size, and the
 * times of the last change to its content and to its inode.  Only root can set the latter, so a
 * file that has been changed has another name here.  Not kept: the hash of a file that changed
 * within the last seconds, which may change once more without another time.
 *
 * Rejected: build-ids, which an untrusted trace can claim for other content.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "symbols/index.h"

enum { SETTLED_SECONDS = 3 };

struct known {			/* the content of a file IDENTITY_PREFIX... */
	struct identity file;
	uint64_t hash[2], sum;
};

static int64_t nanoseconds(struct timespec t)
{
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

struct identity identity_of(const struct stat *st)
{
	return (struct identity){ .dev = st->st_dev,
				  .ino = st->st_ino,
				  .size = (uint64_t)st->st_size,
				  .changed_ns = nanoseconds(st->st_mtim),
				  .inode_changed_ns = nanoseconds(st->st_ctim) };
}

static uint64_t known_sum(const struct known *k)
{
	return XXH3_64bits(k, offsetof(struct known, sum));
}

static bool known_path(const char *dir, const struct identity *id, char ret[PATH_MAX])
{
	XXH128_hash_t h = XXH3_128bits(id, sizeof(*id));

	return dir && id->ino &&
	       snprintf(ret, PATH_MAX, "%s/" IDENTITY_PREFIX "%016llx%016llx", dir,
			(unsigned long long)h.high64, (unsigned long long)h.low64) < PATH_MAX;
}

static bool known_read(const char *path, const struct identity *id, uint64_t hash_ret[2])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct known k;
	bool good;

	if (fd < 0)
		return false;
	good = read(fd, &k, sizeof(k)) == (ssize_t)sizeof(k) && k.sum == known_sum(&k) &&
	       !memcmp(&k.file, id, sizeof(*id));
	close(fd);
	if (good)
		memcpy(hash_ret, k.hash, sizeof(k.hash));
	return good;
}

static void known_write(const char *path, const struct identity *id, const uint64_t hash[2])
{
	struct known k = { .file = *id, .hash = { hash[0], hash[1] } };
	char temp[PATH_MAX];
	bool whole;
	int fd;

	if (snprintf(temp, sizeof(temp), "%s.tmp-%d", path, (int)getpid()) >= (int)sizeof(temp))
		return;
	k.sum = known_sum(&k);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return;
	whole = write(fd, &k, sizeof(k)) == (ssize_t)sizeof(k);
	close(fd);
	if (!whole || rename(temp, path))
		unlink(temp);
}

static bool settled(const struct identity *id)
{
	struct timespec now;
	int64_t least;

	clock_gettime(CLOCK_REALTIME, &now);
	least = nanoseconds(now) - SETTLED_SECONDS * 1000000000ll;
	return id->changed_ns < least && id->inode_changed_ns < least;
}

void identity_hash(const char *dir, const struct identity *id, struct span content, uint64_t ret[2])
{
	char path[PATH_MAX];
	bool keep = known_path(dir, id, path) && settled(id);
	XXH128_hash_t h;

	if (keep && known_read(path, id, ret))
		return;
	h = XXH3_128bits(content.p, content.n);
	ret[0] = h.low64;
	ret[1] = h.high64;
	if (keep)
		known_write(path, id, ret);
}
