/*
 * internal.h - the recorder's own structures.
 *
 * Life of a task, one thread of the recorded tree:
 *
 *   READY ----resume----> RUNNING in user mode (at most one task in the whole tree)
 *     ^                      |
 *     |                 seccomp stop
 *     |                      v
 *     +---exit handled--- STOPPED <---- RUNNING in the kernel (any number of tasks)
 *
 * A stopped task's wait status waits in task->status until the scheduler picks the task; only then
 * are results copied to its memory and written to the trace.  So the order of events in the
 * trace is the order in which anything became visible to anybody.
 */
#ifndef RECORDER_INTERNAL_H
#define RECORDER_INTERNAL_H

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

#include "abi/page.h"
#include "abi/restart.h"
#include "base/clock.h"
#include "base/proc.h"
#include "abi/layout.h"
#include "abi/syscall.h"
#include "base/bug.h"
#include "base/log.h"
#include "recorder/filter.h"
#include "recorder/recorder.h"
#include "trace/trace.h"
#include "tracee/cpu.h"
#include "tracee/inject.h"
#include "tracee/maps.h"
#include "tracee/pages.h"
#include "tracee/patch.h"
#include "tracee/ptrace.h"

enum { SPANS_MAX = 8192, DEFERRED_MAX = 64, SIGNALS = 65 };

