/*
 * stops.h - breakpoints, conditions and watchpoints: where a run of a task stops.
 */
#ifndef REPLAYER_STOPS_STOPS_H
#define REPLAYER_STOPS_STOPS_H

#include "replayer/code/code.h"
#include "replayer/machine/machine.h"
#include "replayer/stops/store_bitmap.h"

enum {
	WATCHES_MAX = 1024,
	DEBUG_REGISTERS = 4,
	RP_SAMPLES = 8,
	RP_AREAS = 4,
	RP_KNOWN = 32,
	COUNTING_SITES = 20
};

#define RP_NO_LIMIT (1ull << 62)

struct rp_int3 {
	uint64_t addr;
	/* where it is: in a stub of tracee/patch.h for a place inside replaced bytes */
	uint64_t at;
	uint8_t byte;		/* what was there */
	int shared;		/* in shared memory: PROT_*; else 0 */
	uint64_t other;		/* ... which is there, too; or 0 */
};

/* A set of breakpoints and watchpoints.  Sets are kept for good: positions name them by number. */
struct rp_set {
	struct replay_break *b;
	unsigned n;
	unsigned watches, registers;	/* of these: data watchpoints; debug registers used */
	/* of these: decided inside the process; of those: REPLAY_COUNT */
	unsigned inprocess, counts;
	/* too many for the registers: the rest by protected pages */
	bool soft;
	uint64_t dr[WATCHES_MAX / 64];	/* watchpoints that have registers, by index */
};

struct rp_cond { uint8_t *bytes; unsigned len; };

/*
 * How often a watchpoint's debug register has triggered for nothing, and otherwise; out: it gets
 * none, and had so many stops since.
 */
struct rp_silent { struct replay_break b; unsigned n, hits, since; bool out; };

/* Places that a chain counts, and how often from now on each may be executed (0 = any number). */
struct counted_sites {
	unsigned n;
	struct replay_break b[COUNTING_SITES];
	uint64_t limit[COUNTING_SITES], count[COUNTING_SITES];
	/* in the last advance: the greatest was executed last (of those in one area of stubs) */
	uint64_t last[COUNTING_SITES];
};

/* How a move ends that the user interrupts. */
enum on_interrupt {
	INTERRUPT_ENDS,		/* it ends there */
	INTERRUPT_WAITS,	/* it is finished first */
	INTERRUPT_GIVES_UP	/* it is given up: the next advance fails with rp_stopped */
};

/*
 * The purpose of a run of a task.  Whoever begins a run says all of it, with stops_run_begin(); the
 * functions that the machine calls during the run (struct run_ops) find it in stops.run.
 */
struct stops_run {
	unsigned set;		/* stop for these */
	bool step;		/* one instruction */
	bool no_stubs;		/* breakpoints are int3s only, and no store is made elsewhere */
	bool counting;		/* breakpoints do not stop it, they are counted */
	bool ticks;		/* a tick (rp_timer()) ends it */
	bool counted;		/* the instruction that it begins at has been counted */
	bool seen;		/* the breakpoint that it begins at, if any, has been looked at */
	enum on_interrupt on_interrupt;
	/* sites that have counters of their own, or NULL; one more (iterations.c), or 0 */
	struct counted_sites *sites;
	uint64_t iteration_site;
};

