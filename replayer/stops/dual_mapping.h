/*
 * dual_mapping.h - watched pages that are mapped twice, so that stubs can store to them without a
 * fault: dual.c, dual_view.c, dual_learn.c.
 *
 * The functions with a task or a process require that it is stopped, and leave it stopped.
 */
#ifndef REPLAYER_STOPS_DUAL_MAPPING_H
#define REPLAYER_STOPS_DUAL_MAPPING_H

#include "replayer/stops/stops.h"

/* ---- dual.c ---------------------------------------------------------------------------------- */
/* Is the fault a store to a protected page that a stub is going to do?  Then the run goes on. */
bool dual_fault(struct replay *r, struct rp_task *t, const siginfo_t *info);
/* Returns how many such faults there have been, ever. */
uint64_t dual_faults(void);
/* Takes all jumps out, and makes all pages single again. */
void dual_out(struct rp_mm *mm, pid_t real);
/* Frees our data for an address space that is gone. */
void dual_free(struct rp_mm *mm);
/* A mapping in [at, at + len) changes: stubs for code there are not used any more. */
void dual_forget(struct rp_task *t, uint64_t at, uint64_t len);
/* Fills the data of a copy of the process. */
void dual_copy(struct rp_mm *copy, const struct rp_mm *mm);
/* Something is about to be mapped at [at, at + len): areas of ours that are there are unmapped. */
struct err *dual_make_room(struct rp_task *t, uint64_t at, uint64_t len);
/* Called after each stop and before each run: as inprocess_leave(), inprocess_enter(). */
void dual_leave(struct rp_task *t);
void dual_enter(struct rp_task *t);
/* Is the task in a stub, and at no place that the program knows? */
bool dual_inside(const struct rp_task *t);
/* Steps the task to where the program knows it. */
struct err *dual_step_out(struct replay *r, struct rp_task *t);
/* Adds the stores that stubs have noted since the process began (stops.bitmap) to *m. */
struct err *dual_bitmap(struct rp_task *t, struct store_bitmap *m) __must_check;

/* ---- dual_view.c ----------------------------------------------------------------------------- */
/* Is addr in an area of ours? */
bool dual_area(const struct rp_mm *mm, uint64_t addr);
/*
 * Is addr on a page that is dual-mapped at the moment?  *off: how far off the other mapping is,
 * which can be stored to.
 */
bool dual_other(const struct rp_mm *mm, uint64_t addr, uint64_t *off);
/* Are jumps of ours in code? */
bool dual_jumps(const struct rp_mm *mm);
/* Returns room for some bytes of code that nobody else uses: half a page.  0: there is none. */
uint64_t dual_scratch(const struct rp_mm *mm);
/* Makes bytes, read at addr, what they are without our jumps. */
void dual_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);
/* Writes the program's bytes around rip, or (back) what was there instead. */
void dual_remove(struct rp_task *t, uint64_t rip, bool back);
/* Writes to the program's memory, while pages may be protected. */
struct err *page_watch_write(struct rp_task *t, uint64_t addr, const void *bytes, size_t len);

/* ---- dual_learn.c ---------------------------------------------------------------------------- */
/* Called before the first write log, and in each: what is learned of stores is shared from then. */
void dual_share(void);
void dual_learn_shared(void);
/* Does a jump belong there, for a store that is made all the time? */
bool dual_dense(uint64_t start, uint64_t end);

#endif
