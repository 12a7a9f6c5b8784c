/*
 * translate_emit.c - the copy of one block of the program's code.
 *
 *	copy	[jmp test]				at the point that is looked for; the test goes on behind it
 *		[compare the original bytes]		where the program may change them; different -> int3, TRAP_CHANGED
 *		instructions				moved; none uses flags or registers that the original does not
 *		branch					to copies, see below
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

enum { RAX = 0, RCX = 1, RDX = 2, LOAD = 0x8b, STORE = 0x89, CODE_BYTES_MAX = BLOCK_INSNS * 15 };

static void put(struct emit *e, const void *bytes, unsigned len)
{
	BUG_ON(e->len + len > sizeof(e->bytes), "the copy of a block has more than %zu bytes",
	       sizeof(e->bytes));
	memcpy(e->bytes + e->len, bytes, len);
	e->len += len;
}

static void put_byte(struct emit *e, uint8_t byte) { put(e, &byte, 1); }
static void put_u64(struct emit *e, uint64_t v) { put(e, &v, 8); }

static bool put_rel32(struct emit *e, uint64_t to)
{
	int64_t far = (int64_t)(to - (e->at + e->len + 4));
	int32_t rel = (int32_t)far;

	put(e, &rel, 4);
	return far == rel;
}

/* mov between a register and a word of the area's data page */
static void put_slot(struct emit *e, uint8_t opcode, unsigned reg, unsigned slot)
{
	const uint8_t insn[3] = { 0x48, opcode, (uint8_t)(reg << 3 | 5) };

	put(e, insn, 3);
	put_rel32(e, e->area + AREA_DATA + slot);
}

unsigned emit_far_jump(uint8_t *bytes, uint64_t to)
{
	memcpy(bytes, "\xff\x25\0\0\0", 6);	/* jmp *0(%rip) */
	memcpy(bytes + 6, &to, 8);
	return 14;
}

static void put_far_jump(struct emit *e, uint64_t to)
{
	uint8_t jump[14];

	put(e, jump, emit_far_jump(jump, to));
}

static void put_trap(struct emit *e, enum block_trap kind, uint64_t addr)
{
	put_byte(e, 0xcc);
	put_byte(e, (uint8_t)kind);
	put_u64(e, addr);
}

/* EXIT_BYTES */
static void put_exit(struct emit *e, uint64_t target)
{
	uint64_t copy = target == e->orig ? e->at : e->copy_of(e->ctx, target);

	put_far_jump(e, copy ? copy : e->at + e->len + 14);
	put_trap(e, TRAP_EXIT, target);
}

/* push of a 64-bit constant */
static void put_push(struct emit *e, uint64_t value)
{
	uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);

	put_byte(e, 0x68);
	put(e, &low, 4);
	put(e, "\xc7\x44\x24\x04", 4);		/* movl $high, 4(%rsp) */
	put(e, &high, 4);
}

/* ---- indirect branches ----------------------------------------------------------------------- */

void emit_lookup(struct emit *e, uint64_t table)
{
	unsigned hit[WAYS], common[WAYS];

	put_slot(e, STORE, RAX, SLOT_RAX);
	put_slot(e, STORE, RDX, SLOT_RDX);
	put_slot(e, STORE, RCX, SLOT_TARGET);
	put(e, "\x48\xba", 2);				/* movabs $table, %rdx */
	put_u64(e, table);
	put(e, "\x0f\xb7\xc1", 3);			/* movzwl %cx, %eax */
	put(e, "\x48\x8d\x04\x85\0\0\0\0", 8);		/* lea (,%rax,4), %rax */
	put(e, "\x48\x8d\x14\xc2", 4);			/* lea (%rdx,%rax,8), %rdx */
	for (unsigned i = 0; i < WAYS; i++) {
		const uint8_t load[4] = { 0x48, 0x8b, 0x42, (uint8_t)(16 * i) };

		if (i)
			put_slot(e, LOAD, RCX, SLOT_TARGET);
		/* mov 16*i(%rdx), %rax: minus the original's address */
		put(e, load, 4);
		put(e, "\x48\x8d\x0c\x01\xe3\x00", 6);	/* lea (%rcx,%rax), %rcx ; jrcxz hit */
		hit[i] = e->len;
	}
	put_slot(e, LOAD, RDX, SLOT_RDX);
	put_slot(e, LOAD, RAX, SLOT_RAX);
	put_slot(e, LOAD, RCX, SLOT_RCX);
	put_trap(e, TRAP_INDIRECT, 0);
	for (unsigned i = 0; i < WAYS; i++) {
		const uint8_t load[4] = { 0x48, 0x8b, 0x42, (uint8_t)(16 * i + 8) };

		e->bytes[hit[i] - 1] = (uint8_t)(e->len - hit[i]);
		put(e, load, 4);			/* mov 16*i+8(%rdx), %rax: the copy's */
		put(e, "\xeb\x00", 2);
		common[i] = e->len;
	}
	for (unsigned i = 0; i < WAYS; i++)
		e->bytes[common[i] - 1] = (uint8_t)(e->len - common[i]);
	put_slot(e, STORE, RAX, SLOT_COPY);
	put_slot(e, LOAD, RDX, SLOT_RDX);
	put_slot(e, LOAD, RAX, SLOT_RAX);
	put_slot(e, LOAD, RCX, SLOT_RCX);
	put(e, "\xff\x25", 2);				/* jmp *SLOT_COPY(%rip) */
	put_rel32(e, e->area + AREA_DATA + SLOT_COPY);
}

