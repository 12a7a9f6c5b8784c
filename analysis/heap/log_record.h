/*
 * log_record.h - writes an audit log of a recording: pieces of memory each time a function is
 * reached, or what a language's machine compiles.
 */
#ifndef ANALYSIS_HEAP_LOG_RECORD_H
#define ANALYSIS_HEAP_LOG_RECORD_H

#include <stdio.h>

#include "analysis/leaks.h"

enum heap_log_preset { HEAP_LOG_NONE, HEAP_LOG_LUAJIT, HEAP_LOG_LUA, HEAP_LOG_PYTHON };
struct heap_logging {
	/* pid, debug_dir, progress are those of the leak analysis */
	struct leaks_options session;
	const char *const *memory; /* "EXPR:TYPE[:N]", at every event; N: number or expression */
	unsigned memories;
	const char *const *on;		/* "FUNCTION[:NAME=EXPR]..." */
	unsigned ons;
	enum heap_log_preset preset;
	uint64_t max;			/* stop after so many events; 0 = never */
};
struct heap_logged {
	uint64_t events, memories;
	uint64_t failed;		/* expressions that had no value at some event */
	char *why;			/* the first of them; the caller frees it */
};
struct err *heap_log_record(const char *trace_dir, const struct heap_logging *o, FILE *out,
			    struct heap_logged *ret) __must_check;

#endif
