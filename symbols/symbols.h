/*
 * symbols.h - what ELF and DWARF know about the addresses of a program.
 *
 * A struct symbols is the view of one address space: a list of mappings, each with the content of
 * its file.  Files are opened when first needed, mapped, indexed as far as needed, and shared by
 * content between all spaces that came from one symbols_create() through symbols_fork().  Nothing
 * here is thread safe; use one family of spaces from one thread.
 *
 * All input may be hostile (a trace from an untrusted source): damaged files cost names, never a
 * crash. What is not known is NULL, 0 or an empty result; errors are only returned where the caller
 * asked for something by name or text.
 *
 * Strings, types and modules handed out belong to the family and live until its last space is
 * destroyed, whatever is unmapped meanwhile.  Addresses are those of the process unless said
 * otherwise.
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/regs.h"
#include "base/err.h"

struct symbols;
struct symbols_module;		/* one file's content */
struct symbols_frame;
struct symbols_type;		/* equal pointers are equal types; unequal pointers may be, too */

/* ---- the address space ----------------------------------------------------------------- */

/*
 * Opens the content of the file that the program saw as name, for example by replay_file(); the
 * descriptor becomes ours.  An error means "no such content" and is freed.  Called once for each
 * name.
 */
typedef struct err *symbols_open_fn(void *ctx, const char *name, int *fd_ret);

struct symbols_options {
	symbols_open_fn *open;	/* NULL: the path on this machine */
	void *ctx;
	bool no_debug_files;	/* do not look for separate debug information */
	const char *debug_dir;	/* where to look for it, NULL = /usr/lib/debug; not copied */
	/*
	 * Where indexes of debug information are kept; not copied.  NULL = symbols/ beside the
	 * traces' content store, "" = nowhere. */
	const char *index_dir;
};
struct err *symbols_create(const struct symbols_options *options,
			   struct symbols **ret) __must_check;
/*
 * Removes (dry_run: only counts) indexes in a folder whose file there() does not know, by its name
 * in the content store of traces, and those of other versions or damaged.
 */
typedef bool symbols_content_fn(void *ctx, const uint8_t hash[16]);
struct symbols_index_garbage { uint64_t removed, removed_bytes, kept, kept_bytes; };
struct err *symbols_index_collect(const char *dir, bool dry_run, symbols_content_fn *there,
				  void *ctx, struct symbols_index_garbage *ret) __must_check;
/* A second space with the same mappings and JIT symbols, as after fork(). */
struct err *symbols_fork(struct symbols *s, struct symbols **ret) __must_check;
void symbols_destroy(struct symbols *s);

struct symbols_mapping {
	uint64_t start, end;	/* end is exclusive */
	uint64_t offset;	/* into the file, bytes */
	int prot;		/* PROT_*, 0 = unknown */
	/* what the program saw: "/path", "[vdso]"; copied.  NULL, "" or "[stack]": no file */
	const char *name;
	/* content in memory instead of a file ([vdso]); copied.  NULL = open by name */
	const void *image;
	size_t image_len;
};
/*
 * Follow mmap(), munmap() and exec.  Adding replaces what was there; an anonymous mapping, or an
 * unmapping of what holds no file, costs next to nothing and throws no cache away.
 */
struct err *symbols_map(struct symbols *s, const struct symbols_mapping *m) __must_check;
void symbols_unmap(struct symbols *s, uint64_t start, uint64_t end);
/*
 * Replace all; keeps what equal mappings had cached.  Only this tells of memory that can run and is
 * of no file: frames of code there can be found with certainty.
 */
struct err *symbols_set_maps(struct symbols *s, const struct symbols_mapping *m,
			     size_t n) __must_check;
/* The text of /proc/PID/maps. */
struct err *symbols_set_maps_text(struct symbols *s, const char *text) __must_check;

/*
 * Names of JIT code: the text of /tmp/perf-PID.map ("START SIZE name" in hex, a line each).  Later
 * lines win; lines that cannot be read are left out.  Replaces the text given before. */
struct err *symbols_set_perf_map(struct symbols *s, const char *text, size_t len) __must_check;

struct symbols_range {
	uint64_t start, end;	/* end is exclusive */
	const struct symbols_module *module;
};

/*
 * An object file in memory that a JIT compiler registered (GDB's JIT interface): its bytes, copied,
 * with its code's addresses in its section headers, or a whole ELF file linked to where it is.
 * Code of objects that are still there and overlap it is gone.  *id_ret names it.  ERR_TRACE: not
 * such a file; nothing has changed.  Costs do not grow with how many objects there are.
 */
