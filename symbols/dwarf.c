#include "symbols/dwarf.h"
#include "symbols/go.h"
bool cu_addr(struct cu *cu, uint64_t index, uint64_t *ret) { (void)cu; (void)index; *ret = 0; return false; }
struct dwarf *module_dwarf(struct symbols_module *m) { return m->dwarf; }
size_t dwarf_lookup(struct symbols_module *m, uint64_t vaddr, struct symbols_frame *ret, size_t max) { (void)m; (void)vaddr; (void)ret; (void)max; return 0; }
void dwarf_free(struct dwarf *d) { (void)d; }
void type_table_free(struct type_table *t) { free(t); }
bool go_at(struct symbols_module *m, uint64_t vaddr, struct go_func *ret) { (void)m; (void)vaddr; (void)ret; return false; }
void go_each(struct symbols_module *m, const char *name, void (*fn)(void *ctx, const struct sym *s), void *ctx) { (void)m; (void)name; (void)fn; (void)ctx; }
void go_free(struct go *g) { free(g); }
