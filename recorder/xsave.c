/*
 * xsave.c - fxsave where instructions become ud2, and xgetbv, xsave and xrstor at a level below the
 * machine's own (rec --cpu): they cannot be made to trap, so they become ud2 as cpuid does, and are
 * done here.
 *
 * The processor would show all that its system has enabled, which cpuid says is not there, in a
 * layout of its own.  Here XCR0 is the level's, and which parts are in use is told by their
 * content, not by what the processor remembers of them.  Replay has the bytes from the trace.
 */
#include <capstone/capstone.h>
#include <string.h>

#include "recorder/internal.h"
#include "tracee/level.h"
#include "tracee/ud2.h"
#include "x86/decode.h"
#include "x86/operand.h"

enum {
	BV = 512,
	LEGACY = 512,
	HEADER_END = 576,
	X87 = 1,
	SSE = 2,
	MXCSR_AT = 24,
	XMM_AT = 160,
	XMM_END = 416
};

static bool operand_address(const struct regs *regs, const uint8_t *text, unsigned len,
			    uint64_t *ret)
{
	const uint8_t *p = text;
	size_t room = len;
	uint64_t at = regs->rip;
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	const cs_x86_op *op;
	bool good = false;

	if (insn && cs_disasm_iter(handle, &p, &room, &at, insn)) {
		op = &insn->detail->x86.operands[0];
		good = insn->detail->x86.op_count == 1 && op->type == X86_OP_MEM;
		if (good)
			*ret = x86_operand_address(op, regs, at);
	}
	if (insn)
		cs_free(insn, 1);
	return good;
}

