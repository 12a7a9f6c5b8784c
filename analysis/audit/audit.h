/*
 * audit.h - RaptorJIT's audit log: pieces of memory and events, in the order they were logged.
 *
 * A log is a sequence of msgpack maps:
 *
 *	memory	type="memory", hint, address, data
 *	blob	type="blob", name, data
 *	event	nanotime, type="event", event, then attributes
 *
 * Keys may come in any order, in any of msgpack's encodings.  An address in an event, or in logged
 * memory, means the newest piece of memory that was logged before that event and covers it: see
 * audit_memory_read().
 */
#ifndef ANALYSIS_AUDIT_AUDIT_H
#define ANALYSIS_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* Text or bytes, not terminated; it lies in the bytes that were read. */
struct audit_text {
	const char *p;
	size_t n;
};

enum audit_value_kind {
	AUDIT_NUMBER,
	AUDIT_STRING,
	AUDIT_BYTES,
	AUDIT_OTHER,		/* text is the value as msgpack: negative numbers, lists, ... */
};
struct audit_attribute {
	struct audit_text name;
	enum audit_value_kind kind;
	uint64_t number;
	struct audit_text text;
};

enum audit_kind { AUDIT_MEMORY, AUDIT_BLOB, AUDIT_EVENT };
struct audit_message {
	enum audit_kind kind;
	struct audit_text name;		/* hint, name, event */
	struct audit_text data;		/* of memory and blobs */
	uint64_t addr;			/* of memory */
	uint64_t nanotime;		/* of events; 0 = not given */
	size_t attribute;		/* of events: the first, in log->attribute */
	size_t attributes;
	uint64_t at, size;		/* in the file */
};

struct audit_log {
	struct audit_message *message;
	size_t n, room;
	struct audit_attribute *attribute;
	size_t attributes, attributes_room;
	void *owned;			/* bytes to free with it; may be NULL */
};

/*
 * Always fills *ret, with what comes before the first damage; the error says where that is.  bytes
 * stay the caller's, and must live as long as the log.
 */
struct err *audit_read(const void *bytes, size_t len, struct audit_log *ret) __must_check;
void audit_free(struct audit_log *l);

/* "memory", "blob", "event" */
const char *audit_kind_name(enum audit_kind kind);
bool audit_text_is(struct audit_text t, const char *s);
/* Attribute of an event by name; NULL = it has none of that name. */
const struct audit_attribute *audit_attribute(const struct audit_log *l,
					      const struct audit_message *m, const char *name);

/*
 * How often which shape of message is there, as lines "COUNT BYTES ('KIND', 'NAME') [('KEY',
 * 'VALUE'), ...]", most frequent first; the values are those of the first of each kind and name.
 */
struct err *audit_list(const struct audit_log *l, FILE *out) __must_check;

/* ---- writing -------------------- */

/* A message as RaptorJIT writes it: str16, uint64, bin32.  Errors of the file stay in it. */
void audit_write(const struct audit_log *l, const struct audit_message *m, FILE *out);
void audit_write_memory(FILE *out, const char *hint, uint64_t addr, const void *data, size_t len);
void audit_write_blob(FILE *out, const char *name, const void *data, size_t len);
void audit_write_event(FILE *out, const char *event, uint64_t nanotime,
		       const struct audit_attribute *a, size_t n);

/* ---- memory at a moment -------------------- */

struct audit_memory;
/* l stays the caller's, and must live as long. */
struct err *audit_memory_create(const struct audit_log *l, struct audit_memory **ret) __must_check;
void audit_memory_destroy(struct audit_memory *m);
/*
 * len bytes at addr as those messages say that come before message number `before`: the newest
 * counts.  known[i] tells which bytes anybody logged; the others are 0.  Returns how many are.
 */
size_t audit_memory_read(const struct audit_memory *m, size_t before, uint64_t addr, void *buf,
			 bool *known, size_t len);
/* The newest message before `before` that covers the byte at addr; SIZE_MAX = none. */
size_t audit_memory_at(const struct audit_memory *m, size_t before, uint64_t addr);
/* The newest that begins there and has bytes; SIZE_MAX = none. */
size_t audit_memory_from(const struct audit_memory *m, size_t before, uint64_t addr);

#endif