enum { TOOL_STOPS = 2 };		/* its number: see machine/tool.h */
/* This room's data for a replay are in replay.tool[TOOL_STOPS]. */
struct stops {
	struct rp_set **sets;		/* they stay where they are */
	unsigned sets_n;
	struct rp_cond *conds;
	unsigned conds_n;
	struct stops_run run;		/* the run that is going on, or was the last */
	bool at_limit;			/* a stub trapped */
	/* on to the end of the hook (syscallbuf/): a stop there is none for the program */
	bool leaving;
	bool left_trap;
	uint64_t page_watch_hit;		/* address of an access to a protected page */
	uint64_t page_watch_size;		/* 0: none */
	unsigned dr_gen, dr_set;
	struct rp_silent *silent;
	unsigned silent_n;
	bool reallocate;			/* debug_registers_reallocate() is due */
	uint64_t dr_hit;		/* debug registers that triggered, bits */
	bool trapped;
	uint64_t stepped_from;
	/* an interrupt has come before the signal of a step that was made from there */
	bool overtaken;
	uint64_t samples[RP_SAMPLES];	/* where the timer found the task */
	unsigned samples_n;
	/* while stores to its pages are noted, in a worker of reverse/write_log.c */
	struct store_bitmap *bitmap;
	struct store_log *log;		/* store_log.h; NULL = none */
	/* where the task is to be resumed, as stops_run.counted and .seen */
	struct { bool counted, seen; } from;
	/* the task has been run since somebody has last cleared this */
	bool ran;
	/* the last run ended by an interrupt, maybe at a breakpoint that nobody has looked at */
	bool unvisited;
	/* the live processes are a copy to be thrown away: session/diversion.c */
	bool diverted;
};

/* This room's data for an address space are in rp_mm.tool[TOOL_STOPS]. */
struct stops_mm {
	struct rp_int3 *int3;	/* breakpoints that are in its memory now: breakpoints.c */
	unsigned int3_n, int3_gen;
	pid_t int3_pid;
	/* stubs of breakpoints that are decided in the process: inprocess.c */
	/* fs_base: inprocess_thread() */
	struct rp_area { uint64_t at, fs_base; unsigned used, slots; } areas[RP_AREAS];
	struct inprocess *inprocess;
	struct rp_carried *carried;
	unsigned inprocess_n, inprocess_gen, inprocess_in;
	uint64_t solid_start, solid_end;
	bool solid_changes;	/* the program may write to it, or move it */
	/* pages protected for watchpoints: page_watch.c */
	struct page_watch *page_watch;
	unsigned page_watch_n, page_watch_gen;
	/* where nobody can write code: written_code.c */
	struct rp_range { uint64_t start, end; } known[RP_KNOWN];
	unsigned known_next;
	/* pages whose code is being written: written_code.c */
	uint64_t open[RP_KNOWN];
	unsigned open_n;
	/* and dual-mapped: dual.c */
	struct dual *dual;
	uint64_t dual_area[RP_AREAS];
	/*
	 * dual_unchecked.c: how far off the other mappings of these pages are, 0: not chosen; from
	 * there to the bitmap; stale: something has been mapped since it was chosen
	 */
	struct dual_unchecked {
		int64_t shift;
		unsigned bitmap_at, pages_n;
		bool refused, stale;
		uint64_t page[STORE_BITMAP_PAGES];
	} unchecked;
};

static inline struct stops *stops_of(const struct replay *r)
{
	return (struct stops *)r->tool[TOOL_STOPS];
}

/* May another tool replace the program's code, too?  (Not while stores are logged.) */
static inline bool rp_others_watch(const struct replay *r)
{
	return !stops_of(r)->log && rp_tools_watch(r, TOOL_STOPS);
}

/* Made when it is first asked for. */
struct stops_mm *stops_mm(const struct rp_mm *mm);

/* tool.c: the room becomes a tool of the machine's (tool.h) for this replay. */
struct err *rp_stops_open(struct replay *r) __must_check;

/* debug_registers.c */
/* How many debug registers there are to use. */
unsigned rp_registers(void);
/* Returns how many bytes at addr, not beyond end, one register can watch: 1, 2, 4 or 8. */
unsigned rp_register_bytes(uint64_t addr, uint64_t end);
void debug_registers_allocate(const struct stops *stops, struct rp_set *s);
/* Does the i-th use debug registers?  And which in that process, as bits? */
bool rp_set_register(const struct rp_set *s, unsigned i);
uint64_t rp_registers_of(const struct rp_set *s, unsigned which, int pid);
/*
 * Debug registers have triggered in that process, and nothing has changed.  True: that often that
 * debug_registers_reallocate() is due.
 */
bool debug_registers_silent(struct stops *stops, const struct rp_set *s, int pid);
/* A run has ended at these watchpoints of the set, by index. */
void debug_registers_hit(struct stops *stops, const struct rp_set *s,
			 const uint64_t hit[WATCHES_MAX / 64]);
