/*
 * writer.c - from events to a trace directory.
 *
 * trace_writer_event() is the recorder's hottest call: it encodes straight into the mapped
 * tail of the events stream (block.c), and that is all until a block is full.  Memory is
 * fixed: two mapped tails, the compressor, the registers of up to CODEC_SLOTS tasks (codec.c);
 * only the table of mapped files (object.c) grows, with the number of files.
 *
 * The first failure to write ends the trace after its last whole event: `dead`.  From
 * then on every call does nothing and succeeds, so the program under the recorder runs on.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/os.h"
#include "trace/internal.h"

struct trace_writer {
	char *dir;
	int dir_fd, files_fd;
	bool dead;
	struct out_stream events, data;
	struct block_pack *pack;
	uint64_t n;			/* events written */
	uint64_t duration_ns;
	uint64_t limit;			/* of events and data on the disk; 0: none */
	struct store store;
	struct objects objects;
	uint64_t files, file_bytes;
	struct codec codec;
};

/* ---- creating ------------------------------------------------------------------- */

static const char *const writer_files[] = { "meta", "meta.tmp", "events", "events.tail", "data",
					    "data.tail" };

static void writer_free(struct trace_writer *w)
{
	out_stream_close(&w->events);
	out_stream_close(&w->data);
	block_pack_destroy(w->pack);
	store_close(&w->store);
	objects_deinit(&w->objects);
	if (w->files_fd >= 0)
		close(w->files_fd);
	if (w->dir_fd >= 0)
		close(w->dir_fd);
	free(w->dir);
	free(w);
}

/* Leave nothing behind of a trace that never began. */
static void writer_undo(struct trace_writer *w)
{
	for (size_t i = 0; i < sizeof(writer_files) / sizeof(*writer_files); i++)
		unlinkat(w->dir_fd, writer_files[i], 0);
	unlinkat(w->dir_fd, "files", AT_REMOVEDIR);
	rmdir(w->dir);
}

static bool is_empty_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e = NULL;

	if (!d)
		return false;
	do
		e = readdir(d);
	while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	closedir(d);
	return !e;
}

static void make_uuid(char uuid[37])
{
	uint8_t b[16] = { 0 };

	if (getrandom(b, sizeof(b), GRND_NONBLOCK) != sizeof(b)) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		memcpy(b, &now, sizeof(b));
		b[0] ^= (uint8_t)getpid();
	}
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(uuid, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		 b[13], b[14], b[15]);
}

/* 0 or errno. */
static int create_meta(struct trace_writer *w, const struct trace_meta *meta)
{
	struct trace_meta m = *meta;

	m.version = TRACE_VERSION;
	if (!m.uuid[0])
		make_uuid(m.uuid);
	if (!m.start_realtime_ns)
		m.start_realtime_ns = clock_ns(CLOCK_REALTIME);
	return meta_write(w->dir_fd, &m);
}

/*
 * Take possession of the directory: of two writers that found it empty, one makes "files".
 * 0 or errno.
 */
static int claim_dir(struct trace_writer *w)
{
	int e = os.mkdirat(AT_FDCWD, w->dir, 0700) ? errno : 0;

	if (e && (e != EEXIST || !is_empty_dir(w->dir)))
		return e;
	w->dir_fd = os.openat(AT_FDCWD, w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (w->dir_fd >= 0 && !os.mkdirat(w->dir_fd, "files", 0777))
		return 0;
	e = errno;
	rmdir(w->dir);		/* does nothing when it is another's by now */
	return e;
}

/* Makes the files of the new directory.  0 or errno. */
static int create_files(struct trace_writer *w, const char *store_dir,
			const struct trace_meta *meta)
{
	w->files_fd = os.openat(w->dir_fd, "files", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (w->files_fd < 0)
		return errno;
	w->pack = block_pack_create();
	if (!w->pack)
		return ENOMEM;
	if (out_stream_open(&w->events, STREAM_EVENTS, w->dir_fd) ||
	    out_stream_open(&w->data, STREAM_DATA, w->dir_fd))
		return errno;
	store_open(&w->store, store_dir, w->files_fd);
	return create_meta(w, meta);
}

struct err *trace_writer_create(const char *dir, const char *store_dir,
				const struct trace_meta *meta, struct trace_writer **ret)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	int e;

	if (!w)
		return &err_nomem;
	w->dir_fd = w->files_fd = w->events.fd = w->events.tail_fd = w->data.fd =
		w->data.tail_fd = w->store.dir = w->store.index = -1;
	objects_init(&w->objects);
	w->dir = strdup(dir);
	if (!w->dir) {
		writer_free(w);
		return &err_nomem;
	}
	e = claim_dir(w);
	if (!e) {
		e = create_files(w, store_dir, meta);
		if (e)
			writer_undo(w);
	}
	if (e) {
		writer_free(w);
		return err_os(e, "cannot create the trace %s", dir);
	}
	codec_reset(&w->codec);
	*ret = w;
	return NULL;
}

/* ---- events --------------------------------------------------------------------- */

static struct err *die(struct trace_writer *w, int e)
{
	w->dead = true;
	return trace_err_os(e, "cannot write the trace %s: %s: recording ended at event %" PRIu64
			    ", the program goes on unrecorded", w->dir, strerror(e), w->n);
}

static const char *const tails[] = { "events.tail", "data.tail" };

static uint64_t data_off(const struct trace_writer *w)
{
	return w->data.raw_off + w->data.used;
}

static void restart_events(struct trace_writer *w)
{
	out_stream_restart(&w->events, w->n + 1, data_off(w));
	codec_reset(&w->codec);
}

/* 0 or errno */
static int flush_events(struct trace_writer *w)
{
	int e = out_stream_flush(&w->events, w->pack);

	if (!e)
		restart_events(w);
	return e;
}

static int flush_data(struct trace_writer *w)
{
	int e = out_stream_flush(&w->data, w->pack);

	if (!e)
		out_stream_restart(&w->data, 0, 0);
	return e;
}

static int append_data(struct trace_writer *w, const uint8_t *from, size_t len)
{
	struct out_stream *s = &w->data;

	while (len) {
		size_t n = s->room - s->used < len ? s->room - s->used : len;

		memcpy(s->bytes + s->used, from, n);
		s->used += n;
		__atomic_store_n(&s->tail->committed, s->used, __ATOMIC_RELEASE);
		from += n;
		len -= n;
		if (s->used == s->room) {
			int e = flush_data(w);

			if (e)
				return e;
		}
	}
	return 0;
}

static int append_all_data(struct trace_writer *w, const struct trace_event *ev)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];

		if (e->data_len <= TRACE_INLINE_MAX)
			continue;
		total += e->data_len;
		if (total > EVENT_DATA_MAX)
			return EFBIG;
		int err = append_data(w, e->data, e->data_len);

		if (err)
			return err;
	}
	return 0;
}

