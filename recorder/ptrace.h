/*
 * ptrace.h - recorded programs that trace recorded programs.
 *
 * The kernel allows a task one tracer, and that is the recorder.  So the recorder plays the
 * kernel's part for a program that calls ptrace(): a *tracee* here is a recorded task that another
 * recorded task, its *tracer*, believes to trace.  A tracee that would stop for its tracer is left
 * in the stop that the recorder sees, and is not resumed (it is *held*: TASK_RUNNING to the
 * scheduler, which waits for news of it).  The tracer's calls look at it there.
 *
 *	recorder's stop of the tracee	emulated stop	when the tracer resumes the tracee
 *	-----------------------------	-------------	---------------------------------
 *	signal			PT_SIGNAL	again, with the tracer's signal
 *	seccomp, syscall entry		PT_ENTRY	again, with its present registers
 *	STOP_CLONE, STOP_EXIT,		PT_CLONE, ...	the same stop is handled again
 *	STOP_GROUP, vfork's exit
 *	whatever; READY at a point	PT_EXIT, PT_TRAP, PT_EXEC, PT_TOLD	READY
 *	that has a name
 *
 * Every emulated stop is at a point that replay can find, so what the tracer changes there are
 * effects of NOTE events of the tracee: WRITE for memory, REGS and XSTATE for registers.  Results
 * of the tracer's own calls (registers it reads, wait statuses) are effects of these calls, as for
 * any other call.
 *
 * A tracee's system calls are not buffered, and its code is as the program has it: its process is
 * unpatched at its first stop.
 */
#ifndef RECORDER_PTRACE_H
#define RECORDER_PTRACE_H

#include "recorder/internal.h"

enum pt_stop {
	PT_RUNS = 0,
	PT_SIGNAL,	/* a signal is about to be delivered; the recorder's stop is the same */
	/* shown as such a stop, but there is no real one: a step, a new child's SIGSTOP */
	PT_TOLD,
	PT_ENTRY, PT_EXIT,	/* of a system call */
	PT_SECCOMP,	/* a filter of the program's has answered SECCOMP_RET_TRACE */
	PT_CLONE, PT_VFORK_DONE, PT_EXEC, PT_DEATH,	/* PTRACE_EVENT_* */
	PT_GROUP,	/* group stop */
	PT_TRAP,	/* PTRACE_EVENT_STOP that is no group stop */
};

enum { PT_INJECTED_MAX = 8 };

struct rec_pt {
	struct rec_task *tracer;	/* NULL: let go, and one more stop has to be handled */
	bool watches;			/* debug registers have been set */
	bool seized, interrupt;		/* interrupt: to stop before it runs on */
	bool listening;			/* PTRACE_LISTEN: neither stopped nor resumed */
	uint64_t options;
	int mode;			/* the request that resumed it, PTRACE_CONT at first */
	int entry_mode;			/* the same at PT_ENTRY */
	/*
	 * it goes on although its group is stopped by this: the kernel calls all of its traps group
	 * stops
	 */
	int group_sig;
	/* the call has been shown for a filter: SECCOMP_RET_TRACE lets it pass now */
	bool rechecked;
	bool stepped;			/* its call began with a single step */
	bool quiet;			/* in a call that the vdso makes only in a recording */
	enum pt_stop stop;
	int status;			/* as wait4() shows it */
	bool pending;			/* ... and has not yet */
	struct rec_task *taken;		/* this task's wait call is about to show it */
	bool has_info, own_ids;	/* own_ids: pid and uid of info are the tracee's own */
	siginfo_t info;
	uint64_t message;
	int real_status;		/* of the recorder's stop */
	bool resumed;			/* this stop is to be handled again */
	int sig;
	bool child;			/* of the tracer's process */
	siginfo_t injected[PT_INJECTED_MAX];	/* signals that pass without a stop */
	unsigned injected_n;
};

/* A tracee that is gone, and whose end its tracer has not been shown. */
struct rec_pt_dead {
	struct rec_pt_dead *next;
	struct rec_task *tracer, *taken;
	pid_t tid, seen, pgid;	/* seen, pgid: by the tracer */
	int status;
	uint32_t uid;
};

static inline bool rec_pt_traced(const struct rec_task *t) { return t->pt && t->pt->tracer; }
/* Is the task in an emulated stop, and not resumed? */
static inline bool rec_pt_held(const struct rec_task *t)
{
	return t->pt && t->pt->stop != PT_RUNS && !t->pt->resumed && !t->pt->listening;
}

/* ---- ptrace_stop.c: a tracee's stops --------------------------------------------------------- */
/*
 * The tracee is at a point that has a name: holds it there, and tells its tracer.  info: NULL, or
 * that of the stop.
 */
void rec_pt_hold(struct recorder *rec, struct rec_task *t, enum pt_stop stop, int code,
		 const siginfo_t *info, uint64_t message);
/* The tracer lets the tracee go on with a signal, or 0. */
void rec_pt_resume(struct recorder *rec, struct rec_task *t, int sig);
/*
 * The recorder's stop is being handled: for the second time, because the tracer has resumed the
 * tracee from this stop?  *sig: the signal that the tracee is to get.
 */
