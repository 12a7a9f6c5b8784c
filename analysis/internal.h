/*
 * internal.h - what the parts of the leak analysis share.
 *
 *   session.c   a replay with symbols and probes: its maps, and moving in it
 *   functions.c which functions allocate, and where they are
 *   stacks.c    stacks: unwound, numbered, with names
 *   lineage.c   what a forked process was before
 *   history.c   records of probes -> blocks with birth and death
 *   memory.c    the writable memory of a moment: roots, words
 *   graph.c     reachable or not, who owns whom, cycles
 *   loss.c      which hit of an allocator was the last before a block was lost
 *   track.c     from there, instruction by instruction, to the loss
 *   slots.c     the words that hold a reference meanwhile
 *   remains.c   words that only look like references
 *   stored.c    who stored a reference
 *   types.c, types_rust.c  types carried along pointers
 *   answer.c    groups, names, order
 *   allocators.c  those of LuaJIT, Lua and Python
 *   memprof.c   every allocation and free as an event: analysis/alloc/
 */
#ifndef ANALYSIS_INTERNAL_H
#define ANALYSIS_INTERNAL_H

#include "analysis/jit.h"
#include "analysis/leaks.h"
#include "base/bug.h"
#include "base/clock.h"
#include "base/log.h"
#include "replayer/replay.h"

enum { STACK_MAX = 64, THREADS_MAX = 512, BOOKMARKS_MAX = 32 };
#define OWN_SIZE_MAX (1ull << 40)	/* no block of a function that --alloc names has more */

/* ---- what is probed --------------------------------------------------------------------- */

enum fn_kind {
	FN_MALLOC,		/* size in argument `size` */
	FN_CALLOC,		/* rdi * rsi */
	FN_REALLOC,		/* rdi, rsi */
	FN_REALLOCARRAY,	/* rdi, rsi * rdx */
	FN_POSIX_MEMALIGN,	/* result in *rdi, size rdx */
	FN_FREE,		/* argument `size`, rdi where that is 0 */
	FN_MMAP,		/* size rsi, protection rdx */
	FN_MUNMAP,		/* rdi, size rsi */
	FN_MREMAP,		/* rdi, size rsi, new size rdx */
	FN_LUA,			/* lua_Alloc: block rsi, its size rdx, wanted rcx */
	FN_TELLS,		/* argument `size` is a lua_Alloc from now on */
};
struct fn {
	enum fn_kind kind;
	/* argument: 1 = rdi, 2 = rsi, 3 = rdx, 0 = unknown; of FN_FREE the block */
	uint8_t size;
	bool own;		/* named by --alloc, --free */
	uint64_t addr;
	const char *name;
	uint8_t shift;		/* so many arguments come before (a context) */
	uint64_t bytes;		/* size 0: of every block; 0 = not said */
};

/* ---- blocks ------------------------------------------------------------------------------ */

#define NEVER UINT64_MAX

struct block {
	uint64_t addr, size;
	uint64_t born;		/* clock of the hit that allocated it */
	uint64_t died;		/* clock of the hit that freed it; NEVER */
	uint32_t key;		/* of its allocation stack */
	uint8_t ready;		/* hits of allocators from birth to its return, at most 255 */
	bool own, mmap;
	uint8_t type;		/* what lua_Alloc was told it is; 0 = unknown */
};

/* The totals of one allocation stack, under the stack's number.  [0]: stacks that are not known. */
struct key {
	uint64_t allocs, frees, live, live_bytes;
	uint64_t at_event;	/* where it was first */
	bool loader;		/* called by the dynamic loader */
	bool allocator;		/* called by a library that is an allocator */
};

struct pending {
	const struct fn *fn;
	uint64_t a, b, c, rsp, clock;
	uint32_t key;
	uint32_t given;		/* number + 1 of the block at a that another thread has now; or 0 */
	uint8_t type;
};

struct thread {
	int tid;
	struct pending pending[32];
	unsigned n;
};

enum { RECENT = 64 };
struct history {
	struct block *block;
	size_t n, room;
	uint32_t *slot;		/* hash by address of live blocks: number + 1 */
	size_t slots, live;
	bool indexed;		/* slot is an index by address */
	uint64_t live_bytes;
	struct key *key;
	size_t keys, keys_room;
	struct thread *thread[THREADS_MAX];
	unsigned threads;
	uint32_t recycled;	/* list of freed records, by .key + 1 */
	bool forget;		/* the dead at once: a log has what they were */
	uint32_t newest[RECENT];	/* those made last, a ring */
	uint64_t births;
	/* blocks that mmap() made, among them some that are gone: another birth, or a death */
	struct mapped { uint32_t number; uint64_t born; } *mapped;
	size_t mappeds, mapped_room;
	uint64_t allocs, frees;
	uint64_t looked;	/* blocks that were looked at because something was unmapped */
};

