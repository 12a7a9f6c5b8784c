/*
 * stub.c - the code of a probe.
 *
 * An entry:
 *	       int3				T1: the ring is full, or this is where to stop
 *	stub:  mov [RCX], rcx ; mov rcx, [COUNT] ; jrcxz T1 ; lea rcx, [rcx+1] ; mov [COUNT], rcx
 *	       look the stack up: eax = its number	only with returns: stack.c
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
 * always has (`call malloc; test rax, rax; je`).
 */
#include <capstone/capstone.h>
#include <string.h>

#include "replayer/probe/probe.h"
#include "x86/branch.h"
#include "x86/decode.h"
#include "x86/move.h"

enum { FUNCTION_MAX = 65536, WINDOW = 4096 };

/* ---- the place ------------------------------------------------------------------------ */

/* May it be displaced?  *last: nothing behind it is come to by falling through. */
static bool can_move(const struct x86_instr *insn, bool *last)
{
	*last = false;
	switch ((enum x86_form)insn->form) {
	case X86_PLAIN:
	case X86_JCC:
		return true;
	case X86_CALL_TO:	/* pushes an address first, so an operand on the stack would move */
		*last = true;
		return insn->via != X86_VIA_RSP && insn->via != X86_VIA_STACK;
	case X86_JMP:
	case X86_CALL:
	case X86_JMP_TO:
	case X86_RET:
		*last = true;
		return true;
	default:
		return false;
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

size_t rp_probe_text(const struct rp_task *t, uint64_t addr, void *buf, size_t len)
{
	size_t n = tracee_read_some(t->real, addr, buf, len);

	rp_probe_hide(t->mm, addr, buf, n);
	return n;
}

/* Do bytes near [first, last) look like a branch by 8 bits to within (first, last)? */
static bool near_branches_in(const struct rp_task *t, uint64_t start, uint64_t first, uint64_t last)
{
	enum { NEAR = 160 };
	uint8_t code[2 * NEAR + PROBE_SITE_MAX];
	uint64_t from = first - start < NEAR ? start : first - NEAR;
	size_t n = rp_probe_text(t, from, code, last + NEAR - from);

	return x86_branch_into(code, n, from, X86_BRANCHES, first, last, 0) < n;
}

/*
 * Where a function begins its instructions can be told apart: does one branch to within (first,
 * last)?
 */
static bool function_branches_in(const struct rp_task *t, uint64_t start, uint64_t end,
				 uint64_t first, uint64_t last)
{
	static uint8_t code[FUNCTION_MAX];
	size_t n;

	if (end - start > sizeof(code))
		end = start + sizeof(code);
	/* bytes that look like one are few: to go through the code is for these */
	if (!rp_branches_into(t, start, end, first, last) &&
	    !near_branches_in(t, start, first, last))
		return false;
	n = rp_probe_text(t, start, code, end - start);
	return x86_code_branches_into(code, n, start, first, last);
}

/* Nobody knows where instructions begin: what looks like a branch counts as one. */
static bool bytes_branch_in(const struct rp_task *t, uint64_t first, uint64_t last)
{
	static uint8_t code[2 * WINDOW];
	uint64_t from = first - WINDOW;
	size_t n = rp_probe_text(t, from, code, sizeof(code));

	if (n < WINDOW) {
		from = page_down(first);
		n = rp_probe_text(t, from, code, sizeof(code));
	}
	return x86_branch_into(code, n, from, X86_BRANCHES, first, last, 0) < n;
}

/*
 * Parts of one function may be anywhere in the module and jump back into it: by 32-bit distances.
 */
static bool others_branch_in(const struct rp_task *t, uint64_t first, uint64_t last)
{
	return rp_branches_into(t, first - RP_BRANCHES_AROUND, first + RP_BRANCHES_AROUND, first,
				last);
}

bool rp_stub_site(const struct rp_task *t, uint64_t addr, uint64_t start, uint64_t end,
		  struct rp_patch *p)
{
	uint8_t code[PROBE_SITE_MAX + 16] = { 0 };
	size_t room = rp_probe_text(t, addr, code, sizeof(code));
	bool good = true, last = false;

	p->len = p->n = 0;
	while (good && p->len < X86_JUMP && !last) {
		struct x86_instr insn;

		good = p->n < PROBE_INSNS && p->len < room &&
		       x86_instr_at(code + p->len, room - p->len, &insn) &&
		       can_move(&insn, &last) && p->len + insn.len <= PROBE_SITE_MAX;
		if (!good)
			break;
		p->insn[p->n].from = (uint8_t)p->len;
		p->n++;
		p->len += insn.len;
		/*
		 * what comes behind a call is where it returns to; behind others only padding will
		 * do
		 */
		if (last && p->len < X86_JUMP)
			good = insn.form != X86_CALL && insn.form != X86_CALL_TO &&
			       is_padding(code + p->len, X86_JUMP - p->len);
	}
	memcpy(p->bytes, code, sizeof(p->bytes));
	if (!good)
		return false;
	if (p->len < X86_JUMP)
		p->len = X86_JUMP;
	if (!tracee_is_one_code(t->real, addr, p->len))
		return false;
	if (end > addr && start <= addr)
		return !function_branches_in(t, start, end, addr, addr + X86_JUMP) &&
		       !others_branch_in(t, addr, addr + X86_JUMP);
	return !bytes_branch_in(t, addr, addr + X86_JUMP);
}

/* Does it leave rax and rsp alone? */
static bool keeps_result(csh handle, const cs_insn *insn, const struct x86_instr *one)
{
	cs_regs read, write;
	uint8_t reads, writes;

	if (one->form != X86_PLAIN || cs_regs_access(handle, insn, read, &reads, write, &writes))
		return false;
	for (unsigned i = 0; i < writes; i++) {
		unsigned reg = x86_register(write[i]);

		if (reg == X86_REG_RAX || reg == X86_REG_RSP)
			return false;
	}
	return true;
}

uint64_t rp_stub_later(const struct rp_task *t, uint64_t addr)
{
	uint8_t code[16];
	size_t room = rp_probe_text(t, addr, code, sizeof(code));
	const uint8_t *p = code;
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	uint64_t pc = addr, to = 0;
	struct x86_instr one;

	if (insn && cs_disasm_iter(handle, &p, &room, &pc, insn)) {
		x86_instr_of(handle, insn, &one);
		if (one.form == X86_JMP)
			to = x86_target(&one, code, addr);
		else if (keeps_result(handle, insn, &one))
			to = addr + one.len;
	}
	if (insn)
		cs_free(insn, 1);
	return to;
}

/* ---- code -------------------------------------------------------------------------------- */

void rp_stub_store_rcx(struct x86_code *c, uint32_t word)
{
	X86_PUT(c, 0x48, 0x89, 0x0c, 0x25);
	x86_put32(c, word);
}
void rp_stub_load_rcx(struct x86_code *c, uint32_t word)
{
	X86_PUT(c, 0x48, 0x8b, 0x0c, 0x25);
	x86_put32(c, word);
}
static void put_load_rax(struct x86_code *c, uint32_t word)
{
	X86_PUT(c, 0x48, 0x8b, 0x04, 0x25);
	x86_put32(c, word);
}

/* mov [rcx + RING_END + at], reg; modrm says which */
static void put_field(struct x86_code *c, uint8_t modrm, unsigned at)
{
	uint8_t insn[3] = { 0x48, 0x89, modrm };

	x86_put(c, insn, 3);
	x86_put32(c, PROBE_RING_END + at);
}

/* With a stack its number is in eax. */
static void put_record(struct x86_code *c, int32_t probe, const struct replay_probe *def)
{
	unsigned args = def ? def->args : 1;
	bool stack = def && def->returns;

	rp_stub_load_rcx(c, PROBE_POS);
	X86_PUT(c, 0xc7, 0x81);			/* mov dword [rcx + ...], probe and size */
	x86_put32(c, PROBE_RING_END);
	x86_put32(c, (uint32_t)(uint16_t)probe | (16 + 8 * args) << 16);
	if (stack) {
		X86_PUT(c, 0x89, 0x81);		/* mov [rcx + ...], eax */
		x86_put32(c, PROBE_RING_END + 4);
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
	X86_PUT(c, 0x48, 0x8d, 0x89);		/* lea rcx, [rcx + size] */
	x86_put32(c, 16 + 8 * args);
	rp_stub_store_rcx(c, PROBE_POS);
	if (def && def->deref) {	/* mov qword [COUNT], 0: the return shall stop */
		X86_PUT(c, 0x48, 0xc7, 0x04, 0x25);
		x86_put32(c, PROBE_COUNT);
		x86_put32(c, 0);
		X86_PUT(c, 0x48, 0xc7, 0x04, 0x25);
		x86_put32(c, PROBE_DEREF);
		x86_put32(c, 1);
	}
}

static bool put_displaced(struct x86_code *c, struct rp_patch *p)
{
	unsigned at = 0;

	for (unsigned i = 0; i < p->n; i++) {
		struct x86_instr insn;
		const uint8_t *bytes = p->bytes + at;
		uint64_t from = p->addr + at;

		p->insn[i].to = (uint8_t)(c->len - p->moved);
		if (!x86_instr_at(bytes, sizeof(p->bytes) - at, &insn) ||
		    !x86_move(c, &insn, bytes, from,
			      x86_is_direct(&insn) ? x86_target(&insn, bytes, from) : 0))
			return false;
		at += insn.len;
	}
	x86_put_jump(c, X86_ALWAYS, p->addr + (p->jump ? p->len : at));
	return !c->far;
}

bool rp_stub_build(struct rp_patch *p, const struct replay_probe *def, bool quiet,
		   struct rp_stub_code *ret)
{
	struct x86_code c = { .bytes = ret->bytes,
			      .room = sizeof(ret->bytes),
			      .at = p->stub };

	X86_PUT(&c, 0xcc);
	p->trap_count = 0;
	p->body = (uint16_t)c.len;
	rp_stub_store_rcx(&c, PROBE_RCX);
	rp_stub_load_rcx(&c, PROBE_COUNT);
	/* back over 17 bytes and itself, to the int3 */
	x86_put_short_jump(&c, X86_IF_RCX_ZERO, -19);
	X86_PUT(&c, 0x48, 0x8d, 0x49, 0x01);	/* lea rcx, [rcx + 1] */
	rp_stub_store_rcx(&c, PROBE_COUNT);
	p->trap_stack = p->again = 0;
	if (def && def->returns && !quiet) {
		p->again = (uint16_t)(c.len + (unsigned)(rp_lookup_again - rp_lookup));
		p->trap_stack = (uint16_t)(c.len + (unsigned)(rp_lookup_miss - rp_lookup));
		x86_put(&c, rp_lookup, (unsigned)(rp_lookup_end - rp_lookup));
	}
	if (!quiet)
		put_record(&c, def ? p->probe : -1, def);
	rp_stub_load_rcx(&c, PROBE_RCX);
	p->moved = (uint16_t)c.len;
	if (!put_displaced(&c, p))
		return false;
	ret->len = p->stub_len = c.len;
	return true;
}
