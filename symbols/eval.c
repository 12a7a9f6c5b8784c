#include "symbols/dwarf.h"
struct err *symbols_eval(struct symbols *s, const char *text, const struct symbols_regs *regs, uint64_t cfa,
			 const struct symbols_memory *mem, uint64_t *addr_ret, const struct symbols_type **type_ret)
{ (void)s; (void)text; (void)regs; (void)cfa; (void)mem; (void)addr_ret; (void)type_ret; return err_new(ERR_UNSUPPORTED, "not yet"); }
