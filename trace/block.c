/*
 * block.c - writing the two streams.
 *
 * A stream is an endless row of bytes, cut into blocks.  The block being filled lives in a
 * file of its own, NAME.tail, mapped shared:
 *
 *	header { magic, raw_off, first_event, data_off, committed }	4096 bytes
 *	bytes of the block						256 KB or 1 MB
 *	events only: u32 check for each event in the block		64 KB
 *
 * A store into a shared mapping belongs to the kernel at once, so it outlives a kill -9 of
 * the recorder.  `committed` is stored last, after the bytes it covers, and the data of an
 * event before the event.  The file is allocated in full when it is made, so a full disk
 * cannot raise SIGBUS (but for file systems that copy on write).
 *
 * A full block is compressed and appended to NAME, then the tail starts over.  Death
 *   - before or within the append leaves a piece of a block at the end of NAME, which ends
 *     too early: the reader stops there and takes the tail, which has it all;
 *   - between append and restart leaves the same block twice: the reader drops a tail
 *     whose raw_off lies before the end of the blocks;
 *   - within the restart: committed is zeroed first, and an empty tail is ignored.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/os.h"
#include "trace/internal.h"

const char *const stream_names[2] = { "events", "data" };

static const uint32_t block_magics[2] = { 0x62657348 /* Hseb */, 0x62647348 /* Hsdb */ };
static const uint32_t tail_magics[2] = { 0x74657348 /* Hset */, 0x74647348 /* Hsdt */ };

uint32_t block_magic(enum stream_kind kind)
{
	return block_magics[kind];
}

uint32_t tail_magic(enum stream_kind kind)
{
	return tail_magics[kind];
}

size_t tail_room(enum stream_kind kind)
{
	return kind == STREAM_EVENTS ? BLOCK_EVENTS_RAW : BLOCK_DATA_RAW;
}

size_t tail_file_len(enum stream_kind kind)
{
	return TAIL_HEADER + tail_room(kind) +
		(kind == STREAM_EVENTS ? TAIL_CHECKS * sizeof(uint32_t) : 0);
}

uint64_t block_header_check(const struct block_header *h)
{
	return XXH3_64bits(h, offsetof(struct block_header, header_check));
}

uint32_t tail_check(uint64_t n, const void *record, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(record, len, n);
}

/* ---- compression ---------------------------------------------------------------- */

struct block_pack {
	ZSTD_CCtx *zstd;
	size_t max;
	uint8_t *buf;	/* header, then payload */
};

static size_t pack_max(size_t raw_len)
{
	return sizeof(struct block_header) + ZSTD_compressBound(raw_len);
}

struct block_pack *block_pack_create(void)
{
	struct block_pack *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->max = pack_max(BLOCK_DATA_RAW);
	p->buf = malloc(p->max);
	p->zstd = ZSTD_createCCtx();
	if (!p->buf || !p->zstd) {
		block_pack_destroy(p);
		return NULL;
	}
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, 1);
	return p;
}

void block_pack_destroy(struct block_pack *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p->buf);
	free(p);
}

/* Header and payload into buf, which has pack_max(h->raw_len) bytes.  Returns their length. */
static size_t pack_into(struct block_pack *p, uint8_t *buf, struct block_header *h,
			const uint8_t *raw)
{
	uint8_t *payload = buf + sizeof(*h);
	size_t n = ZSTD_compress2(p->zstd, payload, ZSTD_compressBound(h->raw_len), raw,
				  h->raw_len);

	h->flags = BLOCK_ZSTD;
	if (ZSTD_isError(n) || n >= h->raw_len) {
		h->flags = 0;
		n = h->raw_len;
		memcpy(payload, raw, n);
	}
	h->stored_len = (uint32_t)n;
	h->payload_check = XXH3_64bits(payload, n);
	h->header_check = block_header_check(h);
	memcpy(buf, h, sizeof(*h));
	return sizeof(*h) + n;
}

/* ---- streams -------------------------------------------------------------------- */

int out_stream_open(struct out_stream *s, enum stream_kind kind, int dir)
{
	char tail_name[32];
	int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
	void *map = MAP_FAILED;

	*s = (struct out_stream){ .kind = kind, .fd = -1, .tail_fd = -1 };
	s->room = tail_room(kind);
	s->map_len = tail_file_len(kind);
	snprintf(tail_name, sizeof(tail_name), "%s.tail", stream_names[kind]);
	s->fd = os.openat(dir, stream_names[kind], flags, 0666);
	if (s->fd >= 0)
		s->tail_fd = os.openat(dir, tail_name, flags, 0666);
	if (s->tail_fd >= 0 && !os.allocate(s->tail_fd, 0, (off_t)s->map_len))
		map = os.mmap(NULL, s->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, s->tail_fd, 0);
	if (map == MAP_FAILED)
		return -1;
	madvise(map, s->map_len, MADV_DONTFORK);
	s->tail = map;
	s->bytes = (uint8_t *)map + TAIL_HEADER;
	s->checks = kind == STREAM_EVENTS ? (uint32_t *)(s->bytes + s->room) : NULL;
	s->tail->magic = tail_magic(kind);
	s->tail->version = TRACE_VERSION;
	out_stream_restart(s, 1, 0);
	return 0;
}

void out_stream_close(struct out_stream *s)
{
	int e = errno;

	if (s->tail)
		munmap(s->tail, s->map_len);
	if (s->fd >= 0)
		close(s->fd);
	if (s->tail_fd >= 0)
		close(s->tail_fd);
	s->tail = NULL;
	s->fd = s->tail_fd = -1;
	errno = e;
}

void out_stream_restart(struct out_stream *s, uint64_t first_event, uint64_t data_off)
{
	struct tail_header *t = s->tail;

	__atomic_store_n(&t->committed, 0, __ATOMIC_RELEASE);
	atomic_signal_fence(memory_order_seq_cst);
	s->used = 0;
	s->count = 0;
	s->first_event = s->kind == STREAM_EVENTS ? first_event : 0;
	s->data_off = s->kind == STREAM_EVENTS ? data_off : 0;
	__atomic_store_n(&t->first_event, s->first_event, __ATOMIC_RELEASE);
	__atomic_store_n(&t->data_off, s->data_off, __ATOMIC_RELEASE);
	__atomic_store_n(&t->raw_off, s->raw_off, __ATOMIC_RELEASE);
	atomic_signal_fence(memory_order_seq_cst);
}

int out_stream_block(struct out_stream *s, struct block_pack *p, const uint8_t *raw, size_t len,
		     uint32_t count)
{
	struct block_header h = {
		.magic = block_magic(s->kind), .raw_len = (uint32_t)len, .raw_off = s->raw_off,
		.first_event = s->first_event, .data_off = s->data_off, .count = count,
	};
	uint8_t *buf = p->buf;
	size_t n;
	int e;

	if (pack_max(len) > p->max) {
		buf = malloc(pack_max(len));
		if (!buf)
			return ENOMEM;
	}
	n = pack_into(p, buf, &h, raw);
	e = write_all(s->fd, buf, n, s->file_off);
	if (buf != p->buf)
		free(buf);
	if (e) {	/* tidy, not needed: the reader copes with a piece of a block */
		os.truncate_fd(s->fd, (off_t)s->file_off);
		return e;
	}
	s->file_off += n;
	s->raw_off += len;
	return 0;
}

int out_stream_flush(struct out_stream *s, struct block_pack *p)
{
	if (!s->used)
		return 0;
	return out_stream_block(s, p, s->bytes, s->used, s->count);
}
