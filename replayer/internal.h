/*
 * internal.h - the replayer's own structures.
 */
#ifndef REPLAYER_INTERNAL_H
#define REPLAYER_INTERNAL_H

#include <sys/types.h>

#include "abi/layout.h"
#include "base/bug.h"
#include "base/log.h"
#include "replayer/store_bitmap.h"
#include "replayer/replay.h"
#include "tracee/cpu.h"
#include "tracee/inject.h"
#include "tracee/maps.h"
#include "tracee/pages.h"
#include "tracee/patch.h"
#include "tracee/pun.h"
#include "tracee/ptrace.h"
#include "tracee/registers.h"
#include "tracee/ticks.h"

enum { PAGE_BYTES = 4096, RP_AREAS = 4, RP_KNOWN = 32 };

/* A range backed by a shared object: writes that the mapping's protection refuses go to the object. */
struct rp_shared {
	struct rp_shared *next;
	uint64_t addr, len, offset;
	uint32_t object;
};

/* A stack that grows by itself: mapped down to lowest so far. */
struct rp_grow {
	struct rp_grow *next;
	uint64_t lowest, end;
	int prot;
};

/* What a fork leaves out or clears: nofork.c. */
struct rp_nofork {
	struct rp_nofork *next;
	uint64_t addr, end;
	int advice;		/* MADV_DONTFORK or MADV_WIPEONFORK */
};

struct rp_mm {
	unsigned users;
	struct rp_nofork *nofork;
	struct rp_shared *shared;
	struct rp_grow *grow;
	struct patches patches;	/* calls that jump to the hook: abi/buffer.h */
	bool new_patches;	/* catch.c has not seen them all */
	uint32_t calls;		/* serial of the task whose records were put into its buffer; 0: all are used up, for certain */
	void *auxv;		/* of its exec, for debuggers */
	size_t auxv_len;
	struct rp_int3 *int3;	/* breakpoints that are in its memory now: breakpoints.c */
	unsigned int3_n, int3_gen;
	pid_t int3_pid;
	struct rp_probed *probed;	/* probes that are in its memory: probe.c */
	/* stubs of breakpoints that are decided in the process: inprocess.c */
	struct rp_area { uint64_t at, fs_base; unsigned used, slots; } areas[RP_AREAS];	/* fs_base: rp_gate_thread() */
	struct rp_gate *gate;
	struct rp_carried *carried;
	unsigned gate_n, gate_gen, gates_in;
	uint64_t solid_start, solid_end;
	/* pages protected for watchpoints: page_watch.c */
	struct rp_guard *guard;
	unsigned guard_n, guard_gen;
	/* search.c's stub for a debugger, who has the same point looked for again and again: its map, 0: none; where in it; of what code */
	struct rp_kept { uint64_t map, at, rip; unsigned len; uint8_t bytes[PUN_MAX]; } kept;
	/* where nobody can write code: written_code.c */
	struct rp_range { uint64_t start, end; } known[RP_KNOWN];
	unsigned known_next;
	/* and doubled: dual.c */
	struct rp_alias *alias;
	uint64_t alias_area[RP_AREAS];
	/* dual_unchecked.c: how far off the other mappings of these pages are, 0: not chosen; from there to the marks; stale: something has been mapped since it was chosen */
	struct rp_blind { int64_t shift; unsigned marks_at, pages_n; bool refused, stale; uint64_t page[MARKS_PAGES]; } blind;
};

