/*
 * debug.h - lint: fragment of internal.h: what debugging adds to a replay.
 *
 * Layers, lowest first:
 *   condition.c   conditions of breakpoints
 *   inprocess.c       breakpoints that are decided inside the process: counted, or with a condition
 *   page_watch.c       watchpoints by protected pages
 *   written_code.c     ... and breakpoints where the program writes code
 *   dual.c       ... that are written to all the time
 *   page.c        writes them by the page
 *   breakpoints.c      puts breakpoints and watchpoints into processes while they run, and only then
 *   iterations.c       to a point in computing code that search.c cannot look for, because breakpoints are there
 *   advance.c         the smallest move there is: to the next stop of a set, or one instruction, or one event
 *   checkpoint.c  copies of all processes
 *   string.c      over a repeated string instruction
 *   position.c    positions and how to get to one again
 *   workers.c    ... looking for the last stop on several processors
 *   scan.c        backwards
 *   intervals.c   ... between which checkpoints
 *   scanned.c       ... and where it need not be looked for again
 *   write_log.c      ... nor because of what is known of the program's stores
 *   debugger_memory.c        memory that debuggers ask for
 *   point.c       positions that debuggers keep, and as text
 *   range.c       the ways out of a line's code
 *   catch.c       stops that are no breakpoints: system calls, forks, execs, signals, ends
 *   shown.c       which processes are reported
 *   end.c         where the recording ends for a debugger
 *   inspect.c, look.c  what debuggers ask of a stopped replay
 */
#ifndef REPLAYER_DEBUG_H
#define REPLAYER_DEBUG_H

#include "replayer/store_bitmap.h"

#include <signal.h>

enum { WATCHES_MAX = 1024, DEBUG_REGISTERS = 4, RP_SAMPLES = 8, RP_RENAMED = 16, RP_EMPTY = 32 };

#define RP_NO_LIMIT (1ull << 62)

struct rp_int3 {
	uint64_t addr;
	uint64_t at;		/* where it is: in a stub of tracee/patch.h for a place inside replaced bytes */
	uint8_t byte;		/* what was there */
	int shared;		/* in shared memory: PROT_*; else 0 */
	uint64_t other;		/* ... which is there, too; or 0 */
};

/* A set of breakpoints and watchpoints.  Sets are kept for good: positions name them by number. */
struct rp_set {
	struct replay_break *b;
	unsigned n;
	unsigned watches, registers;	/* of these: data watchpoints; debug registers used */
	unsigned gates, counts;	/* of these: decided inside the process; of those: REPLAY_COUNT */
	bool soft;			/* too many for the registers: the rest by protected pages */
	uint64_t dr[WATCHES_MAX / 64];	/* watchpoints that have registers, by index */
};

/* Memory of a debugger's in copies of the program: debugger_memory.c. */
struct rp_lent { int pid, prot; uint64_t addr, len; uint8_t *bytes; };

struct rp_cond { uint8_t *bytes; unsigned len; };

/*
 * A name for a point in time that needs no counter: between two events a task is deterministic, so
 * "the third time it stops for set 5, then 2 single steps" is one point.
 */
struct rp_leg {
	unsigned set;		/* 0 = the empty one: single steps */
	uint64_t n;
};

struct rp_pos {
	uint64_t where;		/* events done */
	bool pending;		/* the task is at the next event; legs is empty */
	unsigned legs_n, legs_room;
	struct rp_leg *legs;
};

enum rp_hop_kind {
	HOP_MOVED,		/* the task of the next event moved, and not to that event */
	HOP_PENDING,		/* it is there now, nothing applied */
	HOP_EVENT,		/* applied */
	HOP_INTERRUPTED,	/* somewhere: has no name */
	HOP_END,
};

struct rp_hop {
	enum rp_hop_kind kind;
	struct rp_task *t;	/* NULL when it is gone */
	bool stepped;		/* MOVED by exactly one instruction */
	bool arrived;		/* t is at another instruction than before */
	bool late;		/* ... not, and there will be a stop behind this one, for what it has stored: rp_debug.late */
	bool at_limit;		/* stopped by rp_debug.limit */
	bool quiet;
	uint64_t fast;		/* executions counted inside the process, that one included */
	int chained;		/* MOVED: at this one of rp_debug.chain, -1 = none */
	enum trace_event_kind event;
	uint64_t hit[WATCHES_MAX / 64];	/* watchpoints of the set, by index, that were triggered */
	unsigned set;
};

/* How the present is shown: see catch.c. */
enum rp_view_kind { RP_VIEW_PLAIN, RP_VIEW_ENTRY, RP_VIEW_RETURN };
struct rp_view { enum rp_view_kind kind; bool buffered; uint32_t serial; uint64_t nr; };
struct rp_caught { int pid; bool all; unsigned cond; uint64_t nr[REPLAY_CALLS / 64]; };
struct rp_call_site { int pid, nr; uint64_t addr; };	/* nr: -1 where not known */
/* Nothing of the process before its birth; not shown from `end' on. */
struct rp_shown { int pid; uint64_t birth, end; };
/* Where a backward move began. */
struct rp_start { uint32_t serial; uint64_t where; struct regs regs; };
/* What an event that is about to be applied is, for afterwards. */
struct rp_before { uint32_t newest, serial; int pid, tid, status; bool shown, exec, vfork, told_end; uint64_t nr; };

/*
 * The last step back of a task that began where this had not moved to just then (others had run since, or it was in a call): a step
 * forward from where it led does not end there by itself.  Since then there have been `more' such steps.
 */
