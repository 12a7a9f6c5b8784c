/*
 * replay.h - run a recording again.
 *
 * The only header of this room that others include.  A replay is a set of real processes that
 * only ever compute: each system call of theirs is stopped before it happens and its recorded
 * effects are applied instead.
 */
#ifndef REPLAYER_REPLAY_H
#define REPLAYER_REPLAY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/regs.h"
#include "base/err.h"
#include "trace/trace.h"

struct replay;

struct replay_options {
	int ticks;		/* enum ticks_source: 0 = a counter where it can be trusted */
	bool undisturbed;	/* it is only run: no debugger, no tool that stops tasks */
	bool echo;		/* write what the program wrote to stdout and stderr to ours */
};

/* Opens the trace, starts no process yet.  ERR_UNSUPPORTED when this CPU cannot replay it. */
struct err *replay_open(const char *trace_dir, const struct replay_options *options,
			struct replay **ret) __must_check;
void replay_close(struct replay *r);

/*
 * Do the next event wholly.  err_end after the last; ERR_DIVERGED says event, task, instruction,
 * expected and found.
 */
struct err *replay_event(struct replay *r) __must_check;

/* Number of the last event that was done; 0 at the start. */
uint64_t replay_where(const struct replay *r);
/* Wait status of the first process, once its end has been replayed. */
bool replay_status(const struct replay *r, int *status_ret);
const struct trace_meta *replay_meta(const struct replay *r);

/* ---- debugging ------------------------------------------------------------------------
 *
 * After replay_debug_start() use the calls below instead of replay_event().  Between calls nothing
 * runs and no breakpoint is in any memory.  Tasks are named by their recorded numbers.
 */

/*
 * Go to the first instruction of pid (0 = the first program), or with event != 0 to after that
 * event. pid, or if that is not alive the first program's, becomes the shown process. */
struct err *replay_debug_start(struct replay *r, int pid, uint64_t event) __must_check;

/* Processes whose stops are reported. */
bool replay_shown(const struct replay *r, int pid);
void replay_show(struct replay *r, int pid, bool on);
/* Another process that has the same memory here, as between vfork and exec; 0: none. */
int replay_shares_memory(const struct replay *r, int pid);
/* The debugger has just been told of its end: it is shown only before this point from now on. */
void replay_show_end(struct replay *r, int pid);

struct replay_task {
	int tid, pid;
	char name[17];
	bool in_call;		/* inside a system call while others run */
};

/* Fills up to max, returns how many there are.  Shown processes only unless all. */
unsigned replay_tasks(const struct replay *r, bool all, struct replay_task *ret, unsigned max);
/* The task that stopped last. */
int replay_current(const struct replay *r);

/* tid of a living task in all of these; ERR_GONE otherwise. */
struct err *replay_regs(const struct replay *r, int tid, struct regs *ret) __must_check;
/* NT_X86_XSTATE, whole; buf has room for 16384. */
struct err *replay_xstate(const struct replay *r, int tid, void *buf, size_t *len_ret) __must_check;
/*
 * Where component n (2: AVX, 5 to 7: AVX-512, 9: PKRU; as of cpuid 13) is in it; false: neither
 * here nor in the recording.
 */
bool replay_xstate_component(const struct replay *r, unsigned n, unsigned *at_ret,
			     unsigned *size_ret);
/* Stores the siginfo of the signal that the task is about to get; at other stops a SIGTRAP's. */
bool replay_siginfo(const struct replay *r, int tid, siginfo_t *ret);
/* Bytes read: fewer than len where memory ends. */
size_t replay_memory(const struct replay *r, int tid, uint64_t addr, void *buf, size_t len);
/*
 * Pages, each into a buffer of its own, in one call: how many of them were read, from the first on.
 * The next one may have to be read by replay_memory().
 */
size_t replay_memory_pages(const struct replay *r, int tid, const uint64_t *addr, void *const *buf,
			   size_t n);
/*
 * Hand to fn, in order, the ranges of whole pages in [start, end) that have something in them: what
 * was never touched, or holds nothing but zeros that were only read, is left out as far as the
 * kernel tells, so that a reservation of terabytes costs nothing.  A page of a file, or of shared
 * memory, that this process has not touched is left out, too.
 */
