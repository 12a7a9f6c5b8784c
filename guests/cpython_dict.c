/*
 * cpython_dict.c - Python's dicts: entries in their order, of all the forms that they are kept in.
 */
#include "guests/cpython.h"

enum { DICT_GENERAL = 0, DICT_UNICODE = 1, DICT_SPLIT = 2 };

bool py_dict_parts(const struct py *py, uint64_t keys, uint64_t values, struct py_dict *ret)
{
	unsigned char k[32];
	uint8_t index;

	*ret = (struct py_dict){ .minor = py->y->minor, .keys = keys, .values = values };
	if (!keys || !mem_bytes(py->g, keys, k, sizeof(k)))
		return false;
	index = k[9];
	ret->kind = k[10];
	memcpy(&ret->n, k + 24, 8);
	ret->entries = ret->keys + 32 + (index < 40 ? 1ull << index : 0);
	if (ret->kind == DICT_SPLIT || ret->values) {
		uint8_t n = 0;

		/* how many, and in which order, is said beside the values: before or behind them */
		if (ret->minor < 13) {
			if (!mem_u8(py->g, ret->values - 2, &n))
				return false;
			ret->order = ret->values - 3;
		} else {
			uint8_t capacity;

			if (!mem_u8(py->g, ret->values, &capacity) ||
			    !mem_u8(py->g, ret->values + 1, &n))
				return false;
			ret->values += 8;
			ret->order = ret->values + 8ull * capacity;
		}
		ret->n = n;
	}
	return ret->n < PY_MAX_ENTRIES;
}

bool py_dict_entry(const struct py *py, const struct py_dict *d, uint64_t i, uint64_t *key,
		   uint64_t *value)
{
	uint64_t entry[3];
	uint8_t at;

	if (d->order) {
		if (!mem_u8(py->g, d->minor < 13 ? d->order - i : d->order + i, &at))
			return false;
		*key = py_word(py, d->entries + 16ull * at);
		*value = py_word(py, d->values + 8ull * at);
	} else if (d->kind == DICT_GENERAL) {
		if (!mem_bytes(py->g, d->entries + 24 * i, entry, 24))
			return false;
		*key = entry[1];
		*value = entry[2];
	} else {
		if (!mem_bytes(py->g, d->entries + 16 * i, entry, 16))
			return false;
		*key = entry[0];
		*value = entry[1];
	}
	return *key && *value;
}

bool py_dict_open(const struct py *py, uint64_t object, struct py_dict *ret)
{
	uint64_t part[2];

	return object && mem_bytes(py->g, object + 32, part, sizeof(part)) &&
	       py_dict_parts(py, part[0], part[1], ret);
}

uint64_t py_dict_get(const struct py *py, uint64_t object, const char *name)
{
	struct py_dict d;
	uint64_t key, value;

	if (!py_dict_open(py, object, &d))
		return 0;
	for (uint64_t i = 0; i < d.n && i < 4096; i++) {
		const char *s;

		if (!py_dict_entry(py, &d, i, &key, &value))
			continue;
		s = py_text(py, key);
		if (s && !strcmp(s, name))
			return value;
	}
	return 0;
}