/* ---- a replay with symbols ------------------------------------------------------------------ */

struct unwound {		/* a stack, once */
	struct symbols_pc pc[STACK_MAX];
	size_t n;
	uint64_t hash;
	uint64_t guest;		/* what differs in guest frames; 0 = there are none */
};

struct range { uint64_t start, end; };
struct text { uint64_t start, end; bool file; };
struct remain { uint64_t addr, born; };	/* a word in the block born then */

/* Before this event it was another process: lineage.c. */
struct stage { int pid; uint64_t event; };
enum { STAGES_MAX = 32 };

struct memlog;
struct session;

/* The functions by which the analysis of open.c takes part in moving (session.c). */
struct session_ops {
	void (*maps_changed)(struct session *s);
	/* another program runs now: all that is known of the old one's blocks goes */
	void (*exec)(struct session *s);
};

struct session {
	const struct leaks_options *options;
	const struct session_ops *ops;
	struct memlog *log;	/* memlog.c: what happens to blocks; NULL = nobody asked */
	const char *trace;
	struct replay *r;
	struct symbols *sym;
	struct jit_view *jit;	/* from the first stack with code of no file on */
	bool jit_tried;
	struct guest_stacks *guests;	/* guest_stack.c */
	int pid;		/* now */
	struct stage stage[STAGES_MAX];
	unsigned stages;
	/* 0, or: forked, and then another program; in between its own allocations are followed */
	uint64_t born, execed;
	struct fn *fn;
	unsigned fns;
	struct text *text;	/* executable mappings, in order */
	unsigned texts, texts_read;
	struct range *loader;	/* what the dynamic loader mapped for itself */
	unsigned loaders;
	struct history h;
	uint64_t clock;		/* of the next entry in the stream of hits */
	bool exec_seen;
	/* a function of --alloc whose argument is no size, and what it was; NULL = all well */
	const struct fn *no_size;
	uint64_t no_size_is;
	uint64_t outlined;	/* CPython's allocator of objects; 0: there is no CPython */
	bool looked;		/* the first run is over: what the loader mapped is known */
	uint64_t end_clock, end_event;
	char *maps;		/* text of /proc/PID/maps, at an event */
	uint64_t maps_event;
	uint64_t stack_end;	/* nothing can be read there: behind a stack */
	struct unwound *stack;	/* [0] is no stack */
	size_t stacks, stacks_room;
	uint32_t *stack_slot;	/* hash of them */
	size_t stack_slots;
	struct replay_bookmark *start;	/* at the first event with probes */
	struct replay_bookmark *bookmark[BOOKMARKS_MAX];	/* on the way, by clock */
	uint64_t bookmark_clock[BOOKMARKS_MAX];
	unsigned bookmarks;
	uint64_t steps;		/* single steps done */
	struct remain *remain;
	size_t remains;
};

struct err *session_open(const char *trace, const struct leaks_options *o,
			 struct session *s) __must_check;
void session_close(struct session *s);
/* Forward to a clock or event, keeping maps and probes up to date. */
struct err *session_run(struct session *s, uint64_t clock, uint64_t event,
			enum replay_probe_stop *ret) __must_check;
/* Were the functions found that the user named? At the end. */
struct err *session_check_own(struct session *s) __must_check;
/* The error where no function of an allocator has been found. */
struct err *session_no_allocator(void) __must_check;
/* Maps and symbols as they are now. */
struct err *session_refresh(struct session *s) __must_check;
/* replay_fine(), with the breakpoints in the process that it is by now. */
struct err *session_fine(struct session *s, struct replay_break *b, unsigned n, bool step,
			 struct replay_fine *ret) __must_check;
/* Runs as session_fine() does, with breakpoints that say in which process each is. */
struct err *session_fine_in(struct session *s, const struct replay_break *b, unsigned n, bool step,
			    struct replay_fine *ret) __must_check;
struct err *session_restore(struct session *s, struct replay_bookmark *m) __must_check;
/* To a clock, from m (at m_clock) or a better bookmark of the session's; NULL = from where we are.
 */
struct err *session_goto(struct session *s, struct replay_bookmark *m, uint64_t m_clock,
			 uint64_t clock) __must_check;
/* Forward to the end (or event), leaving bookmarks. */
struct err *session_first_run(struct session *s, uint64_t event,
			      enum replay_probe_stop *ret) __must_check;
