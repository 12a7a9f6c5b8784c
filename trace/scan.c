/*
 * scan.c - reading the two streams: block after block, then the tail.
 *
 * refs[] lists the blocks found so far, in order, without gaps; it grows as the reader
 * moves on, so opening a long trace costs nothing.  One block is in memory at a time.
 * Nothing is allocated because a length says so before as many bytes are known to be in
 * the file; raw_len is at most BLOCK_RAW_MAX.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "trace/internal.h"

static int bad_at(struct block_bad *bad, size_t block, uint64_t file_off, const char *what)
{
	*bad = (struct block_bad){ what, block, file_off };
	return -1;
}

static bool grow(uint8_t **buf, size_t *max, size_t len)
{
	uint8_t *bigger;

	if (len <= *max)
		return true;
	bigger = realloc(*buf, len);
	if (!bigger)
		return false;
	*buf = bigger;
	*max = len;
	return true;
}

static bool add_ref(struct in_stream *s, const struct block_ref *ref)
{
	if (s->refs_len == s->refs_max) {
		size_t max = s->refs_max ? s->refs_max * 2 : 16;
		struct block_ref *refs = realloc(s->refs, max * sizeof(*refs));

		if (!refs)
			return false;
		s->refs = refs;
		s->refs_max = max;
	}
	s->refs[s->refs_len++] = *ref;
	return true;
}

/* Where the next block must start: the end of what is known. */
static struct block_ref expected(const struct in_stream *s)
{
	struct block_ref next = { .first_event = s->kind == STREAM_EVENTS };
	const struct block_ref *last;

	if (s->refs_len) {
		last = &s->refs[s->refs_len - 1];
		next.file_off = last->file_off + sizeof(struct block_header) + last->stored_len;
		next.raw_off = last->raw_off + last->raw_len;
		next.first_event = last->first_event + last->count;
		next.data_off = last->data_off;
	}
	return next;
}

static const char *header_wrong(const struct in_stream *s, const struct block_header *h,
				const struct block_ref *next)
{
	bool events = s->kind == STREAM_EVENTS;

	if (h->magic != block_magic(s->kind))
		return "this is no block";
	if (h->header_check != block_header_check(h))
		return "the checksum of its header differs";
	if (!h->raw_len || h->raw_len > BLOCK_RAW_MAX || (h->flags & ~(uint32_t)BLOCK_ZSTD) ||
	    (!h->flags && h->stored_len != h->raw_len))
		return "its lengths are impossible";
	if (h->raw_off != next->raw_off || h->first_event != next->first_event)
		return "a block is missing before it";
	if (events ? !h->count || h->count > h->raw_len || h->data_off < next->data_off
		   : h->count || h->data_off)
		return "its numbers are impossible";
	return NULL;
}

/* The tail as last block; 1, 0 or -1 as in_stream_scan(). */
static int scan_tail(struct in_stream *s, const struct block_ref *next, struct block_bad *bad)
{
	struct tail_header t;
	struct block_ref ref = *next;

	s->scanned = true;
	if (s->complete || !s->tail)
		return 0;
	if (s->tail_len < tail_file_len(s->kind))
		return bad_at(bad, s->refs_len, 0, "the tail file is cut short");
	memcpy(&t, s->tail, sizeof(t));
	if (t.magic != tail_magic(s->kind) || t.version != TRACE_VERSION)
		return bad_at(bad, s->refs_len, 0, "the tail file has a wrong header");
	if (!t.committed || t.raw_off < next->raw_off)	/* empty, or written as a block */
		return 0;
	if (t.raw_off > next->raw_off)
		return bad_at(bad, s->refs_len, next->file_off, "blocks are missing here");
	if (t.committed > tail_room(s->kind) || t.first_event != next->first_event ||
	    t.data_off < next->data_off)
		return bad_at(bad, s->refs_len, 0, "the tail file has a wrong header");
	ref.raw_len = (uint32_t)t.committed;
	ref.data_off = t.data_off;
	ref.count = s->kind == STREAM_EVENTS ? UINT32_MAX : 0;	/* found out by decoding */
	if (!add_ref(s, &ref))
		return bad_at(bad, s->refs_len, 0, err_nomem.msg);
	s->tail_ref = true;
	return 1;
}

