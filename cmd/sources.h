/*
 * sources.h - source files and separate debug information that a trace takes along (hindsight pack
 * --sources).
 */
#ifndef CMD_SOURCES_H
#define CMD_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Below sources.d/src: what debug information names without saying where it begins. */
#define SOURCES_RELATIVE "/.relative"

/*
 * Called for each file that goes along: its content is in the file `from` of this machine, and is
 * called files/HASH in the trace.
 */
typedef struct err *sources_add_fn(void *ctx, const char *from, const char *hash);

/*
 * All that the debug information of the trace's programs and libraries names and this machine has,
 * each content once; then the member "sources", text, as a descriptor.  *files_ret: how many paths.
 */
struct err *sources_collect(const char *trace, sources_add_fn *add, void *ctx, int *index_fd_ret,
			    unsigned *files_ret) __must_check;

/*
 * After unpacking: the tree sources.d of links that debuggers look into.  Nothing where the trace
 * has no "sources".
 */
struct err *sources_unfold(const char *trace) __must_check;

/*
 * TRACE/sources.d/src or .../debug as an absolute path; false: it has none.  The caller frees it.
 */
bool sources_dir(const char *trace, bool debug, char **ret);

/*
 * Where a source would be that the trace took along, as debug information names it; NULL: it took
 * none.  The caller frees it.
 */
char *sources_file(const char *trace, const char *path);
/* A line of a source that the trace took along, without blanks around it; false: it did not. */
bool sources_line(const char *trace, const char *path, unsigned line, char *buf, size_t size);

#endif
