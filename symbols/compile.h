/*
 * compile.h - inside the caged worker: from a file's debug information, as libdwarf reads it, to an
 * index (format.h).
 *
 * Nothing here returns an error: what cannot be read is left out, and when memory ends the worker
 * ends (its parent then has no names for this file).  The worker must not be trusted, so nothing of
 * this is called by anybody else.
 */
#ifndef SYMBOLS_COMPILE_H
#define SYMBOLS_COMPILE_H

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#include "symbols/format.h"
#include "symbols/internal.h"

/* Bytes that grow at their end. */
struct buf {
	uint8_t *p;
	size_t n, cap;
};
/* Room for size more bytes, not cleared; n grows by that. */
void *buf_room(struct buf *b, size_t size);
void buf_put(struct buf *b, const void *bytes, size_t size);
void buf_u32(struct buf *b, uint32_t v);
void buf_uleb(struct buf *b, uint64_t v);

/* An ELF image and what libdwarf sees of it (compile_elf.c). */
struct object;
/* fallback_eh: call frame information of a file without section headers; may be empty. */
struct object *object_open(struct span image, struct span fallback_eh, uint64_t fallback_eh_addr);
/* Opens a .dwo or .dwp in the same way. */
struct object *object_open_split(struct span image);
/* NULL: libdwarf cannot read it, or there is nothing */
Dwarf_Debug object_dwarf(struct object *o);
/* The content of a section as libdwarf sees it; empty when there is none. */
struct span object_section(const struct object *o, const char *name);
bool object_executable(const struct object *o, uint64_t addr);
bool object_mapped(const struct object *o, uint64_t addr);
/*
 * Returns the offset of a thread-local variable, when addr is where its first content is; else
 * addr.
 */
uint64_t object_tls_offset(const struct object *o, uint64_t addr);

/*
 * Which offsets of a section of debug information became which entries; filled in increasing order.
 */
struct offset_map {
	struct offset_pair {
		uint64_t off;
		uint32_t entry;
	} *v;
	size_t n, cap;
	uint32_t *bucket;
	size_t n_buckets;
};
enum { SPACE_INFO, SPACE_TYPES, SPACE_ALT, SPACE_SPLIT, SPACES };

/* An expression that is kept once. */
struct expr_slot {
	uint64_t hash;
	uint32_t off, len;	/* len 0: free */
};

struct fixup {
	uint64_t off;			/* what is referred to; for SPACE_SIGNATURE the signature */
	uint32_t at;			/* where the reference stands in IX_ENTRIES */
	uint8_t space;
};
enum { SPACE_SIGNATURE = SPACES };

struct compile {
	struct object *main;		/* whose segments count */
	struct object *names;		/* where the units are read from */
	Dwarf_Debug dbg;
	bool is_info, alt;
	uint64_t from, to;		/* units of .debug_info that begin there are read */
	struct buf section[IX_SECTIONS];
	struct offset_map map[SPACES];
	struct fixup *fixup;
	size_t n_fixup, cap_fixup;
	struct signature {
		uint64_t signature;
		uint32_t entry;
	} *signature;
	size_t n_signature, cap_signature;
	struct known_signatures {	/* a hash table; 0 is free */
		uint64_t *v;
		size_t n, cap;
	} known;
	struct string_slot *strings;	/* by content */
	size_t n_strings, cap_strings;
	struct pointer_slot *pointers;	/* by where libdwarf keeps it */
	size_t cap_pointers;
	struct expr_slot *exprs;
	size_t n_exprs, cap_exprs;
	struct lines_done *lines_done;	/* tables whose rows are in */
	size_t n_lines_done, cap_lines_done;
	/* split units by id, and the files they are in */
	struct split_unit *split_unit;
	size_t n_split_unit, cap_split_unit;
	struct object **split_object;
	size_t n_split_object;
	/* the unit at hand */
	struct split *split;		/* NULL: it is in one piece */
	size_t first_fixup;		/* of a split unit */
	uint32_t unit;
	struct ix_unit u;
	Dwarf_Die root;
	uint64_t low_pc, loclists_base;
	unsigned version, depth;
	uint32_t loclists_base_of;	/* unit + 1 */
	uint64_t header_off;
	int32_t scope;
	uint64_t n_eh;
};

