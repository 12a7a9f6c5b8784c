/*
 * dwarf.h - DWARF 2 to 5, as gcc and clang write it, read lazily: one unit at a time.
 *
 * A unit (cu) is indexed when first needed, in one pass over its entries: functions by address, variables with an address,
 * named types, scopes.  Only questions by name and for variables index all units of a module.
 */
#ifndef SYMBOLS_DWARF_H
#define SYMBOLS_DWARF_H

#include "symbols/expr.h"
#include "symbols/internal.h"

/* Attributes that somebody asks for. */
#define ATTRS(X) \
	X(sibling, 0x01) X(location, 0x02) X(name, 0x03) X(byte_size, 0x0b) X(bit_offset, 0x0c) X(bit_size, 0x0d) \
	X(stmt_list, 0x10) X(low_pc, 0x11) X(high_pc, 0x12) X(language, 0x13) X(comp_dir, 0x1b) \
	X(const_value, 0x1c) X(upper_bound, 0x2f) X(abstract_origin, 0x31) X(count, 0x37) \
	X(data_member_location, 0x38) X(decl_file, 0x3a) X(decl_line, 0x3b) X(declaration, 0x3c) \
	X(external, 0x3f) X(frame_base, 0x40) X(specification, 0x47) X(type, 0x49) X(virtuality, 0x4c) X(ranges, 0x55) \
	X(call_column, 0x57) X(call_file, 0x58) X(call_line, 0x59) X(object_pointer, 0x64) X(signature, 0x69) \
	X(data_bit_offset, 0x6b) X(linkage_name, 0x6e) X(str_offsets_base, 0x72) X(addr_base, 0x73) \
	X(rnglists_base, 0x74) X(loclists_base, 0x8c) X(artificial, 0x34) X(import, 0x18) X(export_symbols, 0x89)
enum attr {
#define X(name, number) A_##name,
	ATTRS(X)
#undef X
	A_N
};

enum {
	TAG_array_type = 0x01, TAG_class_type, TAG_enumeration_type = 0x04, TAG_formal_parameter, TAG_imported_declaration = 0x08,
	TAG_lexical_block = 0x0b, TAG_member = 0x0d, TAG_pointer_type = 0x0f, TAG_reference_type, TAG_compile_unit,
	TAG_structure_type = 0x13, TAG_subroutine_type = 0x15, TAG_typedef, TAG_union_type,
	TAG_inheritance = 0x1c, TAG_inlined_subroutine, TAG_ptr_to_member_type = 0x1f, TAG_subrange_type = 0x21,
	TAG_base_type = 0x24, TAG_template_type_parameter = 0x2f, TAG_const_type = 0x26, TAG_subprogram = 0x2e, TAG_variable = 0x34, TAG_volatile_type,
	TAG_interface_type = 0x38, TAG_namespace, TAG_imported_module, TAG_unspecified_type, TAG_partial_unit,
	TAG_imported_unit, TAG_restrict_type = 0x37, TAG_rvalue_reference_type = 0x42, TAG_atomic_type = 0x47,
};

enum { LANG_RUST = 0x1c };

struct val {
	uint16_t form;
	uint64_t u;		/* number, offset, or length of block */
	const uint8_t *p;	/* block, inline string */
};
struct die {
	struct cu *cu;
	uint64_t off, next;	/* in the section: itself, and what follows its attributes */
	uint16_t tag;		/* 0: the end of a list of children */
	bool children;
	uint64_t has;		/* bit 1 << A_x */
	struct val v[A_N];
};
struct ref {
	struct cu *cu;
	uint64_t off;
};

struct func {
	uint64_t start, end, off;
};
struct scope {			/* an entry that has a name for what is in it */
	uint64_t off, end;
	int32_t parent;
	uint16_t tag;
	const char *name;
};
struct var {
	uint64_t addr, off;	/* addr: offset when it is thread-local */
	bool tls;
};
struct named_type {
	uint32_t hash;		/* of the last part of its name */
	bool declaration;
	uint64_t off;
};
struct lines;

struct cu {
	struct dwarf *dw;
	struct span sec;	/* .debug_info or .debug_types */
	uint64_t off, die, end;
	uint8_t version, addr_size;
	bool wide, ready, indexed, lines_tried, is_types;
	uint64_t abbrev_off, signature, type_off;
	struct abbrevs *abbrevs;
	uint64_t str_offsets_base, addr_base, rnglists_base, loclists_base;
	uint64_t low_pc, stmt_list;
	bool has_lines;
	uint16_t language;
	const char *name, *comp_dir;
	struct lines *lines;
	struct func *func;
	struct scope *scope;
	struct var *var;
	struct named_type *type;
	size_t n_func, cap_func, n_scope, cap_scope, n_var, cap_var, n_type, cap_type;
};

