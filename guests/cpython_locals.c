/*
 * cpython_locals.c - variables of Python's frames.
 *
 * Variables of a function lie in its frame in the order of names in its code object, which also
 * says of each whether it is kept in a cell (shared with functions inside) or comes from one
 * outside.  Of a module or a class they are a dict's entries.
 */
#include "guests/cpython.h"

enum { F_LOCALS_PLUS = 72, CO_FLAGS = 48, CO_NAMES = 96, CO_KINDS = 104, OPTIMIZED = 1,
       VARARGS = 4, VARKEYWORDS = 8, MAX_NAMES = 4096 };
enum { KIND_HIDDEN = 0x10, KIND_CELL = 0x40, KIND_FREE = 0x80 };

static uint64_t cell_content(const struct py *py, uint64_t object)
{
	const char *kind = py_type_name(py, object);
	uint64_t in = 0;

	if (!kind || strcmp(kind, "cell"))
		return object;		/* not made a cell yet */
	mem_u64(py->g, object + 16, &in);
	return in;
}

static bool tell_fast(const struct py *py, struct variables *vs, const struct guests_frame *f)
{
	uint64_t code = f->address, names, kinds, name, object;
	uint32_t n, args, kwonly, flags;
	uint8_t kind;

	if (!mem_u32(py->g, code + py->y->first_line + 4, &n) || n > MAX_NAMES ||
	    !mem_u32(py->g, code + py->y->argcount, &args) ||
	    !mem_u32(py->g, code + py->y->kwonly, &kwonly) ||
	    !mem_u32(py->g, code + CO_FLAGS, &flags) || !mem_u64(py->g, code + CO_NAMES, &names) ||
	    !mem_u64(py->g, code + CO_KINDS, &kinds))
		return false;
	args += kwonly + !!(flags & VARARGS) + !!(flags & VARKEYWORDS);
	for (uint32_t i = 0; i < n; i++) {
		const char *s;

		if (!mem_u64(py->g, names + 24 + 8ull * i, &name) ||
		    !mem_u8(py->g, kinds + 32 + i, &kind) ||
		    !mem_u64(py->g, f->where + F_LOCALS_PLUS + 8ull * i, &object))
			return false;
		s = py_text(py, name);
		if (object && kind & (KIND_CELL | KIND_FREE))
			object = cell_content(py, object);
		/* not set yet, or deleted; names like ".0" are the language's own */
		if (!object || !s || kind & KIND_HIDDEN || s[0] == '.')
			continue;
		if (!variable_tell(vs,
				   kind & KIND_FREE ? GUESTS_UPVALUE
				   : i < args	    ? GUESTS_ARGUMENT
						    : GUESTS_LOCAL,
				   s, GUESTS_OBJECT, object))
			return true;
	}
	return true;
}

static bool tell_dict(const struct py *py, struct variables *vs, uint64_t dict)
{
	struct py_dict d;
	uint64_t key, value;

	if (!py_dict_open(py, dict, &d))
		return false;
	for (uint64_t i = 0; i < d.n; i++) {
		const char *s;

		if (!py_dict_entry(py, &d, i, &key, &value))
			continue;
		s = py_text(py, key);
		/* __name__ and the like, of every module */
		if (!s || !strncmp(s, "__", 2))
			continue;
		if (!variable_tell(vs, GUESTS_LOCAL, s, GUESTS_OBJECT, value))
			return true;
	}
	return true;
}

bool py_locals(struct guests *g, struct code *c, const struct guests_frame *f,
	       guests_variable_fn *fn, void *ctx)
{
	struct variables vs = { .g = g, .code = c, .vm = f->vm, .fn = fn, .ctx = ctx };
	struct py py = { .g = g, .y = py_layout_of(c) };
	uint64_t dict = 0;
	uint32_t flags;
	bool ok;

	if (!py.y || f->kind != GUESTS_FRAME || !mem_u32(g, f->address + CO_FLAGS, &flags) ||
	    !mem_u64(g, f->where + py.y->locals, &dict))
		return false;
	ok = tell_fast(&py, &vs, f);
	if (!(flags & OPTIMIZED) && dict)
		ok |= tell_dict(&py, &vs, dict);
	return ok;
}

bool py_global(struct guests *g, struct code *c, const struct guests_frame *f, const char *name,
	       guests_variable_fn *fn, void *ctx)
{
	enum { GLOBALS = 16 };		/* so far before its locals a frame has its globals */
	struct variables vs = { .g = g, .code = c, .vm = f->vm, .fn = fn, .ctx = ctx };
	struct py py = { .g = g, .y = py_layout_of(c) };
	uint64_t object;

	if (!py.y || f->kind != GUESTS_FRAME)
		return false;
	object = py_dict_get(&py, py_word(&py, f->where + py.y->locals - GLOBALS), name);
	if (object)
		variable_tell(&vs, GUESTS_LOCAL, name, GUESTS_OBJECT, object);
	return object != 0;
}
