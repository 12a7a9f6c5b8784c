/* go.h - .gopclntab: names and lines of Go functions in stripped binaries. */
#ifndef SYMBOLS_GO_H
#define SYMBOLS_GO_H

#include "symbols/internal.h"

struct go;

struct go_func {
	uint64_t start, end;
	const char *name, *file;
	unsigned line;
};
bool go_at(struct symbols_module *m, uint64_t vaddr, struct go_func *ret);
/* CFA - 8 - rsp at vaddr. */
bool go_frame_size(struct symbols_module *m, uint64_t vaddr, int64_t *ret);
/* Calls fn for each function of that name. */
void go_each(struct symbols_module *m, const char *name, void (*fn)(void *ctx, const struct sym *s),
	     void *ctx);
void go_free(struct go *g);

#endif
