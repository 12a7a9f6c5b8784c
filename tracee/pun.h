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
 */
#ifndef TRACEE_PUN_H
#define TRACEE_PUN_H

#include "tracee/maps.h"
#include "tracee/ptrace.h"

enum { PUN_JUMP = 5, PUN_MAX = 5 + 15, PUN_INSNS = 5, PUN_CODE_MAX = 128 };

enum pun_kind { PUN_PLAIN, PUN_JMP, PUN_JCC, PUN_LOOP, PUN_CALL };

struct pun_insn {
	uint8_t at, len;	/* in bytes[] */
	uint8_t disp_at;	/* of a RIP-relative disp32, else 0 */
	uint8_t kind;		/* enum pun_kind: direct branches */
	uint8_t out;		/* where pun_relocate() has put it */
	uint64_t target;
};

struct pun {
	uint64_t addr;
	unsigned len;			/* bytes displaced, >= PUN_JUMP */
	uint8_t bytes[PUN_MAX];		/* the original ones */
	unsigned n;
	struct pun_insn insn[PUN_INSNS];
	/* the arithmetic flags are written before anybody reads them */
	bool flags_dead;
};

/*
 * Are the arithmetic flags at addr written before they are read?  Follows the straight line and
 * direct jumps.  Task stopped.
 */
bool pun_flags_dead(pid_t tid, uint64_t addr);
/* False: this place will not do.  Task stopped. */
bool pun_decode(pid_t tid, uint64_t addr, struct pun *ret);
/*
 * Does nothing near look like a branch into the bytes of the jump behind the first?  It would trap
 * each time.
 */
bool pun_quiet(pid_t tid, const struct pun *p);
/*
 * An address for a stub: len bytes are free there, and pages before and behind.  0: there is none.
 */
uint64_t pun_place(const struct pun *p, const struct tracee_maps *maps, uint64_t len);
/*
 * The free place for len bytes, and a page before and behind, that is nearest to addr.  0: there is
 * none.
 */
uint64_t pun_place_near(uint64_t addr, const struct tracee_maps *maps, uint64_t len);
/*
 * The displaced instructions as they must read at `to`, with a jump back behind them.  Bytes
 * written; 0: too far.
 */
unsigned pun_relocate(struct pun *p, uint64_t to, uint8_t out[PUN_CODE_MAX]);
/* "jmp to" for address `from`; false: farther than 2 GB. */
bool pun_jump(uint64_t from, uint64_t to, uint8_t out[PUN_JUMP]);
/* The displaced instruction that starts at `at`; NULL: none does. */
const struct pun_insn *pun_insn_at(const struct pun *p, uint64_t at);
/* Bytes that trap wherever they are met in user mode: index 0 to n-1; 0 behind the last. */
uint8_t pun_trap_byte(unsigned i);

#endif
