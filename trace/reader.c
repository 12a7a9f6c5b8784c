/*
 * reader.c - from a trace directory to events.
 *
 * The reader trusts nothing: a trace may be cut off anywhere, have flipped bits, or be made
 * to do harm.  Every file is opened without following links, every block is checked before
 * it is unpacked, every number before it is used, and memory grows only with bytes that
 * are really there.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "trace/internal.h"

enum end_state { END_NONE, END_OK, END_DAMAGED };

struct trace_reader {
	char *dir;
	int dir_fd;
	struct trace_meta meta;
	struct end_mark end;
	enum end_state end_state;
	struct in_stream events, data;
	struct codec codec;
	struct codec_out out;
	/* where the next event is; at == NULL: not positioned, find event n first */
	size_t block;
	const uint8_t *at, *block_end;
	uint64_t n;
	uint64_t data_off;		/* of event n in the data stream */
	bool verify_all;		/* long objects, too */
	/* objects whose content was verified */
	struct content_hash *verified;
	size_t verified_len, verified_max;
};

/* ---- opening -------------------------------------------------------------------- */

static struct err *no_trace(const char *dir)
{
	return err_new(ERR_TRACE, "%s: not a Hindsight trace (no meta file)", dir);
}

/* The process or the machine has run out of something, or may not read: no fault of the trace. */
static bool not_the_trace(int e)
{
	return e == EMFILE || e == ENFILE || e == ENOMEM || e == EACCES || e == EPERM;
}

/* path: what the program knew the file as, or "". */
static struct err *cannot_read(const struct trace_reader *r, const char *under, const char *name,
			       const char *path, int e)
{
	const char *plain = e == EINVAL || e == ELOOP ? "it is no plain file" : strerror(e);
	const char *what = *under ? under : "the file ";

	if (not_the_trace(e))
		return err_new(ERR_TRACE, "%s: cannot read %s%s: %s; %s", r->dir, what, name, plain,
			       e == EMFILE || e == ENFILE
				       ? "allow more open files (ulimit -n)"
				       : e == ENOMEM ? "free some memory"
						     : "change its permissions, or be another "
						       "user");
	return err_new(ERR_TRACE, "%s: damaged: cannot read %s%s%s%s%s: %s", r->dir, what, name,
		       *path ? " (" : "", path, *path ? ")" : "", plain);
}

/* Whole content of a small file.  NULL error and *ret NULL when there is no such file. */
static struct err *slurp(struct trace_reader *r, const char *name, size_t max, uint8_t **ret,
			 size_t *len_ret)
{
	struct stat st;
	int fd = open_plain(r->dir_fd, name, &st), e = 0;

	*ret = NULL;
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0)
		return cannot_read(r, "", name, "", errno);
	*len_ret = (size_t)st.st_size;
	if (*len_ret <= max)
		*ret = malloc(*len_ret + 1);
	if (*ret)
		e = read_all(fd, *ret, *len_ret, 0);
	close(fd);
	if (*ret && !e)
		return NULL;
	free(*ret);
	*ret = NULL;
	return err_new(ERR_TRACE, "%s: cannot read the file %s: %s", r->dir, name,
		       e ? strerror(e) : "it is too large");
}

static struct err *open_meta(struct trace_reader *r)
{
	const char *what;
	uint8_t *data;
	size_t len;

	TRY(slurp(r, "meta", META_MAX, &data, &len));
	if (!data)
		return no_trace(r->dir);
	what = meta_parse(data, len, &r->meta);
	free(data);
	if (what)
		return err_new(ERR_TRACE, "%s: the file meta is damaged: %s", r->dir, what);
	if (r->meta.version != TRACE_VERSION)
		return err_new(ERR_TRACE, "%s: the trace has version %" PRIu32 ", this Hindsight "
			       "reads version %d", r->dir, r->meta.version, TRACE_VERSION);
	return NULL;
}

static struct err *open_end(struct trace_reader *r)
{
	uint8_t *data;
	size_t len = 0;