/* functions.c: probes on all that allocate in what is mapped now. */
void session_find_functions(struct session *s);
const struct fn *session_fn_at(const struct session *s, uint64_t addr);
size_t session_unwind(struct session *s, int tid, const struct regs *regs, struct symbols_pc *ret,
		      size_t max);
/* Number of the stack of tid as it stands; regs NULL = now. */
uint32_t session_stack(struct session *s, int tid, const struct regs *regs);
struct symbols_memory session_memory(struct session *s, int tid);
/* As symbols_lookup(); *jit_ret: of JIT code that was there around the event. */
size_t session_names(struct session *s, uint64_t addr, uint64_t event,
		     struct symbols_frame ret[SYMBOLS_FRAMES_MAX], bool *jit_ret);
/* event: when the stack was there. */
void session_frames(struct session *s, const struct symbols_pc *pc, size_t n, bool skip_allocator,
		    uint64_t event, struct leaks_stack *ret);
void leaks_stack_free(struct leaks_stack *st);
/*
 * guest_stack.c: puts the merged stack in place of *st where there are frames of a language; regs
 * NULL = now.
 */
void guest_stack(struct session *s, int tid, const struct regs *regs, bool skip_allocator,
		 struct leaks_stack *st);
/* Finds the guests' allocations of the first leaks; the session stands anywhere afterwards. */
struct err *guest_allocations(struct session *s, struct leaks *found) __must_check;
void guest_stacks_close(struct session *s);
int session_any_task(struct session *s);
void session_drop_bookmarks(struct session *s);
void session_progress(const struct session *s, const char *what, uint64_t done, uint64_t total);
void *must(void *p);		/* or we are out of memory */

/* A stack that is new to the probes. */
uint32_t session_learn(void *ctx, int tid, const struct regs *regs, struct replay_key *key);
/* Adds one more function to be probed, unless it is probed already. */
void session_fn_add(struct session *s, const struct fn *fn);
/* Is the library with that bias where it will stay? */
bool session_is_loaded_at(struct session *s, uint64_t bias);

/* allocators.c: those of the languages that the program runs, whenever something was mapped. */
void allocators_find(struct session *s);
/* At the first instruction of an FN_TELLS: the allocator it names. */
void allocators_learn(struct session *s, const struct regs *regs, struct replay_key *key);

/*
 * memlog.c, told by history.c: block number was made (or replaces the one of memlog_moved()), is
 * gone, or was only the means of another allocation.  stack, tid: who did it.
 */
void memlog_made(struct session *s, uint32_t number, const struct block *b, int tid);
void memlog_gone(struct session *s, uint32_t number, const struct block *b, uint32_t stack,
		 int tid);
void memlog_undone(struct session *s, uint32_t number);
/* An exec; a stack that is new. */
void memlog_reset(struct session *s);
void memlog_stack(struct session *s, uint32_t number);
/* Guest frames where the task stands, if there are any: fills *u and *key, else false. */
bool memlog_guests(struct session *s, int tid, const struct regs *regs, struct unwound *u,
		   struct replay_key *key);
/* The block that goes next is moved by realloc() to the block that is made next. */
void memlog_moved(struct session *s, uint64_t addr);

/*
 * For other analyses: from memlog_start() on, before the first move, the session has a log, until
 * memlog_stop(), behind session_close().  The event that made block number; NULL = unknown.
 */
struct alloc_log;
struct alloc_event;
void memlog_start(struct session *s);
void memlog_stop(struct session *s);
/* The machines that were seen allocating, for another reader of the same process; false: none. */
struct guests;
struct guests_options;
bool memlog_guests_fork(const struct session *s, const struct guests_options *o,
			struct guests **ret);
struct alloc_log *memlog_log(const struct session *s);
/* The log becomes the caller's. */
struct alloc_log *memlog_take(struct session *s);
/* Finds the types that the program's sources say are allocated at each stack. */
void memlog_types(struct session *s);
/* Finds the types that live blocks of a language say that they are. */
void memlog_guest_types(struct session *s);
/*
 * guest_types.c: "Lua table" by a block's bytes and its machine, "dict" of Python; NULL = the block
 * is none, or unsure
 */
const char *guest_luajit_kind(const char *vm, const unsigned char *bytes, uint64_t size);
struct guests_vm;
const char *guest_python_kind(struct guests *g, const struct guests_vm *vm, uint64_t addr,
			      uint64_t size);
const struct alloc_event *memlog_maker(const struct session *s, uint32_t number);