static inline uint64_t page_up(uint64_t x)
{
	return (x + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}
static inline uint64_t page_down(uint64_t x) { return x & ~(uint64_t)(PAGE_BYTES - 1); }

/*
 * A range that maps a file (a write to the file shows in it, in private pages too as long as they
 * are untouched), or SysV shared memory. */
/* A file that somebody has mapped: mapped.c. */
struct rec_file {
	struct rec_file *next;
	unsigned users;		/* mappings */
	uint64_t dev, ino;
	uint64_t size;		/* as replay has it */
	uint32_t object;
	bool live;		/* replay is told when it changes */
	int fd;			/* to read it; -1: none is kept */
};

/* A mapping of a file, or of memory that processes may share. */
struct rec_shared {
	struct rec_shared *next;
	uint64_t addr, len, offset;
	uint64_t dev, ino;	/* dev = 0, ino = shmid for SysV */
	bool anon;		/* nobody's file */
	bool own;		/* a shared mapping: stores reach the file */
	bool shared;		/* MAP_SHARED, of a file */
	bool outside;		/* a SysV segment that others have, which was said */
	/* so often it is attached, all by recorded processes: at parts_ns */
	unsigned long parts;
	uint64_t parts_ns;
	struct rec_file *file;	/* NULL for what is no file */
};

/* Memory of ours in the program's address space, for results of calls that sleep. */
struct rec_scratch {
	struct rec_scratch *next;
	uint64_t addr, len;
	uint32_t owner;		/* serial of the task that uses it; 0 = free */
};

/* The system call buffer of an address space: buffer.c. */
enum { BUF_AREAS = 8 };
struct rec_buffer {
	bool on;		/* the hook is there */
	bool closed;		/* all calls are traced until the next one is */
	bool off;		/* ... for ever */
	bool off_for_tracer;	/* ... or as long as a tracee has this memory: ptrace_bond.c */
	uint64_t at;		/* what is before it is in the trace */
	struct patches patches;
	struct { uint64_t start; unsigned used; } area[BUF_AREAS];	/* stubs */
	unsigned areas;
	struct rec_code *code;	/* mappings of files that can be executed */
	unsigned codes;
	const void *files;	/* the struct rec_files that its table of descriptors speaks of */
	unsigned mapped_gen, cpuids;
	uint8_t wakes;		/* buf_state.wakes: handoff.c */
	unsigned wakes_n;	/* wake-ups since then that were in vain */
	/* park.c */
	uint8_t parks;		/* buf_state.parks */
	unsigned sleeps;	/* calls that it made in the traced way because they slept */
	/* while notes are turned into events: records that are not in the trace */
	uint8_t *unread;
	uint64_t unread_len, read;
	uint64_t patched[2][2];	/* buf_state.code */
	bool patched_more;	/* ... of which the process does not know yet */
};

struct rec_mm {
	unsigned users;
	struct rec_buffer buf;
	uint64_t brk;		/* current end of the heap */
	/* tsc.c: the counter need not trap; that has been looked at */
	bool tsc_open, tsc_tried;
	struct rec_shared *shared;
	struct rec_scratch *scratch;
	struct rec_outside *outside;	/* outside.c */
	struct rec_copies *copies;	/* witness.c */
	/* the dynamic loader's mappings; 0 where there is none */
	uint64_t loader_start, loader_end;
	uint64_t vdso_start, vdso_end;
};

enum fd_class {
	FD_UNKNOWN = 0,
	FD_PLAIN,	/* a write to it changes no memory */
	FD_STDOUT, FD_STDERR,
	FD_MAPPED,	/* a file that somebody has mapped */
	FD_MEM,		/* /proc/PID/mem */
	FD_STATUS,	/* /proc/PID/status of a recorded task */
	FD_PROC,	/* another file of /proc */
};

struct rec_files {
	unsigned users;
	unsigned n;
	uint8_t *class;		/* enum fd_class by descriptor; grown when needed */
};

/* struct sigaction as rt_sigaction takes it (arch/x86: 32 bytes). */
struct rec_sigaction { uint64_t handler, flags, restorer, mask; };

struct rec_sighand {
	unsigned users;
	struct rec_sigaction action[SIGNALS];
};

enum task_state { TASK_READY = 1, TASK_RUNNING, TASK_STOPPED };

/* A system call under way. */
struct rec_call {
	uint64_t nr, args[6];	/* as the program made it */
	struct regs entry;	/* at the entry stop, as the program made it */
	const struct sys_row *row;
	uint64_t seen_args[6];	/* as the kernel sees it: some point to scratch */
	bool redirected, changed_args, planned, known, guessed;
	/* made by a stub: the registers have to be set to what they would be without */
	bool stub;
	unsigned spans;
	struct sys_span *span;	/* in the task's memory, or scratch when redirected */
	uint64_t *home;		/* redirected: where each span belongs */
	bool force_ret;		/* do not run it; answer forced */
	bool fresh;		/* shmat: of a segment that nobody has attached before */
	bool pauses;		/* pause() sleeps in its place: ptrace_wait.c */
	int64_t forced;
	/* ... by a filter of the program's: it means nothing that the call should have done */
	bool answered;
	bool notifies;	/* a supervisor decides (SECCOMP_RET_USER_NOTIF) */
	/* what it writes is not known: all memory before it; else NULL */
	struct rec_changes *changes;
};

enum { REC_BEHIND = 4 };

struct rec_task {
	struct rec_task *next, *hash_next;
	pid_t tid, pid;
	uint32_t serial;
	enum task_state state;
	int status;		/* STOPPED: what waitpid said */
	bool vfork_sleeps;	/* waits in the kernel for its vfork child */
	bool in_syscall, enter_written, exiting, exit_written, in_group_stop;
	bool asked;		/* to stop, by rec_interrupt(); the stop for that has not come */
	/* state and status are of its end, which whoever waited for another stop has met */
	bool ended;
	/* there is a seccomp filter that we have not made: stop by PTRACE_SYSCALL */
	bool every_call;
	/* ... or by system call user dispatch, which is on now: outer.c */
	bool by_dispatch, dispatched;
	struct rec_filters filters;	/* the program's own: filter.c */
	struct rec_filter *filters_new;	/* ... being installed */
	bool started;		/* its first exec is done: what it does is recorded */
	struct rec_mm *mm;
	struct rec_files *files;
	struct rec_sighand *sighand;
	struct rec_call call;
	/* interrupted with ERESTART_RESTARTBLOCK: restart_syscall ends it */
	struct rec_call restart;
	bool has_restart;
	/* a call that was disturbed by nothing that matters, and is made again: again.c */
	struct rec_again {
		bool watched;		/* the task is in such a call */
		uint64_t nr, rip, since_ns;
		unsigned rounds;
	} again;
	/* registers after its last event: where it resumes in user mode; rec_left() */
	struct regs last;
	/* that is in computing code: a point there, or back there from a handler */
	bool last_computing;
	/* handlers have interrupted it behind system calls there; 0: none */
	uint64_t behind[REC_BEHIND];
	unsigned behind_n;
	bool at_syscall;	/* last is the rewound state in front of a syscall instruction */
	siginfo_t deferred[DEFERRED_MAX];	/* signals that wait for the next system call */
	unsigned deferred_n;
	siginfo_t resent[DEFERRED_MAX];	/* ... sent again by tgkill: their true siginfo */
	unsigned resent_n;
	uint64_t sigmask;
	uint64_t clear_tid, robust_list;
	struct rec_scratch *scratch;	/* one of mm->scratch, or NULL */
	bool scratch_refused;
	int exit_status;
	uint64_t ran_ns;		/* in user mode since its last event */
	uint64_t cpu_ns;		/* its processor time when a point was last named */
	uint64_t ticks;			/* counted by steps since its last event */
	bool ticks_unknown;		/* it has run uncounted */
	int ticks_fd;			/* hardware counter, or 0 */
	uint64_t slice_ns, starved_until_ns;	/* only with chaos */
	unsigned chances;		/* how often it could have been */
	bool preempted;			/* its slice ended in computing code */
	unsigned priority;		/* only with chaos; 0: not drawn yet */
	uint64_t patience_ns;		/* how long a signal may wait for a point that has a name */
	uint64_t signal_ns;		/* when it got its last signal */
	/* signals that came one after the other, each as soon as the one before was handled */
	unsigned standing;
	uint64_t deferred_ns;		/* when the first of deferred came */
	uint64_t fatal_ns;		/* ... and the first that is going to end it; 0: none */
	unsigned impatient;
	cpu_set_t affinity;
	uint64_t run_since_ns;	/* start of its time slice */
	/* slice.c */
	uint64_t v_ns;		/* virtual time */
	uint64_t ready_ns;	/* since when it has been waiting for its turn */
	uint64_t left_ns;	/* its slice ended then, and it could have gone on; 0: else */
	uint64_t used_ns;	/* ... and had been so long */
	uint64_t name_cost_ns;	/* what naming a point in it takes, about */
	uint64_t wasted_ns;	/* time others spent in loops, up to then */
	uint64_t left_progress;	/* rec_slices.progress, then */
	uint64_t turn_mark;	/* at which call, with what, its last turn ended; 0: at none */
	uint64_t lock_addr;	/* handoff.c: it has waited for the lock there */
	unsigned lock_vain;	/* ... so often in vain */
	unsigned hog;		/* slices of its after which others could do hardly anything */
	unsigned call_gap;	/* instructions from one of its calls to the next; 0: not known */
	bool woke;		/* it is ready because it woke up, not because its slice ended */
	/* park.c */
	bool parked;		/* asleep in a call that the hook made */
	bool park_waits;	/* ... woken up, stopped, and wants the baton */
	bool park_turn;		/* ... woken up with the baton, which it has not noted yet */
	/* its ENTER is written, and the call is made once more in the traced way */
	bool park_again;
	unsigned park_place;
	struct regs birth;	/* an early state, for the selectors */
	struct rec_pt *pt;	/* ptrace.h: another recorded task traces it */
	bool traced_outside;	/* it asked to be traced by a parent that is not recorded */
	bool wait_pauses;	/* its next wait call sleeps in pause() */
	bool dumpable_off;
	bool tsc_free;		/* the counter does not trap in this thread: tsc.c */
	uint64_t tsc_mode, cpuid_off;	/* PR_SET_TSC and ARCH_SET_CPUID as the program believes */
};

struct rec_arena { unsigned char *base; size_t used, size; struct rec_arena *next; };

/* slice.c: the slice of the task that runs. */
enum slice_ask { SLICE_NONE, SLICE_DUE, SLICE_PROBE };
enum { SPUN_MAX = 8 };
struct rec_slices {
	uint64_t start_ns, length_ns, alone_ns, woken_ns, probe_ns;
	uint64_t charged_ns;	/* up to then time has been put to somebody's account */
	uint64_t floor_ns;	/* the most virtual time anybody has had */
	uint64_t asked_ns;	/* when it was last interrupted */
	uint64_t slept_ns;
	uint64_t wasted_ns;	/* all time that was spent in loops that wait */
	enum slice_ask ask;	/* ... and what for */
	uint64_t over_ns;	/* since when it is over, though it goes on; 0: it is not */
	uint64_t progress;	/* turns that did not end as the same task's turn before */
	bool over, walked, yielded;
	unsigned waits;		/* so often it was interrupted in a loop that will trap by itself */
	unsigned steps;		/* instructions that current still has before it is over */
	unsigned lingers;	/* how often it has been left running for a random time instead */
	uint64_t linger_ns;	/* until then; 0: it has not */
	struct regs probed;	/* at the last probe */
	/* where tasks were found to spin, the last few places; of all address spaces */
	uint64_t spun[SPUN_MAX];
	unsigned spun_next;
};

/* end.c */
struct rec_end {
	uint64_t term_ns;	/* since when we are asked to end; 0: we are not */
	uint64_t root_ns;	/* since when the first process has ended */
	uint64_t rest_ns;	/* since when the others are asked to */
	int terms;		/* requests seen */
	bool left, kill;
};

enum { HASH = 1024, WARNED_MAX = 64 };

struct recorder {
	const struct recorder_options *options;
	struct trace_writer *writer;
	struct trace_meta meta;
	struct rec_task *tasks;		/* round-robin list */
	struct rec_task *hash[HASH];
	unsigned tasks_n;
	uint32_t serial;
	struct rec_task *entered;	/* in a call whose ENTER is not written yet: at most one */
	struct rec_task *current;	/* had the CPU last */
	struct rec_task *first;		/* its stop must be handled before anybody runs */
	pid_t root;
	int root_status;
	bool root_done, started;
	const char *
		witness; /* HINDSIGHT_WITNESS=NAME: with sums of mappings of that name ("heap", "" = all)
				 * the bytes too, to find the one that differs */
	cpu_set_t affinity; /* that the program sees */
	unsigned cores;
	struct rec_cores *cores_files;
	uint64_t stdio_dev[3], stdio_ino[3];
	struct { pid_t tid; int status; } early[64];	/* stops of tasks we were not told of yet */
	unsigned early_n;
	/* the event being built */
	struct trace_effect *effect;
	unsigned effects, effects_size;
	struct rec_arena *arena;
	struct sys_span spans[SPANS_MAX];
	/* sums */
	struct mem_sum *sum;
	uint64_t sum_spent_ns, sum_events, start_ns;
	uint64_t last_event_ns;		/* since start_ns: the last event that tells when it was */
	bool audit;		/* HINDSIGHT_AUDIT: changes.c */
	/* by a recorded task: a file that is mapped, since outside.c looked */
	bool file_written;
	uint64_t outside_spent_ns, outside_next_ns, outside_wait_ns;
	int outside_upto;
	/* calls whose outputs are not known and that have slept while others ran: sched.c */
	uint64_t unlisted_slept[8];
	unsigned unlisted_slept_n;
	uint64_t warned[WARNED_MAX];
	unsigned guessed_n;		/* kinds of calls of which that was said */
	unsigned warned_n;
	bool no_sums;			/* memory is half way between two events */
	bool failed;			/* trace ended early; the program goes on */
	struct err *write_error;
	int exec_pipe;			/* the first child reports a failed execve here */
	uint64_t random;		/* chaos.c */
	bool ticks_fast;		/* the next tick comes sooner than usual */
	bool ticks_often;		/* and ticks come more often: somebody waits for his turn */
	uint64_t sigignore;		/* signals ignored when we were started */
	bool outer_filter;	/* a seccomp filter was there before ours: outer.c */
	unsigned outer_filters;	/* how many */
	bool dispatch;		/* ... and calls are stopped by system call user dispatch */
	bool supervised;	/* there are listeners of filters in the tree */
	/* a call of this number does nothing, and no filter minds it: -1 when there is none */
	uint64_t null_nr;
	struct rec_pt_dead *pt_dead;	/* tracees whose end is not reported yet */
	/* buffer.c */
	uint8_t mapped[BUF_FILTER];	/* files somebody has mapped: buf_file_bit() */
	unsigned mapped_gen;
	struct rec_known *known;	/* call sites by file */
	struct rec_marks *marks;	/* instructions by file: mark.c */
	struct buf_cpuid cpuid[BUF_CPUIDS];	/* what has been asked */
	unsigned cpuids;
	uint64_t proc_dev;
	/* park.c */
	struct buf_shared *shared;	/* NULL: nobody parks */
	int shm;
	bool park_refused;
	uint64_t park_seq;	/* notes up to this one are in the trace */
	struct rec_task *park_runs;	/* has the processor, by these notes */
	struct rec_task *park_held;	/* had the baton when we took it */
	struct rec_slices slices;
	struct rec_end end;
	/* tasks share descriptors but no memory: what a buffer knows of them may be stale */
	bool files_apart;
};

/* ---- event.c: build and write one event -------------------------------------- */
void *rec_alloc(struct recorder *rec, size_t len);	/* lives until the event is written */
struct trace_effect *rec_effect(struct recorder *rec, enum trace_effect_kind kind);
/* Bytes that are now in the task's memory: read them and add a WRITE. */
void rec_effect_memory(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len);
void rec_effect_regs(struct recorder *rec, const struct regs *regs);
void rec_effect_xstate(struct recorder *rec, struct rec_task *t);
void rec_effect_siginfo(struct recorder *rec, int sig, const siginfo_t *info,
			enum trace_signal_fate fate);
void rec_effect_ret(struct recorder *rec, uint64_t ret);
void rec_effect_strings(struct recorder *rec, struct rec_task *t);
/* Put the effects collected so far aside, to write another event in between. */
struct rec_pending {
	struct trace_effect *effect;
	unsigned effects, effects_size;
	struct rec_arena *arena;
};
void rec_pending_save(struct recorder *rec, struct rec_pending *saved);
void rec_pending_restore(struct recorder *rec, const struct rec_pending *saved);
/* Write it with the effects added since the last one, and drop these.  Writes the ENTER of another
 * task's call first where that is due.  Failures of the trace are kept in rec. */
void rec_write(struct recorder *rec, struct rec_task *t, enum trace_event_kind kind,
	       enum trace_place place, const struct regs *regs, int64_t ret);
/* A call has begun and others will act before it ends. */
void rec_write_enter(struct recorder *rec);
/* The sum of one mapping; all: see tracee_pages(). */
void rec_effect_sum(struct recorder *rec, struct rec_task *t, const struct tracee_map *m, bool all);
void rec_sums(struct recorder *rec, struct rec_task *t);
/* Does this mapping belong to the program's state?  Not what is ours. */
bool rec_sum_wanted(const struct rec_mm *mm, const struct tracee_map *m);
bool rec_is_scratch(const struct rec_mm *mm, const struct tracee_map *m);
/* The trace takes no more: says so once, and the program goes on without.  Takes err. */
void rec_trace_failed(struct recorder *rec, struct err *err);
/* A key for calls like this one: its number, and its command, where it is an ioctl or the like. */
static inline uint64_t rec_call_kind(const struct rec_call *call)
{
	return call->nr << 32 | (call->args[1] & 0xffffffff);
}
/* Once for each key. */
bool rec_warn_once(struct recorder *rec, uint64_t key);

/* ---- task.c ------------------------------------------------------------------- */
struct rec_task *rec_task_find(struct recorder *rec, pid_t tid);
struct rec_task *rec_task_add(struct recorder *rec, pid_t tid, pid_t pid);
void rec_task_remove(struct recorder *rec, struct rec_task *t);
void rec_task_rename(struct recorder *rec, struct rec_task *t, pid_t tid);
void rec_task_call_drop(struct rec_call *call);
struct rec_mm *rec_mm_create(void);
struct rec_mm *rec_mm_copy(const struct rec_mm *mm);
struct rec_scratch *rec_scratch_add(struct rec_mm *mm, uint64_t addr, uint64_t len, uint32_t owner);
void rec_scratch_drop(struct rec_mm *mm, struct rec_scratch *s);
void rec_mm_put(struct rec_mm *mm);
void rec_files_put(struct rec_files *files);
struct rec_files *rec_files_copy(const struct rec_files *files);
void rec_sighand_put(struct rec_sighand *sighand);
struct rec_sighand *rec_sighand_copy(const struct rec_sighand *sighand);
/* A task of the recorded tree made another one: STOP_CLONE. */
struct err *rec_task_cloned(struct recorder *rec, struct rec_task *parent);
struct err *rec_task_exiting(struct recorder *rec, struct rec_task *t);
void rec_task_exited(struct recorder *rec, struct rec_task *t, int status);
/*
 * It is going to die with this status, and we shall not be told: what its exit writes, and the
 * event.
 */
void rec_task_dying(struct recorder *rec, struct rec_task *t, int status);

/* ---- sched.c ------------------------------------------------------------------ */
struct err *rec_loop(struct recorder *rec);
/* Resume; it is RUNNING then, or about to die. */
struct err *rec_resume(struct rec_task *t, int request, int sig);
/*
 * So waitpid said.  A last stop is not told again: what is being done then fails with &err_gone,
 * and the end is handled next.
 */
/* It is to stop soon.  One that had stopped already, unheard, stops once more when it goes on. */
bool rec_interrupt(struct rec_task *t);
void rec_task_stopped(struct rec_task *t, int status);
/* It can go on in user mode; not after its last stop. */
void rec_task_ready(struct rec_task *t);
/* A zombie, or gone.  A leader is not reported while other threads are there. */
bool rec_task_is_dead(pid_t tid);
bool rec_task_is_dying(pid_t tid);
/* Wait until this task stops, however long.  False when it died instead. */
struct err *rec_wait_task(struct recorder *rec, struct rec_task *t, int *status_ret);
/* Let it go on in user mode, with a signal or 0, until it stops. */
struct err *rec_run_user(struct recorder *rec, struct rec_task *t, int sig);
/* The task that may run is stopped: note what has become of the others. */
void rec_hear_others(struct recorder *rec);
bool rec_others_ready(struct recorder *rec, const struct rec_task *t);

/* ---- syscall.c ---------------------------------------------------------------- */
struct err *rec_syscall_entry(struct recorder *rec, struct rec_task *t);
struct err *rec_syscall_exit(struct recorder *rec, struct rec_task *t);
/* From an entry stop: do not make the call; the task is READY in front of the instruction. */
struct err *rec_syscall_abort(struct recorder *rec, struct rec_task *t, const struct regs *entry);
/*
 * Run a call of ours, by the instruction at site, or in our page; the task is stopped on its way to
 * user mode.
 */
struct err *rec_inject_at(struct recorder *rec, struct rec_task *t, uint64_t site, int64_t *ret,
			  long nr, const uint64_t args[6]);
struct err *rec_inject(struct recorder *rec, struct rec_task *t, int64_t *ret, long nr, uint64_t a0,
		       uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);
void rec_stash(void *ctx, pid_t tid, int sig, const siginfo_t *info);

/* ---- changes.c: what a call without a full row did to memory -------------------------------- */
struct rec_changes;
/* At its entry stop.  NULL: the task is dying. */
struct rec_changes *rec_changes_before(struct rec_task *t);
/* At its exit stop: effects for all that has changed since. */
void rec_changes_after(struct recorder *rec, struct rec_task *t, struct rec_changes *c);
/* Instead: warn of what has changed and is not in the effects collected so far. */
void rec_changes_audit(struct recorder *rec, struct rec_task *t, struct rec_changes *c);
void rec_changes_drop(struct rec_changes *c);

/* ---- partial.c: calls that failed half way ------------------------------------------------ */
/*
 * Effects for the range as it is now, after a failed madvise of this kind; mprotect (fn for each
 * mapping in it); mmap or mremap, which may have unmapped what was there. */
struct err *rec_partial_advise(struct recorder *rec, struct rec_task *t, uint64_t addr,
			       uint64_t len, uint64_t advice);
typedef struct err *rec_protect_fn(struct recorder *rec, struct rec_task *t, uint64_t addr,
				   uint64_t len, uint64_t prot);
struct err *rec_partial_protect(struct recorder *rec, struct rec_task *t, uint64_t addr,
				uint64_t len, rec_protect_fn *fn);
struct err *rec_partial_unmap(struct recorder *rec, struct rec_task *t, uint64_t addr,
			      uint64_t len);

/* ---- pi.c: futexes with priority inheritance ------------------------------------------------- */
/*
 * t has been resumed in the kernel.  True: it is in such a call and has come back; false after a
 * NOTE if it sleeps in one.
 */
bool rec_pi_sleeps(struct recorder *rec, struct rec_task *t);
/* Somebody who may have had such a lock has died: whoever gets it is handled next. */
void rec_pi_woken(struct recorder *rec);

/* ---- outside.c: memory that is shared with what is not recorded ------------------------------ */
/*
 * [addr, addr + len) has been mapped, of what is no file: effects for the event that is being made.
 */
void rec_outside_device(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			const char *name);
/* ... of a file, MAP_SHARED.  fd: open for reading, of ours. */
void rec_outside_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			int fd, const struct stat *st, bool writable);
/* t is about to go on in user mode; no event is being made.  What has changed becomes a NOTE. */
void rec_outside_look(struct recorder *rec, struct rec_task *t);
void rec_outside_cut(struct rec_mm *mm, uint64_t addr, uint64_t end);
void rec_outside_move(struct rec_mm *mm, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len);
void rec_outside_copy(struct rec_mm *to, const struct rec_mm *from);
/* It may change while it is looked at. */
bool rec_is_outside(const struct rec_mm *mm, const struct tracee_map *m);

