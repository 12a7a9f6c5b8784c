/*
 * page_watch.h - watchpoints by protected pages: page_watch.c, and memory.c.
 *
 * The functions with a task or a process require that it is stopped, and leave it stopped.
 */
#ifndef REPLAYER_STOPS_PAGE_WATCH_H
#define REPLAYER_STOPS_PAGE_WATCH_H

#include "replayer/stops/stops.h"

/* memory.c: does not tell where the kernel refuses. */
struct err *rp_page_protect(pid_t real, uint64_t page, int prot) __must_check;

/*
 * Protects the pages that the set needs, and no other.  After an error some of them may be
 * protected, until page_watch_out().
 */
struct err *page_watch_in(struct replay *r, struct rp_task *t, const struct rp_set *s,
			  unsigned gen);
/* Does the run that begins need protected pages? */
bool page_watch_wanted(const struct replay *r, const struct rp_task *t, const struct rp_set *s);
/* Gives all pages the program's protection. */
void page_watch_out(struct rp_mm *mm, pid_t real);
/* Was the last access to a protected page to no watched place? */
bool page_watch_misses(const struct replay *r, const struct rp_set *s);
/* Is the task at a breakpoint that no stub is going to look at? */
bool page_watch_at_break(const struct replay *r, const struct rp_set *s, const struct rp_task *t);
/* Has the access that faulted touched any of addr to addr + len? */
bool page_watch_hits(const struct stops *stops, uint64_t addr, uint64_t len);
/*
 * May the run go on after such an access, since nothing else is to stop for?  It is forgotten then.
 */
bool page_watch_passes(struct replay *r, struct rp_task *t);
/* Tells the i-th page protected for a watchpoint alone, and how; false: there are fewer. */
bool page_watch_page(const struct rp_mm *mm, unsigned i, uint64_t *page, int *prot);
/* An effect is about to change mappings: where it touches a protected page, none is protected. */
void page_watch_make_room(struct replay *r, struct rp_task *t, const struct trace_effect *e);
/* A debug register has hit: where that is in a string instruction, runs the task to its end. */
struct err *page_watch_finish_string(struct replay *r, struct rp_task *t) __must_check;
/*
 * Does the program begin to write code where breakpoints are, or to execute such code?  True: the
 * run goes on, with breakpoints that have been taken out or are to be put in.
 */
bool page_watch_opens(struct replay *r, struct rp_task *t, const siginfo_t *info);
/*
 * Is the fault an access to a protected page?  Then the access has been done.  False: the fault is
 * the program's; *info may be the signal that the access got without protection.
 */
bool page_watch_fault(struct replay *r, struct rp_task *t, siginfo_t *info);

#endif
