/*
 * collect.c - removing indexes that nobody will open again.
 *
 * An index names the content it was made from as the content store does (trace/hash.c): XXH3_128 of
 * the bytes, and for longer files of (offset, bytes) of each block that is not all zeros, then of
 * the length.  Who collects garbage knows which contents there are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "symbols/index.h"

enum { PLAIN_MAX = 64 << 20, BLOCK = 64 << 10, UNFINISHED_SECONDS = 3600 };

void content_hash(struct span s, uint8_t ret[16])
{
	static const uint8_t zeros[BLOCK];
	XXH3_state_t *state = XXH3_createState();
	XXH128_canonical_t c = { { 0 } };
	uint64_t len = s.n;

	if (!state)
		return;
	XXH3_128bits_reset(state);
	if (s.n <= PLAIN_MAX)
		XXH3_128bits_update(state, s.p, s.n);
	for (uint64_t off = 0; s.n > PLAIN_MAX && off < s.n; off += BLOCK) {
		size_t n = s.n - off < BLOCK ? s.n - off : BLOCK;

		if (!memcmp(s.p + off, zeros, n))
			continue;
		XXH3_128bits_update(state, &off, sizeof(off));
		XXH3_128bits_update(state, s.p + off, n);
	}
	if (s.n > PLAIN_MAX)
		XXH3_128bits_update(state, &len, sizeof(len));
	XXH128_canonicalFromHash(&c, XXH3_128bits_digest(state));
	XXH3_freeState(state);
	memcpy(ret, c.digest, 16);
}

/* An index, or one that is being written. */
static bool is_ours(const char *name, bool *unfinished_ret)
{
	size_t hex = strspn(name, "0123456789abcdef");
	const char *tail = name + hex;

	*unfinished_ret = false;
	if (hex != 32 || (strncmp(tail, ".names", 6) && strncmp(tail, ".frames", 7)))
		return false;
	tail += tail[1] == 'n' ? 6 : 7;
	*unfinished_ret = !strncmp(tail, ".tmp-", 5);
	return !*tail || *unfinished_ret;
}

/* Can it still be of use? */
static bool is_wanted(int dir, const char *name, symbols_content_fn *there, void *ctx)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct ix_header h;
	bool good;

	if (fd < 0)
		return true;
	good = read(fd, &h, sizeof(h)) == (ssize_t)sizeof(h) &&
	       !memcmp(h.magic, IX_MAGIC, sizeof(h.magic)) && h.version == IX_VERSION;
	close(fd);
	return good && there(ctx, h.content);
}

struct err *symbols_index_collect(const char *dir, bool dry_run, symbols_content_fn *there,
				  void *ctx, struct symbols_index_garbage *ret)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	*ret = (struct symbols_index_garbage){ 0 };
	if (!d)
		return errno == ENOENT ? NULL : err_os(errno, "cannot read %s", dir);
	while ((e = readdir(d))) {
		bool unfinished;
		struct stat st;
		uint64_t bytes;

		/* Hashes of files (identity.c) are few bytes, and soon there again. */
		if (!dry_run && !strncmp(e->d_name, IDENTITY_PREFIX, strlen(IDENTITY_PREFIX)))
			unlinkat(dirfd(d), e->d_name, 0);
		if (!is_ours(e->d_name, &unfinished) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		bytes = (uint64_t)st.st_blocks * 512;
		if (unfinished ? st.st_mtime + UNFINISHED_SECONDS > time(NULL)
			       : is_wanted(dirfd(d), e->d_name, there, ctx)) {
			ret->kept += !unfinished;
			ret->kept_bytes += unfinished ? 0 : bytes;
		} else if (dry_run || !unlinkat(dirfd(d), e->d_name, 0)) {
			ret->removed++;
			ret->removed_bytes += bytes;
		}
	}
	closedir(d);
	return NULL;
}
