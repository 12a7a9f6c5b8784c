/*
 * translate_emit.c - the copy of one block of the program's code.
 *
 *	copy	[jmp test]		at the point that is looked for; the test goes on behind it
 *		[compare the		where the program may change them; different -> int3,
 *		original bytes]		TRAP_CHANGED
 *		instructions		moved; none uses flags or registers that the original does
 *					not use
 *		branch			to copies, see below
 *
 * A direct branch becomes an exit: `jmp *word', the word behind it, then int3, TRAP_EXIT and the
 * target's address.  The word leads to the int3 until the target has a copy.  Calls push the
 * original's return address.  Returns and computed branches put their target into rcx and go to the
 * area's lookup (emit_lookup()), a table of two-way buckets by the lower 16 bits of the address.
 * System calls and what traps is left to the original: a search ends there anyway.  What has no
 * copy (far jumps, what the decoder does not know) is stepped.
 *
 * An instruction that is changed all the time (a constant in it, that is) is a block of its own:
 * compared are the bytes in front of the constant, and the others are copied into the copy each
 * time.
 *
 * Nothing here touches flags: comparisons are lea and jrcxz, as in stub.c.
 */
#include <capstone/capstone.h>
#include <string.h>

#include "replayer/landmark/search.h"
#include "x86/decode.h"
#include "x86/move.h"

enum { RAX = 0, RCX = 1, RDX = 2, LOAD = 0x8b, STORE = 0x89, CODE_BYTES_MAX = BLOCK_INSNS * 15 };

/* mov between a register and a word of the area's data page */
static void put_slot(struct emit *e, uint8_t opcode, unsigned reg, unsigned slot)
{
	x86_put_word(&e->code, opcode, reg, e->area + AREA_DATA + slot);
}

static void put_trap(struct emit *e, enum block_trap kind, uint64_t addr)
{
	X86_PUT(&e->code, 0xcc);
	X86_PUT(&e->code, (uint8_t)kind);
	x86_put64(&e->code, addr);
}

/* EXIT_BYTES */
static void put_exit(struct emit *e, uint64_t target)
{
	uint64_t copy = target == e->orig ? e->code.at : e->copy_of(e->ctx, target);

	x86_put_far_jump(&e->code, copy ? copy : x86_here(&e->code) + X86_FAR_JUMP);
	put_trap(e, TRAP_EXIT, target);
}

/* ---- indirect branches ----------------------------------------------------------------------- */

static void begin(struct emit *e, uint64_t at)
{
	e->code = (struct x86_code){ .bytes = e->bytes, .room = sizeof(e->bytes), .at = at };
	e->trampoline = 0;
}

void emit_lookup(struct emit *e, uint64_t at, uint64_t table)
{
	unsigned hit[WAYS], common[WAYS];

	begin(e, at);
	put_slot(e, STORE, RAX, SLOT_RAX);
	put_slot(e, STORE, RDX, SLOT_RDX);
	put_slot(e, STORE, RCX, SLOT_TARGET);
	x86_put_constant(&e->code, RDX, table);
	X86_PUT(&e->code, 0x0f, 0xb7, 0xc1);			/* movzwl %cx, %eax */
	X86_PUT(&e->code, 0x48, 0x8d, 0x04, 0x85, 0, 0, 0, 0);		/* lea (,%rax,4), %rax */
	/* lea (%rdx,%rax,8), %rdx */
	X86_PUT(&e->code, 0x48, 0x8d, 0x14, 0xc2);
	for (unsigned i = 0; i < WAYS; i++) {
		const uint8_t load[4] = { 0x48, 0x8b, 0x42, (uint8_t)(16 * i) };

		if (i)
			put_slot(e, LOAD, RCX, SLOT_TARGET);
		/* mov 16*i(%rdx), %rax: minus the original's address */
		x86_put(&e->code, load, 4);
		X86_PUT(&e->code, 0x48, 0x8d, 0x0c, 0x01);	/* lea (%rcx,%rax), %rcx */
		hit[i] = x86_put_short_jump(&e->code, X86_IF_RCX_ZERO, 0);
	}
	put_slot(e, LOAD, RDX, SLOT_RDX);
	put_slot(e, LOAD, RAX, SLOT_RAX);
	put_slot(e, LOAD, RCX, SLOT_RCX);
	put_trap(e, TRAP_INDIRECT, 0);
	for (unsigned i = 0; i < WAYS; i++) {
		const uint8_t load[4] = { 0x48, 0x8b, 0x42, (uint8_t)(16 * i + 8) };

		x86_land_short(&e->code, hit[i], e->code.len);
		/* mov 16*i+8(%rdx), %rax: the copy's */
		x86_put(&e->code, load, 4);
		common[i] = x86_put_short_jump(&e->code, X86_ALWAYS, 0);
	}
	for (unsigned i = 0; i < WAYS; i++)
		x86_land_short(&e->code, common[i], e->code.len);
	put_slot(e, STORE, RAX, SLOT_COPY);
	put_slot(e, LOAD, RDX, SLOT_RDX);
	put_slot(e, LOAD, RAX, SLOT_RAX);
	put_slot(e, LOAD, RCX, SLOT_RCX);
	x86_put_jump_through(&e->code, e->area + AREA_DATA + SLOT_COPY);
}

