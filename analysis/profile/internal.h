/*
 * internal.h - what the files of this room share.
 *
 *	data.c		strings, frames, stacks, samples
 *	pipe.c		the same from one process to another
 *	pass.c		one replay with samples
 *	stacks.c	the stack of a sample: mappings, symbols, names
 *	waits.c		time in system calls
 *	take.c		passes at once, and their sum
 *	sofar.c		what a pass has found so far
 *	jit_names.c	names of code that the program made itself
 *	table.c		who has how much
 */
#ifndef ANALYSIS_PROFILE_INTERNAL_H
#define ANALYSIS_PROFILE_INTERNAL_H

#include "analysis/profile/cpuprof.h"
#include "base/bug.h"
#include "replayer/replay.h"
#include "symbols/symbols.h"

/* ---- stacks.c -------------------------------------------------------------------------------- */

struct stacks;
struct err *stacks_create(struct replay *r, const struct cpuprof_options *o, struct cpuprof *p,
			  struct stacks **ret) __must_check;
void stacks_destroy(struct stacks *s);
/* Fills in stack, state, why and trace of *ret, for a task with these registers. */
void stacks_take(struct stacks *s, int tid, int pid, uint64_t maps, const struct regs *regs,
		 struct cpuprof_sample *ret);

/* ---- waits.c --------------------------------------------------------------------------------- */

struct waits;
struct waits *waits_create(struct replay *r, struct stacks *stacks, struct cpuprof *p);
void waits_destroy(struct waits *w);
/* After an event; pid: whose waits are wanted, 0 = everybody's. */
void waits_event(struct waits *w, int pid);

/* ---- pass.c ---------------------------------------------------------------------------------- */

/* Shared with who waits for the pass. */
enum { SOFAR_TOP = CPUPROF_SOFAR };
struct pass_progress {
	volatile uint64_t event, samples, weight;
	struct { char name[64]; volatile uint64_t weight; } top[SOFAR_TOP];
};

struct err *pass_run(const char *trace, const struct cpuprof_options *o, unsigned pass,
		     struct pass_progress *progress, struct cpuprof *p) __must_check;

/* ---- sofar.c --------------------------------------------------------------------------------- */

struct sofar;
struct sofar *sofar_create(void);
void sofar_destroy(struct sofar *s);
/* After it was added to p. */
void sofar_sample(struct sofar *s, const struct cpuprof *p, const struct cpuprof_sample *sample,
		  struct pass_progress *to);

/* ---- jit_names.c ----------------------------------------------------------------------------- */

/* When all passes are over. */
struct err *jit_names(const char *trace, const struct cpuprof_options *o,
		      struct cpuprof *p) __must_check;

#endif
