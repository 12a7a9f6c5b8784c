/*
 * hash.c - the name of a content: a hash of its bytes, of which holes are not read.
 *
 *	up to HASH_PLAIN_MAX bytes	XXH3_128 of the bytes
 *	longer				XXH3_128 of (offset, bytes) of each block of 64 KB that is
 *					not all zeros (the last may be shorter), then of the length
 *
 * So a sparse file of terabytes costs what is in it, and has the same name wherever its holes got
 * lost.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/os.h"
#include "trace/internal.h"

enum { CHUNK = 256 << 10, BLOCK = 64 << 10 };

void hash_hex(const struct content_hash *h, char hex[HASH_HEX + 1])
{
	for (int i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", h->byte[i]);
}

bool hash_hex_ok(const char *hex)
{
	for (int i = 0; i < HASH_HEX; i++)
		if (!(hex[i] >= '0' && hex[i] <= '9') && !(hex[i] >= 'a' && hex[i] <= 'f'))
			return false;
	return true;
}

void hash_from_hex(const char *hex, struct content_hash *h)
{
	for (int i = 0; i < 16; i++)
		sscanf(hex + 2 * i, "%2hhx", &h->byte[i]);
}

uint64_t file_allocated(const struct stat *st)
{
	uint64_t blocks = (uint64_t)st->st_blocks * 512;

	return blocks < (uint64_t)st->st_size ? blocks : (uint64_t)st->st_size;
}

/* A file on its way through us. */
struct passing {
	int fd, out;		/* out: -1, or where it goes, as sparse as it came */
	bool plain;		/* the hash is that of all bytes */
	XXH3_state_t *state;
	uint64_t hole;		/* data until there; what is behind is not known yet */
};

static const uint8_t zeros[BLOCK];

static void pass_zeros(struct passing *p, uint64_t len)
{
	for (; p->plain && len; len -= len < BLOCK ? len : BLOCK)
		XXH3_128bits_update(p->state, zeros, len < BLOCK ? (size_t)len : BLOCK);
}

/* Passes one block at off.  0 or errno. */
static int pass_block(struct passing *p, const uint8_t *bytes, size_t len, uint64_t off)
{
	if (!memcmp(bytes, zeros, len)) {
		pass_zeros(p, len);
		return 0;
	}
	if (!p->plain)
		XXH3_128bits_update(p->state, &off, sizeof(off));
	XXH3_128bits_update(p->state, bytes, len);
	return p->out < 0 ? 0 : write_all(p->out, bytes, len, off);
}

/* How many bytes from off on are a hole, in whole blocks. */
static uint64_t hole_at(struct passing *p, uint64_t off, uint64_t end)
{
	off_t data, hole;

	if (off < p->hole)
		return 0;
	data = lseek(p->fd, (off_t)off, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		data = (off_t)end;
	hole = data < 0 ? -1 : (uint64_t)data < end ? lseek(p->fd, data, SEEK_HOLE) : (off_t)end;
	p->hole = hole < 0 ? UINT64_MAX : (uint64_t)hole;	/* not to be known here: read all */
	if (hole < 0)
		return 0;
	return (uint64_t)data >= end ? end - off : ((uint64_t)data - off) & ~(uint64_t)(BLOCK - 1);
}

/* The content up to end; *done_ret: how far it got.  0 or errno. */
static int pass_all(struct passing *p, uint8_t *buf, uint64_t end, uint64_t *done_ret,
		    bool *reading_ret)
{
	uint64_t done = 0;
	int e = 0;

	while (!e && done < end) {
		uint64_t hole = hole_at(p, done, end);
		size_t want = end - done < CHUNK ? (size_t)(end - done) : CHUNK, got = 0;
		ssize_t n = 1;

		if (hole) {
			pass_zeros(p, hole);
			done += hole;
			continue;
		}
		while (got < want && n) {
			n = os.pread(p->fd, buf + got, want - got, (off_t)(done + got));
			if (n < 0 && errno != EINTR) {
				*reading_ret = true;
				return errno;
			}
			got += n > 0 ? (size_t)n : 0;
		}
		for (size_t i = 0; i < got && !e; i += BLOCK)
			e = pass_block(p, buf + i, got - i < BLOCK ? got - i : BLOCK, done + i);
		done += got;
		if (got < want)
			break;
	}
	*done_ret = done;
	return e;
}

static int pass_end(struct passing *p, uint64_t len, struct content_hash *ret)
{
	XXH128_canonical_t c;
	struct stat st;

	if (!p->plain)
		XXH3_128bits_update(p->state, &len, sizeof(len));
	XXH128_canonicalFromHash(&c, XXH3_128bits_digest(p->state));
	memcpy(ret->byte, c.digest, sizeof(ret->byte));
	if (p->out < 0 || (!os.fstat(p->out, &st) && (uint64_t)st.st_size == len))
		return 0;
	return ftruncate(p->out, (off_t)len) ? errno : 0;
}

static int pass(int fd, uint64_t len, bool plain, int out, struct content_hash *ret,
		uint64_t *len_ret, bool *reading_ret)
{
	struct passing p = { .fd = fd, .out = out };
	off_t position = lseek(fd, 0, SEEK_CUR);	/* which looking for holes moves */
	uint8_t *buf = malloc(CHUNK);
	uint64_t end = len;
	struct stat st;
	int e = 0;

	*reading_ret = false;
	p.state = XXH3_createState();
	if (!p.state || !buf) {
		e = ENOMEM;
	} else if (len == UINT64_MAX) {
		*reading_ret = os.fstat(fd, &st) != 0;
		e = *reading_ret ? errno : 0;
		end = e ? 0 : (uint64_t)st.st_size;
	}
	if (!e) {
		p.plain = plain || end <= HASH_PLAIN_MAX;
		XXH3_128bits_reset(p.state);
		e = pass_all(&p, buf, end, len_ret, reading_ret);
	}
	if (!e && *len_ret < end && len != UINT64_MAX) {
		*reading_ret = true;
		e = ENODATA;
	}
	if (!e)
		e = pass_end(&p, *len_ret, ret);
	if (position >= 0)
		lseek(fd, position, SEEK_SET);
	XXH3_freeState(p.state);
	free(buf);
	return e;
}

int hash_and_copy(int fd, uint64_t len, int out, struct content_hash *ret, uint64_t *len_ret,
		  bool *reading_ret)
{
	return pass(fd, len, false, out, ret, len_ret, reading_ret);
}

int hash_fd(int fd, uint64_t len, bool plain, struct content_hash *ret)
{
	uint64_t done;
	bool reading;

	return pass(fd, len, plain, -1, ret, &done, &reading);
}