/* ---- lengths.c ---------------------------------------------------------------------------- */
/*
 * The task is at the entry of a call that cannot be planned: list its outputs after asking the
 * kernel.  False: they remain unknown. */
bool rec_lengths(struct rec_task *t, struct sys_plan *plan);

/* ---- outer.c: inside somebody else's sandbox ---------------------------------------- */
void rec_outer_look(struct recorder *rec);
/* What somebody else's filter says to a call (SECCOMP_RET_...), which is not made. */
uint32_t rec_outer_answer(uint64_t nr, const uint64_t args[6]);
void rec_outer_try(struct recorder *rec, pid_t pid);
/* On when the task goes on in user mode.  Nothing where by_dispatch is not set. */
struct err *rec_dispatch(struct rec_task *t, bool on);
/* Is its stop one of dispatch? */
bool rec_dispatch_stopped(const struct rec_task *t);
/* Will it be, when it goes on from a stop of another kind? */
bool rec_dispatch_pending(const struct rec_task *t);
/* Then: to the entry stop of the call, which is handled next. */
struct err *rec_dispatch_stop(struct recorder *rec, struct rec_task *t);

/* ---- hooks.c: calls that do more than memory ------------------------------------ */
struct rec_hook {
	/* Entry stop: may force a result or change call->seen_args.  May be NULL. */
	void (*enter)(struct recorder *rec, struct rec_task *t, struct rec_call *call);
	/*
	 * Exit stop, result known: adds effects.  May be NULL.  regs may be changed: they are set.
	 */
	struct err *(*exit)(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			    struct regs *regs, int64_t ret);
};