/* The values that an entry will hold, before the entry is written. */
struct entry_values {
	uint16_t tag;
	uint8_t flags;
	uint32_t has;			/* bit 1 << IX_A_x */
	/* numbers, strings, offsets referred to; pairs: first | second << 32 */
	uint64_t num[IX_A_N];
	uint8_t space[IX_A_N];		/* of references */
	uint32_t hash;			/* of the name, where the entry has one */
};

/* While a split unit is read: what its skeleton knows, and where the reader was. */
struct split {
	Dwarf_Die skeleton;		/* NULL for a type unit, which needs no addresses */
	struct object *object;
	uint64_t old_ranges;		/* version 4: where its ranges begin in .debug_ranges */
	/* in a .dwp: where its part of the sections begins */
	uint64_t lists_at, ranges_at;
	Dwarf_Debug dbg;
	Dwarf_Die root;
	unsigned version;
	bool is_info;
	uint64_t header_off;
};

extern const uint8_t ix_shape_of[IX_A_N];	/* enum ix_shape */

uint32_t compile_string(struct compile *c, const char *s);
/* Keeps a string that is not libdwarf's. */
uint32_t compile_string_new(struct compile *c, const char *s);
uint32_t compile_expression_keep(struct compile *c, const uint8_t *p, uint32_t n);
void compile_write(int fd, const void *bytes, size_t n);
/* NULL: none that can be read, or one in a file that is not there */
const char *compile_form_string(struct compile *c, Dwarf_Attribute a);
/* NULL: it has none that can be read. */
const char *compile_die_string(struct compile *c, Dwarf_Die die, Dwarf_Half attr);
/*
 * The expression, with addresses that are named by index replaced; *len_ret bytes at the returned
 * offset.
 */
uint32_t compile_expression(struct compile *c, Dwarf_Die die, const void *p, size_t n,
			    uint32_t *len_ret);
void compile_units(struct compile *c, Dwarf_Debug dbg, bool is_info, bool alt);	/* compile_unit.c */
/* sig, type_off: of a type unit; type_off 0 = another one, whose sig may be its id */
void compile_unit(struct compile *c, Dwarf_Die root, const Dwarf_Sig8 *sig, uint64_t type_off);
/* Which offsets it counts in. */
int compile_space(const struct compile *c);
bool compile_signature_known(const struct compile *c, const Dwarf_Sig8 *sig);
/* Fills in references of a space that are left from number first on, and forgets its offsets. */
void compile_references(struct compile *c, size_t first, int space);
/* Fills in the references that can be followed; the others are left. */
void compile_references_here(struct compile *c);
/* Fills in all; 0 where nothing is there. */
void compile_references_resolve(struct compile *c);
/* The address that die's unit, or its skeleton, has at this index. */
bool compile_address(struct compile *c, Dwarf_Die die, uint64_t index, uint64_t *ret);

/* Split DWARF (compile_split.c) */
struct worker_job;
void compile_split_open(struct compile *c, const struct worker_job *job);
/* The other half of a unit that is a skeleton; NULL = it is none, or there is no file with it. */
struct split_unit *compile_split_find(struct compile *c, Dwarf_Die root, const Dwarf_Sig8 *sig);
typedef void split_fn(struct compile *c, Dwarf_Die root, void *ctx);
/* fn with the split unit's first entry, while c reads from there. */
void compile_split_unit(struct compile *c, struct split_unit *u, Dwarf_Die skeleton, split_fn *fn,
			void *ctx);
void compile_split_types(struct compile *c);
/* The next piece of a list in .debug_loc.dwo; false: there is none. */
bool compile_split_list(struct compile *c, Dwarf_Die die, struct cursor *cur, uint64_t *start_ret,
			uint64_t *end_ret, struct span *expr_ret);
struct span compile_split_section(const struct compile *c, const char *name);
/* compile_attr.c */
void compile_attributes(struct compile *c, Dwarf_Die die, uint16_t tag, struct entry_values *v);
/* Files and rows of the line table that the unit names (compile_line.c). */
void compile_lines(struct compile *c, Dwarf_Die root);
/* compile_frame.c */
void compile_frames(struct compile *c, Dwarf_Debug eh, Dwarf_Debug debug);
/* Two workers that read half of the units each (compile_merge.c) */
void compile_send(struct compile *c, int fd);
/* Appends what the other sent. */
void compile_receive(struct compile *c, int fd);
void dwarf_error_drop(Dwarf_Debug dbg, Dwarf_Error *e);

#endif
