/*
 * jit_log.h - inside the analysis of JIT code: what its replay (jit.c), files that name code
 * (jit_files.c) and answers (jit_find.c) share.
 */
#ifndef ANALYSIS_JIT_LOG_H
#define ANALYSIS_JIT_LOG_H

#include "analysis/jit.h"
#include "replayer/replay.h"
#include "trace/trace.h"

enum { COPIES = 64, FILES = 32, TASKS = 256, DUMPS = 4, BUFFERED = 32, NO_TASK = 0 };

struct copy { uint64_t code, descriptor; };
struct alive { uint64_t start, end; uint32_t function; };

struct gone { uint64_t start, end, event; };

struct written_file {
	int fd;				/* -1 = closed */
	struct jit_parser *parser;
	enum jit_origin origin;
	uint64_t opened;		/* event */
	uint64_t parsed;		/* event of the last write that has been parsed */
	/* jit_dated.c: what records say that are not dated yet; where to look for their times */
	struct jit_named *said;
	size_t n_said, said_room;
	uint64_t dated_from, dated_last, dated_read;
	bool undated;
	/* the last write, not parsed yet: it may turn out to have been cut (jit_files.c) */
	uint8_t *held;
	size_t held_len;
	uint64_t held_addr, held_event;
};
struct pending {			/* a call between its entry and return */
	int tid, nr;
	uint64_t arg[3];
	char path[256];
};

struct jit_log {
	struct replay *r;
	struct symbols *sym;
	const char *trace;		/* while it is replayed */
	struct trace_reader *reader;	/* of the same; opened when first needed */
	int pid;
	bool quiet, over;
	struct copy copy[COPIES];
	unsigned copies;
	struct written_file file[FILES];
	unsigned files;
	/* perf maps that were written in one go, from this event to that: jit_late.c */
	struct { uint64_t opened, closed; } dump[DUMPS];
	unsigned dumps;
	/* functions that one write to a perf map named, made between these events: jit_late.c */
	struct { size_t first, last; uint64_t from, to; } buffered[BUFFERED];
	unsigned n_buffered;
	struct pending pending[TASKS];
	unsigned n_pending;
	struct jit_function *function;
	size_t functions, functions_room;
	struct jit_object *object;
	size_t objects, objects_room;
	uint64_t objects_bytes;
	uint32_t *by_addr;		/* hash table: the last object at an address, plus 1 */
	size_t by_addr_room;
	char *refused;			/* what was said of the first object that cannot be read */
	uint64_t n_refused;
	struct alive *alive;		/* by address, without overlaps */
	size_t n_alive, alive_room;
	struct gone *gone;		/* unmapped, in order of events */
	size_t n_gone, gone_room;
	char **text;			/* strings of files' lines */
	size_t texts, texts_room;
	char *maps;
	const char *wanted;		/* base name of a file; NULL = none */
	int wanted_fd;			/* where it is open; -1 = nowhere */
	uint64_t written;		/* event at which it was closed last */
	/* functions in order of their start; made when first needed */
	uint32_t *by_start;
	uint64_t *end;			/* of any of the first so many of them, the greatest */
	size_t sorted;
};

/* Not NULL, or the program ends. */
void *jit_sure(void *p);
/* Room for one more element of this size behind n of them. */
void jit_room(void *array, size_t *cap, size_t n, size_t size);

/* jit.c: what is there */
size_t jit_alive_from(const struct jit_log *l, uint64_t addr);
void jit_functions_end(struct jit_log *l, uint64_t start, uint64_t end, uint64_t event);
/* The function's birth may lie before where the replay is. */
void jit_function_begin(struct jit_log *l, const struct jit_function *f);
void jit_unmapped(struct jit_log *l, uint64_t start, uint64_t end, uint64_t event);
int jit_any_task(struct jit_log *l);
struct err *jit_maps_read(struct jit_log *l) __must_check;
struct err *jit_look_again(struct jit_log *l) __must_check;

/* jit_files.c */
struct err *jit_calls_catch(struct jit_log *l) __must_check;
struct err *jit_call_entry(struct jit_log *l, const struct replay_stop *stop) __must_check;
struct err *jit_call_return(struct jit_log *l, const struct replay_stop *stop) __must_check;
void jit_named_begin(struct jit_log *l, const struct written_file *f, const struct jit_named *n,
		     uint64_t birth);
const char *jit_keep_text(struct jit_log *l, const char *s);
/* All that was written so far is parsed. */
void jit_files_flush(struct jit_log *l);
void jit_files_close(struct jit_log *l);

/* jit_dated.c: a record says that; then, when all that was written has been parsed */
void jit_dated_hold(struct jit_log *l, struct written_file *f, const struct jit_named *n);
void jit_dated_take(struct jit_log *l, struct written_file *f);

/* jit_late.c: the file is closed, all its lines have been parsed. */
void jit_late_closed(struct jit_log *l, const struct written_file *f);
/* A write has been parsed that named the functions from this one on. */
void jit_late_written(struct jit_log *l, struct written_file *f, size_t first);
/* Functions that were named long after they were made begin when they were made. */
struct err *jit_late_date(struct jit_log *l) __must_check;

#endif
