/*
 * diff.h - comparing two moments, of a recording (diff.c) or of a log (log_changes.c).
 */
#ifndef ANALYSIS_HEAP_DIFF_H
#define ANALYSIS_HEAP_DIFF_H

#include "analysis/heap/recording.h"

/* A piece of memory of module data, as it was. */
struct piece {
	uint64_t start, len;
	unsigned char *bytes;
	bool shared;
};
struct heap_diff_memory {
	struct graph g;			/* of the first moment */
	uint64_t *born;			/* of its nodes */
	const char **type;		/* names of their types, in names */
	struct alloc_log *names;	/* only its strings */
	/* what lay in arenas of Python, and which nodes were such arenas */
	struct small *small;
	size_t smalls;
	bool *arena;
	struct piece *piece;
	size_t pieces;
	struct heap_view *view;		/* of the second moment: texts */
};

struct differ {
	struct recording *r;		/* NULL: it is a log */
	const struct heap_diff_options *o;
	struct heap_diff *d;
	struct heap_diff_memory *m;
	struct heap_block block;	/* that is compared; size 0: a variable */
	const char *name;		/* of the whole */
	bool shared;			/* and other processes have it */
	uint64_t base;
	const unsigned char *then, *now;
	size_t len;
	unsigned budget;
};

struct heap_difference *diff_new(struct heap_diff *d);
struct heap_diff_type *diff_type_row(struct heap_diff *d, const char *name);
/* A block of the second moment that was not there at the first; one that is no more. */
void diff_appeared(struct differ *f, const struct heap_block *b);
void diff_gone(struct differ *f, const struct heap_block *b);
/* diff_small.c: keeps what lies in arenas; compares it. */
void diff_small_keep(struct recording *r, struct heap_diff_memory *m);
void diff_small_compare(struct differ *f);
/* Is the type one that was asked for? */
bool diff_is_wanted(const struct differ *f, const char *type);
/*
 * The fields of f->block, or of a variable, whose bytes differ: as so many of type t; words where t
 * is not known.
 */
void diff_compare_object(struct differ *f, const struct symbols_type *t);

/* history.c: another value (c NULL: the first), of h->size bytes */
void history_add(struct heap_history *h, const struct heap_change *c, const void *bytes);

/* log_changes.c */
struct err *heap_log_diff(struct heap_store *st, struct differ *f) __must_check;
struct err *heap_log_history(struct heap_store *st, uint64_t addr, uint64_t size,
			     struct heap_history *ret) __must_check;

#endif