/* If it is due.  Tasks stopped. */
void debug_registers_reallocate(struct replay *r);

/* breakpoints.c */
unsigned rp_set_intern(struct replay *r, const struct replay_break *b, unsigned n);
unsigned rp_set_union(struct replay *r, unsigned a, unsigned b);
struct err *rp_debug_before(struct replay *r, struct rp_task *t, int *request);
/* After each single step. */
void rp_hide_trace_flag(struct rp_task *t, uint64_t from);
/* A SIGTRAP of ours? */
bool rp_debug_trap(struct replay *r, struct rp_task *t, siginfo_t *info);
bool rp_debug_register_set(pid_t real, unsigned n, uint64_t value);
/* Debug registers that have hit since they were last asked for. */
uint64_t rp_debug_hits(struct rp_task *t);
/* A step that nobody asked for, out of a stub: has a register hit?  Then the run ends behind it. */
void rp_debug_stepped(struct replay *r, struct rp_task *t);
/* The task stopped for us, inside the hook: on until it is out of it.  False: it is not there. */
bool rp_debug_leave(struct replay *r, struct rp_task *t, bool trapped);
/* The task has come out of a debug register's stop in another way. */
void rp_debug_left(struct replay *r, struct rp_task *t);
/* The rest of the hook was done for it: is that where a step or a stop ends? */
bool rp_debug_left_by_us(struct replay *r, struct rp_task *t);
/* A stop that is no signal's: must the run end here? */
struct err *rp_debug_pause(struct replay *r, struct rp_task *t, bool *end);
/* Has an interrupt, or a tick, come that ends the run that is going on? */
bool rp_run_interrupted(const struct stops *stops);
/* Does the run that is going on step, or have breakpoints? */
bool rp_debug_wants_stops(struct replay *r);
/* No trace of debugging in the task and its memory. */
void rp_debug_clear(struct replay *r, struct rp_task *t);
/*
 * Is a breakpoint in [start, end), or a data watchpoint anywhere: so that search.c's jump cannot be
 * used?
 */
bool rp_debug_in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start,
			 uint64_t end);
/* A run begins that is for this; how the last one ended is forgotten. */
void stops_run_begin(struct stops *stops, const struct stops_run *run);
/*
 * A run begins that is for this, and also to stop at addr.  It is over, and the present run is
 * `asked' again: was addr all it stopped for?
 */
void rp_debug_also(struct replay *r, struct rp_task *t, const struct stops_run *asked,
		   uint64_t addr);
bool rp_debug_also_done(struct replay *r, struct rp_task *t, const struct stops_run *asked);
/* interrupt.c */
/* A task is about to run, or (0) has stopped. */
void rp_interrupt_run(pid_t pid);
/* The timer has interrupted the task for a sample: once for each. */
bool rp_sample_due(void);
/* The next tick is a whole one: work of ours may have taken longer than a tick. */
void rp_tick_anew(void);
/* The timer looks for a debugger's interrupt; a tick also ends the run; or it takes samples. */
enum rp_timing { RP_TIME_USER, RP_TIME_TICK, RP_TIME_SAMPLES };
void rp_timer(enum rp_timing what);
/* Every so many microseconds, until rp_timer(). */
void rp_timer_samples(struct replay *r, long us);
void rp_timer_off(void);
/* In a fork, which has no timer yet, and nobody to interrupt it. */
void rp_timer_forked(void);
/* Has the user interrupted, so that such a move is to end? */
bool rp_user_interrupt(enum on_interrupt how);
/* ... and long ago: it ends at the last point that has a name. */
bool rp_user_interrupt_overdue(enum on_interrupt how);
/* A long way back is looking at this event: see replay_progress_to(). */
void rp_progress(uint64_t event);
/* The ticks so far do not count. */
void rp_ticks_forget(void);
/* Behind an int3 of ours? */
bool rp_int3_hit(const struct rp_task *t);
/* Breakpoints out of all memory / of one address space. */
void rp_int3_out(struct replay *r);
void rp_int3_out_mm(struct rp_mm *mm, pid_t real);
/* Makes bytes, read at addr, what they are without breakpoints. */
void rp_int3_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);
/* A data watchpoint? */
static inline bool rp_is_watch(const struct replay_break *b)
{
	return b->kind >= REPLAY_WRITE;
}
/* Is this breakpoint an int3 in the code of that process? */
bool rp_is_int3(const struct replay_break *b, pid_t pid);
/* Is one at pc, whatever its condition?  And does it stop the task where it is now? */
bool rp_set_has(const struct rp_set *s, pid_t pid, uint64_t pc);
/* The patch whose system call instruction is at addr. */
const struct patch *rp_patch_of_call(const struct rp_mm *mm, uint64_t addr);
bool rp_set_breaks(const struct replay *r, const struct rp_set *s, const struct rp_task *t);

