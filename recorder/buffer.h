/*
 * buffer.h - what runs inside the recorded process: the system call buffer, tasks that sleep in it,
 * ud2 patches and patched instructions.
 *
 * The functions with a task that read or change its memory or registers require that it is stopped.
 * &err_gone: the task has died meanwhile, and its end is still to be handled.
 */
#ifndef RECORDER_BUFFER_H
#define RECORDER_BUFFER_H

#include "recorder/task.h"

/* Code of a file in a process, and what is known of its call sites. */
struct rec_code { uint64_t start, end, offset; struct rec_known *known; };
enum { CODES_MAX = 256 };

static inline uint64_t rec_buffer_end(const struct recorder *rec)
{
	return FIXED_BUFFER + rec->options->buffer_bytes;
}

/* ---- buffer.c: the system call buffer ---------------------------------------------------- */
/* Fills the fixed pages of a new program, which are mapped writable. */
struct err *rec_buffer_exec(struct recorder *rec, struct rec_task *t);
void rec_buffer_copy(struct rec_buffer *to, const struct rec_buffer *from);
void rec_buffer_put(struct rec_buffer *buf);
/* The mapping at addr has gone or been replaced. */
void rec_buffer_cut(struct rec_buffer *buf, uint64_t addr, uint64_t len);
/*
 * The task has stopped on its way through user mode: the calls it made are written as an event.
 * at_call: the task is outside of the hook, so the buffer may start again.
 */
struct err *rec_buffer_flush(struct recorder *rec, struct rec_task *t, bool at_call);
/* Descriptors have changed without the hook: makes it forget what it knows of them. */
void rec_buffer_forget(struct rec_task *t);
/* Makes the task's next call a traced one. */
void rec_buffer_close(struct rec_task *t);
/* Reads the registers as the program would have them without stubs. */
struct err *rec_regs_get(struct rec_task *t, struct regs *regs, enum patch_where *where);
/* Called before the task goes on in user mode: moves regs (or t->last) to where the code now is. */
struct err *rec_buffer_resume(struct recorder *rec, struct rec_task *t, const struct regs *regs);
/*
 * The task stopped inside the hook for a signal or our interrupt: it is to come out soon.  *mine:
 * the signal was a fault of the hook's own.
 */
struct err *rec_buffer_in_hook(struct recorder *rec, struct rec_task *t, struct regs *regs,
			       const siginfo_t *info, bool *mine);
/*
 * The task is at a traced call (regs behind the instruction) or a trapped cpuid (regs in front of
 * it): patches the instruction if that pays.
 */
void rec_buffer_site(struct recorder *rec, struct rec_task *t, uint64_t addr, enum patch_kind kind);
/*
 * Code of a file is now at addr.  to_run: mapped by exec or the loader, so that known calls are
 * patched; others (valgrind) map code to look at it.
 */
void rec_buffer_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
		       uint64_t offset, const struct stat *st, bool to_run);
/*
 * Code that moves gets its own bytes back, for a jump is relative; and so does code that the
 * program may write to now.
 */
struct err *rec_unpatch(struct recorder *rec, struct rec_task *t, uint64_t from, uint64_t len,
			uint64_t to, uint64_t to_len);
/* Instructions at addr have become ud2: the hook must not let the program write to them. */
struct err *rec_buffer_has_ud2(struct rec_task *t, uint64_t addr, uint64_t len);
void rec_buffer_file_mapped(struct recorder *rec, uint64_t dev, uint64_t ino);
void rec_buffer_off(struct rec_task *t);
/* Patched cpuid instructions trap from now on. */
void rec_buffer_no_cpuid(struct recorder *rec, struct rec_task *t);
bool rec_buffer_asleep(struct rec_task *t);
/*
 * regs are of a task that stopped in the hook: a call that the kernel would begin again returns
 * BUF_WOULD_BLOCK.  False: there is none, and regs are unchanged.
 */
bool rec_buffer_interrupted(struct regs *regs);
struct err *rec_buffer_state(struct rec_task *t, size_t offset, const void *bytes, size_t len);
/* Writes t's present view of files to the hook's memory in its address space. */
struct err *rec_buffer_tell_files(struct recorder *rec, struct rec_task *t);
/* These records were the task's. */
void rec_buffer_records(struct recorder *rec, struct rec_task *t, const uint8_t *bytes,
			uint64_t len);

/* ---- ud2.c ----------------------------------------------------------------------------------- */
/*
 * Code is at [addr, addr + len) now, of a file (from offset on) or of nobody (st NULL): where cpuid
 * and rdtsc do not trap they become ud2, with effects for the event that is being made.  Before
 * rec_buffer_mapped(). */
struct err *rec_ud2_code(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			  uint64_t offset, const struct stat *st);
/* Makes ud2 of the instructions that the task is about to run, from addr on, before end. */
struct err *rec_ud2_path(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t end);
/*
 * Called at an exec, rsp at the first instruction: makes AT_HWCAP and AT_HWCAP2 those of the level
 * that the program sees (auxv.c).
 */
struct err *rec_auxv_level(struct rec_task *t, uint64_t rsp);
/*
 * What t's new program is given becomes effects (ARGV, ENV, AUXV, NAME).  t: before its first
 * instruction, with maps, and rsp as the kernel has set it.
 */
void rec_exec_words(struct recorder *rec, struct rec_task *t, const struct tracee_maps *maps,
		    uint64_t rsp);
