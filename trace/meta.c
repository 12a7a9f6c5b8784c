/*
 * meta.c - the files "meta" and "end": a msgpack map, then XXH3_64 of the map's bytes as
 * one more msgpack number.  This outer form and the key "version" stay as they are in every
 * version of the format; unknown keys are skipped.
 *
 * msgpack-c allocates what a count in the input asks for, so sane() first walks over the bytes
 * and refuses counts that cannot be true.
 */
#include <errno.h>
#include <msgpack.h>
#include <stdlib.h>
#include <xxhash.h>

#include "trace/internal.h"

enum { CHECK_LEN = 9, DEPTH_MAX = 8, XSAVE_PARTS_N = 20 };	/* 0xcf and eight bytes */

/* ---- writing -------------------------------------------------------------------- */

static void pack_key(msgpack_packer *pk, const char *key)
{
	msgpack_pack_str(pk, strlen(key));
	msgpack_pack_str_body(pk, key, strlen(key));
}

static void pack_str(msgpack_packer *pk, const char *key, const char *value)
{
	pack_key(pk, key);
	pack_key(pk, value ? value : "");
}

static void pack_num(msgpack_packer *pk, const char *key, uint64_t value)
{
	pack_key(pk, key);
	msgpack_pack_uint64(pk, value);
}

static void pack_bool(msgpack_packer *pk, const char *key, bool value)
{
	pack_key(pk, key);
	value ? msgpack_pack_true(pk) : msgpack_pack_false(pk);
}

static void pack_argv(msgpack_packer *pk, char *const *argv)
{
	size_t n = 0;

	while (argv && argv[n])
		n++;
	pack_key(pk, "argv");
	msgpack_pack_array(pk, n);
	for (size_t i = 0; i < n; i++)
		pack_key(pk, argv[i]);
}

/* Adds the check and writes the file.  0 or errno. */
static int pack_write(int dir, const char *name, msgpack_sbuffer *buf, msgpack_packer *pk)
{
	uint64_t check = XXH3_64bits(buf->data, buf->size);
	uint8_t tail[CHECK_LEN] = { 0xcf };

	for (int i = 0; i < 8; i++)
		tail[1 + i] = (uint8_t)(check >> (56 - 8 * i));
	if (pk->callback(buf, (const char *)tail, sizeof(tail)))
		return ENOMEM;
	return write_file(dir, name, buf->data, buf->size);
}

/* part, offset, size; part, ... */
static void pack_parts(msgpack_packer *pk, const struct trace_meta *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < XSAVE_PARTS_N; i++)
		n += m->xsave_part[i][1] != 0;
	pack_key(pk, "xsave_layout");
	msgpack_pack_array(pk, 3 * n);
	for (uint32_t i = 0; i < XSAVE_PARTS_N; i++) {
		if (!m->xsave_part[i][1])
			continue;
		msgpack_pack_uint32(pk, i);
		msgpack_pack_uint32(pk, m->xsave_part[i][0]);
		msgpack_pack_uint32(pk, m->xsave_part[i][1]);
	}
}

int meta_write(int dir, const struct trace_meta *m)
{
	msgpack_sbuffer buf;
	msgpack_packer pk;
	int e;

	msgpack_sbuffer_init(&buf);
	msgpack_packer_init(&pk, &buf, msgpack_sbuffer_write);
	msgpack_pack_map(&pk, 16u + m->marked + m->flow + (m->cpu_vendor[0] ? 2 : 0) +
				      (m->cpu_signature != 0));
	pack_num(&pk, "version", m->version);
	pack_str(&pk, "uuid", m->uuid);
	pack_num(&pk, "start_realtime_ns", m->start_realtime_ns);
	pack_str(&pk, "exe", m->exe);
	pack_argv(&pk, m->argv);
	pack_str(&pk, "cwd", m->cwd);
	pack_str(&pk, "uname", m->uname);
	pack_str(&pk, "cpu_model", m->cpu_model);
	pack_key(&pk, "cpuid_features");
	msgpack_pack_array(&pk, 8);
	for (int i = 0; i < 8; i++)
		msgpack_pack_uint32(&pk, m->cpuid_features[i]);
	if (m->cpu_vendor[0]) {
		pack_str(&pk, "cpu_vendor", m->cpu_vendor);
		pack_parts(&pk, m);
	}
	if (m->cpu_signature)
		pack_num(&pk, "cpu_signature", m->cpu_signature);
	pack_num(&pk, "xcr0", m->xcr0);
	pack_num(&pk, "xsave_size", m->xsave_size);
	pack_bool(&pk, "cpuid_trapped", m->cpuid_trapped);
	if (m->marked)	/* as before where there is no need: format.md */
		pack_bool(&pk, "marked", true);
	if (m->flow)
		pack_bool(&pk, "flow", true);
	pack_str(&pk, "ticks", m->ticks);
	pack_bool(&pk, "syscallbuf", m->syscallbuf);
	pack_bool(&pk, "checksums", m->checksums);
	pack_str(&pk, "writer", "hindsight");
	e = pack_write(dir, "meta", &buf, &pk);
	msgpack_sbuffer_destroy(&buf);
	return e;
}

