/*
 * internal.h - what the files of trace/ share.  docs/format.md describes the bytes.
 */
#ifndef TRACE_INTERNAL_H
#define TRACE_INTERNAL_H

#include <string.h>

#include "trace/trace.h"

enum {
	BLOCK_EVENTS_RAW = 256 << 10,	/* what the writer makes */
	BLOCK_DATA_RAW = 1 << 20,
	BLOCK_RAW_MAX = 64 << 20,	/* what the reader accepts: one event may fill a block */
	EFFECTS_MAX = 1 << 20,		/* in one event */
	CODEC_SLOTS = 1024,
	TAIL_HEADER = 4096,
	TAIL_CHECKS = 16384,		/* records in events.tail */
	HASH_HEX = 32,
	HASH_PLAIN_MAX = 64 << 20,	/* of longer contents the hash is another: hash.c */
	META_MAX = 8 << 20,
};
/* Bytes of large data one event may carry. */
#define EVENT_DATA_MAX ((uint64_t)4 << 30)

/* An error of the operating system while writing, with the whole sentence given. */
struct err *trace_err_os(int os_errno, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))) __must_check;

/* ---- codec.c ------------------------------------------------------------------ */

/*
 * What an event is encoded relative to; empty at the start of each block.  slot[serial %
 * CODEC_SLOTS] has the last registers of that task; where another task owns the slot,
 * the base is all zeros.
 */
struct codec_slot {
	uint32_t task, generation;
	struct regs regs;
};

struct codec {
	uint64_t time_ns;
	uint32_t task, generation;
	struct codec_slot slot[CODEC_SLOTS];
};

void codec_reset(struct codec *c);
/* At most this many bytes come out of codec_encode(). */
size_t codec_bound(const struct trace_event *ev);
/* Returns the end of what was written at out, which has codec_bound() bytes of room.  The
 * data larger than TRACE_INLINE_MAX must go to the data stream in the same order. */
uint8_t *codec_encode(struct codec *c, const struct trace_event *ev, uint8_t *out);

/* Memory that decoded events live in; zeroed at first, grown as needed. */
struct codec_part {
	const uint8_t *from;	/* inline data, or NULL: in the data stream */
	uint64_t at;		/* offset in buf */
	uint32_t check;
};
struct codec_out {
	struct trace_effect *effects;
	struct codec_part *parts;
	uint8_t *buf;
	size_t effects_max, buf_max;
	uint64_t stream_len;	/* bytes of the last event in the data stream */
};

/*
 * Decode one event at *pos, move *pos behind it.  Effects get data_len, but data only when
 * the reader fetches it.  NULL, or what is wrong with the bytes ("out of memory" is possible too).
 */
const char *codec_decode(struct codec *c, const uint8_t **pos, const uint8_t *end,
			 struct trace_event *ev, struct codec_out *out);
void codec_out_deinit(struct codec_out *out);
/* "hash\0path\0" or "\0path\0", as the kind demands. */
bool codec_object_ok(const struct trace_effect *e);
uint32_t codec_check(const void *data, size_t len);

/* ---- block.c ------------------------------------------------------------------ */

enum stream_kind { STREAM_EVENTS, STREAM_DATA };
extern const char *const stream_names[2];

struct block_header {		/* little-endian, 64 bytes, see docs/format.md */
	uint32_t magic;
	uint32_t stored_len;
	uint32_t raw_len;
	uint32_t flags;		/* BLOCK_ZSTD or 0 */
	uint64_t raw_off;
	uint64_t first_event;
	uint64_t data_off;
	uint32_t count;
	uint32_t reserved;
	uint64_t payload_check;
	uint64_t header_check;
};
_Static_assert(sizeof(struct block_header) == 64, "on disk");
enum { BLOCK_ZSTD = 1 };

struct tail_header {		/* at the start of *.tail */
	uint32_t magic;
	uint32_t version;
	uint64_t raw_off;
	uint64_t first_event;
	uint64_t data_off;
	uint64_t committed;
};

struct block_pack;		/* compressor and its buffer */
struct block_pack *block_pack_create(void);
void block_pack_destroy(struct block_pack *p);

struct out_stream {
	enum stream_kind kind;
	int fd, tail_fd;
	uint64_t file_off, raw_off;	/* raw_off: of the block in the tail */
	struct tail_header *tail;
	uint8_t *bytes;			/* of the tail */
	uint32_t *checks;		/* events only */
	size_t used, room, map_len;
	uint32_t count;			/* events in the block */
	uint64_t first_event, data_off;
};

/* Files NAME and NAME.tail in dir.  0 or -1 and errno; close in either case. */
int out_stream_open(struct out_stream *s, enum stream_kind kind, int dir);
void out_stream_close(struct out_stream *s);
/* Append raw as a block of its own: 0 or an errno, and then the file is as before. */
int out_stream_block(struct out_stream *s, struct block_pack *p, const uint8_t *raw, size_t len,
		     uint32_t count);
/* Write what is in the tail, if anything; the caller then restarts it. */
int out_stream_flush(struct out_stream *s, struct block_pack *p);
/* The empty tail starts here from now on. */
void out_stream_restart(struct out_stream *s, uint64_t first_event, uint64_t data_off);

/* Blocks known so far.  The tail, when there is one, is the last. */
struct block_ref {
	uint64_t file_off, raw_off, first_event, data_off, payload_check;
	uint32_t raw_len, stored_len, count, flags;
};
struct in_stream {
	enum stream_kind kind;
	int fd;
	uint64_t file_len;
	bool complete;		/* the trace has an end mark: no tail */
	bool scanned;		/* refs is all there is */
	bool tail_ref;		/* the last ref is the tail */
	uint8_t *tail;		/* whole tail file, or NULL */
	size_t tail_len;
	struct block_ref *refs;
	size_t refs_len, refs_max;
	/* the block in memory */
	size_t loaded;		/* its index, or NOT_LOADED */
	const uint8_t *raw;
	uint8_t *raw_buf, *stored_buf;
	size_t raw_buf_max, stored_buf_max;
};
#define NOT_LOADED SIZE_MAX

