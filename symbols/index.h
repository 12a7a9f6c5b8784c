/*
 * index.h - the index of a file (format.h): made when it is first needed, kept, and opened again.
 *
 * Kept in the directory that symbols_options names, by the hash of what it was made from (the file
 * and its separate debug files).  Written under another name and renamed, so it is there whole or
 * not at all.  Without such a directory it lives in memory.
 */
#ifndef SYMBOLS_INDEX_H
#define SYMBOLS_INDEX_H

#include "symbols/format.h"
#include "symbols/internal.h"

struct index;

/*
 * parts: IX_PART_NAMES or IX_PART_FRAMES.  NULL: nothing could be made of it (then one line has
 * said so, unless there is just nothing in the file). */
struct index *index_open(struct symbols_module *m, uint32_t parts);
void index_close(struct index *ix);
/* identity.c.  dir: where hashes are kept, NULL = nowhere; content: of the file that id names */
#define IDENTITY_PREFIX ".hash-"
struct stat;
struct identity identity_of(const struct stat *st);
void identity_hash(const char *dir, const struct identity *id, struct span content,
		   uint64_t ret[2]);
/* The name of a content in the store of traces (collect.c). */
void content_hash(struct span s, uint8_t ret[16]);

/* The section's elements of size bytes each; *n_ret how many.  Empty when its sum is wrong. */
const void *index_array(struct index *ix, enum ix_section_id id, size_t size, size_t *n_ret);
struct span index_bytes(struct index *ix, enum ix_section_id id);
/* NULL: none there. */
const char *index_string(struct index *ix, uint32_t off);
uint64_t index_eh_count(const struct index *ix);

#endif
