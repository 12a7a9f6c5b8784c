/*
 * codec.c - one event to bytes and back.
 *
 *	kind u8, flags u8, time, [task], [place u8], [nr], [ret], [registers], count, effects
 *
 * All numbers are varints (7 bits a byte, low first).  Times are differences within the
 * block, registers a mask of the words that differ from the task's last ones, then those
 * words.  Fields of effects that are zero are not there.  The whole state (struct codec) is
 * forgotten at the start of a block, so that each block can be decoded alone.
 *
 * The encoder runs for every event of the recorder, so it has no checks inside: the
 * caller makes room for codec_bound() bytes.  The decoder believes nothing: every read is
 * checked against the end of the block, every number against its range.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "trace/internal.h"

enum {				/* of an event */
	EV_TASK = 1,		/* another task than the event before */
	EV_PLACE = 2,
	EV_NR = 4,
	EV_RET = 8,
	EV_REGS = 16,
	EV_FLAGS = 31,
};

enum {				/* of an effect */
	EF_OBJECT = 1,
	EF_ADDR = 2,
	EF_LEN = 4,
	EF_X = 8,
	EF_Y = 16,
	EF_OFFSET = 32,
	EF_INLINE = 64,
	EF_STREAM = 128,
};

enum { EVENT_BOUND = 2 + 10 + 5 + 1 + 5 + 10 + 4 + sizeof(struct regs) + 5, EFFECT_BOUND = 71 };

static uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

void codec_reset(struct codec *c)
{
	c->time_ns = 0;
	c->task = 0;
	c->generation++;
	if (!c->generation) {		/* after 2^32 blocks */
		memset(c->slot, 0, sizeof(c->slot));
		c->generation = 1;
	}
}

/* The base for a task's registers; the caller overwrites it with the new ones. */
static struct regs *codec_base(struct codec *c, uint32_t task)
{
	struct codec_slot *slot = &c->slot[task % CODEC_SLOTS];

	if (slot->generation != c->generation || slot->task != task) {
		slot->generation = c->generation;
		slot->task = task;
		memset(&slot->regs, 0, sizeof(slot->regs));
	}
	return &slot->regs;
}

uint32_t codec_check(const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits(data, len);
}

size_t codec_bound(const struct trace_event *ev)
{
	size_t bound = EVENT_BOUND + (size_t)ev->effects_len * EFFECT_BOUND;

	for (uint32_t i = 0; i < ev->effects_len; i++)
		if (ev->effects[i].data_len <= TRACE_INLINE_MAX)
			bound += ev->effects[i].data_len;
	return bound;
}

