/*
 * luajit.h - what the files about LuaJIT share.
 *
 *	luajit_code.c	finds machines, steps out of their code
 *	luajit.c	walks stacks
 *	luajit_frame.c	frames, functions, lines, names
 *	luajit_trace.c	machine code of traces: which trace, which snapshot
 *	luajit_value.c	values, variables of frames
 *
 * References have 64 bits (GC64: Debian's, LuaJIT 2.1, OpenResty) or 32 (Tarantool 2.6.0); each
 * kind has its shapes of objects.  An address is a frame when it is that of the slot with its link:
 * L->base - 1.  With 64 bits the function is in the slot before, else in the same one.
 */
#ifndef GUESTS_LUAJIT_H
#define GUESTS_LUAJIT_H

#include "guests/internal.h"

/*
 * The layout of objects, in bytes, by the size of references (lj_obj.h, lj_frame.h and lj_jit.h of
 * LuaJIT).
 */
struct lj_shape {
	uint8_t ref;		/* size of a reference */
	uint8_t slots;		/* that a frame's function and link take */
	uint8_t gct;		/* the type in an object's header; its own fields begin behind it */
	uint8_t cont, cont_pc;	/* of a continuation, and where it goes on: before its frame */
	struct { uint8_t glref, base, maxstack, stack, cframe; } L;
	struct { uint8_t nres, L, pc; } cf;	/* in the interpreter's native frame */
	struct { uint8_t k, flags, chunkname, firstline, lineinfo, uvinfo, varinfo; } proto;
	struct { uint8_t pc, c, upvalue; } function;
	struct { uint8_t len, text; } str;
	struct { uint8_t array, node, asize; } tab;
	uint8_t udata, cdata;	/* what lies behind their headers */
	uint8_t upvalue;	/* the address of its value */
	struct {
		uint8_t ir, nk, nsnapmap, snap, snapmap, startpt, startpc, startins, szmcode;
		uint8_t mcode, spadjust, traceno, link, root, linktype;
	} trace;
};
extern const struct lj_shape lj_gc64, lj_gc32;

/* Offsets that differ between builds; which one a machine has is found by what is consistent. */
struct lj_layout {
	const char *name;
	const struct lj_shape *shape;
	bool mcofs;		/* snapshots say from which instruction on they hold */
	bool fork;		/* nine states of the machine instead of seven (Tarantool) */
	uint16_t cframe;	/* size of the interpreter's native frame */
	uint16_t cframe_prev;
	uint16_t vmstate, mainthref, cur_L, jit_base;	/* in global_State */
	uint16_t J;		/* jit_State - global_State */
	uint16_t dispatch;	/* dispatch table - global_State */
	uint16_t trace, sizetrace, exits;	/* in jit_State; exits 0 = unknown */
	uint16_t proto;		/* size of GCproto: its bytecode follows */
};

enum { LJ_VMS = 16, LJ_SEQUENCES = 24, LJ_HINTS = 256 };
/* The interpreter's code, as found in a module. */
struct lj_code {
	uint64_t start, end;	/* of the interpreter, in the process */
	uint32_t cframe;
	/* exit handler, where it has stored parent and exit, and its end; 0 = no compiler */
	uint64_t exit, exit_stored, exit_end;
	int32_t parent_disp, exitno_disp;	/* from the dispatch table */
	/* entries and ends: `push`es, `pop`s */
	struct lj_sequence { uint64_t addr; bool entry, callback; } sequence[LJ_SEQUENCES];
	unsigned sequences;
	struct lj_known { uint64_t G; const struct lj_layout *layout; } vm[LJ_VMS];
	unsigned vms;
	bool gc32;		/* its machines are of no known build; references of 32 bits */
	uint16_t hint[LJ_HINTS];	/* by address: the trace that was there */
};

/* A machine at a stop. */
struct lj {
	struct guests *g;
	const struct lj_layout *y;
	struct lj_code *code;
	uint64_t G, main, J;
};

struct lj_function {
	uint64_t addr;		/* of the GCfunc */
	uint8_t ffid;		/* 0 = Lua, 1 = C, else one of the language's own */
	uint64_t proto;		/* of a Lua function */
	uint64_t c;		/* else its native code */
};
struct lj_proto {
	uint64_t addr, bytecode;
	uint32_t sizebc;
	uint8_t numparams, framesize, flags;
	uint64_t chunkname, lineinfo, uvinfo, varinfo, k;
	uint32_t firstline, numline;
};
struct lj_trace {
	uint64_t addr, ir, snap, snapmap, startpt, startpc, mcode;
	uint32_t nins, nk, szmcode, nsnapmap;
	uint16_t nsnap, traceno, spadjust, link, root;	/* root 0 = it is one */
	uint8_t linktype;
};

enum { LJ_LUA = 0, LJ_C = 1, LJ_CONT = 2, LJ_VARG = 3, LJ_PCALL = 2 };
enum { LJ_T_STR = 4, LJ_T_THREAD = 6, LJ_T_PROTO = 7, LJ_T_FUNC = 8, LJ_T_TRACE = 9,
       LJ_T_TAB = 11 };
#define LJ_POINTER(v) ((v) & ((1ull << 47) - 1))

/* A reference in memory. */
static inline bool lj_ref(const struct lj *lj, uint64_t addr, uint64_t *ret)
{
	*ret = 0;
	return mem_bytes(lj->g, addr, ret, lj->y->shape->ref);
}
static inline bool lj_is_gc32(const struct lj *lj)
{
	return lj->y->shape == &lj_gc32;
}

