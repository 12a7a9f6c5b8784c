/*
 * entry.h - the entries of a file's index, and what is found by them: functions, inlined calls,
 * lines, types, variables.
 *
 * Entries are what DWARF calls debugging information entries, as the worker has written them
 * (format.h); all are in memory, mapped, and read one at a time into a struct die.
 */
#ifndef SYMBOLS_ENTRY_H
#define SYMBOLS_ENTRY_H

#include <libdwarf/dwarf.h>

#include "symbols/expr.h"
#include "symbols/index.h"
#include "symbols/internal.h"

struct die {
	struct cu *cu;
	uint32_t off, next;	/* itself, and what follows its attributes */
	uint16_t tag;		/* 0: the end of a list of children */
	bool children;
	uint8_t flags;		/* IX_FLAG_* */
	uint32_t has;		/* bit 1 << IX_A_x */
	uint64_t v[IX_A_N];	/* numbers, strings, references; pairs: first | second << 32 */
};
struct ref {
	struct cu *cu;
	uint32_t off;
};

struct cu {
	struct dwarf *dw;
	uint32_t number, first, end, root;
	uint16_t language;
	const struct ix_scope *scope;
	uint32_t n_scope;
};

struct dwarf {
	struct symbols_module *module;
	struct index *ix;
	struct cu *cu;		/* in the order of their entries */
	size_t n_cu;
	struct span entries;
	uint64_t *var_size, *tls_size;	/* of IX_VARIABLES and IX_TLS; 0 = not asked yet */
};

/* NULL when the module has none. */
struct dwarf *module_dwarf(struct symbols_module *m);
void dwarf_free(struct dwarf *d);

/* ---- entries (entry.c) ----------------------------------------------------------------------- */

/* Reads the entry at off; false behind the unit's end, and where it is damaged. */
bool die_read(struct cu *cu, uint32_t off, struct die *ret);
/* Where the entry's next sibling is. */
uint32_t die_sibling(const struct die *die);
static inline bool die_has(const struct die *die, enum ix_attr a)
{
	return die->has >> a & 1;
}
const char *die_str(const struct die *die, enum ix_attr a);
bool die_uint(const struct die *die, enum ix_attr a, uint64_t *ret);
static inline bool die_flag(const struct die *die, uint8_t flag)
{
	return die->flags & flag;
}
bool die_ref(const struct die *die, enum ix_attr a, struct ref *ret);
/* A location that is the same everywhere; false for lists. */
bool die_block(const struct die *die, enum ix_attr a, struct span *ret);
/* The entry's pieces of addresses, in the file's addresses. */
const struct ix_range *die_ranges(const struct die *die, size_t *n_ret);
/* bytes of its smallest range with pc in it; 0 = none */
uint64_t die_covers(const struct die *die, uint64_t pc);
/* The location expression that holds at pc: by itself or from a location list. */
bool die_location(const struct die *die, enum ix_attr a, uint64_t pc, struct span *ret);
/*
 * The attribute, own or through up to 8 origins (abstract origin, specification); *holder is where
 * it was found.
 */
bool die_find(const struct die *die, enum ix_attr a, struct die *holder);
/* The entry that holds off of the module's entries. */
struct cu *dwarf_cu_of(struct dwarf *d, uint32_t off);

/* ---- looking up (entry_find.c) --------------------------------------------------------------- */

/* The function at vaddr, *cu_ret its unit; NULL: none. */
const struct ix_function *dwarf_function_at(struct dwarf *d, uint64_t vaddr, struct cu **cu_ret);
/* Innermost scope around the entry at off; -1 = none. */
int32_t cu_scope_at(struct cu *cu, uint32_t off);
/* "ns::Class::", in the family's memory; "" outside of any. */
const char *cu_scope_name(struct cu *cu, int32_t scope);
/* name with the scopes that are around the entry. */
const char *die_qualify(const struct die *die, const char *name);
const char *die_function_name(const struct die *die, const char **linkage_ret);
/* The child of die that is (or holds) inlined code at pc; false: none. */
bool die_inlined_child(const struct die *die, uint64_t pc, struct die *ret);
size_t dwarf_lookup(struct symbols_module *m, uint64_t vaddr, struct symbols_frame *ret,
		    size_t max);
bool dwarf_line_at(struct dwarf *d, uint64_t vaddr, const char **file_ret, unsigned *line_ret,
		   unsigned *column_ret);
bool is_cplusplus(const struct cu *cu);

/* ---- types (type.c) -------------------------------------------------------------------------- */

struct type_table;
const struct symbols_type *type_get(struct cu *cu, uint32_t off);
/* The type an entry has (through its origins); NULL = void or unknown. */
const struct symbols_type *die_type(const struct die *die);
/*
 * t where arrays as long as the running program made them are so long (t itself, and what it points
 * to).  count(): elements of the dimension that this entry describes; false = not known.
 */
const struct symbols_type *
type_measured(const struct symbols_type *t,
	      bool (*count)(void *ctx, const struct die *subrange, uint64_t *ret), void *ctx);
/* A pointer to t, whether the program has that type or not. */
const struct symbols_type *type_pointer_to(const struct symbols_type *t);
/* Types that were asked for, by hash. */
struct type_table {
	struct symbols_type **slot;
	size_t n, cap;
};

/* free.c */
void type_table_free(struct type_table *t);
/* The entry that describes it; false where there is none, or none that can be read. */
bool type_has_virtual_bases(const struct symbols_type *t);
bool type_die(const struct symbols_type *t, struct die *ret);

/* ---- variables (variable.c) ------------------------------------------------------------------ */

/* The thread-local variable of that name in the thread of regs. */
bool variable_in_thread(struct symbols *s, const char *name, const struct symbols_regs *regs,
			const struct symbols_memory *mem, struct symbols_variable *ret);
bool variable_fill(struct symbols_module *m, const struct die *die, struct symbols_variable *ret);

#endif