struct rp_task {
	struct rp_task *next;
	uint32_t serial;
	pid_t rec_tid, rec_pid;	/* as the program knew them */
	pid_t real;		/* 0 until its exec, for the first task */
	struct rp_mm *mm;
	struct regs regs;	/* what it will go on with */
	bool dirty;		/* regs differ from the kernel's copy */
	/* without a debugger: the kernel's copy, while nothing has changed it since its last stop */
	struct regs raw;
	bool raw_known;
	bool from_hook;		/* it stopped at a call that the hook left to us */
	bool restartable;	/* its last event was the end of a call: see restart_call() */
	uint64_t nr;		/* number of its last system call */
	char name[17];
	/* only with a debugger */
	uint64_t shown, stub;	/* while regs.rip is shown, it goes on at stub, where patch_resume() would not say so */
	bool in_call;		/* between TRACE_SYSCALL_ENTER and TRACE_SYSCALL_EXIT */
	int64_t in_nr;		/* of that call */
	unsigned dr_gen;	/* which watchpoints its debug registers hold */
};

/* What replay knows of an object of the trace. */
struct rp_object {
	bool defined;
	bool sized;		/* the trace tells its size: mappings do not make it longer */
	enum trace_object_kind kind;	/* what it is now: of a FILE, LIVE makes a SHARED */
	int fd;			/* -1 until it is needed */
	uint64_t size;
	struct trace_effect effect;	/* data is owned */
};

struct replay {
	struct replay_options options;
	struct trace_reader *reader;
	char *dir;
	struct rp_task *tasks;
	struct rp_object *objects;
	uint32_t objects_n;
	pid_t zygote;		/* an empty process: every exec starts as a copy of it */
	uint64_t where;
	uint32_t root;		/* serial of the first task */
	int root_status;
	bool root_done;
	struct mem_sum *sum;
	bool cpuid_trapped;
	struct rp_machine *machine;	/* processor.c */
	/* the event being worked on */
	struct trace_event ev;
	bool ev_read;		/* ev is event where+1 */
	bool pending;		/* its task has got there; effects are not applied */
	bool guarded;		/* effect_guard() has protected a page for it: no checkpoints */
	uint64_t guard_page;
	int guard_prot;
	struct rp_debug *debug;	/* NULL without a debugger */
	struct rp_probes *probes;	/* NULL without an analysis */
	/* search.c */
	unsigned blind_share;	/* percent of a computation's recorded time that runs without looking for its end */
	unsigned blind_missed, blind_good;	/* the share that was too much; how often it has been good since */
	uint64_t snapshot_ns;	/* what a snapshot costs */
	uint8_t costly[64];	/* by page of code: so many searches more there begin with copies of the code (translate.c) */
	struct rp_doubts *doubts;	/* mismatch.c; NULL: none so far */
};

/* ---- processor.c: recordings of other processors -------------------------------- */