static void put_indirect(struct emit *e, const cs_insn *insn, const struct x86_instr *one)
{
	put_slot(e, STORE, RCX, SLOT_RCX);
	x86_put_target(&e->code, one, insn->bytes, insn->address, RCX);
	if (one->form == X86_CALL_TO)
		x86_put_push(&e->code, insn->address + insn->size);
	x86_put_jump(&e->code, X86_ALWAYS, e->area);
}

static void put_return(struct emit *e, const cs_insn *insn)
{
	const uint8_t *last = insn->bytes + insn->size - 1;
	uint32_t pop = 8;

	if (*last != 0xc3)
		pop += (uint32_t)(last[-1] | last[0] << 8);
	put_slot(e, STORE, RCX, SLOT_RCX);
	X86_PUT(&e->code, 0x48, 0x8b, 0x0c, 0x24);		/* mov (%rsp), %rcx */
	X86_PUT(&e->code, 0x48, 0x8d, 0xa4, 0x24);		/* lea pop(%rsp), %rsp */
	x86_put(&e->code, &pop, 4);
	x86_put_jump(&e->code, X86_ALWAYS, e->area);
}

/* ---- one instruction ------------------------------------------------------------------------- */

/* The way on, and where it branches to. */
static void put_branch(struct emit *e, const cs_insn *insn, const struct x86_instr *one)
{
	uint8_t code = insn->bytes[one->op_at];

	if (one->form == X86_JCC)
		code = (uint8_t)(0x70 | x86_condition_of(one, insn->bytes));
	else if (memchr(insn->bytes, 0x67, one->op_at))	/* ecx counts, not rcx */
		X86_PUT(&e->code, 0x67);
	X86_PUT(&e->code, code, EXIT_BYTES);	/* over the exit for the way on */
	put_exit(e, insn->address + insn->size);
	put_exit(e, x86_target(one, insn->bytes, insn->address));
}

static bool put_insn(struct emit *e, const cs_insn *insn, const struct x86_instr *one)
{
	switch ((enum x86_form)one->form) {
	case X86_PLAIN:
		x86_copy(&e->code, one, insn->bytes, insn->address);
		return true;
	case X86_JCC:
	case X86_LOOP:
		put_branch(e, insn, one);
		return true;
	case X86_CALL:
		x86_put_push(&e->code, insn->address + insn->size);
		put_exit(e, x86_target(one, insn->bytes, insn->address));
		return true;
	case X86_JMP:
		put_exit(e, x86_target(one, insn->bytes, insn->address));
		return true;
	case X86_JMP_TO:
	case X86_CALL_TO:
		put_indirect(e, insn, one);
		return true;
	case X86_RET:
		put_return(e, insn);
		return true;
	case X86_STAYS:
		x86_put_far_jump(&e->code, insn->address);
		return true;
	case X86_ODD:
		put_trap(e, TRAP_STEP, insn->address);
		return true;
	}
	return false;
}

/* May the instruction write to memory, and so to the code behind it? */
static bool may_store(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	switch (insn->id) {
	case X86_INS_LEA:
	case X86_INS_NOP:
	case X86_INS_CMP:
	case X86_INS_TEST:
		return false;
	case X86_INS_PUSH:
	case X86_INS_PUSHFQ:
	case X86_INS_PUSHF:
	case X86_INS_ENTER:
		return true;
	default:
		break;
	}
	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM &&
		    (x->operands[i].access & CS_AC_WRITE || !x->operands[i].access))
			return true;
	}
	return false;
}

/* ---- the block ------------------------------------------------------------------------------- */

/* Pieces of memory by way of rcx. */
static const struct { unsigned len, load_len, store_len; uint8_t load[3], store[3];
} pieces[] = {
	{ 8, 3, 3, { 0x48, 0x8b, 0x0d }, { 0x48, 0x89, 0x0d } },
	{ 4, 2, 2, { 0x8b, 0x0d }, { 0x89, 0x0d } },
	{ 2, 3, 3, { 0x0f, 0xb7, 0x0d }, { 0x66, 0x89, 0x0d } },
	{ 1, 3, 2, { 0x0f, 0xb6, 0x0d }, { 0x88, 0x0d } },
};

/*
 * How many bytes of an instruction are in front of its constants; 0: it has none that may be copied
 * as they are.
 */
static unsigned constants_at(const cs_insn *insn, const struct x86_instr *one)
{
	const cs_x86_encoding *enc = &insn->detail->x86.encoding;
	unsigned at = enc->disp_offset ? enc->disp_offset : enc->imm_offset;

	return one->form == X86_PLAIN && !one->disp_at && at < insn->size ? at : 0;
}