struct err *symbols_jit_add(struct symbols *s, const void *image, size_t len,
			    uint64_t *id_ret) __must_check;
/*
 * The object's code is gone; addresses in it have no names any more.  An id that is not known does
 * nothing.
 */
void symbols_jit_remove(struct symbols *s, uint64_t id);
/* Returns the object's bytes, kept as long as the family. */
const void *symbols_jit_image(struct symbols *s, uint64_t id, size_t *len_ret);
/* The object's code is there again, as after symbols_jit_add(). */
struct err *symbols_jit_restore(struct symbols *s, uint64_t id) __must_check;
/* As symbols_lookup(), of that object's code, whether it is there or gone. */
size_t symbols_jit_lookup(struct symbols *s, uint64_t id, uint64_t addr, struct symbols_frame *ret,
			  size_t max);
/* Tells the object's functions that symbols name, by address. */
void symbols_jit_functions(struct symbols *s, uint64_t id,
			   void (*fn)(void *ctx, const char *name, uint64_t start, uint64_t size),
			   void *ctx);
/* Pieces of code of that object, in order of address, as far as still there; returns how many. */
size_t symbols_jit_code(struct symbols *s, uint64_t id, struct symbols_range *ret, size_t max);

/*
 * The module mapped at addr (its .bss too) and what to add to its own addresses; NULL when there is
 * none.
 */
const struct symbols_module *symbols_module_at(struct symbols *s, uint64_t addr,
					       uint64_t *bias_ret);
/* first name it was seen by */
const char *symbols_module_name(const struct symbols_module *m);
bool symbols_module_has_dwarf(struct symbols_module *m);

/*
 * Every file that the module's debug information names, in no order and maybe more than once:
 * sources (as its compiler saw them; relative where it was told to leave out the beginning), and
 * files of separate debug information on this machine (debug), those of split units (.dwo, .dwp)
 * too.  kept: the name below a directory of debug files by which all who know its build-id find it;
 * NULL for files that have none.
 */
typedef void symbols_file_fn(void *ctx, const char *path, bool debug, const char *kept);
void symbols_module_files(struct symbols_module *m, symbols_file_fn *fn, void *ctx);

/* ---- address to function, file, line --------------------------------------------------- */

enum symbols_source {
	SYMBOLS_NONE,
	SYMBOLS_DWARF,
	SYMBOLS_SYMTAB,
	SYMBOLS_DYNSYM,
	SYMBOLS_PLT,
	SYMBOLS_JIT,
	SYMBOLS_GO,
};
struct symbols_frame {
	const char *function;	/* "node_add", "Cache::insert", "malloc@plt"; NULL = unknown */
	const char *linkage;	/* mangled name when there is one, else NULL */
	const char *file;	/* absolute where the compiler said so; NULL = unknown */
	unsigned line, column;	/* 0 = unknown */
	const char *module;	/* name of the mapped file; NULL = none */
	/* of the function (of the whole, also for inlined ones); size 0 = unknown */
	uint64_t start, size;
	bool inlined;		/* into the next frame of the result */
	/* code that the program made itself; set in the last frame of the result */
	bool jit;
	enum symbols_source source;
};
enum { SYMBOLS_FRAMES_MAX = 128 };	/* of one address: room for more is of no use */
/*
 * Finds the functions at addr: innermost inlined function first, the real function last, also where
 * there are more than max (those before it are left out, then).  Returns how many there are in ret,
 * at least 1 when max is (with all unknown but module, in the worst case).  For return addresses
 * give addr - 1 (symbols_pc.lookup is already that).  About 0.1 us when asked again.
 */
size_t symbols_lookup(struct symbols *s, uint64_t addr, struct symbols_frame *ret, size_t max);

/*
 * "name", demangled when it is C++ (without parameters: "ns::Cache<int>::insert"); owned by the
 * family.
 */
const char *symbols_demangle(struct symbols *s, const char *name);

/* ---- function and variable names to addresses ------------------------------------------ */

