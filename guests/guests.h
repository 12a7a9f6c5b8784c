/*
 * guests.h - from registers and memory of a stopped task to frames of the language it runs.
 *
 * A guest is a language's virtual machine inside the process: LuaJIT, Lua, CPython, V8.  A struct
 * guests is what is known of the virtual machines of one process.  Nothing is ever written to the
 * process, and nothing needs its cooperation: machines are found by their symbols, else by the
 * structure of their code.
 *
 *	guests_unwind() = registers -> native frames (through machine code of traces, too)
 *			-> which of them run guest code -> one merged list, innermost first
 *
 * All that is read may lie (a trace from an untrusted source, a machine that is half made): every
 *walk is bounded, and what cannot be had has a reason (enum guests_why), never a frame that is made
 *up. Nothing here is thread safe.
 *
 * Strings belong to the struct guests and live until guests_destroy(); equal strings of one struct
 * guests are equal pointers.
 */
#ifndef GUESTS_GUESTS_H
#define GUESTS_GUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbols/symbols.h"

struct guests;

/* ---- a process ------------------------------------------------------------------------------ */

enum guests_language { GUESTS_NONE, GUESTS_LUAJIT, GUESTS_LUA, GUESTS_PYTHON, GUESTS_V8 };
struct guests_options {
	/*
	 * Reads memory of the process as it is when this is called.  Returns how many bytes could
	 * be read: fewer than len where memory ends.
	 */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	/*
	 * Pages of 4096 bytes, each into a buffer of its own, as they are at that moment.  Returns
	 * how many were read, from the first on; the next one has to be read by read().  May be
	 * NULL.
	 */
	size_t (*read_pages)(void *ctx, const uint64_t *addr, void *const *buf, size_t n);
	void *ctx;
	/*
	 * The process's address space.  The caller keeps its mappings and its JIT objects up to
	 * date; libraries that are loaded later are found by themselves.
	 */
	struct symbols *symbols;
	unsigned max_host;	/* native frames of a stack; 0 = 1024.  The innermost are kept */
	unsigned max_guest;	/* guest frames of a stack; 0 = 4096 */
	enum guests_language only;	/* code of other machines is native; NONE = of any */
};
struct err *guests_create(const struct guests_options *options, struct guests **ret) __must_check;
/*
 * Makes guests for another process that has the same memory, as after fork(): with the process's
 * own symbols and reader, and all that g found out about machines.
 */
struct err *guests_fork(const struct guests *g, const struct guests_options *options,
			struct guests **ret) __must_check;
/* After an exec, or when the replay has gone to another place: forgets all but strings. */
void guests_reset(struct guests *g);
void guests_destroy(struct guests *g);

/* ---- what runs ------------------------------------------------------------------------------ */

struct guests_vm {
	enum guests_language language;
	const char *name;	/* "LuaJIT 2.1", "Lua 5.4", "CPython 3.11", "V8 11.3" */
	/* global_State, _PyRuntime, Isolate; 0 = unknown */
	uint64_t address;
	/* the main lua_State, the PyInterpreterState; 0 = unknown */
	uint64_t main;
	/* of the code that runs it: libluajit-5.1.so.2, /usr/bin/python3.11 */
	const struct symbols_module *module;
};
/*
 * Returns the machines seen so far; pointers stay valid until guests_reset() or guests_destroy().
 * A machine is seen when it is on a stack.
 */
const struct guests_vm *const *guests_vms(const struct guests *g, size_t *n_ret);

/* Is there code of a virtual machine at pc? */
bool guests_has_code(struct guests *g, uint64_t pc);