/* Why a stream cannot be read on: what is wrong, and where. */
struct block_bad {
	const char *what;
	size_t block;
	uint64_t file_off;
};

/* 1: one more ref; 0: no more; -1: bad says why. */
int in_stream_scan(struct in_stream *s, struct block_bad *bad);
/* Have refs[i] in memory.  0, or -1: bad says why. */
int in_stream_load(struct in_stream *s, size_t i, struct block_bad *bad);
/* Copy bytes of the raw stream.  0, or -1. */
int in_stream_read(struct in_stream *s, uint64_t off, void *dst, size_t len,
		   struct block_bad *bad);
/* The check of record number k of the tail, as stored. */
uint32_t in_stream_tail_check(const struct in_stream *s, size_t k);
void in_stream_deinit(struct in_stream *s);

uint32_t tail_check(uint64_t n, const void *record, size_t len);
uint64_t block_header_check(const struct block_header *h);
uint32_t block_magic(enum stream_kind kind);
uint32_t tail_magic(enum stream_kind kind);
size_t tail_room(enum stream_kind kind);	/* bytes of a block in the tail */
size_t tail_file_len(enum stream_kind kind);

/* ---- meta.c ------------------------------------------------------------------- */

/* The content of the file "end". */
struct end_mark {
	struct trace_totals totals;
	uint64_t events_len, data_len;	/* sizes of the two files */
};
int meta_write(int dir, const struct trace_meta *meta);		/* 0 or errno */
int end_write(int dir, const struct end_mark *end);
/* NULL, or what is wrong with it.  meta_parse leaves meta for trace_meta_deinit() in any case;
 * when meta->version is another version, nothing else is in it. */
const char *meta_parse(const void *data, size_t len, struct trace_meta *meta);
const char *end_parse(const void *data, size_t len, struct end_mark *end);

/* ---- store.c ------------------------------------------------------------------ */

struct store {
	int dir;	/* -1: none, everything goes straight into files */
	int index;
	int files;	/* DIR/files */
};
struct content_hash {
	uint8_t byte[16];
};
/* dir may be NULL. A store that cannot be used is as good as none. */
void store_open(struct store *s, const char *dir, int files);
void store_close(struct store *s);
/*
 * Bring the content of fd into files/.  0, an errno of reading fd (*reading_ret true) or of
 * writing.
 */
int store_take(struct store *s, int fd, const struct stat *st, bool shared,
	       struct content_hash *hash_ret, uint64_t *size_ret, bool *added_ret,
	       bool *reading_ret);
/* Somebody is at work on this new temporary file, until he closes it.  (collect.c) */
void store_lock_temporary(int fd);
/* Removes what recorders that were killed have left in the store's directory.  (collect.c) */
void store_sweep(int dir);
/* These stat data will not be seen with another content, now or later. */
bool store_stat_is_stable(const struct stat *st);
void hash_hex(const struct content_hash *h, char hex[HASH_HEX + 1]);
bool hash_hex_ok(const char *hex);	/* the first HASH_HEX characters */
/* Hash len bytes of fd from offset 0.  0 or errno (ENODATA: too short). */
int hash_fd(int fd, uint64_t len, bool plain, struct content_hash *ret);
/*
 * Hash fd from the start to len bytes (or to its end, when len is UINT64_MAX), and copy what was
 * read to the empty file out when that is not -1.  0 or errno; *reading_ret says on which side. */
int hash_and_copy(int fd, uint64_t len, int out, struct content_hash *ret, uint64_t *len_ret,
		  bool *reading_ret);
void hash_from_hex(const char *hex, struct content_hash *h);
/* Bytes of a file that is not all holes. */
uint64_t file_allocated(const struct stat *st);

/* ---- object.c ----------------------------------------------------------------- */

enum { OBJECT_EFFECTS = 1024 };	/* their data stay valid this long */

struct object {
	uint64_t dev, ino, st_size, mtime_ns, ctime_ns;
	uint64_t size;			/* of the content that was stored */
	struct content_hash hash;
	uint32_t number;
	bool shared, stable;
};
struct objects {
	struct object *list;
	uint32_t *table;		/* open hash of 1 + index in list */
	uint32_t len, max, table_max;
	uint32_t next;			/* number of the next object of any kind */
	uint32_t effects;
	char *effect_data[OBJECT_EFFECTS];
};
void objects_init(struct objects *o);
void objects_deinit(struct objects *o);
uint32_t objects_number(struct objects *o);
struct object *objects_find(struct objects *o, const struct stat *st, bool shared);
struct object *objects_put(struct objects *o, const struct stat *st, bool shared);
void objects_effect(struct objects *o, uint32_t number, const char *path,
		    struct trace_effect *ret);

/* ---- small things --------------------------------------------------------------- */

int write_all(int fd, const void *data, size_t len, uint64_t off);	/* 0 or errno */
int read_all(int fd, void *data, size_t len, uint64_t off);	/* 0 or errno; ENODATA: short */
/* Regular files only, never through a symlink, never blocking: fd or -1. */
int open_plain(int dir, const char *name, struct stat *st_ret);
/* Create NAME with this content, in one step.  0 or errno. */
int write_file(int dir, const char *name, const void *data, size_t len);

#endif
