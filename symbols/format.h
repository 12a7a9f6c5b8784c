/*
 * format.h - the index of one file: what the caged worker (compile.c) makes of its debug
 * information, and what the rest of the room reads (entry.c, unwind.c).
 *
 *	OFFSET	SIZE			DESCRIPTION
 *	0	sizeof(struct ix_header)	magic, version, what it was made from, the sections
 *	...	each section		at a multiple of 8, in the byte order of x86-64
 *
 * The worker may have been taken over by the file it reads.  So a reader believes nothing: each
 * number is compared with the size of the section that it points into when it is used, and a wrong
 * answer is the worst that can happen.  What does protect against accidents: the header's sum
 * (checked when the file is opened) and the sums of the sections (each checked once, when the
 * section is first used).
 *
 * Addresses are the file's own.  References to entries are offsets in IX_ENTRIES; 0 is no
 * reference, as is offset 0 in IX_STRINGS no string (both sections begin with eight bytes of
 * nothing).
 */
#ifndef SYMBOLS_FORMAT_H
#define SYMBOLS_FORMAT_H

#include <stdint.h>

#define IX_MAGIC "HSINDEX\n"

enum {
	/*
	 * Grows with each change of what is written; an index with another version is made again.
	 */
	IX_VERSION = 7,
};

enum ix_section_id {
	IX_UNITS,		/* struct ix_unit, in the order of their entries */
	IX_ENTRIES,		/* see below */
	IX_STRINGS,		/* each ends with a zero byte */
	IX_RANGES,		/* struct ix_range, pieces of entries' address ranges */
	IX_LOCATIONS,		/* struct ix_location, pieces of location lists */
	/* bytes of DWARF expressions; operators that name an address by index are replaced */
	IX_EXPRESSIONS,
	/* struct ix_function: concrete functions by start, the larger first */
	IX_FUNCTIONS,
	IX_UNIT_RANGES,		/* struct ix_unit_range by start */
	IX_FILES,		/* uint32_t: whole paths (strings) of the units' source files */
	IX_SEQUENCES,		/* struct ix_sequence by start */
	IX_LINES,		/* struct ix_line, grouped by sequence */
	IX_VARIABLES,		/* struct ix_variable by address */
	IX_TLS,			/* struct ix_variable by offset in the thread's block */
	IX_TYPES,		/* struct ix_type by hash, definitions before declarations */
	IX_SCOPES,		/* struct ix_scope, a unit's together, by entry */
	/* struct ix_fde of .eh_frame, then of .debug_frame, each by start */
	IX_FDES,
	IX_ROWS,		/* struct ix_row, grouped by ix_fde */
	IX_RULES,		/* struct ix_rules: what to do, each once */
	IX_SPLIT,		/* struct ix_split: units of which most is in other files */
	IX_SECTIONS
};

struct ix_section {
	uint64_t offset, size;	/* bytes */
	uint64_t sum;		/* XXH3 of the section's bytes */
};

struct ix_header {
	char magic[8];
	uint32_t version, parts;	/* parts: IX_PART_* that were asked for */
	uint64_t key[2];		/* of the content it was made from (struct ix_key) */
	/* the name of the main file's content in the store of traces; for collect.c only */
	uint8_t content[16];
	uint64_t n_eh;			/* how many of IX_FDES are of .eh_frame */
	struct ix_section section[IX_SECTIONS];
	uint64_t sum;			/* XXH3 of all before this */
};

/*
 * The parts that an index can hold; each kind is a file of its own, since stacks are asked for more
 * often than names.
 */
enum { IX_PART_NAMES = 1, IX_PART_FRAMES = 2 };

struct ix_unit {
	uint32_t first, root, end;	/* entries [first, end); root: the unit's own entry */
	uint32_t name, comp_dir;	/* strings */
	uint32_t first_file, n_files;	/* in IX_FILES; a file's number there begins with 0 */
	uint32_t first_scope, n_scopes;
	uint32_t file_base;		/* what the line table calls its first file: 0 or 1 */
	uint16_t language, tag;
	uint32_t flags;			/* IX_UNIT_* */
};
enum { IX_UNIT_ALT = 1 };		/* of the file that dwz moved common entries to */

