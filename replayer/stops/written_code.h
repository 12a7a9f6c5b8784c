/*
 * written_code.h - breakpoints in code that the program writes: written_code.c.
 *
 * The functions with a task or a process require that it is stopped.
 */
#ifndef REPLAYER_STOPS_WRITTEN_CODE_H
#define REPLAYER_STOPS_WRITTEN_CODE_H

#include "replayer/stops/stops.h"

/*
 * May some of the set's breakpoints be where the program can write?  False: it is known that none
 * are.
 */
bool rp_written_any(const struct rp_mm *mm, const struct rp_set *s, pid_t pid);
/* Calls add() for the pages of these breakpoints, which are to be watched. */
void rp_written_pages(struct rp_mm *mm, const struct tracee_maps *maps, const struct rp_set *s,
		      pid_t pid,
		      void (*add)(struct rp_mm *mm, const struct tracee_maps *maps, uint64_t page));
/*
 * Returns the protection of shared memory that only rp_written_poke() can write to, and another of
 * its addresses; else 0.
 */
int rp_written_shared(const struct tracee_maps *maps, uint64_t addr, uint64_t *other);
/* Writes a byte to memory of this protection.  False: the byte could not be written. */
bool rp_written_poke(pid_t real, uint64_t addr, uint8_t byte, int prot);
/*
 * Opens a page: the program writes to it, and nothing of ours is in it until it is executed.
 * False: too many pages are open.
 */
bool rp_written_open(struct rp_mm *mm, uint64_t page);
/* Closes the page of addr again. */
void rp_written_close(struct rp_mm *mm, uint64_t addr);
/*
 * Closes all pages.  True: some were open, and the caller takes code and protection out, to be put
 * in anew.
 */
bool rp_written_close_all(struct rp_mm *mm);
bool rp_written_is_open(const struct rp_mm *mm, uint64_t addr);
/* Mappings change there: forgets what is known of them. */
void rp_written_forget(struct rp_mm *mm, uint64_t addr, uint64_t len);
/*
 * The effect maps memory while the task runs: where breakpoints of the set are in it, all are taken
 * out, to be put in again.
 */
void rp_written_mapped(struct replay *r, struct rp_task *t, const struct trace_effect *e);

#endif