struct rp_back_step { bool set, in_call; uint32_t serial; uint64_t more; struct rp_pos from; };

/* By processes: page faults and time; and how many pages they have. */
struct rp_spent { uint64_t faults, ns, pages; };

struct rp_checkpoint {
	struct rp_checkpoint *older;
	struct rp_pos pos;
	struct rp_task *tasks;		/* real is 0 for all but one of each address space */
	struct rp_xstate *xstate;	/* of the others */
	uint32_t last_task;
	int *fds;			/* copies of the shared objects, -1 for none */
	uint32_t fds_n;
	uint32_t root;
	int root_status;
	bool root_done;
	bool keep;			/* the first, and the user's own: never thinned out */
	uint64_t clock_ns;
};

/* iterations.c: how often an instruction is executed until shortly before the point that event n describes. */
struct rp_turns_kept { struct rp_pos pos; uint64_t at, left; };
struct rp_turns {
	uint64_t event, failed;		/* n; of an event where nothing could be counted */
	uint64_t slow_event;		/* n; that without counting has come by the point so often (passes), whatever else it stopped for */
	unsigned passes;
	bool known;			/* at and left are right where the task is now */
	bool on;			/* the run that is going on counts it */
	bool wanted;			/* the run ended because it should be known */
	unsigned set;			/* without it */
	uint64_t checked;		/* leaves room to that set */
	uint64_t at, left;		/* so many executions from now on, the last one included; 0: that has been */
	struct rp_turns_kept *kept;
	unsigned kept_n, kept_next;
};

/* How often a watchpoint's debug register has triggered for nothing, and otherwise; out: it gets none, and had so many stops since. */
struct rp_silent { struct replay_break b; unsigned n, hits, since; bool out; };

struct rp_debug {
	struct rp_ahead { bool next, on, over; int fd; } ahead;	/* rp_go_ahead() */
	struct rp_set **sets;		/* they stay where they are */
	unsigned sets_n;
	unsigned user;			/* what the debugger has set, and breakpoints for the calls it catches */
	unsigned own;			/* without these */
	struct replay_catch catching;
	struct rp_caught caught[64];
	unsigned caught_n;
	struct rp_call_site *sites;	/* sorted: patched calls of processes whose calls are caught */
	unsigned sites_n;
	bool catch_all_anew;		/* user has to be made again */
	struct rp_view view;
	struct rp_cond *conds;
	unsigned conds_n;
	/* being used by the run that is going on */
	unsigned now;
	bool step;
	bool slow;			/* no stubs */
	bool quiet;			/* hops do not stop at breakpoints but count them; see limit */
	struct rp_pos last_hit;		/* of a quiet rp_chain_hop() that counted any: the last */
	bool hit_before;
	bool at_limit;			/* a stub trapped */
	bool leaving;			/* on to the end of the hook (syscallbuf/): a stop there is none for the program */
	bool left_trap;
	uint64_t limit;			/* for the next hop: stop at so many executions of what is counted; 0 = never */
	uint64_t guard_hit;		/* address of an access to a protected page */
	uint64_t guard_size;		/* 0: none */
	unsigned now_asked;		/* what rp_debug_also() added to */
	bool step_asked;
	unsigned dr_gen, dr_set;
	struct rp_silent *silent;
	unsigned silent_n;
	bool deal;			/* rp_deal_anew() is due */
	uint64_t dr_hit;		/* debug registers that triggered, bits */
	bool trapped;
	uint64_t stepped_from;
	bool overtaken;			/* an interrupt has come before the signal of a step that was made from there */
	struct rp_hop last;
	uint64_t last_pc;
	struct rp_pos pos;
	bool nameless;			/* pos is a point before the present one */
	bool diverted;			/* the live processes are a copy to be thrown away: diversion.c */
	struct rp_pos divert_pos;
	struct regs divert_regs;
	int divert_tid;
	bool divert_told;
	struct regs divert_fault;	/* of the copy's last fault */
	struct rp_lent *lent;
	unsigned lent_n, lent_next;
	uint64_t first;			/* nothing before this event is shown */
	struct rp_checkpoint *newest;
	uint64_t memory_floor;		/* less than this available: checkpoints give way; 0: not yet known */
	unsigned checkpoints;
	uint64_t last_ns;		/* when clock_ns was right */
	uint64_t asked_ns;		/* when copies were last found to prevail */
	uint64_t cost_ns;		/* of a checkpoint */
	struct rp_spent spent;		/* up to the last checkpoint */
	uint64_t clock_ns;		/* replay time of the present position, roughly */
	struct rp_chained *chain;	/* what periodic.c counts; not in rp_hop.fast */
	uint64_t samples[RP_SAMPLES];	/* where the timer found the task */
	unsigned samples_n;
	unsigned names_made;
	struct rp_renamed { struct rp_pos old, now; } renamed[RP_RENAMED];	/* position.c: a ring of the last */
	unsigned renamed_n;
	struct rp_empty { uint64_t key; struct rp_pos from, end; bool inclusive; } empty[RP_EMPTY];	/* scanned.c; key 0: none; inclusive: nor at the end */
	unsigned empty_next;
	struct rp_survey *survey;
	struct rp_marks *marks;		/* while stores to its pages are noted, in a worker of write_log.c */
	bool skip;			/* the next run begins at a point whose instruction has been counted */
	bool ran;			/* the task has been run since the hop began */
	bool still;			/* it was not, in the last one, which was interrupted: the next begins at that point, too */
	bool skip_int3;			/* ... whose breakpoint, if there is one, has been looked at */
	bool unvisited;			/* the last run ended by an interrupt, maybe at a breakpoint that nobody has looked at */
	bool shielded;			/* finish what was begun: no interrupts */
	bool breakable;			/* or not: after one the next hop fails with rp_stopped, and the move is given up */
	uint32_t current;
	uint32_t last_task;	/* of the last event that was applied */
	struct rp_end { uint64_t where; unsigned left; bool only; int status; } end;	/* end.c: is there the end of so many tasks (0: unknown), and the process's status */
	struct rp_back_step back_step;
	bool in_strings;		/* step through them */
	struct rp_late { unsigned set; uint64_t hit[WATCHES_MAX / 64]; bool any; } late;	/* hits of steps in the middle of a string instruction: advance.c */
	struct rp_shown *shown;
	unsigned shown_n;
	struct rp_turns turns;
};

