/*
 * shape.h - containers of languages that are compiled.
 */
#ifndef ANALYSIS_HEAP_SHAPE_H
#define ANALYSIS_HEAP_SHAPE_H

#include "analysis/heap/internal.h"

static inline bool shape_path(const struct symbols_type *t, const char *path, uint64_t *offset,
			      const struct symbols_type **type_ret)
{
	return symbols_type_descend(t, path, offset, type_ret);
}
/* Reads what the member holds: at most 8 bytes. */
bool shape_word(struct heap_view *v, const struct heap_value *x, const char *path, uint64_t *ret);
const char *shape_name(const struct symbols_type *t);
/* Children "[0]" to "[data[1] - 1]": values of type t, one behind the other from data[0] on. */
void shape_elements_add(struct heap_view *v, struct heap_value *x, const struct symbols_type *t);
/* Is name std::class<...>, in whatever inline namespace? */
bool shape_is(const char *name, const char *class);
bool shape_is_either(const char *name, const char *one, const char *other);
/* The text says it all: no children. */
void shape_closed(struct heap_value *x, const char *text);
/* ... the string of n bytes at addr; false: they cannot be read. */
bool shape_string(struct heap_view *v, struct heap_value *x, uint64_t addr, uint64_t n);
/* ... of n characters of the type that x's template has for its first argument. */
bool shape_characters(struct heap_view *v, struct heap_value *x, uint64_t addr, uint64_t n);
/*
 * A std::list or forward_list, of either library.  data: first node, end, where in a node its
 * element is.  next: where in a node the next one's address is.
 */
bool shape_list(struct heap_view *v, struct heap_value *x, uint64_t next);
void shape_list_open(struct heap_view *v, struct heap_value *x, uint64_t next);

/* cxx.c, cxx_nodes.c, cxx_held.c: as gdb's pretty-printers for libstdc++ show them */
extern const struct heap_shape shape_cxx_string, shape_cxx_view, shape_cxx_bits, shape_cxx_vector,
	shape_cxx_deque, shape_cxx_pointer, shape_cxx_option, shape_cxx_variant, shape_cxx_atomic,
	shape_cxx_tuple, shape_cxx_bitset, shape_cxx_adaptor, shape_cxx_any, shape_cxx_duration,
	shape_cxx_function, shape_cxx_slice, shape_cxx_path;
extern const struct heap_shape shape_cxx_list, shape_cxx_map, shape_cxx_hash;
/* Key and value of a map's node as a child "[key]". */
void shape_pair_add(struct heap_view *v, struct heap_value *x, const struct symbols_type *pair,
		    uint64_t addr, bool is_map);
/* x is a smart pointer to p; counts is what its text says behind the address. */
void shape_pointer(struct heap_view *v, struct heap_value *x, uint64_t p, const char *counts);
/* cxx_llvm.c: the same of libc++ */
extern const struct heap_shape shape_llvm_string, shape_llvm_view, shape_llvm_vector,
	shape_llvm_bits, shape_llvm_slice, shape_llvm_deque, shape_llvm_list, shape_llvm_map,
	shape_llvm_hash, shape_llvm_shared, shape_llvm_option, shape_llvm_variant,
	shape_llvm_tuple;
/* cxx_llvm_held.c */
extern const struct heap_shape shape_llvm_any, shape_llvm_function, shape_llvm_path;
/* container.c: heads of rings of links that are members (list_head) */
extern const struct heap_shape shape_ring;
/* rust.c */
extern const struct heap_shape shape_rust_string, shape_rust_slice, shape_rust_vector,
	shape_rust_hash, shape_rust_enum, shape_rust_ring, shape_rust_tree, shape_rust_shared,
	shape_rust_cell;
/* rust_std.c */
extern const struct heap_shape shape_rust_text, shape_rust_weak, shape_rust_fat, shape_rust_list,
	shape_rust_dyn, shape_rust_heap, shape_rust_holder, shape_rust_nonzero, shape_rust_duration;

#endif
