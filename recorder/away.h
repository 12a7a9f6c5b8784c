/*
 * away.h - what the recorder waits for while other tasks go on: one that is stuck in the kernel, or
 * a file that a recorded task serves.
 */
#ifndef RECORDER_AWAY_H
#define RECORDER_AWAY_H

#include "recorder/task.h"

/* ---- away.c ---------------------------------------------------------------------------------- */
/* Notes the main loop, which runs now and again on another stack when others go on. */
void rec_away_begin(struct recorder *rec, struct err *(*loop)(struct recorder *rec));
/* The main loop has ended with err.  Returns the error of the recording's first loop. */
struct err *rec_away_end(struct err *err);
/* Has a loop ended with an error, so that all loops are to end? */
bool rec_away_over(void);
/* Is something waited for while others go on? */
bool rec_away_any(void);
/* Makes tasks ready that have waited for what is there now; true: there is such a task. */
bool rec_away_check(struct recorder *rec);
/* The handling of t, which was left, goes on. */
void rec_away_return(struct rec_task *t);
/* waitpid() said this of a task that is away. */
void rec_away_heard(struct rec_task *t, int status);
/*
 * Others go on until t, which is RUNNING, stops: it is STOPPED then, and its stop the first to be
 * handled.  Only while a stop is handled.
 */
struct err *rec_away_stop(struct recorder *rec, struct rec_task *t, int *status_ret);

/* For slow_run (base/slow.h): while a stop is handled, others go on when fn takes long. */
void rec_away_do(void (*fn)(void *), void *ctx);

/* Times of a task that is waited for; all 0 in the beginning. */
struct rec_stuck { uint64_t since_ns, cpu_ns; };
/*
 * Asked now and then: has the task been asleep for a while, and used no processor time?  It may
 * wait for another recorded task.
 */
bool rec_stuck(const struct recorder *rec, const struct rec_task *t, struct rec_stuck *s);

/* ---- serves.c -------------------------------------------------------------------------------- */
/* A call begins: does the task begin to serve files to others? */
void rec_serves_look(struct recorder *rec, struct rec_task *t, const struct rec_call *call);
/*
 * Does a program that has others serve files make the call?  The call may sleep then, though the
 * table says no.
 */
bool rec_serves_waits(const struct recorder *rec, const struct rec_call *call);
/*
 * Returns a copy of the file in memory (fd is closed), which nobody serves; -1: the file cannot be
 * read, or is too large.  Where nobody serves files: fd itself.
 */
int rec_serves_copy(const struct recorder *rec, int fd, const struct stat *st);

#endif
