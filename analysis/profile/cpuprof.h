/*
 * cpuprof.h - where a recorded program spent its time: samples of its replay, with whole stacks.
 *
 * A struct cpuprof holds stacks once each and one record for each sample.  It is filled by passes
 * over the recording (cpuprof_take()) or from a file that another profiler wrote (sysprof_read(),
 * vmprofile_read()), and looked at by tables (table.h) and written in the forms of other tools.
 */
#ifndef ANALYSIS_PROFILE_CPUPROF_H
#define ANALYSIS_PROFILE_CPUPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct profile;

enum cpuprof_kind {
	CPUPROF_HOST,
	CPUPROF_GUEST,		/* interpreted */
	CPUPROF_TRACE,		/* guest code in machine code of its own */
	CPUPROF_INLINED,	/* guest code that is inlined there */
	CPUPROF_BUILTIN,	/* a function of the language, or a native one that it called */
	CPUPROF_GC,		/* stands for the collector */
	CPUPROF_KINDS
};
extern const char *const cpuprof_kind_name[CPUPROF_KINDS];

/* Strings are numbers: cpuprof_text().  0 = unknown. */
struct cpuprof_frame {
	uint32_t function, file, module;
	uint32_t line, first_line;	/* 0 = unknown */
	uint32_t trace;			/* number of the trace; 0 = not of one */
	uint64_t address;		/* of the instruction; guests: of the function's object */
	uint8_t kind;
	bool inlined;		/* HOST: the compiler put it into the next frame */
	bool jit;		/* HOST: code that the program made itself */
	bool approximate;	/* the line is near */
};
struct cpuprof_stack { uint64_t first; uint32_t n; };	/* frames: innermost first */

struct cpuprof_sample {
	uint64_t event;		/* that was done last */
	uint64_t user_ns;	/* processor time used before it, in its pass */
	uint32_t stack, weight;
	int32_t tid, pid;
	uint32_t state;		/* a string; 0 = no guest */
	uint32_t why;		/* a string: what is missing of the stack; 0 = nothing */
	/* of the guest; strings: "file:line"; "loop, 7 exits" (guests.h) */
	uint32_t trace, trace_start, trace_link;
	uint32_t pass;
};
/* Time that a task waited in a system call, as recorded. */
struct cpuprof_wait {
	uint64_t event, ns;
	uint32_t stack, call;	/* call: a string, its name */
	int32_t tid, pid;
};
struct cpuprof_thread { int32_t tid, pid; uint32_t name; };

struct cpuprof {
	char *text;
	size_t text_len, text_room;
	uint32_t *string;		/* where each begins; [0] is "" */
	struct cpuprof_frame *frame;	/* [0] is unknown */
	uint32_t *stack_frame;		/* of all stacks */
	struct cpuprof_stack *stack;	/* [0] is empty */
	struct cpuprof_sample *sample;
	struct cpuprof_wait *wait;
	struct cpuprof_thread *thread;
	size_t strings, frames, stack_frames, stacks, samples, waits, threads;
	size_t string_room, frame_room, stack_frame_room, stack_room, sample_room, wait_room,
		thread_room;
	/* open hashes of numbers */
	uint32_t *string_slot, *frame_slot, *stack_slot;
	size_t string_slots, frame_slots, stack_slots;
	uint64_t weight;		/* of all samples */
	uint64_t elsewhere;		/* of those of processes that were not asked for */
	int32_t other_pid;		/* one of these, or 0 */
	uint64_t period_ns;		/* one unit of weight stands for so much time */
	uint64_t rate;			/* samples a second, of each pass */
	uint64_t user_ns;		/* processor time of one pass */
	uint64_t from, to;		/* events */
	unsigned passes;
	const char *source;		/* "replay", "sysprof", "vmprofile" */
};

void cpuprof_init(struct cpuprof *p);
void cpuprof_deinit(struct cpuprof *p);

/* ---- filling --------------------------------------------------------------------------------- */

uint32_t cpuprof_string(struct cpuprof *p, const char *s);	/* NULL = 0 */
uint32_t cpuprof_string_n(struct cpuprof *p, const char *s, size_t len);
const char *cpuprof_text(const struct cpuprof *p, uint32_t string);
uint32_t cpuprof_frame(struct cpuprof *p, const struct cpuprof_frame *f);
uint32_t cpuprof_stack(struct cpuprof *p, const uint32_t *frame, size_t n);
void cpuprof_sample(struct cpuprof *p, const struct cpuprof_sample *s);
void cpuprof_wait(struct cpuprof *p, const struct cpuprof_wait *w);
void cpuprof_thread(struct cpuprof *p, int tid, int pid, const char *name);
/* All of `from` is added to p. */
void cpuprof_merge(struct cpuprof *p, const struct cpuprof *from);
/* Only samples (and waits) whose stack has this function; returns how many are left. */
size_t cpuprof_only_during(struct cpuprof *p, const char *function);
/* Is any of them in a virtual machine? */
bool cpuprof_any_state(const struct cpuprof *p);
/* Only those between these events. */
size_t cpuprof_only_events(struct cpuprof *p, uint64_t from, uint64_t to);

/* Between processes: the bytes mean nothing to another build. */
struct err *cpuprof_save(const struct cpuprof *p, int fd) __must_check;
struct err *cpuprof_load(struct cpuprof *p, int fd) __must_check;

/* ---- taking one ------------------------------------------------------------------------------ */

/*
 * The state of all passes that run; functions by their own samples, the first CPUPROF_SOFAR of
 * them.
 */
enum { CPUPROF_SOFAR = 8 };
struct cpuprof_sofar {
	bool naming;			/* all passes are over, a replay for names begins */
	unsigned pass, passes;		/* so many are over */
	uint64_t event, events;		/* done, of all passes */
	uint64_t samples, weight;
	struct { const char *function; uint64_t weight; } top[CPUPROF_SOFAR];	/* NULL: no more */
};
struct cpuprof_options {
	int pid;		/* 0 with !all: the first process */
	bool all;
	const char *vm;		/* "auto", "none", "luajit", "lua", "python", "v8" */
	uint64_t rate;		/* samples a second of processor time */
	unsigned passes;
	uint64_t from, to;	/* events; to 0 = to the end */
	bool waits;
	const char *debug_dir;
	/* some times a second */
	void (*progress)(void *ctx, const struct cpuprof_sofar *sofar);
	void *ctx;
};
/* Replays the trace, several times at once where there are processors. */
struct err *cpuprof_take(const char *trace, const struct cpuprof_options *o,
			 struct cpuprof *ret) __must_check;

/* ---- other forms ----------------------------------------------------------------------------- */

/* With columns "samples" and "cpu"; the caller destroys it. */
struct profile *cpuprof_profile(const struct cpuprof *p);
/* The text of a source, which the caller frees; NULL = it is not to be had. */
typedef char *cpuprof_source_fn(void *ctx, const char *path);
/* Writes one page that needs nothing else. */
void cpuprof_write_html(const struct cpuprof *p, const char *title, cpuprof_source_fn *source,
			void *ctx, FILE *out);
void cpuprof_write_speedscope(const struct cpuprof *p, const char *name, FILE *out);

#endif
