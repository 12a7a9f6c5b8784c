/*
 * operand.h - what the operands of an instruction stand for, given the registers.
 */
#ifndef X86_OPERAND_H
#define X86_OPERAND_H

#include <stdint.h>

#include "abi/regs.h"

struct cs_x86_op;

/* Returns the index of the word of struct regs that Capstone's register is part of; -1: none. */
int x86_register_word(unsigned reg);
/* Returns the index for the number (0 to 15) that instructions have for a register. */
unsigned x86_number_word(unsigned number);
/*
 * The address of an operand in memory.  next: that of the instruction behind, which what is
 * relative to rip counts from.  A register that is none of the sixteen counts as zero.
 */
uint64_t x86_operand_address(const struct cs_x86_op *op, const struct regs *regs, uint64_t next);

#endif