const struct rec_hook *rec_hook_for(uint64_t nr);
extern const struct rec_hook rec_memory_hooks[SYS_ROWS];	/* memory.c */

/* ---- signal.c ------------------------------------------------------------------ */
struct err *rec_signal_stop(struct recorder *rec, struct rec_task *t, int sig);
/*
 * A signal that the kernel forced was ours: where it was blocked or ignored, it is again
 * (force_sig_info_to_task()).
 */
struct err *rec_signal_unforce(struct recorder *rec, struct rec_task *t, int sig);
/* An instruction that we made trap is done: the event, and *after (less RF) as its registers. */
struct err *rec_trap_done(struct recorder *rec, struct rec_task *t, int sig,
			  const struct regs *before, struct regs *after);
/* It wants to know of it, or will die of it. */
bool rec_signal_matters(const struct rec_task *t, int sig);
/* What it does by default is to stop the process. */
bool rec_signal_stops(int sig);
/*
 * Such a one, or one that stops the process, is there for the task, which is about to leave the
 * kernel; other_mask: not by its own mask, but by one that the call had.
 */
bool rec_signal_awaits(const struct rec_task *t, bool other_mask);
/* again.c: at entry, when all is known of the call but its outputs; at exit, the result to give. */
void rec_again_enter(struct rec_task *t, struct rec_call *call);
int64_t rec_again_exit(struct rec_task *t, const struct rec_call *call, int64_t ret);
/* Send the deferred ones again: the task is READY at a point that has a name. */
void rec_signals_resend(struct recorder *rec, struct rec_task *t);