int end_write(int dir, const struct end_mark *end)
{
	const struct trace_totals *t = &end->totals;
	msgpack_sbuffer buf;
	msgpack_packer pk;
	int e;

	msgpack_sbuffer_init(&buf);
	msgpack_packer_init(&pk, &buf, msgpack_sbuffer_write);
	msgpack_pack_map(&pk, 9);
	pack_num(&pk, "events", t->events);
	pack_num(&pk, "raw_bytes", t->raw_bytes);
	pack_num(&pk, "stored_bytes", t->stored_bytes);
	pack_num(&pk, "files", t->files);
	pack_num(&pk, "file_bytes", t->file_bytes);
	pack_num(&pk, "duration_ns", t->duration_ns);
	pack_num(&pk, "exit_status", (uint32_t)t->exit_status);
	pack_num(&pk, "events_len", end->events_len);
	pack_num(&pk, "data_len", end->data_len);
	e = pack_write(dir, "end", &buf, &pk);
	msgpack_sbuffer_destroy(&buf);
	return e;
}

/* ---- reading -------------------------------------------------------------------- */

static uint64_t big_endian(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/*
 * The first byte of a msgpack object as table: how many bytes of length follow, how many
 * bytes of payload, how many objects inside for each counted one.
 */
struct shape {
	uint64_t bytes, items;	/* after the first byte and the length */
	size_t len_bytes;
};

static bool shape_of(const uint8_t *p, size_t left, struct shape *s)
{
	static const uint8_t fixed[32] = {	/* 0xc0 ..: payload, where it has no length */
		[0x0a] = 4, [0x0b] = 8, [0x0c] = 1, [0x0d] = 2, [0x0e] = 4, [0x0f] = 8,
		[0x10] = 1, [0x11] = 2, [0x12] = 4, [0x13] = 8,
		[0x14] = 2, [0x15] = 3, [0x16] = 5, [0x17] = 9, [0x18] = 17,
	};
	static const uint8_t counted[32] = {	/* size of the length */
		[0x04] = 1, [0x05] = 2, [0x06] = 4, [0x07] = 1, [0x08] = 2, [0x09] = 4,
		[0x19] = 1, [0x1a] = 2, [0x1b] = 4, [0x1c] = 2, [0x1d] = 4, [0x1e] = 2, [0x1f] = 4,
	};
	uint8_t b = *p, low = b & 0x1f;
	uint64_t n;

	*s = (struct shape){ 0, 0, 0 };
	if (b < 0x80 || b >= 0xe0)
		return true;
	if (b < 0xc0) {
		if (b < 0x90)
			s->items = 2 * (b & 15);
		else if (b < 0xa0)
			s->items = b & 15;
		else
			s->bytes = b & 31;
		return true;
	}
	s->len_bytes = counted[low];
	s->bytes = fixed[low];
	if (!s->len_bytes)
		return b != 0xc1;
	if (left - 1 < s->len_bytes)
		return false;
	n = big_endian(p + 1, s->len_bytes);
	if (low >= 0x1c)
		s->items = low >= 0x1e ? 2 * n : n;
	else
		s->bytes = n + (low >= 0x07 && low <= 0x09);	/* ext: a byte of type */
	return true;
}

/* Returns the end of one object from p on, or NULL when it is not sound. */
static const uint8_t *sane(const uint8_t *p, const uint8_t *end, int depth)
{
	struct shape s;

	if (p == end || depth > DEPTH_MAX || !shape_of(p, (size_t)(end - p), &s))
		return NULL;
	p += 1 + s.len_bytes;
	if (s.bytes > (uint64_t)(end - p) || s.items > (uint64_t)(end - p))
		return NULL;
	p += s.bytes;
	while (p && s.items--)
		p = sane(p, end, depth + 1);
	return p;
}

struct field {			/* what may stand under a key */
	const char *key;
	char **str;
	uint64_t *num;
	uint32_t *num32;
	bool *flag;
};

static char *copy_str(const msgpack_object *o)
{
	return o->type == MSGPACK_OBJECT_STR ? strndup(o->via.str.ptr, o->via.str.size) : NULL;
}

static bool key_is(const msgpack_object *o, const char *key)
{
	return o->type == MSGPACK_OBJECT_STR && o->via.str.size == strlen(key) &&
		!memcmp(o->via.str.ptr, key, o->via.str.size);
}

static bool take_field(const struct field *f, const msgpack_object *o)
{
	if (f->str) {
		free(*f->str);
		*f->str = copy_str(o);
		return *f->str;
	}
	if (f->flag) {
		*f->flag = o->type == MSGPACK_OBJECT_BOOLEAN && o->via.boolean;
		return o->type == MSGPACK_OBJECT_BOOLEAN;
	}
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
		return false;
	if (f->num)
		*f->num = o->via.u64;
	else if (o->via.u64 <= UINT32_MAX)
		*f->num32 = (uint32_t)o->via.u64;
	else
		return false;
	return true;
}

static bool take_map(const msgpack_object_map *map, const struct field *fields, size_t n)
{
	for (uint32_t i = 0; i < map->size; i++)
		for (size_t k = 0; k < n; k++)
			if (key_is(&map->ptr[i].key, fields[k].key) &&
			    !take_field(&fields[k], &map->ptr[i].val))
				return false;
	return true;
}

static const msgpack_object *map_find(const msgpack_object_map *map, const char *key,
				      msgpack_object_type type)
{
	for (uint32_t i = 0; i < map->size; i++)
		if (key_is(&map->ptr[i].key, key) && map->ptr[i].val.type == type)
			return &map->ptr[i].val;
	return NULL;
}

/* The map in a file; NULL, or what is wrong. */
static const char *open_map(const void *data, size_t len, msgpack_unpacked *ret)
{
	const uint8_t *p = data;
	size_t off = 0;

	if (len < CHECK_LEN + 1 || p[len - CHECK_LEN] != 0xcf ||
	    big_endian(p + len - 8, 8) != XXH3_64bits(data, len - CHECK_LEN))
		return "its checksum differs";
	len -= CHECK_LEN;
	if (sane(p, p + len, 0) != p + len)
		return "it is no msgpack map";
	if (msgpack_unpack_next(ret, data, len, &off) != MSGPACK_UNPACK_SUCCESS)
		return "it is no msgpack map";
	return ret->data.type == MSGPACK_OBJECT_MAP ? NULL : "it is no msgpack map";
}

static const char *take_argv(const msgpack_object_map *map, char ***ret)
{
	const msgpack_object *o = map_find(map, "argv", MSGPACK_OBJECT_ARRAY);
	uint32_t n = o ? o->via.array.size : 0;
	char **argv = calloc((size_t)n + 1, sizeof(*argv));

	*ret = argv;
	if (!argv)
		return err_nomem.msg;
	for (uint32_t i = 0; i < n; i++) {
		argv[i] = copy_str(&o->via.array.ptr[i]);
		if (!argv[i])
			return "argv is not made of strings";
	}
	return NULL;
}

static uint64_t number_at(const msgpack_object_array *a, uint32_t i)
{
	return a->ptr[i].type == MSGPACK_OBJECT_POSITIVE_INTEGER ? a->ptr[i].via.u64 : UINT64_MAX;
}

static const char *take_parts(const msgpack_object_map *map, struct trace_meta *m)
{
	const msgpack_object *o = map_find(map, "xsave_layout", MSGPACK_OBJECT_ARRAY);

	for (uint32_t i = 0; o && i + 3 <= o->via.array.size; i += 3) {
		uint64_t part = number_at(&o->via.array, i), at = number_at(&o->via.array, i + 1),
			 size = number_at(&o->via.array, i + 2);

		if (part >= XSAVE_PARTS_N || at > UINT16_MAX || size > UINT16_MAX || at < 576)
			return "the layout of the vector state cannot be";
		m->xsave_part[part][0] = (uint16_t)at;
		m->xsave_part[part][1] = (uint16_t)size;
	}
	o = map_find(map, "cpu_vendor", MSGPACK_OBJECT_STR);
	if (o && o->via.str.size < sizeof(m->cpu_vendor))
		memcpy(m->cpu_vendor, o->via.str.ptr, o->via.str.size);
	return NULL;
}

static const char *take_meta(const msgpack_object_map *map, struct trace_meta *m)
{
	const struct field fields[] = {
		{ "exe", .str = &m->exe },
		{ "cwd", .str = &m->cwd },
		{ "uname", .str = &m->uname },
		{ "cpu_model", .str = &m->cpu_model },
		{ "ticks", .str = &m->ticks },
		{ "start_realtime_ns", .num = &m->start_realtime_ns },
		{ "xcr0", .num = &m->xcr0 },
		{ "xsave_size", .num32 = &m->xsave_size },
		{ "cpu_signature", .num32 = &m->cpu_signature },
		{ "cpuid_trapped", .flag = &m->cpuid_trapped },
		{ "marked", .flag = &m->marked },
		{ "flow", .flag = &m->flow },
		{ "syscallbuf", .flag = &m->syscallbuf },
		{ "checksums", .flag = &m->checksums },
	};
	const msgpack_object *o;
	const char *what;

	if (!take_map(map, fields, sizeof(fields) / sizeof(*fields)))
		return "a value has the wrong type";
	if (!m->exe || !m->cwd || !m->uname || !m->cpu_model || !m->ticks)
		return "a value is missing";
	o = map_find(map, "uuid", MSGPACK_OBJECT_STR);
	if (!o || o->via.str.size >= sizeof(m->uuid))
		return "the uuid is missing";
	memcpy(m->uuid, o->via.str.ptr, o->via.str.size);
	o = map_find(map, "cpuid_features", MSGPACK_OBJECT_ARRAY);
	for (uint32_t i = 0; o && i < 8 && i < o->via.array.size; i++)
		if (o->via.array.ptr[i].type == MSGPACK_OBJECT_POSITIVE_INTEGER)
			m->cpuid_features[i] = (uint32_t)o->via.array.ptr[i].via.u64;
	what = take_parts(map, m);
	return what ? what : take_argv(map, &m->argv);
}

const char *meta_parse(const void *data, size_t len, struct trace_meta *m)
{
	const msgpack_object *version;
	msgpack_unpacked map;
	const char *what;

	memset(m, 0, sizeof(*m));
	msgpack_unpacked_init(&map);
	what = open_map(data, len, &map);
	if (!what) {
		version = map_find(&map.data.via.map, "version", MSGPACK_OBJECT_POSITIVE_INTEGER);
		if (!version || version->via.u64 > UINT32_MAX)
			what = "the version is missing";
		else
			m->version = (uint32_t)version->via.u64;
	}
	if (!what && m->version == TRACE_VERSION)
		what = take_meta(&map.data.via.map, m);
	msgpack_unpacked_destroy(&map);
	return what;
}

const char *end_parse(const void *data, size_t len, struct end_mark *end)
{
	struct trace_totals *t = &end->totals;
	const struct field fields[] = {
		{ "events", .num = &t->events },
		{ "raw_bytes", .num = &t->raw_bytes },
		{ "stored_bytes", .num = &t->stored_bytes },
		{ "files", .num = &t->files },
		{ "file_bytes", .num = &t->file_bytes },
		{ "duration_ns", .num = &t->duration_ns },
		{ "exit_status", .num32 = (uint32_t *)&t->exit_status },
		{ "events_len", .num = &end->events_len },
		{ "data_len", .num = &end->data_len },
	};
	msgpack_unpacked map;
	const char *what;

	memset(end, 0, sizeof(*end));
	msgpack_unpacked_init(&map);
	what = open_map(data, len, &map);
	if (!what && !take_map(&map.data.via.map, fields, sizeof(fields) / sizeof(*fields)))
		what = "a value has the wrong type";
	msgpack_unpacked_destroy(&map);
	return what;
}

void trace_meta_deinit(struct trace_meta *m)
{
	for (size_t i = 0; m->argv && m->argv[i]; i++)
		free(m->argv[i]);
	free(m->argv);
	free(m->exe);
	free(m->cwd);
	free(m->uname);
	free(m->cpu_model);
	free(m->ticks);
	memset(m, 0, sizeof(*m));
}
