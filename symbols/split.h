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
};

/* Those that are there, of the units that ix lists; *f may come out empty. */
void split_files_open(struct symbols_module *m, struct index *ix, struct split_files *f);
void split_files_close(struct split_files *f);

#endif