/* Signals waited for a point with a name, and one came (found) or not. */
void rec_signal_waited(struct rec_task *t, bool found);

/* One signal after the other, and the program does not get on. */
bool rec_signal_standing(const struct rec_task *t);
/* Has a fatal one waited long enough for a point that has a name? */
bool rec_signal_overdue(const struct rec_task *t);

void rec_left(struct rec_task *t, const struct regs *regs, bool computing);
void rec_left_handler(struct rec_task *t, const struct regs *regs);	/* by rt_sigreturn */
bool rec_not_moved(const struct rec_task *t, const struct regs *regs);
bool rec_same_point(const struct regs *a, const struct regs *b);

/* ---- state.c: points in computing code ---------------------------------------------- */
/* From now on waitpid returns every few milliseconds; the next time so soon. */
void rec_ticks_start(struct recorder *rec);
void rec_tick_in(struct recorder *rec, uint64_t first_ns);
void rec_tick_as_usual(struct recorder *rec);
void rec_tick_often(struct recorder *rec, bool often);	/* while others are ready */
/*
 * Let a READY task do so many instructions, fewer if it comes to a call, and name the point as
 * below.
 */
struct err *rec_walk(struct recorder *rec, struct rec_task *t, unsigned steps);
/* The same, from inside the hook and behind its call. */
struct err *rec_walk_out(struct recorder *rec, struct rec_task *t, unsigned steps);
/*
 * The task has been interrupted in user mode: write a SWITCH event, after which it is READY at a
 * point that replay can find.  *named = false: no good place here; let it go on, and try again
 * (state READY), or another stop has to be handled (state STOPPED). */
