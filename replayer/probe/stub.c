/*
 * stub.c - the code of a probe.
 *
 * An entry:
 *	       int3				T1: the ring is full, or this is where to stop
 *	stub:  mov [RCX], rcx ; mov rcx, [COUNT] ; jrcxz T1 ; lea rcx, [rcx+1] ; mov [COUNT], rcx
 *	       look the stack up: eax = its number				only with returns: stack.c
 *	       int3				T2: it has none yet
 *	       mov rcx, [POS] ; store record at [rcx + RING_END] ; lea rcx, [rcx + size] ; mov
 *	       [POS], rcx
 *	       mov rcx, [RCX]
 *	moved: the displaced instructions ; jmp back
 *
 * Nothing here touches flags or the stack; rcx, rax and xmm0 to xmm2 are put back.  Only one task
 * of a replay runs at a time and it is never stopped for good inside a stub, so one place to save
 * to is enough.
 *
 * The displaced instructions may contain direct and indirect branches, which a return site nearly
 * always has (`call malloc; test rax, rax; je`): site.c, made for system calls, refuses those.
 */
#include <capstone/capstone.h>
#include <string.h>

#include "replayer/probe/probe.h"
#include "tracee/site.h"
#include "x86/decode.h"

enum { FUNCTION_MAX = 65536, WINDOW = 4096 };

/* ---- the place ------------------------------------------------------------------------ */

/* LAST: nothing after it is reached by falling through */
enum move { MOVE_NOT, MOVE_COPY, MOVE_LAST };

static enum move can_move(csh handle, const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_INT:
	case X86_INS_INT3:
	case X86_INS_INT1:
	case X86_INS_RDTSC:
	case X86_INS_RDTSCP:
	case X86_INS_CPUID:
	case X86_INS_UD2:
	case X86_INS_XBEGIN:
	case X86_INS_JRCXZ:
	case X86_INS_JECXZ:
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_HLT:
	case X86_INS_IRET:
	case X86_INS_IRETQ:
	case X86_INS_LJMP:
	case X86_INS_LCALL:
		return MOVE_NOT;
	case X86_INS_CALL:
		/* pushes an address: see put_call(); an operand on the stack would move */
		for (unsigned i = 0; i < insn->detail->x86.op_count; i++) {
			const cs_x86_op *op = &insn->detail->x86.operands[i];

			if ((op->type == X86_OP_MEM && op->mem.base == X86_REG_RSP) ||
			    (op->type == X86_OP_REG && op->reg == X86_REG_RSP))
				return MOVE_NOT;
		}
		return MOVE_LAST;
	case X86_INS_JMP:
	case X86_INS_RET:
		return MOVE_LAST;
	default:
		return cs_insn_group(handle, insn, CS_GRP_INT) ? MOVE_NOT : MOVE_COPY;
	}
}

static bool is_padding(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != 0xcc && p[i] != 0x90)
			return false;
	}
	return true;
}

static bool direct_branch(csh handle, const cs_insn *insn, uint64_t *to)
{
	const cs_x86 *x = &insn->detail->x86;

	if (!cs_insn_group(handle, insn, CS_GRP_JUMP) && !cs_insn_group(handle, insn, CS_GRP_CALL))
		return false;
	if (x->op_count != 1 || x->operands[0].type != X86_OP_IMM)
		return false;
	*to = (uint64_t)x->operands[0].imm;
	return true;
}

/* As the program has it: a branch may be in what another probe displaced. */
static size_t text(const struct rp_task *t, uint64_t addr, void *buf, size_t len)
{
	size_t n = tracee_read_some(t->real, addr, buf, len);

	rp_probe_hide(t->mm, addr, buf, n);
	return n;
}

/*
 * Where a function begins its instructions can be told apart: does one branch to within (first,
 * last)?
 */
static bool function_branches_in(const struct rp_task *t, uint64_t start, uint64_t end,
				 uint64_t first, uint64_t last)
{
	static uint8_t code[FUNCTION_MAX];
	size_t room = text(t, start, code, end - start < sizeof(code) ? end - start : sizeof(code));
	csh handle = decoder();
	const uint8_t *p = code;
	uint64_t at = start, to;
	cs_insn *insn = cs_malloc(handle);
	bool hit = false;

	while (!hit && room) {
		if (!cs_disasm_iter(handle, &p, &room, &at, insn)) {
			p++;
			at++;
			room--;
			continue;
		}
		hit = direct_branch(handle, insn, &to) && to > first && to < last;
	}
	cs_free(insn, 1);
	return hit;
}