struct dwarf {
	struct symbols_module *module;
	struct elf *elf;
	struct dwarf *alt;
	bool alt_tried;
	struct cu *cu;		/* .debug_info by offset, then .debug_types */
	size_t n_cu, n_info, cap_cu;
	struct abbrevs *abbrevs;
	struct cu_range {
		uint64_t start, end;
		uint32_t cu;
	} *range;
	size_t n_range, cap_range;
	bool ranges_ready;
	/* of the whole module */
	struct var_ref {
		uint64_t addr, size;
		struct cu *cu;
		uint64_t off;
	} *var, *tls;
	size_t n_var, cap_var, n_tls, cap_tls;
	struct type_ref {
		uint32_t hash;
		bool declaration;
		struct cu *cu;
		uint64_t off;
	} *type;
	size_t n_type, cap_type;
	bool all_ready;
};

/* NULL when the module has none. */
struct dwarf *module_dwarf(struct symbols_module *m);
void dwarf_free(struct dwarf *d);

/* dwarf.c: units and entries */
bool cu_ready(struct cu *cu);
struct cu *dwarf_cu_of(struct dwarf *d, uint64_t off);	/* of .debug_info */
bool cu_addr(struct cu *cu, uint64_t index, uint64_t *ret);
/* Reads the entry at off; false behind the unit's end, and where it is damaged. */
bool die_read(struct cu *cu, uint64_t off, struct die *ret);
/* Where the entry's next sibling is; for one with children this walks them when the compiler did not say. */
uint64_t die_sibling(const struct die *die);
static inline bool die_has(const struct die *die, enum attr a)
{
	return die->has >> a & 1;
}
const char *die_str(const struct die *die, enum attr a);
bool die_uint(const struct die *die, enum attr a, uint64_t *ret);
bool die_addr(const struct die *die, enum attr a, uint64_t *ret);
bool die_flag(const struct die *die, enum attr a);
bool die_ref(const struct die *die, enum attr a, struct ref *ret);
/* A block of bytes (expression); false for numbers. */
bool die_block(const struct die *die, enum attr a, struct span *ret);
/* Each [start, end) of addresses of the entry, in the file's addresses. */
typedef void range_fn(void *ctx, uint64_t start, uint64_t end);
void die_ranges(const struct die *die, range_fn *fn, void *ctx);
bool die_covers(const struct die *die, uint64_t pc);
/* The location expression that holds at pc: by itself or from a location list. */
bool die_location(const struct die *die, enum attr a, uint64_t pc, struct span *ret);
/* Reads what specification or abstract_origin refers to. */
bool die_origin(const struct die *die, struct die *ret);
/* The attribute, own or through up to 8 origins; *holder is where it was found. */
bool die_find(const struct die *die, enum attr a, struct die *holder);

/* index.c */
void cu_index(struct cu *cu);
struct cu *dwarf_cu_at(struct dwarf *d, uint64_t vaddr);
const struct func *cu_func_at(struct cu *cu, uint64_t vaddr);
void dwarf_index_all(struct dwarf *d);
/* Innermost scope around the entry at off; -1 = none. */
int32_t cu_scope_at(struct cu *cu, uint64_t off);
/* "ns::Class::", in the family's memory; "" outside of any. */
const char *cu_scope_name(struct cu *cu, int32_t scope);
/* name with the scopes that are around the entry. */
const char *die_qualify(const struct die *die, const char *name);
const char *die_function_name(const struct die *die, const char **linkage_ret);
/* The child of die that is (or holds) inlined code at pc; false: none. */
bool die_inlined_child(const struct die *die, uint64_t pc, struct die *ret);
size_t dwarf_lookup(struct symbols_module *m, uint64_t vaddr, struct symbols_frame *ret, size_t max);
bool is_cplusplus(const struct cu *cu);

/* line.c */
bool cu_line_at(struct cu *cu, uint64_t vaddr, const char **file_ret, unsigned *line_ret, unsigned *column_ret);
const char *cu_file(struct cu *cu, uint64_t index);
void lines_free(struct lines *l);

/* type.c */
struct type_table;
const struct symbols_type *type_get(struct cu *cu, uint64_t off);
/* The type an entry has (through its origins); NULL = void or unknown. */
const struct symbols_type *die_type(const struct die *die);
/* A pointer to t, whether the program has that type or not. */
const struct symbols_type *type_pointer_to(const struct symbols_type *t);
void type_table_free(struct type_table *t);

/* variable.c */
/* The thread-local variable of that name in the thread of regs. */
bool variable_in_thread(struct symbols *s, const char *name, const struct symbols_regs *regs, const struct symbols_memory *mem,
			struct symbols_variable *ret);
bool variable_fill(struct symbols_module *m, const struct die *die, struct symbols_variable *ret);

#endif
