/*
 * timeline.h - positions in a recording, checkpoints, and going forward from one to another.
 *
 * All tasks are stopped when a function is called and when it returns.  The functions that return
 * an error and move the replay may leave it, after an error, at any point on the way, or without
 * tasks.  &rp_stopped: the user has interrupted a
 * move that is given up (INTERRUPT_GIVES_UP).  The other functions move nothing.
 */
#ifndef REPLAYER_TIMELINE_TIMELINE_H
#define REPLAYER_TIMELINE_TIMELINE_H

#include "replayer/landmark/landmark.h"
#include "replayer/stops/stops.h"

/*
 * A name for a point in time that needs no counter: between two events a task is deterministic, so
 * "the third time it stops for set 5, then 2 single steps" is one point.
 */
struct position_step {
	unsigned set;		/* 0 = the empty one: single steps */
	uint64_t n;
};

struct position {
	uint64_t where;		/* events done */
	bool pending;		/* the task is at the next event; position steps is empty */
	unsigned steps_n, steps_room;
	struct position_step *steps;
};

enum advance_kind {
	ADVANCE_MOVED,		/* the task of the next event moved, and not to that event */
	ADVANCE_PENDING,		/* it is there now, nothing applied */
	ADVANCE_EVENT,		/* applied */
	ADVANCE_INTERRUPTED,	/* somewhere: has no name */
	ADVANCE_END,
};

/* The argument of an advance: what this one is to do. */
struct advance {
	unsigned set;			/* stop for these */
	bool step;			/* one instruction of the task */
	/* breakpoints of the set do not stop it, they are counted */
	bool counting;
	bool no_stubs;			/* breakpoints are int3s only */
	bool ticks;			/* a tick (rp_timer()) ends it */
	/* where it goes back on its way (periodic.c), it steps through string instructions */
	bool in_strings;
	enum on_interrupt on_interrupt;
	/* it stops at so many executions of what is counted; 0: never */
	uint64_t limit;
	/*
	 * have counters and limits of their own; are no part of .limit and advance_result.fast.
	 * May be NULL
	 */
	struct counted_sites *sites;
	/*
	 * becomes the position of the last counted stop, if there is any (rp_advance_periodic());
	 * may be NULL
	 */
	struct position *last_hit;
};

struct advance_result {
	enum advance_kind kind;
	struct rp_task *t;	/* NULL when it is gone */
	bool stepped;		/* MOVED by exactly one instruction */
	bool arrived;		/* t is at another instruction than before */
	/*
	 * ... not, and there will be a stop behind this one, for what it has stored: timeline.late
	 */
	bool late;
	bool at_limit;		/* stopped by advance.limit */
	bool hit_before;	/* it has counted stops on its way, the last at *advance.last_hit */
	bool quiet;
	uint64_t fast;		/* executions counted inside the process, that one included */
	int at_site;		/* MOVED: at this one of advance.sites, -1 = none */
	enum trace_event_kind event;
	uint64_t hit[WATCHES_MAX / 64];	/* watchpoints of the set, by index, that were triggered */
	unsigned set;
};

/* How the present is shown: see catch.c. */
enum rp_view_kind { RP_VIEW_PLAIN, RP_VIEW_ENTRY, RP_VIEW_RETURN };
struct rp_view { enum rp_view_kind kind; bool buffered; uint32_t serial; uint64_t nr; };
struct rp_caught {
	int pid;
	bool all;
	unsigned cond;
	uint64_t nr[REPLAY_CALLS / 64];
	/* only at their entry, and with one of these as their first argument */
	uint64_t entry_nr[REPLAY_CALLS / 64];
	uint64_t first[REPLAY_FIRST];
	unsigned first_n;
};
struct rp_call_site { int pid, nr; uint64_t addr; };	/* nr: -1 where not known */
/* A process is shown from event `start' on, and not from event `end' on. */
struct rp_shown { int pid; uint64_t start, end; };
/* Where a backward move began. */
struct rp_start { uint32_t serial; uint64_t where; struct regs regs; };
/* Facts about an event before it is applied, for afterwards. */
struct rp_before {
	uint32_t newest, serial;
	int pid, tid, status;
	bool shown, exec, vfork, told_end;
	uint64_t nr;
};

