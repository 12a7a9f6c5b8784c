/*
 * landmark.h - to a point inside computing code: by the state of the task that the recorder saw
 * there, or by counting branches.
 */
#ifndef REPLAYER_LANDMARK_LANDMARK_H
#define REPLAYER_LANDMARK_LANDMARK_H

#include "replayer/machine/machine.h"

enum { TOOL_LANDMARK = 0 };		/* its number: see machine/tool.h */
/* This room's data for a replay are in replay.tool[TOOL_LANDMARK]. */
struct mismatches;
struct landmark;
struct translation;
struct landmarks {
	struct landmark *search;		/* that goes on now, or NULL */
	struct translation *translation;	/* that it runs in, or NULL */
	/* percent of a computation's recorded time that runs without looking for its end */
	unsigned untested_share;
	/* the share that was too much; how often it has been good since */
	unsigned untested_missed, untested_good;
	uint64_t snapshot_ns;	/* what a snapshot costs */
	/*
	 * by page of code: so many searches more there begin with copies of the code (translate.c)
	 */
	uint8_t costly[64];
	struct mismatches *mismatches;	/* mismatch.c; NULL: none so far */
	uint64_t echoed;		/* bytes of output that are written */
	uint64_t echo_again;		/* so many come again, and are not written */
};
struct landmarks *landmarks_of(const struct replay *r);
/* The room becomes a tool of the machine's (tool.h), and r->find_point is landmark_find(). */
void rp_landmark_open(struct replay *r);

/* ---- count.c ------------------------------------------------------------------------- */
/*
 * Runs the task to the point by counting branches, where the recording and this machine can.
 * Requires a stopped task at its last event.  *found = false: nothing has run, or the count did not
 * lead to the point and the task is back where it was.  After an error the task is somewhere on the
 * way.
 */
struct err *count_find(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *point, bool *found);

/* ---- search.c ----------------------------------------------------------------------- */
/* Processor time of a task, or (0) of the replayer; 0: the system does not tell. */
uint64_t rp_processor_ns(pid_t tid);
/*
 * Runs the task, which is stopped at its last event, to the point whose state the event describes
 * (TRACE_AT_STATE).  After an error the task is somewhere on the way; where mismatch_start() kept a
 * copy, mismatch_back() can still go back.
 */
struct err *landmark_find(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/*
 * Is the stopped task at the point of the event now?  Reads memory and registers only; after an
 * error *ret is of no use.
 */
struct err *landmark_here(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			  bool *ret);

/* ---- mismatch.c: matches that may be wrong ------------------------------------------------ */
enum rp_search {
	SEARCH_FIRST,		/* as usual */
	SEARCH_NEXT,		/* the task is at a match that was wrong: the next one */
	SEARCH_ANEW,		/* from the start, without running untested */
};
/* Returns how the point of event n is to be looked for now.  Changes nothing. */
enum rp_search mismatch_how(struct replay *r, uint64_t n);
/*
 * A search that may run past its point begins, and saves saves_ns if all goes well.  *kept: a copy
 * of the processes was taken, as a way back to here.  All tasks are stopped; after an error no copy
 * is kept.
 */
struct err *mismatch_start(struct replay *r, uint64_t n, uint64_t saves_ns, bool *kept);
/*
 * The point of event n was found, as far as the witness tells: a copy of the processes is taken
 * here, to look for the next match from.  All tasks are stopped; after an error nothing is noted.
 */
struct err *mismatch_match(struct replay *r, uint64_t n);
/* The point of event n was found, and cannot be wrong: its copies are dropped. */
void mismatch_settle(struct replay *r, uint64_t n);
/* Is there another match to try if this one turns out wrong? */
bool mismatch_left(const struct replay *r);
/* Has replay gone back because of a mismatch, and not come beyond the place of the failure yet? */
bool mismatch_failed(const struct replay *r);
/* Was it at event n? */
bool mismatch_failed_at(const struct replay *r, uint64_t n);
/*
 * Replay of r->ev has failed with *err.  Returns true: *err is freed, and r is at an earlier event,
 * to go on another way.  Returns false: there is no other way, r is as it was, and *err says what
 * failed first.
 */
bool mismatch_back(struct replay *r, struct err **err);
/* Replay is over: drops all copies and writes the output that waited. */
void mismatches_end(struct replay *r);
/*
 * Writes output of the program, or keeps it back while a match before it may still be wrong.
 * Returns true.
 */
bool mismatch_echo(struct replay *r, int fd, const void *bytes, size_t len);

#endif
