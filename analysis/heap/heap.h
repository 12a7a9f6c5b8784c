/*
 * heap.h - memory of a program at a moment, as typed values.
 *
 *	struct heap_store	bytes at addresses at a moment: of a recording (recording.c), or of
 *				a log that holds only what somebody wrote down
 *	struct heap_view	values made from a store at its present moment; owns them
 *	struct heap_value	one of them: name, type, text, address; children when asked for
 *
 * Every form of output (text, JSON, the inspector's page) prints values, so it works over every
 * store.
 *
 * All that is read may lie: a value costs bounded time and memory, and what nobody has is marked
 * HEAP_MISSING.  Nothing here is thread safe.
 */
#ifndef ANALYSIS_HEAP_HEAP_H
#define ANALYSIS_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/leaks.h"
#include "base/err.h"
#include "symbols/symbols.h"

/* ---- stores ---------------------------------------------------------------------------------- */

/* A point of time that a store can go to. */
struct heap_moment {
	uint64_t event;		/* of the recording, or number of the message */
	const char *label;	/* what happened there ("trace 3 stop"); NULL = nothing to say */
};

/* An object that the store knows of: an allocator's block, or a piece of logged memory. */
struct heap_block {
	uint64_t addr, size;
	const struct symbols_type *type;	/* NULL = unknown */
	uint64_t count;		/* elements of that type that fit; at least 1 with a type */
	const char *name;	/* of the type, also where DWARF has none; NULL = unknown */
	uint64_t event;		/* done last when it was made; 0 = unknown */
	const char *made_by;	/* "node_new list.c:12"; NULL = unknown */
};

enum heap_where {
	HEAP_NOWHERE,		/* no memory there, or nobody has it */
	HEAP_BLOCK,
	HEAP_VARIABLE,		/* global, static or thread-local */
	HEAP_STACK,
	HEAP_CODE,
	HEAP_MAPPED,		/* memory that nobody has said anything of */
};
/* The meaning of an address. */
struct heap_place {
	enum heap_where where;
	const char *text;	/* "table[3].next", "p (local of main)", "main+4"; NULL = nothing */
	/* with BLOCK: all of it; else type and start of the object, if they are known */
	struct heap_block block;
};

/* A word that holds an address in some range. */
struct heap_reference {
	uint64_t addr, value;
	const char *text;	/* "table[3].next"; never NULL */
};

struct heap_store;
/* Texts stay as long as the store's other texts.  False: no more. */
typedef bool heap_field_fn(void *ctx, const char *name, const char *text);
struct heap_store_ops {
	void (*destroy)(struct heap_store *st);
	/* Goes to a moment.  ERR_USAGE: there is no such one, and it is nowhere now. */
	struct err *(*go)(struct heap_store *st, uint64_t event);
	/* How many bytes from addr on it has; fewer than len where they end. */
	size_t (*read)(struct heap_store *st, uint64_t addr, void *buf, size_t len);
	/*
	 * Evaluates an expression: where the object is, or its value if it is in a register, and
	 * its type.  May be NULL: only symbols and memory decide.
	 */
	struct err *(*eval)(struct heap_store *st, const char *text, struct symbols_value *ret);
	/* Tells the meaning of an address.  Strings live until the store goes elsewhere. */
	void (*place)(struct heap_store *st, uint64_t addr, struct heap_place *ret);
	/* Blocks by number, in order of address; false behind the last. */
	bool (*block)(struct heap_store *st, size_t i, struct heap_block *ret);
	/*
	 * Who points into [start, end), from outside: fills at most max, returns how many there
	 * are.  NULL: the store cannot say.
	 */
	size_t (*references)(struct heap_store *st, uint64_t start, uint64_t end,
			     struct heap_reference *ret, size_t max);
	/*
	 * The object of a language ("lua", "python") at addr, or the variable of that name in the
	 * frames that run, as the language prints it; NULL = there is none.  NULL: it knows none.
	 */
	const char *(*guest)(struct heap_store *st, const char *language, uint64_t addr,
			     const char *name);
	/*
	 * The attributes of such an object, or variable: no more than until fn says false.  NULL:
	 * they have none.
	 */
	void (*fields)(struct heap_store *st, const char *language, uint64_t addr, const char *name,
		       heap_field_fn *fn, void *ctx);
	/*
	 * "Python dict": the object that begins at addr, where it says so itself; NULL = none.
	 * NULL: the store cannot say.
	 */
	const char *(*object)(struct heap_store *st, uint64_t addr);
	/*
	 * Does a virtual machine run whose frames and objects are not known, as its build is not?
	 * NULL: there is none.
	 */
	bool (*unknown)(struct heap_store *st);
};
struct heap_store {
	const struct heap_store_ops *ops;
	struct symbols *symbols;	/* for types, names of code; NULL = there are none */
	uint64_t now;			/* the event it is at */
	/* those worth going to, by event; a recording can go to every one */
	const struct heap_moment *moment;
	size_t moments;
	/* of whoever evaluates an expression now; else NULL */
	const struct symbols_steps *steps;
};