	TRY(slurp(r, "end", META_MAX, &data, &len));
	if (!data)
		return NULL;
	r->end_state = end_parse(data, len, &r->end) ? END_DAMAGED : END_OK;
	free(data);
	return NULL;
}

static struct err *open_stream(struct trace_reader *r, struct in_stream *s, enum stream_kind kind)
{
	char tail[32];
	struct stat st;

	s->kind = kind;
	s->complete = r->end_state != END_NONE;
	s->fd = open_plain(r->dir_fd, stream_names[kind], &st);
	if (s->fd < 0)
		return cannot_read(r, "", stream_names[kind], "", errno);
	s->file_len = (uint64_t)st.st_size;
	if (s->complete)
		return NULL;
	snprintf(tail, sizeof(tail), "%s.tail", stream_names[kind]);
	return slurp(r, tail, tail_file_len(kind), &s->tail, &s->tail_len);
}

static struct err *reader_init(struct trace_reader *r)
{
	r->dir_fd = os.openat(AT_FDCWD, r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (r->dir_fd < 0 && errno == ENOTDIR)
		return no_trace(r->dir);
	if (r->dir_fd < 0 && not_the_trace(errno))
		return cannot_read(r, "", "meta", "", errno);
	if (r->dir_fd < 0)
		return err_new(ERR_TRACE, "%s: cannot open the trace: %s", r->dir, strerror(errno));
	TRY(open_meta(r));
	TRY(open_end(r));
	TRY(open_stream(r, &r->events, STREAM_EVENTS));
	return open_stream(r, &r->data, STREAM_DATA);
}

struct err *trace_reader_open(const char *dir, struct trace_reader **ret)
{
	struct trace_reader *r = calloc(1, sizeof(*r));
	struct err *err;

	if (!r)
		return &err_nomem;
	r->dir_fd = r->events.fd = r->data.fd = -1;
	r->events.loaded = r->data.loaded = NOT_LOADED;
	r->n = 1;
	r->dir = strdup(dir);
	err = r->dir ? reader_init(r) : &err_nomem;
	if (err) {
		trace_reader_close(r);
		return err;
	}
	*ret = r;
	return NULL;
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	in_stream_deinit(&r->events);
	in_stream_deinit(&r->data);
	codec_out_deinit(&r->out);
	trace_meta_deinit(&r->meta);
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	free(r->verified);
	free(r->dir);
	free(r);
}

const struct trace_meta *trace_reader_meta(const struct trace_reader *r)
{
	return &r->meta;
}

const char *trace_reader_dir(const struct trace_reader *r)
{
	return r->dir;
}

bool trace_reader_end(const struct trace_reader *r, struct trace_totals *ret)
{
	if (r->end_state != END_OK)
		return false;
	if (ret)
		*ret = r->end.totals;
	return true;
}

/* ---- positions ------------------------------------------------------------------ */

static struct err *damaged(struct trace_reader *r, enum stream_kind kind,
			   const struct block_bad *bad, uint64_t last_good)
{
	r->at = NULL;
	return err_new(ERR_TRACE, "%s: damaged at block %zu (offset 0x%" PRIx64 ") of %s (%s): "
		       "it replays up to event %" PRIu64, r->dir, bad->block, bad->file_off,
		       stream_names[kind], bad->what, last_good);
}

static struct err *damaged_event(struct trace_reader *r, const char *what)
{
	struct block_bad bad = { what, r->block, r->events.refs[r->block].file_off };

	return damaged(r, STREAM_EVENTS, &bad, r->n - 1);
}

/* Index of the block with event n.  err_end: no block has it. */
static struct err *find_events(struct trace_reader *r, uint64_t n, size_t *ret)
{
	struct in_stream *s = &r->events;
	size_t low = 0, high;

