/*
 * internal.h - inside the room.
 *
 *	guests.c	create, fork, the native frames, merging
 *	walk.c		what machines add to a stack
 *	memory.c	memory of the process in pages that one call shares; strings
 *	value.c		values as text, variables of frames
 *	luajit.c ...	one file (or some) for each machine: struct guest_machine
 */
#ifndef GUESTS_INTERNAL_H
#define GUESTS_INTERNAL_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/page.h"
#include "guests/guests.h"
#include "guests/value.h"

/* ---- memory (memory.c) ----------------------------------------------------------------------- */

/*
 * The most that a call may read: thousands of deep frames need less, and frames that lie cannot
 * keep it going.
 */
enum { MAX_READS = 1 << 20, MAX_LOADS = 1 << 14 };
enum { PAGES = 256 };
struct page {
	uint64_t addr;
	uint32_t round;		/* the call that read it; other than guests.round: stale */
	uint32_t used;		/* the last call that needed it */
	uint32_t len;		/* bytes that could be read */
	unsigned char byte[PAGE_BYTES];
};

/* Forgets what was read: the process may have moved. */
void mem_new_round(struct guests *g);
/* True: all of it. */
bool mem_bytes(struct guests *g, uint64_t addr, void *buf, size_t len);
static inline bool mem_u64(struct guests *g, uint64_t addr, uint64_t *ret)
{
	return mem_bytes(g, addr, ret, 8);
}
static inline bool mem_u32(struct guests *g, uint64_t addr, uint32_t *ret)
{
	return mem_bytes(g, addr, ret, 4);
}
static inline bool mem_u16(struct guests *g, uint64_t addr, uint16_t *ret)
{
	return mem_bytes(g, addr, ret, 2);
}
static inline bool mem_u8(struct guests *g, uint64_t addr, uint8_t *ret)
{
	return mem_bytes(g, addr, ret, 1);
}

/* Room in the array at *p for `need` entries of `size` bytes.  False: no memory; it stays. */
bool array_grow(void *p, size_t *room, size_t need, size_t size);

/* ---- strings (memory.c) ---------------------------------------------------------------------- */