struct heap_bytes {
	struct heap_store st;
	uint64_t addr;
	const unsigned char *bytes;
	size_t size;
};

static inline void heap_store_destroy(struct heap_store *st)
{
	if (st)
		st->ops->destroy(st);
}

struct heap_recording_options {
	struct leaks_options session;	/* pid, alloc, free, debug_dir, progress */
	int tid;		/* whose variables names mean; 0 = the one that ran last */
};
enum { HEAP_EXIT = 0 };		/* as an event: where the process ends */
/*
 * The caller keeps what options point to.  The store is before the program's first instruction; it
 * goes forward by replaying, and back by beginning anew.
 */
struct err *heap_recording_open(const char *trace_dir, const struct heap_recording_options *options,
				struct heap_store **ret) __must_check;

/* ---- what a recording knows of changes ------------------------------------------------------- */

/* Who changed memory. */
struct heap_writer {
	const char *function, *file;	/* NULL = unknown; file as the compiler saw it */
	const char *module;
	const char *call;		/* the system call that wrote, or what else; NULL = code */
	unsigned line;
	uint64_t pc;			/* of the instruction, or behind the system call's */
};
struct heap_change {
	uint64_t event;			/* done last before it, or (a call's) the call's own */
	int tid;
	uint32_t writer;		/* index in heap_history.writer */
};
struct heap_history {
	uint64_t addr, size, begin;	/* begin: event at which it begins */
	bool born;			/* ... with the block being made, by writer[0] */
	/* of a log: what was logged before an event; writers' functions are names of events */
	bool logged;
	/* in order; value i is bytes[i * size], that before the first change is value 0 */
	struct heap_change *change;
	size_t n, room;
	unsigned char *bytes;
	struct heap_writer *writer;
	size_t writers;
	uint64_t truncated;		/* 0, or it was given up after so many changes */
};
/*
 * Every value that memory has had from its block's birth, or the program's start, to the present
 * moment of a store that heap_recording_open() made.  Afterwards the store must go elsewhere
 * before it is used again.
 */
struct err *heap_history_find(struct heap_store *st, uint64_t addr, uint64_t size,
			      struct heap_history *ret) __must_check;
void heap_history_deinit(struct heap_history *h);

enum heap_what { HEAP_APPEARED, HEAP_GONE, HEAP_WAS_CHANGED };
struct heap_difference {
	enum heap_what what;
	struct heap_block block;	/* of CHANGED: the block it is in; size 0 = in none */
	/* CHANGED: the field */
	const char *name;		/* "struct node .next", "table.count" */
	const char *type, *before, *after;
	uint64_t addr, size;
	bool shared;			/* others may have written it: its history tells */
	bool written;			/* writer, event and tid say who was last to change it */
	struct heap_writer writer;
	uint64_t event;
	int tid;
};
struct heap_diff_type {			/* blocks of a type */
	const char *name;
	uint64_t appeared, appeared_bytes, gone, gone_bytes, changed;
};
struct heap_diff {
	uint64_t first, second;		/* events */
	struct heap_difference *difference;	/* variables, then blocks by address */
	size_t n, room;
	uint64_t fields;		/* that changed, also those that are not listed */
	struct heap_diff_type *type;	/* the most bytes first */
	size_t types;
	double seconds;			/* comparing, without replaying */
	struct heap_diff_memory *memory;
};
struct heap_diff_options {
	uint64_t first, second;
	size_t fields;			/* list at most so many changed ones; blocks too */
	size_t writers;			/* find out who wrote so many of them */
	const char *type;		/* only variables and blocks of this type; NULL = all */
};
/* Finds what differs between the two moments; the store stands at the second afterwards. */
struct err *heap_diff_find(struct heap_store *st, const struct heap_diff_options *o,
			   struct heap_diff *ret) __must_check;
void heap_diff_deinit(struct heap_diff *d);


/*
 * A store that has nothing but these bytes (the caller's, as all of it) and the types and names of
 * another.
 */
void heap_bytes_init(struct heap_bytes *b, const struct heap_store *like, uint64_t addr,
		     const void *bytes, size_t size);

