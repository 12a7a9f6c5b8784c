/*
 * internal.h - inside the room.
 *
 *	recording.c	the store that reads a recording
 *	view.c		values: memory, names, opening
 *	shapes.c	the list of shapes, of shape.h
 *	text.c		what a number, enumeration, string, pointer looks like
 */
#ifndef ANALYSIS_HEAP_INTERNAL_H
#define ANALYSIS_HEAP_INTERNAL_H

#include "analysis/heap/heap.h"

/* A kind of object that is shown otherwise than as its fields. */
struct heap_shape {
	const char *name;
	/* Is x one?  Sets text, flags and data. */
	bool (*is)(struct heap_view *v, struct heap_value *x);
	/* Appends its children with value_add(). */
	void (*open)(struct heap_view *v, struct heap_value *x);
};

struct heap_view {
	struct heap_store *st;
	const struct heap_shape *const *shapes;	/* looked at in this order; ends with NULL */
	struct heap_view_options o;
	struct heap_arena *arena;
	const uint64_t *in_register;	/* what is read at REGISTER_AT (view.c); NULL = nothing */
	const struct symbols_type *last_enum;
	const struct symbols_enumerator *enumerator;
	size_t enumerators;
	const struct symbols_type *links_of;	/* the struct that was looked at for links last */
	struct links {
		bool list, tree;
		uint64_t next, left, right;
		const char *name;
	} links;
	/* links.c, with o.many: nodes of lists and trees so far, and what is known of lists */
	uint64_t counted;
	struct list_known *known;
	size_t knowns, known_slots;
};

/* view.c */
void *view_alloc(struct heap_view *v, size_t n);	/* zeroed */
/* True: all of it. */
bool view_read(struct heap_view *v, uint64_t addr, void *buf, size_t len);
static inline bool view_u64(struct heap_view *v, uint64_t addr, uint64_t *ret)
{
	return view_read(v, addr, ret, 8);
}
static inline bool view_u32(struct heap_view *v, uint64_t addr, uint32_t *ret)
{
	return view_read(v, addr, ret, 4);
}
/* Another child of x, filled with what is there; NULL: there are enough (x is marked CUT). */
struct heap_value *value_add(struct heap_view *v, struct heap_value *x, const char *name,
			     const struct symbols_type *type, uint64_t addr);
/* Adds a value without a place: a number that was worked out, a remark. */
struct heap_value *value_add_text(struct heap_view *v, struct heap_value *x, const char *name,
				  const char *type, const char *text);
/* heap_value_eval() of what needs no container. */
struct err *value_eval(struct heap_view *v, const char *text, struct heap_value **ret) __must_check;
/*
 * Returns the true class of the object at *addr, by its vtable, and where the object begins; else
 * t.
 */
const struct symbols_type *view_whole(struct heap_view *v, const struct symbols_type *t,
				      uint64_t *addr);
/* Fills x from its name, type (x->of) and address. */
void value_fill(struct heap_view *v, struct heap_value *x);

/* links.c: lists and trees of C.  A pointer that leads to one; a field that only links. */
void links_find(struct heap_view *v, struct heap_value *x);
bool links_member(const struct symbols_type *t, const struct symbols_member *m);
/* container.c: the object that the node at addr is a member of, offset bytes into it. */
struct container {
	const struct symbols_type *type;
	uint64_t offset;
	const char *name;	/* of that member */
};
/* False: the node is an object of its own, or nothing is known. */
bool container_of(struct heap_view *v, const struct symbols_type *node, uint64_t addr,
		  struct container *ret);
/* Node number i of a list or tree as a child of x: its container, where it has one. */
struct heap_value *container_add(struct heap_view *v, struct heap_value *x, uint64_t i,
				 const struct symbols_type *node, uint64_t addr);
/* tags.c: the member of a union that its neighbours in t, at addr, say it holds; SIZE_MAX = none */
size_t tags_find(struct heap_view *v, const struct symbols_type *t, uint64_t addr,
		 const struct symbols_member *u);

/* text.c */
void text_scalar(struct heap_view *v, struct heap_value *x, const struct symbols_member *field);
/* A string in quotes: len bytes at addr, or (SIZE_MAX) up to its zero byte; NULL = missing. */
const char *text_string(struct heap_view *v, uint64_t addr, size_t len);
/* Returns the string with the zero bytes in it. */
const char *text_string_exact(struct heap_view *v, uint64_t addr, uint64_t len);
/* Bytes in quotes, as C writes them; more: "..." follows. */
const char *text_quote(struct heap_view *v, const void *bytes, size_t len, bool more);
/* Writes the enumerators of an enumeration to v->enumerator. */
void text_enumerators(struct heap_view *v, const struct symbols_type *t);
bool text_is_character(const struct symbols_type *t);
/* "L", "u", "U" of wchar_t, char16_t, char32_t; NULL: t is none of them */
const char *text_wide_prefix(const struct symbols_type *t);
/* n characters of type t at addr, or (UINT64_MAX) up to a zero; NULL = missing. */
const char *text_wide_string(struct heap_view *v, uint64_t addr, uint64_t n,
			     const struct symbols_type *t);

#endif
