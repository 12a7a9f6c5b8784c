/*
 * shapes.c - the kinds of objects that a view shows otherwise than as their fields; a view that has
 * them.
 *
 * A shape may show values in it, which have shapes of their own: view.c finds them by the table
 * that a view gets here.
 */
#include <stdlib.h>

#include "analysis/heap/internal.h"
#include "analysis/heap/shape.h"

static const struct heap_shape *const shapes[] = {
	&shape_cxx_string,  &shape_cxx_view,   &shape_cxx_bits,	 &shape_cxx_vector,
	&shape_cxx_deque,   &shape_cxx_list,   &shape_cxx_map,	 &shape_cxx_hash,
	&shape_cxx_pointer, &shape_cxx_option, &shape_cxx_variant, &shape_cxx_atomic,
	&shape_cxx_tuple,   &shape_cxx_bitset, &shape_cxx_adaptor, &shape_cxx_any,
	&shape_cxx_duration, &shape_cxx_function, &shape_cxx_slice,  &shape_cxx_path,
	&shape_llvm_string, &shape_llvm_view,	 &shape_llvm_vector, &shape_llvm_bits,
	&shape_llvm_slice,  &shape_llvm_deque,	 &shape_llvm_list,   &shape_llvm_map,
	&shape_llvm_hash,   &shape_llvm_shared,	 &shape_llvm_option, &shape_llvm_variant,
	&shape_llvm_tuple,  &shape_llvm_any,	 &shape_llvm_function, &shape_llvm_path,
	&shape_rust_string, &shape_rust_slice, &shape_rust_vector, &shape_rust_hash,
	&shape_rust_ring,   &shape_rust_tree,  &shape_rust_shared, &shape_rust_cell,
	&shape_rust_text,   &shape_rust_weak,  &shape_rust_fat,	 &shape_rust_list,
	&shape_rust_heap,   &shape_rust_holder, &shape_rust_nonzero, &shape_rust_duration,
	&shape_rust_dyn,    &shape_rust_enum,   &shape_ring,
	NULL,
};

struct err *heap_view_create(struct heap_store *st, const struct heap_view_options *o,
			     struct heap_view **ret)
{
	struct heap_view *v = calloc(1, sizeof(*v));

	if (!v)
		return &err_nomem;
	v->st = st;
	v->shapes = shapes;
	if (o)
		v->o = *o;
	v->o.children = v->o.children ? v->o.children : 200;
	v->o.string = v->o.string ? v->o.string : 200;
	*ret = v;
	return NULL;
}