struct line_index;
struct strings {
	struct string_block *block;
	const char **slot;	/* hash table by content */
	size_t n, slots;
};
/* The one copy of it; NULL = no memory. */
const char *string_intern(struct guests *g, const char *s, size_t len);
const char *string_format(struct guests *g, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Where a chunk of Lua is from, as Lua itself shows it; a source text of up to `whole` bytes in one
 * line is shown whole.
 */
const char *lua_chunk_name(struct guests *g, const char *source, size_t len, size_t whole);
void strings_deinit(struct strings *s);
/* NULL = there is none; made by lines_add(), whose caller fills it with lines_end(). */
struct line_index *lines_find(struct guests *g, const uint64_t key[3]);
struct line_index *lines_add(struct guests *g, const uint64_t key[3]);
bool lines_end(struct line_index *l, uint32_t position);
/* From 1 on. */
unsigned lines_at(const struct line_index *l, uint32_t position);
void lines_drop(struct guests *g);

/* ---- values (value.c) ------------------------------------------------------------------------ */

enum { VALUE_DEPTH = 16, VALUE_MAX = 1024, MAX_VARIABLES = 1000 };
struct out {
	char *buf;
	size_t n, size;			/* size: without the NUL */
	bool full;			/* what comes now is lost */
	struct guests_limits limits;
	unsigned depth;
	uint64_t in[VALUE_DEPTH];	/* the objects whose parts are being told */
};
void out_start(struct out *t, const struct guests_limits *limits, char *buf, size_t size);
void out_end(struct out *t);
void out_add(struct out *t, const char *s, size_t len);
static inline void out_word(struct out *t, const char *s)
{
	out_add(t, s, strlen(s));
}
void out_format(struct out *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Into the parts of an object; false: too deep, or in it already.  Else out_leave() comes. */
bool out_enter(struct out *t, uint64_t object);
void out_leave(struct out *t);

/* A frame's variables being told. */
struct code;
struct variables {
	struct guests *g;
	struct code *code;
	const struct guests_vm *vm;
	const struct guests_limits *limits;
	guests_variable_fn *fn;
	void *ctx;
	unsigned told;
};
/* False: enough of them. */
bool variable_tell(struct variables *v, enum guests_variable_kind kind, const char *name,
		   enum guests_at at, uint64_t addr);
/* The code of a machine; NULL = of none. */
struct code *code_of(struct guests *g, const struct guests_vm *vm);

/* ---- machines -------------------------------------------------------------------------------- */

struct machine;			/* of one language: its functions */
/* A module that was on a stack: is it a machine's? */
struct code {
	const struct symbols_module *module;
	uint64_t bias;
	const struct machine *machine;	/* NULL: of none */
	/* of the machine's own; malloc()ed, copied byte by byte by guests_fork() */
	void *data;
	size_t data_size;
};
struct walk;
struct machine {
	enum guests_language language;
	/* Is the code at c->bias of this machine?  Sets c->data. */
	bool (*examine)(struct guests *g, struct code *c);
	/* Adds its guest frames to w.  c: code of the innermost native frame that is its. */
	void (*unwind)(struct guests *g, struct code *c, struct walk *w);
	/*
	 * Registers of the caller of native code in no module, or which its module cannot unwind.
	 * NULL = it has no such code.
	 */
	bool (*step)(struct guests *g, struct code *c, struct symbols_regs *regs, bool first,
		     uint64_t *cfa_ret);
	/* The variables of a frame; NULL = they cannot be read, nor can values. */
	bool (*locals)(struct guests *g, struct code *c, const struct guests_frame *f,
		       guests_variable_fn *fn, void *ctx);
	/* guests_global(); NULL = it has none */
	bool (*global)(struct guests *g, struct code *c, const struct guests_frame *f,
		       const char *name, guests_variable_fn *fn, void *ctx);
	bool (*value)(struct guests *g, struct code *c, const struct guests_vm *vm,
		      enum guests_at at, uint64_t addr, struct out *t);
	/* guests_type_name(); NULL = objects do not say */
	const char *(*type_name)(struct guests *g, struct code *c, uint64_t addr);
	/* guests_fields(); NULL = objects have none */
	bool (*fields)(struct guests *g, struct code *c, const struct guests_vm *vm, uint64_t addr,
		       guests_variable_fn *fn, void *ctx);
};
extern const struct machine *const machines[];		/* ends with NULL */
extern const struct machine luajit_machine, cpython_machine, lua_machine, v8_machine;

/* rbx, rbp, r12 to r15 */
enum { KEPT = 6 };
extern const uint8_t kept_registers[KEPT];
/* A native frame, with what a machine needs to know of it. */
struct host {
	struct symbols_regs regs;	/* in that frame; of callers callee-saved ones only */
	int code;			/* index in guests.code, -1 = code of no machine */
	/* addresses where they are now; GUESTS_KEPT + n: still in their registers */
	uint64_t kept[KEPT];
};
/* The state of one call of guests_unwind(). */
struct walk {
	const struct symbols_pc *pc;
	const struct host *host;
	size_t hosts;
	/* of the innermost machine on the stack, whichever adds first */
	struct guests_stack *stack;
};
/* ---- walk.c ---------------------------------------------------------------------------------- */
/*
 * Appends a guest frame, innermost first, which runs in the native frame f->host.  False: there are
 * too many (w->stack->why says so).
 */
bool walk_add(struct guests *g, struct walk *w, const struct guests_frame *f);
/* The native frame `host' only runs guest frames: notes that. */
void walk_machinery(struct guests *g, size_t host);
/* The machine with that address; made when it is new.  NULL = no memory. */
struct guests_vm *vm_at(struct guests *g, enum guests_language language, uint64_t address);

/* Where the lines of a source end, that cannot change as long as its key means the same. */
struct line_index {
	struct line_index *next;
	uint64_t key[3];
	uint32_t n, room;
	uint32_t *end;
};

/* Words that one step of the native unwinder has read. */
enum { STEP_READS = 32 };
struct step_reads {
	unsigned n;
	struct { uint64_t addr, value; } word[STEP_READS];
};

struct guests {
	struct guests_options o;
	struct step_reads step;
	struct page *page;		/* PAGES of them */
	uint32_t round, reads, loads;
	uint32_t fetched;		/* the last call that read pages of the one before */
	struct strings strings;
	struct line_index *lines[64];	/* by hash of the key */
	struct code *code;
	size_t codes, codes_room;
	struct guests_vm **vm;
	size_t vms, vms_room;
	/* of the last stack */
	struct symbols_pc *pc;
	struct host *host;
	bool *machinery;
	struct guests_frame *guest, *merged;
	size_t guests, guests_room, merged_room;
};

#endif