enum guests_state {
	GUESTS_STATE_NATIVE,	/* no guest on this stack: code of the program's own */
	GUESTS_STATE_INTERP,	/* the interpreter */
	GUESTS_STATE_C,		/* a native function that guest code called */
	GUESTS_STATE_BUILTIN,	/* one of the language's own functions */
	GUESTS_STATE_TRACE,	/* machine code that was made of guest code */
	GUESTS_STATE_GC,
	GUESTS_STATE_EXIT,	/* on the way out of a trace, or deoptimising */
	GUESTS_STATE_RECORD,	/* the compiler: recording a trace */
	GUESTS_STATE_OPTIMIZE,
	GUESTS_STATE_ASSEMBLE,
	GUESTS_STATE_COMPILE,	/* the parser, the bytecode compiler, or another JIT compiler */
	GUESTS_STATE_UNKNOWN,
	GUESTS_STATES
};
/* "interpreter", "C", "trace", "GC", ...: a word to show. */
const char *guests_state_name(enum guests_state state);

/* Why there are no guest frames, or fewer than there should be. */
enum guests_why {
	GUESTS_COMPLETE,	/* all of them are there */
	/* There should be none: both are complete stacks, too. */
	GUESTS_NO_VM,		/* no virtual machine in the modules of this stack */
	GUESTS_OUTSIDE,		/* there is a machine, but this task is not in it */
	/* The reasons that a profile counts. */
	GUESTS_STARTING,	/* the machine is being made, or ends */
	GUESTS_LAYOUT,		/* a build whose structures are not known */
	GUESTS_GC32,		/* LuaJIT with references of 32 bits: its frames are not read */
	GUESTS_MEMORY,		/* memory that should be there could not be read */
	GUESTS_CORRUPT,		/* frames that lead nowhere, or round in circles */
	GUESTS_TRACE,		/* machine code of no trace that is known, or without snapshots */
	GUESTS_HOST,		/* the native stack breaks off before the thread's first frame */
	/* native frames may be missing: code without unwind information, and no proof */
	GUESTS_GUESSED,
	GUESTS_DEEP,		/* more frames than options.max_guest: the outermost are missing */
	GUESTS_NO_MEMORY,	/* of ours */
	GUESTS_WHYS
};
/* "no virtual machine", "unknown build", ...: a phrase to show and to count by. */
const char *guests_why_text(enum guests_why why);
static inline bool guests_is_complete(enum guests_why why)
{
	return why <= GUESTS_OUTSIDE;
}

/* ---- a stack -------------------------------------------------------------------------------- */

enum guests_kind {
	/* native code; address is what to give to symbols_lookup(), which has the names */
	GUESTS_HOST_FRAME,
	GUESTS_FRAME,		/* guest code, interpreted */
	/* guest code in machine code of its own: a trace, an optimised function */
	GUESTS_TRACE_FRAME,
	/* guest code inlined there, into the next frame that is not inlined */
	GUESTS_INLINED,
	GUESTS_BUILTIN,		/* one of the language's own functions, or a native one it called */
	GUESTS_GC_FRAME,	/* stands for the collector that the next guest frame had to run */
};
struct guests_frame {
	enum guests_kind kind;
	/*
	 * GUESTS_HOST_FRAME: it does nothing but run the guest frames that come right before it in
	 * the list (an interpreter's loop, machine code of a trace).  To be left out when shown.
	 */
	bool machinery;
	bool approximate;	/* the line is near, not exact */
	const char *function;	/* "leaf", "main chunk", "Pool.get"; NULL = unknown or host */
	const char *file;	/* as the language has it: "t3.lua", "/usr/lib/x.py", "stdin" */
	unsigned line;		/* that runs; 0 = unknown */
	unsigned first_line;	/* of the function; 0 = unknown */
	/*
	 * HOST: the lookup address.  BUILTIN: of the native function, 0 = it has none of its own.
	 * Else of the function's code object (GCproto, Proto, PyCodeObject, SharedFunctionInfo):
	 * what tells functions of one name apart, as long as it lives.
	 */
	uint64_t address;
	unsigned trace;		/* TRACE, INLINED: number of the trace; 0 = not of one */
	unsigned host;		/* index in stack->host: it is that frame, or runs in it */
	const struct guests_vm *vm;	/* NULL: host */
	uint64_t where;		/* the guest's frame in memory, for guests_locals(); 0 = none */
	uint64_t function_object;	/* 0 = unknown */
	/* for guests_locals(): where the frame stands, in the machine's own terms */
	struct {
		uint64_t pc, base;
		uint32_t snapshot;
	} inside;
};
/*
 * For those who tell stacks apart in the process itself, without unwinding them: where the
 * innermost machine keeps what its part of the stack depends on.  Words are given by their
 * address, or as
 * GUESTS_KEPT + n: in the register number n of rbx, rbp, r12 to r15 of the innermost native frame.
 */