	for (;;) {
		const struct block_ref *last = s->refs_len ? &s->refs[s->refs_len - 1] : NULL;
		uint64_t next = last ? last->first_event + last->count : 1;
		struct block_bad bad;
		int more;

		if (n < next)
			break;
		more = in_stream_scan(s, &bad);
		if (more < 0)
			return damaged(r, STREAM_EVENTS, &bad, next - 1);
		if (!more)
			return &err_end;
	}
	high = s->refs_len;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (s->refs[mid].first_event <= n)
			low = mid;
		else
			high = mid;
	}
	*ret = low;
	return NULL;
}

static bool in_tail(const struct trace_reader *r)
{
	return r->events.tail_ref && r->block == r->events.refs_len - 1;
}

/* Decode event r->n at r->at, without its data. */
static struct err *decode(struct trace_reader *r, struct trace_event *ev)
{
	const struct block_ref *ref = &r->events.refs[r->block];
	const uint8_t *start = r->at;
	uint64_t k = r->n - ref->first_event;
	const char *what;

	if (k >= ref->count)
		return damaged_event(r, "it has more events than it says");
	what = codec_decode(&r->codec, &r->at, r->block_end, ev, &r->out);
	if (!what && in_tail(r) && (k >= TAIL_CHECKS || in_stream_tail_check(&r->events, k) !=
	    tail_check(r->n, start, (size_t)(r->at - start))))
		what = "the checksum of an event differs";
	if (what)
		return damaged_event(r, what);
	ev->n = r->n++;
	r->data_off += r->out.stream_len;
	return NULL;
}

/* The current block has been read to its end. */
static struct err *leave_block(struct trace_reader *r)
{
	const struct block_ref *ref = &r->events.refs[r->block];

	if (in_tail(r))
		return &err_end;
	if (r->n != ref->first_event + ref->count)
		return damaged_event(r, "it has fewer events than it says");
	r->at = NULL;
	return NULL;
}

static struct err *enter_block(struct trace_reader *r, size_t i)
{
	const struct block_ref *ref;
	struct block_bad bad;

	if (in_stream_load(&r->events, i, &bad))
		return damaged(r, STREAM_EVENTS, &bad, r->events.refs[i].first_event - 1);
	ref = &r->events.refs[i];
	codec_reset(&r->codec);
	r->block = i;
	r->at = r->events.raw;
	r->block_end = r->at + ref->raw_len;
	r->n = ref->first_event;
	r->data_off = ref->data_off;
	return NULL;
}

/* Make event n the next to be decoded.  err_end when there is none. */
static struct err *position(struct trace_reader *r, uint64_t n)
{
	uint64_t data_off = r->data_off;
	bool straight = r->at && r->at == r->block_end && n == r->n;
	struct trace_event skipped;
	struct err *err;
	size_t i = 0;

	if (straight)
		TRY(leave_block(r));
	err = find_events(r, n, &i);
	if (err)
		return err;
	if (!r->at || i != r->block || n < r->n)
		TRY(enter_block(r, i));
	if (straight && r->data_off != data_off)
		return damaged_event(r, "its place in the data is wrong");
	while (r->n < n) {
		if (r->at == r->block_end)
			return in_tail(r) ? &err_end :
				damaged_event(r, "it has fewer events than it says");
		TRY(decode(r, &skipped));
	}
	return r->at == r->block_end ? leave_block(r) : NULL;
}

struct err *trace_reader_seek(struct trace_reader *r, uint64_t n)
{
	uint64_t before = r->n;
	struct err *err;

	if (!n)
		return &err_end;
	err = position(r, n);
	if (!err)
		return NULL;
	r->at = NULL;		/* stay where we were: found again by the next read */
	r->n = before;
	return err;
}

/* ---- events --------------------------------------------------------------------- */

/* Answers for the place after the last event. */
static struct err *at_end(struct trace_reader *r)
{
	uint64_t last = r->n - 1;

