/*
 * internal.h - the calls between the recorder's files; those of four groups have headers of their
 * own.
 *
 * Unless the comment says otherwise, the task is stopped when a function is called and when it
 * returns.  &err_gone: the task has died meanwhile, and its end is still to be handled; what the
 * function was to do may be half done.
 */
#ifndef RECORDER_INTERNAL_H
#define RECORDER_INTERNAL_H

#include "recorder/buffer.h"
#include "recorder/files.h"
#include "recorder/slice.h"
#include "recorder/state.h"
#include "recorder/task.h"

/* ---- effect.c: the effects of the event that is being made ----------------------------------- */
void *rec_alloc(struct recorder *rec, size_t len);	/* lives until the event is written */
struct trace_effect *rec_effect(struct recorder *rec, enum trace_effect_kind kind);
/*
 * Reads the bytes that are now in the task's memory, whatever its protection (a write may have gone
 * to it), and adds a WRITE.
 */
void rec_effect_memory(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len);
/*
 * The effect of a result that the kernel stores where it can, and says nothing where it cannot:
 * replay could not write to shared memory that the program may only read.
 */
void rec_effect_stored(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len);
/* Adds bytes for replay to compare, as many as may be read. */
void rec_effect_witness(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len);
/* Adds the effect that these bytes went to addr. */
void rec_effect_bytes(struct recorder *rec, uint64_t addr, const void *bytes, size_t len);
/* Adds the effect that this patch (with bytes of its own) was made. */
void rec_effect_patch(struct recorder *rec, const struct patch *p);
void rec_effect_regs(struct recorder *rec, const struct regs *regs);
void rec_effect_xstate(struct recorder *rec, struct rec_task *t);
void rec_effect_siginfo(struct recorder *rec, int sig, const siginfo_t *info,
			enum trace_signal_disposition disposition);
void rec_effect_ret(struct recorder *rec, uint64_t ret);
/* Adds the strings of path arguments of t's call, for people who read a dump. */
void rec_effect_strings(struct recorder *rec, struct rec_task *t);
/* The effects collected so far, put aside to write another event in between. */
struct rec_pending {
	struct trace_effect *effect;
	unsigned effects, effects_size;
	struct rec_arena *arena;
};
void rec_pending_save(struct recorder *rec, struct rec_pending *saved);
void rec_pending_restore(struct recorder *rec, const struct rec_pending *saved);
/* The event is written: drops its effects. */
void rec_effects_drop(struct recorder *rec);
/* Returns a key for calls like this one: its number, and its command, as of an ioctl. */
static inline uint64_t rec_call_kind(const struct rec_call *call)
{
	return call->nr << 32 | (call->args[1] & 0xffffffff);
}
/* Returns true once for each key. */
bool rec_warn_once(struct recorder *rec, uint64_t key);

/* ---- event.c: write one event ---------------------------------------------------------------- */
/*
 * Writes an event with the effects added since the last one, and drops these.  Writes the ENTER of
 * another task's call first where that is due.  Failures of the trace are kept in rec.
 */
void rec_write(struct recorder *rec, struct rec_task *t, enum trace_event_kind kind,
	       enum trace_place place, const struct regs *regs, int64_t ret);
/* Writes the event without sums, where memory is not as replay has it after this event. */
void rec_write_between(struct recorder *rec, struct rec_task *t, enum trace_event_kind kind,
		       const struct regs *regs, int64_t ret);
/* Makes flags that instructions leave undefined those of another maker's processor (tests). */
void rec_emulate_flags(struct regs *regs);
/* A call has begun and others will act before it ends. */
void rec_write_enter(struct recorder *rec);
/* Adds the sum of one mapping; all: see tracee_pages(). */
void rec_effect_sum(struct recorder *rec, struct rec_task *t, const struct tracee_map *m, bool all);
void rec_sums(struct recorder *rec, struct rec_task *t);
/* The trace takes no more: says so once, and the program goes on without it.  Frees err. */
void rec_trace_failed(struct recorder *rec, struct err *err);

/* ---- map_file.c: the file behind a mapping --------------------------------------------------- */
enum { REC_MAP_NAME = 4096 };
/*
 * Opens the file for reading; returns the descriptor, the file's fstat() and its name as it leads
 * there from some root; -1 where the file cannot be opened: st is undefined then.
 */
int rec_map_file(const struct rec_task *t, const struct tracee_map *m, struct stat *st,
		 char name[REC_MAP_NAME]);

