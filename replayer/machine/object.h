/*
 * object.h - what is behind mappings: object.c, and unmapped.c for objects that no process maps.
 *
 * The functions with an event apply the effect of this name, and require that the event's task is
 * stopped.  ERR_TRACE: the trace is not sound.
 */
#ifndef REPLAYER_MACHINE_OBJECT_H
#define REPLAYER_MACHINE_OBJECT_H

#include "replayer/machine/machine.h"

/* ---- object.c ---------------------------------------------------------------------- */
/* Does nothing where the object is defined already. */
struct err *rp_object_define(struct replay *r, const struct trace_event *ev,
			     const struct trace_effect *e) __must_check;
/* Finds an object, and opens its descriptor, which stays the object's. */
struct err *rp_object_open(struct replay *r, const struct trace_event *ev, uint32_t number,
			   struct rp_object **ret) __must_check;
/*
 * An object of kind FILE gets a memfd with the file's content instead of its descriptor.  After an
 * error the object has the descriptor that it had.
 */
struct err *rp_object_memfd(struct replay *r, struct rp_object *o) __must_check;
/*
 * A mapping goes as far as size: an open object of a trace without SIZE effects becomes so long.
 */
struct err *rp_object_reach(struct rp_object *o, uint64_t size) __must_check;
struct err *rp_object_resize(struct replay *r, const struct trace_event *ev,
			     const struct trace_effect *e) __must_check;
struct err *rp_object_zero(struct replay *r, const struct trace_event *ev,
			   const struct trace_effect *e) __must_check;
struct err *rp_object_write(struct replay *r, const struct trace_event *ev,
			    const struct trace_effect *e) __must_check;
/* After an error the object is unchanged, but some mappings may be of its new memfd. */
struct err *rp_object_live(struct replay *r, const struct trace_event *ev,
			   const struct trace_effect *e) __must_check;
/* Copies all of a file to an empty one; holes stay holes. */
struct err *rp_object_copy(int from, int to) __must_check;
/*
 * Makes the mapping m in the process of t, which is stopped, one of fd; private copies of pages
 * stay.
 */
struct err *rp_object_remap(struct rp_task *t, const struct tracee_map *m, int fd) __must_check;
/*
 * Makes the object what it was at a checkpoint, with fd or saved, which are the object's then, or
 * with -1 and NULL.
 */
void rp_object_restored(struct rp_object *o, int fd, struct rp_saved *saved);
/* tracee_pages() of a mapping of an object: holes are not read. */
struct err *rp_object_pages(const struct replay *r, const struct rp_task *t, uint64_t addr,
			    uint64_t len, tracee_page_fn *fn, void *ctx) __must_check;

/* ---- unmapped.c: memfds that no process maps ------------------------------------------------- */

/*
 * Makes the content of each of these memfds memory of ours, which copies share, so that its
 * descriptor can be closed; content that no process will ever map again goes.  All tasks are
 * stopped.
 */
struct err *rp_objects_save_unmapped(struct replay *r) __must_check;
/*
 * Gives an object whose content is saved its descriptor again.  After an error the content is
 * still saved.
 */
struct err *rp_object_load(struct rp_object *o) __must_check;
/* Counts one user more, or (put) one less, and frees s with its last user.  s may be NULL. */
struct rp_saved *rp_saved_use(struct rp_saved *s);
void rp_saved_put(struct rp_saved *s);

#endif
