/*
 * cpython_fields.c - attributes that an object of Python has of its own.
 *
 * Those of classes with __slots__ are words of the object, which the members of its class and of
 * the bases name.  Others are in a dict; an instance that has none yet keeps the values alone, in
 * the order of keys that its class has for all instances.
 */
#include "guests/cpython.h"

enum { OB_TYPE = 8, OB_SIZE = 16, TP_BASIC = 32, TP_ITEM = 40, TP_FLAGS = 168, TP_MEMBERS = 240,
       TP_DICTOFFSET = 288, TP_MRO = 344 };
enum { INLINE_VALUES = 1 << 2, MANAGED_DICT = 1 << 4, HEAP_TYPE = 1 << 9, EXCEPTION = 1 << 30 };
enum { MEMBER_BYTES = 40, OBJECT_EX = 16, MAX_CLASSES = 64, MAX_MEMBERS = 256 };

static bool tell_entries(const struct py *py, struct variables *vs, const struct py_dict *d)
{
	uint64_t key, value;

	for (uint64_t i = 0; i < d->n; i++) {
		const char *s = py_dict_entry(py, d, i, &key, &value) ? py_text(py, key) : NULL;

		if (s && !variable_tell(vs, GUESTS_LOCAL, s, GUESTS_OBJECT, value))
			return false;
	}
	return true;
}

/* Where an instance without a dict keeps its values; 0 = it has one, or none at all. */
static uint64_t values_of(const struct py *py, uint64_t o, uint64_t type, uint64_t flags)
{
	uint64_t word = py_word(py, o - 24);
	uint8_t valid = 0;

	switch (py->y->minor) {
	case 11:
		return py_word(py, o - 32);
	case 12:
		return word & 1 ? word + 1 : 0;
	default:
		o += py_word(py, type + TP_BASIC);
		if (!(flags & INLINE_VALUES) || word || !mem_u8(py->g, o + 3, &valid))
			return 0;
		return valid ? o : 0;
	}
}

static uint64_t dict_of(const struct py *py, uint64_t o, uint64_t type, uint64_t flags)
{
	int64_t offset = (int64_t)py_word(py, type + TP_DICTOFFSET),
		n = (int64_t)py_word(py, o + OB_SIZE);

	if (flags & MANAGED_DICT)
		return py_word(py, o - 24);
	if (offset < 0 && py->y->minor == 11) {	/* counted from the end */
		n = n < 0 ? -n : n;
		offset += (int64_t)((py_word(py, type + TP_BASIC) +
				     (uint64_t)n * py_word(py, type + TP_ITEM) + 7) & ~7ull);
	}
	return offset > 0 ? py_word(py, o + (uint64_t)offset) : 0;
}

static bool tell_dict(const struct py *py, struct variables *vs, uint64_t o, uint64_t type)
{
	uint64_t flags = py_word(py, type + TP_FLAGS), values, dict;
	struct py_dict d;

	values = flags & MANAGED_DICT ? values_of(py, o, type, flags) : 0;
	if (values)	/* the keys are behind the name of the class */
		return !py_dict_parts(py, py_word(py, type + py->y->qualname + 8), values, &d) ||
		       tell_entries(py, vs, &d);
	dict = dict_of(py, o, type, flags);
	return !dict || !py_dict_open(py, dict, &d) || tell_entries(py, vs, &d);
}

static bool tell_slots(const struct py *py, struct variables *vs, uint64_t o, uint64_t class)
{
	uint64_t member = py_word(py, class + TP_MEMBERS), name, offset, object;

	if (!(py_word(py, class + TP_FLAGS) & HEAP_TYPE))
		return true;
	for (unsigned i = 0; member && i < MAX_MEMBERS; i++, member += MEMBER_BYTES) {
		uint32_t kind;
		char text[128];
		size_t n = 0;

		if (!mem_u64(py->g, member, &name) || !name ||
		    !mem_u32(py->g, member + 8, &kind) || !mem_u64(py->g, member + 16, &offset))
			break;
		while (n < sizeof(text) - 1 && mem_bytes(py->g, name + n, &text[n], 1) && text[n])
			n++;
		text[n] = '\0';
		object = kind == OBJECT_EX ? py_word(py, o + offset) : 0;
		if (object && n && !variable_tell(vs, GUESTS_LOCAL, text, GUESTS_OBJECT, object))
			return false;
	}
	return true;
}

bool py_fields(struct guests *g, struct code *c, const struct guests_vm *vm, uint64_t addr,
	       guests_variable_fn *fn, void *ctx)
{
	const struct guests_limits limits = { 3, 10, 80 };
	struct variables vs = { .g = g, .code = c, .vm = vm, .limits = &limits, .fn = fn,
				.ctx = ctx };
	struct py py = { .g = g, .y = py_layout_of(c) };
	uint64_t type, mro, n;

	if (!py.y || !py_object_type(g, c, addr) || !mem_u64(g, addr + OB_TYPE, &type) ||
	    !(py_word(&py, type + TP_FLAGS) & (HEAP_TYPE | EXCEPTION)))
		return false;
	mro = py_word(&py, type + TP_MRO);
	n = mro ? py_word(&py, mro + OB_SIZE) : 0;
	for (uint64_t i = n < MAX_CLASSES ? n : 0; i-- > 0;)
		if (!tell_slots(&py, &vs, addr, py_word(&py, mro + 24 + 8 * i)))
			return true;
	tell_dict(&py, &vs, addr, type);
	return vs.told;
}