/* ---- maps.c: mappings, and what of them is the program's state ------------------------------- */
/* Does this mapping belong to the program's state?  Not what is ours. */
bool rec_sum_wanted(const struct rec_mm *mm, const struct tracee_map *m);
bool rec_is_scratch(const struct rec_mm *mm, const struct tracee_map *m);
/* Is the mapping shared with what is not recorded, so that it may change while it is read? */
bool rec_is_outside(const struct rec_mm *mm, const struct tracee_map *m);
/* Returns how much of [addr, addr + len), from addr on, the program may write. */
uint64_t rec_writable(struct rec_task *t, uint64_t addr, uint64_t len);
/*
 * Returns false where reading the mapping would bring pages into being (it is large and shared, and
 * its holes are not known).
 */
bool rec_map_readable(struct rec_task *t, const struct tracee_map *m);
/* tracee_pages() for a mapping of a recorded process: holes are not read. */
struct err *rec_map_pages(struct rec_task *t, const struct tracee_map *m, tracee_page_fn *fn,
			  void *ctx);
/* May a call that a supervisor has let go on be writing to the task's memory just now? */
bool rec_filter_writes(const struct recorder *rec, const struct rec_task *t);
struct rec_range {
	uint64_t start, end;
};
/* May it be writing to a part of [start, end)?  *ret: the first such part, else empty. */
bool rec_filter_next_write(const struct recorder *rec, const struct rec_task *t, uint64_t start,
			   uint64_t end, struct rec_range *ret);

/* ---- task.c: the list of tasks, and what they share ------------------------------------------ */
struct rec_task *rec_task_find(struct recorder *rec, pid_t tid);
/* Is the task its process's only thread? */
bool rec_task_alone(const struct recorder *rec, const struct rec_task *t);
struct rec_task *rec_task_add(struct recorder *rec, pid_t tid, pid_t pid);
/* Takes t out of the list.  death.c frees it. */
void rec_task_unlink(struct recorder *rec, struct rec_task *t);
void rec_task_rename(struct recorder *rec, struct rec_task *t, pid_t tid);
void rec_task_call_drop(struct rec_call *call);
/* Is the task a zombie, or gone?  A leader is not reported while other threads are there. */
bool rec_task_is_dead(pid_t tid);
bool rec_task_is_dying(pid_t tid);
bool rec_others_ready(const struct recorder *rec, const struct rec_task *t);
struct rec_mm *rec_mm_create(void);
struct rec_mm *rec_mm_copy(const struct rec_mm *mm);
struct rec_scratch *rec_scratch_add(struct rec_mm *mm, uint64_t addr, uint64_t len, uint32_t owner);
void rec_scratch_drop(struct rec_mm *mm, struct rec_scratch *s);
void rec_mm_put(struct rec_mm *mm);
void rec_files_put(struct rec_files *files);
struct rec_files *rec_files_copy(const struct rec_files *files);
void rec_sighand_put(struct rec_sighand *sighand);
struct rec_sighand *rec_sighand_copy(const struct rec_sighand *sighand);

/* ---- clone.c, death.c ------------------------------------------------------------------------ */
/* A task of the recorded tree, stopped at STOP_CLONE, has made another one, which is added. */
struct err *rec_task_cloned(struct recorder *rec, struct rec_task *parent);
/* Called at the entry and the exit of that call. */
void rec_clone_enter(struct rec_task *t);
void rec_clone_exit(struct rec_task *t, int64_t ret);
/* Called before a new program, and when there is one: follow what the kernel does to memory. */
void rec_exec_leaves(struct recorder *rec, struct rec_task *t);
void rec_exec_left(struct recorder *rec, struct rec_task *t);
struct err *rec_task_exiting(struct recorder *rec, struct rec_task *t);
void rec_task_exited(struct recorder *rec, struct rec_task *t, int status);
/*
 * The task is going to die with this status, and we shall not be told: writes what its exit writes,
 * and the event.
 */
void rec_task_dying(struct recorder *rec, struct rec_task *t, int status);
/* Frees t, and its share of what it shares. */
void rec_task_remove(struct recorder *rec, struct rec_task *t);

/* ---- numbers.c: as a task sees them ---------------------------------------------------------- */
/* Returns the number under which viewer sees t; 0: viewer does not see t. */
pid_t rec_tid_seen(struct rec_task *viewer, struct rec_task *t);
struct rec_task *rec_task_seen(struct recorder *rec, struct rec_task *viewer, pid_t number);
pid_t rec_pgid_seen(struct rec_task *viewer, pid_t pid);
uint32_t rec_uid_seen(const struct rec_task *viewer, pid_t tid);
/* Is the task in the recorder's own pid namespace? */
bool rec_sees_all(struct rec_task *viewer);
/* The task's number has changed: forgets the numbers that are known. */
void rec_numbers_forget(struct rec_task *t);

