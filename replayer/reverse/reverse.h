/*
 * reverse.h - the last stop before a position.
 *
 * All tasks are stopped in each function.  A function that returns an error and does not say
 * otherwise has left the replay somewhere on its way: positions, checkpoints and breakpoint sets
 * are unchanged and valid, and rp_goto() leads to any of them.
 */
#ifndef REPLAYER_REVERSE_REVERSE_H
#define REPLAYER_REVERSE_REVERSE_H

#include "replayer/timeline/timeline.h"

/*
 * The last reverse step of a task, if it began somewhere else than the task's own last move had
 * ended: other tasks had run since, or the task was in a system call.  A forward step from where
 * the reverse step led would not end at that beginning (`from') by itself; it is taken there.
 * `more' counts the reverse steps of this kind that were made after that one.
 */
struct rp_back_step { bool set, in_call; uint32_t serial; uint64_t more; struct position from; };

enum { RP_SCANNED = 32 };

enum { TOOL_REVERSE = 4 };		/* its number: see machine/tool.h */
/* This room's data for a replay are in replay.tool[TOOL_REVERSE]. */
struct reverse {
	/* scanned.c; key 0: none; inclusive: nor at the end */
	struct scanned {
		uint64_t key;
		struct position from, end;
		bool inclusive;
	} scanned[RP_SCANNED];
	unsigned scanned_next;
	struct write_log *write_log;
	struct rp_back_step back_step;
};

static inline struct reverse *reverse_of(const struct replay *r)
{
	return (struct reverse *)r->tool[TOOL_REVERSE];
}

/* tool.c: needs rp_timeline_open(). */
struct err *rp_reverse_open(struct replay *r) __must_check;

/* A stop on the way from one position to another: the last. */
struct rp_found {
	bool found;
	uint32_t serial;
	struct position pos;
	struct replay_stop stop;
};

/* scan.c */
/*
 * Runs from where r is, a checkpoint, to end, and stores the last stop on the way to *ret; a stop
 * at end itself counts when end is not the present (inclusive).
 */
struct err *rp_scan(struct replay *r, const struct position *end, bool inclusive,
		    struct rp_found *ret) __must_check;

/* intervals.c */
/*
 * Finds the last stop before the present; the replay is anywhere then.  The user's interrupt ends
 * the search: &rp_stopped.
 */
struct err *rp_last_stop(struct replay *r, struct rp_found *ret) __must_check;

/*
 * scanned.c: intervals without a stop for the present breakpoints.  Nothing runs.
 *
 * Notes that no stop is from `from' to end.
 */
void scanned_add(struct replay *r, const struct position *from, const struct position *end,
		 bool inclusive);
/*
 * Returns the beginning of a noted interval that ends at end (or, inclusive, contains end); NULL:
 * there is none.  The position is the room's, and valid until the next scanned_add().
 */
const struct position *scanned_before(const struct replay *r, const struct position *end,
				      bool inclusive);
void scanned_free(struct reverse *reverse);

/* workers.c */
enum { RP_WORKERS_MAX = 7, RP_WORKERS_ANY = 1000 };
struct rp_worker;
/*
 * Returns how many workers can run besides this process.  HINDSIGHT_WORKERS in the environment: so
 * many, on whatever processor, and rp_workers_forced() is true.
 */
unsigned rp_workers(void);
bool rp_workers_forced(void);
/*
 * Could another process come from c to end?  Not through events for which something is asked of
 * ours (files, processes that are made).  r: as with rp_events_any(). */
struct err *rp_worker_can(struct replay *r, const struct rp_checkpoint *c,
			  const struct position *end, bool *can) __must_check;
/*
 * Starts a worker that runs rp_scan() from c to end, on another processor or (here) on ours.  *ret
 * = NULL: this cannot be done by a worker. r: as with rp_events_any().
 */
struct err *rp_worker_start(struct replay *r, struct rp_checkpoint *c, const struct position *end,
			    bool here, struct rp_worker **ret) __must_check;
/*
 * Another looks from c to end, where it can come, with write_log_run(): at the pages of m, which
 * stays as it is here, on another processor that nobody uses.
 */
struct err *rp_worker_write_log(struct replay *r, struct rp_checkpoint *c,
				const struct position *end, struct store_bitmap *m,
				struct rp_worker **ret) __must_check;
/* Waits for the worker of rp_worker_write_log(); its answer goes to *m.  False: it failed. */
bool rp_worker_write_log_done(struct rp_worker *w, struct store_bitmap *m);
/*
 * Waits for the answer of a worker of rp_worker_start().  False: the worker failed, and *ret is of
 * no use.
 */
