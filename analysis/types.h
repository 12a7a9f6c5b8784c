/*
 * types.h - pointers in values, for types.c: what they lead to.
 */
#ifndef ANALYSIS_TYPES_H
#define ANALYSIS_TYPES_H

#include "symbols/symbols.h"

/* types_rust.c: does the program have values of Rust? */
bool types_rust_is(struct symbols *s);
/* Calls fn for what each pointer in a t, whose bytes these are, leads to. */
typedef void types_rust_fn(void *ctx, uint64_t to, const struct symbols_type *t);
void types_rust_pointers(struct symbols *s, const struct symbols_type *t,
			 const unsigned char *bytes, uint64_t len, types_rust_fn *fn, void *ctx);
/*
 * A pointer to a t leads to a block of this size: what is it?  An inner node of a BTreeMap begins
 * as a leaf.
 */
const struct symbols_type *types_rust_node(struct symbols *s, const struct symbols_type *t,
					   uint64_t size);

#endif
