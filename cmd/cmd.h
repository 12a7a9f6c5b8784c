/*
 * cmd.h - what rec, replay and hindsight share: options, the one error line, naming a
 * trace, and writing results as text or JSON.
 *
 * An option is one row of a table.  Parsing, --help and the man page's SYNOPSIS and
 * OPTIONS sections (PROG --man) all come from the rows:
 *
 *	struct rec_options {
 *		const char *output;
 *		int ticks;			// index into the choices of its row
 *		bool no_syscallbuf, checksum;
 *	};
 *	static const struct option_row rec_rows[] = {
 *		{ "output", 'o', "DIR", OPTION_STRING, offsetof(struct rec_options, output),
 *		  "write the trace to DIR, which must not exist" },
 *		{ "ticks", 0, "auto|pmu|landmark|step", OPTION_CHOICE,
 *		  offsetof(struct rec_options, ticks), "how to name a point in time" },
 *		{ "no-syscallbuf", 0, NULL, OPTION_FLAG,
 *		  offsetof(struct rec_options, no_syscallbuf), "stop at every system call" },
 *		{ 0 }
 *	};
 *	static const struct option_set rec_options = {
 *		"rec", "[options] [--] PROGRAM [ARG...]", "Record a program.", rec_rows, false,
 *	};
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct rec_options o = { 0 };		// zero = the default of every row
 *		struct err *err = options_parse(&rec_options, &o, &argc, &argv);
 *
 *		if (err)
 *			return cmd_fail("rec", err);
 *		if (!argv)				// --help was printed
 *			return 0;
 *		// argv[0..argc-1] = PROGRAM ARG...; argc may be 0
 *	}
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum { CMD_FAILED = 125 };	/* exit status of every failure of our own */

/* ---- options ------------------------------------------------------------------ */

enum option_store {		/* type of the field at option_row.at */
	OPTION_FLAG = 0,	/* bool: set to true; takes no argument */
	OPTION_STRING,		/* const char *: points into argv; the last one counts */
	OPTION_LIST,		/* struct option_list: every one given, in order (--ex A --ex B) */
	OPTION_U64,		/* uint64_t: decimal, or 0x hex */
	OPTION_RANGE,		/* struct option_range: N or N-M, or N- */
	OPTION_CHOICE,		/* int: index into the words of arg, "auto|pmu|step" */
};

enum { OPTION_LIST_MAX = 32 };
struct option_list {
	unsigned n;
	const char *value[OPTION_LIST_MAX];
};

struct option_range {		/* both ends belong to it; to == 0: not given */
	uint64_t from, to;
};

struct option_row {
	const char *name;	/* long name without dashes; NULL ends the table */
	char letter;		/* short name, 0 for none */
	const char *arg;	/* what --help calls the argument; NULL for OPTION_FLAG */
	enum option_store store;
	size_t at;		/* offsetof() the field in the command's options struct */
	const char *help;	/* half a sentence: small letter first, no full stop */
};

struct option_set {
	const char *prog;	/* "rec", "hindsight dump" */
	const char *synopsis;	/* what follows the name: "[options] [TRACE]" */
	const char *about;	/* one sentence */
	const struct option_row *rows;
	bool anywhere;		/* options may follow operands; else the first operand ends them */
};

/*
 * Parse argv[1...] into *opts.  Takes --name=VALUE, --name VALUE, -nVALUE, -n VALUE and bundled
 * flags (-ab).  On success *argv and *argc are the operands (argv[*argc] is NULL); "--" ends
 * the options and is dropped.  Every set also has -h, --help and --man; they print to stdout
 * and leave *argv NULL: all is done, exit 0.
 * ERR_USAGE: the sentence says what was wrong and what to do.
 */
struct err *options_parse(const struct option_set *set, void *opts, int *argc, char ***argv)
	__must_check;

void options_help(const struct option_set *set, FILE *out);
/* SYNOPSIS and OPTIONS sections in man(7) markup. */
void options_man(const struct option_set *set, FILE *out);

/* Print "prog: message" as one line on stderr, free err, return CMD_FAILED. */
int cmd_fail(const char *prog, struct err *err);

#endif