/*
 * mov from what an indirect branch (ff /2, ff /4) takes its target from, to rcx; false: it has a
 * form of its own
 */
static bool put_target(struct emit *e, const cs_insn *insn)
{
	const uint8_t *b = insn->bytes, *end = b + insn->size;
	uint8_t rex = 0x48, modrm;

	for (; b < end &&
	       (*b == 0x64 || *b == 0x65 || *b == 0x3e || *b == 0x2e || *b == 0xf2 || *b == 0x67);
	     b++) {
		if (*b == 0x64 || *b == 0x65 || *b == 0x67)
			put_byte(e, *b);
	}
	if ((*b & 0xf0) == 0x40)
		rex |= *b++ & 3;
	if (end - b < 2 || *b++ != 0xff)
		return false;
	modrm = *b++;
	if ((modrm & 0x38) != 0x10 && (modrm & 0x38) != 0x20)
		return false;
	put_byte(e, rex);
	put_byte(e, LOAD);
	put_byte(e, (uint8_t)((modrm & 0xc7) | RCX << 3));
	if ((modrm & 0xc7) == 0x05) {
		int32_t rel;

		memcpy(&rel, b, 4);
		return put_rel32(e, insn->address + insn->size + (uint64_t)(int64_t)rel);
	}
	put(e, b, (unsigned)(end - b));
	return true;
}

static bool put_indirect(struct emit *e, const cs_insn *insn, bool call)
{
	put_slot(e, STORE, RCX, SLOT_RCX);
	if (!put_target(e, insn))
		return false;
	if (call)
		put_push(e, insn->address + insn->size);
	put_byte(e, 0xe9);
	return put_rel32(e, e->area);
}

static bool put_return(struct emit *e, const cs_insn *insn)
{
	const uint8_t *last = insn->bytes + insn->size - 1;
	uint32_t pop = 8;

	if (*last != 0xc3)
		pop += (uint32_t)(last[-1] | last[0] << 8);
	put_slot(e, STORE, RCX, SLOT_RCX);
	put(e, "\x48\x8b\x0c\x24", 4);		/* mov (%rsp), %rcx */
	put(e, "\x48\x8d\xa4\x24", 4);		/* lea pop(%rsp), %rsp */
	put(e, &pop, 4);
	put_byte(e, 0xe9);
	return put_rel32(e, e->area);
}

/* ---- decoding -------------------------------------------------------------------------------- */

/*
 * How long is a VEX or EVEX instruction that Capstone does not know (4.0 knows few of AVX-512's)?
 * All have ModRM but one; constants of one byte have those of map 3 and some of map 1.  None is a
 * branch.  0: it is something else, or cut.
 */
