/*
 * internal.h - inside the room.
 *
 *	struct symbols		a space: regions (mappings), caches by process address
 *	  struct family		what spaces share: files by name, modules by content, strings
 *	    struct file		a name the program saw -> a module, opened when first needed
 *	    struct symbols_module	ELF, symbol tables, CFI, DWARF, in the file's own
 *				addresses ("vaddr"): a process address minus the region's bias
 */
#ifndef SYMBOLS_INTERNAL_H
#define SYMBOLS_INTERNAL_H

#include <elf.h>
#include <limits.h>
#include <stdlib.h>

#include "symbols/bytes.h"
#include "symbols/symbols.h"

/* ---- memory (util.c) ---------------------------------------------------------------------- */

/* Strings and small things that live as long as the family. */
struct arena {
	struct arena_block *block;
};
void *arena_alloc(struct arena *a, size_t n);		/* zeroed; NULL = out of memory */
char *arena_strn(struct arena *a, const char *s, size_t n);
void arena_deinit(struct arena *a);

/* Room for need elements of size elem in *p; false = out of memory, nothing changed. */
bool grow(void *p, size_t *cap, size_t need, size_t elem);
static inline uint64_t hash_u64(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}
uint32_t hash_str(const char *s, size_t n);

/* ---- ELF (elf.c) -------------------------------------------------------------------------- */

#define SECTIONS(X) \
	X(EH_FRAME, ".eh_frame") X(EH_FRAME_HDR, ".eh_frame_hdr") X(DEBUG_FRAME, ".debug_frame") \
	X(DEBUG_INFO, ".debug_info") X(DEBUG_TYPES, ".debug_types") \
	X(DEBUG_ABBREV, ".debug_abbrev") \
	X(DEBUG_LINE, ".debug_line") X(DEBUG_STR, ".debug_str") \
	X(DEBUG_LINE_STR, ".debug_line_str") \
	X(DEBUG_RANGES, ".debug_ranges") X(DEBUG_RNGLISTS, ".debug_rnglists") \
	X(DEBUG_LOC, ".debug_loc") \
	X(DEBUG_LOCLISTS, ".debug_loclists") X(DEBUG_ADDR, ".debug_addr") \
	X(DEBUG_STR_OFFSETS, ".debug_str_offsets") X(DEBUG_ARANGES, ".debug_aranges") \
	X(SYMTAB, ".symtab") X(STRTAB, ".strtab") X(DYNSYM, ".dynsym") X(DYNSTR, ".dynstr") \
	X(DYNAMIC, ".dynamic") \
	X(PLT, ".plt") X(PLT_SEC, ".plt.sec") X(PLT_GOT, ".plt.got") X(IPLT, ".iplt") \
	X(RELA_PLT, ".rela.plt") X(RELA_DYN, ".rela.dyn") \
	X(GNU_DEBUGDATA, ".gnu_debugdata") X(GNU_DEBUGLINK, ".gnu_debuglink") \
	X(GNU_DEBUGALTLINK, ".gnu_debugaltlink") \
	X(DEBUG_INFO_DWO, ".debug_info.dwo") \
	X(BUILD_ID, ".note.gnu.build-id") X(GOPCLNTAB, ".gopclntab") X(TEXT, ".text")
enum section_id {
#define X(id, name) SEC_##id,
	SECTIONS(X)
#undef X
	SECTIONS_N
};

struct section {
	uint64_t addr, size;	/* size also of NOBITS */
	uint64_t flags;
	uint32_t type;
	bool there, unpacked;
	struct span raw;
	uint8_t *owned;		/* decompressed */
};

/* A file that can be told from any other, and from itself once changed (identity.c). */
struct identity {
	uint64_t dev, ino, size;	/* ino 0: no file */
	int64_t changed_ns, inode_changed_ns;
};

struct elf {
	struct span file;
	struct identity identity;
	bool mapped, owned;	/* munmap or free the file's bytes */
	uint16_t type;
	Elf64_Phdr *phdr;
	size_t n_phdr;
	struct section sec[SECTIONS_N];
	struct span build_id;
	char *path;		/* of a separate file; NULL: it is none */
	struct span headers;	/* of all sections */
	struct span symtab_index;	/* SHT_SYMTAB_SHNDX */
};
/* Takes over bytes (also on failure).  False: not an x86-64 ELF file. */
bool elf_init(struct elf *e, struct span file, bool mapped, bool owned);
void elf_deinit(struct elf *e);
/* With itself; NULL is nothing. */
void elf_free(struct elf *e);
/* Content, decompressed; empty when it is not there. */
struct span elf_section(struct elf *e, enum section_id id);
/* Bytes of the file at a virtual address: at most what the segment holds from there. */
struct span elf_bytes(const struct elf *e, uint64_t vaddr);
/*
 * .eh_frame where .eh_frame_hdr says, for a file without section headers; empty when there is none.
 */