enum symbols_kind {
	SYMBOLS_FUNC = 1,
	SYMBOLS_IFUNC = 2,
	SYMBOLS_OBJECT = 4,
	SYMBOLS_TLS = 8,
	SYMBOLS_PLT_ENTRY = 16
};
struct symbols_found {
	/* for SYMBOLS_TLS: offset into the module's block; for SYMBOLS_IFUNC: the resolver */
	uint64_t addr;
	uint64_t size;		/* 0 = unknown */
	enum symbols_kind kind;
	bool global;		/* visible to other modules (in .dynsym) */
	const char *name;	/* of the symbol that matched */
	const struct symbols_module *module;
	uint64_t bias;
};
/*
 * Everything called name in all modules now mapped, each address once: exact symbol ("_Znwm",
 * "malloc"), or a demangled one without parameters ("Pool::get", "operator new") or with ("operator
 * new(unsigned long)"), or a static function of DWARF.  kinds is a mask of symbols_kind.  Returns
 * how many there are, fills at most max.
 */
size_t symbols_find(struct symbols *s, const char *name, unsigned kinds, struct symbols_found *ret,
		    size_t max);

/* ---- unwinding -------------------------------------------------------------------------- */

/* By DWARF number. */
enum {
	SYMBOLS_RAX,
	SYMBOLS_RDX,
	SYMBOLS_RCX,
	SYMBOLS_RBX,
	SYMBOLS_RSI,
	SYMBOLS_RDI,
	SYMBOLS_RBP,
	SYMBOLS_RSP,
	SYMBOLS_R8,
	SYMBOLS_R9,
	SYMBOLS_R10,
	SYMBOLS_R11,
	SYMBOLS_R12,
	SYMBOLS_R13,
	SYMBOLS_R14,
	SYMBOLS_R15,
	SYMBOLS_RIP,
	SYMBOLS_REGS
};
struct symbols_regs {
	uint64_t r[SYMBOLS_REGS];
	uint32_t known;		/* bit 1 << number; rip and rsp must be */
	uint64_t fs_base;	/* for thread-local variables; 0 = unknown */
};
void symbols_regs_from(const struct regs *regs, struct symbols_regs *ret);

struct symbols_memory;
struct symbols_type;
struct symbols_value;
/*
 * Who knows what operators of a language do, which are functions that cannot be called: elements of
 * containers, what smart pointers hold, fields of what an object really is.
 */
struct symbols_steps {
	/*
	 * From the object of type t at addr: "[KEY]", "*" or ".NAME".  False: there is no such
	 * step; *is_ret says what the object is, where it is a container without such an element.
	 */
	bool (*take)(void *ctx, const struct symbols_type *t, uint64_t addr, const char *step,
		     struct symbols_value *ret, const char **is_ret);
	void *ctx;
};
struct symbols_memory {
	/* len bytes or false; NULL = only the copy */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
	/* A part of memory that is at hand, usually the stack from rsp up; tried first. */
	const void *copy;
	uint64_t copy_start, copy_len;
	const struct symbols_steps *steps;	/* for expressions; NULL = none */
};

enum symbols_how {
	SYMBOLS_FIRST,		/* the registers as given */
	SYMBOLS_CFI,
	/*
	 * interrupted: by the signal whose frame was before it, or by the hook of a buffered call
	 */
	SYMBOLS_SIGNAL,
	SYMBOLS_INFERRED,	/* no CFI: worked out from the function's instructions */
	SYMBOLS_FRAME_POINTER,	/* guesses: frames in between may be missing */
	SYMBOLS_SCAN,
};
static inline bool symbols_is_guess(enum symbols_how how)
{
	return how == SYMBOLS_FRAME_POINTER || how == SYMBOLS_SCAN;
}
struct symbols_pc {
	uint64_t pc;
	/* pc, or pc - 1 for a return address: what to give to symbols_lookup() */
	uint64_t lookup;
	uint64_t cfa;		/* rsp before the call of this function; 0 = unknown */
	enum symbols_how how;
};
/*
 * The call chain, innermost first; at most max.  Ends at the outermost function, or where neither
 * CFI nor frame pointers nor the words at rsp lead on.  Warm: well below 1 us a frame.
 */
size_t symbols_unwind(struct symbols *s, const struct symbols_regs *regs,
		      const struct symbols_memory *mem, struct symbols_pc *ret, size_t max);
/*
 * Unwinds one frame: regs become those of the caller, as far as known.  first: rip is not a return
 * address (innermost frame, or interrupted by a signal: the last step's *how_ret was
 * SYMBOLS_SIGNAL). False at the end.
 */
bool symbols_unwind_step(struct symbols *s, struct symbols_regs *regs,
			 const struct symbols_memory *mem, bool first, uint64_t *cfa_ret,
			 enum symbols_how *how_ret);

/*
 * Is this frame, from which symbols_unwind_step() leads no further, the first of its thread?
 * False: its caller is not known.
 */