/* debug_registers.c */
/* How many debug registers there are to use. */
unsigned rp_registers(void);
/* So many bytes at addr, and not beyond end, one register can watch: 1, 2, 4 or 8 aligned ones. */
unsigned rp_register_bytes(uint64_t addr, uint64_t end);
void rp_deal(const struct rp_debug *d, struct rp_set *s);
/* Does the i-th use debug registers?  And which in that process, as bits? */
bool rp_set_register(const struct rp_set *s, unsigned i);
uint64_t rp_registers_of(const struct rp_set *s, unsigned which, int pid);
/* Debug registers have triggered in that process, and nothing has changed.  True: that often that rp_deal_anew() is due. */
bool rp_deal_silent(struct rp_debug *d, const struct rp_set *s, int pid);
/* A hop has ended at a watchpoint of the set. */
void rp_deal_hit(struct rp_debug *d, const struct rp_set *s, const struct rp_hop *hop);
/* If it is due.  Tasks stopped. */
void rp_deal_anew(struct replay *r);

/* breakpoints.c */
unsigned rp_set_intern(struct replay *r, const struct replay_break *b, unsigned n);
unsigned rp_set_union(struct replay *r, unsigned a, unsigned b);
struct err *rp_debug_before(struct replay *r, struct rp_task *t, int *request);
/* After each single step. */
void rp_hide_trace_flag(struct rp_task *t, uint64_t from);
/* It is on, and not the program's. */
void rp_clear_trace_flag(struct rp_task *t);
/* A SIGTRAP of ours? */
bool rp_debug_trap(struct replay *r, struct rp_task *t, siginfo_t *info);
/* Debug registers that have hit since they were last asked for. */
uint64_t rp_debug_hits(struct rp_task *t);
/* The task stopped for us, inside the hook: on until it is out of it.  False: it is not there. */
bool rp_debug_leave(struct replay *r, struct rp_task *t, bool trapped);
/* It has come out in another way. */
void rp_debug_left(struct replay *r, struct rp_task *t);
/* The rest of the hook was done for it: is that where a step or a stop ends? */
bool rp_debug_left_by_us(struct replay *r, struct rp_task *t);
/* A stop that is no signal's: must the run end here? */
struct err *rp_debug_pause(struct replay *r, struct rp_task *t, bool *end);
bool rp_debug_interrupted(struct replay *r);
/* Does the run that is going on step, or have breakpoints? */
bool rp_debug_wants_stops(struct replay *r);
/* No trace of debugging in the task and its memory. */
void rp_debug_clear(struct replay *r, struct rp_task *t);
/* Is a breakpoint in [start, end), or a data watchpoint anywhere: so that search.c's jump cannot be used? */
bool rp_debug_in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start, uint64_t end);
/* For the next run, also stop at addr; afterwards: was that all it stopped for? */
void rp_debug_also(struct replay *r, struct rp_task *t, uint64_t addr);
bool rp_debug_also_done(struct replay *r, struct rp_task *t);
/* Look for interrupts from now on, or (sample) interrupt what runs once, after so long; 0 = never. */
/* The timer looks for a debugger's interrupt; a tick also ends the run; or it takes samples. */
enum rp_timing { RP_TIME_USER, RP_TIME_TICK, RP_TIME_SAMPLES };
void rp_timer(enum rp_timing what);
/* Every so many microseconds, until rp_timer(). */
void rp_timer_samples(struct replay *r, long us);
void rp_timer_off(void);
/* In a fork, which has no timer yet, and nobody to interrupt it. */
void rp_timer_forked(void);
/* The user's, not a tick. */
bool rp_debug_user_interrupt(struct replay *r);
/* ... and long ago: go to the last point that has a name. */
bool rp_debug_overdue(struct replay *r);
bool rp_ticked(void);
/* Ticks do not count until it is over. */
void rp_ticks_wait(bool on);
/* Behind an int3 of ours? */
bool rp_int3_hit(const struct rp_task *t);
/* Breakpoints out of all memory / of one address space. */
void rp_int3_out(struct replay *r);
void rp_int3_out_mm(struct rp_mm *mm, pid_t real);
/* Of bytes that were read at addr: as they are without breakpoints. */
void rp_int3_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);
/* One that is put into that process's code? */
bool rp_is_int3(const struct replay_break *b, pid_t pid);
/* Is one at pc, whatever its condition?  And does it stop the task where it is now? */
bool rp_set_has(const struct rp_set *s, pid_t pid, uint64_t pc);
bool rp_set_breaks(const struct replay *r, const struct rp_set *s, const struct rp_task *t);

/* page.c: bytes of code.  Between these two they are read and written by the page, and nothing else may be done with that task. */
void rp_code_begin(pid_t real);
void rp_code_end(void);
size_t rp_code_read(pid_t real, uint64_t addr, void *buf, size_t len);
/* Is a byte of ours still there?  A program that writes code may have written something else.  True also where nobody can tell. */
bool rp_code_has(pid_t real, uint64_t addr, uint8_t byte);
bool rp_code_write(pid_t real, uint64_t addr, const void *buf, size_t len);