	if (r->end_state == END_NONE && trace_dir_live(r->dir))
		return err_new(ERR_TRACE,
			       "%s: is still being recorded: up to now there are %" PRIu64
			       " events",
			       r->dir, last);
	if (r->end_state == END_NONE)
		return err_new(ERR_TRACE,
			       "%s: ends early after event %" PRIu64 ": the recorder "
			       "was killed or ran out of disk, or --max-size was reached",
			       r->dir, last);
	if (r->end_state == END_DAMAGED)
		return err_new(ERR_TRACE, "%s: damaged: the file end is not readable: it replays "
			       "up to event %" PRIu64, r->dir, last);
	if (r->end.totals.events != last)
		return err_new(ERR_TRACE, "%s: damaged: %" PRIu64 " events were recorded: it "
			       "replays up to event %" PRIu64, r->dir, r->end.totals.events, last);
	return &err_end;
}

/* Room for len more bytes (and a NUL) at an aligned place of the event's buffer. */
static bool data_room(struct codec_out *out, uint64_t at, size_t len)
{
	uint64_t need = at + len + 1;
	size_t max = out->buf_max ? out->buf_max : 4096;
	uint8_t *buf;

	if (need <= out->buf_max)
		return true;
	while (max < need)
		max *= 2;
	buf = realloc(out->buf, max);
	if (!buf)
		return false;
	out->buf = buf;
	out->buf_max = max;
	return true;
}

enum { DATA_ALIGN = 16, DATA_STEP = 1 << 20 };

/* Reads one effect's bytes to out->buf + at; r->n is the event. */
static struct err *fetch_effect(struct trace_reader *r, uint64_t *stream_off,
				const struct trace_effect *e, const struct codec_part *part)
{
	struct block_bad bad;
	size_t done = 0;

	while (done < e->data_len) {	/* step by step: the length may be a lie */
		size_t n = e->data_len - done < DATA_STEP ? e->data_len - done : DATA_STEP;
		uint8_t *to;

		if (!data_room(&r->out, part->at + done, n))
			return damaged_event(r, err_nomem.msg);
		to = r->out.buf + part->at + done;
		if (part->from)
			memcpy(to, part->from, n);
		else if (in_stream_read(&r->data, *stream_off, to, n, &bad))
			return damaged(r, STREAM_DATA, &bad, r->n - 1);
		if (!part->from)
			*stream_off += n;
		done += n;
	}
	r->out.buf[part->at + done] = 0;
	if (part->from || codec_check(r->out.buf + part->at, done) == part->check)
		return NULL;
	return damaged_event(r, "the checksum of an event's data differs");
}

/* Bring the data of all effects together. */
static struct err *fetch(struct trace_reader *r, struct trace_event *ev, uint64_t stream_off)
{
	struct codec_out *out = &r->out;
	uint64_t at = 0;

	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (!out->effects[i].data_len)
			continue;
		out->parts[i].at = at;
		TRY(fetch_effect(r, &stream_off, &out->effects[i], &out->parts[i]));
		at += (out->effects[i].data_len + 1 + DATA_ALIGN - 1) & ~(uint64_t)(DATA_ALIGN - 1);
	}
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		struct trace_effect *e = &out->effects[i];

		if (e->data_len)
			e->data = out->buf + out->parts[i].at;
		if (e->kind == TRACE_OBJECT && !codec_object_ok(e))
			return damaged_event(r, "it names an object in an impossible way");
	}
	return NULL;
}

struct err *trace_reader_next(struct trace_reader *r, struct trace_event *ev)
{
	struct err *err = NULL;
	uint64_t stream_off;

	if (!r->at || r->at == r->block_end)
		err = position(r, r->n);
	if (err == &err_end)
		return at_end(r);
	if (err)
		return err;
	stream_off = r->data_off;
	TRY(decode(r, ev));
	r->n--;			/* not there before its data are */
	TRY(fetch(r, ev, stream_off));
	r->n++;
	return NULL;
}

/* ---- objects -------------------------------------------------------------------- */

enum { VERIFY_MAX = HASH_PLAIN_MAX };