typedef struct err *replay_populated_fn(void *ctx, uint64_t start, uint64_t end);
struct err *replay_populated(const struct replay *r, int tid, uint64_t start, uint64_t end,
			     replay_populated_fn *fn, void *ctx) __must_check;
/*
 * Tells the pages of shared memory with something in them, one by one, whether this process has
 * touched them or not.
 */
typedef void replay_page_fn(void *ctx, uint64_t addr, const void *bytes);
struct err *replay_shared(const struct replay *r, int tid, uint64_t start, uint64_t end,
			  replay_page_fn *fn, void *ctx) __must_check;
/*
 * Changes: to a throw-away copy of the program.  Moving forward with registers other than the
 * recording's runs the copy (a function the debugger calls); any other move ends it, and the
 * recording goes on as it was.
 */
struct err *replay_set_memory(struct replay *r, int tid, uint64_t addr, const void *bytes,
			      size_t len) __must_check;
struct err *replay_set_regs(struct replay *r, int tid, const struct regs *regs) __must_check;
struct err *replay_set_xstate(struct replay *r, int tid, const void *bytes,
			      size_t len) __must_check;
/*
 * Memory for the debugger itself: it is in every copy from now on, and holds what it held in the
 * one before.
 */
struct err *replay_memory_new(struct replay *r, int tid, uint64_t len, int prot,
			      uint64_t *addr_ret) __must_check;
struct err *replay_memory_drop(struct replay *r, int tid, uint64_t addr) __must_check;
/*
 * Will the next move forward run the copy, and not for a function that the debugger calls?  True
 * once for each copy.
 */
bool replay_copy_goes_on(struct replay *r);
/* Owned by the replay, valid until the next move. */
const void *replay_auxv(const struct replay *r, int tid, size_t *len_ret);
/* Path of the program, as it was when recorded; "" when unknown. */
void replay_exe(const struct replay *r, int tid, char *buf, size_t size);
/*
 * Content of a file that the program had mapped, by the path it saw; read-only, the caller closes
 * it.  "[vdso]": as the program ran it, without call frame information.
 */
struct err *replay_file(struct replay *r, const char *path, int *fd_ret) __must_check;
/* The text of /proc/PID/maps as the program had it; the caller frees it.  NULL with an error. */
struct err *replay_maps_text(struct replay *r, int pid, char **ret) __must_check;

/*
 * Where other processes have the shared memory that pid has at addr: fills up to max, one for each
 * process, and returns how many.  0 where the memory is pid's own.
 */
struct replay_elsewhere { int pid; uint64_t addr; };
unsigned replay_elsewhere(struct replay *r, int pid, uint64_t addr, struct replay_elsewhere *ret,
			  unsigned max);

enum replay_break_kind {
	REPLAY_BREAK = 0,	/* before the instruction at addr */
	REPLAY_COUNT,		/* the replayer's own: counts how often addr is come to */
	REPLAY_BREAK_HW,	/* as BREAK, by debug register */
	REPLAY_WRITE,		/* memory changes */
	REPLAY_READ, REPLAY_ACCESS,
};
struct replay_break {
	enum replay_break_kind kind;
	int pid;
	uint64_t addr, len;
	unsigned cond;		/* BREAK only: replay_condition(); 0 = none */
	/*
	 * the replayer's own: a patched system call (catch.c).  0: breakpoints are compared as
	 * bytes
	 */
	unsigned call;
	/*
	 * the replayer's own, where code may change: the instruction that is meant
	 * (inprocess_code_word()), else there is nothing to stop at; 0: whatever is there
	 */
	uint64_t code;
};
/*
 * A number for a list of conditions, any of which must be true: (2 bytes length, big-endian; gdb's
 * bytecode)...
 */
unsigned replay_condition(struct replay *r, const void *bytes, unsigned len);
/* A condition like cond (0: none) that is true in threads with these fs_base only. */
unsigned replay_condition_threads(struct replay *r, unsigned cond, const uint64_t *fs_base,
				  unsigned n);
/* Replaces what was set. */
struct err *replay_breaks(struct replay *r, const struct replay_break *b, unsigned n) __must_check;