/* condition.c */
bool rp_cond_true(const struct rp_cond *c, pid_t tid, const struct regs *regs);
/* Code that leaves a number in rax, or jumps: hit[] = where the displacements of those jumps end, then 0.  reg: where
 * registers have been saved.  0: cannot be compiled. */
unsigned rp_cond_compile(const struct rp_cond *cond, uint8_t *out, unsigned room, uint64_t at, const uint64_t reg[REGS_WORDS],
			 unsigned hit[33]);

/* inprocess.c */
struct tracee_maps;
bool rp_gate_reaches(uint64_t area, uint64_t addr);
/* A free place, a page and 128 KB around it, that a jump from addr reaches; 0: none. */
uint64_t rp_gate_loneliest(const struct tracee_maps *maps, uint64_t addr);
/* Code that nobody is going to write to or move?  Then solid_start and solid_end are its mapping. */
bool rp_gate_solid(struct rp_task *t, uint64_t addr);
struct err *rp_gate_build(struct replay *r, struct rp_task *t, unsigned set);
void rp_gate_forget(struct rp_mm *mm);
bool rp_gate_possible(struct rp_task *t, uint64_t addr, unsigned *len_ret);
bool rp_gate_has(const struct rp_mm *mm, const struct replay_break *b);
/* Is a jump there, whose stub counts or compares when the task goes on? */
bool rp_gate_decides(const struct rp_mm *mm, const struct replay_break *b);
bool rp_gate_in(struct rp_mm *mm, pid_t real, const struct replay_break *b);
void rp_gate_out(struct rp_mm *mm, pid_t real);
void rp_gate_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);
/* The program's bytes where jumps are, or (back) the jumps again. */
void rp_gate_bare(struct rp_mm *mm, pid_t real, bool back);
/* first: also where the first instruction of a place is the next one, so that it is not counted. */
void rp_gate_enter(struct rp_task *t, bool counted, bool seen);
/* Which thread it is that runs: for conditions. */
struct err *rp_gate_thread(struct rp_task *t);
void rp_gate_leave(struct rp_task *t);
/* The same when no signal has stopped it: it may stay in the stub, see rp_gate_inside(). */
void rp_gate_interrupted(struct rp_task *t);
bool rp_gate_trap(struct rp_task *t, bool *counted);
bool rp_gate_fault(struct rp_task *t);
/* In a stub, and nowhere that the program knows? */
bool rp_gate_inside(const struct rp_task *t);
struct err *rp_gate_step_out(struct replay *r, struct rp_task *t, bool *hit);
bool rp_gate_overlaps(const struct rp_mm *mm, uint64_t start, uint64_t end);
struct err *rp_gate_limit(struct rp_task *t, const struct replay_break *b, uint64_t limit);
struct err *rp_gate_limit_all(struct rp_task *t, uint64_t limit);
uint64_t rp_gate_counted_all(const struct rp_task *t, uint64_t limit);
uint64_t rp_gate_counted(const struct rp_task *t, const struct replay_break *b, uint64_t limit, uint64_t *last);
bool rp_gate_area(const struct rp_mm *mm, uint64_t addr);
/* Of an instruction that a stub has in it: where the program has it; 0: there is none. */
uint64_t rp_gate_original(const struct rp_mm *mm, uint64_t rip);
/* Does an instruction begin there that a stub has in it?  (Stubs are made anew, at the same addresses.) */
bool rp_gate_moved(const struct rp_mm *mm, uint64_t addr);
/* Something is about to be mapped where our areas are. */
struct err *rp_gate_make_room(struct rp_task *t, uint64_t at, uint64_t len);
struct err *rp_gate_make_room_for(struct rp_task *t, const struct trace_effect *e);

/* diversion.c */
bool rp_diverted(const struct replay *r);
/* Does going on mean the copy? */
bool rp_divert_runs(const struct replay *r);
struct err *rp_divert_run(struct replay *r, bool step, struct replay_stop *ret);
/* Back to the recording. */
struct err *rp_divert_end(struct replay *r);

/* debugger_memory.c */
/* t is in a copy, which gets memory of this length. */
struct err *rp_lent_new(struct replay *r, struct rp_task *t, uint64_t len, int prot, uint64_t *ret);
struct err *rp_lent_give_back(struct replay *r, struct rp_task *t, uint64_t addr);
/* A copy begins; it ends. */
struct err *rp_lent_in(struct replay *r, struct rp_task *t);
void rp_lent_keep(struct replay *r, const struct rp_task *t);
/* What it holds while there is no copy. */
size_t rp_lent_read(const struct replay *r, int pid, uint64_t addr, void *buf, size_t len);
void rp_lent_deinit(struct rp_debug *d);

