/*
 * luajit_view.h - traces and prototypes of LuaJIT (GC64) in words, out of any store that has their
 * bytes: a log or a recording.  What is missing is left out or shown as "?".
 */
#ifndef ANALYSIS_HEAP_LUAJIT_VIEW_H
#define ANALYSIS_HEAP_LUAJIT_VIEW_H

#include "analysis/heap/heap.h"

struct heap_luajit_trace {
	uint64_t addr, code;
	uint32_t code_size;
	unsigned number, link, root, parent, exit;	/* 0 = none */
	const char *linktype;		/* "loop" */
	char start[300];		/* "t.lua:12" */
};
/* False: there is no trace, or not enough of it. */
bool heap_luajit_trace(struct heap_store *st, bool raptor, uint64_t addr,
		       struct heap_luajit_trace *ret);

enum heap_luajit_part {
	HEAP_LUAJIT_BYTECODE,	/* depth or number, place, instruction */
	HEAP_LUAJIT_IR,		/* reference, flags, type, instruction, operands */
	HEAP_LUAJIT_EXIT,	/* reference it stands before, slots, instruction it goes on with */
	HEAP_LUAJIT_CODE,	/* offset, bytes, instruction */
};
enum { HEAP_LUAJIT_CELLS = 5 };
/* A line of a table; cells that a part does not have are NULL.  They are gone after the call. */
typedef void heap_luajit_fn(void *ctx, enum heap_luajit_part part,
			    const char *const cell[HEAP_LUAJIT_CELLS]);
void heap_luajit_trace_lines(struct heap_store *st, bool raptor, uint64_t addr, heap_luajit_fn *fn,
			     void *ctx);
/* The bytecode of a prototype. */
void heap_luajit_proto_lines(struct heap_store *st, bool raptor, uint64_t addr, heap_luajit_fn *fn,
			     void *ctx);
/* Entries of RaptorJIT's BCRecLog: what was recorded. */
void heap_luajit_recorded(struct heap_store *st, bool raptor, const void *entries, size_t len,
			  heap_luajit_fn *fn, void *ctx);
/* Where a prototype begins: "t.lua:3". */
void heap_luajit_proto_name(struct heap_store *st, bool raptor, uint64_t addr, char *buf,
			    size_t size);
/* The text of a GCstr, escaped, at most so much as fits; false: it is not there. */
bool heap_luajit_string(struct heap_store *st, bool raptor, uint64_t addr, char *buf, size_t size);
/* Why a trace was given up; NULL = not a number that there is. */
const char *heap_luajit_error(uint64_t number);

#endif