/*
 * lineage.c: the processes that became pid, as it is at an event (0 = the end), by forking, the
 * first of them first.  One that ran another program since is alone; *born_ret, *execed_ret: it
 * was forked and did that at these events (0: not so).
 */
struct err *lineage_find(const char *trace, int pid, uint64_t at, struct stage *ret,
			 unsigned max, unsigned *n_ret, uint64_t *born_ret,
			 uint64_t *execed_ret) __must_check;

/* history.c */
uint64_t history_hits(void *ctx, int tid, const struct replay_hit *hit,
		      const struct replay_hit *end);
void history_reset(struct history *h);
/* Memory is gone, and what an allocator had cut from it. */
void history_unmapped(struct session *s, uint64_t start, uint64_t end, int tid);
/* The block live now that addr lies in. */
const struct block *history_around(const struct session *s, uint64_t addr);
/* The block live at that clock that addr lies in. */
struct block *history_at(const struct session *s, uint64_t addr, uint64_t clock);
void history_index(struct session *s);

/* ---- memory of a moment ---------------------------------------------------------------------- */

enum area_kind { AREA_GLOBAL, AREA_STACK, AREA_TLS, AREA_HEAP, AREA_OTHER };
struct area {
	uint64_t start, end;
	enum area_kind kind;
	int tid;		/* of a stack */
	uint64_t sp;		/* of a stack: nothing counts below */
	bool shared;		/* with other processes, perhaps */
};
struct memory {
	struct area *area;
	size_t n;
	struct replay_task task[THREADS_MAX];
	struct regs regs[THREADS_MAX];
	unsigned tasks;
};
struct err *memory_map(struct session *s, struct memory *ret) __must_check;
/* The end of the program: leave out what exit() and system calls have only left over. */
void memory_trim(struct session *s, struct memory *m);
void memory_deinit(struct memory *m);
const struct area *memory_area(const struct memory *m, uint64_t addr);

/* ---- the graph ------------------------------------------------------------------------------- */

struct node {			/* a live block, in order of address */
	uint64_t addr, size;
	uint32_t block;		/* number in the history */
	uint32_t scc : 31;	/* of the unreachable, from 1; 0 = reachable or not looked at */
	uint32_t reachable : 1;
};
/* A copy of a node over this size has only the parts that have been touched. */
enum { GRAPH_LARGE = 1 << 20 };
/* Words [from, to) of a node. */
struct graph_run { uint32_t node; uint64_t from, to; };
struct graph {
	struct node *node;
	size_t n;
	uint64_t end;		/* of the last */
	uint32_t *around;	/* the block that each lies in; NULL = none does */
	uint64_t *piece;	/* see graph.c */
	size_t pieces;
	uint32_t *page;
	/*
	 * of all nodes, one after the other; of large ones only the runs have anything in them: the
	 * rest has no memory behind it, and should not be touched
	 */
	unsigned char *content;
	uint64_t content_len;
	uint64_t *content_at;	/* in words */
	struct graph_run *run;	/* of large nodes, in order */
	size_t runs;
	uint32_t *giant;	/* see graph.c */
	size_t giants;
	uint32_t *member;	/* of the components */
	struct scc *scc;	/* [0] unused */
	size_t sccs, scc_room;
};
struct scc {
	uint32_t first, nodes;	/* members, in member[] */
	uint64_t bytes, owned_bytes, owned_blocks;
	bool root;		/* no other unreachable block refers to it */
};
struct err *graph_build(struct session *s, struct memory *m, struct graph *g) __must_check;
/* Only what graph_find() needs: nodes in order, without contents. */
void graph_index(struct session *s, struct memory *m, struct graph *g);
void graph_contents(struct session *s, struct graph *g);
static inline const unsigned char *graph_content(const struct graph *g, size_t i)
{
	return g->content + 8 * g->content_at[i];
}
/*
 * Finds the next bytes of a node over GRAPH_LARGE, from offset `from' on, that the node has
 * contents for, [result, *end_ret); UINT64_MAX: there are no more.
 */
uint64_t graph_content_next(const struct graph *g, size_t i, uint64_t from, uint64_t *end_ret);
/* Are the first size bytes of node i of g those of node k of h? */
bool graph_content_same(const struct graph *g, size_t i, const struct graph *h, size_t k,
			uint64_t size);
void graph_deinit(struct graph *g);
/* Number of the node that v points into, or SIZE_MAX. */
size_t graph_find(const struct graph *g, uint64_t v);
/*
 * Words of node i that point into node `to` (SIZE_MAX: any other); how many there are, at most max
 * are filled in.
 */