/* catch.c */
/* Before a hop that is to meet catchpoints: breakpoints for calls that have been patched since. */
void rp_catch_refresh(struct replay *r);
/* rp_next() has been done. */
void rp_catch_before(struct replay *r, struct rp_before *b);
/* Did a hop to or over an event end at a stop?  back: only asked, on the way from a checkpoint. */
bool rp_catch_hop(struct replay *r, const struct rp_hop *hop, const struct rp_before *b, bool back, struct replay_stop *ret);
/* At a breakpoint: is it only a caught call? */
bool rp_catch_moved(struct replay *r, struct rp_task *t, struct replay_stop *ret);
/* A move begins: nothing special is shown any more. */
struct rp_view rp_catch_leave(struct replay *r);
/* ... forward: is the next stop right here, or one step away? */
struct err *rp_catch_now(struct replay *r, const struct rp_view *v, struct replay_stop *ret, bool *done) __must_check;
/* ... backward: is the breakpoint here the stop? */
bool rp_catch_back_here(struct replay *r, const struct rp_view *v, struct replay_stop *ret);
/* A backward move has arrived at ret: as that is to be shown. */
struct err *rp_catch_arrived(struct replay *r, uint32_t serial, const struct rp_start *from, struct replay_stop *ret) __must_check;
void rp_catch_regs(const struct replay *r, const struct rp_task *t, struct regs *regs);
bool rp_catch_entry_view(const struct replay *r, const struct rp_task *t);
/* The patch whose system call instruction is at addr. */
const struct patch *rp_patch_of_call(const struct rp_mm *mm, uint64_t addr);

/* page_watch.c */
struct err *rp_page_protect(pid_t real, uint64_t page, int prot) __must_check;
struct err *rp_guard_in(struct replay *r, struct rp_task *t, const struct rp_set *s, unsigned gen);
/* Is anything of that kind needed for the run that begins? */
bool rp_guard_wanted(const struct replay *r, const struct rp_task *t, const struct rp_set *s);
void rp_guard_out(struct rp_mm *mm, pid_t real);
/* Was the last such access to no watched place? */
bool rp_guard_misses(const struct replay *r, const struct rp_set *s);
/* At a breakpoint that no stub is going to look at? */
bool rp_guard_at_break(const struct replay *r, const struct rp_set *s, const struct rp_task *t);
/* Has the access that faulted touched any of addr to addr + len? */
bool rp_guard_hits(const struct rp_debug *d, uint64_t addr, uint64_t len);
/* So that the run may go on: nothing else is to stop for. */
bool rp_guard_passes(struct replay *r, struct rp_task *t);
/* The i-th page protected for a watchpoint alone, and how; false: there are fewer. */
bool rp_guard_page(const struct rp_mm *mm, unsigned i, uint64_t *page, int *prot);
/* Something that only concerns other memory happens to the program's mappings? */
void rp_guard_make_room(struct replay *r, struct rp_task *t, const struct trace_effect *e);
/* A debug register has hit.  In the middle of a string instruction?  On to its end. */
struct err *rp_guard_finish_string(struct replay *r, struct rp_task *t) __must_check;
/* An access to a protected page?  Then it has been done. */
bool rp_guard_fault(struct replay *r, struct rp_task *t, siginfo_t *info);

/* Before watchpoints' are added: the page at addr, where breakpoints are. */
void rp_guard_add_code(struct rp_mm *mm, const struct tracee_maps *maps, uint64_t addr);

/* written_code.c */
/* May some of the set's breakpoints be where the program can write?  Else it is known that none are. */
bool rp_written_any(const struct rp_mm *mm, const struct rp_set *s, pid_t pid);
/* Their pages, for page_watch.c. */
void rp_written_pages(struct rp_mm *mm, const struct tracee_maps *maps, const struct rp_set *s, pid_t pid);
/* What is shared there, and may not be written to, takes rp_written_poke(): its protection, and another of its addresses; else 0. */
int rp_written_shared(const struct tracee_maps *maps, uint64_t addr, uint64_t *other);
bool rp_written_poke(pid_t real, uint64_t addr, uint8_t byte, int prot);
/* Mappings change. */
void rp_written_forget(struct rp_mm *mm, uint64_t addr, uint64_t len);
/* ... while the task runs: where breakpoints of the set are? */
void rp_written_mapped(struct replay *r, struct rp_task *t, const struct trace_effect *e);

/* dual.c */
/* A store to a protected page that a stub is going to do?  Then run on. */
bool rp_alias_fault(struct replay *r, struct rp_task *t, const siginfo_t *info);
/* How many of them there have been, ever. */
uint64_t rp_alias_faults(void);
void rp_alias_out(struct rp_mm *mm, pid_t real);
void rp_alias_free(struct rp_mm *mm);
bool rp_alias_area(const struct rp_mm *mm, uint64_t addr);
/* What is mapped there changes. */
void rp_alias_forget(struct rp_task *t, uint64_t at, uint64_t len);
/* For a copy of the process. */
void rp_alias_copy(struct rp_mm *copy, const struct rp_mm *mm);
struct err *rp_alias_make_room(struct rp_task *t, uint64_t at, uint64_t len);
/* After each stop and before each run: as rp_gate_leave(), rp_gate_enter(). */
void rp_alias_leave(struct rp_task *t);
void rp_alias_enter(struct rp_task *t);
/* In a stub, and nowhere that the program knows? */
bool rp_alias_inside(const struct rp_task *t);
struct err *rp_alias_step_out(struct rp_task *t);
/* Is it on a page that is doubled at the moment?  *off: how far off the other mapping is, which can be stored to. */
bool rp_alias_other(const struct rp_mm *mm, uint64_t addr, uint64_t *off);
/* Before the first survey; in each. */
void rp_alias_share(void);
void rp_alias_learn_shared(void);
/* Does a jump belong there, for a store that is made all the time? */
bool rp_alias_hot(uint64_t start, uint64_t end);
bool rp_alias_jumps(const struct rp_mm *mm);
/* What stubs have noted since the process began (rp_debug.marks). */
struct err *rp_alias_marks(struct rp_task *t, struct rp_marks *m) __must_check;
/* Room for some bytes of code that nobody else uses: half a page.  0: none. */
uint64_t rp_alias_scratch(const struct rp_mm *mm);
/* Code that was read: without our jumps. */
void rp_alias_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);
/* The program's bytes around rip, or (back) what was there instead. */
void rp_alias_bare(struct rp_task *t, uint64_t rip, bool back);
/* To the program's memory, while pages are protected. */
struct err *rp_guard_write(struct rp_task *t, uint64_t addr, const void *bytes, size_t len);