static bool is_zero(const unsigned char *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

/* Which parts are not as they begin. */
static uint64_t in_use(const unsigned char *state, const xsave_layout layout)
{
	static const unsigned char control[] = { 0x7f, 0x03 };
	uint64_t used = 0;

	if (memcmp(state, control, 2) || !is_zero(state + 2, 22) ||
	    !is_zero(state + 32, XMM_AT - 32))
		used |= X87;
	if (!is_zero(state + XMM_AT, XMM_END - XMM_AT))
		used |= SSE;
	for (unsigned part = 2; part < XSAVE_PARTS; part++) {
		if (layout[part][1] && !is_zero(state + layout[part][0], layout[part][1]))
			used |= 1ull << part;
	}
	return used;
}

static struct err *put(struct recorder *rec, struct rec_task *t, uint64_t addr, const void *bytes,
		       size_t len)
{
	TRY(tracee_write(t->tid, addr, bytes, len));
	rec_effect_bytes(rec, addr, bytes, len);
	return NULL;
}

/*
 * The first 512 bytes, but for what only tells makers apart: where the last x87 instruction was,
 * and that AMD has one more bit of MXCSR.
 */
static struct err *save_legacy(struct recorder *rec, struct rec_task *t, uint64_t addr,
			       const unsigned char *state, uint64_t wanted)
{
	unsigned char area[XMM_END];
	const uint32_t mxcsr_mask = 0xffff;

	memcpy(area, state, sizeof(area));
	memset(area + 6, 0, MXCSR_AT - 6);
	memcpy(area + MXCSR_AT + 4, &mxcsr_mask, 4);
	if (wanted & X87) {
		TRY(put(rec, t, addr, area, MXCSR_AT));
		TRY(put(rec, t, addr + 32, area + 32, XMM_AT - 32));
	}
	if (wanted & (SSE | 1u << XSAVE_AVX))
		TRY(put(rec, t, addr + MXCSR_AT, area + MXCSR_AT, 8));
	return wanted & SSE ? put(rec, t, addr + XMM_AT, area + XMM_AT, XMM_END - XMM_AT) : NULL;
}

static struct err *save_old(struct recorder *rec, struct rec_task *t, uint64_t addr)
{
	unsigned char state[TRACEE_XSTATE_MAX] = { 0 };
	size_t len;

	TRY(tracee_xstate_get(t->tid, state, &len));
	return save_legacy(rec, t, addr, state, X87 | SSE);
}

static struct err *save(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t wanted)
{
	unsigned char state[TRACEE_XSTATE_MAX] = { 0 };
	xsave_layout layout;
	uint64_t bv, used;
	size_t len;

	TRY(tracee_xstate_get(t->tid, state, &len));
	xsave_layout_here(layout);
	used = in_use(state, layout);
	TRY(save_legacy(rec, t, addr, state, wanted));
	for (unsigned part = 2; part < XSAVE_PARTS; part++) {
		if ((wanted & used) >> part & 1)
			TRY(put(rec, t, addr + layout[part][0], state + layout[part][0],
				layout[part][1]));
	}
	TRY(tracee_read(t->tid, addr + BV, &bv, 8));
	bv = (bv & ~wanted) | (used & wanted);
	return put(rec, t, addr + BV, &bv, 8);
}

static struct err *restore(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t wanted)
{
	unsigned char state[TRACEE_XSTATE_MAX] = { 0 }, area[TRACEE_XSTATE_MAX] = { 0 };
	static const unsigned char control[] = { 0x7f, 0x03 };
	xsave_layout layout;
	uint64_t bv, used;
	size_t len;

	xsave_layout_here(layout);
	TRY(tracee_xstate_get(t->tid, state, &len));
	TRY(tracee_read(t->tid, addr, area, HEADER_END));
	memcpy(&bv, area + BV, 8);
	memcpy(&used, state + BV, 8);
	bv &= wanted;
	if (wanted & X87) {
		memset(state, 0, MXCSR_AT);
		memset(state + 32, 0, XMM_AT - 32);
		memcpy(state, control, 2);
	}
	if (bv & X87) {
		memcpy(state, area, MXCSR_AT);
		memcpy(state + 32, area + 32, XMM_AT - 32);
	}
	if (wanted & (SSE | 1u << XSAVE_AVX))
		memcpy(state + MXCSR_AT, area + MXCSR_AT, 4);
	if (wanted & SSE)
		memset(state + XMM_AT, 0, XMM_END - XMM_AT);
	if (bv & SSE)
		memcpy(state + XMM_AT, area + XMM_AT, XMM_END - XMM_AT);
	for (unsigned part = 2; part < XSAVE_PARTS; part++) {
		if (!(wanted >> part & 1) || !layout[part][1])
			continue;
		if (bv >> part & 1)
			TRY(tracee_read(t->tid, addr + layout[part][0], state + layout[part][0],
					layout[part][1]));
		else
			memset(state + layout[part][0], 0, layout[part][1]);
	}
	used |= wanted;
	memcpy(state + BV, &used, 8);
	for (len = sizeof(state); len && !state[len - 1];)
		len--;
	TRY(tracee_xstate_set(t->tid, state, len));
	rec_effect_xstate(rec, t);
	return NULL;
}

struct err *rec_xsave_trap(struct recorder *rec, struct rec_task *t, struct regs *regs,
			   enum trap_insn insn, const uint8_t *text, unsigned len, bool *done)
{
	uint64_t xcr0 = cpu_xcr0_shown(), wanted = xcr0 & (regs->rdx << 32 | (uint32_t)regs->rax),
		 addr = 0;
	struct err *err;

	*done = false;
	if (insn == TRAP_XGETBV) {
		if ((uint32_t)regs->rcx > 1)
			return NULL;
		regs->rax = (uint32_t)xcr0;
		regs->rdx = xcr0 >> 32;
		*done = true;
		return NULL;
	}
	if (!operand_address(regs, text, len, &addr) || addr & (insn == TRAP_FXSAVE ? 15 : 63))
		return NULL;		/* a fault, as without us */
	err = insn == TRAP_FXSAVE  ? save_old(rec, t, addr)
	      : insn == TRAP_XSAVE ? save(rec, t, addr, wanted)
				   : restore(rec, t, addr, wanted);
	if (err_catch(&err, ERR_OS))
		return NULL;
	*done = !err;
	return err;
}