static bool is_verified(const struct trace_reader *r, const struct content_hash *h)
{
	for (size_t i = 0; i < r->verified_len; i++)
		if (!memcmp(&r->verified[i], h, sizeof(*h)))
			return true;
	return false;
}

static void add_verified(struct trace_reader *r, const struct content_hash *h)
{
	if (r->verified_len == r->verified_max) {
		size_t max = r->verified_max ? 2 * r->verified_max : 32;
		struct content_hash *bigger = realloc(r->verified, max * sizeof(*bigger));

		if (!bigger)
			return;		/* it will be verified again */
		r->verified = bigger;
		r->verified_max = max;
	}
	r->verified[r->verified_len++] = *h;
}

static struct err *verify(struct trace_reader *r, const char *hex, int fd, uint64_t len)
{
	char found[HASH_HEX + 1];
	struct content_hash h, want;
	int e;

	for (int i = 0; i < 16; i++) {
		char byte[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		want.byte[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	if (is_verified(r, &want) ||
	    (len > VERIFY_MAX && !r->verify_all && !getenv("HINDSIGHT_VERIFY")))
		return NULL;
	e = hash_fd(fd, len, false, &h);
	if (!e && len > HASH_PLAIN_MAX && memcmp(&h, &want, sizeof(h)))
		e = hash_fd(fd, len, true, &h);		/* an older trace */
	if (e)
		return err_new(ERR_TRACE, "%s: cannot read files/%s: %s", r->dir, hex, strerror(e));
	hash_hex(&h, found);
	if (memcmp(&h, &want, sizeof(h)))
		return err_new(ERR_TRACE, "%s: damaged: files/%s has another content (%s)", r->dir,
			       hex, found);
	add_verified(r, &want);
	return NULL;
}

struct err *trace_reader_object(struct trace_reader *r, const struct trace_effect *e, int *fd_ret)
{
	const char *hex = e->data;
	struct stat st;
	struct err *err;
	int files, fd, os_errno;

	if (e->kind != TRACE_OBJECT || e->x == TRACE_OBJECT_MEMORY || !codec_object_ok(e))
		return err_new(ERR_TRACE, "%s: object %" PRIu32 " has no content", r->dir,
			       e->object);
	files = os.openat(r->dir_fd, "files", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	fd = files < 0 ? -1 : open_plain(files, hex, &st);
	os_errno = errno;
	if (files >= 0)
		close(files);
	if (fd < 0)
		return cannot_read(r, "files/", hex, trace_object_path(e), os_errno);
	if ((uint64_t)st.st_size != e->len)
		err = err_new(ERR_TRACE, "%s: damaged: files/%s has %" PRIu64 " bytes, not %"
			      PRIu64, r->dir, hex, (uint64_t)st.st_size, e->len);
	else
		err = verify(r, hex, fd, e->len);
	if (err)
		close(fd);
	else
		*fd_ret = fd;
	return err;
}

static struct err *objects_verify(struct trace_reader *r, const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];
		int fd;

		if (e->kind != TRACE_OBJECT || e->x == TRACE_OBJECT_MEMORY)
			continue;
		TRY(trace_reader_object(r, e, &fd));
		close(fd);
	}
	return NULL;
}

struct err *trace_verify(const char *dir)
{
	struct err *err, *first = NULL;
	struct trace_reader *r;
	struct trace_event ev;

	TRY(trace_reader_open(dir, &r));
	r->verify_all = true;
	while (!(err = trace_reader_next(r, &ev))) {
		if (!first)
			first = objects_verify(r, &ev);
	}
	err_catch(&err, ERR_END);
	trace_reader_close(r);
	if (!first)
		return err;
	err_free(err);
	return first;
}

const char *trace_object_path(const struct trace_effect *e)
{
	const char *data = e->data;

	if (e->kind != TRACE_OBJECT || !codec_object_ok(e) || !e->data_len)
		return "";
	return data + strlen(data) + 1;
}
