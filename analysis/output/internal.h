/*
 * internal.h - a profile's tables.  Texts, functions, locations are stored once each and named by
 * number.
 */
#ifndef ANALYSIS_OUTPUT_INTERNAL_H
#define ANALYSIS_OUTPUT_INTERNAL_H

#include <string.h>

#include "analysis/output/output.h"

enum { TYPES_MAX = 16 };

/* of things that are equal when their bytes are: an open hash of numbers from 1 */
struct table {
	uint32_t *slot;
	size_t slots, n;
};
struct function { uint32_t name, system, file; uint64_t start_line; };
struct line { uint32_t function; uint64_t line, column; };	/* function from 1 */
struct location { uint64_t addr; uint32_t mapping, first, n; };
struct label { uint32_t key, str, unit; int64_t num; bool text; };
struct sample { size_t first, value, label; uint32_t n, labels; };

struct profile {
	char *text;
	size_t text_len, text_cap;
	size_t *string;		/* where each begins in text; [0] is "" */
	size_t strings_cap;
	struct table strings, functions, locations;
	struct function *function;
	size_t function_cap;
	struct line *line;
	size_t lines, line_cap;
	struct location *location;
	size_t location_cap;
	struct profile_mapping *mapping;
	size_t mappings, mapping_cap;
	/* those of profile_maps_text(), in order, without overlaps */
	size_t first_map, from_maps;
	uint32_t jit;		/* its mapping; 0 = none yet */
	struct { uint32_t type, unit; } type[TYPES_MAX];
	unsigned types;
	int default_type;	/* -1 = the last */
	uint32_t period_type, period_unit;
	int64_t period, time_ns, duration_ns;
	uint32_t drop, keep, doc;
	uint32_t *comment;
	size_t comments, comment_cap;
	struct sample *sample;
	size_t samples, sample_cap;
	uint32_t *stack;	/* of all samples */
	size_t stacks, stack_cap;
	int64_t *value;
	size_t values, value_cap;
	struct label *label;
	size_t labels, label_cap;
};

/* Room for n elements; never fails: what is read from untrusted files is bounded before it comes
 * here. */
void profile_room(void *array, size_t *cap, size_t n, size_t size);
uint32_t profile_string(struct profile *p, const char *s);	/* NULL = "" */
const char *profile_text(const struct profile *p, uint32_t string);

/* ---- stacks as a tree (tree.c) --------------------------------------------------------------- */

struct tree_node {
	uint32_t name;		/* a string */
	uint32_t parent, child, next;	/* 0 = none; [0] is the root */
	uint32_t depth;		/* of the root 0 */
	bool jit;
};
struct tree {
	struct tree_node *node;
	int64_t *self, *total;	/* of each node, types of them */
	size_t n, cap, value_cap;
	unsigned types;
	uint32_t *slot;		/* children by parent and name */
	size_t slots;
	uint32_t depth;		/* of the deepest */
};
/* The outermost functions are children of node 0.  p gets strings for addresses without a name. */
void tree_build(struct profile *p, struct tree *t);
void tree_deinit(struct tree *t);
static inline int64_t *tree_total(const struct tree *t, uint32_t node, unsigned type)
{
	return &t->total[(size_t)node * t->types + type];
}
/* Saturates: what untrusted files say may add up to anything. */
static inline void tree_add(int64_t *to, int64_t v)
{
	if (__builtin_add_overflow(*to, v, to))
		*to = v < 0 ? INT64_MIN : INT64_MAX;
}
/* "12,345 bytes" */
const char *tree_value_text(char buf[64], int64_t v, const char *unit);
/* Colour of a node's box, by its name: "rgb(...)" */
const char *tree_colour(char buf[24], const struct profile *p, const struct tree_node *n);
/* Text for XML: what must not be there escaped. */
void xml_text(FILE *out, const char *s);

/* heap_read.c */
bool heap_is_text(const char *bytes, size_t len);
struct err *heap_read(char *bytes, size_t len, struct profile *p) __must_check;
/* pprof_read.c */
struct err *pprof_read(const uint8_t *bytes, size_t len, struct profile *p) __must_check;

#endif
