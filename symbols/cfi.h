/*
 * cfi.h - call frame information: how to find the caller's registers at an address.
 */
#ifndef SYMBOLS_CFI_H
#define SYMBOLS_CFI_H

#include "symbols/internal.h"

enum cfi_rule_kind {
	RULE_NONE,		/* nothing said: unchanged if callee-saved */
	RULE_SAME, RULE_UNDEFINED,
	RULE_OFFSET,		/* saved at CFA + value */
	RULE_VAL_OFFSET,	/* is CFA + value */
	RULE_REG,		/* is in register value */
	RULE_EXPR,		/* saved at the expression's address */
	RULE_VAL_EXPR,
};
struct cfi_rule {
	uint8_t kind;
	int64_t value;
	struct span expr;
};
struct cfi_row {
	uint64_t cfa_reg;
	int64_t cfa_off;
	struct span cfa_expr;	/* used when not empty */
	struct cfi_rule rule[SYMBOLS_REGS];
	uint8_t ra;		/* column of the return address */
	bool signal;
};
/* The row for vaddr.  False: nothing covers it. */
bool cfi_row_at(struct symbols_module *m, uint64_t vaddr, struct cfi_row *ret);
/* Infers the row from the function's instructions, where no information covers vaddr (infer.c). */
bool infer_row_at(struct symbols_module *m, uint64_t vaddr, struct cfi_row *ret);
/*
 * Infers the row at addr, for the n bytes of a function that begins at start.  False also where
 * callers set the frame pointer for those that they call.
 */
bool infer_code(const uint8_t *code, size_t n, uint64_t start, uint64_t addr, struct cfi_row *ret);
/*
 * Where the function at vaddr begins: by its symbol, else the nearest target of a call; 0 =
 * unknown.
 */
uint64_t infer_start(struct symbols_module *m, uint64_t vaddr);
void cfi_free(struct cfi *c);
/* The function of .eh_frame that vaddr is in: addresses as in the file. */
bool cfi_function_at(struct symbols_module *m, uint64_t vaddr, uint64_t *start, uint64_t *end);

#endif
