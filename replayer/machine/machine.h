/*
 * machine.h - caged processes that do again what was recorded: run to the next event, compare,
 * apply.  Knows no tool (tool.h).
 */
#ifndef REPLAYER_MACHINE_MACHINE_H
#define REPLAYER_MACHINE_MACHINE_H

#include <sys/types.h>

#include "abi/layout.h"
#include "abi/page.h"
#include "base/bug.h"
#include "base/clock.h"
#include "base/log.h"
#include "replayer/machine/tool.h"
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


/*
 * A range backed by a shared object: writes that the mapping's protection refuses go to the object.
 */
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

/* Memory that a fork leaves out or clears: nofork.c. */
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
	bool new_patches;	/* some have come since somebody has last cleared this */
	/*
	 * serial of the task whose records were put into its buffer; 0: all are used up, for
	 * certain
	 */
	uint32_t calls;
	void *auxv;		/* of its exec, for debuggers */
	size_t auxv_len;
	void *tool[TOOLS];	/* see tool.h */
};

struct rp_task {
	struct rp_task *next;
	uint32_t serial;
	pid_t rec_tid, rec_pid;	/* as the program knew them */
	pid_t real;		/* 0 until its exec, for the first task */
	struct rp_mm *mm;
	struct regs regs;	/* what it will go on with */
	bool dirty;		/* regs differ from the kernel's copy */
	/* where no tool watches (tool.h): the kernel's copy, while nothing has changed it since */
	struct regs raw;
	bool raw_known;
	bool from_hook;		/* it stopped at a call that the hook left to us */
	bool restartable;	/* its last event was the end of a call: see rp_restart_call() */
	uint64_t nr;		/* number of its last system call */
	char name[17];
	/*
	 * while regs.rip is shown, it goes on at stub, where patch_resume() would not say so; stub
	 * 0: no such place
	 */
	uint64_t shown, stub;
	bool in_call;		/* between TRACE_SYSCALL_ENTER and TRACE_SYSCALL_EXIT */
	int64_t in_nr;		/* of that call */
	uint32_t tool_word[TOOLS];	/* of tools, for this very thread: 0 in a new one */
};

/* An object of the trace, as replay has it. */
struct rp_object {
	bool defined;
	bool sized;		/* the trace tells its size: mappings do not make it longer */
	bool anonymous;		/* once nobody maps it any more, nobody ever will */
	enum trace_object_kind kind;	/* what it is now: of a FILE, LIVE makes a SHARED */
	int fd;			/* -1 until it is needed, and while it is saved */
	struct rp_saved *saved;	/* its content, or NULL */
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
	unsigned memfds_made;	/* since it was last looked which of them are mapped */
	pid_t zygote;		/* an empty process: every exec starts as a copy of it */
	uint64_t where;
	uint32_t root;		/* serial of the first task */
	int root_status;
	bool root_done;
	struct mem_sum *sum;
	bool cpuid_trapped;
	/*
	 * Points are found by counting branches, those in the hook, too: processes have the hook
	 * that goes the same way as in the recording (syscallbuf/flow.c).
	 */
	bool counts_in_hook;
	struct rp_machine *machine;	/* processor.c */
	/* the event being worked on */
	struct trace_event ev;
	bool ev_read;		/* ev is event where+1 */
	bool pending;		/* its task has got there; effects are not applied */
	struct tracee_mem mem;	/* while its effects are applied: the task's memory, for writes */
	bool page_protected;	/* effect_protect_page() has done it for ev: no checkpoints */
	uint64_t protected_page;
	int protected_prot;
	/* tools (tool.h) */
	void *tool[TOOLS];
	/*
	 * A tool makes the program do the same by other instructions: what is left over in
	 * registers that a system call does not read may be another.
	 */
	bool outlines;
	/*
	 * Run the task to the point inside computing code that the event describes
	 * (TRACE_AT_STATE), or that is one instruction on (TRACE_AT_STEP).  &rp_stopped: a tool has
	 * stopped it before.
	 */
	struct err *(*find_point)(struct replay *r, struct rp_task *t,
				  const struct trace_event *ev);
	struct err *(*find_step)(struct replay *r, struct rp_task *t, const struct trace_event *ev);
};