struct span elf_eh_frame(struct elf *e, uint64_t *addr_ret);
const Elf64_Phdr *elf_segment(const struct elf *e, uint64_t vaddr);
bool elf_executable(const struct elf *e, uint64_t vaddr);
uint64_t elf_section_address(const struct elf *e, uint32_t number);	/* 0 = none */
/* Decompress xz (.gnu_debugdata); NULL when damaged or larger than we believe. */
uint8_t *unpack_xz(struct span in, size_t *n_ret);

/* ---- symbol tables (symtab.c) ------------------------------------------------------------- */

struct sym {
	uint64_t addr, size;
	const char *name;
	uint8_t type;		/* STT_* */
	uint8_t bind;		/* STB_* */
	uint8_t source;		/* enum symbols_source */
};
struct symtab {
	bool ready;
	struct sym *code, *data;	/* by address; the best name for an address first */
	size_t n_code, n_data, cap_code, cap_data;
	struct sym *tls;		/* by offset */
	size_t n_tls, cap_tls;
	struct sym_name {
		uint32_t hash, index;	/* into code, then data, then tls */
	} *names;		/* by hash */
	size_t n_names;
	bool names_ready;
	struct mangled {		/* symbols that begin with _Z or _R, numbered as in names */
		uint32_t *all;
		size_t n, room;
		bool ready;		/* the table from identifiers to symbols (mangled.c) */
		uint32_t mask, *start, *word;
	} mangled;
};

/* ---- modules (module.c) ------------------------------------------------------------------- */

struct family;
struct dwarf;
struct cfi;

struct symbols_module {
	struct family *family;
	struct symbols_module *next;
	const char *name;
	uint64_t dev, ino, size;	/* identity of the content */
	struct elf elf;
	/* separate debug information, .gnu_debugdata, dwz's common file */
	struct elf *debug, *mini, *alt;
	bool debug_tried, mini_tried, alt_tried;
	struct symtab symtab;
	struct cfi *cfi;
	struct dwarf *dwarf;
	bool dwarf_tried;
	struct go *go;
	bool go_tried;
	uint64_t *starts;	/* what calls in the code go to, sorted (infer.c) */
	size_t n_starts;
	bool starts_tried;
	bool jit;		/* an object in memory; of no file, and its index is not kept */
};

struct file {
	const char *name;
	struct symbols_module *module;
	bool tried;
	struct file *next;
};

struct demangled {
	const char *name, *plain;
};

struct family {
	unsigned refs;
	struct symbols_options options;
	struct arena arena;
	struct symbols_module *modules, *jit_modules;
	struct file *files;
	struct demangled *demangled;	/* hash table by content of name */
	size_t n_demangled, cap_demangled;
	struct type_table *types;
};

struct symbols_module *file_module(struct family *f, struct file *file);
/* A module of its own for these bytes (copied), or the one that has them already. */
struct symbols_module *module_of_image(struct family *f, const char *name, const void *image,
				       size_t len);
void module_free(struct symbols_module *m);
/* DIR/.build-id/ab/cdef.debug; false: id is none that such a file can have. */
bool build_id_path(const char *dir, struct span id, char path[PATH_MAX]);
/* The separate debug file, or NULL. */
struct elf *module_debug(struct symbols_module *m);
struct elf *module_mini(struct symbols_module *m);
struct elf *module_alt(struct symbols_module *m);

struct symtab *module_symtab(struct symbols_module *m);
void symtab_deinit(struct symtab *t);
const struct sym *symtab_code_at(struct symbols_module *m, uint64_t vaddr);
const struct sym *symtab_data_at(struct symbols_module *m, uint64_t vaddr);
const struct sym *symtab_tls_at(struct symbols_module *m, uint64_t offset);
/* Calls fn for each symbol of that name (mangled or plain). */
void symtab_each(struct symbols_module *m, const char *name,
		 void (*fn)(void *ctx, const struct sym *s), void *ctx);