bool rp_worker_answer(struct replay *r, struct rp_worker *w, struct rp_found *ret);
/* Returns a descriptor that can be read from when there is an answer; the worker owns it. */
int rp_worker_fd(const struct rp_worker *w);
/* Does the worker run on our processor? */
bool rp_worker_is_here(const struct rp_worker *w);
/* Ends the worker, whatever it does, and frees w. */
void rp_worker_end(struct rp_worker *w);

/*
 * write_log.c: on an idle processor, while the replayer computes forward, it is noted which bytes
 * of a program's busy data pages each interval of it writes to; a search backwards passes those
 * that do not write to what is watched.
 */
/*
 * After a checkpoint going forward, where t computes: an answer is heard, a new interval given out.
 */
void write_log_feed(struct replay *r, const struct rp_task *t);
/*
 * While the replayer goes back no write log begins.  One that is under way goes on, as what it
 * finds out is true wherever the replayer is; this takes its answer.
 */
void write_log_hear(struct replay *r);
/*
 * From where on up to `end', in the same computation, are no bytes written that the debugger
 * watches?  NULL: not known.
 */
const struct position *write_log_before(const struct replay *r, const struct position *end);
void write_log_free(struct reverse *reverse);
/* Called before (after: false) and after an event is applied: notes what the event writes. */
void write_log_event(struct replay *r, bool after);
/*
 * In a worker, from a checkpoint to end: *m has pages, and its bytes are filled.  *good: all
 * stores are known.
 */
struct err *write_log_run(struct replay *r, struct store_bitmap *m, const struct position *end,
			  bool *good) __must_check;

/* clean.c */
/*
 * Pages from start to end that have been written to between the two, at most max; all of them where
 * the kernel does not tell.
 */
unsigned rp_pages_written(const struct rp_task *older, const struct rp_task *newer, uint64_t start,
			  uint64_t end, uint64_t *ret, unsigned max);
/* Is the debugger only interested in writes to memory, so that the next has sense? */
bool interval_clean_possible(const struct replay *r);
/*
 * Has nothing that the debugger watches been written since c, where newer are the tasks' processes
 * now or in a later checkpoint after event `where', and is nothing else on the way that would stop
 * it?  False also where that cannot be told. */
struct err *interval_clean(struct replay *r, const struct rp_checkpoint *c,
			   const struct rp_task *newer, uint64_t where, bool *ret) __must_check;

/*
 * Is any event of (from, to] such?  Where r has only reached an event, it is then, as otherwise,
 * anywhere (timeline.pos_stale).
 */
struct err *rp_events_any(struct replay *r, uint64_t from, uint64_t to,
			  bool (*such)(const struct trace_event *ev), bool *any) __must_check;
/* The same: does any of them stop a debugger by itself, whatever is watched? */
struct err *rp_events_stop(struct replay *r, uint64_t from, uint64_t to, bool *any) __must_check;

/*
 * How often the task stops for set between from and end, which does not count and to which from
 * leads; RP_NO_LIMIT: it would take too long.
 */
struct err *rp_count_stops(struct replay *r, unsigned set, const struct position *from,
			   const struct position *end, enum on_interrupt on_interrupt,
			   uint64_t *n_ret) __must_check;
/*
 * Goes back to the last stop before the present; or by one instruction of the task `serial'.  *ret
 * says what is there: the beginning of the recording where nothing is before.  When the user
 * interrupts, *ret says so, and the replay is where it began.
 */
struct err *rp_back(struct replay *r, struct replay_stop *ret);
struct err *rp_step_back(struct replay *r, uint32_t serial, struct replay_stop *ret);

/* Where a search ends: at a stop for set, or at the event. */
struct rp_target { bool event; unsigned set; };

/* range.c */
/*
 * Returns a breakpoint set of all ways out of the code [start, end), where the task is; 0: not all
 * are known.  Nothing runs.
 */
unsigned rp_range_exits(struct replay *r, struct rp_task *t, uint64_t start, uint64_t end);

/* approach.c */
/*
 * Moves base nearer to the target, to where *steps single steps lead to the target.  *found =
 * false: no such place was found near enough.
 */
struct err *rp_approach(struct replay *r, struct position *base, const struct position *p,
			const struct rp_target *to, uint64_t *steps, bool *found);

/* stepback.c */
/*
 * Steps from base to the target; *found = false after max of them (a long string instruction is
 * one).  pcs (may be NULL): where they led, max of them.
 */
struct err *rp_count_steps(struct replay *r, const struct position *base,
			   const struct rp_target *to, uint64_t max, uint64_t *steps, bool *found,
			   uint64_t *pcs);
/* Goes back by one instruction of the task.  *begin: the task has none before. */
struct err *rp_back_one(struct replay *r, uint32_t serial, bool *begin);
/*
 * Stopped in the middle of a repeated string instruction, where steps have led: to where it begins.
 */
struct err *rp_back_to_string(struct replay *r, uint32_t serial) __must_check;

#endif