/* Can what was recorded there be replayed here?  Prepares what differs. */
struct err *rp_machine_open(struct replay *r);
void rp_machine_close(struct replay *r);
/* The event's vector state, as this processor lays it out; for every event that is to be applied. */
struct err *rp_machine_event(struct replay *r, struct trace_event *ev);
/* May this processor leave other flags, where instructions leave them undefined? */
bool rp_machine_flags(const struct replay *r);
/* Equal but for such flags? */
bool rp_machine_alike(const struct replay *r, const struct regs *a, const struct regs *b);
/* Registers found at the event: the same?  Then they become the recorded ones (*t dirty). */
bool rp_machine_same(const struct replay *r, struct rp_task *t, const struct regs *want);
/* Around an event's effects: what trapped in the recording and cannot be made to trap here is marked in code. */
struct err *rp_machine_before(struct replay *r, struct rp_task *t, const struct trace_effect *e);
struct err *rp_machine_after(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* Out of a range whose sum is wanted, and back. */
struct err *rp_machine_out(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
struct err *rp_machine_in(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
/* bytes, a copy of [addr, addr+len), as the recording has them. */
void rp_machine_hide(const struct replay *r, const struct rp_mm *mm, uint64_t addr, void *bytes, size_t len);
/* ... and in the stubs of patched ones, which have the instruction itself. */
struct err *rp_machine_stub(struct replay *r, struct rp_task *t, const struct patch *p);

/* ---- cage.c: processes that can do nothing ------------------------------------ */
struct err *cage_start(struct replay *r);
/* A new empty process, stopped. */
struct err *cage_process(struct replay *r, pid_t *ret);
/* A copy of task's process (or a thread of it, sharing memory), stopped. */
struct err *cage_clone(struct rp_task *t, bool share_memory, pid_t *ret);
/* Run a call in the task; its own registers are untouched. */
struct err *cage_call(pid_t pid, const struct regs *regs, int64_t *ret, long nr, uint64_t a0, uint64_t a1,
		      uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);
/* ... whose registers are what the kernel has. */
/* ---- object.c ---------------------------------------------------------------------- */
struct err *rp_object_define(struct replay *r, const struct trace_event *ev, const struct trace_effect *e) __must_check;
/* With a descriptor, which stays the object's. */
struct err *rp_object_open(struct replay *r, const struct trace_event *ev, uint32_t number, struct rp_object **ret) __must_check;
/* Of one of kind FILE: a memfd with its content instead. */
struct err *rp_object_memfd(struct replay *r, struct rp_object *o) __must_check;
/* A mapping goes as far as size: traces without SIZE effects make it so long. */
struct err *rp_object_reach(struct rp_object *o, uint64_t size) __must_check;
/* The effects of these names. */
struct err *rp_object_resize(struct replay *r, const struct trace_event *ev, const struct trace_effect *e) __must_check;
struct err *rp_object_zero(struct replay *r, const struct trace_event *ev, const struct trace_effect *e) __must_check;
struct err *rp_object_write(struct replay *r, const struct trace_event *ev, const struct trace_effect *e) __must_check;
struct err *rp_object_live(struct replay *r, const struct trace_event *ev, const struct trace_effect *e) __must_check;
/* All of a file to an empty one; holes stay holes. */
struct err *rp_object_copy(int from, int to) __must_check;
/* In t's process the mapping m is one of fd from now on; private copies of pages stay. */
struct err *rp_object_remap(struct rp_task *t, const struct tracee_map *m, int fd) __must_check;
/* To what it was at a checkpoint: fd, or -1. */
void rp_object_restored(struct rp_object *o, int fd);
/* tracee_pages() of a mapping of an object: holes are not read. */
struct err *rp_object_pages(const struct replay *r, const struct rp_task *t, uint64_t addr, uint64_t len, tracee_page_fn *fn,
			    void *ctx) __must_check;

struct err *cage_call_now(pid_t pid, int64_t *ret, long nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4) __must_check;
void cage_kill(pid_t pid);
/* It stops being ours to trace, and stays stopped; another replayer takes it, and where it is to run. */
struct err *cage_let_go(pid_t pid) __must_check;
struct err *cage_take(pid_t pid, int cpu) __must_check;
/* Shared with the replayer that is the parent of all processes made here. */
struct cage_births { unsigned n, room; pid_t pid[]; };
void cage_births_to(struct cage_births *b);

/* ---- task.c -------------------------------------------------------------------- */
struct rp_task *rp_task_find(struct replay *r, uint32_t serial);
/* By its number in the recording; NULL: there is none now. */
struct rp_task *rp_task_of_tid(const struct replay *r, int tid);
struct rp_task *rp_task_add(struct replay *r, uint32_t serial);
void rp_task_remove(struct replay *r, struct rp_task *t);
struct rp_mm *rp_mm_create(void);
/* What is mapped for us, not for the program: as in a copy of the process, which it is or was. */
void rp_mm_ours(struct rp_mm *to, const struct rp_mm *from);
struct rp_mm *rp_mm_copy(const struct rp_mm *mm);
void rp_mm_put(struct rp_mm *mm);
struct err *rp_regs_flush(struct rp_task *t);
/* One instruction of whatever is at rip, stubs of ours too; t->regs are then what the kernel has. */
struct err *rp_raw_step(struct rp_task *t, int *status_ret) __must_check;
struct err *rp_raw_run(struct rp_task *t, int *status_ret) __must_check;	/* to its next stop, whatever that is */
/* The first of the list that has memory of this recorded process, or NULL. */
const struct rp_task *rp_task_with_memory(const struct rp_task *list, int pid);
/* It may have stopped in a patch's stub: where the program is. */
void rp_task_normal(struct rp_task *t);

/* ---- effect.c: apply what an event changed ---------------------------------------- */
struct err *effect_apply(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* One effect that is no part of ev. */
struct err *effect_one(struct replay *r, struct rp_task *t, const struct trace_event *ev, const struct trace_effect *e);
/* An access at addr failed: is it a stack that grows?  Then *grown and it has. */
struct err *effect_grow(struct rp_task *t, uint64_t addr, bool *grown);

/* All of it, to a descriptor of ours; failures are not our business. */
void rp_write_all(int fd, const void *what, size_t len);
/* The sum of a TRACE_SUM effect's range as it is now; ERR_TRACE: a range that is not the program's. */
struct err *effect_sum(struct replay *r, struct rp_task *t, const struct trace_effect *e, uint64_t *ret);
/*
 * The recorded task got SIGBUS at addr, behind the end of a shared file.  Our copy of the file
 * has no such end: take the page away until the task has faulted.  *page_ret = 0: no need to.
 */
struct err *effect_guard(struct rp_task *t, uint64_t addr, uint64_t *page_ret, int *prot_ret);
struct err *effect_unguard(struct rp_task *t, uint64_t page, int prot);

/* ---- flags.c ----------------------------------------------------------------------- */
/* A clone gets those of t->regs.eflags that tracee_regs_set() does not set. */
struct err *rp_flags_set(struct rp_task *t);

/* ---- nofork.c ---------------------------------------------------------------------- */
/* False: advice about something else. */
bool rp_nofork_advise(struct rp_mm *mm, uint64_t addr, uint64_t len, uint64_t advice);
/* Memory there goes, or is replaced. */
void rp_nofork_cut(struct rp_mm *mm, uint64_t addr, uint64_t len);
void rp_nofork_move(struct rp_mm *mm, uint64_t from, uint64_t len, uint64_t to, uint64_t new_len);
/* A process that the recording has forked, with an rp_mm of its own. */
struct err *rp_nofork_child(struct rp_task *child);
void rp_nofork_copy(struct rp_mm *to, const struct rp_mm *from);
void rp_nofork_deinit(struct rp_mm *mm);

/* ---- snapshot.c: one address space, to go back to ------------------------------------- */
struct rp_snapshot { pid_t real; struct regs regs; struct rp_mm *mm; };
/* Of the task's; *ret = NULL where it cannot be copied. */
struct err *rp_snapshot_take(struct rp_task *t, struct rp_snapshot **ret);
/* Only this task has run since.  Frees s. */
struct err *rp_snapshot_restore(struct replay *r, struct rp_task *t, struct rp_snapshot *s);
void rp_snapshot_drop(struct rp_snapshot *s);
/* ---- calls.c: system calls that need no stop ---------------------------------------------- */
/* The fixed part of an empty process, which has room there. */
void calls_prepare(void);
/* The records of a TRACE_CALLS event into the task's buffer. */
struct err *calls_fill(struct rp_task *t, const struct trace_event *ev, const struct trace_effect *e);
struct err *calls_patch(struct replay *r, struct rp_task *t, const struct trace_event *ev, const struct trace_effect *e);
struct err *calls_cpuid(struct rp_task *t, const struct trace_event *ev, const struct trace_effect *e);
/* The task is at its next event: it must have used all records. */
struct err *calls_used(struct rp_task *t, const struct trace_event *ev);
/* Run it until it has used them, for an event that is not a call. */
struct err *calls_drain(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* A SIGTRAP at t->regs: is it the hook's?  CALLS_STOPPED: the records are used up, or *err_ret says what differs. */
enum calls_trap { CALLS_NONE = 0, CALLS_STOPPED, CALLS_GO_ON };
enum calls_trap calls_trap(struct replay *r, struct rp_task *t, const struct trace_event *ev, struct err **err_ret);

/* ---- count.c ------------------------------------------------------------------------- */
/* The same by counting branches, where the recording and this machine can; else *found = false and nothing has run. */
struct err *count_find(struct replay *r, struct rp_task *t, const struct trace_event *ev, const struct trace_effect *point, bool *found);

/* ---- search.c ----------------------------------------------------------------------- */
/* Processor time of a task, or (0) of the replayer; 0: the system does not tell. */
uint64_t rp_processor_ns(pid_t tid);
/* Run the task to the point whose state the event describes (TRACE_AT_STATE). */
struct err *landmark_find(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* Is its stub there, kept for the next time? */
bool rp_landmark_area(const struct rp_mm *mm, uint64_t addr);
/* Something is about to be mapped where its stub may be kept. */
struct err *rp_landmark_make_room(struct rp_task *t, uint64_t at, uint64_t len);
/* Is the task there now? */
struct err *landmark_here(struct replay *r, struct rp_task *t, const struct trace_event *ev, bool *ret);

/* ---- mismatch.c: matches that may be wrong ------------------------------------------------ */
enum rp_search {
	SEARCH_FIRST,		/* as usual */
	SEARCH_NEXT,		/* the task is at a match that was wrong: the next one */
	SEARCH_ANEW,		/* from the start, without running blind */
};
/* How the point of event n is to be looked for now. */
enum rp_search rp_doubt_how(struct replay *r, uint64_t n);
/* A search that may run past its point begins: *kept when there will be a way back to here.  It saves so much time if all goes well. */
struct err *rp_doubt_start(struct replay *r, uint64_t n, uint64_t saves_ns, bool *kept);
/* The point of event n was found, as far as the witness tells. */
struct err *rp_doubt_match(struct replay *r, uint64_t n);
/* It was found, and cannot be wrong. */
void rp_doubt_settle(struct replay *r, uint64_t n);
/* Is there another way to go if this one fails?  Is replay on its way back because of a doubt? */
bool rp_doubt_left(const struct replay *r);
bool rp_doubt_failed(const struct replay *r);
/* Replay of r->ev has failed.  True: *err is gone, and r is at an earlier event, to go on another way. */
bool rp_doubt_back(struct replay *r, struct err **err);
/* Output waits while what wrote it is in doubt.  False: it does not. */
bool rp_doubt_echo(struct replay *r, int fd, const void *bytes, size_t len);
/* It is over: let the output out. */
void rp_doubts_end(struct replay *r);

/* ---- event.c, in the steps that a debugger needs ------------------------------------- */
/* r->ev = the next event; err_end */
struct err *rp_next(struct replay *r);
/* Run the event's task to where the event happens: r->pending.  &rp_stopped: not there yet. */
struct err *rp_reach(struct replay *r);
/* Apply it. */
struct err *rp_apply(struct replay *r);
/* Run the task to its next system call or fault; t->regs are as the program would have them. */
enum rp_run { RUN_SYSCALL, RUN_SIGNAL };
struct err *rp_run(struct replay *r, struct rp_task *t, const struct trace_event *ev, enum rp_run *stop, siginfo_t *info);
/* Registers as they will be when it goes on. */
void rp_restart_call(struct rp_task *t);
void rp_restart_set(struct rp_task *t);
extern struct err rp_stopped;

#include "replayer/debug.h"
#include "replayer/probe.h"

/* ---- diverge.c ---------------------------------------------------------------------- */
/* NULL when equal. */
struct err *diverge_regs(const struct rp_task *t, const struct trace_event *ev, const struct regs *found);
struct err *diverge(const struct rp_task *t, const struct trace_event *ev, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))) __must_check;

#endif
