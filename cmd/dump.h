/*
 * dump.h - what the files of `hindsight dump` share.
 *
 *	dump.c		the command: options, events, JSON
 *	dump_call.c	a system call in words, traced or buffered
 *	dump_names.c	names of constants
 *	dump_effect.c	an effect in words
 */
#ifndef CMD_DUMP_H
#define CMD_DUMP_H

#include "abi/records.h"
#include "cmd/cmd.h"

/* ---- dump_names.c ------------------------------------------------------------------ */

/* Holds when (v & mask) == value; takes mask's bits out of v.  Zero values come first. */
struct name {
	uint64_t mask, value;
	const char *text;
};

extern const struct name madvise_names[], clone_names[];

/* The language that this argument of this call speaks, or NULL. */
const struct name *names_for(int32_t nr, unsigned arg);
void print_names(FILE *out, const struct name *names, uint64_t v);

/* ---- dump_call.c ------------------------------------------------------------------- */

enum call_state { CALL_WHOLE = 0, CALL_ENTRY, CALL_RESUMED };	/* ENTRY: nothing came out yet */

struct call {
	/* whose effects say what went in and came out; or */
	const struct trace_event *ev;
	const struct record_call *record;	/* ... the record does */
	int32_t nr;
	uint64_t args[6];
	int64_t ret;
	enum call_state state;
	uint64_t bytes;				/* how much of a string to show */
};

bool is_call(const struct trace_event *ev);
struct call call_of(const struct trace_event *ev, const struct task_info *t, uint64_t bytes);
struct call call_of_record(const struct record_call *r, uint64_t bytes);
void print_call(FILE *out, const struct call *c);
void print_signal(FILE *out, uint64_t v);

/* ---- dump_effect.c ----------------------------------------------------------------- */

extern const char *const disposition_names[4];

#define NAME_IN(names, i) \
	((uint64_t)(i) < sizeof(names) / sizeof(*(names)) && (names)[i] ? (names)[i] : "?")

/* Prints one line of --effects, without the data. */
void print_effect(FILE *out, const struct trace_effect *e);

#endif
