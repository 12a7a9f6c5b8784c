/*
 * output.h - stacks with numbers, and the forms in which people's tools read them.
 *
 * An analysis that has stacks fills a struct profile and lets this room write it: pprof's
 * profile.proto, collapsed stacks, a flame graph (SVG, or a page), a call graph (dot).  Profiles
 * that others wrote are read into the same struct.
 */
#ifndef ANALYSIS_OUTPUT_OUTPUT_H
#define ANALYSIS_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct profile;

struct profile *profile_create(void);
void profile_destroy(struct profile *p);

/* ---- filling: strings are copied ------------------------------------------------------------- */

/*
 * A column of numbers: "alloc_space", "bytes".  All of them before the first sample.  Returns its
 * number, from 0.
 */
unsigned profile_type_add(struct profile *p, const char *type, const char *unit);
/* The column that is shown when nobody asks for one; without this call the last. */
void profile_type_default(struct profile *p, unsigned type);
unsigned profile_types(const struct profile *p);
const char *profile_type_name(const struct profile *p, unsigned type);
const char *profile_type_unit(const struct profile *p, unsigned type);
/*
 * The number of the column called name (NULL = the default one); ERR_USAGE lists those there are.
 */
struct err *profile_type_find(const struct profile *p, const char *name,
			      unsigned *ret) __must_check;
/* "space", "bytes", 524288: a sample for each so many. */
void profile_period(struct profile *p, const char *type, const char *unit, int64_t period);
void profile_comment(struct profile *p, const char *text);

struct profile_mapping {
	uint64_t start, limit, offset;	/* limit is exclusive */
	const char *file, *build_id;	/* "" = unknown */
};
/* Returns its number, from 1. */
uint32_t profile_mapping_add(struct profile *p, const struct profile_mapping *m);
/* Executable mappings of files from the text of /proc/PID/maps. */
void profile_maps_text(struct profile *p, const char *text);
/*
 * The mapping of all code that the program made itself: "[jit]", from 0 to 0, so that no reader
 * takes its addresses relative to anything, or joins it to the library beside it.
 */
uint32_t profile_mapping_jit(struct profile *p);
/* The number of the mapping of a file that holds addr; 0 = none does. */
uint32_t profile_mapping_at(const struct profile *p, uint64_t addr);
/* NULL for 0; strings belong to the profile. */
const struct profile_mapping *profile_mapping(const struct profile *p, uint32_t number);
uint32_t profile_mappings(const struct profile *p);

struct profile_frame {
	const char *function;		/* NULL = unknown */
	const char *linkage;		/* NULL = as function */
	const char *file;		/* NULL = unknown */
	uint64_t line, column, start_line;	/* 0 = unknown */
};
/*
 * frame: innermost inlined call first, the function itself last.  The same location twice is one.
 * Returns its number, from 1.
 */
uint32_t profile_location_add(struct profile *p, uint64_t addr, uint32_t mapping,
			      const struct profile_frame *frame, size_t n);

struct profile_label {
	const char *key, *str;		/* str NULL: a number */
	int64_t num;
	const char *unit;		/* NULL = none */
};
/* location: leaf first.  value: one for each type. */
void profile_sample_add(struct profile *p, const uint32_t *location, size_t n, const int64_t *value,
			const struct profile_label *label, size_t labels);

/* ---- looking --------------------------------------------------------------------------------- */

uint32_t profile_locations(const struct profile *p);
uint64_t profile_location_addr(const struct profile *p, uint32_t location, uint32_t *mapping_ret);
/* Names it had, innermost first; returns how many, fills at most max. */
size_t profile_location_frames(const struct profile *p, uint32_t location,
			       struct profile_frame *ret, size_t max);
/* Gives it other names, and another mapping. */
void profile_location_name(struct profile *p, uint32_t location, uint32_t mapping,
			   const struct profile_frame *frame, size_t n);
size_t profile_samples(const struct profile *p);

/* ---- writing: errors of the stream are the caller's to look at (ferror) ---------------------- */

/* gzip'd, as pprof's own. */
struct err *profile_write_pprof(const struct profile *p, FILE *out) __must_check;
/* "outer;...;inner VALUE": a line for each stack. */
struct err *profile_write_collapsed(const struct profile *p, unsigned type, FILE *out) __must_check;
struct err *profile_write_svg(const struct profile *p, unsigned type, const char *title,
			      FILE *out) __must_check;
/* For speedscope: all columns, those that are negative left out; type is the one it opens with. */
struct err *profile_write_speedscope(const struct profile *p, unsigned type, const char *title,
				     FILE *out) __must_check;
/* Writes one self-contained page with all columns; type is the one that the page opens with. */
struct err *profile_write_html(const struct profile *p, unsigned type, const char *title,
			       FILE *out) __must_check;
/*
 * A JSON string that may stand in a script element, too; bytes that are no UTF-8 are taken for
 * Latin-1.
 */
void profile_json_string(FILE *out, const char *s);
/* JSON in a script element of a page: no "</script>" in a name ends the element. */
void profile_page_json(const char *json, FILE *out);
/* Writes a page up to the mark; returns what is behind the mark. */
const char *profile_page_until(const char *page, const char *mark, FILE *out);
/* For graphviz. */
struct err *profile_write_dot(const struct profile *p, unsigned type, const char *title,
			      FILE *out) __must_check;

/* ---- reading --------------------------------------------------------------------------------- */

enum {
	PROFILE_INPUT_MAX = 128 << 20,	/* bytes, unpacked */
	PROFILE_MEMORY_MAX = 512 << 20,
};
/*
 * profile.proto (gzip'd or not) or a text heap profile (gperftools, tcmalloc; sampling is undone).
 * ERR_USAGE: what is wrong with it. Memory is bounded, whatever the bytes say.
 */
struct err *profile_read(const void *bytes, size_t len, struct profile **ret) __must_check;
struct err *profile_read_file(const char *path, struct profile **ret) __must_check;

#endif