struct ix_range {
	uint64_t start, end;
};
struct ix_location {
	uint64_t start, end;		/* the whole address space for a default */
	uint32_t expr, len;
};
struct ix_function {
	uint64_t start, end;
	uint32_t entry, unit;
};
struct ix_unit_range {
	uint64_t start, end;
	uint32_t unit, unused;
};
struct ix_sequence {
	uint64_t start, end;
	uint32_t first, n;
};
struct ix_line {
	uint64_t addr;
	uint32_t file;			/* string */
	uint32_t line;
	uint32_t column, unused;
};
struct ix_variable {
	uint64_t addr;
	uint32_t entry, unit;
};
struct ix_type {
	uint32_t hash, declaration, entry, unit;
};
struct ix_scope {
	uint32_t entry, end;
	int32_t parent;			/* among the unit's; -1 = none */
	uint32_t name;
	uint32_t tag;
};

struct ix_split {
	uint64_t id;
	uint32_t name, comp_dir;	/* strings: of the other file; where the compiler ran */
};

struct ix_fde {
	uint64_t start, end;
	uint32_t first, n;
};
struct ix_row {
	uint64_t start;			/* holds until the next row's, or the end of its ix_fde */
	uint32_t rules, unused;		/* index in IX_RULES */
};
/* As struct cfi_row; expressions are offset << 32 | length in IX_EXPRESSIONS. */
struct ix_rules {
	uint64_t cfa;			/* offset, or expression */
	uint8_t cfa_reg, cfa_is_expr, ra, signal;
	uint32_t unused;
	uint8_t kind[24];		/* enum cfi_rule_kind, for the first 17 registers */
	int64_t value[17];
};

/*
 * An entry:
 *	uint16_t tag		0: the end of a list of children, nothing follows
 *	uint8_t children, flags	IX_FLAG_*
 *	uint32_t has		bit 1 << IX_A_x for each value that follows, in this order
 *	values			uint32_t: strings, references; two uint32_t: ranges, locations;
 *				ULEB128: numbers
 */
#define IX_ATTRS(X) \
	X(sibling, REF) X(name, STR) X(linkage_name, STR) X(type, REF) X(abstract_origin, REF) \
	X(specification, REF) \
	X(signature, REF) X(byte_size, NUM) X(ranges, PAIR) X(location, LOC) X(frame_base, LOC) \
	X(const_value, NUM) \
	X(upper_bound, NUM) X(count, NUM) X(data_member_location, NUM) X(member_expr, LOC) \
	X(bit_size, NUM) \
	X(bit_offset, NUM) X(data_bit_offset, NUM) X(decl_file, STR) X(decl_line, NUM) \
	X(call_file, STR) \
	X(call_line, NUM) X(call_column, NUM) X(virtuality, NUM) X(encoding, NUM) X(import, REF) \
	X(lower_bound, NUM) \
	X(discr, REF) X(discr_value, NUM) X(alignment, NUM) X(bound_expr, LOC)
enum ix_attr {
#define X(name, shape) IX_A_##name,
	IX_ATTRS(X)
#undef X
	IX_A_N
};
enum ix_shape { IX_REF, IX_STR, IX_NUM, IX_PAIR, IX_LOC };
enum {
	IX_FLAG_DECLARATION = 1, IX_FLAG_EXTERNAL = 2, IX_FLAG_ARTIFICIAL = 4, IX_FLAG_EXPORT = 8,
	IX_FLAG_SIGNATURE = 16,		/* described in a type unit of its own */
	/* In a subrange: bound_expr, or the variable discr, counts; else it is the upper bound. */
	IX_FLAG_COUNT = 32,
};
/* IX_ENTRIES and IX_STRINGS begin with so many bytes that nobody refers to. */
enum { IX_NOTHING = 8 };
/*
 * In the second word of a location: the first is then an index in IX_LOCATIONS, the rest of the
 * second how many.
 */
#define IX_LOC_LIST (1u << 31)

#endif
