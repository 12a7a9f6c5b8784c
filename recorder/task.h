/*
 * task.h - the recorder's own structures: the recording, its tasks, what they share.
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
#ifndef RECORDER_TASK_H
#define RECORDER_TASK_H

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

enum { SPANS_MAX = 8192, SIGNALS = 65, SIGRTMIN_KERNEL = 32 };

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
	bool served;		/* by a recorded task, as it seems: serves.c */
	bool tail;		/* a mapping has stored something behind its end */
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
	uint64_t flow_at;	/* ... of the words at FIXED_FLOW */
	struct patches patches;
	struct { uint64_t start; unsigned used; } area[BUF_AREAS];	/* stubs */
	unsigned areas;
	struct rec_code *code;	/* mappings of files that can be executed */
	unsigned codes;
	const void *files;	/* the struct rec_files that its table of descriptors speaks of */
	unsigned mapped_gen, cpuids;
	uint8_t wakes;		/* buf_state.wakes: lock_handoff.c */
	unsigned wakes_n;	/* wake-ups since then that were in vain */
	/* hook_block.c */
	uint8_t may_block;		/* buf_state.may_block */
	unsigned sleeps;	/* calls that it made in the traced way because they slept */
	/* while notes are turned into events: records that are not in the trace */
	uint8_t *unread;
	uint64_t unread_len, read;
	uint64_t patched[2][2];	/* buf_state.code */
	bool patched_more;	/* ... of which the process does not know yet */
};

/* Memory that is shared with what is not recorded (outside.c). */
struct rec_outside {
	struct rec_outside *next;
	uint64_t addr, len;
	uint64_t *sum;		/* of each page, when it was read last; NULL: it is never read */
	bool fresh;		/* it was not: all of it is new */
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
	struct rec_written *written;	/* written_code.c */
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
	bool in_place;		/* not redirected: the program may not write to all of its output */
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
	bool prints;	/* it writes to our stdout or stderr */
	/* what it writes is not known: all memory before it; else NULL */
	struct rec_changes *changes;
	/* process_vm_writev: where it writes, read before it can overwrite that */
	struct iovec *vector;
	unsigned vector_n;
};

enum { REC_BEHIND = 4 };