/* By processes: page faults and time; and how many pages they have. */
struct rp_spent { uint64_t faults, ns, pages; };

struct rp_checkpoint {
	struct rp_checkpoint *older;
	struct position pos;
	struct rp_copy *copy;
	uint32_t last_task;
	bool keep;			/* the first, and the user's own: never thinned out */
	uint64_t clock_ns;
};

/*
 * iterations.c: how often an instruction is executed until shortly before the point that event n
 * describes.
 */
struct iterations_kept { struct position pos; uint64_t at, left; };
struct iterations {
	uint64_t event, failed;		/* n; of an event where nothing could be counted */
	/*
	 * n; that without counting has come by the point so often (passes), whatever else it
	 * stopped for
	 */
	uint64_t slow_event;
	unsigned passes;
	bool known;			/* at and left are right where the task is now */
	bool on;			/* the run that is going on counts it */
	bool wanted;			/* the run ended because it should be known */
	unsigned set;			/* without it */
	uint64_t checked;		/* leaves room to that set */
	/* so many executions from now on, the last one included; 0: that has been */
	uint64_t at, left;
	struct iterations_kept *kept;
	unsigned kept_n, kept_next;
};

enum { RP_RENAMED = 16 };

enum { TOOL_TIMELINE = 3 };		/* its number: see machine/tool.h */
/* This room's data for a replay are in replay.tool[TOOL_TIMELINE]. */
struct timeline {
	/* what is shown, and what is a stop */
	/* what the debugger has set, and breakpoints for the calls it catches */
	unsigned user;
	unsigned own;			/* without these */
	struct replay_catch catching;
	struct rp_caught caught[64];
	unsigned caught_n;
	/* sorted: patched calls of processes whose calls are caught */
	struct rp_call_site *sites;
	unsigned sites_n;
	bool catch_all_anew;		/* user has to be made again */
	struct rp_view view;
	uint64_t first;			/* nothing before this event is shown */
	uint32_t current;
	struct rp_shown *shown;
	unsigned shown_n;
	/* end.c: is there the end of so many tasks (0: unknown), and the process's status */
	struct rp_end { uint64_t where; unsigned left; bool only; int status; } end;
	/* where the present is */
	struct position pos;
	bool pos_stale;			/* pos is a point before the present one */
	struct advance_result last;
	uint64_t last_pc;
	/*
	 * the task was not run in the last advance, which was interrupted: the next begins at that
	 * point, too
	 */
	bool still;
	uint32_t last_task;		/* of the last event that was applied */
	/* hits of steps in the middle of a string instruction: advance.c */
	struct rp_late { unsigned set; uint64_t hit[WATCHES_MAX / 64]; bool any; } late;
	struct iterations iterations;
	/* checkpoints */
	struct rp_checkpoint *newest;
	/* less than this available: checkpoints give way; 0: not yet known */
	uint64_t memory_floor;
	unsigned checkpoints;
	uint64_t last_ns;		/* when clock_ns was right */
	uint64_t asked_ns;		/* when copies were last found to prevail */
	uint64_t cost_ns;		/* of a checkpoint */
	struct rp_spent spent;		/* up to the last checkpoint */
	uint64_t clock_ns;		/* replay time of the present position, roughly */
	unsigned names_made;
	/* position.c: a ring of the last */
	struct rp_renamed { struct position old, now; } renamed[RP_RENAMED];
	unsigned renamed_n;
	/* who looks on: reverse/write_log.c */
	const struct timeline_observer *observer;
};

/* Functions of a room above. */
struct timeline_observer {
	/*
	 * after a checkpoint where t computes; not on the way of a move that can be given up, which
	 * is one back: workers and we have the processors then
	 */
	void (*computes)(struct replay *r, const struct rp_task *t);
	/* before and after one, while stores are noted */
	void (*event)(struct replay *r, bool after);
};

