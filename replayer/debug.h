/*
 * debug.h - lint: fragment of internal.h: what debugging adds to a replay.
 *
 * Layers, lowest first:
 *   breaks.c      puts breakpoints and watchpoints into processes while they run, and only then
 *   hop.c         the smallest move there is: to the next stop of a set, or one instruction, or one event
 *   checkpoint.c  copies of all processes
 *   timeline.c    positions and how to get to one again; backwards
 *   inspect.c     what debuggers ask of a stopped replay
 */
#ifndef REPLAYER_DEBUG_H
#define REPLAYER_DEBUG_H

#include <signal.h>

enum { WATCHES_MAX = 64, DEBUG_REGISTERS = 4 };

struct rp_int3 {
	uint64_t addr;
	uint8_t byte;		/* what the program has there */
};

/* A set of breakpoints and watchpoints.  Sets are kept for good: positions name them by number. */
struct rp_set {
	struct replay_break *b;
	unsigned n;
	unsigned watches, registers;	/* of these: data watchpoints; debug registers needed */
	bool soft;			/* too many for the registers: step and compare */
};

/*
 * A name for a point in time that needs no counter: between two events a task is deterministic, so
 * "the third time it stops for set 5, then 2 single steps" is one point.
 */
struct rp_leg {
	unsigned set;		/* 0 = the empty one: single steps */
	uint64_t n;
};

struct rp_pos {
	uint64_t where;		/* events done */
	bool pending;		/* the task is at the next event; legs is empty */
	unsigned legs_n, legs_room;
	struct rp_leg *legs;
};

enum rp_hop_kind {
	HOP_MOVED,		/* the task of the next event moved, and not to that event */
	HOP_PENDING,		/* it is there now, nothing applied */
	HOP_EVENT,		/* applied */
	HOP_INTERRUPTED,	/* somewhere: has no name */
	HOP_END,
};

struct rp_hop {
	enum rp_hop_kind kind;
	struct rp_task *t;	/* NULL when it is gone */
	bool stepped;		/* MOVED by exactly one instruction */
	bool arrived;		/* t is at another instruction than before */
	enum trace_event_kind event;
	uint64_t hit[WATCHES_MAX / 64];	/* watchpoints of the set, by index, that were triggered */
	unsigned set;
};

struct rp_checkpoint {
	struct rp_checkpoint *older;
	struct rp_pos pos;
	struct rp_task *tasks;		/* real is 0 for all but one of each address space */
	struct rp_xstate *xstate;	/* of the others */
	int *fds;			/* copies of the shared objects, -1 for none */
	uint32_t fds_n;
	uint32_t root;
	int root_status;
	bool root_done;
	bool keep;			/* the first: never thinned out */
	uint64_t cost_ns;		/* replay time from the one before */
};

struct rp_debug {
	struct rp_set *sets;
	unsigned sets_n;
	unsigned user;			/* what the debugger has set */
	/* being used by the run that is going on */
	unsigned now;
	bool step;
	unsigned now_asked;		/* what rp_debug_also() added to */
	bool step_asked;
	unsigned dr_gen, dr_set;
	uint64_t dr_hit;		/* debug registers that triggered, bits */
	bool trapped;
	struct rp_hop last;
	uint64_t last_pc;
	struct rp_pos pos;
	bool nameless;			/* pos is a point before the present one */
	uint64_t first;			/* nothing before this event is shown */
	struct rp_checkpoint *newest;
	unsigned checkpoints;
	uint64_t last_ns;
	int interrupt_fd;
	bool shielded;			/* finish what was begun: no interrupts */
	uint32_t current;
	int pids[64];
	uint64_t births[64];		/* nothing of the process before this event */
	unsigned pids_n;
};

/* breaks.c */
unsigned rp_set_intern(struct replay *r, const struct replay_break *b, unsigned n);
unsigned rp_set_union(struct replay *r, unsigned a, unsigned b);
struct err *rp_debug_before(struct replay *r, struct rp_task *t, int *request);
/* A SIGTRAP of ours? */
bool rp_debug_trap(struct replay *r, struct rp_task *t, const siginfo_t *info);
bool rp_debug_interrupted(struct replay *r);
/* Does the run that is going on step, or have breakpoints? */
bool rp_debug_wants_stops(struct replay *r);
/* No trace of debugging in the task and its memory. */
void rp_debug_clear(struct replay *r, struct rp_task *t);
/* Is a breakpoint in [start, end), or a data watchpoint anywhere: so that landmark.c's jump cannot be used? */
bool rp_debug_in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start, uint64_t end);
/* For the next run, also stop at addr; afterwards: was that all it stopped for? */
void rp_debug_also(struct replay *r, struct rp_task *t, uint64_t addr);
bool rp_debug_also_done(struct replay *r, struct rp_task *t);
/* Look for interrupts from now on, or (sample) interrupt what runs once, after so long; 0 = never. */
void rp_timer(long first_us, bool sample);
bool rp_sampled(void);
/* Breakpoints out of all memory / of one address space. */
void rp_int3_out(struct replay *r);
void rp_int3_out_mm(struct rp_mm *mm, pid_t real);
bool rp_set_breaks(const struct rp_set *s, pid_t pid, uint64_t pc);

/* hop.c */
struct err *rp_hop(struct replay *r, unsigned set, bool step, struct rp_hop *ret);
/* Did this hop stop for one of s?  *watch (may be NULL) = which watchpoint. */
bool rp_hop_hits(struct replay *r, const struct rp_hop *hop, unsigned set, const struct replay_break **watch);
void rp_hop_track(struct replay *r, const struct rp_hop *hop);

/* checkpoint.c */
struct err *rp_checkpoint_take(struct replay *r);
struct err *rp_checkpoint_maybe(struct replay *r);
struct err *rp_checkpoint_restore(struct replay *r, struct rp_checkpoint *c);
void rp_checkpoint_drop(struct replay *r, struct rp_checkpoint *c);
/* A copy that belongs to the caller; restored and dropped like the others. */
struct err *rp_copy_take(struct replay *r, struct rp_checkpoint **ret);

/* timeline.c */
void rp_pos_copy(struct rp_pos *to, const struct rp_pos *from);
void rp_pos_leg(struct rp_pos *p, unsigned set, uint64_t n);
/* a is p or a point on the way to it */
bool rp_pos_leads(const struct rp_pos *a, const struct rp_pos *p);
struct err *rp_goto(struct replay *r, const struct rp_pos *p);
struct err *rp_back(struct replay *r, struct replay_stop *ret);
struct err *rp_step_back(struct replay *r, uint32_t serial, struct replay_stop *ret);

bool rp_pos_same(const struct rp_pos *a, const struct rp_pos *b);
void rp_pos_shorten(struct rp_pos *p);
struct err *rp_tracked_hop(struct replay *r, unsigned set, bool step, struct rp_hop *hop);
struct err *rp_lost(const struct replay *r);

/* The first event after which a shown process is there. */
uint64_t rp_first(const struct replay *r);

/* stepback.c */
/* One instruction of the task back.  *begin: there is nothing before. */
struct err *rp_back_one(struct replay *r, uint32_t serial, bool *begin);

void rp_debug_stop(struct replay *r);
uint64_t rp_now_ns(void);

#endif
