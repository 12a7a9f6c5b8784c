/*
 * jit_log.h - inside the analysis of JIT code: what its replay (jit.c), files that name code
 * (jit_files.c) and answers (jit_find.c) share.
 */
#ifndef ANALYSIS_JIT_LOG_H
#define ANALYSIS_JIT_LOG_H

#include "analysis/jit.h"
#include "replayer/replay.h"

enum { COPIES = 64, FILES = 32, TASKS = 256, NO_TASK = 0 };

struct copy { uint64_t code, descriptor; };
struct alive { uint64_t start, end; uint32_t function; };

struct written_file {
	int fd;				/* -1 = closed */
	struct jit_parser *parser;
	enum jit_origin origin;
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
	int pid;
	bool quiet, over;
	struct copy copy[COPIES];
	unsigned copies;
	struct written_file file[FILES];
	unsigned files;
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
void jit_function_begin(struct jit_log *l, const struct jit_function *f);
int jit_any_task(struct jit_log *l);
struct err *jit_maps_read(struct jit_log *l) __must_check;
struct err *jit_look_again(struct jit_log *l) __must_check;

/* jit_files.c */
struct err *jit_calls_catch(struct jit_log *l) __must_check;
struct err *jit_call_entry(struct jit_log *l, const struct replay_stop *stop) __must_check;
struct err *jit_call_return(struct jit_log *l, const struct replay_stop *stop) __must_check;
/* All that was written so far is parsed. */
void jit_files_flush(struct jit_log *l);
void jit_files_close(struct jit_log *l);

#endif