static inline struct timeline *timeline_of(const struct replay *r)
{
	return (struct timeline *)r->tool[TOOL_TIMELINE];
}

/* tool.c: from now on the replay can be moved in; needs rp_stops_open(). */
struct err *rp_timeline_open(struct replay *r) __must_check;

/* iterations.c */
/* The task is somewhere else, and has not run there: what is known of iterations is forgotten. */
void iterations_lost(struct replay *r);
void iterations_free(struct replay *r);
/*
 * Runs the task to the point of r->ev in a copy, to find out what to count.  The task is where it
 * was afterwards.  Where nothing can be counted, r->ev is noted as failed; that is no error.
 */
struct err *iterations_measure(struct replay *r, struct rp_task *t, unsigned set);
/*
 * A run to the event's point is about to begin: if it is known what else is to be counted, the
 * counting becomes a part of *run, until iterations_end().
 */
void iterations_begin(struct replay *r, struct rp_task *t, struct stops_run *run);
/* Tells the stub how many iterations are left, where the run counts them. */
struct err *iterations_limit(struct replay *r, struct rp_task *t);
/* The run is over: notes how many iterations are left.  same_event: r->ev is still its event. */
void iterations_end(struct replay *r, struct rp_task *t, struct stops_run *run, bool same_event);
/* Is the task in the last iteration?  Could it be found out how many iterations are left? */
bool iterations_near(const struct replay *r);
bool iterations_possible(const struct replay *r, const struct rp_task *t);

/* to_point.c */
/*
 * For replay.find_point and replay.find_step: run the task to the point of the event, with what the
 * debugger wants stops for.  &rp_stopped: the task has stopped before.
 */
struct err *rp_find_point_stopping(struct replay *r, struct rp_task *t,
				   const struct trace_event *ev) __must_check;
struct err *rp_find_step_stopping(struct replay *r, struct rp_task *t,
				  const struct trace_event *ev) __must_check;

/* advance.c */
/*
 * Makes the smallest move forward that a asks for.  *ret says what has happened; the present
 * position (struct timeline) is not changed, see rp_advance_track().
 */
struct err *rp_advance(struct replay *r, const struct advance *a,
		       struct advance_result *ret) __must_check;
/* Adds to *result what steps in the middle of a string instruction have hit. */
void rp_advance_add_late(struct replay *r, const struct rp_late *late,
			 struct advance_result *result);
/* Did this advance stop for one of s?  *watch (may be NULL) = which watchpoint. */
bool rp_advance_hits(struct replay *r, const struct advance_result *result, unsigned set,
		     const struct replay_break **watch);
/* Does the task run before the event? */
bool rp_event_runs(const struct trace_event *ev, const struct rp_task *t);
/* Will the task, when it goes on, make its last call again? */
bool rp_will_restart(const struct rp_task *t);
/* Returns how many stops for set the advance has made, as position steps count them. */
uint64_t rp_advance_count(struct replay *r, const struct advance_result *result, unsigned set);
/* Makes the present position that of the advance's end. */
void rp_advance_track(struct replay *r, const struct advance_result *result);

/* checkpoint.c */
/*
 * Makes a checkpoint of the present, and drops others where there are too many.  Does nothing where
 * the present has no position, an event is pending, or there is one already.  After an error there
 * is no new checkpoint, and the present is as it was.
 */
struct err *rp_checkpoint_take(struct replay *r);
/* Takes a checkpoint where the last one is long enough ago. */
struct err *rp_checkpoint_maybe(struct replay *r, enum on_interrupt on_interrupt) __must_check;
/* Is since_ns, with nothing taken since then, long enough ago, or a part of that? */
bool rp_checkpoint_due(const struct replay *r, uint64_t since_ns, unsigned part);
/*
 * Makes the present that of the checkpoint, any number of times.  After an error there may be no
 * tasks.
 */