/* condition.c */
bool rp_cond_true(const struct rp_cond *c, pid_t tid, const struct regs *regs);
/*
 * Code that leaves a number in rax, or jumps: hit[] = where the displacements of those jumps end,
 * then 0.  reg: where registers have been saved.  0: cannot be compiled. */
unsigned rp_cond_compile(const struct rp_cond *cond, uint8_t *out, unsigned room, uint64_t at,
			 const uint64_t reg[REGS_WORDS], unsigned hit[33]);

/* inprocess_code.c */
/*
 * Code that nobody is going to write to or move?  Then solid_start and solid_end are its mapping.
 */
bool inprocess_solid(struct rp_task *t, uint64_t addr);
/* Can a jump be put there?  Over so many bytes. */
bool inprocess_possible(struct rp_task *t, uint64_t addr, unsigned *len_ret);
/*
 * The instruction at addr, where the replayer wants to count, for replay_break.code: 0 where code
 * does not change, or no jump can be put.
 */
uint64_t inprocess_code_word(struct rp_task *t, uint64_t addr);
/* Is the instruction there that is meant? */
bool inprocess_is_there(const struct rp_task *t, const struct replay_break *b);
/* inprocess.c */
struct tracee_maps;
bool inprocess_reaches(uint64_t area, uint64_t addr);
/*
 * A free place for len bytes that a jump from addr reaches, as far as can be from what the program
 * has mapped; 0: there is none.
 */
uint64_t inprocess_room(const struct tracee_maps *maps, uint64_t addr, uint64_t len);
/* The stubs that such a run needs. */
struct err *inprocess_build(struct replay *r, struct rp_task *t, const struct stops_run *run);
void inprocess_forget(struct rp_mm *mm);
bool inprocess_has(const struct rp_mm *mm, const struct replay_break *b);
/* Is a jump there, whose stub counts or compares when the task goes on? */
bool inprocess_decides(const struct rp_mm *mm, const struct replay_break *b);
bool inprocess_in(struct rp_mm *mm, pid_t real, const struct replay_break *b);
void inprocess_out(struct rp_mm *mm, pid_t real);
void inprocess_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);
/* The program's bytes where jumps are, or (back) the jumps again. */
void inprocess_remove(struct rp_mm *mm, pid_t real, bool back);
/* first: also where the first instruction of a place is the next one, so that it is not counted. */
void inprocess_enter(struct rp_task *t, bool counted, bool seen);
/* Which thread it is that runs: for conditions. */
struct err *inprocess_thread(struct rp_task *t);
void inprocess_leave(struct rp_task *t);
/* A task that no signal has stopped may stay in the stub, see inprocess_inside(). */
void inprocess_interrupted(struct rp_task *t);
bool inprocess_trap(struct rp_task *t, bool *counted);
bool inprocess_fault(struct rp_task *t);
/* In a stub, and nowhere that the program knows? */
bool inprocess_inside(const struct rp_task *t);
struct err *inprocess_step_out(struct replay *r, struct rp_task *t, bool *hit);
bool inprocess_overlaps(const struct rp_mm *mm, uint64_t start, uint64_t end);
struct err *inprocess_limit(struct rp_task *t, const struct replay_break *b, uint64_t limit);
struct err *inprocess_limit_all(struct rp_task *t, uint64_t limit);
uint64_t inprocess_counted_all(const struct rp_task *t, uint64_t limit);
uint64_t inprocess_counted(const struct rp_task *t, const struct replay_break *b, uint64_t limit,
			   uint64_t *last);
