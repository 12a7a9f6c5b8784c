/*
 * worker.h - the caged process that reads debug information.
 */
#ifndef SYMBOLS_WORKER_H
#define SYMBOLS_WORKER_H

#include "symbols/bytes.h"
#include "base/err.h"

/* Two workers can read half of the units each; the second sends to the first what it has made. */
enum worker_half { WORKER_WHOLE, WORKER_FIRST, WORKER_SECOND };
enum { WORKER_ALONE = 3 };	/* exit status of a first one whose second one is gone */

struct worker_job {
	const char *name;	/* of the file, for people */
	/* the file's image; all images are in memory before the worker is made */
	struct span main;
	struct span debug;	/* separate debug information; empty = in main */
	struct span alt;	/* the file that dwz moved common entries to; may be empty */
	struct span frames;	/* where .debug_frame is; empty = in main */
	struct span eh;		/* .eh_frame of a file without section headers; may be empty */
	uint64_t eh_addr;
	/* files with the entries of split units (.dwo, .dwp) */
	const struct span *split;
	size_t n_split;
	uint32_t parts;		/* IX_PART_* */
	uint64_t key[2];
	/* the main file's name in the content store; zeros where the index is not kept */
	uint8_t content[16];
	bool halves;		/* in two processes; names only, and not with split files */
	enum worker_half half;	/* in a worker: what it does */
	int peer;		/* to the other */
	int out;		/* the index is written here, from its current position */
};

/*
 * Runs the job in a process that can do nothing but compute, read, write, get memory and exit;
 * waits for it.  An error (ERR_UNSUPPORTED) says how the worker ended if it did not end well:
 * killed for a system call, crashed, too much memory or time.  What is in job->out then is
 * worthless.
 */
struct err *worker_run(const struct worker_job *job) __must_check;

/* In the worker: compile.c */
void compile_index(const struct worker_job *job);

#endif