/* ---- processor.c: recordings of other processors -------------------------------- */

/* Can what was recorded there be replayed here?  Prepares what differs. */
struct err *rp_machine_open(struct replay *r);
void rp_machine_close(struct replay *r);
/*
 * The event's vector state, as this processor lays it out; for every event that is to be applied.
 */
struct err *rp_machine_event(struct replay *r, struct trace_event *ev);
/* May this processor leave other flags, where instructions leave them undefined? */
bool rp_machine_flags(const struct replay *r);
/* Equal but for such flags? */
bool rp_machine_alike(const struct replay *r, const struct regs *a, const struct regs *b);
/* Registers found at the event: the same?  Then they become the recorded ones (*t dirty). */
bool rp_machine_same(const struct replay *r, struct rp_task *t, const struct regs *want);
/* Does replay put ud2 patches of its own into code, where the recording had none? */
bool rp_machine_puts_ud2(const struct replay *r);
/*
 * Around an event's effects: what trapped in the recording and cannot be made to trap here is
 * ud2 in code.
 */
struct err *rp_machine_before(struct replay *r, struct rp_task *t, const struct trace_effect *e);
struct err *rp_machine_after(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* Out of a range whose sum is wanted, and back. */
struct err *rp_machine_out(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
struct err *rp_machine_in(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
/* bytes, a copy of [addr, addr+len), as the recording has them. */
void rp_machine_hide(const struct replay *r, const struct rp_mm *mm, uint64_t addr, void *bytes,
		     size_t len);
/* ... and in the stubs of patched ones, which have the instruction itself. */
struct err *rp_machine_stub(struct replay *r, struct rp_task *t, const struct patch *p);

/* ---- cage.c: processes that can do nothing ------------------------------------ */
struct err *cage_start(struct replay *r);
/* A new empty process, stopped. */
struct err *cage_process(struct replay *r, pid_t *ret);
/* A copy of task's process (or a thread of it, sharing memory), stopped. */
struct err *cage_clone(struct rp_task *t, bool share_memory, pid_t *ret);
/* Run a call in the task; its own registers are untouched. */
struct err *cage_call(pid_t pid, const struct regs *regs, int64_t *ret, long nr, uint64_t a0,
		      uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);
/* ---- object.c ---------------------------------------------------------------------- */
struct err *rp_object_define(struct replay *r, const struct trace_event *ev,
			     const struct trace_effect *e) __must_check;
/* With a descriptor, which stays the object's. */
struct err *rp_object_open(struct replay *r, const struct trace_event *ev, uint32_t number,
			   struct rp_object **ret) __must_check;
/* An object of kind FILE gets a memfd with the file's content instead. */
struct err *rp_object_memfd(struct replay *r, struct rp_object *o) __must_check;
/* A mapping goes as far as size: traces without SIZE effects make it so long. */
struct err *rp_object_reach(struct rp_object *o, uint64_t size) __must_check;
/* The effects of these names. */
struct err *rp_object_resize(struct replay *r, const struct trace_event *ev,
			     const struct trace_effect *e) __must_check;
struct err *rp_object_zero(struct replay *r, const struct trace_event *ev,
			   const struct trace_effect *e) __must_check;
struct err *rp_object_write(struct replay *r, const struct trace_event *ev,
			    const struct trace_effect *e) __must_check;
struct err *rp_object_live(struct replay *r, const struct trace_event *ev,
			   const struct trace_effect *e) __must_check;
/* All of a file to an empty one; holes stay holes. */
struct err *rp_object_copy(int from, int to) __must_check;
/* In t's process the mapping m is one of fd from now on; private copies of pages stay. */
struct err *rp_object_remap(struct rp_task *t, const struct tracee_map *m, int fd) __must_check;
/* ---- unmapped.c: memfds that no process maps ------------------------------------------------- */

/*
 * The content of each of them becomes memory of ours, which copies share, so that its
 * descriptor can be closed; what nobody will ever map again just goes.
 */
struct err *rp_objects_save_unmapped(struct replay *r) __must_check;
/* The object gets its descriptor again. */
struct err *rp_object_load(struct rp_object *o) __must_check;
/* Counts one user more, or (put) one less, and frees s with its last user.  s may be NULL. */
struct rp_saved *rp_saved_use(struct rp_saved *s);
void rp_saved_put(struct rp_saved *s);

/*
 * To what it was at a checkpoint: fd or saved, which are the object's then, or -1 and NULL.
 */
void rp_object_restored(struct rp_object *o, int fd, struct rp_saved *saved);
/* tracee_pages() of a mapping of an object: holes are not read. */
struct err *rp_object_pages(const struct replay *r, const struct rp_task *t, uint64_t addr,
			    uint64_t len, tracee_page_fn *fn, void *ctx) __must_check;

/* cage_call() of a process that has just stopped: its registers are those that the kernel has. */
struct err *cage_call_now(pid_t pid, int64_t *ret, long nr, uint64_t a0, uint64_t a1, uint64_t a2,
			  uint64_t a3, uint64_t a4) __must_check;
void cage_kill(pid_t pid);
/*
 * The process stops being ours to trace, and stays stopped; another replayer takes it, and where it
 * is to run.
 */
struct err *cage_let_go(pid_t pid) __must_check;
struct err *cage_take(pid_t pid, int cpu) __must_check;
/* Shared with the replayer that is the parent of all processes made here. */
struct cage_children { unsigned n, room; pid_t pid[]; };
void cage_children_to(struct cage_children *b);

/* ---- task.c -------------------------------------------------------------------- */
struct rp_task *rp_task_find(struct replay *r, uint32_t serial);
/* By its number in the recording; NULL: there is none now. */
struct rp_task *rp_task_of_tid(const struct replay *r, int tid);
struct rp_task *rp_task_add(struct replay *r, uint32_t serial);
void rp_task_remove(struct replay *r, struct rp_task *t);
struct rp_mm *rp_mm_create(void);
struct rp_mm *rp_mm_copy(const struct rp_mm *mm);
void rp_mm_put(struct rp_mm *mm);
struct err *rp_regs_flush(struct rp_task *t);
/* A system call of ours in the task; its registers are as they were. */
struct err *rp_call(struct rp_task *t, int64_t *ret, long nr, uint64_t a0, uint64_t a1, uint64_t a2,
		    uint64_t a3, uint64_t a4, uint64_t a5) __must_check;
/*
 * Runs one instruction of whatever is at rip, stubs of ours too; t->regs are then what the kernel
 * has.
 */
struct err *rp_raw_step(struct rp_task *t, int *status_ret) __must_check;
/* to its next stop, whatever that is */
struct err *rp_raw_run(struct rp_task *t, int *status_ret) __must_check;
/* The first of the list that has memory of this recorded process, or NULL. */
const struct rp_task *rp_task_with_memory(const struct rp_task *list, int pid);
/* A new thread runs it: no tool knows anything of that one. */
void rp_task_anew(struct rp_task *t);
/* A task that has stopped in a patch's stub gets the registers of where the program is. */
void rp_task_normal(struct rp_task *t);
/*
 * Before a step from where the bytes of a patch begin: into its stub, for the step is one of the
 * instruction that was there, not of the jump.
 */
void rp_task_into_stub(struct rp_task *t);

/* ---- restart.c ---------------------------------------------------------------------------- */
/*
 * Does what the kernel does with an interrupted call when no handler runs: the call is made again.
 * Registers are as they will be when the task goes on.
 */
void rp_restart_call(struct rp_task *t);
/*
 * Registers as somebody has set them who traces the task: does the kernel make a call again by
 * them?
 */
void rp_restart_set(struct rp_task *t);

/* ---- effect.c: apply what an event changed ---------------------------------------- */
struct err *effect_apply(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* Applies one effect that is no part of ev. */
struct err *effect_one(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e);

/* All of it, to a descriptor of ours; failures are not our business. */
void rp_write_all(int fd, const void *what, size_t len);
/*
 * The sum of a TRACE_SUM effect's range as it is now; ERR_TRACE: a range that is not the program's.
 */
struct err *effect_sum(struct replay *r, struct rp_task *t, const struct trace_effect *e,
		       uint64_t *ret);
/*
 * The recorded task got SIGBUS at addr, behind the end of a shared file.  Our copy of the file
 * has no such end: take the page away until the task has faulted.  *page_ret = 0: no need to.
 */
struct err *effect_protect_page(struct rp_task *t, uint64_t addr, uint64_t *page_ret,
				int *prot_ret);
struct err *effect_unprotect_page(struct rp_task *t, uint64_t page, int prot);

/* ---- grow.c ------------------------------------------------------------------------------ */
/* May the program map that?  Not where the fixed part of every process is. */
bool rp_range_allowed(uint64_t addr, uint64_t len);
/* A TRACE_MAP effect's mapping grows down. */
void rp_grow_add(struct rp_mm *mm, const struct trace_effect *e);
/* An access at addr failed: is it a stack that grows?  Then *grown and it has. */
struct err *effect_grow(struct rp_task *t, uint64_t addr, bool *grown);

/* ---- hook.c ------------------------------------------------------------------------------ */
/* The fixed part of an empty process, which has room there. */
void calls_prepare(void);
/* Once: r->counts_in_hook. */
struct err *calls_choose(struct replay *r) __must_check;
/* A process of its own, for a replay that counts in the hook. */
struct err *calls_counted(struct rp_task *t) __must_check;

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
/* Copies the process of the task; *ret = NULL where it cannot be copied. */
struct err *rp_snapshot_take(struct rp_task *t, struct rp_snapshot **ret);
/*
 * To run by itself, and never to go back to: what is shared is the copy's own.  *ret = NULL: that
 * is more than `most' bytes.
 */
struct err *rp_snapshot_aside(struct rp_task *t, uint64_t most, struct rp_snapshot **ret);
/* Only this task has run since.  Frees s. */
struct err *rp_snapshot_restore(struct replay *r, struct rp_task *t, struct rp_snapshot *s);
void rp_snapshot_drop(struct rp_snapshot *s);
/* ---- copy.c: all processes, to go back to ---------------------------------------------- */
struct rp_xstate;
struct rp_copy {
	uint64_t where;			/* r->where then */
	struct rp_task *tasks;		/* real is 0 for all but one of each address space */
	struct rp_xstate *xstate;	/* of the others */
	int *fds;			/* copies of the shared objects, -1 for none */
	struct rp_saved **saved;	/* what nobody maps: as in struct rp_object */
	uint32_t fds_n;
	uint32_t root;
	int root_status;
	bool root_done;
};
/*
 * Nothing of a tool's may be in the code of any task (rp_tools_remove_code()).  The caller owns
 * *ret.
 */
struct err *rp_copy_take(struct replay *r, struct rp_copy **ret) __must_check;
/* Any number of times.  The present tasks go; on failure there may be none. */
struct err *rp_copy_restore(struct replay *r, struct rp_copy *c) __must_check;
void rp_copy_drop(struct rp_copy *c);
/* Processes and descriptors that it keeps: of both there are only so many. */
unsigned rp_copy_parts(const struct rp_copy *c);
/* Is t the first task of its address space in the list? */
bool rp_first_of_mm(const struct rp_task *list, const struct rp_task *t);
/* All its tasks, made as by rp_copy_restore(), beside those of the present. */
struct err *rp_copy_wake(struct rp_copy *c, struct rp_task **ret) __must_check;
/* Another process has them now: only our data goes. */
void rp_tasks_forget(struct rp_task *list);
/* In a fork: nothing is ours but these, which rp_copy_wake() made of c. */
struct err *rp_copy_become(struct replay *r, const struct rp_copy *c,
			   struct rp_task *tasks) __must_check;

/* ---- calls.c: system calls that need no stop ---------------------------------------------- */
/* The records of a TRACE_CALLS event into the task's buffer. */
struct err *calls_fill(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e);
struct err *calls_patch(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			const struct trace_effect *e);
struct err *calls_cpuid(struct rp_task *t, const struct trace_event *ev,
			const struct trace_effect *e);
/*
 * Words of a TRACE_FLOW effect into its memory, behind what it has not used yet; and records are
 * put there likewise, since the hook then needs no stop between two lots of them.
 */
struct err *calls_flow(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e);
/*
 * A fault in the hook, of an address that the program gave it: as in the recording, the task goes
 * on where the call is made in the traced way.  False: it is none, or not of a replay that counts
 * in the hook.
 */
bool calls_fault(struct replay *r, struct rp_task *t, const siginfo_t *info);
/* The task is at its next event: it must have used all records. */
struct err *calls_used(struct rp_task *t, const struct trace_event *ev);
/* Run it until it has used them, for an event that is not a call. */
struct err *calls_drain(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/*
 * A SIGTRAP at t->regs: is it the hook's?  CALLS_STOPPED: the records are used up, or *err_ret says
 * what differs.
 */
enum calls_trap { CALLS_NONE = 0, CALLS_STOPPED, CALLS_GO_ON };
enum calls_trap calls_trap(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			   struct err **err_ret);

/* ---- run.c: one task, to its next stop -------------------------------------------------- */
extern struct err rp_stopped;
/*
 * Resumes the task by request (tools may make that a step) and waits for its next stop, whatever
 * that is: t->regs are the kernel's then.  &err_gone: it has been killed.
 */
struct err *rp_resume(struct replay *r, struct rp_task *t, int *request,
		      int *status_ret) __must_check;
/*
 * Run the task to its next system call or fault; t->regs are as the program would have them.
 * &rp_stopped: a tool has stopped it before.  Divergence is an error.
 */
enum rp_run { RUN_SYSCALL, RUN_SIGNAL };
struct err *rp_run(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		   enum rp_run *stop, siginfo_t *info);
/*
 * A signal that the recording did not see: NULL where the task can go on (a stack has grown, a
 * tool's step was overtaken), else what differs from what ev says.
 */
struct err *rp_unexpected(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			  const siginfo_t *info) __must_check;
/* Runs one instruction, with nothing of a tool's in code. */
struct err *rp_step_once(struct replay *r, struct rp_task *t) __must_check;
/* Equal but for orig_rax and RF? */
bool rp_regs_equal(const struct regs *a, const struct regs *b);
/* The trace flag is on, and not the program's. */
void rp_clear_trace_flag(struct rp_task *t);
/*
 * Is t where the program's own trace flag has raised the SIGTRAP that is the event?  A step of ours
 * and that trap are one.
 */
bool rp_trap_flag_met(const struct rp_task *t, const struct trace_event *ev);

/* ---- event.c ---------------------------------------------------------------------------- */
/* r->ev = the next event; err_end */
struct err *rp_next(struct replay *r);
/* Run the event's task to where the event happens: r->pending.  &rp_stopped: not there yet. */
struct err *rp_reach(struct replay *r);
/* Apply it. */
struct err *rp_apply(struct replay *r);
/* Runs one instruction to where the event is: for replay.find_step, without tools. */
struct err *rp_find_step(struct replay *r, struct rp_task *t,
			 const struct trace_event *ev) __must_check;

/* ---- diverge.c ---------------------------------------------------------------------- */
/* NULL when equal. */
struct err *diverge_regs(const struct rp_task *t, const struct trace_event *ev,
			 const struct regs *found);
struct err *diverge(const struct rp_task *t, const struct trace_event *ev, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))) __must_check;

#endif