bool symbols_outermost(struct symbols *s, const struct symbols_regs *frame,
		       const struct symbols_memory *mem, bool first);
/* How a chain ends. */
enum symbols_end {
	SYMBOLS_WHOLE,		/* at the first frame of the thread */
	SYMBOLS_GUESSED,	/* there, but some of the steps were guesses */
	SYMBOLS_BROKEN,		/* at a frame whose caller is not known */
	SYMBOLS_CUT,		/* at max */
};
/* As symbols_unwind(). */
size_t symbols_unwind_end(struct symbols *s, const struct symbols_regs *regs,
			  const struct symbols_memory *mem, struct symbols_pc *ret, size_t max,
			  enum symbols_end *end_ret);

/*
 * Where the function begins and ends that addr lies in: by its symbol, or where that is stripped by
 * unwind information.  False, and nothing changed: neither knows.
 */
bool symbols_function_at(struct symbols *s, uint64_t addr, uint64_t *start, uint64_t *end);
/*
 * Code of a module whose frame has one size from its first to its last instruction, by unwind
 * information: interpreters written in assembly are such.  Addresses are the file's own: add the
 * bias.
 */
struct symbols_fixed_frame {
	uint64_t start, end;
	uint64_t cfa_offset;		/* CFA = rsp + this */
	uint32_t saved;			/* registers kept in it, bit 1 << number */
};
/*
 * Tells the fixed frames of at least frame_min bytes, of at least min bytes of code; fills at most
 * max.
 */
size_t symbols_fixed_frames(const struct symbols_module *m, uint64_t min, uint64_t frame_min,
			    struct symbols_fixed_frame *ret, size_t max);
/* The largest functions of a module that unwind information has, of at least min bytes. */
struct symbols_function {
	uint64_t start, end;		/* the file's own addresses */
};
size_t symbols_largest_functions(const struct symbols_module *m, uint64_t min,
				 struct symbols_function *ret, size_t max);
/* Returns the file's bytes at an address of its own, as far as its segment goes; NULL = nothing. */
const void *symbols_module_bytes(const struct symbols_module *m, uint64_t vaddr, size_t *len_ret);

/* ---- types ------------------------------------------------------------------------------ */

enum symbols_type_kind {
	SYMBOLS_T_VOID,
	SYMBOLS_T_BASE,
	SYMBOLS_T_ENUM,
	SYMBOLS_T_POINTER,
	SYMBOLS_T_REFERENCE,
	SYMBOLS_T_ARRAY,
	SYMBOLS_T_STRUCT,
	SYMBOLS_T_CLASS,
	SYMBOLS_T_UNION,
	SYMBOLS_T_FUNCTION,
	SYMBOLS_T_TYPEDEF,
	SYMBOLS_T_QUALIFIED,
	SYMBOLS_T_MEMBER_POINTER,
	SYMBOLS_T_OTHER,
};
struct symbols_member {
	const char *name;	/* NULL: anonymous struct or union */
	uint64_t offset;	/* bytes */
	const struct symbols_type *type;
	bool base;		/* a base class; name is the class's */
	unsigned bit_offset, bit_size;	/* bit_size 0: not a bit field */
};
enum symbols_type_kind symbols_type_kind(const struct symbols_type *t);
/* "struct node", "char *", "Cache<int>", "int [10]". */
const char *symbols_type_name(const struct symbols_type *t);
uint64_t symbols_type_size(const struct symbols_type *t);	/* 0 = unknown */
/*
 * Returns the type that a pointer, reference, typedef or qualified type refers to, an array's
 * element, or what a function returns; NULL = void.
 */
const struct symbols_type *symbols_type_target(const struct symbols_type *t);
uint64_t symbols_type_count(const struct symbols_type *t);	/* elements of an array; 0 = open */
/*
 * Without typedefs and qualifiers; a declaration becomes its definition where any module of the
 * family has one.
 */
const struct symbols_type *symbols_type_strip(const struct symbols_type *t);
/* Members of a struct, class, union (base classes first). */
const struct symbols_member *symbols_type_members(const struct symbols_type *t, size_t *n_ret);
/*
 * The member of this name, also one of a base class or of a nameless member.  *offset grows by
 * where it is; false: nothing is changed.
 */
bool symbols_type_member(const struct symbols_type *t, const char *name, uint64_t *offset,
			 const struct symbols_type **ret);
/* "_M_impl._M_start": *offset is where in a t that is, *type_ret (may be NULL) what it is. */
bool symbols_type_descend(const struct symbols_type *t, const char *path, uint64_t *offset,
			  const struct symbols_type **type_ret);
