#ifndef SYMBOLS_DWARF_H
#define SYMBOLS_DWARF_H
#include "symbols/internal.h"
struct cu;
bool cu_addr(struct cu *cu, uint64_t index, uint64_t *ret);
struct dwarf *module_dwarf(struct symbols_module *m);
size_t dwarf_lookup(struct symbols_module *m, uint64_t vaddr, struct symbols_frame *ret, size_t max);
void dwarf_free(struct dwarf *d);
void type_table_free(struct type_table *t);
#endif