/* The instruction, behind code that brings its bytes from `from' on up to date. */
static void put_constants(struct emit *e, const cs_insn *insn, unsigned from)
{
	struct { unsigned at, piece; } store[8];
	unsigned n = 0;

	put_slot(e, STORE, RCX, SLOT_RCX);
	for (unsigned i = from, k = 0; i < insn->size; i += pieces[k].len) {
		while (pieces[k].len > insn->size - i)
			k++;
		x86_put(&e->code, pieces[k].load, pieces[k].load_len);
		x86_put_distance(&e->code, insn->address + i, 0);
		x86_put(&e->code, pieces[k].store, pieces[k].store_len);
		x86_put32(&e->code, 0);
		store[n].at = e->code.len;
		store[n++].piece = i;
	}
	put_slot(e, LOAD, RCX, SLOT_RCX);
	for (unsigned i = 0; i < n; i++)
		x86_land(&e->code, store[i].at, e->code.len + store[i].piece);
	x86_put(&e->code, insn->bytes, insn->size);
}

/*
 * The bytes are still these: len at e->orig.  Ends behind an int3 that the copy does not come to.
 */
static void put_check(struct emit *e, const uint8_t *code, unsigned len)
{
	unsigned fail[CODE_BYTES_MAX], fails = 0, over;

	put_slot(e, STORE, RCX, SLOT_RCX);
	put_slot(e, STORE, RAX, SLOT_RAX);
	for (unsigned i = 0, k = 0; i < len; i += pieces[k].len) {
		uint64_t want = 0;

		while (pieces[k].len > len - i)
			k++;
		memcpy(&want, code + i, pieces[k].len);
		x86_put(&e->code, pieces[k].load, pieces[k].load_len);
		x86_put_distance(&e->code, e->orig + i, 0);
		x86_put_constant(&e->code, RAX, -want);
		X86_PUT(&e->code, 0x48, 0x8d, 0x0c, 0x01);	/* lea (%rcx,%rax), %rcx */
		x86_put_short_jump(&e->code, X86_IF_RCX_ZERO, X86_JUMP);
		fail[fails++] = x86_put_later(&e->code, X86_ALWAYS);
	}
	put_slot(e, LOAD, RAX, SLOT_RAX);
	put_slot(e, LOAD, RCX, SLOT_RCX);
	over = x86_put_short_jump(&e->code, X86_ALWAYS, 0);
	for (unsigned i = 0; i < fails; i++)
		x86_land(&e->code, fail[i], e->code.len);
	put_slot(e, LOAD, RAX, SLOT_RAX);
	put_slot(e, LOAD, RCX, SLOT_RCX);
	put_trap(e, TRAP_CHANGED, e->orig);
	x86_land_short(&e->code, over, e->code.len);
}

/*
 * How many bytes and instructions there are: up to the first branch, to the point, or (checked)
 * behind the first store.
 */
static unsigned measure(csh handle, cs_insn *insn, const struct emit *e, const uint8_t *code,
			size_t room, unsigned *len_ret)
{
	const uint8_t *p = code;
	uint64_t at = e->orig;
	struct x86_instr one;
	unsigned n = 0;

	while (n < BLOCK_INSNS && (!n || at != e->point) &&
	       decode_next(handle, &p, &room, &at, insn)) {
		n++;
		x86_instr_of(handle, insn, &one);
		if (one.form != X86_PLAIN || (e->checked && may_store(insn)) || e->single)
			break;
	}
	*len_ret = (unsigned)(p - code);
	return n;
}

static bool emit(struct emit *e, csh handle, cs_insn *insn)
{
	uint8_t code[CODE_BYTES_MAX + 16] = { 0 };
	size_t room = tracee_read_some(e->tid, e->orig, code, CODE_BYTES_MAX);
	struct x86_instr one = { 0 };
	const uint8_t *p = code;
	uint64_t at = e->orig;
	unsigned len, n = measure(handle, insn, e, code, room, &len), fixed = 0;

	if (e->orig == e->point)
		x86_put_far_jump(&e->code, e->test);
	e->trampoline = e->code.len;
	if (!n) {		/* unknown to the decoder, or no memory */
		put_trap(e, TRAP_STEP, e->orig);
		return true;
	}
	if (e->single) {
		x86_instr_of(handle, insn, &one);
		fixed = constants_at(insn, &one);
	}
	if (e->checked)
		put_check(e, code, fixed ? fixed : len);
	for (unsigned i = 0; i < n; i++) {
		if (!decode_next(handle, &p, &room, &at, insn))
			return false;
		x86_instr_of(handle, insn, &one);
		if (fixed)
			put_constants(e, insn, fixed);
		else if (!put_insn(e, insn, &one))
			return false;
	}
	if (one.form == X86_PLAIN)
		put_exit(e, at);
	return !e->code.far;
}

bool emit_block(struct emit *e, uint64_t at)
{
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool good;

	begin(e, at);
	if (!insn)
		return false;
	good = emit(e, handle, insn);
	cs_free(insn, 1);
	return good;
}
