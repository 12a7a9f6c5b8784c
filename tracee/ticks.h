/*
 * ticks.h - count a task's retired conditional branches: a name for a point in time where it can be
 * had.
 *
 * Sources:
 *   pmu a hardware counter (perf_event_open), when ticks_choose() finds that it counts right
 *   step single steps, each looked at: slow, exact, everywhere; it exercises what the counter needs
 *   landmark  none: points are named by state alone (recorder/state.c), as they are in any case
 */
#ifndef TRACEE_TICKS_H
#define TRACEE_TICKS_H

#include "tracee/ptrace.h"

enum ticks_source { TICKS_AUTO, TICKS_PMU, TICKS_LANDMARK, TICKS_STEP };

extern const char *const ticks_names[];	/* "auto", "pmu", ... */

/* How a processor counts. */
struct ticks_cpu {
	char vendor[13];		/* of cpuid leaf 0 */
	unsigned family, model_first, model_last;
	uint64_t config;		/* of PERF_TYPE_RAW: retired conditional branches */
	unsigned skid;			/* an interrupt may come so many ticks late */
	const char *defect;		/* NULL, or what has to be switched off first */
};

/* Returns NULL for a processor of which nothing is known. */
const struct ticks_cpu *ticks_cpu_find(const char *vendor, unsigned family, unsigned model);
/* Returns the same for the processor that this process runs on. */
const struct ticks_cpu *ticks_cpu_here(void);

/*
 * Chooses what is used when `want` is asked for. auto: pmu where it can be trusted, else landmark.
 * ERR_UNSUPPORTED: pmu was asked for and cannot be had; the sentence says why.
 */
struct err *ticks_choose(enum ticks_source want, enum ticks_source *ret) __must_check;

/*
 * Returns the distance to program a counter with, `left` ticks before the target, so that the task
 * stops before the target whatever the skid; 0: the target is too near, and reached by breakpoint.
 */
uint64_t ticks_period(uint64_t left, unsigned skid);
/* Does a counter that showed these counts for runs of `expected` branches each count right? */
bool ticks_plausible(const uint64_t *counted, unsigned n, uint64_t expected);

/* Is the instruction at code (16 bytes) a conditional branch? */
bool ticks_is_branch(const uint8_t code[16]);

/*
 * Opens a hardware counter of a stopped task, counting from 0; sig != 0: this signal is sent to the
 * task after `period` ticks.
 */
struct err *ticks_open(pid_t tid, uint64_t period, int sig, int *fd_ret) __must_check;
uint64_t ticks_read(int fd);
void ticks_reset(int fd);

/*
 * Returns how long the pushf (*push) or popf at code is; 0: another instruction, or not whole
 * within room bytes.
 */
unsigned flags_insn(const uint8_t *code, unsigned room, bool *push);
/*
 * A step over code, begun without the trap flag, has ended: what it shows of that flag is taken
 * back.  Also when it ended before code was carried out, by a fault or another signal: code is
 * zeros then.
 */
void step_hide(pid_t tid, const uint8_t code[16]);
/*
 * Runs one instruction of a stopped task by request (PTRACE_SINGLESTEP, PTRACE_SYSEMU_SINGLESTEP):
 * *count is one more when it was a conditional branch.  Waits for the stop.
 */
struct err *ticks_step(pid_t tid, int request, uint64_t rip, uint64_t *count,
		       int *status_ret) __must_check;

#endif