struct err *rec_name_point(struct recorder *rec, struct rec_task *t, bool *named);

/* The same right where it is, whatever the place; regs: its registers. */
struct err *rec_name_here(struct recorder *rec, struct rec_task *t, const struct regs *regs);

/* ---- count.c: ticks -------------------------------------------------------------- */
/* An event of the task is being written: counts begin anew. */
void rec_ticks_restart(struct rec_task *t);
/* How many since; false: not known. */
bool rec_ticks_now(struct recorder *rec, struct rec_task *t, uint64_t *ret);
/* rec_run_user() by single steps. */
struct err *rec_run_steps(struct recorder *rec, struct rec_task *t, int sig);
bool rec_trap_blocked(const struct rec_task *t);

/* ---- witness.c: all of a task's memory, as effects of the event being built ------------- */
struct rec_copies;
void rec_copies_drop(struct rec_copies *c);
/* near.c: pages in mappings of more than `large' bytes. */
enum { NEAR_MAX = 256 };
struct rec_near { uint64_t large, page[NEAR_MAX]; size_t n; };
void rec_near_find(struct rec_near *near, const struct rec_task *t, const struct regs *regs,
		   const struct tracee_maps *maps);
void rec_near_add(struct rec_near *near, const struct tracee_maps *maps, uint64_t page);
void rec_near_sort(struct rec_near *near);
/* After rec_near_sort(). */
bool rec_near_has(const struct rec_near *near, uint64_t page);
/* False: some memory is not covered. */
bool rec_witness(struct recorder *rec, struct rec_task *t, const struct regs *regs,
		 const struct tracee_maps *maps);
/* At the exit stop of a call after which there will be such points. */
void rec_witness_expect(struct recorder *rec, struct rec_task *t);
/* ---- buffer.c: the system call buffer ---------------------------------------------------- */
/* A new program: its fixed pages are mapped writable.  Fills them. */
struct err *rec_buffer_exec(struct recorder *rec, struct rec_task *t);
void rec_buffer_copy(struct rec_buffer *to, const struct rec_buffer *from);
void rec_buffer_put(struct rec_buffer *buf);
/* The mapping at addr has gone or been replaced. */
void rec_buffer_cut(struct rec_buffer *buf, uint64_t addr, uint64_t len);
/*
 * The task has stopped on its way through user mode: the calls it made are written as an event.
 * at_call: outside of the hook, so the buffer may start again. */
struct err *rec_buffer_flush(struct recorder *rec, struct rec_task *t, bool at_call);
/* Descriptors have changed behind the hook's back. */
void rec_buffer_forget(struct rec_task *t);
/* Its next call will be a traced one. */
void rec_buffer_close(struct rec_task *t);
/* Registers as the program would have them without stubs. */
struct err *rec_regs_get(struct rec_task *t, struct regs *regs, enum patch_where *where);
/* Before it goes on in user mode: regs (or t->last) to where the code now is. */
struct err *rec_buffer_resume(struct recorder *rec, struct rec_task *t, const struct regs *regs);
/*
 * It stopped inside the hook for a signal or our interrupt: see to it that it comes out soon.
 * *mine: the signal was a fault of the hook's own. */
struct err *rec_buffer_in_hook(struct recorder *rec, struct rec_task *t, struct regs *regs,
			       const siginfo_t *info, bool *mine);
/*
 * At a traced call (regs behind the instruction) or a trapped cpuid (regs in front of it): patch it
 * if that pays.
 */
void rec_buffer_site(struct recorder *rec, struct rec_task *t, uint64_t addr, enum patch_kind kind);
/*
 * Code of a file is now at addr.  to_run: by exec or the loader, so patch what is known of it;
 * others (valgrind) map code to look at it. */
void rec_buffer_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
		       uint64_t offset, const struct stat *st, bool to_run);
/* Effects: these bytes went there; this patch (with bytes of its own) was made. */
void rec_effect_bytes(struct recorder *rec, uint64_t addr, const void *bytes, size_t len);
void rec_effect_patch(struct recorder *rec, const struct patch *p);
/* Instructions there have been marked: the hook must not let the program write to them. */
struct err *rec_buffer_marked(struct rec_task *t, uint64_t addr, uint64_t len);
void rec_buffer_file_mapped(struct recorder *rec, uint64_t dev, uint64_t ino);
void rec_buffer_off(struct rec_task *t);
/* Patched cpuid instructions trap from now on. */
void rec_buffer_no_cpuid(struct recorder *rec, struct rec_task *t);
bool rec_buffer_asleep(struct rec_task *t);
/*
 * regs of a task that stopped in the hook: a call that the kernel would begin again returns
 * BUF_WOULD_BLOCK.  False: none.
 */
bool rec_buffer_interrupted(struct regs *regs);
struct err *rec_buffer_state(struct rec_task *t, size_t offset, const void *bytes, size_t len);
/* What its address space knows of files is t's view of now. */
struct err *rec_buffer_tell_files(struct recorder *rec, struct rec_task *t);
/* These records were the task's. */
void rec_buffer_records(struct recorder *rec, struct rec_task *t, const uint8_t *bytes,
			uint64_t len);