static bool branch_in_bytes(const uint8_t *p, size_t room, uint64_t at, uint64_t first,
			    uint64_t last)
{
	int32_t rel;
	uint64_t to = 0;

	if (room >= 2 &&
	    ((p[0] >= 0x70 && p[0] <= 0x7f) || p[0] == 0xeb || (p[0] >= 0xe0 && p[0] <= 0xe3)))
		to = at + 2 + (uint64_t)(int64_t)(int8_t)p[1];
	if (to > first && to < last)
		return true;
	if (room >= 5 && (p[0] == 0xe9 || p[0] == 0xe8)) {
		memcpy(&rel, p + 1, 4);
		to = at + 5 + (uint64_t)(int64_t)rel;
	}
	if (room >= 6 && p[0] == 0x0f && p[1] >= 0x80 && p[1] <= 0x8f) {
		memcpy(&rel, p + 2, 4);
		to = at + 6 + (uint64_t)(int64_t)rel;
	}
	return to > first && to < last;
}

/* Nobody knows where instructions begin: what looks like a branch counts as one. */
static bool bytes_branch_in(const struct rp_task *t, uint64_t first, uint64_t last)
{
	static uint8_t code[2 * WINDOW];
	uint64_t from = first - WINDOW;
	size_t n = text(t, from, code, sizeof(code));

	if (n < WINDOW) {
		from = first & ~4095ull;
		n = text(t, from, code, sizeof(code));
	}
	for (size_t i = 0; i < n; i++) {
		if (branch_in_bytes(code + i, n - i, from + i, first, last))
			return true;
	}
	return false;
}

/*
 * Parts of one function may be anywhere in the module and jump back into it: by 32-bit distances.
 */
static bool others_branch_in(const struct rp_task *t, uint64_t first, uint64_t last)
{
	enum { AROUND = 1 << 17 };
	static uint8_t code[2 * AROUND];
	uint64_t from = first - AROUND;
	size_t n = text(t, from, code, sizeof(code));

	/* the module begins nearer */
	for (unsigned shift = 16; n < AROUND && shift >= 12; shift--) {
		from = first - (1ull << shift);
		n = text(t, from, code, sizeof(code));
		if (n >= 1ull << shift)
			break;
	}
	for (size_t i = 0; i + 6 <= n; i++) {
		size_t at = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80 ? 2
			    : (code[i] & 0xfe) == 0xe8			    ? 1
									    : 0;
		uint64_t to;
		int32_t rel;

		if (!at)
			continue;
		memcpy(&rel, code + i + at, 4);
		to = from + i + at + 4 + (uint64_t)(int64_t)rel;
		if (to > first && to < last)
			return true;
	}
	return false;
}

bool rp_stub_site(const struct rp_task *t, uint64_t addr, uint64_t start, uint64_t end,
		  struct rp_patch *p)
{
	uint8_t code[PROBE_SITE_MAX + 16] = { 0 };
	size_t room = text(t, addr, code, sizeof(code));
	csh handle = decoder();
	const uint8_t *at = code;
	uint64_t pc = addr;
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool good = insn != NULL;

	p->len = p->n = 0;
	while (good && p->len < SITE_JUMP) {
		enum move move = MOVE_NOT;

		if (p->n < PROBE_INSNS && cs_disasm_iter(handle, &at, &room, &pc, insn))
			move = can_move(handle, insn);
		good = move != MOVE_NOT && p->len + insn->size <= PROBE_SITE_MAX;
		if (!good)
			break;
		p->insn[p->n].from = (uint8_t)p->len;
		p->n++;
		p->len += insn->size;
		if (move == MOVE_LAST && p->len < SITE_JUMP) {
			/*
			 * what comes behind a call is where it returns to; behind others only
			 * padding will do
			 */
			good = insn->id != X86_INS_CALL &&
			       is_padding(code + p->len, SITE_JUMP - p->len);
			break;
		}
	}
	if (insn)
		cs_free(insn, 1);
	memcpy(p->bytes, code, sizeof(p->bytes));
	if (!good)
		return false;
	if (p->len < SITE_JUMP)
		p->len = SITE_JUMP;
	if (end > addr && start <= addr)
		return !function_branches_in(t, start, end, addr, addr + SITE_JUMP) &&
		       !others_branch_in(t, addr, addr + SITE_JUMP);
	return !bytes_branch_in(t, addr, addr + SITE_JUMP);
}