enum replay_stop_kind {
	REPLAY_STOP_STEP = 1,
	REPLAY_STOP_BREAK,
	REPLAY_STOP_WATCH,
	REPLAY_STOP_SIGNAL,
	REPLAY_STOP_FORK,
	REPLAY_STOP_EXEC,
	REPLAY_STOP_BEGIN,
	REPLAY_STOP_END,
	REPLAY_STOP_INTERRUPT,
	REPLAY_STOP_CALL_ENTRY,
	REPLAY_STOP_CALL_RETURN,
	REPLAY_STOP_VFORK_DONE,
	REPLAY_STOP_THREAD,
	REPLAY_STOP_THREAD_EXIT,
	REPLAY_STOP_EXIT, /* of a process; others are still there */
};
struct replay_stop {
	enum replay_stop_kind kind;
	int tid;
	int signal;
	struct replay_break watch;
	int child_pid, child_tid;	/* FORK, THREAD; whose end it is: EXIT, THREAD_EXIT */
	bool vfork;
	int call;			/* CALL_*: the system call's number */
	int status;			/* EXIT, THREAD_EXIT: as of waitpid(2) */
};

/* Events of shown processes that are stops besides breakpoints and signals; nothing at first. */
struct replay_catch {
	bool fork, vfork_done, exec;
	/* backwards, those of processes that were told to have ended: they are there again */
	bool ends;
	bool threads;			/* their beginnings and ends */
	uint64_t pass_signals;		/* bit N-1: signal N is no stop */
};
void replay_catch(struct replay *r, const struct replay_catch *c);
/*
 * System calls of a process, at entry and return, as the kernel would show them: rip behind the
 * instruction, the number in orig_rax.  Bits by number, or all.  Buffered calls look the same.
 */
enum { REPLAY_CALLS = 512 };
struct err *replay_catch_calls(struct replay *r, int pid, const uint64_t nr[REPLAY_CALLS / 64],
			       bool all, bool on) __must_check;
/*
 * Some more calls, after replay_catch_calls(): at their entry only, and of each only those whose
 * first argument (a descriptor) is one of n <= REPLAY_FIRST.
 */
enum { REPLAY_FIRST = 32 };
struct err *replay_catch_entries(struct replay *r, int pid, const uint64_t nr[REPLAY_CALLS / 64],
				 const uint64_t *first, unsigned n) __must_check;

/*
 * At REPLAY_STOP_END: how the last process that is shown will end.  False where the recording just
 * stops.
 */
bool replay_end_status(const struct replay *r, int *status_ret);

/*
 * Moving.  Forward to the next stop; tid moves by one instruction, and on while its pc is in
 * [start, end).
 */
struct err *replay_forward(struct replay *r, struct replay_stop *ret) __must_check;
struct err *replay_step(struct replay *r, int tid, uint64_t start, uint64_t end,
			struct replay_stop *ret) __must_check;
struct err *replay_backward(struct replay *r, struct replay_stop *ret) __must_check;
struct err *replay_step_back(struct replay *r, int tid, struct replay_stop *ret) __must_check;
/* To after an event, or as near as the recording goes. */
struct err *replay_seek(struct replay *r, uint64_t event, struct replay_stop *ret) __must_check;
/*
 * Where variables are that somebody might watch: pages of pid, by address; the caller keeps them.
 * Else all that is written to counts, as far as that can be looked at.
 */
void replay_variables(struct replay *r, int pid, const uint64_t *page, unsigned n);
/*
 * Between calls, while the user thinks: call it again every now and then while it returns true,
 * since something goes on on another processor.
 */
bool replay_idle(struct replay *r);
/* While moving: stop soon when this descriptor has something to read or is closed; -1 = never. */
void replay_interrupt_from(struct replay *r, int fd);
/*
 * A long way back tells fn (NULL: nobody) every ten seconds where it is looking, event and time so
 * far; HINDSIGHT_PROGRESS=0: never, else each second.  The time begins with this call.
 */
typedef void replay_progress_fn(void *ctx, uint64_t event, uint64_t ns);
void replay_progress_to(struct replay *r, replay_progress_fn *fn, void *ctx);
/* Points in time to come back to; the caller drops them. */
struct replay_point;
struct replay_point *replay_point_here(struct replay *r);
struct replay_point *replay_point_copy(const struct replay_point *p);
void replay_point_drop(struct replay_point *p);
bool replay_point_is_here(const struct replay *r, const struct replay_point *p);
uint64_t replay_point_event(const struct replay_point *p);
/*
 * Keep a copy of all processes for the present point, so that going there is quick; or no longer.
 */
