/*
 * gate_stub.c - the code of breakpoints that are decided inside the process: see gate.c.
 */
#include <string.h>

#include "replayer/gate.h"

static void put(struct gate_code *c, const void *bytes, unsigned n)
{
	BUG_ON(c->len + n > STUB_ROOM, "a stub of more than %u bytes", c->len);
	memcpy(c->bytes + c->len, bytes, n);
	c->len += n;
}
#define PUT(c, ...) put(c, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* three bytes of an instruction, and a RIP-relative address */
static void put_rip(struct gate_code *c, uint8_t a, uint8_t b, uint8_t modrm, uint64_t addr)
{
	int32_t rel = (int32_t)(addr - (c->at + c->len + 7));

	PUT(c, a, b, modrm);
	put(c, &rel, 4);
}

static bool put_copy(struct rp_gate *p, struct gate_code *c)
{
	unsigned len, last = p->d.last != DISPLACE_PLAIN ? p->site.insn[p->site.n - 1].len : 0;

	p->copy = c->at + c->len;
	if (c->len + DISPLACE_MAX + 64 > STUB_ROOM || !displace_write(&p->d, p->copy, c->bytes + c->len, &len, &p->fall))
		return false;
	c->len += len;
	p->end = p->copy + p->site.len - last;
	return true;
}

bool gate_stub_trap(struct rp_gate *p, struct gate_code *c)
{
	bool good = put_copy(p, c);

	PUT(c, 0xcc);
	p->trap = c->at + c->len;
	return good;
}

static void put_saved(const struct rp_gate *p, struct gate_code *c, uint8_t opcode)
{
	put_rip(c, 0x48, opcode, 0x0d, p->slot + SLOT_SAVE);		/* rcx */
	put_rip(c, 0x48, opcode, 0x05, p->slot + SLOT_SAVE_RAX);	/* rax */
}

static void put_word_at(struct gate_code *c, uint64_t addr, uint8_t displacement)
{
	PUT(c, 0x48, 0xb9);					/* mov rcx, addr */
	put(c, &addr, 8);
	PUT(c, 0x48, 0x8b, 0x01, 0x48, 0x8d, 0x40, displacement, 0x48, 0x89, 0x01);	/* rax = [rcx] + displacement; [rcx] = rax */
}

/* Flags stay as they are.  Returns where the distance of the branch to the trap is to be filled in. */
static unsigned put_count(const struct rp_gate *p, struct gate_code *c, uint64_t turn)
{
	unsigned branch;

	put_saved(p, c, 0x89);
	put_word_at(c, p->left, 0xff);
	PUT(c, 0x48, 0x89, 0xc1, 0xe3, 0);			/* mov rcx, rax; jrcxz trap */
	branch = c->len;
	put_word_at(c, turn, 0x01);
	put_rip(c, 0x48, 0x89, 0x05, p->slot + SLOT_LAST);
	put_saved(p, c, 0x8b);
	return branch;
}

static void put_trap(struct rp_gate *p, struct gate_code *c, unsigned branch)
{
	c->bytes[branch - 1] = (uint8_t)(c->len - branch);
	put_saved(p, c, 0x8b);
	PUT(c, 0xcc);
	p->trap = c->at + c->len;
}

bool gate_stub_count(struct rp_gate *p, struct gate_code *c, uint64_t turn)
{
	unsigned branch = put_count(p, c, turn);

	if (!put_copy(p, c))
		return false;
	put_trap(p, c, branch);
	return true;
}

/* Where the condition finds the registers: as gate_stub_condition() pushes them. */
void gate_saved_places(const struct rp_gate *p, uint64_t reg[REGS_WORDS])
{
	static const uint8_t order[] = { 18, 10, 11, 12, 5, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0 };

	memset(reg, 0, REGS_WORDS * sizeof(*reg));
	for (unsigned i = 0; i < sizeof(order); i++)
		reg[order[i]] = p->area + STACK_TOP - 8 * (i + 1);
	reg[19] = p->slot + SLOT_SAVE;
	reg[16] = p->slot + SLOT_RIP;
}

static void put_restore(const struct rp_gate *p, struct gate_code *c)
{
	put_rip(c, 0x48, 0x8d, 0x25, p->area + STACK_TOP - FRAME);	/* lea rsp, [frame] */
	PUT(c, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58,	/* pop r15..r8 */
	    0x5f, 0x5e, 0x5d, 0x5b, 0x5a, 0x59, 0x58, 0x9d);	/* rdi, rsi, rbp, rbx, rdx, rcx, rax, flags */
	put_rip(c, 0x48, 0x8b, 0x25, p->slot + SLOT_SAVE);	/* mov rsp, [save] */
}

/* turn != 0: count those that are true. */
bool gate_stub_condition(struct rp_gate *p, const struct rp_cond *cond, struct gate_code *c, uint64_t turn)
{
	uint64_t reg[REGS_WORDS];
	unsigned hit[33], n;

	put_rip(c, 0x48, 0x89, 0x25, p->slot + SLOT_SAVE);	/* mov [save], rsp */
	put_rip(c, 0x48, 0x8d, 0x25, p->area + STACK_TOP);	/* lea rsp, [top] */
	PUT(c, 0x9c, 0x50, 0x51, 0x52, 0x53, 0x55, 0x56, 0x57,	/* pushfq; push rax, rcx, rdx, rbx, rbp, rsi, rdi */
	    0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57);
	gate_saved_places(p, reg);
	n = rp_cond_compile(cond, c->bytes + c->len, STUB_ROOM - c->len - 200, c->at + c->len, reg, hit);
	if (!n)
		return false;
	for (unsigned i = 0; hit[i]; i++)
		hit[i] += c->len;
	c->len += n;
	put_restore(p, c);
	if (!put_copy(p, c))
		return false;
	for (unsigned i = 0; hit[i]; i++) {
		int32_t rel = (int32_t)(c->len - hit[i]);

		memcpy(c->bytes + hit[i] - 4, &rel, 4);
	}
	put_restore(p, c);
	if (turn) {
		unsigned branch = put_count(p, c, turn);
		int32_t rel = (int32_t)(p->copy - (c->at + c->len + 5));

		PUT(c, 0xe9);
		put(c, &rel, 4);
		put_trap(p, c, branch);
	} else {
		PUT(c, 0xcc);
		p->trap = c->at + c->len;
	}
	return true;
}