struct err *rp_checkpoint_restore(struct replay *r, struct rp_checkpoint *c);
/* Frees a checkpoint of the timeline's or of the caller's. */
void rp_checkpoint_drop(struct replay *r, struct rp_checkpoint *c);
/*
 * Makes a checkpoint that belongs to the caller; it is restored and dropped like the others.
 * Requires that nothing of a tool's is in code (rp_int3_out()).  *ret is unchanged after an error.
 */
struct err *rp_checkpoint_make(struct replay *r, struct rp_checkpoint **ret) __must_check;
/* In a fork: no processes are ours but these tasks, which rp_copy_wake() made of c. */
struct err *rp_checkpoint_become(struct replay *r, const struct rp_checkpoint *c,
				 struct rp_task *tasks) __must_check;

/* string_skip.c */
/*
 * The task is in the middle of a repeated string instruction, after steps: runs it on by up to max
 * steps, at full speed.  *n: so many; 0: the task is where it was, as where an event may be in the
 * middle.  *behind: the advance to behind the instruction, which may have hits.  Where behind is
 * NULL, or the task does not come there, the task stays where it was when there are hits.
 */
struct err *rp_skip_string(struct replay *r, unsigned set, uint64_t max,
			   enum on_interrupt on_interrupt, uint64_t *n,
			   struct advance_result *behind);
/*
 * Counts steps that stayed at their instruction: is this the second one running, so that it may be
 * such an instruction?
 */
bool rp_in_string(unsigned *same, const struct advance_result *result);

/* position.c */
/* Returns the last checkpoint at p, or (before) before p; NULL: there is none. */
struct rp_checkpoint *rp_checkpoint_before(struct replay *r, const struct position *p, bool before);
/* Makes *to a copy of *from; the memory that *to had is freed. */
void position_copy(struct position *to, const struct position *from);
/* Adds n stops for set to the end of p. */
void position_add(struct position *p, unsigned set, uint64_t n);
/* Is a the same as p, or a point on the way to p? */
bool position_leads(const struct position *a, const struct position *p);
/*
 * Goes to p.  Going is no move of the user's: where an interrupt does not give the move up, going
 * is finished first.
 */
struct err *rp_goto(struct replay *r, const struct position *p,
		    enum on_interrupt on_interrupt) __must_check;
/* Goes to p with single steps through string instructions. */
struct err *rp_goto_stepping(struct replay *r, const struct position *p,
			     enum on_interrupt on_interrupt) __must_check;
/*
 * Goes to `from' and on towards `to', as far as the replay gets until fd can be read: there are
 * checkpoints on the way then.
 */
struct err *rp_go_ahead(struct replay *r, const struct position *from, const struct position *to,
			int fd, enum on_interrupt on_interrupt) __must_check;
/*
 * Goes to `to', and keeps this name for the present: rp_goto() may have found a better name, which
 * positions that come later are not named from.
 */
struct err *rp_goto_by_name(struct replay *r, const struct position *to,
			    enum on_interrupt on_interrupt) __must_check;

bool position_same(const struct position *a, const struct position *b);
/* Is p behind from, and on the way to end, or the same as end? */
bool position_within(const struct position *from, const struct position *p,
		     const struct position *end);
/* Takes one stop or step off the end of p. */
void position_shorten(struct position *p);
/* rp_advance(), and the present position follows (rp_advance_track()). */
struct err *rp_advance_tracked(struct replay *r, const struct advance *a,
			       struct advance_result *result) __must_check;
/* Makes the error for a position that is not found again. */
struct err *rp_lost(const struct replay *r);

/* shown.c */
/* Returns the event from which on the process is not shown; 0: it never is. */
uint64_t rp_shown_until(const struct replay *r, int pid);
/* Returns the first event after which a shown process is there. */
uint64_t rp_first(const struct replay *r);
/* Is this event the process's end, and has the debugger been told of it? */
bool rp_told_end(const struct replay *r, int pid, uint64_t event);

/* periodic.c */
/*
 * As rp_advance_tracked() without step, with checkpoints in long computations.  An interrupt ends
 * the advance at a point with a name where there is one near.  advance_result.fast and a->limit are
 * of a->set alone; a->sites is not looked at.
 */