/* iterations.c */
/* The task is somewhere else, and has not run there. */
void rp_turns_lost(struct replay *r);
void rp_turns_free(struct replay *r);
/* Run the task to the point in a copy, to find out what to count.  It is where it was afterwards. */
struct err *rp_turns_measure(struct replay *r, struct rp_task *t, unsigned set);
/* A run with set begins, to the event's point: the set with what else is to be counted, if that is known. */
unsigned rp_turns_begin(struct replay *r, struct rp_task *t, unsigned set);
struct err *rp_turns_limit(struct replay *r, struct rp_task *t);
void rp_turns_end(struct replay *r, struct rp_task *t, bool same_event);
/* Is this what is counted for that? */
bool rp_turns_count(const struct rp_debug *d, const struct replay_break *b);
/* In the last turn?  Could it be found out how many are left? */
bool rp_turns_near(const struct replay *r);
bool rp_turns_possible(const struct replay *r, const struct rp_task *t);

/* advance.c */
struct err *rp_hop(struct replay *r, unsigned set, bool step, struct rp_hop *ret);
/* The same without step; chain is counted too. */
struct err *rp_hop_counting(struct replay *r, unsigned set, struct rp_chained *chain, struct rp_hop *ret);
/* What steps in the middle of a string instruction have hit, too. */
void rp_hop_add_late(struct replay *r, const struct rp_late *late, struct rp_hop *hop);
/* Did this hop stop for one of s?  *watch (may be NULL) = which watchpoint. */
bool rp_hop_hits(struct replay *r, const struct rp_hop *hop, unsigned set, const struct replay_break **watch);
/* Does the task run before the event? */
bool rp_event_runs(const struct trace_event *ev, const struct rp_task *t);
/* Will the task, when it goes on, make its last call again? */
bool rp_will_restart(const struct rp_task *t);
/* How many of its stops for set, as legs count them? */
uint64_t rp_hop_count(struct replay *r, const struct rp_hop *hop, unsigned set);
void rp_hop_track(struct replay *r, const struct rp_hop *hop);

/* checkpoint.c */
struct err *rp_checkpoint_take(struct replay *r);
struct err *rp_checkpoint_maybe(struct replay *r);
/* Is since_ns, with nothing taken since then, long enough ago, or a part of that? */
bool rp_checkpoint_due(const struct replay *r, uint64_t since_ns, unsigned part);
struct err *rp_checkpoint_restore(struct replay *r, struct rp_checkpoint *c);
void rp_checkpoint_drop(struct replay *r, struct rp_checkpoint *c);
/* A copy that belongs to the caller; restored and dropped like the others. */
struct err *rp_copy_take(struct replay *r, struct rp_checkpoint **ret);

/* string.c */
/*
 * Bytes of the repeated string instruction that the task is at, 0: there is none.  *size: bytes that each turn moves; *fixed: it does not
 * compare, and only ends when rcx is 0.
 */
unsigned rp_string_at(const struct rp_task *t, unsigned *size, bool *fixed);
/*
 * The task is in the middle of a repeated string instruction, after steps: on by up to max steps, at full speed.  *n: so many; 0: it is
 * where it was.  Not where an event may be in the middle.  behind: the hop to behind it, which may have hits; NULL, or when it does not come
 * there: where it has any, it stays where it was.
 */
struct err *rp_skip_string(struct replay *r, unsigned set, uint64_t max, uint64_t *n, struct rp_hop *behind);
/* Debug registers have hit (0: no one knows which), and the task stands at a string instruction: has that touched what they watch? */
bool rp_string_hit(const struct rp_set *s, struct rp_task *t, uint64_t hits);
/* Is there room for a trap behind it, or behind a copy of it? */
bool rp_string_runs(struct rp_task *t);
/* So many turns of it (len bytes) at once, where there is room; registers are then as they would be. */
struct err *rp_string_run(struct rp_task *t, unsigned len, uint64_t turns, int *status) __must_check;
/*
 * On to its end: what it stores to a watched place is a stop behind it.  (A debug register reports it some turns late, how many depends
 * on where it began and was interrupted: Intel's string stores go in groups of 64 bytes.)  place: where the program has it.  More of rp_debug.dr_hit may be set.
 */
struct err *rp_string_finish(struct replay *r, struct rp_task *t, uint64_t place) __must_check;
/* Counts steps that stayed at their instruction: is this the second one running, so that it may be such an instruction? */
bool rp_in_string(unsigned *same, const struct rp_hop *hop);

/* All tasks of a checkpoint, made as by rp_checkpoint_restore(), beside those of the present. */
struct err *rp_checkpoint_wake(struct rp_checkpoint *c, struct rp_task **ret) __must_check;
/* Another process has them now: only our data goes. */
void rp_tasks_forget(struct rp_task *list);
/* In a fork: nothing is ours but these, which rp_checkpoint_wake() made of c. */
struct err *rp_checkpoint_become(struct replay *r, const struct rp_checkpoint *c, struct rp_task *tasks) __must_check;

/* A stop on the way from one position to another: the last. */
struct rp_found {
	bool found;
	uint32_t serial;
	struct rp_pos pos;
	struct replay_stop stop;
};