/* ---- values ---------------------------------------------------------------------------------- */

enum {
	HEAP_CHANGED = 1,	/* other than at the moment it was compared with */
	HEAP_MISSING = 2,	/* nobody has these bytes */
	HEAP_GUEST = 4,		/* an object of a guest: Lua, Python */
	HEAP_POINTER = 8,	/* target says where to */
	HEAP_OPENS = 16,	/* it has children, when asked for */
	HEAP_CUT = 32,		/* there are more children than it shows */
	HEAP_STRING = 64,	/* text is a string in quotes */
	HEAP_BASE = 128,	/* a base class */
	HEAP_NEW = 256,		/* was not there at the moment it was compared with */
	HEAP_LINK = 1024,	/* a pointer to what is shown elsewhere: a list's next */
	HEAP_REGISTER = 2048,	/* a variable in a register: it has no address */
	HEAP_SHARED = 4096,	/* its children are an object that others hold, too: Rc, Arc */
	HEAP_NOTE = 512,	/* no value, but a remark among children: "... 12 more" */
};
struct heap_value {
	const char *name;	/* "next", "[3]", "[\"key\"]"; NULL = none */
	const char *type;	/* "struct node *"; NULL = unknown */
	const char *text;	/* "12", "0x5560... \"abc\"", "std::vector of 3"; never NULL */
	const char *points;	/* with POINTER: what is there, in words; NULL = nothing known */
	const char *was;	/* with CHANGED: its text then; may be NULL */
	uint64_t addr, size;	/* where it is; addr 0 = nowhere (a register, a made-up child) */
	uint64_t target;
	unsigned flags;
	unsigned bit_offset, bit_size;	/* an expression that is a bit field; size 0: it is none */
	struct heap_value *child;	/* after heap_value_open() */
	size_t children;
	/* how its children are made: this room's business */
	const struct symbols_type *of;
	const struct heap_shape *shape;
	uint64_t data[3];
	bool opened;
};

struct heap_view;
struct heap_view_options {
	unsigned children;	/* of one value, at most; 0 = 200 */
	unsigned string;	/* bytes of a string, at most; 0 = 200 */
	bool raw;		/* containers and guest objects as their fields */
	/*
	 * For values of many objects: a node's own links are plain pointers, for its list or tree
	 * is what others point to; of long ones no more nodes are counted than time allows.
	 */
	bool many;
};
/* Values of the store's present moment.  They stay as they are when the store goes on. */
struct err *heap_view_create(struct heap_store *st, const struct heap_view_options *o,
			     struct heap_view **ret) __must_check;
void heap_view_destroy(struct heap_view *v);
struct heap_store *heap_view_store(const struct heap_view *v);

/* The object at addr; type NULL: what the store knows, else words. */
struct heap_value *heap_value_at(struct heap_view *v, const char *name,
				 const struct symbols_type *type, uint64_t addr);
/* Makes the value of a bit field, which starts in the byte at addr. */
struct heap_value *heap_value_field(struct heap_view *v, const char *name,
				    const struct symbols_type *type, uint64_t addr,
				    const struct symbols_member *bits);
/* Evaluates an expression; ERR_USAGE says what is wrong with it. */
struct err *heap_value_eval(struct heap_view *v, const char *text,
			    struct heap_value **ret) __must_check;
/* An object of "lua" or "python" at addr, or a variable by its name; NULL = it is none. */
struct heap_value *heap_value_guest(struct heap_view *v, const char *language, uint64_t addr,
				    const char *name);
/* Makes the value that a pointer points to.  NULL: x is no pointer, or leads nowhere. */
struct heap_value *heap_value_target(struct heap_view *v, const struct heap_value *p);
/* Makes the children, once; how many there are. */
size_t heap_value_open(struct heap_view *v, struct heap_value *x);
/* A list or tree of C that x leads to, as its nodes have it in them. */
struct heap_links {
	uint64_t first, count;	/* address of a node; how many there are */
	unsigned n;		/* offsets in a node: 1 = of the next one, 2 = of left and right */
	uint64_t offset[2];
};
/* False: x is no such pointer, nor the head of a ring. */
bool heap_value_links(struct heap_view *v, const struct heap_value *x, struct heap_links *ret);
/* Memory for texts that live as long as the view. */
const char *heap_text(struct heap_view *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Marks in now what is other than in then, children that both have opened too.  Returns whether
 * anything is.
 */
bool heap_value_compare(struct heap_view *v, struct heap_value *now, const struct heap_value *then);

#endif
