/* sparse.c - see sparse.h. */
#include "cmd/sparse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORTH = 1 << 20 };

static void put(unsigned char *to, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t get(const unsigned char *from)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t)from[i] << 8 * i;
	return v;
}

bool sparse_wanted(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_blocks * 512 + WORTH < st.st_size;
}

struct err *sparse_in_init(struct sparse_in *s, int fd, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_os(errno, "cannot read %s", name);
	*s = (struct sparse_in){ .fd = fd, .size = (uint64_t)st.st_size };
	return NULL;
}

/* The next piece of data, or the end. */
static struct err *next_piece(struct sparse_in *s, const char *name)
{
	off_t data = lseek(s->fd, (off_t)s->end, SEEK_DATA), hole;

	if (data < 0 && errno != ENXIO)
		return err_os(errno, "cannot find the holes of %s", name);
	if (data < 0 || (uint64_t)data >= s->size) {
		s->done = true;
		put(s->head, s->size);
		put(s->head + 8, 0);
	} else {
		hole = lseek(s->fd, data, SEEK_HOLE);
		if (hole <= data)
			return err_os(errno, "cannot find the holes of %s", name);
		s->at = (uint64_t)data;
		s->end = (uint64_t)hole < s->size ? (uint64_t)hole : s->size;
		put(s->head, s->at);
		put(s->head + 8, s->end - s->at);
	}
	s->head_left = SPARSE_HEAD;
	return NULL;
}

struct err *sparse_read(struct sparse_in *s, const char *name, void *to, size_t len, size_t *ret)
{
	unsigned char *at = to;

	for (*ret = 0; *ret < len;) {
		size_t n = len - *ret;

		if (s->head_left) {
			n = n < s->head_left ? n : s->head_left;
			memcpy(at + *ret, s->head + SPARSE_HEAD - s->head_left, n);
			s->head_left -= n;
		} else if (s->at < s->end) {
			ssize_t got = pread(s->fd, at + *ret,
					    n < s->end - s->at ? n : (size_t)(s->end - s->at),
					    (off_t)s->at);

			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				return err_os(got ? errno : ENODATA, "cannot read %s", name);
			n = (size_t)got;
			s->at += n;
		} else if (s->done) {
			break;
		} else {
			TRY(next_piece(s, name));
			continue;
		}
		*ret += n;
	}
	return NULL;
}

static struct err *unsound(const char *name)
{
	return err_new(ERR_TRACE, "damaged: the pieces of %s make no file", name);
}

static struct err *new_piece(struct sparse_out *s, const char *name)
{
	s->at = get(s->head);
	s->left = get(s->head + 8);
	s->head_have = 0;
	if (s->at > INT64_MAX || s->left > INT64_MAX - s->at)
		return unsound(name);
	if (s->left)
		return NULL;
	s->done = true;
	return ftruncate(s->fd, (off_t)s->at) < 0 ? err_os(errno, "cannot write %s", name) : NULL;
}

struct err *sparse_write(struct sparse_out *s, const char *name, const void *from, size_t len)
{
	const unsigned char *at = from;

	while (len) {
		size_t n = len;

		if (s->done)
			return unsound(name);
		if (s->left) {
			ssize_t put =
				pwrite(s->fd, at, n < s->left ? n : (size_t)s->left, (off_t)s->at);

			if (put < 0 && errno == EINTR)
				continue;
			if (put <= 0)
				return err_os(put ? errno : EIO, "cannot write %s", name);
			n = (size_t)put;
			s->at += n;
			s->left -= n;
		} else {
			n = n < SPARSE_HEAD - s->head_have ? n : SPARSE_HEAD - s->head_have;
			memcpy(s->head + s->head_have, at, n);
			s->head_have += n;
			if (s->head_have == SPARSE_HEAD)
				TRY(new_piece(s, name));
		}
		at += n;
		len -= n;
	}
	return NULL;
}