/* scan.c */
/* From where r is, a checkpoint, to end, which counts when it is not the present (inclusive). */
struct err *rp_scan(struct replay *r, const struct rp_pos *end, bool inclusive, struct rp_found *ret) __must_check;

/* intervals.c */
/* Before the present.  Interrupts end it. */
struct err *rp_last_stop(struct replay *r, struct rp_found *ret) __must_check;

/* scanned.c: what has been looked through in vain, for what is a stop at present. */
void rp_empty_add(struct replay *r, const struct rp_pos *from, const struct rp_pos *end, bool inclusive);
/* Is nothing before end (or, inclusive, at it)?  Then up to here; else NULL. */
const struct rp_pos *rp_empty_before(const struct replay *r, const struct rp_pos *end, bool inclusive);
void rp_empty_free(struct rp_debug *d);

/* workers.c */
enum { RP_WORKERS_MAX = 7, RP_WORKERS_ANY = 1000 };
struct rp_worker;
/* How many can work besides us.  HINDSIGHT_WORKERS in the environment: so many, on whatever processor. */
unsigned rp_workers(void);
bool rp_workers_forced(void);
/* Could another process come from c to end?  Not through events for which something is asked of ours (files, processes that are made).  r: as with
 * rp_events_any(). */
struct err *rp_worker_can(struct replay *r, const struct rp_checkpoint *c, const struct rp_pos *end, bool *can) __must_check;
/* It looks from c to end with rp_scan(), on another processor or (here) on ours.  *ret = NULL: cannot be done by a worker.  r: as with rp_events_any(). */
struct err *rp_worker_start(struct replay *r, struct rp_checkpoint *c, const struct rp_pos *end, bool here, struct rp_worker **ret) __must_check;
/* Another looks from c to end, where it can come, with rp_survey_run(): at the pages of m, which stays as it is here, on another processor that nobody uses. */
struct err *rp_worker_survey(struct replay *r, struct rp_checkpoint *c, const struct rp_pos *end, struct rp_marks *m, struct rp_worker **ret) __must_check;
/* Its answer, into m. */
bool rp_worker_surveyed(struct rp_worker *w, struct rp_marks *m);
/* Waits for it.  False: it failed; what it would have said is not known. */
bool rp_worker_answer(struct replay *r, struct rp_worker *w, struct rp_found *ret);
/* Can be read from when there is an answer. */
int rp_worker_fd(const struct rp_worker *w);
bool rp_worker_is_here(const struct rp_worker *w);
void rp_worker_end(struct rp_worker *w);

/* loader.c */
/* Is at addr a place of the dynamic loader for debuggers, where t only comes when libraries come or go? */
bool rp_solib_place(const struct rp_task *t, uint64_t addr);

/* end.c */
/* Is the event that has been read (and reached, if there is a way to it) the end of all that is shown? */
bool rp_at_end(struct replay *r);

/*
 * write_log.c: on an idle processor, while the replayer computes forward, it is noted which bytes of a program's busy data pages each
 * stretch of it writes to; a search backwards passes those that do not write to what is watched.
 */
/* After a checkpoint going forward, where t computes: an answer is heard, a new stretch given out. */
void rp_survey_feed(struct replay *r, const struct rp_task *t);
/*
 * While the replayer goes back no survey begins.  One that is under way goes on, as what it finds out
 * is true wherever the replayer is; this takes its answer.
 */
void rp_survey_hear(struct replay *r);
/* From where on up to `end', in the same computation, are no bytes written that the debugger watches?  NULL: not known. */
const struct rp_pos *rp_survey_before(const struct replay *r, const struct rp_pos *end);
void rp_survey_free(struct rp_debug *d);
/* In a worker, from a checkpoint to end: *m has pages, and gets marks.  *good: all is known. */
void rp_survey_event(struct replay *r, bool after);		/* before and after one: what it writes is noted */
struct err *rp_survey_run(struct replay *r, struct rp_marks *m, const struct rp_pos *end, bool *good) __must_check;

/* clean.c */
/* Pages from start to end that have been written to between the two, at most max; all of them where the kernel does not tell. */
unsigned rp_pages_written(const struct rp_task *older, const struct rp_task *newer, uint64_t start, uint64_t end, uint64_t *ret, unsigned max);
/* Is the debugger only interested in writes to memory, so that the next has sense? */
bool rp_unwritten_possible(const struct replay *r);
/* Has nothing that the debugger watches been written since c, where newer are the tasks' processes now or in a later checkpoint after event
 * `where', and is nothing else on the way that would stop it?  False also where that cannot be told. */
struct err *rp_unwritten(struct replay *r, const struct rp_checkpoint *c, const struct rp_task *newer, uint64_t where, bool *ret) __must_check;

/* Is any event of (from, to] such?  Where r has only reached an event, it is then, as otherwise, anywhere (rp_debug.nameless). */
struct err *rp_events_any(struct replay *r, uint64_t from, uint64_t to, bool (*such)(const struct trace_event *ev), bool *any) __must_check;
/* The same: does any of them stop a debugger by itself, whatever is watched? */
struct err *rp_events_stop(struct replay *r, uint64_t from, uint64_t to, bool *any) __must_check;