static unsigned vector_len(const uint8_t *b, size_t room, unsigned *modrm_at)
{
	static const uint8_t with_constant[] = { 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6 };
	unsigned map = 1, at;
	uint8_t opcode, modrm;

	if (room < 15 || (b[0] != 0x62 && b[0] != 0xc4 && b[0] != 0xc5))
		return 0;
	at = b[0] == 0x62 ? 4 : b[0] == 0xc4 ? 3 : 2;
	if (b[0] != 0xc5)
		map = b[0] == 0x62 ? b[1] & 7 : b[1] & 31;
	opcode = b[at++];
	if (map == 1 && opcode == 0x77)
		return at;
	*modrm_at = at;
	modrm = b[at++];
	if ((modrm & 0xc0) != 0xc0 && (modrm & 7) == 4) {
		if ((modrm & 0xc0) == 0 && (b[at] & 7) == 5)
			at += 4;
		at++;
	}
	at += (modrm & 0xc0) == 0x40 ? 1 : (modrm & 0xc0) == 0x80 || (modrm & 0xc7) == 0x05 ? 4 : 0;
	if (map == 1 && memchr(with_constant, opcode, sizeof(with_constant)))
		at++;
	return map == 3 ? at + 1 : at;
}

/* As Capstone would say it, as far as it matters here. */
static bool next_vector(const uint8_t **p, size_t *room, uint64_t *at, cs_insn *insn)
{
	cs_detail *detail = insn->detail;
	unsigned modrm_at = 0, len = vector_len(*p, *room, &modrm_at);

	if (!len)
		return false;
	memset(detail, 0, sizeof(*detail));
	*insn = (cs_insn){ .address = *at, .size = (uint16_t)len, .detail = detail };
	memcpy(insn->bytes, *p, len);
	if (modrm_at && (insn->bytes[modrm_at] & 0xc0) != 0xc0) {
		detail->x86.op_count = 1;
		detail->x86.operands[0].type = X86_OP_MEM;
	}
	if (modrm_at && (insn->bytes[modrm_at] & 0xc7) == 0x05) {
		detail->x86.operands[0].mem.base = X86_REG_RIP;
		detail->x86.encoding.disp_offset = (uint8_t)(modrm_at + 1);
	}
	*p += len;
	*room -= len;
	*at += len;
	return true;
}

static bool next_insn(csh handle, const uint8_t **p, size_t *room, uint64_t *at, cs_insn *insn)
{
	return cs_disasm_iter(handle, p, room, at, insn) || next_vector(p, room, at, insn);
}

/* ---- one instruction ------------------------------------------------------------------------- */

enum form {
	FORM_PLAIN,
	FORM_JUMP,
	FORM_BRANCH,
	FORM_LOOP,
	FORM_CALL,
	FORM_JUMP_TO,
	FORM_CALL_TO,
	FORM_RETURN,
	FORM_LEAVE,
	FORM_ODD
};

static bool stays(csh handle, const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_INT3:
	case X86_INS_RDTSC:
	case X86_INS_RDTSCP:
	case X86_INS_CPUID:
	case X86_INS_UD2:
	case X86_INS_HLT:
	case X86_INS_XBEGIN:
		return true;
	default:
		return cs_insn_group(handle, insn, CS_GRP_INT) ||
		       cs_insn_group(handle, insn, CS_GRP_IRET);
	}
}

static bool is_far(const cs_insn *insn)
{
	return insn->id == X86_INS_LJMP || insn->id == X86_INS_LCALL || insn->id == X86_INS_RETF ||
	       insn->id == X86_INS_RETFQ || insn->id == X86_INS_XABORT;
}

/*
 * The linker pads direct calls with prefixes that mean nothing: that of __tls_get_addr in all code
 * for shared libraries (66 66 48 e8), `addr32 call' where it was one through the GOT.
 */
static bool is_padded_call(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes, *end = b + insn->size;
	bool narrow = false;

	for (; b < end && (*b == 0x66 || *b == 0x67 || *b == 0x2e || *b == 0x3e || *b == 0xf2); b++)
		narrow |= *b == 0x66;
	if (b < end && (*b & 0xf0) == 0x40)
		narrow &= !(*b++ & 8);		/* REX.W wins; else vendors differ */
	return !narrow && end - b == 5 && *b == 0xe8;
}

static uint64_t call_target(const cs_insn *insn)
{
	int32_t rel;

	memcpy(&rel, insn->bytes + insn->size - 4, 4);
	return insn->address + insn->size + (uint64_t)(int64_t)rel;
}