/* ---- policy.c: real-time policies ------------------------------------------------------------ */
/* A policy that t has in the kernel and that would starve the recorder is taken from it. */
void rec_policy_take(struct rec_task *t);
void rec_policy_inherit(struct rec_task *child, const struct rec_task *parent);
/* Is the task's policy in the kernel one that lets it make no other task? */
bool rec_policy_no_fork(const struct rec_task *t);
void rec_policy_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call);
struct err *rec_policy_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			    struct regs *regs, int64_t ret);

/* ---- wait.c: to go on, and to stop ----------------------------------------------------------- */
/* Resumes the stopped task: it is RUNNING then, or about to die, which is no error. */
struct err *rec_resume(struct rec_task *t, int request, int sig);
/*
 * The task is to stop soon.  A task that had stopped already, unheard, stops once more when it goes
 * on.
 */
bool rec_interrupt(struct rec_task *t);
/*
 * waitpid has told of this stop.  A last stop is not told again: what is being done then fails with
 * &err_gone, and the end is handled next.
 */
void rec_task_stopped(struct rec_task *t, int status);
/* The task can go on in user mode; not after its last stop. */
void rec_task_ready(struct rec_task *t);
/* Waits for any stop of any task, which becomes STOPPED; see wait.c for false. */
bool rec_wait_any(struct recorder *rec, bool block, bool ticks);
/* waitpid() told this of tid, which may be a task of which nothing is known yet. */
void rec_note_status(struct recorder *rec, pid_t tid, int status);
/* Waits until this task stops, however long.  &err_gone: the task died instead. */
struct err *rec_wait_task(struct recorder *rec, struct rec_task *t, int *status_ret);
/* The task that may run is stopped: notes what has become of the others. */
void rec_hear_others(struct recorder *rec);
/*
 * The same, for the order in which tasks run alone: where there are so many tasks that the kernel
 * takes long to look at all of them, not more often than a part of the time is spent on it.
 */
void rec_hear_soon(struct recorder *rec);
/* With so many tasks the kernel takes long to look at all of them. */
enum { TASKS_MANY = 48 };
/*
 * The stop is handled, and t is to go on in user mode, with a signal or 0.  The main loop resumes
 * t when the function that handles the stop has returned.
 */
struct err *rec_go_on(struct recorder *rec, struct rec_task *t, int sig);
/* t is in no group stop any more. */
void rec_group_stop_ends(struct recorder *rec, struct rec_task *t);

/* ---- resume_point.c: where the last event left a task ---------------------------------------- */
void rec_resume_point_set(struct rec_task *t, const struct regs *regs, bool computing);
void rec_resume_point_behind_handler(struct rec_task *t,
				     const struct regs *regs); /* by rt_sigreturn */
/* A signal strikes at regs, which place names. */
void rec_resume_point_interrupted(struct rec_task *t, enum trace_place place,
				  const struct regs *regs);
bool rec_resume_point_kept(const struct rec_task *t, const struct regs *regs);
bool rec_resume_point_same(const struct regs *a, const struct regs *b);
/* Would a SIGTRAP of ours reset what the program has set for this signal? */
bool rec_trap_blocked(const struct rec_task *t);

/* ---- sched.c: which task runs next; the main loop -------------------------------------------- */
struct err *rec_loop(struct recorder *rec);

/* ---- inject.c: calls of the recorder's own --------------------------------------------------- */
/*
 * The task is at an entry stop: its call is not made, and the task is READY in front of the
 * instruction.
 */
struct err *rec_syscall_abort(struct recorder *rec, struct rec_task *t, const struct regs *entry);
/*
 * Run a call of ours, as `in' says (its stash is rec_stash()), or by the instruction in our page.
 * The task is stopped on its way to user mode, and its registers are the same afterwards.  *ret is
 * the call's result, negative where the kernel refuses it; &err_gone: the task has died.
 */
struct err *rec_inject_by(struct rec_task *t, struct inject *in, int64_t *ret, long nr,
			  const uint64_t args[6]);
struct err *rec_inject(struct recorder *rec, struct rec_task *t, int64_t *ret, long nr, uint64_t a0,
		       uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);
/* Maps memory in the stopped task, for rec_scratch_add(); *ret = 0: there is none to be had. */
struct err *rec_scratch_map(struct recorder *rec, struct rec_task *t, uint64_t len, uint64_t *ret);
void rec_stash(void *ctx, pid_t tid, int sig, const siginfo_t *info);