/* Does it leave rax and rsp alone? */
static bool keeps_result(csh handle, const cs_insn *insn)
{
	cs_regs read, write;
	uint8_t reads, writes;

	if (cs_insn_group(handle, insn, CS_GRP_JUMP) || cs_insn_group(handle, insn, CS_GRP_CALL) ||
	    can_move(handle, insn) != MOVE_COPY ||
	    cs_regs_access(handle, insn, read, &reads, write, &writes))
		return false;
	for (unsigned i = 0; i < writes; i++) {
		switch (write[i]) {
		case X86_REG_RAX:
		case X86_REG_EAX:
		case X86_REG_AX:
		case X86_REG_AL:
		case X86_REG_AH:
		case X86_REG_RSP:
			return false;
		default:
			break;
		}
	}
	return true;
}

uint64_t rp_stub_later(const struct rp_task *t, uint64_t addr)
{
	uint8_t code[16];
	size_t room = text(t, addr, code, sizeof(code));
	const uint8_t *p = code;
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	uint64_t pc = addr, to = 0;

	if (insn && cs_disasm_iter(handle, &p, &room, &pc, insn)) {
		if (insn->id == X86_INS_JMP && !direct_branch(handle, insn, &to))
			to = 0;
		else if (insn->id != X86_INS_JMP && keeps_result(handle, insn))
			to = addr + insn->size;
	}
	if (insn)
		cs_free(insn, 1);
	return to;
}

/* ---- code -------------------------------------------------------------------------------- */

struct code {
	uint8_t *bytes;
	unsigned len;
	uint64_t at;
	bool far;		/* something was out of reach */
};

static void put(struct code *c, const void *bytes, unsigned len)
{
	BUG_ON(c->len + len > PROBE_STUB_MAX, "probe code too large");
	memcpy(c->bytes + c->len, bytes, len);
	c->len += len;
}

static void put32(struct code *c, uint32_t v) { put(c, &v, 4); }

#define PUT(c, ...)                                          \
	do {                                                 \
		static const uint8_t b_[] = { __VA_ARGS__ }; \
		put(c, b_, sizeof(b_));                      \
	} while (0)

static void put_rel(struct code *c, uint64_t to)
{
	int64_t rel = (int64_t)(to - (c->at + c->len + 4));

	c->far |= rel != (int32_t)rel;
	put32(c, (uint32_t)rel);
}

/* mov between rcx and an absolute word */
static void put_store_rcx(struct code *c, uint32_t word)
{
	PUT(c, 0x48, 0x89, 0x0c, 0x25);
	put32(c, word);
}
static void put_load_rcx(struct code *c, uint32_t word)
{
	PUT(c, 0x48, 0x8b, 0x0c, 0x25);
	put32(c, word);
}
static void put_load_rax(struct code *c, uint32_t word)
{
	PUT(c, 0x48, 0x8b, 0x04, 0x25);
	put32(c, word);
}

/* mov [rcx + RING_END + at], reg; modrm says which */
static void put_field(struct code *c, uint8_t modrm, unsigned at)
{
	uint8_t insn[3] = { 0x48, 0x89, modrm };

	put(c, insn, 3);
	put32(c, PROBE_RING_END + at);
}

/* With a stack its number is in eax. */
static void put_record(struct code *c, int32_t probe, const struct replay_probe *def)
{
	unsigned args = def ? def->args : 1;
	bool stack = def && def->returns;

	put_load_rcx(c, PROBE_POS);
	PUT(c, 0xc7, 0x81);			/* mov dword [rcx + ...], probe and size */
	put32(c, PROBE_RING_END);
	put32(c, (uint32_t)(uint16_t)probe | (16 + 8 * args) << 16);
	if (stack) {
		PUT(c, 0x89, 0x81);		/* mov [rcx + ...], eax */
		put32(c, PROBE_RING_END + 4);
		if (args > 3) {
			put_load_rax(c, PROBE_RCX);
			put_field(c, 0x81, 40);
		}
		put_load_rax(c, PROBE_RAX);
	}
	put_field(c, 0xa1, 8);			/* rsp */
	put_field(c, probe < 0 ? 0x81 : 0xb9, 16);	/* rax or rdi */
	if (args > 1)
		put_field(c, 0xb1, 24);		/* rsi */
	if (args > 2)
		put_field(c, 0x91, 32);		/* rdx */
	PUT(c, 0x48, 0x8d, 0x89);		/* lea rcx, [rcx + size] */
	put32(c, 16 + 8 * args);
	put_store_rcx(c, PROBE_POS);
	if (def && def->deref) {	/* mov qword [COUNT], 0: the return shall stop */
		PUT(c, 0x48, 0xc7, 0x04, 0x25);
		put32(c, PROBE_COUNT);
		put32(c, 0);
		PUT(c, 0x48, 0xc7, 0x04, 0x25);
		put32(c, PROBE_DEREF);
		put32(c, 1);
	}
}