size_t graph_references(const struct graph *g, size_t i, size_t to, uint64_t *addr, uint64_t *value,
			size_t max);

/* ---- instructions (insn.c) ------------------------------------------------------------------- */

struct insn {
	unsigned len;
	struct range write[3];	/* memory that it writes */
	unsigned writes;
	uint32_t uses;		/* registers (words of struct regs) whose value matters to it */
	bool ret, pop;		/* pop: or leave */
	bool saves;		/* pushes a register that belongs to the caller */
};
/* As it will run with these registers, rip among them. */
bool insn_decode(const uint8_t *code, size_t room, const struct regs *regs, struct insn *ret);
/* The instruction before `end`, in code that begins at start; end when there is none. */
uint64_t insn_last(const uint8_t *code, size_t len, uint64_t start, uint64_t end);
/* Addresses of the return instructions in a function; at most max. */
size_t insn_returns(const uint8_t *code, size_t len, uint64_t start, uint64_t *ret, size_t max);

/* ---- loss ------------------------------------------------------------------------------------ */

struct bound {
	uint64_t lo, hi;	/* clock: it is so at lo, not at hi */
	bool seen;		/* lo was looked at, not only assumed */
};
enum { SUSPECTS = 8 };
struct target {			/* a leak root: one block, or the blocks of a cycle */
	struct range *range;	/* in order */
	unsigned ranges;
	const struct block *block;	/* the first */
	struct leaks_when when;
	struct regs regs;	/* of the thread, there */
	size_t leak;		/* number of the leak it stands for, plus one */
	enum leaks_how how;
	char *what;
	/* words in younger blocks that decided the moment */
	struct remain suspect[SUSPECTS];
	unsigned suspects;
};
bool target_has(const struct target *t, uint64_t value);

/*
 * Hand the words of an area to fn, piece by piece, in order: what was never touched is left out of
 * large ones (AddressSanitizer reserves terabytes).
 */
typedef void memory_words_fn(void *ctx, const struct area *a, uint64_t addr, const uint64_t *words,
			     size_t n);
void memory_words(struct session *s, const struct area *a, memory_words_fn *fn, void *ctx);

struct reference { uint64_t addr, value; };
/* Words of live memory that point into one of the targets; which[] = number of the target. */
struct err *memory_references(struct session *s, const struct memory *m, uint64_t clock,
			      const struct target *t, size_t n, struct reference **ret,
			      uint32_t **which, size_t *n_ret) __must_check;

/* Sets yes[i] for those of list that are so at the present clock. */
typedef struct err *bisect_fn(void *ctx, struct session *s, const uint32_t *list, size_t n,
			      bool *yes);
/* Make all bounds that list names one hit wide, sharing the replays. */
struct err *bisect(struct session *s, struct bound *b, size_t n, bisect_fn *fn,
		   void *ctx) __must_check;

/* The moments of loss of all targets. */
struct err *loss_find(struct session *s, struct target *t, size_t n) __must_check;
/* How often is when.addr passed from when.event on, until it is the moment? */
struct err *loss_count(struct session *s, struct target *t, size_t n) __must_check;
/* From b->lo, where we are, to the loss.  *again: b is to be made narrower and tracked again. */
struct err *track_loss(struct session *s, struct target *t, struct bound *b,
		       bool *again) __must_check;
/* remains.c */
bool remains_on_stack(struct session *s, int tid, const struct regs *now, uint64_t addr);
void remains_add(struct session *s, uint64_t addr, uint64_t born);
bool remains_in_block(const struct session *s, uint64_t addr, uint64_t born);

/* Who stored these values that are at these addresses now (at s->end_clock)? */
struct err *stored_find(struct session *s, struct leaks_holder **h, size_t n) __must_check;

/* ---- the answer ------------------------------------------------------------------------------ */

struct job {
	struct session s;
	struct memory m;
	struct graph g;
	struct target *target;
	uint32_t *target_scc;	/* components of the roots, targets first */
	size_t targets, roots;
	uint32_t *group_stack;	/* of each leak of the result */
	struct replay_bookmark *end;
	struct leaks *ret;
	const struct symbols_type **carried;	/* types.c: of each node */
};
/* types.c: what the pointers that lead to a node of the graph say it is; NULL = nothing */
const struct symbols_type *types_carried(struct job *j, size_t node);
/* ledger.c */
struct err *ledger_fill(struct job *j) __must_check;
/* names.c: at the end of the recording; the caller frees them */
char *name_type(struct job *j, const struct block *b);	/* NULL = unknown */
char *name_address(struct job *j, uint64_t addr);

#endif
