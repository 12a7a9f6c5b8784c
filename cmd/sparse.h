/*
 * sparse.h - a file with holes as a stream of bytes, and back.
 *
 *	0	8	offset in the file
 *	8	8	N: bytes of data there; 0: the end, offset is the size of the file
 *	16	N	the data
 *	...
 *
 * Numbers are little-endian.
 */
#ifndef CMD_SPARSE_H
#define CMD_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { SPARSE_HEAD = 16 };

struct sparse_in {
	int fd;
	uint64_t at, end, size;		/* data left: [at, end) */
	unsigned char head[SPARSE_HEAD];
	size_t head_left;
	bool done;
};

struct sparse_out {
	int fd;
	uint64_t at, left;
	unsigned char head[SPARSE_HEAD];
	size_t head_have;
	bool done;
};

/* Has the file holes that are worth it? */
bool sparse_wanted(int fd);
struct err *sparse_in_init(struct sparse_in *s, int fd, const char *name) __must_check;
/* At most len bytes of the stream; *ret < len only at its end. */
struct err *sparse_read(struct sparse_in *s, const char *name, void *to, size_t len,
			size_t *ret) __must_check;
/* More of the stream, for the empty file s->fd.  ERR_TRACE when it is not sound. */
struct err *sparse_write(struct sparse_out *s, const char *name, const void *from,
			 size_t len) __must_check;

#endif