/* ---- syscall.c ---------------------------------------------------------------- */
struct err *rec_syscall_entry(struct recorder *rec, struct rec_task *t);
struct err *rec_syscall_exit(struct recorder *rec, struct rec_task *t);

/* ---- changes.c: what a call without a full row did to memory --------------------------------- */
struct rec_changes;
/* Called at the entry stop of the call.  NULL: the task is dying. */
struct rec_changes *rec_changes_before(struct rec_task *t);
/* Called at the exit stop: adds effects for all that has changed since. */
void rec_changes_after(struct recorder *rec, struct rec_task *t, struct rec_changes *c);
/* Called instead: warns of changes that are not in the effects collected so far. */
void rec_changes_audit(struct recorder *rec, struct rec_task *t, struct rec_changes *c);
void rec_changes_drop(struct rec_changes *c);

/* ---- partial.c: calls that failed half way ------------------------------------------------ */
/*
 * Add effects for the range as it is now, after a failed madvise of this kind; mprotect (fn is
 * called for each mapping in the range); mmap or mremap, which may have unmapped what was there.
 */
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
 * t has been resumed in the kernel.  True: the task was in such a call and has come back;
 * false, after a NOTE, where it sleeps in one.
 */
bool rec_pi_sleeps(struct recorder *rec, struct rec_task *t);
/* A task that may have had such a lock has died: the task that gets the lock is handled next. */
void rec_pi_woken(struct recorder *rec);

/* ---- outside.c: memory that is shared with what is not recorded ------------------------------ */
/*
 * [addr, addr + len) has been mapped, of a device and no file: adds effects to the event that is
 * being made.
 */
void rec_outside_device(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			const char *name);
/* The same for a mapping of a file, MAP_SHARED.  fd: open for reading, of ours. */
void rec_outside_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			int fd, const struct stat *st, bool writable);
/* No recorded task has the file mapped any more. */
void rec_outside_unmapped(uint64_t dev, uint64_t ino);
/* Is the file shared with a process that is not recorded? */
bool rec_outside_knows(uint64_t dev, uint64_t ino);
/* t is about to go on in user mode; no event is being made.  Changes become a NOTE. */
void rec_outside_look(struct recorder *rec, struct rec_task *t);
void rec_outside_cut(struct rec_mm *mm, uint64_t addr, uint64_t end);
void rec_outside_move(struct rec_mm *mm, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len);
void rec_outside_copy(struct rec_mm *to, const struct rec_mm *from);

/* ---- lengths.c ---------------------------------------------------------------------------- */
/*
 * The task is at the entry of a call that cannot be planned: lists its outputs after asking the
 * kernel.  False: the outputs remain unknown.
 */
bool rec_lengths(struct rec_task *t, struct sys_plan *plan);

/* ---- outer.c: inside somebody else's sandbox ---------------------------------------- */
void rec_outer_look(struct recorder *rec);
/* Returns what somebody else's filter says to a call (SECCOMP_RET_...), which is not made. */
uint32_t rec_outer_answer(uint64_t nr, const uint64_t args[6]);
void rec_outer_try(struct recorder *rec, pid_t pid);
/* Turns dispatch on or off; does nothing where by_dispatch is not set. */
struct err *rec_dispatch(struct rec_task *t, bool on);
/* Is the task's stop one of dispatch? */
bool rec_dispatch_stopped(const struct rec_task *t);
/* Will its next stop be one, when the task goes on from a stop of another kind? */
bool rec_dispatch_pending(const struct rec_task *t);
/* Brings a task at such a stop to the entry stop of the call, which is handled next. */
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

/* ---- disposition.c: what signals would do to a task ------------------------------------------ */
#define SIGBIT(s) (1ull << ((s) - 1))
#define STOP_SIGNALS (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))
enum disposition { SIGNAL_HANDLED, SIGNAL_IGNORED, SIGNAL_FATAL };
enum disposition rec_signal_disposition(const struct rec_task *t, int sig, bool synchronous);
/* Returns the signals that the kernel has for the task and its process and has not delivered. */
uint64_t rec_signals_pending(pid_t tid);
/* Does the task have a handler for sig, a tracer that wants it, or die of it? */
bool rec_signal_matters(const struct rec_task *t, int sig);
/* Is the signal's default to stop the process? */
bool rec_signal_stops(int sig);
/*
 * Is such a signal, or one that stops the process, there for the task, which is about to leave the
 * kernel?  other_mask: not by the task's own mask, but by one that the call had.
 */
