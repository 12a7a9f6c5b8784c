/*
 * outfile.h - the files that commands write: whole under their names, or not at all
 */
#ifndef CMD_OUTFILE_H
#define CMD_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

enum {
	OUTFILE_NEW = 1,	/* the file must not exist */
	OUTFILE_SEEKS = 2,	/* f can be read and gone back in, also where path is a pipe */
};

/*
 * An output file gets its name when it is closed without an error.  Until then, and when something
 * fails, a file that was there before stays as it was; a killed command leaves nothing. "-" is
 * standard output; pipes and devices are written as they are.
 */
struct outfile {
	FILE *f;
	/* private: */
	FILE *to;		/* a stream instead of a file with a name */
	const char *path;
	char *real;		/* where links lead */
	unsigned flags;
	mode_t mode;
	bool exists, linked;	/* linked: the file can be given a name, no copy is needed */
};

struct err *outfile_open(struct outfile *o, const char *path, unsigned flags) __must_check;
/* f is a file that is gone when it is closed. */
struct err *outfile_temporary(struct outfile *o) __must_check;
/* Takes err, which comes first. */
struct err *outfile_close(struct outfile *o, struct err *err) __must_check;

/*
 * Before anything is done: one form at most goes to standard output, and no two to one file.
 * Entries of path[] may be NULL.  text: standard output is taken by something that was asked for.
 * *stdout_ret: a form goes there.
 */
struct err *outfile_check(bool text, const char *const *path, size_t n,
			  bool *stdout_ret) __must_check;

#endif
