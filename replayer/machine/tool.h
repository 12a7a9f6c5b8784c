/*
 * tool.h - how others take part when the machine runs a task: the search for a point, breakpoints,
 * probes.
 *
 * The machine runs tasks, applies events and knows no tool.  A tool registers a struct run_ops once
 * in this process; each function may be NULL.  The functions are called for every replay: a tool
 * that is not in use in this replay has nothing in replay.tool[] and answers RUN_NOT_MINE, false or
 * nothing.  A tool keeps its data in three slots that the machine never looks into: replay.tool[]
 * for a replay, rp_mm.tool[] for an address space, rp_task.tool_word[] for a task.
 *
 * In all of them the task is stopped.
 */
#ifndef REPLAYER_MACHINE_TOOL_H
#define REPLAYER_MACHINE_TOOL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct regs;
struct replay;
struct rp_task;
struct rp_mm;
struct trace_effect;
struct trace_event;

/*
 * Each tool has a number, which its room's header names, from 0 to TOOLS - 1: the index of its
 * slots.  Tools are asked in the order of their numbers.
 */
enum { TOOLS = 7 };

enum run_verdict {
	RUN_NOT_MINE,		/* the next tool, or the machine, decides */
	RUN_GO_ON,		/* it was the tool's, and is dealt with: resume the task */
	RUN_STOP,		/* it was the tool's, and the run is over: &rp_stopped */
};

struct run_ops {
	/* The tool may stop a task where there is no event, and has the debug registers. */
	bool watches;
	/* ---- around a run ---- */
	/*
	 * The task is about to be resumed by *request, PTRACE_SYSEMU; a tool may make that
	 * PTRACE_SYSEMU_SINGLESTEP.
	 */
	struct err *(*before_run)(struct replay *r, struct rp_task *t, int *request);
	/* The task has stopped with this wait status, t->regs have just been read. */
	void (*after_stop)(struct replay *r, struct rp_task *t, int status);
	/*
	 * After that: does t->regs.rip mean something to the tool as it is, so that it is not
	 * translated out of a stub of the buffer?
	 */
	bool (*keeps_place)(const struct replay *r, const struct rp_task *t, int status);
	/* The run has ended at a system call. */
	void (*on_call)(struct replay *r, struct rp_task *t);
	/*
	 * The machine has taken the task out of the buffer's hook.  True: the run is over for the
	 * tool.
	 */
	bool (*on_hook_end)(struct replay *r, struct rp_task *t);
	/* A stop that is no signal's. */
	struct err *(*on_interrupt)(struct replay *r, struct rp_task *t, enum run_verdict *ret);
	/*
	 * A signal stop.  ours: the instruction is one of a search's stub (landmark/), not the
	 * program's.
	 */
	struct err *(*on_signal)(struct replay *r, struct rp_task *t, siginfo_t *info, bool ours,
				 enum run_verdict *ret);
	/*
	 * A signal that neither the recording nor on_signal() explains; grown: the machine has let
	 * a stack grow for it.  True: go on.
	 */
	bool (*on_unexpected)(struct replay *r, struct rp_task *t, const siginfo_t *info,
			      bool grown);
	/* The last RUN_STOP was for something that a search's stub did: forget it. */
	void (*forget_stop)(struct replay *r);
	/*
	 * A displaced instruction has faulted: t->regs become those of the program, if they are
	 * `want' then.
	 */
	void (*on_fault)(struct replay *r, struct rp_task *t, const struct trace_event *ev);

	/* ---- around a search for a point ---- */
	/* A point at rip is about to be looked for. */
	void (*before_search)(struct replay *r, struct rp_task *t, uint64_t rip);
	/* The search has ended, the point found or not. */
	void (*after_search)(struct replay *r, struct rp_task *t);
	/* Before and after a search: nothing of the tool's may be in the task or in its memory. */
	void (*clear)(struct replay *r, struct rp_task *t);
	/* Nothing of the tool's may be in the code of any task. */
	void (*remove_code)(struct replay *r);
	/* Nothing of the tool's may be in the code of this address space. */
	void (*remove_code_from)(struct rp_mm *mm, pid_t real);
	/*
	 * Does the tool need the instruction at `at', or any byte in [start, end), so that nobody
	 * else may replace them?
	 */
	bool (*in_the_way)(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start,
			   uint64_t end);
	/*
	 * Is the task in code of the tool's own, so that its registers are no place of the
	 * program's?
	 */
	bool (*inside)(const struct replay *r, const struct rp_task *t);
	/*
	 * *regs, the present ones of the task, become the program's where the task is in a copy
	 * of the program's code.  False: it is in code of the tool's own.
	 */
	bool (*program_regs)(const struct replay *r, const struct rp_task *t, struct regs *regs);
	/*
	 * The replay has gone back to replay.where, or (search) to where the last search for a
	 * point began: what ran since is going to run again.
	 */
	void (*went_back)(struct replay *r, bool search);

