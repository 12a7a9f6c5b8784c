/*
 * pun.h - replace any instructions by a jump, safely against branches into its middle.
 *
 * A jump has five bytes and may cover several instructions, or reach behind the end of a function.
 * Nobody can know all the places a program jumps to (tables of a switch, code behind a jmp), so the
 * address of the stub is chosen such that every byte of the jump at which an instruction
 * began is an instruction that traps: int3, or one that user mode may not or cannot execute.
 * Whoever comes in there stops, and goes on in the moved copy of that instruction.
 *
 *	before  48 83 c0 01 | 75 fa          add $1,%rax ; jne
 *	after   e9 .. .. .. | cc fa          jmp stub; the stub lies so that the fifth byte is 0xcc
 *
 * What lies behind an unconditional jump or a return need not be code at all.  Each byte there that
 * is no instruction that can be moved counts as an instruction of its own, X86_STAYS, that has no
 * moved copy: whoever comes in there needs the original, without the jump.
 */
#ifndef TRACEE_PUN_H
#define TRACEE_PUN_H

#include "tracee/maps.h"
#include "tracee/ptrace.h"
#include "x86/emit.h"
#include "x86/instr.h"

enum { PUN_MAX = X86_JUMP + 15, PUN_INSNS = 5, PUN_CODE_MAX = 128 };

struct pun {
	uint64_t addr;
	unsigned len;			/* bytes displaced, >= X86_JUMP */
	uint8_t bytes[PUN_MAX];		/* the original ones */
	unsigned n;
	struct x86_instr insn[PUN_INSNS];
	uint8_t out[PUN_INSNS];		/* where pun_relocate() has put each */
	/* the arithmetic flags are written before anybody reads them */
	bool flags_dead;
};

/*
 * Are the arithmetic flags at addr written before they are read?  Follows the straight line and
 * direct jumps.  Task stopped.
 */
bool pun_flags_dead(pid_t tid, uint64_t addr);
/* Decodes a place in a stopped task.  False: a jump cannot be put there. */
bool pun_decode(pid_t tid, uint64_t addr, struct pun *ret);
/*
 * Does nothing near look like a branch into the bytes of the jump behind the first?  It would trap
 * each time.
 */
bool pun_quiet(pid_t tid, const struct pun *p);
/*
 * Returns an address for a stub: len bytes are free there, and pages before and behind.  0: there
 * is none.
 */
uint64_t pun_place(const struct pun *p, const struct tracee_maps *maps, uint64_t len);
/* Appends the displaced instructions to c, with a jump back behind them.  False: too far. */
bool pun_relocate(struct pun *p, struct x86_code *c);
/* Which displaced instruction starts at `at`?  -1: none does.  It may be an X86_STAYS. */
int pun_insn_at(const struct pun *p, uint64_t at);
/* Returns the i-th byte that traps wherever it is met in user mode; 0 behind the last. */
uint8_t pun_trap_byte(unsigned i);

#endif