static uint8_t *put_varint(uint8_t *out, uint64_t v)
{
	while (v >= 0x80) {
		*out++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*out++ = (uint8_t)v;
	return out;
}

/* A field that is zero is not there. */
static inline uint8_t *put_field(uint8_t *out, uint64_t v, uint8_t bit, uint8_t *flags)
{
	if (!v)
		return out;
	*flags |= bit;
	return put_varint(out, v);
}

static uint8_t *put_regs(struct regs *base, const struct regs *regs, uint8_t *out)
{
	uint64_t *old = (uint64_t *)base;
	const uint64_t *new = (const uint64_t *)regs;
	uint8_t *mask_at = out;
	uint32_t mask = 0;

	out += 4;
	for (int i = 0; i < REGS_WORDS; i++) {	/* store always, move on when it counts */
		uint32_t differs = old[i] != new[i];

		memcpy(out, &new[i], 8);
		out += differs * 8;
		mask |= differs << i;
		old[i] = new[i];
	}
	memcpy(mask_at, &mask, 4);
	return out;
}

static uint8_t *put_effect(const struct trace_effect *e, uint8_t *out)
{
	uint8_t flags = 0, *flags_at = out + 1;

	*out = (uint8_t)e->kind;
	out += 2;
	out = put_field(out, e->object, EF_OBJECT, &flags);
	out = put_field(out, e->addr, EF_ADDR, &flags);
	out = put_field(out, e->len, EF_LEN, &flags);
	out = put_field(out, zigzag((int64_t)e->x), EF_X, &flags);
	out = put_field(out, e->y, EF_Y, &flags);
	out = put_field(out, e->offset, EF_OFFSET, &flags);
	if (e->data_len > TRACE_INLINE_MAX) {
		uint32_t check = codec_check(e->data, e->data_len);

		flags |= EF_STREAM;
		out = put_varint(out, e->data_len);
		memcpy(out, &check, 4);
		out += 4;
	} else if (e->data_len) {
		flags |= EF_INLINE;
		out = put_varint(out, e->data_len);
		memcpy(out, e->data, e->data_len);
		out += e->data_len;
	}
	*flags_at = flags;
	return out;
}

static bool regs_are_zero(const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;
	uint64_t any = 0;

	for (int i = 0; i < REGS_WORDS; i++)
		any |= word[i];
	return !any;
}

uint8_t *codec_encode(struct codec *c, const struct trace_event *ev, uint8_t *out)
{
	uint8_t flags = 0, *flags_at = out + 1;

	*out = (uint8_t)ev->kind;
	out += 2;
	out = put_varint(out, zigzag((int64_t)(ev->time_ns - c->time_ns)));
	c->time_ns = ev->time_ns;
	if (ev->task != c->task) {
		flags |= EV_TASK;
		out = put_varint(out, ev->task);
		c->task = ev->task;
	}
	if (ev->place) {
		flags |= EV_PLACE;
		*out++ = (uint8_t)ev->place;
	}
	if (ev->nr != -1) {
		flags |= EV_NR;
		out = put_varint(out, zigzag(ev->nr));
	}
	out = put_field(out, zigzag(ev->ret), EV_RET, &flags);
	if (!regs_are_zero(&ev->regs)) {
		flags |= EV_REGS;
		out = put_regs(codec_base(c, ev->task), &ev->regs, out);
	}
	*flags_at = flags;
	out = put_varint(out, ev->effects_len);
	for (uint32_t i = 0; i < ev->effects_len; i++)
		out = put_effect(&ev->effects[i], out);
	return out;
}

/* ---- decoding ----------------------------------------------------------------- */

struct cursor {
	const uint8_t *at, *end;
	bool bad;		/* ran over the end, or a number too large for its field */
};

static uint8_t get_u8(struct cursor *c)
{
	if (c->at == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->at++;
}

static uint64_t get_varint(struct cursor *c, uint64_t max)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = get_u8(c);

		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (v > max || (!byte && shift))	/* only the shortest form is valid */
			break;
		return v;
	}
	c->bad = true;
	return 0;
}

static const void *get_bytes(struct cursor *c, size_t len)
{
	const void *at = c->at;

	if ((size_t)(c->end - c->at) < len) {
		c->bad = true;
		return NULL;
	}
	c->at += len;
	return at;
}

static uint32_t get_u32(struct cursor *c)
{
	const void *at = get_bytes(c, 4);
	uint32_t v = 0;

	if (at)
		memcpy(&v, at, 4);
	return v;
}

static void get_regs(struct cursor *c, struct regs *base, struct regs *regs)
{
	uint64_t *word = (uint64_t *)base;
	uint32_t mask = get_u32(c);
	const uint8_t *from = get_bytes(c, 8 * (size_t)__builtin_popcount(mask));

	if (c->bad || mask >> REGS_WORDS) {
		c->bad = true;
		return;
	}
	for (; mask; mask &= mask - 1, from += 8)
		memcpy(&word[__builtin_ctz(mask)], from, 8);
	*regs = *base;
}

bool codec_object_ok(const struct trace_effect *e)
{
	const char *data = e->data, *path;

	if (e->x < TRACE_OBJECT_FILE || e->x > TRACE_OBJECT_SHARED)
		return false;
	if (e->x == TRACE_OBJECT_MEMORY && !e->data_len)
		return true;
	if (!e->data_len || data[e->data_len - 1])
		return false;
	path = memchr(data, 0, e->data_len - 1);
	if (!path || strlen(path + 1) + 1 != e->data_len - (size_t)(path + 1 - data))
		return false;
	if (e->x == TRACE_OBJECT_MEMORY)
		return path == data;
	return path - data == HASH_HEX && hash_hex_ok(data);
}

static const char *get_effect(struct cursor *c, struct trace_effect *e, struct codec_part *part,
			      struct codec_out *out)
{
	uint8_t kind = get_u8(c), flags = get_u8(c);

