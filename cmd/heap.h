/*
 * heap.h - what the files of `hindsight heap` share.
 */
#ifndef CMD_HEAP_H
#define CMD_HEAP_H

#include "analysis/heap/heap.h"
#include "cmd/cmd.h"

struct heap_cmd {
	const char *at, *diff, *history, *type, *writers, *read, *types, *html, *log;
	uint64_t depth, pid, tid, top, children, string;
	struct option_list alloc, free, memory, on;
	int preset;
	bool json, quiet, raw;
};

/* ---- printing values of any store (heap_text.c, heap_json.c) --------------------------------- */

/* x with what is in it and, up to depth pointers away, what it points to. */
void heap_text_value(struct heap_view *v, struct heap_value *x, unsigned depth);
struct json_t *heap_json_value(struct heap_view *v, struct heap_value *x, unsigned depth);
/* x, and the rest that a store knows of where it is. */
void heap_text_object(struct heap_view *v, struct heap_value *x, unsigned depth, uint64_t top);
struct json_t *heap_json_object(struct heap_view *v, struct heap_value *x, unsigned depth,
				uint64_t top);

/* All blocks by type (type NULL), or those of a type. */
struct err *heap_types_print(const struct heap_cmd *c, struct heap_view *v) __must_check;

/*
 * heap_page.c: the inspector.  Moments are those of a log, or --at's of a recording; text[]:
 * expressions that are always there.
 */
struct err *heap_page(const struct heap_cmd *c, struct heap_store *st, const char *title, int n,
		      char **text) __must_check;

/* heap.c: "lua:NAME", "python:NAME"; *ret NULL: it is neither. */
struct err *heap_guest_value(struct heap_view *v, const char *text,
			     struct heap_value **ret) __must_check;
/* heap.c: the values of text[] (n 0: all types) at --at; for any store. */
struct err *heap_moment_print(const struct heap_cmd *c, struct heap_store *st, int n,
			      char **text) __must_check;
/* heap_log.c: --read. */
struct err *heap_read_run(const struct heap_cmd *c, int argc, char **argv) __must_check;
/* heap_diff.c */
/* --diff=E1,E2 */
struct err *heap_diff_between(const struct heap_cmd *c, struct heap_store *st) __must_check;
struct err *heap_diff_print(const struct heap_cmd *c, struct heap_store *st, uint64_t first,
			    uint64_t second) __must_check;
/* heap_history.c */
struct err *heap_history_print(const struct heap_cmd *c, struct heap_view *v) __must_check;
void heap_writer_print(const struct heap_writer *w);
struct json_t *heap_writer_json(const struct heap_writer *w);
/* heap_log.c: --log, --on, --preset; debug_dir may be NULL. */
struct heap_recording_options;
struct err *heap_log_run(const struct heap_cmd *c, const char *dir,
			 const struct heap_recording_options *o) __must_check;

#endif
