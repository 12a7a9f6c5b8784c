/*
 * heap_page.h - what the files of `hindsight heap --html` share.
 *
 *	heap_page.c	the page around the data, moments one after the other
 *	heap_page_data.c	objects and their versions
 *	heap_page_trace.c	LuaJIT's traces
 */
#ifndef CMD_HEAP_PAGE_H
#define CMD_HEAP_PAGE_H

#include <stdio.h>

#include "analysis/heap/heap.h"

enum { PAGE_OBJECTS = 100000, PAGE_ROWS = 200, PAGE_BYTES = 1 << 28 };

/* A piece of JSON that grows. */
struct page_text {
	char *p;
	size_t n;
	FILE *f;
};
void page_text_open(struct page_text *t);
void page_text_close(struct page_text *t);	/* p, n are valid; the caller frees p */
/* A JSON string; bytes that are no UTF-8 become what Latin-1 says. */
void page_string(FILE *f, const char *s);

/* The options that every view of a page is made with. */
extern const struct heap_view_options page_view;

struct page_object;
struct page_data {
	struct heap_store *st;
	struct heap_view *v;		/* of the present moment */
	size_t moment;			/* number of it */
	bool in_object;			/* rows are an object's: others are not in them */
	unsigned inside;		/* ... of so many that are shared, or in lists */
	struct page_object *object;
	size_t objects, room;
	uint32_t *slot;			/* hash of objects by address and type: number + 1 */
	size_t slots;
	struct page_near *near;		/* which objects lie in which page of memory */
	size_t nears, nears_room;
	uint32_t *near_first;		/* chains by hash of the page: number + 1 */
	char **name;			/* names and types, each once */
	size_t names, names_room;
	uint32_t *name_slot;
	size_t name_slots;
	size_t bytes;			/* of all versions */
	/* there was no room for: versions of objects; objects, since the caller began to count */
	size_t dropped, without, most_without;
};
void page_data_destroy(struct page_data *d);
/* To a moment; *d->v is made anew. */
struct err *page_data_go(struct page_data *d, uint64_t event) __must_check;
/* The block, as it is now. */
void page_object_seen(struct page_data *d, const struct heap_block *b, const char *type);
/* Objects that were not seen at this moment are gone. */
void page_objects_rest(struct page_data *d);
/*
 * Objects, other than one that begins at addr, that hold bytes of [addr, addr + size) are looked at
 * again.
 */
void page_objects_touched(struct page_data *d, uint64_t addr, uint64_t size);
/* Rows of a value's children, or one row that is itself. */
void page_row(struct page_data *d, FILE *f, struct heap_value *x, uint64_t base, unsigned depth);
/* A row that is no value: target 0 = none. */
void page_row_text(struct page_data *d, FILE *f, const char *name, const char *type,
		   const char *text, uint64_t target);
void page_data_write(struct page_data *d, FILE *f);	/* "names":...,"objects":... */

/* heap_page_trace.c: traces and aborts that a log tells at its present event. */
struct page_traces { struct page_text traces, aborts; bool some_trace, some_abort; };
void page_traces_event(struct page_data *d, struct page_traces *t);
/*
 * Rows for objects of LuaJIT: what they are, each followed by a comma; then ", row" for bytecode.
 */
void page_luajit_first(struct page_data *d, FILE *f, const struct heap_block *b, const char *type);
void page_luajit_rest(struct page_data *d, FILE *f, const struct heap_block *b, const char *type);

#endif