/*
 * An xgetbv, xsave or xrstor that has become ud2 (xsave.c), whose original bytes are text: the
 * instruction is done, with its effects; *done false: the instruction faults.
 */
struct err *rec_xsave_trap(struct recorder *rec, struct rec_task *t, struct regs *regs,
			   enum trap_insn insn, const uint8_t *text, unsigned len, bool *done);
void rec_ud2_deinit(struct recorder *rec);

/* ---- written_code.c: memory that is writable and executable at once ----------------------- */
/*
 * At the exit of the call that gave t's private pages [addr, addr + len) this protection: where
 * instructions become ud2, they are executable only when what is in them has been looked at.
 */
struct err *rec_written_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr,
			       uint64_t len, uint64_t prot);
/* A fault (SEGV_ACCERR) at addr; *mine: it was for this, and the event is written. */
struct err *rec_written_fault(struct recorder *rec, struct rec_task *t, const struct regs *regs,
			      uint64_t addr, bool *mine);

/*
 * Before mremap() of [addr, addr + len): *again: the task is in front of the call, and those pages
 * are one mapping as far as the program's own doing goes.
 */
struct err *rec_written_before_move(struct recorder *rec, struct rec_task *t, uint64_t addr,
				    uint64_t len, bool *again);

/* ---- written_ranges.c: where such memory is ------------------------------------------------ */
/* Consecutive pages that the program has mapped with this protection. */
struct rec_written {
	struct rec_written *next;
	uint64_t addr, len;
	int prot;
	unsigned pieces;	/* pages that are not as they were mapped */
	uint8_t *page;		/* of each: see written_code.c */
};
enum { WRITTEN_RUNS = 0x40, WRITTEN_OPEN = 0x80 };	/* in such a byte; 0: as it was mapped */
/* The pages in [addr, end) are unmapped, or have another protection. */
void rec_written_cut(struct rec_mm *mm, uint64_t addr, uint64_t end);
void rec_written_move(struct rec_mm *mm, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len);
void rec_written_copy(struct rec_mm *to, const struct rec_mm *from);
/* page: for each page what written_code.c has made of it; NULL: nothing yet */
struct rec_written *rec_written_add(struct rec_mm *mm, uint64_t addr, uint64_t len, int prot,
				    const uint8_t *page);
/* Counts the pieces of w, after its pages have changed. */
void rec_written_recount(struct rec_written *w);
/* Returns NULL where none is there. */
struct rec_written *rec_written_at(const struct rec_mm *mm, uint64_t addr);

/* ---- hook_block.c: tasks that sleep in the hook ---------------------------------------------- */
/*
 * At the exit of a call that the hook left to us: does this process do that so often that it should
 * sleep by itself?
 */
void rec_hook_block_consider(struct recorder *rec, struct rec_task *t);
/* t (or NULL: whoever wakes up first) has the token; it is about to run. */
void rec_token_give(struct recorder *rec, struct rec_task *t);
/* A task has stopped: while tasks run they are not to go on without us. */
void rec_token_hold(struct recorder *rec);
/* Returns the task that has the token; NULL: none has. */
struct rec_task *rec_token_holder(const struct recorder *rec);
/* Takes the token: true when no task had it, or its holder is stopped or dead. */
bool rec_token_take(struct recorder *rec);
/* Takes the token from a task that is asleep, and that stops as soon as it wakes up. */
void rec_token_seize(struct recorder *rec);
/* The token is ours: what happened meanwhile becomes events. */
void rec_hook_block_events(struct recorder *rec);
/* A stop of a task that blocks in the hook.  Its ptrace state is as reported. */
struct err *rec_hook_block_stop(struct recorder *rec, struct rec_task *t);
/* Called before a task that blocks in the hook goes on. */
struct err *rec_hook_block_resume(struct rec_task *t);
/*
 * t is asleep there, or about to go on: it is to stop for us when it has, or is to take, the
 * scheduling token.
 */
struct err *rec_hook_block_call_back(struct rec_task *t);
/* The child is a copy of the process, with this task alone. */
void rec_hook_block_forked(struct rec_task *child);
/* The task is being removed. */
void rec_hook_block_gone(struct recorder *rec, const struct rec_task *t);
void rec_hook_block_deinit(struct recorder *rec);
void rec_buffer_deinit(struct recorder *rec);

/* ---- tsc.c: a process that reads the time-stamp counter often does it without a trap --------- */

/* One more rdtsc has trapped.  Between events, task stopped. */
void rec_tsc_trapped(struct recorder *rec, struct rec_task *t);
/*
 * The last record in the buffer, which has just been read, is one of rdtsc, with so many more
 * values.
 */
void rec_tsc_seen(struct rec_task *t, uint64_t more);
/* A signal in the hook; *mine: it is a thread's first rdtsc there, which it makes again. */
struct err *rec_tsc_in_hook(struct recorder *rec, struct rec_task *t, const siginfo_t *info,
			    const struct regs *regs, bool *mine) __must_check;
/* There may be an rdtsc in new code that has not become ud2. */
struct err *rec_tsc_doubt(struct recorder *rec, struct rec_task *t) __must_check;
/* A mapping of the process can now be executed with prot. */
struct err *rec_tsc_mapped(struct recorder *rec, struct rec_task *t, uint64_t prot,
			   bool shared) __must_check;

#endif
