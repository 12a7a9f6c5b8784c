/*
 * object.c - the files a trace has met, and the effects that tell the replayer of them.
 *
 * A file is known by what stat says, a shared one by device and inode alone.  An entry
 * that was taken within moments of a change of the file is not `stable`: the file may have changed
 * again without a new time stamp, so its content is looked at again the next time.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/clock.h"
#include "base/hash.h"
#include "trace/internal.h"

static struct object key_of(const struct stat *st, bool shared)
{
	struct object key = { .dev = st->st_dev, .ino = st->st_ino, .shared = shared };

	if (!shared) {
		key.st_size = (uint64_t)st->st_size;
		key.mtime_ns = timespec_ns(&st->st_mtim);
		key.ctime_ns = timespec_ns(&st->st_ctim);
	}
	return key;
}

static uint32_t slot_of(const struct objects *o, const struct object *key)
{
	uint64_t h = hash_mix(hash_mix(hash_mix(key->dev, key->ino), key->st_size), key->mtime_ns);

	h = hash_mix(hash_mix(h, key->ctime_ns), key->shared);
	return (uint32_t)(h >> 16) & (o->table_max - 1);
}

static bool same_key(const struct object *a, const struct object *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->st_size == b->st_size &&
		a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns && a->shared == b->shared;
}

void objects_init(struct objects *o)
{
	*o = (struct objects){ .next = 1 };
}

void objects_deinit(struct objects *o)
{
	for (int i = 0; i < OBJECT_EFFECTS; i++)
		free(o->effect_data[i]);
	free(o->list);
	free(o->table);
	objects_init(o);
}

uint32_t objects_number(struct objects *o)
{
	return o->next++;
}

/* The newest entry wins: a changed file was put again under the same key. */
struct object *objects_find(struct objects *o, const struct stat *st, bool shared)
{
	struct object key = key_of(st, shared);
	struct object *found = NULL;

	if (!o->table_max)
		return NULL;
	for (uint32_t i = slot_of(o, &key); o->table[i]; i = (i + 1) & (o->table_max - 1))
		if (same_key(&o->list[o->table[i] - 1], &key))
			found = &o->list[o->table[i] - 1];
	return found;
}

static void table_add(struct objects *o, uint32_t index)
{
	uint32_t i = slot_of(o, &o->list[index]);

	while (o->table[i])
		i = (i + 1) & (o->table_max - 1);
	o->table[i] = index + 1;
}

static bool more_room(struct objects *o)
{
	uint32_t max = o->max ? o->max * 2 : 64;
	struct object *list = realloc(o->list, max * sizeof(*list));
	uint32_t *table;

	if (!list)
		return false;
	o->list = list;
	table = calloc(2 * (size_t)max, sizeof(*table));
	if (!table)
		return false;
	free(o->table);
	o->table = table;
	o->table_max = 2 * max;
	o->max = max;
	for (uint32_t i = 0; i < o->len; i++)
		table_add(o, i);
	return true;
}

struct object *objects_put(struct objects *o, const struct stat *st, bool shared)
{
	if (o->len == o->max && !more_room(o))
		return NULL;
	o->list[o->len] = key_of(st, shared);
	o->list[o->len].number = objects_number(o);
	table_add(o, o->len);
	return &o->list[o->len++];
}

/* Numbers only grow, so the list is in order. */
static const struct object *by_number(const struct objects *o, uint32_t number)
{
	uint32_t low = 0, high = o->len;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (o->list[mid].number == number)
			return &o->list[mid];
		if (o->list[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

void objects_effect(struct objects *o, uint32_t number, const char *path,
		    struct trace_effect *ret)
{
	const struct object *f = by_number(o, number);
	size_t hash_len = f ? HASH_HEX : 0, path_len = strlen(path);
	char *data = malloc(hash_len + 1 + path_len + 1);
	char **slot = &o->effect_data[o->effects++ % OBJECT_EFFECTS];

	BUG_ON(!number || number >= o->next, "there is no object %u", number);
	alloc_must(data, "a path");
	free(*slot);
	*slot = data;
	if (f)
		hash_hex(&f->hash, data);
	data[hash_len] = 0;
	memcpy(data + hash_len + 1, path, path_len + 1);
	*ret = (struct trace_effect){
		.kind = TRACE_OBJECT, .object = number, .len = f ? f->size : 0,
		.x = !f ? TRACE_OBJECT_MEMORY : f->shared ? TRACE_OBJECT_SHARED : TRACE_OBJECT_FILE,
		.data = data, .data_len = hash_len + 1 + path_len + 1,
	};
}
