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
#include "base/text.h"
#include "trace/trace.h"

struct json_t;

enum { CMD_FAILED = 125 };	/* exit status of every failure of our own */

/* ---- options ------------------------------------------------------------------ */

enum option_store {		/* type of the field at option_row.at */
	OPTION_FLAG = 0,	/* bool: set to true; takes no argument */
	OPTION_STRING,		/* const char *: points into argv; the last one counts */
	OPTION_LIST,		/* struct option_list: every one given, in order (--ex A --ex B) */
	OPTION_U64,		/* uint64_t: decimal, or 0x hex */
	/* the same, but not 0, which means in the struct that it was not given */
	OPTION_COUNT,
	/* uint64_t, bytes: decimal, with K, M, G or T behind it (of 1024) */
	OPTION_SIZE,
	OPTION_RANGE,		/* struct option_range: N or N-M, or N- */
	OPTION_CHOICE,		/* int: index into the words of arg, "auto|pmu|step" */
};

struct option_list {
	unsigned n, room;
	const char **value;
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
 * the options and is dropped.  Every set also has -h, --help, --man and --version; they
 * print to stdout and leave *argv NULL: all is done but cmd_done().
 * ERR_USAGE: the sentence says what was wrong and what to do.
 */
struct err *options_parse(const struct option_set *set, void *opts, int *argc, char ***argv)
	__must_check;

void options_help(const struct option_set *set, FILE *out);
/* SYNOPSIS and OPTIONS sections in man(7) markup. */
void options_man(const struct option_set *set, FILE *out);

/*
 * Are these the options of a program, and not of a command of one?  There --help lists --version,
 * too.
 */
bool options_of_program(const struct option_set *set);

/* Print "prog: message" as one line on stderr, free err, return CMD_FAILED. */
int cmd_fail(const char *prog, struct err *err);
/*
 * The end of what prints to stdout: the exit status, after cmd_fail() where err is one, or where
 * what was printed could not be written.  Frees err.
 */
int cmd_done(const char *prog, struct err *err);
/* "PROG VERSION" to stdout. */
void cmd_version(const char *prog);

/* ---- completion for shells (completion.c) --------------------------------------- */

struct completion {
	const char *prog;
	const struct option_set *const *set;
	size_t sets;
	bool commands;		/* a set for each command: "hindsight dump" */
};

/* Is arg (may be NULL) --completion=SHELL? */
bool completion_asked(const char *arg);
/* Print the completion file for it to stdout. */
struct err *completion_run(const struct completion *c, const char *arg) __must_check;
/* Prints the completion script to a file; false: there is none for such a shell. */
bool completion_print(const struct completion *c, const char *shell, FILE *out);

/* ---- naming a trace ----------------------------------------------------------- */

/*
 * Directory of the trace that TRACE on a command line means: NULL = the latest recording; a path
 * (it has a '/', or it exists here) = itself, or when it is a packed file, whatever it is called,
 * what cmd_unpack_to_base() makes of it; any other word = that name below the default trace
 * directory.
 * The caller frees *ret.  ERR_TRACE when there is none.
 */
struct err *cmd_trace_find(const char *name, char **ret) __must_check;
/*
 * Unpack a packed file into a directory below the default trace directory, with a line that says
 * so; nothing to do when it has been before, and is not older.  *ret: that directory, the caller's
 * to free also on failure.
 */
struct err *cmd_unpack_to_base(const char *path, char **ret) __must_check;
/* Is it a packed file, by its content? */
bool cmd_is_pack(const char *path);
/*
 * Finds and opens the trace, for commands whose operands are [TRACE]; ERR_USAGE for more than one.
 */
struct err *cmd_trace_open(int argc, char **argv, struct trace_reader **ret) __must_check;
/* choose.c: is there such a process in a trace?  Also true where that cannot be found out. */
bool cmd_has_process(const char *dir, uint64_t pid);
/* True while a recorder is still writing it.  False where that cannot be found out. */
bool cmd_trace_live(const char *dir);

/* ---- files to read (outfile.c) ---------------------------------------------------- */

/* All of a file, or of a pipe; ERR_USAGE when there is nothing in it.  The caller frees *ret. */
struct err *cmd_file_read(const char *path, char **ret, size_t *len_ret) __must_check;

/* ---- the commands of hindsight -------------------------------------------------- */

struct cmd {
	const char *name;
	const struct option_set *options;
	size_t opts_size;	/* of the struct that options fills in */
	/* argc, argv: the operands.  Prints to stdout; the caller flushes it. */
	struct err *(*run)(const void *opts, int argc, char **argv);
};

extern const struct cmd cmd_ls, cmd_gc, cmd_ps, cmd_info, cmd_dump, cmd_stats, cmd_pack, cmd_unpack,
	cmd_leaks, cmd_jit, cmd_memprof, cmd_heap, cmd_profile, cmd_bt;

/* ---- writing results (info.c) ----------------------------------------------------- */

/* NUL-separated words as one would type them into a shell. */
void text_words(FILE *out, const char *words, size_t len);
/* "1.4 MB" */
const char *text_size(char buf[24], uint64_t bytes);
/* "0", "SIGSEGV", "SIGSEGV+core" from a wait status */
const char *text_status(char buf[48], int status);

/* JSON strings must be UTF-8: other bytes become U+FFFD. */
struct json_t *json_text(const void *bytes, size_t len);
struct json_t *json_words(const char *words, size_t len);	/* NUL-separated: an array */
/* "0x7ffe1234": 64 bits do not fit a JSON number */
struct json_t *json_hex(uint64_t value);
/* A count; INT64_MAX stands for anything above it. */
struct json_t *json_count(uint64_t value);
/* Add the end of a process: "exit_code" and "signal", one of them null; both when it runs. */
void json_status(struct json_t *object, bool ended, int status);
/* Print a value (one line unless pretty), drop it.  err_nomem when it is NULL. */
struct err *json_print(struct json_t *value, bool pretty) __must_check;

/* ---- who is who in a trace (ps.c) ---------------------------------------------------- */

struct words {			/* a command line, NUL-separated; shared by forked tasks */
	unsigned refs;
	size_t len;
	char bytes[];
};

struct task_info {
	uint32_t serial;
	int tid, pid;		/* 0 when the trace has not said */
	bool thread;		/* of leader's process */
	bool ended;
	int status;		/* wait status, when ended */
	uint64_t first_event, last_event, first_ns, last_ns;
	uint64_t events, calls, signals, bytes;	/* bytes: of effect data */
	bool execed;
	struct words *words;	/* may be NULL */
	char name[17];		/* comm; "" when not known */
	int32_t nr;		/* last SYSCALL_ENTER, -1 before the first; its arguments */
	uint64_t args[6];
	/* The tree.  A parent, or leader, is always older: no cycles, whatever the trace says. */
	struct task_info *parent, *leader;	/* leader: first of its process; maybe itself */
	struct task_info *face;	/* leader's: the task whose end is the process's */
	struct task_info *first_child, *last_child, *next_sibling;
	struct task_info *next;	/* in order of appearance */
};

struct task_list {
	void *by_serial;	/* tsearch(3) tree */
	struct task_info *first, *last;
	uint64_t n, processes;
};

void task_list_init(struct task_list *l);
void task_list_deinit(struct task_list *l);
/* Take note of an event; *ret = its task.  Call it for every event from the first on. */
struct err *task_list_event(struct task_list *l, const struct trace_event *ev,
			    struct task_info **ret) __must_check;

/* ---- calls in words (dump.c) ----------------------------------------------------------- */

/* "openat"; "syscall_999" for a number nobody knows, valid until the next call. */
const char *call_name(int32_t nr);

#endif