struct err *replay_point_keep(struct replay *r, const struct replay_point *p,
			      bool keep) __must_check;
/* ERR_USAGE when the recording has no such point: nothing has moved. */
struct err *replay_point_go(struct replay *r, const struct replay_point *p,
			    struct replay_stop *ret) __must_check;
/* The present as text that means the same in other sessions: point.c.  The caller frees it. */
struct err *replay_point_text(struct replay *r, char **ret) __must_check;
struct err *replay_point_parse(struct replay *r, const char *text,
			       struct replay_point **ret) __must_check;
enum { REPLAY_LAST_MAX = 16384 };
/*
 * To just before the instruction, of any thread, that changed this memory last.  STOP_BEGIN: none
 * did, nothing has moved. len is at most REPLAY_LAST_MAX. */
struct err *replay_last_write(struct replay *r, int tid, uint64_t addr, uint64_t len,
			      struct replay_stop *ret) __must_check;
/* From the start of the recording to its last event that was done. */
uint64_t replay_elapsed_ns(struct replay *r);

/* "event 12, 3 stops and 2 steps later" */
void replay_where_text(const struct replay *r, char *buf, size_t size);

/* ---- probes ------------------------------------------------------------------------------
 *
 * For analyses: what one process does at chosen addresses, logged inside the process at some ten
 * nanoseconds a hit. After replay_probes_start() use replay_probe_run() and the calls below it
 * instead of the ones that move above; those that look (replay_tasks, replay_regs, replay_memory,
 * replay_auxv, replay_file) work as ever. The clock counts hits of entries: "when the clock is 31"
 * is a point, just before the 32nd.
 */
enum { REPLAY_FRAMES = 10, REPLAY_WORDS = 2, REPLAY_HIT_DEREF = -2 };

struct replay_probe {
	uint64_t addr;		/* of an instruction; with returns the first of a function */
	bool returns;		/* log the number of the stack and the result of the call too */
	/*
	 * with returns: there is a REPLAY_HIT_DEREF with what *rdi is after the call before the
	 * return
	 */
	bool deref;
	/* how many of rdi, rsi, rdx to log, with returns rcx too: at least one */
	uint8_t args;
};
/* A record; the next one is replay_hit_next(). */
struct replay_hit {
	/*
	 * as replay_probe_add() returned it; -1: some call returned; REPLAY_HIT_DEREF: a is what
	 * *rdi was
	 */
	int16_t probe;
	uint16_t size;		/* of this record: b, c and d may be missing */
	uint32_t stack;		/* of an entry with returns: what replay_stack_fn said */
	uint64_t rsp;		/* of a return: that of the entry + 8 */
	uint64_t a, b, c, d;	/* rdi, rsi, rdx, rcx; of a return: rax */
};
static inline const struct replay_hit *replay_hit_next(const struct replay_hit *h)
{
	return (const struct replay_hit *)(const void *)((const char *)h + h->size);
}
/*
 * An interpreter's frames: a list in memory of which a word of each frame tells where it stands.
 * With luajit it is a stack of LuaJIT, what root leads to is its base.
 */
enum {
	REPLAY_LUAJIT_GC64 = 1,	/* two slots for a frame */
	REPLAY_LUAJIT_GC32,	/* one; the word at root has 32 bits */
};
struct replay_chain {
	uint64_t root;		/* how far above rsp the pointer to the first is; 0 = no chain */
	uint32_t limit;		/* of frames that count */
	int32_t pre;		/* that pointer leads to another, so far behind; -1: it does not */
	uint32_t luajit;	/* 0 = none */
	uint32_t next, value;	/* in a frame */
	/* only frames count of which this byte has these bits */
	uint32_t status, mask, want;
};
struct replay_key {
	/*
	 * How far above rsp the return addresses of the next frames are; the last REPLAY_WORDS may
	 * be other words that tell such stacks apart.  0: the return address at rsp.
	 */
	uint64_t off[REPLAY_FRAMES];
	struct replay_chain chain;
};
/* Registers as they were at the entry, as words in the process's memory, for keys. */
enum replay_kept {
	REPLAY_KEPT_RBX, REPLAY_KEPT_RBP, REPLAY_KEPT_R12, REPLAY_KEPT_R13, REPLAY_KEPT_R14,
	REPLAY_KEPT_R15, REPLAY_KEPT_RDI, REPLAY_KEPT_RSI,
};
uint64_t replay_kept_word(enum replay_kept n);
/*
 * A stack that was not seen before: at the first instruction of a function, with these registers.
 * Returns its number, not 0, and what tells it from others.
 */
