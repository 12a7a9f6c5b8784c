/*
 * split.h - the files that entries of a program's split units are in (.dwo, .dwp).
 */
#ifndef SYMBOLS_SPLIT_H
#define SYMBOLS_SPLIT_H

#include "symbols/index.h"

struct split_files {
	struct span *image;
	size_t n, cap;
	uint64_t sum;		/* of which files these are, and how old */
	symbols_file_fn *told;	/* of each that is there; may be NULL */
	void *ctx;
};

/* Opens those split files that are there, of the units that ix lists; *f may come out empty. */
void split_files_open(struct symbols_module *m, struct index *ix, struct split_files *f);
/* Calls fn with the path of each. */
void split_files_each(struct symbols_module *m, struct index *ix, symbols_file_fn *fn, void *ctx);
void split_files_close(struct split_files *f);

#endif
