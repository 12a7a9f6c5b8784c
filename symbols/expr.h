/*
 * expr.h - DWARF expressions: where a variable is, how a register is found again.
 */
#ifndef SYMBOLS_EXPR_H
#define SYMBOLS_EXPR_H

#include "symbols/internal.h"

struct cu;

enum location_kind {
	LOC_MEMORY,		/* value is its address */
	LOC_REG,		/* value is the register's number */
	LOC_VALUE,		/* value is the variable's value: it has no place */
	LOC_TLS,		/* value is the offset into the module's thread-local block */
};
struct location {
	enum location_kind kind;
	uint64_t value;
};
struct expr_env {
	const struct symbols_regs *regs;	/* NULL: only constant expressions */
	const struct symbols_memory *mem;
	uint64_t cfa, bias;
	struct span frame_base;
	bool in_frame_base;
};
/*
 * initial: put on the stack before (the CFA, for CFI expressions); NULL = nothing.  False: not
 * known, or damaged.
 */
bool expr_eval(struct span expr, const struct expr_env *env, const uint64_t *initial,
	       struct location *ret);

#endif