/* position.c */
/* The last checkpoint at p, or (before) before it. */
struct rp_checkpoint *rp_checkpoint_before(struct replay *r, const struct rp_pos *p, bool before);
void rp_pos_copy(struct rp_pos *to, const struct rp_pos *from);
void rp_pos_leg(struct rp_pos *p, unsigned set, uint64_t n);
/* a is p or a point on the way to it */
bool rp_pos_leads(const struct rp_pos *a, const struct rp_pos *p);
struct err *rp_goto(struct replay *r, const struct rp_pos *p);
/* Through `from' towards `to', as far as one gets until fd can be read: there are checkpoints then on the way. */
struct err *rp_go_ahead(struct replay *r, const struct rp_pos *from, const struct rp_pos *to, int fd);
/* There, and by that name: rp_goto() may have found a better one, which what comes later is not named from. */
struct err *rp_goto_by_name(struct replay *r, const struct rp_pos *to) __must_check;
/* How often the task stops for set between from and end, which does not count and to which from leads; RP_NO_LIMIT: it would take too long. */
struct err *rp_count_stops(struct replay *r, unsigned set, const struct rp_pos *from, const struct rp_pos *end, uint64_t *n_ret);
struct err *rp_back(struct replay *r, struct replay_stop *ret);
struct err *rp_step_back(struct replay *r, uint32_t serial, struct replay_stop *ret);

bool rp_pos_same(const struct rp_pos *a, const struct rp_pos *b);
/* Behind from, and on the way to end or there */
bool rp_pos_within(const struct rp_pos *from, const struct rp_pos *p, const struct rp_pos *end);
void rp_pos_shorten(struct rp_pos *p);
struct err *rp_tracked_hop(struct replay *r, unsigned set, bool step, struct rp_hop *hop);
struct err *rp_lost(const struct replay *r);

/* shown.c */
/* The event from which on the process is not shown; 0: never. */
uint64_t rp_shown_until(const struct replay *r, int pid);
/* The first event after which a shown process is there. */
uint64_t rp_first(const struct replay *r);
/* Is this event the process's end, and has the debugger been told of it? */
bool rp_told_end(const struct replay *r, int pid, uint64_t event);

/* periodic.c */
/* As rp_tracked_hop() without step, with checkpoints in long computations.  An interrupt ends it at a point with a name where
 * there is one near.  hop->fast and r->debug->limit are of set alone. */
struct err *rp_chain_hop(struct replay *r, unsigned set, struct rp_hop *hop);

/* sites.c: for set, in whose way they are not */
enum { RP_PLACES = 20 };
struct rp_places {
	uint64_t addr[RP_PLACES];
	unsigned n;
	enum rp_sparing { RP_SPARE_NOT = 0, RP_SPARE_NEAR, RP_SPARE_FAR } sparing;	/* none where a store could not have a jump; none near stores at all */
};
/* At pc or a little behind. */
void rp_places_at(struct replay *r, struct rp_task *t, struct rp_places *p, uint64_t pc, unsigned set);
/* Is in [addr, addr + len) a breakpoint of s, or the jump for it?  Code as it is. */
bool rp_places_blocked(struct rp_task *t, const struct rp_set *s, uint64_t addr, unsigned len);
/* Would the jumps of any of p be in the way of one there? */
bool rp_places_overlap(struct rp_task *t, const struct rp_places *p, uint64_t addr, unsigned len);
/* Where the task is, and nowhere else: rp_places_at() may be beyond the end of the loop. */
void rp_place_here(struct replay *r, struct rp_task *t, struct rp_places *p, unsigned set);
/* loops.c: of code[0..len) at pc, the loops that pc is in, the innermost first; returns how many, max at most. */
struct rp_loop { uint64_t head, exit; };	/* where the branch back goes to; what follows it, 0: not known */
unsigned rp_loops(const uint8_t *code, size_t len, uint64_t pc, struct rp_loop *ret, unsigned max);
/* An instruction of Capstone's id: does nothing go on behind it? */
bool rp_goes_elsewhere(unsigned id);
/* Around where the task is. */
void rp_places_near(struct replay *r, struct rp_task *t, struct rp_places *p, unsigned set);
unsigned rp_places_set(struct replay *r, const struct rp_task *t, const struct rp_places *p);
struct replay_break rp_place_break(const struct rp_task *t, uint64_t addr);

/* Where a search ends: at a stop for set, or at the event. */
struct rp_target { bool event; unsigned set; };

/* Places that a chain counts, and how often from now on each may be executed (0 = any number). */
struct rp_chained {
	unsigned n;
	struct replay_break b[RP_PLACES];
	uint64_t limit[RP_PLACES], count[RP_PLACES];
	uint64_t last[RP_PLACES];	/* in the last hop: the greatest was executed last (of those in one area of stubs) */
};

/* range.c */
/* A set of all ways out of [start, end), where the task is.  0: not known. */
unsigned rp_range_exits(struct replay *r, struct rp_task *t, uint64_t start, uint64_t end);

/* approach.c */
/* Move base nearer to the target, to where `steps' single steps lead to it. */
struct err *rp_approach(struct replay *r, struct rp_pos *base, const struct rp_pos *p, const struct rp_target *to, uint64_t *steps,
			bool *found);

/* stepback.c */
/* Steps from base to the target; *found = false after max of them (a long string instruction is one).  pcs (may be NULL): where they led, max of them. */
struct err *rp_count_steps(struct replay *r, const struct rp_pos *base, const struct rp_target *to, uint64_t max,
			   uint64_t *steps, bool *found, uint64_t *pcs);
/* One instruction of the task back.  *begin: there is nothing before. */
struct err *rp_back_one(struct replay *r, uint32_t serial, bool *begin);
/* Stopped in the middle of a repeated string instruction, where steps have led: to where it begins. */
struct err *rp_back_to_string(struct replay *r, uint32_t serial) __must_check;

void rp_debug_stop(struct replay *r);
uint64_t rp_now_ns(void);

#endif
