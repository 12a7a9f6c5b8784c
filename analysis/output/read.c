/*
 * read.c - which format a profile has that somebody else wrote; gzip.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "analysis/output/internal.h"

enum { GZIP = 16 + MAX_WBITS, FIRST = 1 << 20 };

/* Unpacks one gzip member after the other; *ret is the caller's to free, ends in a NUL. */
static struct err *unpack(const uint8_t *bytes, size_t len, uint8_t **ret, size_t *len_ret)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)bytes, .avail_in = (uInt)len };
	size_t cap = FIRST, n = 0;
	uint8_t *out = malloc(cap + 1);
	struct err *err = NULL;
	int rc = Z_OK;

	if (!out || inflateInit2(&z, GZIP) != Z_OK) {
		free(out);
		return &err_nomem;
	}
	while (!err) {
		if (n == cap) {
			uint8_t *more = cap < PROFILE_INPUT_MAX ? realloc(out, cap * 2 + 1) : NULL;

			if (!more) {
				err = err_new(ERR_USAGE,
					      "it is larger than %d MB when it is unpacked",
					      PROFILE_INPUT_MAX >> 20);
				break;
			}
			out = more;
			cap *= 2;
		}
		z.next_out = out + n;
		z.avail_out = (uInt)(cap - n);
		rc = inflate(&z, Z_NO_FLUSH);
		n = cap - z.avail_out;
		if (rc == Z_STREAM_END && (z.avail_in < 2 || z.next_in[0] != 0x1f))
			break;
		if (rc == Z_STREAM_END)
			rc = inflateReset(&z);
		if (rc != Z_OK)
			err = err_new(ERR_USAGE, "its gzip data is cut or damaged");
	}
	inflateEnd(&z);
	if (err) {
		free(out);
		return err;
	}
	out[n] = 0;
	*ret = out;
	*len_ret = n;
	return NULL;
}

static struct err *copy(const uint8_t *bytes, size_t len, uint8_t **ret, size_t *len_ret)
{
	*ret = malloc(len + 1);
	if (!*ret)
		return &err_nomem;
	memcpy(*ret, bytes, len);
	(*ret)[len] = 0;
	*len_ret = len;
	return NULL;
}

struct err *profile_read(const void *bytes, size_t len, struct profile **ret)
{
	const uint8_t *b = bytes;
	struct profile *p;
	struct err *err;
	uint8_t *plain;
	size_t n;

	if (len > PROFILE_INPUT_MAX)
		return err_new(ERR_USAGE, "it is larger than %d MB", PROFILE_INPUT_MAX >> 20);
	if (!len)
		return err_new(ERR_USAGE, "it is empty");
	TRY(len > 2 && b[0] == 0x1f && b[1] == 0x8b ? unpack(b, len, &plain, &n)
						    : copy(b, len, &plain, &n));
	p = profile_create();
	err = heap_is_text((char *)plain, n) ? heap_read((char *)plain, n, p)
					     : pprof_read(plain, n, p);
	free(plain);
	if (err) {
		profile_destroy(p);
		return err;
	}
	*ret = p;
	return NULL;
}

static struct err *read_all(int fd, const char *path, uint8_t **ret, size_t *len_ret)
{
	size_t cap = FIRST, n = 0;
	uint8_t *b = malloc(cap);
	ssize_t got = 1;

	while (b && got > 0 && n <= PROFILE_INPUT_MAX) {
		if (n == cap) {
			uint8_t *more = realloc(b, cap *= 2);

			if (!more)
				break;
			b = more;
		}
		got = read(fd, b + n, cap - n);
		n += got > 0 ? (size_t)got : 0;
	}
	*ret = b;
	*len_ret = n;
	if (!b)
		return &err_nomem;
	return got < 0 ? err_os(errno, "cannot read %s", path) : NULL;
}

struct err *profile_read_file(const char *path, struct profile **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err *err;
	uint8_t *b;
	size_t n;

	if (fd < 0)
		return err_os(errno, "cannot open %s", path);
	err = read_all(fd, path, &b, &n);
	close(fd);
	if (!err) {
		err = profile_read(b, n, ret);
		if (err)
			err = err_wrap(err, "%s is no profile that can be read", path);
	}
	free(b);
	return err;
}