/* call: the program must find its own return address on the stack */
static void put_push(struct code *c, uint64_t ret)
{
	PUT(c, 0x68);
	put32(c, (uint32_t)ret);
	PUT(c, 0xc7, 0x44, 0x24, 0x04);
	put32(c, (uint32_t)(ret >> 32));
}

static void put_moved_bytes(struct code *c, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	uint8_t bytes[16];
	int32_t rel;
	int64_t moved;

	memcpy(bytes, insn->bytes, insn->size);
	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type != X86_OP_MEM || x->operands[i].mem.base != X86_REG_RIP)
			continue;
		memcpy(&rel, bytes + x->encoding.disp_offset, 4);
		moved = (int64_t)rel + (int64_t)(insn->address - (c->at + c->len));
		c->far |= moved != (int32_t)moved;
		rel = (int32_t)moved;
		memcpy(bytes + x->encoding.disp_offset, &rel, 4);
		break;
	}
	put(c, bytes, insn->size);
}

static bool put_moved(csh handle, struct code *c, cs_insn *insn)
{
	uint64_t to;

	if (insn->id == X86_INS_CALL)
		put_push(c, insn->address + insn->size);
	if (direct_branch(handle, insn, &to)) {
		uint8_t first = insn->bytes[0];

		if (insn->id == X86_INS_CALL || insn->id == X86_INS_JMP) {
			PUT(c, 0xe9);
		} else {
			uint8_t jcc[2] = { 0x0f, (uint8_t)(first == 0x0f ? insn->bytes[1]
									 : 0x80 | (first & 15)) };

			if (first != 0x0f && (first & 0xf0) != 0x70)
				return false;	/* a prefixed one */
			put(c, jcc, 2);
		}
		put_rel(c, to);
		return true;
	}
	if (insn->id == X86_INS_CALL) {		/* ff /2 becomes ff /4 */
		const cs_x86 *x = &insn->detail->x86;
		uint8_t at = x->encoding.modrm_offset;

		if (!at || (insn->bytes[at] >> 3 & 7) != 2)
			return false;
		insn->bytes[at] = (uint8_t)((insn->bytes[at] & ~0x38) | 4 << 3);
	}
	put_moved_bytes(c, insn);
	return true;
}

static bool put_displaced(struct code *c, struct rp_patch *p)
{
	csh handle = decoder();
	cs_insn *insn = cs_malloc(handle);
	const uint8_t *at = p->bytes;
	size_t room = sizeof(p->bytes);
	uint64_t pc = p->addr;
	bool good = true;

	for (unsigned i = 0; i < p->n && good; i++) {
		p->insn[i].to = (uint8_t)(c->len - p->moved);
		good = cs_disasm_iter(handle, &at, &room, &pc, insn) && put_moved(handle, c, insn);
	}
	cs_free(insn, 1);
	PUT(c, 0xe9);
	put_rel(c, p->addr + (p->jump ? p->len : (pc - p->addr)));
	return good && !c->far;
}

bool rp_stub_build(struct rp_patch *p, const struct replay_probe *def, bool quiet,
		   struct rp_stub_code *ret)
{
	struct code c = { .bytes = ret->bytes, .at = p->stub };

	PUT(&c, 0xcc);
	p->trap_count = 0;
	p->body = (uint16_t)c.len;
	put_store_rcx(&c, PROBE_RCX);
	put_load_rcx(&c, PROBE_COUNT);
	PUT(&c, 0xe3, (uint8_t)-19);		/* jrcxz, back over 17 + itself to the int3 */
	PUT(&c, 0x48, 0x8d, 0x49, 0x01);	/* lea rcx, [rcx + 1] */
	put_store_rcx(&c, PROBE_COUNT);
	p->trap_stack = p->again = 0;
	if (def && def->returns && !quiet) {
		p->again = (uint16_t)(c.len + (unsigned)(rp_lookup_again - rp_lookup));
		p->trap_stack = (uint16_t)(c.len + (unsigned)(rp_lookup_miss - rp_lookup));
		put(&c, rp_lookup, (unsigned)(rp_lookup_end - rp_lookup));
	}
	if (!quiet)
		put_record(&c, def ? p->probe : -1, def);
	put_load_rcx(&c, PROBE_RCX);
	p->moved = (uint16_t)c.len;
	if (!put_displaced(&c, p))
		return false;
	ret->len = p->stub_len = c.len;
	return true;
}