bool inprocess_area(const struct rp_mm *mm, uint64_t addr);
/* Returns where the program has the instruction that a stub has at rip; 0: there is none. */
uint64_t inprocess_original(const struct rp_mm *mm, uint64_t rip);
/*
 * Does an instruction begin there that a stub has in it?  (Stubs are made anew, at the same
 * addresses.)
 */
bool inprocess_moved(const struct rp_mm *mm, uint64_t addr);
/* Something is about to be mapped where our areas are. */
struct err *inprocess_make_room(struct rp_task *t, uint64_t at, uint64_t len);
/* tool.c: an effect is about to change mappings. */
struct err *rp_stops_effect(struct rp_task *t, const struct trace_effect *e) __must_check;

/* page_watch.c */
struct err *rp_page_protect(pid_t real, uint64_t page, int prot) __must_check;
struct err *page_watch_in(struct replay *r, struct rp_task *t, const struct rp_set *s,
			  unsigned gen);
/* Is anything of that kind needed for the run that begins? */
bool page_watch_wanted(const struct replay *r, const struct rp_task *t, const struct rp_set *s);
void page_watch_out(struct rp_mm *mm, pid_t real);
/* Was the last such access to no watched place? */
bool page_watch_misses(const struct replay *r, const struct rp_set *s);
/* At a breakpoint that no stub is going to look at? */
bool page_watch_at_break(const struct replay *r, const struct rp_set *s, const struct rp_task *t);
/* Has the access that faulted touched any of addr to addr + len? */
bool page_watch_hits(const struct stops *stops, uint64_t addr, uint64_t len);
/* May the run go on, since nothing else is to stop for? */
bool page_watch_passes(struct replay *r, struct rp_task *t);
/* The i-th page protected for a watchpoint alone, and how; false: there are fewer. */
bool page_watch_page(const struct rp_mm *mm, unsigned i, uint64_t *page, int *prot);
/* Something that only concerns other memory happens to the program's mappings? */
void page_watch_make_room(struct replay *r, struct rp_task *t, const struct trace_effect *e);
/* A debug register has hit.  In the middle of a string instruction?  On to its end. */
struct err *page_watch_finish_string(struct replay *r, struct rp_task *t) __must_check;
/* Does the program begin to write code where breakpoints are, or to execute it?  Then run on. */
bool page_watch_opens(struct replay *r, struct rp_task *t, const siginfo_t *info);
/* An access to a protected page?  Then it has been done. */
bool page_watch_fault(struct replay *r, struct rp_task *t, siginfo_t *info);


/* written_code.c */
/*
 * May some of the set's breakpoints be where the program can write?  Else it is known that none
 * are.
 */
bool rp_written_any(const struct rp_mm *mm, const struct rp_set *s, pid_t pid);
/* add() is called for their pages, which are to be watched. */
void rp_written_pages(struct rp_mm *mm, const struct tracee_maps *maps, const struct rp_set *s,
		      pid_t pid,
		      void (*add)(struct rp_mm *mm, const struct tracee_maps *maps, uint64_t page));
/*
 * Returns the protection of shared memory that only rp_written_poke() can write to, and another of
 * its addresses; else 0.
 */
int rp_written_shared(const struct tracee_maps *maps, uint64_t addr, uint64_t *other);
bool rp_written_poke(pid_t real, uint64_t addr, uint8_t byte, int prot);
/*
 * The page is being written to, and nothing of ours is in it until it is executed (false: too many
 * are); or that is over.
 */