typedef uint32_t replay_stack_fn(void *ctx, int tid, const struct regs *regs,
				 struct replay_key *key);
/*
 * Records from hit to end, all of one task (maybe in a thread of the replayer's, while nobody else
 * is at work with it).  Returns how many of them are entries.  A return may also be one of another
 * call that comes back to the same address. */
typedef uint64_t replay_hits_fn(void *ctx, int tid, const struct replay_hit *hit,
				const struct replay_hit *end);
/* The function that addr lies in; false when it is not known. */
typedef bool replay_range_fn(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end);

/* Before the first event.  pid 0: the first process.  range_ctx is what range() gets as ctx. */
struct err *replay_probes_start(struct replay *r, int pid, replay_hits_fn *hits,
				replay_stack_fn *stacks, replay_range_fn *range,
				void *range_ctx, void *ctx) __must_check;
/* At once, and whenever that memory is there again; -1 when it cannot be. Returns its number. */
int replay_probe_add(struct replay *r, const struct replay_probe *probe);
/* Stacks that were seen are asked for again: the same addresses can be other functions now. */
void replay_stacks_forget(struct replay *r);
/*
 * Functions that a compiler has inlined where a pointer to them compares equal are outlined: the
 * comparison fails, so that the program calls them by that pointer, and entries there see it.  What
 * a call leaves in registers and below the stack pointer differs from the recording, so a point
 * inside computing code may not be found any more.
 */
enum replay_outline {
	REPLAY_OUTLINE_NONE,
	/* everywhere; the replay fails where it comes to a point inside computing code */
	REPLAY_OUTLINE_ALL,
	/*
	 * in a copy of the process that runs each part between two events a second time and is
	 * thrown away; all hits are from there.  Fails where memory is shared and cannot be copied.
	 */
	REPLAY_OUTLINE_ASIDE,
	/* everywhere but on the way to points inside computing code: there calls are missed */
	REPLAY_OUTLINE_BETWEEN,
};
/* Once, after replay_probes_start(). */
void replay_probe_outline(struct replay *r, enum replay_outline how);
/*
 * At addr is `cmp reg, imm32' or `lea reg, [rip + n]; cmp reg, reg', which compares with the
 * address fn; of at most REPLAY_OUTLINED different functions.
 */
enum { REPLAY_OUTLINED = 4 };
void replay_probe_compare(struct replay *r, uint64_t addr, uint64_t fn);
/* Has a run failed because it cannot be done in this way? */
bool replay_probe_outline_fails(const struct replay *r);
/* REPLAY_OUTLINE_BETWEEN: so many points inside computing code were come to. */
uint64_t replay_probe_points(const struct replay *r);
/* REPLAY_OUTLINE_ASIDE: so many calls are missing, of copies that went another way. */
uint64_t replay_probe_missed(const struct replay *r);
void replay_probes_drop(struct replay *r);	/* all of them, and what is known of returns */
/* From now on only count, and log nothing. */
void replay_probes_quiet(struct replay *r);

enum replay_probe_stop {
	REPLAY_PROBE_CLOCK = 1,	/* the entry with that number is next */
	REPLAY_PROBE_EVENT,	/* that event is done */
	REPLAY_PROBE_MAPS,	/* program text was mapped or unmapped; an exec */
	REPLAY_PROBE_END,	/* the process's last event is next */
};
/* To whichever comes first; UINT64_MAX = never. */
struct err *replay_probe_run(struct replay *r, uint64_t clock, uint64_t event,
			     enum replay_probe_stop *ret) __must_check;
uint64_t replay_clock(const struct replay *r);
/* For replay_hits_fn: the last event that was done before these hits. */
uint64_t replay_hits_event(const struct replay *r);
int replay_probe_pid(const struct replay *r);
/*
 * From now on it is another process that is probed, one that the other forked: the same probes, the
 * same memory.
 */
