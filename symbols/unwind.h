/*
 * unwind.h - what the parts of the unwinder share: unwind.c, and unwind_guess.c for code without
 * call frame information.
 */
#ifndef SYMBOLS_UNWIND_H
#define SYMBOLS_UNWIND_H

#include "symbols/cfi.h"

/* The registers that a call preserves. */
#define CALLEE_SAVED                                                                               \
	(1u << SYMBOLS_RBX | 1u << SYMBOLS_RBP | 1u << SYMBOLS_R12 | 1u << SYMBOLS_R13 |           \
	 1u << SYMBOLS_R14 | 1u << SYMBOLS_R15)

static inline bool unwind_word(const struct symbols_memory *mem, uint64_t addr, uint64_t *ret)
{
	/* The compiler makes these two loads and a comparison of the usual case. */
	if (mem && addr - mem->copy_start < mem->copy_len &&
	    mem->copy_len - (addr - mem->copy_start) >= 8) {
		memcpy(ret, (const uint8_t *)mem->copy + (addr - mem->copy_start), 8);
		return true;
	}
	return mem_read(mem, addr, ret, 8);
}

/* Does the code at vaddr return from a signal handler? */
bool unwind_is_sigreturn(const struct symbols_module *m, uint64_t vaddr);
/* Is there a call instruction right before addr, in code that can run? */
bool unwind_after_call(struct symbols *s, const struct symbols_memory *mem, uint64_t addr);
/* Unwinds one frame by a row.  False: registers may have been changed. */
bool unwind_row(const struct cfi_row *row, struct symbols_regs *regs,
		const struct symbols_memory *mem, uint64_t *cfa_ret);
/* Unwinds one frame without a row. *how_ret says whether the result is certain. */
bool unwind_guess(struct symbols *s, struct symbols_regs *regs, const struct symbols_memory *mem,
		  bool first, uint64_t *cfa_ret, enum symbols_how *how_ret);
/* Is there no return address on the stack above rsp? */
bool unwind_nothing_above(struct symbols *s, const struct symbols_regs *regs,
			  const struct symbols_memory *mem);

#endif