/* luajit_code.c */
bool lj_examine(struct guests *g, struct code *c);
bool lj_step(struct guests *g, struct code *c, struct symbols_regs *regs, bool first,
	     uint64_t *cfa_ret);
bool lj_is_thread(const struct lj *lj, uint64_t L);
/* The thread that a native frame of the interpreter runs, and its machine. */
bool lj_vm_of_cframe(struct lj *lj, uint64_t cframe, uint64_t *L_ret);
/* luajit_frame.c */
bool lj_function_read(const struct lj *lj, uint64_t addr, struct lj_function *ret);
/* Read a frame: what is in its function's slot, its link. */
bool lj_frame_object(const struct lj *lj, uint64_t frame, uint64_t *ret);
bool lj_frame_link(const struct lj *lj, uint64_t frame, uint64_t *ret);
/* The function of a frame. */
bool lj_function_at(const struct lj *lj, uint64_t frame, struct lj_function *ret);
bool lj_proto_read(const struct lj *lj, uint64_t addr, struct lj_proto *ret);
static inline bool lj_proto_has(const struct lj_proto *pt, uint64_t pc)
{
	return pc - pt->bytecode <= 4ull * pt->sizebc && !(pc & 3);
}
/* 0 = unknown; pc is that of the instruction behind the one that runs. */
unsigned lj_line(const struct lj *lj, const struct lj_proto *pt, uint64_t pc);
const char *lj_chunk(const struct lj *lj, const struct lj_proto *pt);
/*
 * Returns the name that the caller, standing behind its call, has for the function; NULL = nothing.
 */
const char *lj_called(const struct lj *lj, const struct lj_proto *caller, uint64_t pc);
const char *lj_unnamed(const struct lj *lj, const struct lj_proto *pt);
/* A variable in scope at pc, from instruction start on, before end: calls fn for each. */
struct lj_variable { unsigned slot; const char *name; uint32_t start, end; };
typedef void lj_variable_fn(void *ctx, const struct lj_variable *v);
void lj_variables(const struct lj *lj, const struct lj_proto *pt, uint64_t pc, lj_variable_fn *fn,
		  void *ctx);
/* NULL = it has no name. */
const char *lj_upvalue(const struct lj *lj, const struct lj_proto *pt, unsigned i);
/* Can instructions of a part of the function write that slot? */
bool lj_writes(const struct lj *lj, const struct lj_proto *pt, unsigned slot, uint32_t start,
	       uint32_t end);
bool lj_reads(const struct lj *lj, const struct lj_proto *pt, unsigned slot, uint32_t start,
	      uint32_t end);
/* Is there a way from behind an instruction to before it? */
bool lj_in_loop(const struct lj *lj, const struct lj_proto *pt, uint32_t at);
/* luajit_trace.c */
bool lj_trace_read(const struct lj *lj, uint32_t number, struct lj_trace *ret);
/* The trace whose machine code is at pc. */
bool lj_trace_at(const struct lj *lj, uint64_t pc, struct lj_trace *ret);
/* Where it was left from, where it goes, how many exits it has. */
const char *lj_trace_text(const struct lj *lj, const struct lj_trace *t);
/* The exit whose stub is at pc, or -1. */
int lj_exit_stub(const struct lj *lj, uint64_t pc);
/* The snapshot that holds at an offset into the machine code. */
unsigned lj_snapshot_at(const struct lj *lj, const struct lj_trace *t, uint32_t offset);

/* The pc of a snapshot's instruction, and how far above the trace's the innermost base is. */
bool lj_snapshot_pc(const struct lj *lj, const struct lj_trace *t, unsigned snapshot,
		    uint64_t *pc_ret, unsigned *base_ret);

/* Where a slot's value is while a snapshot holds; slots count from the function's of the base. */
enum lj_slot { LJ_SLOT_ABSENT, LJ_SLOT_MEMORY, LJ_SLOT_VALUE, LJ_SLOT_ELSEWHERE };
enum lj_slot lj_snapshot_slot(const struct lj *lj, const struct lj_trace *t, unsigned snapshot,
			      unsigned slot, uint64_t *value_ret);

/* Frames that a snapshot says, innermost first; base is that of the frame the trace began in. */
struct lj_inlined {
	uint64_t proto;		/* 0 = not a Lua function */
	uint64_t pc;		/* behind the instruction that runs */
	uint64_t function;	/* 0 = unknown */
	uint64_t frame;		/* where it would be in memory */
	bool by_lua;		/* the next frame called it, with a call instruction */
	bool hidden;		/* holds only variable arguments of the frame before it */
};
enum { LJ_INLINED = 64 };
/*
 * The frame that the trace began in is the last of them; its function is in memory.  Returns how
 * many there are, 0 when the snapshot says nothing that can be.
 */
unsigned lj_snapshot_frames(const struct lj *lj, const struct lj_trace *t, unsigned snapshot,
			    uint64_t base, struct lj_inlined ret[LJ_INLINED]);
/* luajit_value.c */
/* As GC64 has them in slots: a number, or a type in the upper 17 bits. */
bool lj_slot(const struct lj *lj, uint64_t addr, uint64_t *ret);
bool lj_value(struct guests *g, struct code *c, const struct guests_vm *vm, enum guests_at at,
	      uint64_t addr, struct out *t);
bool lj_locals(struct guests *g, struct code *c, const struct guests_frame *f,
	       guests_variable_fn *fn, void *ctx);
bool lj_global(struct guests *g, struct code *c, const struct guests_frame *f, const char *name,
	       guests_variable_fn *fn, void *ctx);

#endif