bool rp_written_open(struct rp_mm *mm, uint64_t page);
void rp_written_close(struct rp_mm *mm, uint64_t addr);
/* True: some were open.  The caller takes code and protection out, to be put in anew. */
bool rp_written_close_all(struct rp_mm *mm);
bool rp_written_is_open(const struct rp_mm *mm, uint64_t addr);
/* Mappings change. */
void rp_written_forget(struct rp_mm *mm, uint64_t addr, uint64_t len);
/* ... while the task runs: where breakpoints of the set are? */
void rp_written_mapped(struct replay *r, struct rp_task *t, const struct trace_effect *e);

/* dual.c */
/* A store to a protected page that a stub is going to do?  Then run on. */
bool dual_fault(struct replay *r, struct rp_task *t, const siginfo_t *info);
/* How many of them there have been, ever. */
uint64_t dual_faults(void);
void dual_out(struct rp_mm *mm, pid_t real);
void dual_free(struct rp_mm *mm);
bool dual_area(const struct rp_mm *mm, uint64_t addr);
/* A mapping in [at, at + len) changes. */
void dual_forget(struct rp_task *t, uint64_t at, uint64_t len);
/* For a copy of the process. */
void dual_copy(struct rp_mm *copy, const struct rp_mm *mm);
struct err *dual_make_room(struct rp_task *t, uint64_t at, uint64_t len);
/* After each stop and before each run: as inprocess_leave(), inprocess_enter(). */
void dual_leave(struct rp_task *t);
void dual_enter(struct rp_task *t);
/* In a stub, and nowhere that the program knows? */
bool dual_inside(const struct rp_task *t);
struct err *dual_step_out(struct replay *r, struct rp_task *t);
/*
 * Is it on a page that is dual-mapped at the moment?  *off: how far off the other mapping is, which
 * can be stored to.
 */
bool dual_other(const struct rp_mm *mm, uint64_t addr, uint64_t *off);
/* Before the first write log; in each. */
void dual_share(void);
void dual_learn_shared(void);
/* Does a jump belong there, for a store that is made all the time? */
bool dual_dense(uint64_t start, uint64_t end);
bool dual_jumps(const struct rp_mm *mm);
/* Adds the stores that stubs have noted since the process began (stops.bitmap) to *m. */
struct err *dual_bitmap(struct rp_task *t, struct store_bitmap *m) __must_check;
/* Room for some bytes of code that nobody else uses: half a page.  0: none. */
uint64_t dual_scratch(const struct rp_mm *mm);
/* Code that was read: without our jumps. */
void dual_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);
/* The program's bytes around rip, or (back) what was there instead. */
void dual_remove(struct rp_task *t, uint64_t rip, bool back);
/* To the program's memory, while pages are protected. */
struct err *page_watch_write(struct rp_task *t, uint64_t addr, const void *bytes, size_t len);

/* string.c */
/*
 * Bytes of the repeated string instruction that the task is at, 0: there is none.  *size: bytes
 * that each iteration moves; *fixed: it does not compare, and only ends when rcx is 0.
 */
unsigned rp_string_at(const struct rp_task *t, unsigned *size, bool *fixed);
/*
 * Debug registers have hit (0: no one knows which), and the task stands at a string instruction:
 * has that touched what they watch?
 */
bool rp_string_hit(const struct rp_set *s, struct rp_task *t, uint64_t hits);
/* Is there room for a trap behind it, or behind a copy of it? */
bool rp_string_runs(struct rp_task *t);
/*
 * Runs so many iterations of a string instruction (len bytes) at once, where there is room;
 * registers are then as they would be.
 */
struct err *rp_string_run(struct rp_task *t, unsigned len, uint64_t iterations,
			  int *status) __must_check;
/*
 * On to its end: what it stores to a watched place is a stop behind it.  (A debug register reports
 * it some iterations late, how many depends on where it began and was interrupted: Intel's string
 * stores go in groups of 64 bytes.) place: where the program has it.  More of stops.dr_hit may be
 * set.
 */
struct err *rp_string_finish(struct replay *r, struct rp_task *t, uint64_t place) __must_check;

/* loader.c */
/*
 * Is at addr a place of the dynamic loader for debuggers, where t only comes when libraries come or
 * go?
 */
bool rp_solib_place(const struct rp_task *t, uint64_t addr);

#endif