bool rec_signal_awaits(const struct rec_task *t, bool other_mask);
/*
 * A signal that the kernel forced was ours: where it was blocked or ignored, it is again
 * (force_sig_info_to_task()).
 */
struct err *rec_signal_unforce(struct recorder *rec, struct rec_task *t, int sig);

/* ---- signal.c ------------------------------------------------------------------ */
struct err *rec_signal_stop(struct recorder *rec, struct rec_task *t, int sig);
/*
 * An instruction that we made trap is done: writes the event, with *after (less RF) as its
 * registers.
 */
struct err *rec_trap_done(struct recorder *rec, struct rec_task *t, int sig,
			  const struct regs *before, struct regs *after);
/*
 * again.c: called at the entry, when all is known of the call but its outputs; and at the exit,
 * where it returns the result to give.
 */
void rec_again_enter(struct rec_task *t, struct rec_call *call);
int64_t rec_again_exit(struct rec_task *t, const struct rec_call *call, int64_t ret);
/* Sends the deferred signals again: the task is READY at a point that has a name. */
void rec_signals_resend(struct recorder *rec, struct rec_task *t);
/* Signals waited for a point with a name, and one came (found) or not. */
void rec_signal_waited(struct rec_task *t, bool found);

/* Do signals come one after the other, so that the program does not get on? */
bool rec_signal_standing(const struct rec_task *t);
/* Has a fatal signal waited long enough for a point that has a name? */
bool rec_signal_overdue(const struct rec_task *t);
/* rt_sigtimedwait() has given a signal: gives the program its true siginfo. */
struct err *rec_signal_taken_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				  struct regs *regs, int64_t ret);

/* ---- queued_fault.c ---------------------------------------------------------------- */
/* At entry of a call that sends a signal with a siginfo of the program's. */
void rec_queued_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call);
/* The si_code of a fault becomes one that is no fault's, as the kernel has it. */
void rec_queued_hide(siginfo_t *info);
/* The other way; false: nothing to do, it is none. */
bool rec_queued_show(siginfo_t *info);
/* The same of what a signalfd gives. */
struct signalfd_siginfo;
bool rec_queued_show_fd(struct signalfd_siginfo *s);

/* ---- waiting.c ------------------------------------------------------------------- */
/*
 * Adds a signal as the kernel does: of signals that are not real-time signals, only the first of a
 * kind is kept.
 */
void rec_signals_add(struct rec_signals *s, const siginfo_t *info);
void rec_signals_remove(struct rec_signals *s, unsigned i);
/*
 * The signals that wait for t, which is stopped, are blocked for a while: its mask must be put back
 * before it makes a call. False: none waits, or t is dead; nothing is changed.
 */
bool rec_signals_hold(struct rec_task *t, uint64_t *was);
void rec_signals_release(struct rec_task *t, uint64_t was);
/*
 * Calls fn for the signals that wait in the kernel for t, which is stopped, until fn returns true:
 * true then.  flags: PTRACE_PEEKSIGINFO_SHARED for its process's, 0 for its own.
 */
typedef bool rec_signal_fn(const siginfo_t *info, void *ctx);
bool rec_signals_find(const struct rec_task *t, unsigned flags, rec_signal_fn *fn, void *ctx);
/*
 * t, stopped where its last event left it, will stop for these before it has run an instruction:
 * t->due.
 */
void rec_signals_due(const struct recorder *rec, struct rec_task *t);
/*
 * t has stopped there, not for a signal: is one of them still to come?  Asked a second time, no:
 * what the kernel has not delivered when the task went on is blocked.
 */
bool rec_signals_come(struct rec_task *t);

/* ---- init.c: process 1 of a pid namespace ------------------------------------------- */
bool rec_is_init(const struct rec_task *t);
/* The fault has its event: ends the process.  t is gone after that. */
struct err *rec_init_dies(struct recorder *rec, struct rec_task *t, int sig);

/* ---- foreign.c ------------------------------------------------------------------- */
/* Called at the entry of execve and execveat.  True: the program is a 32-bit one, and answered. */
bool rec_exec_foreign(struct recorder *rec, struct rec_task *t, struct rec_call *call);

/* ---- exec.c --------------------------------------------------------------------- */
struct err *rec_exec(struct recorder *rec, struct rec_task *t);

/* ---- end.c ---------------------------------------------------------------------- */
void rec_end_signals(struct recorder *rec);
/* Are we to end, or has the first process left others behind?  Often called. */
void rec_term_check(struct recorder *rec);

#endif