struct err *rp_advance_periodic(struct replay *r, const struct advance *a,
				struct advance_result *result) __must_check;

/* sites.c: counting sites that are not in the way of a set's breakpoints */
struct counting_sites {
	uint64_t addr[COUNTING_SITES];
	uint64_t code[COUNTING_SITES];	/* replay_break.code */
	unsigned n;
	/* NEAR: no site where a store could not have a jump then; FAR: none near stores */
	enum rp_sparing { RP_SPARE_NOT = 0, RP_SPARE_NEAR, RP_SPARE_FAR } sparing;
};
/* Finds sites at pc or a little behind. */
void counting_sites_at(struct replay *r, struct rp_task *t, struct counting_sites *p, uint64_t pc,
		       unsigned set);
/*
 * Is a breakpoint of s, or the jump for one, in [addr, addr + len)?  Requires that nothing of ours
 * is in the code.
 */
bool counting_sites_blocked(struct rp_task *t, const struct rp_set *s, uint64_t addr, unsigned len);
/* Would the jump of one of p's sites be in the way of a jump at addr? */
bool counting_sites_overlap(struct rp_task *t, const struct counting_sites *p, uint64_t addr,
			    unsigned len);
/*
 * Finds a site where the task is, and nowhere else: those of counting_sites_at() may be beyond the
 * end of the loop.
 */
void counting_site_here(struct replay *r, struct rp_task *t, struct counting_sites *p,
			unsigned set);
/* Finds sites around where the task is. */
void counting_sites_near(struct replay *r, struct rp_task *t, struct counting_sites *p,
			 unsigned set);
/* Returns the set of breakpoints that count these sites. */
unsigned counting_sites_set(struct replay *r, const struct rp_task *t,
			    const struct counting_sites *p);
/* Return the breakpoint that counts the i-th site, or a site in code that does not change. */
struct replay_break counting_site(const struct rp_task *t, const struct counting_sites *p,
				  unsigned i);
struct replay_break counting_site_break(const struct rp_task *t, uint64_t addr);

/* end.c */
/*
 * Is the event that has been read (and reached, if there is a way to it) the end of all that is
 * shown?
 */
bool rp_at_end(struct replay *r);

/* catch.c */
/*
 * Called before an advance that is to meet catchpoints: sets breakpoints for calls that have been
 * patched since.
 */
void rp_catch_refresh(struct replay *r);
/* Notes the facts about r->ev, which rp_next() has read, before it is applied. */
void rp_catch_before(struct replay *r, struct rp_before *b);
/*
 * Did an advance to or over an event end at a stop?  back: the question is asked on the way from a
 * checkpoint.
 */
bool rp_catch_advance(struct replay *r, const struct advance_result *result,
		      const struct rp_before *b, bool back, struct replay_stop *ret);
/* The task is at a breakpoint: is that only a caught call? */
bool rp_catch_moved(struct replay *r, struct rp_task *t, struct replay_stop *ret);
/* A move begins: the present is shown plainly from now on.  Returns the view until now. */
struct rp_view rp_catch_leave(struct replay *r);
/* A forward move begins: is the next stop right here, or one step away?  Then *done. */
struct err *rp_catch_now(struct replay *r, const struct rp_view *v, struct replay_stop *ret,
			 bool *done) __must_check;
/* A backward move begins: is the breakpoint here the stop? */
bool rp_catch_back_here(struct replay *r, const struct rp_view *v, struct replay_stop *ret);
/* A backward move has arrived at *ret: makes the view, and *ret, what is to be shown. */
struct err *rp_catch_arrived(struct replay *r, uint32_t serial, const struct rp_start *from,
			     enum on_interrupt on_interrupt,
			     struct replay_stop *ret) __must_check;
/* Makes *regs, which are those of t, what the view shows. */
void rp_catch_regs(const struct replay *r, const struct rp_task *t, struct regs *regs);
/* Is the task shown at the entry of a call? */
bool rp_catch_entry_view(const struct replay *r, const struct rp_task *t);

#endif
