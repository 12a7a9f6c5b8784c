/*
 * landmark.h - to a point inside computing code: by the state of the task that the recorder saw
 * there, or by counting branches.
 */
#ifndef REPLAYER_LANDMARK_LANDMARK_H
#define REPLAYER_LANDMARK_LANDMARK_H

#include "replayer/machine/machine.h"

enum { TOOL_LANDMARK = 0 };		/* its number: see machine/tool.h */
/* What this room keeps for a replay: in replay.tool[TOOL_LANDMARK]. */
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
};
struct landmarks *landmarks_of(const struct replay *r);
/* The room becomes a tool of the machine's (tool.h), and r->find_point is landmark_find(). */
void rp_landmark_open(struct replay *r);

/* ---- count.c ------------------------------------------------------------------------- */
/*
 * The same by counting branches, where the recording and this machine can; else *found = false and
 * nothing has run.
 */
struct err *count_find(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *point, bool *found);

/* ---- search.c ----------------------------------------------------------------------- */
/* Processor time of a task, or (0) of the replayer; 0: the system does not tell. */
uint64_t rp_processor_ns(pid_t tid);
/* Run the task to the point whose state the event describes (TRACE_AT_STATE). */
struct err *landmark_find(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* Is the task there now? */
struct err *landmark_here(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			  bool *ret);

/* ---- mismatch.c: matches that may be wrong ------------------------------------------------ */
enum rp_search {
	SEARCH_FIRST,		/* as usual */
	SEARCH_NEXT,		/* the task is at a match that was wrong: the next one */
	SEARCH_ANEW,		/* from the start, without running untested */
};
/* How the point of event n is to be looked for now. */
enum rp_search mismatch_how(struct replay *r, uint64_t n);
/*
 * A search that may run past its point begins: *kept when there will be a way back to here.  It
 * saves so much time if all goes well.
 */
struct err *mismatch_start(struct replay *r, uint64_t n, uint64_t saves_ns, bool *kept);
/* The point of event n was found, as far as the witness tells. */
struct err *mismatch_match(struct replay *r, uint64_t n);
/* It was found, and cannot be wrong. */
void mismatch_settle(struct replay *r, uint64_t n);
/*
 * Is there another way to go if this one fails?  Is replay on its way back because of a mismatch?
 */
bool mismatch_left(const struct replay *r);
bool mismatch_failed(const struct replay *r);
/*
 * Replay of r->ev has failed.  True: *err is gone, and r is at an earlier event, to go on another
 * way.
 */
bool mismatch_back(struct replay *r, struct err **err);
/* It is over: let the output out. */
void mismatches_end(struct replay *r);
/* Output waits while what wrote it is in mismatch.  False: it does not. */
bool mismatch_echo(struct replay *r, int fd, const void *bytes, size_t len);

#endif