static enum form form_of(csh handle, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	const uint8_t *b = insn->bytes;
	bool direct = x->op_count == 1 && x->operands[0].type == X86_OP_IMM;

	if (stays(handle, insn))
		return FORM_LEAVE;
	if (is_far(insn))
		return FORM_ODD;
	if (*b == 0xf2 || *b == 0x2e || *b == 0x3e)	/* bnd, or a hint */
		b++;
	if (cs_insn_group(handle, insn, CS_GRP_RET))
		return *b == 0xf3 || *b == 0xc3 || *b == 0xc2 ? FORM_RETURN : FORM_ODD;
	if (cs_insn_group(handle, insn, CS_GRP_CALL))
		return !direct ? FORM_CALL_TO : is_padded_call(insn) ? FORM_CALL : FORM_ODD;
	if (!cs_insn_group(handle, insn, CS_GRP_JUMP))
		return FORM_PLAIN;
	if (!direct)
		return FORM_JUMP_TO;
	if (*b == 0xe9 || *b == 0xeb)
		return FORM_JUMP;
	if ((*b & 0xf0) == 0x70 || (*b == 0x0f && (b[1] & 0xf0) == 0x80))
		return FORM_BRANCH;
	return (*b >= 0xe0 && *b <= 0xe3) || (*b == 0x67 && b[1] == 0xe3) ? FORM_LOOP : FORM_ODD;
}

static bool put_plain(struct emit *e, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	unsigned start = e->len;

	put(e, insn->bytes, insn->size);
	for (unsigned i = 0; i < x->op_count; i++) {
		int32_t rel;
		int64_t moved;

		if (x->operands[i].type != X86_OP_MEM || x->operands[i].mem.base != X86_REG_RIP)
			continue;
		memcpy(&rel, insn->bytes + x->encoding.disp_offset, 4);
		moved = (int64_t)rel + (int64_t)(insn->address - (e->at + start));
		if (moved != (int32_t)moved || !x->encoding.disp_offset)
			return false;
		rel = (int32_t)moved;
		memcpy(e->bytes + start + x->encoding.disp_offset, &rel, 4);
		break;
	}
	return true;
}

static void put_branch(struct emit *e, const cs_insn *insn, enum form form)
{
	const uint8_t *b = insn->bytes;
	uint8_t code = *b;

	if (*b == 0xf2 || *b == 0x2e || *b == 0x3e)
		code = *++b;
	if (form == FORM_BRANCH && code == 0x0f)
		code = (uint8_t)(0x70 | (b[1] & 0x0f));
	if (code == 0x67) {
		put_byte(e, code);
		code = b[1];
	}
	put_byte(e, code);		/* over the exit for the way on */
	put_byte(e, EXIT_BYTES);
	put_exit(e, insn->address + insn->size);
	put_exit(e, (uint64_t)insn->detail->x86.operands[0].imm);
}

static bool put_insn(struct emit *e, const cs_insn *insn, enum form form)
{
	switch (form) {
	case FORM_PLAIN:
		return put_plain(e, insn);
	case FORM_BRANCH:
	case FORM_LOOP:
		put_branch(e, insn, form);
		return true;
	case FORM_CALL:
		put_push(e, insn->address + insn->size);
		put_exit(e, call_target(insn));
		return true;
	case FORM_JUMP:
		put_exit(e, (uint64_t)insn->detail->x86.operands[0].imm);
		return true;
	case FORM_JUMP_TO:
	case FORM_CALL_TO:
		return put_indirect(e, insn, form == FORM_CALL_TO);
	case FORM_RETURN:
		return put_return(e, insn);
	case FORM_LEAVE:
		put_far_jump(e, insn->address);
		return true;
	case FORM_ODD:
		put_trap(e, TRAP_STEP, insn->address);
		return true;
	}
	return false;
}

/* It may write to memory, and so to the code behind it. */
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
static unsigned constants_at(csh handle, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	unsigned at = x->encoding.disp_offset ? x->encoding.disp_offset : x->encoding.imm_offset;

	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base == X86_REG_RIP)
			return 0;
	}
	return form_of(handle, insn) == FORM_PLAIN && at < insn->size ? at : 0;
}

