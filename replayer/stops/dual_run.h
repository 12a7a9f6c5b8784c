/*
 * dual_run.h - a run of instructions that use the same few addresses, tested once: for dual_jump.c.
 */
#ifndef REPLAYER_STOPS_DUAL_RUN_H
#define REPLAYER_STOPS_DUAL_RUN_H

#include "replayer/stops/dual_emit.h"
#include "replayer/stops/dual_form.h"

enum { RUN_INSNS = 48, RUN_KEYS = 4, RUN_WINDOW = 128 };

/* An address, and what is used from there on, from min to max. */
struct run_key { struct place place; unsigned page; int32_t min, max; };

struct run_insn {
	uint64_t addr, target;		/* target: of a direct branch, 0: none */
	uint8_t len, bytes[16];
	bool ends;			/* no run goes over it */
	/*
	 * operand: in memory, and can have another displacement; stack: by rsp, it stays as it is
	 */
	bool stores, operand, stack;
	struct store s;
	struct place place;
	int32_t disp;
	uint16_t writes;		/* registers, a bit each */
};

/* Code around an instruction that stores: what is straight on, before it and behind it. */
struct run_code {
	struct run_insn insn[RUN_WINDOW];
	/* first: where a run may begin; at: the store; last: behind where it may end */
	unsigned n, first, last, at;
};

struct dual_run {
	const struct run_insn *insn;
	unsigned n, keys_n, score;
	struct run_key key[RUN_KEYS];
	int8_t of[RUN_INSNS];		/* which key, or (unchecked) page; -1: none */
	bool unchecked;
};

/*
 * Places of a run in which the program can be found: offsets of the stub's code, and from the run's
 * beginning. back: where the instruction is as it was, if it faults from `at' to `orig'; 0:
 * nowhere.
 */
struct run_places {
	uint16_t n, at[RUN_INSNS + 1], orig[RUN_INSNS], back[RUN_INSNS], where[RUN_INSNS + 1];
};

/* Is the instruction to be left as it is? */
typedef bool dual_seen_fn(uint64_t addr);

/*
 * Weighs the run from insn[first] on.  reg: the registers as they are at insn[code->at].  Score 0:
 * the run is of no use.
 */
void dual_run_weigh(const struct run_code *code, unsigned first, const struct dual_view *v,
		    const uint64_t reg[16], dual_seen_fn *sees, struct dual_run *ret);
/*
 * Writes the code of the run, which goes on behind its end with everything as it was where an
 * address is none that the run is for.  False: the run has no such code.  The task is stopped, with
 * the program's bytes.
 */
bool dual_run_put(struct dual_code *c, const struct dual_view *v, pid_t tid,
		  const struct dual_run *run, struct run_places *ret);

#endif
