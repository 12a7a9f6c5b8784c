/*
 * jit.h - code that a recorded program made itself: what it is called, when it came and went.
 *
 * Three sources name it, each dated by the event at which the program told: objects registered with
 * GDB's JIT interface (LLVM, PostgreSQL), lines written to a perf map (/tmp/perf-PID.map: V8),
 * records of a jitdump file, by the times in them (jit_dated.c).  Where a perf map is written in
 * one go (HotSpot), the code is dated by when it is seen first (jit_late.c).
 */
#ifndef ANALYSIS_JIT_H
#define ANALYSIS_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbols/symbols.h"

enum jit_origin { JIT_OBJECT, JIT_PERF_MAP, JIT_DUMP };
#define JIT_ALIVE UINT64_MAX

struct jit_function {
	uint64_t start, end;		/* end is exclusive */
	uint64_t birth, death;		/* events; JIT_ALIVE = still there */
	uint64_t other;			/* at which other code there had been named; 0 = none */
	enum jit_origin origin;
	const char *name;
	const char *file;		/* NULL = unknown */
	unsigned line;
	uint32_t object;		/* of JIT_OBJECT: index in jit_log.object */
};
struct jit_object {
	uint64_t birth, death, id;	/* id: of symbols_jit_add() */
	uint64_t addr;			/* where the program kept it */
	const uint8_t *image;		/* what it was when it was registered */
	size_t len;
	size_t first, functions;	/* its own, in jit_log.function */
};

struct jit_log;
struct jit_options {
	int pid;			/* 0 = the first process */
	uint64_t event;			/* stop after this one; 0 = at the end */
	bool quiet;			/* no progress on stderr */
	/* a file that the program may have written: jit_written() */
	const char *written;
};

/*
 * Replays the trace up to options->event and notes all that is said of JIT code.  The caller closes
 * the log; strings and functions belong to it.
 */
struct err *jit_collect(const char *trace, const struct jit_options *options,
			struct jit_log **ret) __must_check;
void jit_close(struct jit_log *l);

/* In order of birth. */
const struct jit_function *jit_functions(const struct jit_log *l, size_t *n_ret);
const struct jit_object *jit_objects(const struct jit_log *l, size_t *n_ret);
int jit_pid(const struct jit_log *l);
uint64_t jit_event(const struct jit_log *l);	/* where the replay is */

/* The function that was at addr after the event; NULL = none was named. */
const struct jit_function *jit_at(const struct jit_log *l, uint64_t addr, uint64_t event);
/* The one that was there last, before the event or at it; it may be gone. */
const struct jit_function *jit_last(const struct jit_log *l, uint64_t addr, uint64_t event);
/*
 * The one that was there at some moment between this event and the next; of several the youngest.
 */
const struct jit_function *jit_around(const struct jit_log *l, uint64_t addr, uint64_t event);
/* Inlined calls and lines of a function, there or gone: as symbols_lookup(). */
size_t jit_function_frames(struct jit_log *l, const struct jit_function *f, uint64_t addr,
			   struct symbols_frame *ret, size_t max);
/* The event at which a file with the base name of options->written was closed last; 0 = never. */
uint64_t jit_written(const struct jit_log *l);
/* The text of /proc/PID/maps, when the process mapped code of a file last; NULL = not known. */
const char *jit_maps(const struct jit_log *l);
/* Finds inlined calls and lines of the code at addr, where the replay is: as symbols_lookup(). */
size_t jit_frames(struct jit_log *l, uint64_t addr, struct symbols_frame *ret, size_t max);
/* Memory of the process where the replay is; returns how many bytes could be read. */
size_t jit_memory(struct jit_log *l, uint64_t addr, void *buf, size_t len);
/*
 * Who wrote the code at addr (16 bytes around it) last, before where the replay is, which then
 * stands there.  *function_ret "" = unknown.
 */
struct err *jit_writer(struct jit_log *l, uint64_t addr, uint64_t *event_ret, char *function_ret,
		       size_t size) __must_check;

/* ---- for analyses with a replay of their own (jit_view.c) ------------------------------------ */

struct jit_view;
/*
 * Replays the trace once.  sym, the caller's, gets the objects that are there at an event, so that
 * it can unwind.
 */
struct err *jit_view_open(const char *trace, int pid, struct symbols *sym,
			  struct jit_view **ret) __must_check;
void jit_view_close(struct jit_view *v);
/* From now on sym knows the JIT code that was there around this event. */
void jit_view_at(struct jit_view *v, uint64_t event);
/* Tells the code that was at addr around the event from other code there; 0 = none was named. */
uint64_t jit_view_code(const struct jit_view *v, uint64_t addr, uint64_t event);
/* The next event after this one at which code comes to where other code was; UINT64_MAX = none. */
uint64_t jit_view_replaced(const struct jit_view *v, uint64_t event);
/* Frames of JIT code that was at addr around the event, as symbols_lookup(); 0 = none was named. */
size_t jit_view_frames(struct jit_view *v, uint64_t addr, uint64_t event, struct symbols_frame *ret,
		       size_t max);

/* ---- profiles that the program wrote (jit_profile.c) ----------------------------------------- */

struct profile;
struct jit_named_profile {
	uint32_t locations, named, jit;	/* jit: of those named */
	/* it is of another run, with libraries elsewhere: no JIT code was named */
	bool moved;
};
/*
 * Names the addresses of a profile with what the recording knows after the event (0 = at the end).
 * Names that it had stay where the recording knows none.
 */
void jit_symbolize(struct jit_log *l, uint64_t event, struct profile *p,
		   struct jit_named_profile *ret);

/* ---- parsers (jit_parse.c): bytes in the order they were written, in any pieces -------------- */

struct jit_parser;
/* what one line or record says; strings until the next call */
struct jit_named {
	uint64_t start, size;
	const char *name, *file;
	unsigned line;
	uint64_t moved_from;		/* 0 = new code */
	uint64_t time;			/* of a jitdump record: its clock when it was made */
};
typedef void jit_named_fn(void *ctx, const struct jit_named *n);
/* NULL: no memory */
struct jit_parser *jit_parser_create(enum jit_origin origin, jit_named_fn *fn, void *ctx);
/* False: this is no such file (a header that is wrong); nothing more is read of it. */
bool jit_parser_feed(struct jit_parser *p, const void *bytes, size_t len);
void jit_parser_destroy(struct jit_parser *p);

#endif