bool rec_pt_passed(struct rec_task *t, enum pt_stop stop, int *sig);
/* Called where the recorder handles such a stop; true: the tracee is held now. */
bool rec_pt_before_user(struct recorder *rec, struct rec_task *t);
bool rec_pt_entry(struct recorder *rec, struct rec_task *t);
/* Is the stop handled again after PT_ENTRY or PT_SECCOMP? */
bool rec_pt_entry_passed(struct rec_task *t);
/*
 * A filter has answered SECCOMP_RET_TRACE.  False: no tracer wants to know.  *held: the tracee is
 * held; else the call goes on.
 */
bool rec_pt_seccomp(struct recorder *rec, struct rec_task *t, uint64_t data, bool *held);
void rec_pt_exit(struct recorder *rec, struct rec_task *t);
bool rec_pt_vfork_done(struct recorder *rec, struct rec_task *t);
void rec_pt_execed(struct recorder *rec, struct rec_task *t, pid_t former);
bool rec_pt_dying(struct recorder *rec, struct rec_task *t, uint64_t status);
bool rec_pt_group_stop(struct recorder *rec, struct rec_task *t);
/* Is this STOP_GROUP only an interrupt of the recorder's? */
bool rec_pt_past_group(const struct rec_task *t);
bool rec_pt_event_stop(struct recorder *rec, struct rec_task *t);
/* The parent at STOP_CLONE; the trace has the child's beginning. */
bool rec_pt_cloned(struct recorder *rec, struct rec_task *parent, struct rec_task *child,
		   uint64_t flags, uint64_t exit_signal);
/* Does the tracee go on by single steps? */
bool rec_pt_steps(const struct rec_task *t);
/* Makes one such step, with a signal or 0. */
struct err *rec_pt_step(struct recorder *rec, struct rec_task *t, int sig);
/*
 * The tracee has done something that counts as one step.  code: TRAP_TRACE for an instruction,
 * TRAP_BRKPT for a system call, SIGTRAP for the way into a handler.
 */
void rec_pt_stepped(struct recorder *rec, struct rec_task *t, int code);
/*
 * Did a debug register of its tracer's cause this SIGTRAP, alone or at the end of a step of the
 * recorder's?
 */
bool rec_pt_is_watch(const struct rec_task *t, int sig, siginfo_t *info);
/* A debug register has stopped the tracee. */
struct err *rec_pt_watched(struct recorder *rec, struct rec_task *t, const struct regs *regs,
			   const siginfo_t *info);

/* ---- ptrace_bond.c: who traces whom ---------------------------------------------------------- */
void rec_pt_attach(struct recorder *rec, struct rec_task *t, struct rec_task *tracer, bool seized,
		   uint64_t options);
void rec_pt_detach(struct recorder *rec, struct rec_task *t, int sig);
void rec_pt_free(struct rec_task *t);
/* A task has ended, with this wait status. */
void rec_pt_ended(struct recorder *rec, struct rec_task *t, int status);
/* The tracer runs no more: the tasks that it traces are let go. */
void rec_pt_tracer_gone(struct recorder *rec, struct rec_task *tracer);
/* The structure of t is about to be freed. */
void rec_pt_gone(struct recorder *rec, struct rec_task *t);
/* Returns the process of the task's parent; 0: not known. */
pid_t rec_pt_parent(pid_t tid);
/* Returns the process that traces t, as viewer sees it: numbers.c. */
pid_t rec_pt_tracer_seen(struct recorder *rec, struct rec_task *viewer, const struct rec_task *t);
/* Send t this signal, which passes without a stop (inject), or as any signal does. */
void rec_pt_inject(struct rec_task *t, const siginfo_t *info);
void rec_pt_send(struct rec_task *t, const siginfo_t *info);
/*
 * Was this signal sent by the above (then: its true siginfo, and it passes); or is it a SIGCHLD of
 * ours to a tracer (*changed)?
 */
bool rec_pt_injected(struct rec_task *t, siginfo_t *info);
bool rec_pt_sigchld(siginfo_t *info);
/* t has sent a siginfo that is another in the kernel: what a signalfd gives has to be put right. */
void rec_pt_siginfo_hidden(struct recorder *rec, struct rec_task *t);
/* Hooks of calls by which a program reads its signals. */
struct err *rec_pt_signalfd_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				 struct regs *regs, int64_t ret);
struct err *rec_pt_signalfd_read_exit(struct recorder *rec, struct rec_task *t,
				      struct rec_call *call, struct regs *regs, int64_t ret);
/* Gives news of t to its tracer.  code: CLD_*. */
void rec_pt_notify(struct recorder *rec, struct rec_task *t, struct rec_task *tracer,
		   int code, int status);
/*
 * The address space of a tracee: its code is as the program has it from now on, and nothing is
 * buffered.
 */
void rec_pt_unpatch(struct recorder *rec, struct rec_task *t);
void rec_pt_repatch(struct recorder *rec, struct rec_task *t);

/* ---- ptrace_request.c, ptrace_wait.c: the calls ---------------------------------------------- */
void rec_pt_request_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call);
struct err *rec_pt_request_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				struct regs *regs, int64_t ret);
void rec_pt_wait_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call);
struct err *rec_pt_wait_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			     struct regs *regs, int64_t ret);
/* Something may have changed for tasks that wait in this process: they look again. */
void rec_pt_wake(struct recorder *rec, pid_t pid);

#endif
