#include "symbols/go.h"
bool go_at(struct symbols_module *m, uint64_t vaddr, struct go_func *ret) { (void)m; (void)vaddr; (void)ret; return false; }
void go_each(struct symbols_module *m, const char *name, void (*fn)(void *ctx, const struct sym *s), void *ctx) { (void)m; (void)name; (void)fn; (void)ctx; }
void go_free(struct go *g) { free(g); }