/* An event too large for the tail: a block of its own.  The tail is empty.  0 or errno. */
static int write_oversize(struct trace_writer *w, const struct trace_event *ev, size_t bound)
{
	uint8_t *buf = malloc(bound);
	size_t len;
	int e;

	if (!buf)
		return ENOMEM;
	len = (size_t)(codec_encode(&w->codec, ev, buf) - buf);
	e = len > BLOCK_RAW_MAX ? EFBIG : out_stream_block(&w->events, w->pack, buf, len, 1);
	free(buf);
	if (e)
		return e;
	w->n++;
	restart_events(w);
	return 0;
}

static void write_to_tail(struct trace_writer *w, const struct trace_event *ev)
{
	struct out_stream *s = &w->events;
	uint8_t *start = s->bytes + s->used;
	size_t len = (size_t)(codec_encode(&w->codec, ev, start) - start);

	w->n++;
	s->checks[s->count++] = tail_check(w->n, start, len);
	s->used += len;
	__atomic_store_n(&s->tail->committed, s->used, __ATOMIC_RELEASE);
}

/* Our own mistakes, caught here and not by whoever reads the trace. */
static void check_event(const struct trace_event *ev)
{
	BUG_ON(!ev->kind || ev->kind >= TRACE_KIND_COUNT || ev->place >= TRACE_PLACE_COUNT,
	       "event kind %d, place %d", ev->kind, ev->place);
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];

		BUG_ON(!e->kind || e->kind >= TRACE_EFFECT_COUNT, "effect kind %d", e->kind);
		BUG_ON(e->data_len && !e->data, "%s effect without its data",
		       trace_effect_name(e->kind));
		BUG_ON((e->kind == TRACE_REGS || e->kind == TRACE_TASK) &&
		       e->data_len != sizeof(struct regs), "%s effect with %zu bytes of data, not "
		       "struct regs", trace_effect_name(e->kind), e->data_len);
		BUG_ON(e->kind == TRACE_OBJECT && !codec_object_ok(e),
		       "object effect not made by trace_writer_object_effect");
	}
}

void trace_writer_limit(struct trace_writer *w, uint64_t bytes)
{
	w->limit = bytes;
}

static uint64_t on_disk(const struct trace_writer *w)
{
	return w->events.file_off + w->data.file_off;
}

/*
 * With what the tails hold, the trace may take more than its limit: compressed it takes a few times
 * less.  NULL: it goes on.
 */
static struct err *at_limit(struct trace_writer *w)
{
	int e = flush_data(w);

	if (!e)
		e = flush_events(w);
	if (e)
		return die(w, e);
	if (on_disk(w) <= w->limit - w->limit / 16)
		return NULL;
	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++)
		unlinkat(w->dir_fd, tails[i], 0);
	w->dead = true;
	return err_new(ERR_TRACE,
		       "the trace %s has reached --max-size: recording ended at event %" PRIu64
		       ", the program goes on unrecorded",
		       w->dir, w->n);
}

struct err *trace_writer_event(struct trace_writer *w, struct trace_event *ev)
{
	struct out_stream *s = &w->events;
	size_t bound;
	int e = 0;