/* The instruction, behind code that brings its bytes from `from' on up to date. */
static bool put_constants(struct emit *e, const cs_insn *insn, unsigned from)
{
	struct { unsigned at, piece; } store[8];
	unsigned n = 0;
	bool near = true;

	put_slot(e, STORE, RCX, SLOT_RCX);
	for (unsigned i = from, k = 0; i < insn->size; i += pieces[k].len) {
		while (pieces[k].len > insn->size - i)
			k++;
		put(e, pieces[k].load, pieces[k].load_len);
		near &= put_rel32(e, insn->address + i);
		put(e, pieces[k].store, pieces[k].store_len);
		store[n].at = e->len;
		store[n++].piece = i;
		put(e, "\0\0\0\0", 4);
	}
	put_slot(e, LOAD, RCX, SLOT_RCX);
	for (unsigned i = 0; i < n; i++) {
		int32_t rel = (int32_t)(e->len + store[i].piece - (store[i].at + 4));

		memcpy(e->bytes + store[i].at, &rel, 4);
	}
	put(e, insn->bytes, insn->size);
	return near;
}

/*
 * The bytes are still these: len at e->orig.  Ends behind an int3 that the copy does not come to.
 */
static bool put_check(struct emit *e, const uint8_t *code, unsigned len)
{
	unsigned fail[CODE_BYTES_MAX], fails = 0, over;
	bool near = true;

	put_slot(e, STORE, RCX, SLOT_RCX);
	put_slot(e, STORE, RAX, SLOT_RAX);
	for (unsigned i = 0, k = 0; i < len; i += pieces[k].len) {
		uint64_t want = 0;

		while (pieces[k].len > len - i)
			k++;
		memcpy(&want, code + i, pieces[k].len);
		put(e, pieces[k].load, pieces[k].load_len);
		near &= put_rel32(e, e->orig + i);
		put(e, "\x48\xb8", 2);			/* movabs $-want, %rax */
		put_u64(e, -want);
		/* lea (%rcx,%rax), %rcx ; jrcxz +5 ; jmp fail */
		put(e, "\x48\x8d\x0c\x01\xe3\x05\xe9", 7);
		fail[fails++] = e->len;
		put(e, "\0\0\0\0", 4);
	}
	put_slot(e, LOAD, RAX, SLOT_RAX);
	put_slot(e, LOAD, RCX, SLOT_RCX);
	put(e, "\xeb\x00", 2);
	over = e->len;
	for (unsigned i = 0; i < fails; i++) {
		int32_t rel = (int32_t)(e->len - (fail[i] + 4));

		memcpy(e->bytes + fail[i], &rel, 4);
	}
	put_slot(e, LOAD, RAX, SLOT_RAX);
	put_slot(e, LOAD, RCX, SLOT_RCX);
	put_trap(e, TRAP_CHANGED, e->orig);
	e->bytes[over - 1] = (uint8_t)(e->len - over);
	return near;
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
	unsigned n = 0;

	while (n < BLOCK_INSNS && (!n || at != e->point) &&
	       next_insn(handle, &p, &room, &at, insn)) {
		n++;
		if (form_of(handle, insn) != FORM_PLAIN || (e->checked && may_store(insn)) ||
		    e->single)
			break;
	}
	*len_ret = (unsigned)(p - code);
	return n;
}

static bool emit(struct emit *e, csh handle, cs_insn *insn)
{
	uint8_t code[CODE_BYTES_MAX + 16] = { 0 };
	size_t room = tracee_read_some(e->tid, e->orig, code, CODE_BYTES_MAX);
	enum form form = FORM_PLAIN;
	const uint8_t *p = code;
	uint64_t at = e->orig;
	unsigned len, n = measure(handle, insn, e, code, room, &len), fixed = 0;

	if (e->orig == e->point)
		put_far_jump(e, e->test);
	e->trampoline = e->len;
	if (!n) {		/* unknown to the decoder, or no memory */
		put_trap(e, TRAP_STEP, e->orig);
		return true;
	}
	if (e->single)
		fixed = constants_at(handle, insn);
	if (e->checked && !put_check(e, code, fixed ? fixed : len))
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (!next_insn(handle, &p, &room, &at, insn))
			return false;
		form = form_of(handle, insn);
		if (!(fixed ? put_constants(e, insn, fixed) : put_insn(e, insn, form)))
			return false;
	}
	if (form == FORM_PLAIN)
		put_exit(e, at);
	return true;
}

bool emit_block(struct emit *e)
{
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool good;

	e->len = e->trampoline = 0;
	if (!insn)
		return false;
	good = emit(e, handle, insn);
	cs_free(insn, 1);
	return good;
}
