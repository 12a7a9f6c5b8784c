/*
 * cpython.h - what the files about CPython share.
 *
 *	cpython.c	finds the machine and threads, walks stacks
 *	cpython_value.c	values as repr() writes them
 *	cpython_locals.c	variables of frames
 *	cpython_fields.c	attributes of objects
 */
#ifndef GUESTS_CPYTHON_H
#define GUESTS_CPYTHON_H

#include "guests/internal.h"

/* Offsets; they are the same in all releases of a version. */
struct py_layout {
	unsigned minor;
	const char *name;
	uint16_t interpreters;				/* in _PyRuntime */
	uint16_t next, threads, collecting;		/* PyInterpreterState */
	uint16_t tnext, thread_id, current;		/* PyThreadState */
	uint16_t cframe_current, cframe_previous;	/* _PyCFrame */
	uint16_t code, previous, instr, owner, entry;	/* _PyInterpreterFrame; entry 0 = none */
	uint16_t first_line, bytecode;			/* PyCodeObject */
	uint16_t ascii, compact;			/* sizes of unicode objects */
	uint16_t locals;				/* _PyInterpreterFrame: the dict */
	uint16_t argcount, kwonly;			/* PyCodeObject */
	uint16_t qualname;				/* PyHeapTypeObject */
	uint16_t generator;				/* PyGenObject: its qualified name */
};
/* A machine at a stop. */
struct py {
	struct guests *g;
	struct walk *w;
	const struct py_code *code;
	const struct py_layout *y;
	struct guests_vm *vm;
	uint64_t interp, thread;
};

/* NULL = of an unknown version */
const struct py_layout *py_layout_of(const struct code *c);
size_t py_utf8(char *out, uint32_t c);
/* A compact str, of which a part may be read. */
struct py_text { uint64_t at, length; unsigned kind; };
bool py_text_find(const struct py *py, uint64_t addr, struct py_text *ret);
/* Returns a str object as a string, cut where it is long; NULL = it is none. */
const char *py_text(const struct py *py, uint64_t addr);

/* cpython_value.c */
/* repr() of an object. */
void py_put(const struct py *py, uint64_t object, struct out *t);
bool py_value(struct guests *g, struct code *c, const struct guests_vm *vm, enum guests_at at,
	      uint64_t addr, struct out *t);
/* The name of an object's type; NULL = it is no object. */
const char *py_type_name(const struct py *py, uint64_t object);

/* The word at addr; 0: it cannot be read. */
static inline uint64_t py_word(const struct py *py, uint64_t addr)
{
	uint64_t v = 0;

	mem_u64(py->g, addr, &v);
	return v;
}

enum { PY_MAX_ENTRIES = 1 << 27 };	/* more are a lie */
/* cpython_dict.c: a dict's entries, in their order. */
struct py_dict {
	uint64_t keys, values, order, entries;
	uint64_t n;		/* to be looked at */
	uint8_t kind;
	unsigned minor;
};
bool py_dict_open(const struct py *py, uint64_t object, struct py_dict *ret);
/* Opens a dict by its keys, and by its values where these are apart (0 = they are not). */
bool py_dict_parts(const struct py *py, uint64_t keys, uint64_t values, struct py_dict *ret);
/* False: there is nothing at i. */
bool py_dict_entry(const struct py *py, const struct py_dict *d, uint64_t i, uint64_t *key,
		   uint64_t *value);
/* Returns what a dict has under a name; 0 = nothing. */
uint64_t py_dict_get(const struct py *py, uint64_t object, const char *name);

/* cpython_locals.c */
const char *py_object_type(struct guests *g, struct code *c, uint64_t addr);
/* cpython_fields.c */
bool py_fields(struct guests *g, struct code *c, const struct guests_vm *vm, uint64_t addr,
	       guests_variable_fn *fn, void *ctx);
bool py_locals(struct guests *g, struct code *c, const struct guests_frame *f,
	       guests_variable_fn *fn, void *ctx);
bool py_global(struct guests *g, struct code *c, const struct guests_frame *f, const char *name,
	       guests_variable_fn *fn, void *ctx);

#endif
