/*
 * logs.h - an audit log (analysis/audit/audit.h) as a store of memory.
 *
 * Its moments are the events of the log, numbered as messages from 1 on; memory at one of them is
 * what was logged before it.  Bytes that nobody logged are missing.
 */
#ifndef ANALYSIS_HEAP_LOGS_H
#define ANALYSIS_HEAP_LOGS_H

#include "analysis/audit/audit.h"
#include "analysis/heap/heap.h"

/*
 * types: an ELF file with debug information; "inside": the log's blob; NULL: the blob where there
 * is one, else LuaJIT's where the log looks like its own.  A damaged log is opened as far as it
 * goes: *damage_ret says where that is, and is the caller's (NULL: it is whole).
 */
struct err *heap_log_open(const char *path, const char *types, struct heap_store **ret,
			  struct err **damage_ret) __must_check;
/* The log of a store that heap_log_open() made; NULL: another kind of store. */
const struct audit_log *heap_store_log(const struct heap_store *st);
/* The event that the store is at; NULL = the end of the log. */
const struct audit_message *heap_log_event(const struct heap_store *st);
/* Is it one of RaptorJIT?  Of another kind of store: no. */
bool heap_log_is_raptor(const struct heap_store *st);
/* Returns the type that a hint names; NULL = no such type.  "T[]": T. */
const struct symbols_type *heap_log_type(const struct heap_store *st, struct audit_text hint);

/* Types of a language's objects as an ELF file. */
enum heap_types {
	HEAP_TYPES_LUAJIT, HEAP_TYPES_RAPTOR, HEAP_TYPES_LUA54, HEAP_TYPES_PYTHON311,
};
const void *heap_types_of(enum heap_types of, size_t *len_ret);

#endif