void replay_probe_follow(struct replay *r, int pid);
/* Events of this process that are done, for a look at each while running; may be NULL. */
typedef void replay_event_fn(void *ctx, const struct trace_event *ev, int tid);
void replay_probe_events(struct replay *r, replay_event_fn *fn);
/* A mapping is about to go, or to be another one; all hits before that have been told. */
typedef void replay_mapping_fn(void *ctx, int tid, uint64_t addr, uint64_t len);
void replay_probe_mappings(struct replay *r, replay_mapping_fn *fn);

/* Points to come back to: copies of all processes. */
struct replay_bookmark;
struct err *replay_bookmark_take(struct replay *r, struct replay_bookmark **ret) __must_check;
struct err *replay_bookmark_restore(struct replay *r, struct replay_bookmark *m) __must_check;
void replay_bookmark_drop(struct replay *r, struct replay_bookmark *m);

/*
 * With no probe in memory: to the next breakpoint or changed watchpoint of the set, or one
 * instruction, or over one event.
 */
enum replay_fine_stop {
	/* at a breakpoint, behind the instruction that changed a watched place, or one step on */
	REPLAY_FINE_MOVED = 1,
	REPLAY_FINE_EVENT,	/* an event was applied */
	REPLAY_FINE_END,
};
struct replay_fine {
	enum replay_fine_stop kind;
	int tid;		/* whose instruction or event it was; 0 when it is gone */
	int nr;			/* EVENT: the system call, or -1 */
	bool exit;		/* EVENT: the end of that task */
	bool watch;		/* a watchpoint changed */
	uint64_t pc;		/* MOVED: where the task was before */
};
struct err *replay_fine(struct replay *r, const struct replay_break *b, unsigned n, bool step,
			struct replay_fine *ret) __must_check;
/*
 * Many stores to what is watched: from now on (log NULL: no more) replay_fine() need not stop for a
 * store by an instruction that may() says yes to.  store() then is called for each, in order,
 * before replay_fine() returns, also where it changes nothing; value is what all of the memory has
 * behind it.  No probe may be used any more.
 */
struct replay_store_log {
	int pid;
	uint64_t addr, size;		/* at most 32 bytes */
	/* pc: the instruction's last byte */
	bool (*may)(void *ctx, uint64_t pc);
	void (*store)(void *ctx, int tid, uint64_t pc, const void *value);
	void *ctx;
};
void replay_log_stores(struct replay *r, const struct replay_store_log *log);
/* Sets the clock: the caller of replay_fine() says what that does to the clock. */
void replay_clock_set(struct replay *r, uint64_t clock);
/* The task that runs next, 0 at the end. */
int replay_next_task(struct replay *r);

/* ---- samples -----------------------------------------------------------------------------
 *
 * For profiles: with replay_event() alone, and before the first event.  The calls that look
 * (replay_tasks, replay_regs, replay_memory, replay_auxv, replay_file) may be used, too.
 */
struct replay_sample {
	int tid, pid;
	uint64_t event;		/* that was done last */
	uint64_t n;		/* number of the sample, from 0 */
	uint64_t user_ns;	/* processor time that those who count had used by then */
	unsigned weight;	/* so many points of time fell here; 0: it was undone */
	uint64_t maps;		/* differs when mappings of the process have changed since */
	struct regs regs;	/* the program's */
};
typedef void replay_sample_fn(void *ctx, const struct replay_sample *s);
/* Replay has gone back, and takes another way: forget the samples from number n on. */
typedef void replay_undo_fn(void *ctx, uint64_t n);
struct replay_sampler {
	int pid;			/* whose time counts; 0 = everybody's */
	uint64_t from;			/* it counts after this event */
	uint64_t period_ns;		/* a sample in each such piece of processor time */
	unsigned pass, passes;		/* in the pass-th part of it, from 0 */
	replay_sample_fn *sample;	/* the task is stopped, and must not be moved */
	replay_undo_fn *undo;
	void *ctx;
};
struct err *replay_sampler_start(struct replay *r, const struct replay_sampler *s) __must_check;
/* Processor time of those who count, so far. */
uint64_t replay_sampler_used_ns(const struct replay *r);
/* Returns the event of replay_event(), valid until the next move.  NULL: there was none yet. */
const struct trace_event *replay_last_event(const struct replay *r);
/* Whose it was; 0: that task is gone. */
int replay_last_tid(const struct replay *r);
/*
 * Probes out of memory, or in again (replay_fine() takes them out, replay_probe_run() puts them
 * in).
 */

#endif
