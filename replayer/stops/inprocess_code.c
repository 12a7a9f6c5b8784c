/*
 * inprocess_code.c - where inprocess.c can put a jump: in which code, and at which instructions.
 *
 * Code of files stays as it is: nobody writes to it or moves it.  A JIT compiler's may change, be
 * read and be moved by the program, and nobody knows all the places that lead into it.  So there:
 *
 *   - the jump replaces one instruction, and no more: nobody comes into its middle
 *   - that is a conditional jump, or one that only moves registers: it cannot fault, it has no
 *     address in it that a garbage collector would look at, and no store that dual.c would move
 *   - pages that the program can write to are protected while it is there (written_code.c)
 *   - an instruction that the replayer has chosen to count is known by its bytes, too
 *     (replay_break.code): where something else is at that address, before the code was written or
 *     after it was written anew, there is nothing to count, and nothing is put there.  The same
 *     while the memory cannot be executed: that is when a program patches its code, and reads it.
 *
 * Not seen, as with breakpoints there: a program that moves code while it is executed, without
 * writing to that page.
 */
#include <string.h>
#include <sys/mman.h>
#include <capstone/capstone.h>

#include "replayer/stops/inprocess.h"
#include "abi/layout.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/written_code.h"
#include "x86/decode.h"

enum { CODE_BYTES = 7 };

/* ---- which memory ---------------------------------------------------------------------------- */

/* Code of ours, in the process. */
static bool is_ours(const struct rp_mm *mm, uint64_t addr)
{
	return (addr >= FIXED_PAGE && addr < FIXED_END) || rp_tools_own(mm, addr) ||
	       patches_stub(&mm->patches, addr);
}

struct err *inprocess_code(const struct rp_task *t, uint64_t addr, bool *ret)
{
	struct stops_mm *mm = stops_mm(t->mm);
	struct tracee_map m;
	bool mapped;

	*ret = false;
	for (uint64_t at = addr - 1; at <= addr + SITE_MAX; at++) {
		if (patches_at(&t->mm->patches, at))
			return NULL;
	}
	if (mm->solid_end <= addr + SITE_MAX || addr < mm->solid_start) {
		TRY(tracee_map_at(t->real, addr, &m, &mapped));
		if (!mapped || m.shared || addr + SITE_MAX >= m.end ||
		    (!(m.prot & PROT_EXEC) && !rp_written_is_open(t->mm, addr)))
			return NULL;
		mm->solid_start = m.start;
		mm->solid_end = m.end;
		mm->solid_changes = !m.inode || (m.prot & PROT_WRITE);
	}
	*ret = !mm->solid_changes || !is_ours(t->mm, addr);
	return NULL;
}

static bool is_code(const struct rp_task *t, uint64_t addr)
{
	bool good = false;
	struct err *err = inprocess_code(t, addr, &good);

	err_free(err);
	return !err && good;
}

bool inprocess_solid(struct rp_task *t, uint64_t addr)
{
	return is_code(t, addr) && !stops_mm(t->mm)->solid_changes;
}

/* ---- which instructions ---------------------------------------------------------------------- */

/* Does it only compute, registers from registers? */
static bool only_registers(const struct site *s)
{
	csh cs = decoder();
	cs_insn *insn;
	bool good;

	if (!cs || cs_disasm(cs, s->bytes, s->len, s->addr, 1, &insn) != 1)
		return false;
	good = insn->detail->x86.encoding.imm_size < sizeof(uint32_t);
	for (unsigned i = 0; i < insn->detail->x86.op_count; i++)
		good &= insn->detail->x86.operands[i].type != X86_OP_MEM;
	cs_free(insn, 1);
	return good;
}

bool inprocess_displace(const struct rp_task *t, uint64_t addr, struct displaced *ret)
{
	const struct stops_mm *mm = stops_mm(t->mm);
	const struct site *s = &ret->site;

	if (!displace_decode(t->real, addr, X86_JUMP, mm->solid_start, mm->solid_end, ret) ||
	    displace_repeats(ret))
		return false;
	if (!mm->solid_changes)
		return true;
	return s->n == 1 && s->len <= CODE_BYTES &&
	       page_down(addr) == page_down(addr + s->len - 1) &&
	       (ret->last == X86_JCC || (ret->last == X86_PLAIN && only_registers(s)));
}

bool inprocess_possible(struct rp_task *t, uint64_t addr, unsigned *len_ret)
{
	struct displaced d;

	if (!is_code(t, addr) || !inprocess_displace(t, addr, &d))
		return false;
	*len_ret = d.site.len;
	return true;
}

/* ---- known by its bytes ---------------------------------------------------------------------- */

/* Bytes at addr, as the program has them, and how many in the last byte of the word. */
static uint64_t code_word(const struct rp_task *t, uint64_t addr, unsigned len)
{
	uint8_t bytes[sizeof(uint64_t)] = { 0 };
	uint64_t word;

	if (stops_read(t->real, addr, bytes, len) != len)
		return 0;
	rp_tools_hide(t->mm, addr, bytes, len);
	bytes[CODE_BYTES] = (uint8_t)len;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

uint64_t inprocess_code_word(struct rp_task *t, uint64_t addr)
{
	unsigned len;

	if (!inprocess_possible(t, addr, &len) || !stops_mm(t->mm)->solid_changes)
		return 0;
	return code_word(t, addr, len);
}

bool inprocess_is_there(const struct rp_task *t, const struct replay_break *b)
{
	unsigned len = b->code >> 56;

	return !b->code ||
	       (len <= CODE_BYTES && is_code(t, b->addr) && code_word(t, b->addr, len) == b->code);
}