int in_stream_scan(struct in_stream *s, struct block_bad *bad)
{
	struct block_ref next = expected(s);
	struct block_header h;
	const char *wrong;
	int e;

	if (s->scanned)
		return 0;
	if (next.file_off == s->file_len)
		return scan_tail(s, &next, bad);
	e = s->file_len - next.file_off < sizeof(h) ? ENODATA :
		read_all(s->fd, &h, sizeof(h), next.file_off);
	if (!e) {
		wrong = header_wrong(s, &h, &next);
		if (wrong)
			return bad_at(bad, s->refs_len, next.file_off, wrong);
		if (h.stored_len > s->file_len - next.file_off - sizeof(h))
			e = ENODATA;
	}
	if (e == ENODATA && !s->complete)	/* died within the append */
		return scan_tail(s, &next, bad);
	if (e)
		return bad_at(bad, s->refs_len, next.file_off,
			      e == ENODATA ? "it is cut short" : strerror(e));
	next.data_off = h.data_off;
	next.payload_check = h.payload_check;
	next.raw_len = h.raw_len;
	next.stored_len = h.stored_len;
	next.count = h.count;
	next.flags = h.flags;
	if (!add_ref(s, &next))
		return bad_at(bad, s->refs_len, next.file_off, err_nomem.msg);
	return 1;
}

static const char *unpack(struct in_stream *s, const struct block_ref *ref)
{
	size_t n;
	int e;

	if (!grow(&s->stored_buf, &s->stored_buf_max, ref->stored_len))
		return err_nomem.msg;
	e = read_all(s->fd, s->stored_buf, ref->stored_len,
		     ref->file_off + sizeof(struct block_header));
	if (e)
		return e == ENODATA ? "it is cut short" : strerror(e);
	if (XXH3_64bits(s->stored_buf, ref->stored_len) != ref->payload_check)
		return "its checksum differs";
	if (!(ref->flags & BLOCK_ZSTD)) {
		s->raw = s->stored_buf;
		return NULL;
	}
	if (ZSTD_getFrameContentSize(s->stored_buf, ref->stored_len) != ref->raw_len)
		return "it does not unpack to its length";
	if (!grow(&s->raw_buf, &s->raw_buf_max, ref->raw_len))
		return err_nomem.msg;
	n = ZSTD_decompress(s->raw_buf, ref->raw_len, s->stored_buf, ref->stored_len);
	if (ZSTD_isError(n) || n != ref->raw_len)
		return "it does not unpack";
	s->raw = s->raw_buf;
	return NULL;
}

int in_stream_load(struct in_stream *s, size_t i, struct block_bad *bad)
{
	const char *what = NULL;

	if (s->loaded == i)
		return 0;
	s->loaded = NOT_LOADED;
	if (s->tail_ref && i == s->refs_len - 1)
		s->raw = s->tail + TAIL_HEADER;
	else
		what = unpack(s, &s->refs[i]);
	if (what)
		return bad_at(bad, i, s->refs[i].file_off, what);
	s->loaded = i;
	return 0;
}

/* Index of the block that has the byte at off: 0, or -1 as there is none. */
static int find_block(struct in_stream *s, uint64_t off, size_t *ret, struct block_bad *bad)
{
	size_t low = 0, high;

	for (;;) {
		struct block_ref next = expected(s);
		int more;

		if (off < next.raw_off)
			break;
		more = in_stream_scan(s, bad);
		if (more < 0)
			return -1;
		if (!more)
			return bad_at(bad, s->refs_len, next.file_off, "data are missing here");
	}
	if (s->loaded != NOT_LOADED && off >= s->refs[s->loaded].raw_off)
		low = s->loaded;
	high = s->refs_len;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (s->refs[mid].raw_off <= off)
			low = mid;
		else
			high = mid;
	}
	*ret = low;
	return 0;
}

int in_stream_read(struct in_stream *s, uint64_t off, void *dst, size_t len,
		   struct block_bad *bad)
{
	uint8_t *to = dst;

	while (len) {
		const struct block_ref *ref;
		size_t i, at, n;

		if (s->loaded != NOT_LOADED && off - s->refs[s->loaded].raw_off <
		    s->refs[s->loaded].raw_len)
			i = s->loaded;
		else if (find_block(s, off, &i, bad) || in_stream_load(s, i, bad))
			return -1;
		ref = &s->refs[i];
		at = off - ref->raw_off;
		n = ref->raw_len - at < len ? ref->raw_len - at : len;
		memcpy(to, s->raw + at, n);
		to += n;
		off += n;
		len -= n;
	}
	return 0;
}

uint32_t in_stream_tail_check(const struct in_stream *s, size_t k)
{
	uint32_t check = 0;

	if (k < TAIL_CHECKS)
		memcpy(&check, s->tail + TAIL_HEADER + BLOCK_EVENTS_RAW + k * sizeof(check),
		       sizeof(check));
	return check;
}

void in_stream_deinit(struct in_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->tail);
	free(s->refs);
	free(s->raw_buf);
	free(s->stored_buf);
	*s = (struct in_stream){ .fd = -1, .loaded = NOT_LOADED };
}