/* Finds the field with all that is known of it: offset is that in t, also of bit fields. */
bool symbols_type_field(const struct symbols_type *t, const char *name,
			struct symbols_member *ret);
/*
 * The nth virtual base class of a t, which is where the object at addr says; offset is from addr on
 * (it may be negative).  False: there is none, or it cannot be found.
 */
bool symbols_type_virtual_base(const struct symbols_type *t, size_t n, uint64_t addr,
			       const struct symbols_memory *mem, struct symbols_member *ret);
/* A static member whose value is in the debug information ("static const int N = 3"). */
bool symbols_type_constant(const struct symbols_type *t, const char *name, int64_t *value_ret,
			   const struct symbols_type **type_ret);
/*
 * How the bits of a base type are read, by DWARF: 2 bool, 4 float, 5 and 6 signed, 7 and 8 unsigned
 * (6, 8: a character), 0x10 UTF; of an enumeration what its values are kept in.  0 = unknown.
 */
unsigned symbols_type_encoding(const struct symbols_type *t);
struct symbols_enumerator {
	const char *name;
	int64_t value;
};
/* Returns the enumerators of an enumeration, in the order of the source. */
const struct symbols_enumerator *symbols_type_enumerators(const struct symbols_type *t,
							  size_t *n_ret);
/* Does a structure end with an array that is as long as its block?  *ret: that array. */
bool symbols_type_flexible(const struct symbols_type *t, struct symbols_member *ret);
/* The nth type that a template was made with (std::map<K, V>: 0 is K); NULL = there is none. */
const struct symbols_type *symbols_type_argument(const struct symbols_type *t, unsigned n);
/* Returns argument n of the class template whose member function has the instruction at addr. */
const struct symbols_type *symbols_function_argument(struct symbols *s, uint64_t addr, unsigned n);
/*
 * Rust: the variant of an enumeration that the value of its discriminant selects.  *at_ret and
 * *size_ret are where the discriminant is.  False: t is no such type.
 */
bool symbols_type_discriminant(const struct symbols_type *t, uint64_t *at_ret, uint64_t *size_ret);
/* The member that holds the variant; name NULL: there is none for it. */
struct symbols_member symbols_type_variant(const struct symbols_type *t, uint64_t discriminant);
/*
 * Rust: what a pointer to a trait object of type t leads to ("dyn ns::Shape", or "RcInner<dyn
 * ns::Shape>"), by the vtable beside it; NULL = unknown.
 */
const struct symbols_type *symbols_type_dyn(struct symbols *s, const struct symbols_type *t,
					    uint64_t vtable);
/*
 * "node", "struct node", "ns::Cache<int>", a typedef; NULL = not there.  A module can be given to
 * be asked first.
 */
const struct symbols_type *symbols_type_find(struct symbols *s, const char *name,
					     const struct symbols_module *first);
/*
 * Finds the member that lies offset bytes into a t: appends ".next", "[3].buckets", "" to buf
 * (always terminated) and returns the type of the innermost member that begins there, NULL when
 * offset is outside or in padding. With want_pointer a union or first member is entered as long as
 * that leads to a pointer.
 */
const struct symbols_type *symbols_type_path(const struct symbols_type *t, uint64_t offset,
					     bool want_pointer, char *buf, size_t size);
/*
 * Calls fn for each pointer (and reference) inside a t, through nested structs and arrays of at
 * most 1000 elements. target is what it points to (NULL = void, or a function). */
void symbols_type_pointers(const struct symbols_type *t,
			   void (*fn)(void *ctx, uint64_t offset,
				      const struct symbols_type *target),
			   void *ctx);
/*
 * The class of a C++ object by its first word, from the vtable symbol; NULL when it is none.
 * *top_ret: what to add to the object's address to come to the whole object (0 or negative).
 * type_ret may be NULL or become NULL. */
const char *symbols_vtable_class(struct symbols *s, uint64_t vptr, const struct symbols_memory *mem,
				 int64_t *top_ret, const struct symbols_type **type_ret);

/* ---- variables --------------------------------------------------------------------------- */