#define GUESTS_KEPT 1
struct guests_chain {
	uint64_t root;		/* of the pointer to the innermost frame; 0 = there is no chain */
	int pre;		/* it leads to another pointer, so far behind; -1: it does not */
	bool luajit;		/* the frames are LuaJIT's */
	bool gc32;		/* its references have 32 bits; so has the word at root */
	uint16_t next, value;	/* in a frame, the pointer to the next, and where it stands */
	uint16_t status;	/* frames count of which this byte has, of the bits in mask, want */
	uint8_t mask, want;
	uint64_t pc;		/* of the word that has the innermost function's pc; 0 = in value */
	size_t frames;		/* so many of the guest frames, innermost first, are in the chain */
};
struct guests_stack {
	/* Innermost first.  Owned by the struct guests, valid until its next call. */
	const struct guests_frame *frame;
	size_t frames, guest_frames;	/* all; those that are not HOST */
	/* The native frames alone, as symbols_unwind() gives them. */
	const struct symbols_pc *host;
	size_t hosts;
	enum symbols_end end;	/* of the native frames */
	const struct guests_vm *vm;	/* the innermost; NULL = none */
	enum guests_state state;	/* of the innermost */
	unsigned trace;		/* that runs, or that called what runs; 0 = none */
	/*
	 * Where the trace begins, if `trace`, for names like "TRACE 3 t.lua:12"; it may be unknown.
	 */
	const char *trace_file;
	unsigned trace_line;
	/* The kind of trace: "loop, 7 exits", "from exit 3 of 1, -> 2, 5 exits"; NULL = unknown */
	const char *trace_link;
	enum guests_why why;
	struct guests_chain chain;
};
/*
 * The whole stack of a task that stopped with these registers.  Always fills *ret: where guest
 * frames cannot be had ret->why says so, and the native ones are there.  Memory of the process is
 * read anew at each call, in blocks.
 */
void guests_unwind(struct guests *g, const struct symbols_regs *regs, struct guests_stack *ret);
/*
 * Native frames only, through machine code of guests: as symbols_unwind(), whose place it can take.
 */
size_t guests_unwind_host(struct guests *g, const struct symbols_regs *regs,
			  struct symbols_pc *ret, size_t max);

/* ---- variables of a guest frame ------------------------------------------------------------- */

enum guests_variable_kind { GUESTS_LOCAL, GUESTS_ARGUMENT, GUESTS_VARARG, GUESTS_UPVALUE };
struct guests_variable {
	enum guests_variable_kind kind;
	const char *name;	/* as in the source */
	const char *value;	/* as the language prints it, cut where it is long */
	uint64_t object;	/* where it is, when it is an object; 0 = unknown */
};
typedef void guests_variable_fn(void *ctx, const struct guests_variable *v);
/*
 * Variables that are in scope in a frame of the last guests_unwind(), while the task still stands
 * there.  In machine code of traces values live in registers: of those the text says so.  False:
 * this frame has none that can be known.
 */
bool guests_locals(struct guests *g, const struct guests_frame *frame, guests_variable_fn *fn,
		   void *ctx);
/* The global variable of this name that such a frame's function would see; false: it has none. */
bool guests_global(struct guests *g, const struct guests_frame *frame, const char *name,
		   guests_variable_fn *fn, void *ctx);

#endif