	/* ---- memory ---- */
	/* bytes, read at addr, become what the program has there. */
	void (*hide)(const struct rp_mm *mm, uint64_t addr, void *bytes, size_t len);
	/* A range of this memory is about to be summed; that is over. */
	void (*sum_begins)(struct replay *r, struct rp_mm *mm, pid_t real);
	void (*sum_ends)(struct replay *r, struct rp_mm *mm, pid_t real);
	/* Has the tool mapped something at addr? */
	bool (*owns)(const struct rp_mm *mm, uint64_t addr);
	/* An effect on mappings is about to be applied in the middle of a run. */
	struct err *(*effect_begins)(struct replay *r, struct rp_task *t,
				     const struct trace_effect *e);
	/* Mappings in [addr, addr + len) are about to change. */
	void (*mapping_changes)(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
	/* Some of the memory can be executed from now on: mprotect(2). */
	void (*code_appears)(struct replay *r, struct rp_task *t);
	/*
	 * A new mapping of the program's, [addr, addr + len), needs the place of something of the
	 * tool's.
	 */
	struct err *(*make_room)(struct rp_task *t, uint64_t addr, uint64_t len);
	/*
	 * Something has been mapped that the program did not ask for just now: a stack has grown, a
	 * tool has got a page.  Or code is protected against the program's stores, or not any more.
	 */
	void (*mapped)(struct rp_mm *mm);
	/* Is it known that nobody is going to write to the code at addr? */
	bool (*fixed_code)(struct rp_task *t, uint64_t addr);
	/*
	 * `to' is a copy of the process of `from', or the other way round: what is mapped for the
	 * tool is there, too.
	 */
	void (*memory_same)(struct rp_mm *to, const struct rp_mm *from);
	/* copy has just been made of mm, after memory_same(). */
	void (*memory_copied)(struct rp_mm *copy, const struct rp_mm *mm);
	void (*memory_freed)(struct rp_mm *mm);
	/* The recording has forked child. */
	void (*process_forked)(struct replay *r, struct rp_task *child);

	/* ---- the rest ---- */
	/*
	 * The program has written this to its standard output or error.  True: the tool writes it
	 * out later.
	 */
	bool (*echo)(struct replay *r, int fd, const void *bytes, size_t len);
	/* The replay is being closed.  In the order of their numbers, from the highest on. */
	void (*close)(struct replay *r);
};

/*
 * The tool n is ops from now on, in all replays of this process.  Registering the same ops again
 * changes nothing; two tools with one number are a mistake of ours (BUG_ON).
 */
void rp_tool_register(unsigned n, const struct run_ops *ops);

/* Is there a tool in use in this replay that watches (struct run_ops)?  And one but that? */
bool rp_watched(const struct replay *r);
bool rp_tools_watch(const struct replay *r, unsigned but);

/* Each of these asks all tools, in their order; see struct run_ops. */
struct err *rp_tools_before_run(struct replay *r, struct rp_task *t, int *request) __must_check;
void rp_tools_after_stop(struct replay *r, struct rp_task *t, int status);
bool rp_tools_keep_place(const struct replay *r, const struct rp_task *t, int status);
void rp_tools_on_call(struct replay *r, struct rp_task *t);
bool rp_tools_on_hook_end(struct replay *r, struct rp_task *t);
struct err *rp_tools_on_interrupt(struct replay *r, struct rp_task *t,
				  enum run_verdict *ret) __must_check;
struct err *rp_tools_on_signal(struct replay *r, struct rp_task *t, siginfo_t *info, bool ours,
			       enum run_verdict *ret) __must_check;
bool rp_tools_on_unexpected(struct replay *r, struct rp_task *t, const siginfo_t *info, bool grown);
void rp_tools_forget_stop(struct replay *r);
void rp_tools_on_fault(struct replay *r, struct rp_task *t, const struct trace_event *ev);
void rp_tools_before_search(struct replay *r, struct rp_task *t, uint64_t rip);
void rp_tools_after_search(struct replay *r, struct rp_task *t);
void rp_tools_clear(struct replay *r, struct rp_task *t);
void rp_tools_remove_code(struct replay *r);
void rp_tools_remove_code_from(struct rp_mm *mm, pid_t real);
bool rp_tools_in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start,
			 uint64_t end);
bool rp_tools_inside(const struct replay *r, const struct rp_task *t);
bool rp_tools_program_regs(const struct replay *r, const struct rp_task *t, struct regs *regs);
void rp_tools_went_back(struct replay *r, bool search);
void rp_tools_hide(const struct rp_mm *mm, uint64_t addr, void *bytes, size_t len);
void rp_tools_sum_begins(struct replay *r, struct rp_mm *mm, pid_t real);
void rp_tools_sum_ends(struct replay *r, struct rp_mm *mm, pid_t real);
bool rp_tools_own(const struct rp_mm *mm, uint64_t addr);
struct err *rp_tools_effect_begins(struct replay *r, struct rp_task *t,
				   const struct trace_effect *e) __must_check;
void rp_tools_mapping_changes(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
void rp_tools_code_appears(struct replay *r, struct rp_task *t);
struct err *rp_tools_make_room(struct rp_task *t, uint64_t addr, uint64_t len) __must_check;
void rp_tools_mapped(struct rp_mm *mm);
bool rp_tools_fixed_code(struct rp_task *t, uint64_t addr);
void rp_tools_memory_same(struct rp_mm *to, const struct rp_mm *from);
void rp_tools_memory_copied(struct rp_mm *copy, const struct rp_mm *mm);
void rp_tools_memory_freed(struct rp_mm *mm);
void rp_tools_process_forked(struct replay *r, struct rp_task *child);
bool rp_tools_echo(struct replay *r, int fd, const void *bytes, size_t len);
void rp_tools_close(struct replay *r);

#endif