/* struct sched_attr of include/uapi/linux/sched/types.h, its first version */
struct rec_policy {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* In the order in which they came. */
struct rec_signals {
	siginfo_t *info;
	unsigned n, room;
};

struct rec_task {
	/* what all tasks are searched for, together */
	struct rec_task *next;
	enum task_state state;	/* rec_task_set() alone changes it */
	unsigned *ready_n;	/* recorder.ready_n */
	bool woke;		/* it is ready because it woke up, not because its slice ended */
	uint64_t v_ns;		/* virtual time: slice.c */
	uint64_t ready_ns;	/* since when it has been waiting to run: slice.c */
	struct rec_pt *pt;	/* ptrace.h: another recorded task traces it */
	struct rec_mm *mm;
	struct rec_task *hash_next;
	pid_t tid, pid;
	struct rec_numbers *numbers;	/* in pid namespaces: numbers.c; NULL: not asked for yet */
	uint32_t serial, made_by;	/* made_by: of the task that has made it, its parent */
	int status;		/* STOPPED: what waitpid said */
	bool vfork_sleeps;	/* waits in the kernel for its vfork child */
	/* a signal has ended its clone or fork; all signals are blocked in it, but for these */
	bool clone_again, clone_blocks;
	uint64_t clone_mask;
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
	bool execs;		/* its new program is being prepared */
	/* others go on while its stop is handled, or it is the one that is waited for: away.c */
	struct rec_away *away;
	struct rec_policy policy;	/* size 0: the kernel has it as the program has: policy.c */
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
	/* registers after its last event: where it resumes in user mode; rec_resume_point_set() */
	struct regs last;
	/* that is in computing code: a point there, or back there from a handler */
	bool last_computing;
	/* handlers have interrupted it behind system calls there; 0: none */
	uint64_t behind[REC_BEHIND];
	unsigned behind_n;
	bool at_syscall;	/* last is the rewound state in front of a syscall instruction */
	struct rec_signals deferred;	/* signals that wait for the next system call */
	struct rec_signals resent;	/* ... sent again by tgkill: their true siginfo */
	uint64_t sigmask;
	uint64_t due;		/* rec_signals_due() */
	bool due_met;		/* a stop has come before them, for which it went on */
	uint64_t clear_tid, robust_list;
	/* in execve: what the kernel writes to the old memory if there is a new program */
	struct rec_left_behind { uint64_t addr; uint32_t word; } *left_behind;
	unsigned left_behind_n;
	struct rec_scratch *scratch;	/* one of mm->scratch, or NULL */
	bool scratch_refused;
	int exit_status;
	uint64_t ran_ns;		/* in user mode since its last event */
	uint64_t cpu_ns;		/* its processor time when a point was last named */
	uint64_t ticks;			/* counted by steps since its last event */
	/* a signal that waits does so for the task to get on: it is blocked meanwhile */
	bool has_own_time;
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
	unsigned rushed;	/* ... or soon after that, in computing code */
	uint64_t deferred_ns;		/* when the first of deferred came */
	uint64_t fatal_ns;		/* ... and the first that is going to end it; 0: none */
	unsigned impatient;
	cpu_set_t affinity;
	uint64_t run_since_ns;	/* start of its time slice */
	/* slice.c */
	uint64_t left_ns;	/* its slice ended then, and it could have gone on; 0: else */
	uint64_t used_ns;	/* ... and had been so long */
	uint64_t name_cost_ns;	/* what naming a point in it takes, about */
	uint64_t wasted_ns;	/* time others spent in loops, up to then */
	uint64_t left_progress;	/* rec_slices.progress, then */
	uint64_t left_mark;	/* at which call, with what, its last slice ended; 0: at none */
	uint64_t lock_addr;	/* lock_handoff.c: it has waited for the lock there */
	unsigned lock_vain;	/* ... so often in vain */
	unsigned starves;	/* slices of its after which others could do hardly anything */
	unsigned call_gap;	/* instructions from one of its calls to the next; 0: not known */
	/* hook_block.c */
	bool hook_blocked;		/* asleep in a call that the hook made */
	bool token_waits;	/* ... woken up, stopped, and wants the token */
	bool token_unnoted; /* ... woken up with the token, which it has not noted yet */
	/* its ENTER is written, and the call is made once more in the traced way */
	bool block_again;
	unsigned block_place;
	struct regs selectors;	/* an early state, for the selectors */
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
	uint64_t progress;	/* slices that did not end as the same task's slice before */
	bool over, walked, yielded;
	unsigned waits;		/* so often it was interrupted in a loop that will trap by itself */
	unsigned steps;		/* instructions that current still has before it is over */
	bool to_atomic;		/* ... or it is over behind an atomic one */
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

static inline void rec_task_set(struct rec_task *t, enum task_state state)
{
	*t->ready_n += (unsigned)(state != TASK_RUNNING) - (unsigned)(t->state != TASK_RUNNING);
	t->state = state;
}

struct recorder {
	const struct recorder_options *options;
	struct trace_writer *writer;
	struct trace_meta meta;
	struct rec_task *tasks;		/* round-robin list */
	struct rec_task *hash[HASH];
	unsigned tasks_n, ready_n;	/* ready_n: those that are not RUNNING */
	uint64_t hear_ns;		/* see rec_hear_soon(): not before */
	uint32_t serial;
	struct rec_task *entered;	/* in a call whose ENTER is not written yet: at most one */
	struct rec_task *current;	/* had the CPU last */
	struct rec_task *handled;	/* its stop is handled, or it is let go on; NULL: none */
	unsigned in_event;		/* one is being written: nobody may run */
	bool serves;			/* recorded tasks serve files: serves.c */
	struct rec_task *goes_on;	/* in user mode, when what is handled is handled */
	int goes_on_sig;		/* ... with this signal, or 0 */
	struct rec_task *first;		/* its stop must be handled before anybody runs */
	pid_t root;
	int root_status;
	bool root_done, started;
	/*
	 * HINDSIGHT_WITNESS=NAME: with sums of mappings of that name ("heap", "" = all) the bytes
	 * too, to find the one that differs
	 */
	const char *witness;
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
	bool failed;			/* trace ended early; the program goes on */
	struct err *write_error;
	int exec_pipe;			/* the first child reports a failed execve here */
	uint64_t random;		/* chaos.c */
	bool ticks_fast;		/* the next tick comes sooner than usual */
	unsigned alone;			/* tasks have gone on so often while no other was ready */
	bool ticks_often;		/* and ticks come more often: a task waits to run */
	uint64_t sigignore;		/* signals ignored when we were started */
	bool outer_filter;	/* a seccomp filter was there before ours: outer.c */
	unsigned outer_filters;	/* how many */
	bool dispatch;		/* ... and calls are stopped by system call user dispatch */
	bool supervised;	/* there are listeners of filters in the tree */
	/* a call of this number does nothing, and no filter minds it: -1 when there is none */
	uint64_t null_nr;
	struct rec_pt_dead *pt_dead;	/* tracees whose end is not reported yet */
	/* ptrace_bond.c: some are of our making; there are descriptors of signals */
	bool sigchlds, signalfds;
	/* buffer.c */
	uint8_t mapped[BUF_FILTER];	/* files somebody has mapped: buf_file_bit() */
	unsigned mapped_gen;
	struct rec_known *known;	/* call sites by file */
	struct rec_ud2s *ud2s;	/* instructions by file: ud2.c */
	struct buf_cpuid cpuid[BUF_CPUIDS];	/* what has been asked */
	unsigned cpuids;
	uint64_t proc_dev;
	/* hook_block.c */
	struct buf_shared *shared;	/* NULL: no task blocks in the hook */
	int shm;
	bool block_refused;
	uint64_t token_seq;	/* notes up to this one are in the trace */
	struct rec_task *token_runs;	/* has the processor, by these notes */
	struct rec_task *token_held;	/* had the token when we took it */
	struct rec_slices slices;
	struct rec_end end;
	/* tasks share descriptors but no memory: what a buffer knows of them may be stale */
	bool files_apart;
};

#endif