/* A file, as it was when it was looked at. */
struct rec_version { uint64_t dev, ino, size, mtime_s, mtime_ns; };
static inline struct rec_version rec_version_of(const struct stat *st)
{
	return (struct rec_version){ st->st_dev, st->st_ino, (uint64_t)st->st_size,
				     (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec };
}

/* ---- mark.c -------------------------------------------------------------------------------- */
/*
 * Code is at [addr, addr + len) now, of a file (from offset on) or of nobody (st NULL): where cpuid
 * and rdtsc do not trap they are marked, with effects for the event that is being made.  Before
 * rec_buffer_mapped(). */
struct err *rec_mark_code(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			  uint64_t offset, const struct stat *st);
/*
 * At an exec, rsp at the first instruction: AT_HWCAP and AT_HWCAP2 as of the level that the program
 * sees (auxv.c).
 */
struct err *rec_auxv_level(struct rec_task *t, uint64_t rsp);
/*
 * A marked xgetbv, xsave or xrstor (xsave.c), whose original bytes are text: done, with its
 * effects; *done false: it faults.
 */
struct err *rec_xsave_trap(struct recorder *rec, struct rec_task *t, struct regs *regs,
			   enum trap_insn insn, const uint8_t *text, unsigned len, bool *done);
void rec_marks_deinit(struct recorder *rec);

/* ---- park.c: tasks that sleep in the hook ------------------------------------------------- */
/*
 * At the exit of a call that the hook left to us: does this process do that so often that it should
 * sleep by itself?
 */
void rec_park_consider(struct recorder *rec, struct rec_task *t);
/* t (or NULL: whoever wakes up first) has the baton; it is about to run. */
void rec_park_give(struct recorder *rec, struct rec_task *t);
/* Somebody has stopped; while others run they are not to go on without us. */
void rec_park_hold(struct recorder *rec);
/* Whose turn it is; NULL: nobody's. */
struct rec_task *rec_park_turn(const struct recorder *rec);
/* Take the baton: true when nobody had it, or its holder is stopped or dead. */
bool rec_park_take(struct recorder *rec);
/* The baton is ours: what happened meanwhile becomes events. */
void rec_park_events(struct recorder *rec);
/* A stop of a task that is parked.  Its ptrace state is as reported. */
struct err *rec_park_stop(struct recorder *rec, struct rec_task *t);
/* Before a parked task goes on. */
struct err *rec_park_resume(struct rec_task *t);
/* It is asleep there: to stop when it wakes up. */
void rec_park_call_back(struct rec_task *t);
/* A copy of the process, with this task alone. */
void rec_park_forked(struct rec_task *child);
/* The task is being removed. */
void rec_park_gone(struct recorder *rec, const struct rec_task *t);
void rec_park_deinit(struct recorder *rec);
void rec_buffer_deinit(struct recorder *rec);

/* ---- chaos.c: --chaos ------------------------------------------------------------ */
void rec_chaos_start(struct recorder *rec);
uint32_t rec_random(struct recorder *rec, uint32_t below);
/* A slice of so few instructions that no timer could end it; 0: as long as it likes. */
unsigned rec_chaos_steps(struct recorder *rec, struct rec_task *t);
struct rec_task *rec_chaos_pick(struct recorder *rec, struct rec_task *current, uint64_t now);

/* ---- init.c: process 1 of a pid namespace ------------------------------------------- */
bool rec_is_init(const struct rec_task *t);
/* The fault has its event.  t is gone after that. */
struct err *rec_init_dies(struct recorder *rec, struct rec_task *t, int sig);

/* ---- slice.c: whose turn it is ---------------------------------------------------- */
/* The time since the last call was t's; NULL: nobody's. */
void rec_slice_charge(struct recorder *rec, struct rec_task *t, uint64_t now);
void rec_slice_born(struct recorder *rec, struct rec_task *t);
/* It was in the kernel, and has stopped. */
void rec_slice_woke(struct recorder *rec, struct rec_task *t);
/* It gives up the rest of its slice. */
void rec_slice_yield(struct recorder *rec, struct rec_task *t);
/* The same of a task that has done nothing but wait in a loop. */
void rec_slice_spun(struct recorder *rec, struct rec_task *t);
/* Interrupted in such a loop: is it to go on, up to the trap? */
bool rec_slice_waits(struct recorder *rec, const struct rec_task *t, uint64_t rip);
/* The ready task to go on, current while its slice lasts.  NULL: nobody is ready. */
struct rec_task *rec_slice_pick(struct recorder *rec, struct rec_task *current, uint64_t now);
/* It is the next. */
void rec_slice_first(struct recorder *rec, struct rec_task *t);
/* t has got its turn by itself (park.c). */
void rec_slice_begin(struct recorder *rec, const struct rec_task *t);
/* t runs in user mode: is it to be interrupted, and why? */
enum slice_ask rec_slice_check(struct recorder *rec, const struct rec_task *t);
bool rec_slice_look_asleep(struct recorder *rec, uint64_t now);
/* Probed with these registers: does it wait, in a loop, for memory to change? */
bool rec_slice_spins(struct recorder *rec, const struct rec_task *t, const struct regs *regs);
/* Its slice is over, but not here: a random time from now.  False: not so. */
bool rec_slice_linger(struct recorder *rec, const struct rec_task *t);
/* UINT64_MAX: it does not */
uint64_t rec_slice_linger_left(const struct recorder *rec, uint64_t now);
/* How many instructions beyond the call it has just made its slice is to end; 0: right there. */
unsigned rec_slice_walk(struct recorder *rec, const struct rec_task *t);
/* It went on for so many, and came to a call, or not. */
void rec_slice_walked(struct rec_task *t, unsigned steps, bool to_call);

/* ---- spin.c: loops that only wait ------------------------------------------------------ */
/* Found waiting near rip, at an event: from now on the loop traps now and then, if it can. */
void rec_spin_patch(struct recorder *rec, struct rec_task *t, uint64_t rip);
/* regs: as if there were no patch */
bool rec_spin_is_trap(const struct rec_task *t, int sig, const siginfo_t *info,
		      const struct regs *regs);
/* Computing at rip: will it soon trap by itself? */
bool rec_spin_will_trap(const struct rec_task *t, uint64_t rip);
struct err *rec_spin_trapped(struct recorder *rec, struct rec_task *t, const struct regs *regs);

/* ---- handoff.c: locks --------------------------------------------------------------- */
/* t begins to wait for a futex. */
void rec_handoff_wait(struct recorder *rec, struct rec_task *t, const uint64_t *args);
/* It is about to wake others by a traced call, and has done so. */
void rec_handoff_wakes(struct recorder *rec, struct rec_task *t, const uint64_t *args);
void rec_handoff_woken(struct recorder *rec, struct rec_task *t, const uint64_t *args, int64_t ret);
/* It has made this call in the hook. */
void rec_handoff_record(struct rec_task *t, uint64_t addr, uint64_t op);

/* ---- exec.c --------------------------------------------------------------------- */
struct err *rec_exec(struct recorder *rec, struct rec_task *t);

/* ---- end.c ---------------------------------------------------------------------- */
void rec_end_signals(struct recorder *rec);
/* Are we to end, or has the first process left others behind?  Often called. */
void rec_term_check(struct recorder *rec);

/* ---- status.c: /proc/PID/status ------------------------------------------------------ */
/* A number there; of several the last. */
uint64_t rec_status_number(pid_t tid, const char *name, int base);
bool rec_status_is(struct recorder *rec, const struct rec_task *t, int fd);
/* Exit stop of a read: what it says of filters is put right, where the kernel has written it. */
void rec_status_read(struct recorder *rec, struct rec_task *t, int64_t ret);

/* ---- files.c ---------------------------------------------------------------------- */
/* Content of an open descriptor of the task; -1 when it cannot be opened. */
int rec_fd_open(struct rec_task *t, int fd);
void rec_fd_forget(struct rec_files *files, uint64_t first, uint64_t last);
/* A file was mapped: descriptors that looked plain may be it. */
void rec_fd_reclassify(struct recorder *rec);
enum fd_class rec_fd_class(struct recorder *rec, struct rec_task *t, int fd);
/* The size of the file behind fd (or of this name) may have changed, in a call of t's. */
void rec_fd_cut(struct recorder *rec, struct rec_task *t, int fd);
void rec_path_cut(struct recorder *rec, struct rec_task *t, uint64_t path);
/* fallocate; FICLONE. */
void rec_fd_allocated(struct recorder *rec, struct rec_task *t, int fd, uint64_t mode, uint64_t off,
		      uint64_t len);
void rec_fd_cloned(struct recorder *rec, struct rec_task *t, int fd);
/*
 * File position of a descriptor: the offset that the pointer names, else from fdinfo; -1: unknown.
 */
int64_t rec_fd_position(struct rec_task *t, int fd, uint64_t pointer);
/* A call wrote ret bytes of these spans to fd: echo and changed mappings. */
void rec_fd_written(struct recorder *rec, struct rec_task *t, struct rec_call *call, int64_t ret);

/* ---- mapped.c: files and shared memory that are mapped --------------------------------------- */
/* The file as it is mapped by somebody, or NULL; rather one that is live. */
struct rec_file *rec_file_find(const struct stat *st);
/*
 * A new one, of a mapping that is being made; its object holds the file as st says.  keep: hold fd
 * open to read it, -1: not.
 */
struct rec_file *rec_file_add(const struct stat *st, uint32_t object, bool live, int keep);
/* Replay is to follow it from now on: an effect, if that is news. */
void rec_file_live(struct recorder *rec, struct rec_file *f);
/* Nobody has mapped it after all. */
void rec_file_unused(struct rec_file *f);
/*
 * What a call did to the file that st describes (if anybody has it mapped): effects.  fd: to read
 * it, or -1.
 */
void rec_file_changed(struct recorder *rec, const struct stat *st, int fd, uint64_t off,
		      uint64_t len);
void rec_file_zeroed(struct recorder *rec, const struct stat *st, int fd, uint64_t off,
		     uint64_t len);
/* What was behind off has moved. */
void rec_file_shifted(struct recorder *rec, const struct stat *st, int fd, uint64_t off);
/* Is its size as replay has it?  Nothing else has changed. */
void rec_file_resized(struct recorder *rec, const struct stat *st, int fd);
/* The same of all that can be looked at. */
void rec_files_resized(struct recorder *rec);
void rec_shared_add(struct rec_mm *mm, const struct rec_shared *s);
void rec_shared_cut(struct rec_mm *mm, uint64_t addr, uint64_t len);
/* mremap: what was at [addr, addr + len) is at [to, to + to_len); stays: at the old place, too. */
void rec_shared_move(struct rec_mm *mm, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len,
		     bool stays);
/* False: reading it would bring pages into being (large, shared, and its holes are not known). */
bool rec_map_readable(struct rec_task *t, const struct tracee_map *m);
/* WRITE effects for all of its pages that are not zero. */
void rec_effect_pages(struct recorder *rec, struct rec_task *t, const struct tracee_map *m);
/* tracee_pages() for a mapping of a recorded process: holes are not read. */
struct err *rec_map_pages(struct rec_task *t, const struct tracee_map *m, tracee_page_fn *fn,
			  void *ctx);

/* ---- tsc.c: a process that reads the time-stamp counter often does it without a trap --------- */

/* One more has trapped.  Between events, task stopped. */
void rec_tsc_trapped(struct recorder *rec, struct rec_task *t);
/*
 * The last record in the buffer, which has just been read, is one of rdtsc, with so many more
 * values.
 */
void rec_tsc_seen(struct rec_task *t, uint64_t more);
/* A signal in the hook; *mine: it is a thread's first rdtsc there, which it makes again. */
struct err *rec_tsc_in_hook(struct recorder *rec, struct rec_task *t, const siginfo_t *info,
			    const struct regs *regs, bool *mine) __must_check;
/* There may be one in new code that no mark was made for. */
struct err *rec_tsc_doubt(struct recorder *rec, struct rec_task *t) __must_check;
/* A mapping of the process can now be executed with prot. */
struct err *rec_tsc_mapped(struct recorder *rec, struct rec_task *t, uint64_t prot,
			   bool shared) __must_check;

/* ---- cores.c: how many processors the program sees ------------------------------------------- */

void rec_cores_start(struct recorder *rec);
void rec_cores_deinit(struct recorder *rec);
/* A call begins: where it asks a file for processors, the kernel gets the path of another one. */
void rec_cores_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call);
/* The one that the task believes to run on. */
unsigned rec_cores_current(const struct rec_task *t);

#endif