	memset(e, 0, sizeof(*e));
	memset(part, 0, sizeof(*part));
	if (!kind || kind >= TRACE_EFFECT_COUNT)
		return "unknown kind of effect";
	if ((flags & EF_INLINE) && (flags & EF_STREAM))
		return "impossible flags";
	e->kind = kind;
	if (flags & EF_OBJECT)
		e->object = (uint32_t)get_varint(c, UINT32_MAX);
	if (flags & EF_ADDR)
		e->addr = get_varint(c, UINT64_MAX);
	if (flags & EF_LEN)
		e->len = get_varint(c, UINT64_MAX);
	if (flags & EF_X)
		e->x = (uint64_t)unzigzag(get_varint(c, UINT64_MAX));
	if (flags & EF_Y)
		e->y = get_varint(c, UINT64_MAX);
	if (flags & EF_OFFSET)
		e->offset = get_varint(c, UINT64_MAX);
	if (flags & EF_STREAM) {
		e->data_len = get_varint(c, EVENT_DATA_MAX);
		part->check = get_u32(c);
		out->stream_len += e->data_len;
		if (e->data_len <= TRACE_INLINE_MAX || out->stream_len > EVENT_DATA_MAX)
			return "impossible length of data";
	} else if (flags & EF_INLINE) {
		e->data_len = get_varint(c, TRACE_INLINE_MAX);
		part->from = get_bytes(c, e->data_len);
		if (!e->data_len)
			return "impossible length of data";
	}
	if ((kind == TRACE_REGS || kind == TRACE_TASK) && e->data_len != sizeof(struct regs))
		return "impossible length of registers";
	return NULL;
}

/* Room for n effects; grows with what the block really holds. */
static bool out_room(struct codec_out *out, size_t n)
{
	size_t max = out->effects_max ? out->effects_max : 16;
	struct trace_effect *effects;
	struct codec_part *parts;

	if (n <= out->effects_max)
		return true;
	while (max < n)
		max *= 2;
	effects = realloc(out->effects, max * sizeof(*effects));
	if (effects)
		out->effects = effects;
	parts = realloc(out->parts, max * sizeof(*parts));
	if (parts)
		out->parts = parts;
	if (!effects || !parts)
		return false;
	out->effects_max = max;
	return true;
}

static const char *get_effects(struct cursor *c, struct trace_event *ev, struct codec_out *out)
{
	size_t left;

	ev->effects_len = (uint32_t)get_varint(c, EFFECTS_MAX);
	left = (size_t)(c->end - c->at);
	if (c->bad || ev->effects_len > left / 2)	/* an effect has two bytes at least */
		return "impossible number of effects";
	if (!out_room(out, ev->effects_len))
		return err_nomem.msg;
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const char *what = get_effect(c, &out->effects[i], &out->parts[i], out);

		if (c->bad)
			return "cut off effect or impossible number";
		if (what)
			return what;
	}
	ev->effects = ev->effects_len ? out->effects : NULL;
	return NULL;
}

const char *codec_decode(struct codec *c, const uint8_t **pos, const uint8_t *end,
			 struct trace_event *ev, struct codec_out *out)
{
	struct cursor in = { *pos, end, false };
	uint8_t kind = get_u8(&in), flags = get_u8(&in);
	const char *what;

	memset(ev, 0, sizeof(*ev));
	out->stream_len = 0;
	if (!kind || kind >= TRACE_KIND_COUNT)
		return "unknown kind of event";
	if (flags & ~EV_FLAGS)
		return "impossible flags";
	ev->kind = kind;
	c->time_ns += (uint64_t)unzigzag(get_varint(&in, UINT64_MAX));
	ev->time_ns = c->time_ns;
	if (flags & EV_TASK)
		c->task = (uint32_t)get_varint(&in, UINT32_MAX);
	ev->task = c->task;
	if (flags & EV_PLACE)
		ev->place = get_u8(&in);
	ev->nr = flags & EV_NR ? (int32_t)unzigzag(get_varint(&in, UINT32_MAX)) : -1;
	if (flags & EV_RET)
		ev->ret = unzigzag(get_varint(&in, UINT64_MAX));
	if (flags & EV_REGS)
		get_regs(&in, codec_base(c, ev->task), &ev->regs);
	if (in.bad)
		return "cut off event or impossible number";
	if (ev->place >= TRACE_PLACE_COUNT)
		return "unknown place";
	what = get_effects(&in, ev, out);
	*pos = in.at;
	return what;
}

void codec_out_deinit(struct codec_out *out)
{
	free(out->effects);
	free(out->parts);
	free(out->buf);
	memset(out, 0, sizeof(*out));
}