const struct sym *symtab_nth(const struct symtab *t, uint32_t i);

/* ---- plain names to mangled ones (mangled.c) ------------------------------------------------ */

/* Without memory the symbol is left out. */
void mangled_add(struct mangled *m, uint32_t symbol);
void mangled_deinit(struct mangled *m);
/*
 * The numbers of all symbols whose mangled name contains this identifier, and perhaps others; in
 * order, some twice.  Of all mangled ones when word is "".
 */
const uint32_t *mangled_with(struct symtab *t, const char *word, size_t *n_ret);

/* ---- demangling (demangle.c) ------------------------------------------------------------- */

/* Without parameters; name itself when it is not mangled. */
const char *family_demangle(struct family *f, const char *name);
/* In place: "std::vector<int, std::allocator<int> >" becomes "std::vector<int>". */
void shorten_templates(char *s);
static inline bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}
/* rust.c; the caller frees it; NULL when it is no such name */
char *rust_demangle(const char *mangled);
char *demangle_full(const char *name);	/* the caller frees it; NULL when it is not mangled */

/* ---- spaces (space.c) --------------------------------------------------------------------- */

struct region {
	uint64_t start, end, offset;
	int prot;
	struct file *file;
	struct symbols_module *module;	/* when resolved */
	uint64_t bias;
	bool resolved;
};
struct loaded {			/* a module at a place */
	struct symbols_module *module;
	uint64_t bias, start, end;	/* whole extent of its segments */
};
struct jit_name {
	uint64_t start, end;
	uint32_t order;
	const char *name;
};
struct lookup {
	uint64_t addr;
	uint32_t n, cap;
	struct symbols_frame *frame;
};

enum { VTABLES = 1024 };
struct vtable {
	uint64_t vptr;
	int64_t top;
	const char *class;	/* NULL: it is no vtable */
	const struct symbols_type *type;
	bool used;
};

enum { GUESSES = 1024 };
struct guess {
	uint64_t hash;		/* of return addresses and size */
	const struct symbols_type *type;
	bool used;
};

struct symbols {
	struct family *family;
	struct region *region;	/* by start */
	size_t n_regions, cap_regions, last_region;
	struct loaded *loaded;
	size_t n_loaded, cap_loaded;
	bool loaded_ready;
	struct jit_name *jit;
	size_t n_jit;
	struct jit_object *object;	/* by number, those that are gone too (jit_object.c) */
	size_t n_objects, cap_objects;
	struct jit_range {
		uint64_t start, end;
		uint32_t object;
	/* of objects that are there, by address, without overlaps */
	} *code;
	size_t n_code, cap_code;
	struct unwind_cache *unwind;
	struct made_row *made_row;	/* unwind_guess.c */
	struct span_of_code { uint64_t start, end; } *made;	/* can run, of no file */
	size_t n_made, cap_made;	/* by address */
	struct vtable *vtables;	/* VTABLES of them, by hash of vptr */
	struct guess *guesses;	/* GUESSES of them */
	struct lookup *lookups;	/* hash table by address */
	size_t n_lookups, cap_lookups;
	struct arena lookup_arena;
};
const struct region *space_region(struct symbols *s, uint64_t addr);
/* The module at addr (segments included that no file mapping shows); NULL = none. */
struct symbols_module *space_module(struct symbols *s, uint64_t addr, uint64_t *bias_ret);
size_t space_loaded(struct symbols *s);
bool space_executable(struct symbols *s, uint64_t addr);
/* Can code run at addr that is of no module? */
bool space_made(struct symbols *s, uint64_t addr);
/* Where the mapping of no file begins that has this code; 0 = there is none. */
uint64_t space_made_start(const struct symbols *s, uint64_t addr);
/* The object that a JIT compiler registered and whose code is at addr; NULL = none. */
struct symbols_module *space_jit_object(struct symbols *s, uint64_t addr);
bool jit_objects_copy(struct symbols *to, const struct symbols *from);
const struct jit_name *space_jit(struct symbols *s, uint64_t addr);
void space_forget(struct symbols *s);
void unwind_cache_clear(struct symbols *s);
void lookup_cache_clear(struct symbols *s);
size_t lookup_in_object(struct symbols_module *m, uint64_t addr, struct symbols_frame *ret,
			size_t max);

bool mem_read(const struct symbols_memory *mem, uint64_t addr, void *buf, size_t len);

#endif