	if (w->dead)
		return NULL;
	check_event(ev);
	bound = codec_bound(ev);
	if (bound > s->room - s->used || s->count == TAIL_CHECKS)
		e = flush_events(w);
	if (!e && ev->effects_len > EFFECTS_MAX)
		e = EFBIG;
	if (!e)
		e = append_all_data(w, ev);
	if (!e && bound > s->room)
		e = write_oversize(w, ev, bound);
	else if (!e)
		write_to_tail(w, ev);
	if (e)
		return die(w, e);
	ev->n = w->n;
	w->duration_ns = ev->time_ns;
	if (w->limit && on_disk(w) + w->events.used + w->data.used > w->limit)
		return at_limit(w);
	return NULL;
}

/* ---- objects -------------------------------------------------------------------- */

/* Returns what a content that was just added takes up: holes do not. */
static uint64_t stored_bytes(struct trace_writer *w, const struct content_hash *hash, uint64_t size)
{
	char hex[HASH_HEX + 1];
	struct stat st;

	hash_hex(hash, hex);
	return size <= HASH_PLAIN_MAX || os.fstatat(w->files_fd, hex, &st, AT_SYMLINK_NOFOLLOW)
		       ? size
		       : file_allocated(&st);
}

/* o: what the file was when it was taken before, or NULL. */
static struct err *take_file(struct trace_writer *w, struct object *o, int fd,
			     const struct stat *st, bool shared, uint32_t *object_ret,
			     bool *new_ret)
{
	bool stable = shared || store_stat_is_stable(st), added = false, reading = false;
	struct content_hash hash;
	uint64_t size;
	int e;

	*new_ret = false;
	*object_ret = o ? o->number : 0;
	if (w->dead || (o && (o->stable || shared)))
		return NULL;
	e = store_take(&w->store, fd, st, shared, &hash, &size, &added, &reading);
	if (e && reading)
		return err_os(e, "cannot read a file that the program maps");
	if (e)
		return die(w, e);
	if (added) {
		w->files++;
		w->file_bytes += stored_bytes(w, &hash, size);
	}
	if (!o || memcmp(&o->hash, &hash, sizeof(hash)) || o->size != size) {
		o = objects_put(&w->objects, st, shared);
		if (!o)
			return die(w, ENOMEM);
		*new_ret = true;
	}
	o->hash = hash;
	o->size = size;
	o->stable = stable;
	*object_ret = o->number;
	return NULL;
}

struct err *trace_writer_file(struct trace_writer *w, int fd, const struct stat *st, bool shared,
			      uint32_t *object_ret, bool *new_ret)
{
	return take_file(w, objects_find(&w->objects, st, shared), fd, st, shared, object_ret,
			 new_ret);
}

bool trace_writer_has(struct trace_writer *w, const struct stat *st)
{
	const struct object *o = objects_find(&w->objects, st, false);

	return o && o->stable;
}

struct err *trace_writer_shared_anew(struct trace_writer *w, int fd, const struct stat *st,
				     uint32_t *object_ret, bool *new_ret)
{
	return take_file(w, NULL, fd, st, true, object_ret, new_ret);
}

uint32_t trace_writer_memory(struct trace_writer *w)
{
	return objects_number(&w->objects);
}

void trace_writer_object_effect(struct trace_writer *w, uint32_t object, const char *path,
				struct trace_effect *effect_ret)
{
	objects_effect(&w->objects, object, path, effect_ret);
}

/* ---- the end -------------------------------------------------------------------- */

void trace_writer_totals(const struct trace_writer *w, struct trace_totals *ret)
{
	*ret = (struct trace_totals){
		.events = w->n,
		.raw_bytes = w->events.raw_off + w->events.used + data_off(w),
		.stored_bytes = w->events.file_off + w->data.file_off,
		.files = w->files,
		.file_bytes = w->file_bytes,
		.duration_ns = w->duration_ns,
	};
}

/* 0 or errno */
static int finish(struct trace_writer *w, int exit_status)
{
	struct end_mark end;
	int e = out_stream_flush(&w->data, w->pack);

	if (e)
		return e;
	w->data.used = 0;
	e = out_stream_flush(&w->events, w->pack);
	if (e)
		return e;
	w->events.used = 0;
	trace_writer_totals(w, &end.totals);
	end.totals.exit_status = exit_status;
	end.events_len = w->events.file_off;
	end.data_len = w->data.file_off;
	e = end_write(w->dir_fd, &end);
	if (e)
		return e;
	/* ignored beside an end mark anyway */
	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++)
		unlinkat(w->dir_fd, tails[i], 0);
	return 0;
}

struct err *trace_writer_close(struct trace_writer *w, int exit_status)
{
	struct err *err = NULL;
	int e;

	if (!w->dead) {
		e = finish(w, exit_status);
		if (e)
			err = die(w, e);
	}
	writer_free(w);
	return err;
}

void trace_writer_abandon(struct trace_writer *w)
{
	writer_free(w);
}