struct symbols_variable {
	const char *name;	/* "table", "ns::cache", "counter" */
	const char *function;	/* for a static in a function, and for locals; else NULL */
	uint64_t addr;		/* 0 when in a register or optimised away */
	uint64_t value;		/* of one that has no place, but a value: is_value */
	uint64_t size;
	int reg;		/* DWARF number when it is in a register, else -1 */
	bool known;		/* addr or reg says where it is */
	bool is_value;
	bool parameter, tls;
	const struct symbols_type *type;	/* NULL = unknown (symtab only) */
	const struct symbols_module *module;
	const char *file;
	unsigned line;		/* of the declaration */
};
/* The global or static variable that holds addr. */
bool symbols_variable_at(struct symbols *s, uint64_t addr, struct symbols_variable *ret);
/* Tells the symbols of writable data that symbol tables have: nothing of DWARF is read. */
void symbols_data_symbols(struct symbols *s, void (*fn)(void *ctx, uint64_t addr, uint64_t size),
			  void *ctx);
/* Tells all variables that DWARF has a type for; stops when fn returns false. */
void symbols_variables(struct symbols *s, bool (*fn)(void *ctx, const struct symbols_variable *v),
		       void *ctx);
/*
 * Variables and parameters of the functions (inlined ones too) at pc, innermost scope first, given
 * the registers of that frame (regs->r[SYMBOLS_RIP] for a return address: the lookup address).
 */
void symbols_locals(struct symbols *s, const struct symbols_regs *regs,
		    const struct symbols_memory *mem, uint64_t cfa,
		    bool (*fn)(void *ctx, const struct symbols_variable *v), void *ctx);

/*
 * The thread-local blocks of a thread, found through its thread pointer (fs_base) by reading memory
 * (glibc and musl).
 */
struct symbols_tls_block {
	uint64_t start, size;
	const struct symbols_module *module;
};
size_t symbols_tls_blocks(struct symbols *s, uint64_t fs_base, const struct symbols_memory *mem,
			  struct symbols_tls_block *ret, size_t max);
/*
 * All thread-local variables that DWARF has a type for, of one thread; stops when fn returns false.
 */
void symbols_tls_variables(struct symbols *s, uint64_t fs_base, const struct symbols_memory *mem,
			   bool (*fn)(void *ctx, const struct symbols_variable *v), void *ctx);
/* The thread-local variable at addr, which lies in block. */
bool symbols_tls_variable_at(struct symbols *s, const struct symbols_tls_block *block,
			     uint64_t addr, struct symbols_variable *ret);

/*
 * Writable parts of modules' data (.data, .bss; not what is read-only after relocation), in order
 * of address.
 */
size_t symbols_data_ranges(struct symbols *s, struct symbols_range *ret, size_t max);

/* ---- guesses and expressions ---------------------------------------------------------------- */

/*
 * The type of a block of size bytes (0 = unknown) that the calls in pc[0..n) allocated: pc[0] is
 * the return address into the caller of malloc or operator new.  What the caller does with the
 * result decides (stores it in a variable or member of pointer type, calls a constructor, returns
 * it), going outwards through functions that return void *. The element type when the block is an
 * array of it; NULL when nothing can be said.
 */
const struct symbols_type *symbols_allocation_type(struct symbols *s, const struct symbols_pc *pc,
						   size_t n, uint64_t size);

/*
 * `NAME`, `*NAME`, `&NAME`, `NAME.field`, `NAME->field`, `NAME[3]`, `0x1234`, `FUNCTION::NAME`,
 * `'file.c'::NAME`, casts, sizeof, and what these make when combined, also with C's operators for
 * numbers and pointers (not those that change something).  A name is a local of the frame in regs
 * (NULL = none), else a global of any module, else (with regs->fs_base) a thread-local variable of
 * that thread.  *addr_ret is where the object is and *type_ret what it is (NULL = unknown).
 * ERR_USAGE says what is wrong with the text, which name is unknown, which memory cannot be read.
 */
struct err *symbols_eval(struct symbols *s, const char *text, const struct symbols_regs *regs,
			 uint64_t cfa, const struct symbols_memory *mem, uint64_t *addr_ret,
			 const struct symbols_type **type_ret) __must_check;
/* The same; a variable that is in a register, and what is worked out, is told as its value. */
struct symbols_value {
	/* v is the value, of which as many bytes count as its type has; else where it is */
	bool reg;
	bool address;	/* v was given or worked out as an address: "0x1234", "&x" */
	uint64_t v;
	const struct symbols_type *type;	/* NULL = unknown */
	unsigned bit_offset, bit_size;	/* of a bit field (offset below 8); size 0: it is none */
};
struct err *symbols_evaluate(struct symbols *s, const char *text, const struct symbols_regs *regs,
			     uint64_t cfa, const struct symbols_memory *mem,
			     struct symbols_value *ret) __must_check;

#endif
