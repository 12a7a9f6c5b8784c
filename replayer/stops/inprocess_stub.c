/*
 * inprocess_stub.c - the code of breakpoints that are decided inside the process: see inprocess.c.
 */
#include <string.h>

#include "replayer/stops/condition.h"
#include "replayer/stops/inprocess.h"
#include "replayer/stops/inprocess_breakpoint.h"

#define NEAR 0x7ff00000ll	/* bytes that an address relative to RIP reaches */

/* The word at addr and rcx or rax, or rsp. */
enum { RAX = 0, RCX = 1, RSP = 4 };

static void put_saved(const struct inprocess *p, struct inprocess_code *c, uint8_t opcode)
{
	x86_put_word(&c->code, opcode, RCX, p->slot + SLOT_SAVE);		/* rcx */
}

static void put_word(struct inprocess_code *c, uint8_t opcode, uint64_t addr)
{
	/* rax, a word of 64 bits of address */
	X86_PUT(&c->code, 0x48, opcode);
	x86_put64(&c->code, addr);
}

/* rcx = the word at addr += displacement; flags and all other registers stay as they are. */
static void put_add(const struct inprocess *p, struct inprocess_code *c, uint64_t addr,
		    uint8_t displacement)
{
	int64_t far = (int64_t)(addr - x86_here(&c->code));

	if (far > -NEAR && far < NEAR) {
		x86_put_word(&c->code, 0x8b, RCX, addr);
		X86_PUT(&c->code, 0x48, 0x8d, 0x49, displacement);	/* lea rcx, [rcx + ...] */
		x86_put_word(&c->code, 0x89, RCX, addr);
		return;
	}
	x86_put_word(&c->code, 0x89, RAX, p->slot + SLOT_SAVE_RAX);
	put_word(c, 0xa1, addr);
	/* lea rax, [rax + displacement]; mov rcx, rax */
	X86_PUT(&c->code, 0x48, 0x8d, 0x40, displacement, 0x48, 0x89, 0xc1);
	put_word(c, 0xa3, addr);
	x86_put_word(&c->code, 0x8b, RAX, p->slot + SLOT_SAVE_RAX);
}

/* A jump if rcx is 0, to another part of the stub: jumps_here() with what it returns. */
static unsigned put_jump_if_0(struct inprocess_code *c)
{
	/* jrcxz 1f; jmp 2f; 1: jmp there; 2: */
	x86_put_short_jump(&c->code, X86_IF_RCX_ZERO, 2);
	x86_put_short_jump(&c->code, X86_ALWAYS, X86_JUMP);
	return x86_put_later(&c->code, X86_ALWAYS);
}

static void jumps_here(struct inprocess_code *c, unsigned jump)
{
	x86_land(&c->code, jump, c->code.len);
}

/* The order of several that are counted: only these ask for it. */
static void put_sequence(const struct inprocess *p, struct inprocess_code *c)
{
	if (!c->sequence)
		return;
	put_add(p, c, c->sequence, 0x01);
	x86_put_word(&c->code, 0x89, RCX, p->slot + SLOT_LAST);
}

/*
 * Writes the count for another breakpoint at the same address: at the beginning, whatever p itself
 * decides.
 */
static void put_over(const struct inprocess *p, struct inprocess_code *c)
{
	if (!p->over)
		return;
	put_saved(p->over, c, 0x89);
	put_add(p->over, c, p->over->left, 0xff);
	put_sequence(p->over, c);
	put_saved(p->over, c, 0x8b);
}

/* Was that the last?  Then to put_over_trap(). */
static unsigned put_over_test(const struct inprocess *p, struct inprocess_code *c)
{
	unsigned jump;

	if (!p->over)
		return 0;
	put_saved(p->over, c, 0x89);
	x86_put_constant(&c->code, RCX, p->over->left);
	X86_PUT(&c->code, 0x48, 0x8b, 0x09);				/* mov rcx, [rcx] */
	jump = put_jump_if_0(c);
	put_saved(p->over, c, 0x8b);
	return jump;
}

static void put_over_trap(const struct inprocess *p, struct inprocess_code *c, unsigned jump)
{
	if (!p->over)
		return;
	jumps_here(c, jump);
	p->over->stub = x86_here(&c->code);
	put_saved(p->over, c, 0x8b);
	X86_PUT(&c->code, 0xcc);
	p->over->trap = x86_here(&c->code);
}

/* *over_ret: for put_over_trap(). */
static bool put_copy(struct inprocess *p, struct inprocess_code *c, unsigned *over_ret)
{
	unsigned last = p->d.last != X86_PLAIN ? p->site.insn[p->site.n - 1].len : 0;

	*over_ret = put_over_test(p, c);
	p->copy = x86_here(&c->code);
	if (c->code.len + DISPLACE_MAX + 64 > STUB_ROOM || !displace_write(&p->d, &c->code))
		return false;
	p->end = p->copy + p->site.len - last;
	p->fall = x86_here(&c->code);
	x86_put_jump(&c->code, X86_ALWAYS,
		     p->next ? p->next->stub : p->site.addr + p->site.len);
	return !c->code.far;
}

bool inprocess_stub_trap(struct inprocess *p, struct inprocess_code *c)
{
	bool inner = p->lead != p, good;
	unsigned over;

	if (inner) {
		/* so that behind the trap is not where the copy begins */
		X86_PUT(&c->code, 0xcc, 0x90);
		p->trap = x86_here(&c->code) - 1;
	}
	good = put_copy(p, c, &over);
	if (!inner) {
		X86_PUT(&c->code, 0xcc);
		p->trap = x86_here(&c->code);
	}
	return good;
}

/* Flags stay as they are.  Returns the jump to the trap; near: a short one, see put_counted(). */
static unsigned put_count(const struct inprocess *p, struct inprocess_code *c, bool near)
{
	unsigned branch;

	put_saved(p, c, 0x89);
	put_add(p, c, p->left, 0xff);
	branch = near ? x86_put_short_jump(&c->code, X86_IF_RCX_ZERO, 0) : put_jump_if_0(c);
	put_sequence(p, c);
	put_saved(p, c, 0x8b);
	return branch;
}

static void put_trap(struct inprocess *p, struct inprocess_code *c)
{
	put_saved(p, c, 0x8b);
	X86_PUT(&c->code, 0xcc);
	p->trap = x86_here(&c->code);
}

/*
 * The trap behind the copy, in reach of a short jump or not: a loop of a nanosecond an iteration
 * notices the jump around a long one.
 */
static bool put_counted(struct inprocess *p, struct inprocess_code *c, bool near, bool *reached)
{
	unsigned branch = put_count(p, c, near), over;

	if (!put_copy(p, c, &over))
		return false;
	*reached = !near || c->code.len - branch <= INT8_MAX;
	if (!*reached)
		return true;
	if (near)
		x86_land_short(&c->code, branch, c->code.len);
	else
		jumps_here(c, branch);
	put_trap(p, c);
	put_over_trap(p, c, over);
	return true;
}

bool inprocess_stub_count(struct inprocess *p, struct inprocess_code *c)
{
	unsigned start;
	bool reached, good;

	put_over(p, c);
	start = c->code.len;
	good = put_counted(p, c, true, &reached);
	if (!good || reached)
		return good;
	c->code.len = start;
	return put_counted(p, c, false, &reached);
}

/* Where the condition finds the registers: as inprocess_stub_condition() pushes them. */
void inprocess_saved_places(const struct inprocess *p, uint64_t reg[REGS_WORDS])
{
	static const uint8_t order[] = { 18, 10, 11, 12, 5, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0 };

	memset(reg, 0, REGS_WORDS * sizeof(*reg));
	for (unsigned i = 0; i < sizeof(order); i++)
		reg[order[i]] = p->area + STACK_TOP - 8 * (i + 1);
	reg[19] = p->slot + SLOT_SAVE;
	reg[16] = p->slot + SLOT_RIP;
	reg[WORD_FS_BASE] = p->area + DATA + THREAD;
}

/*
 * One thread runs at a time, and fs_base is this thread's own for as long as it runs, unless a
 * program sets fs_base without the kernel: there condition.c asks.
 */
struct err *inprocess_thread(struct rp_task *t)
{
	for (unsigned i = 0; i < RP_AREAS && stops_mm(t->mm)->areas[i].at; i++) {
		struct rp_area *a = &stops_mm(t->mm)->areas[i];

		if (a->fs_base == t->regs.fs_base)
			continue;
		TRY(tracee_write(t->real, a->at + DATA + THREAD, &t->regs.fs_base,
				 sizeof(t->regs.fs_base)));
		a->fs_base = t->regs.fs_base;
	}
	return NULL;
}

static void put_restore(const struct inprocess *p, struct inprocess_code *c)
{
	x86_put_word(&c->code, 0x8d, RSP, p->area + STACK_TOP - FRAME);	/* lea rsp, [frame] */
	/* pop r15..r8; rdi, rsi, rbp, rbx, rdx, rcx, rax, flags */
	X86_PUT(&c->code, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x41, 0x5b, 0x41, 0x5a,
		0x41, 0x59, 0x41, 0x58);
	X86_PUT(&c->code, 0x5f, 0x5e, 0x5d, 0x5b, 0x5a, 0x59, 0x58, 0x9d);
	x86_put_word(&c->code, 0x8b, RSP, p->slot + SLOT_SAVE);	/* mov rsp, [save] */
}

bool inprocess_stub_condition(struct inprocess *p, const struct rp_cond *cond,
			      struct inprocess_code *c)
{
	uint64_t reg[REGS_WORDS];
	unsigned hit[33], n, after, over;

	put_over(p, c);
	x86_put_word(&c->code, 0x89, RSP, p->slot + SLOT_SAVE);	/* mov [save], rsp */
	x86_put_word(&c->code, 0x8d, RSP, p->area + STACK_TOP);	/* lea rsp, [top] */
	/* pushfq; push rax, rcx, rdx, rbx, rbp, rsi, rdi; r8..r15 */
	X86_PUT(&c->code, 0x9c, 0x50, 0x51, 0x52, 0x53, 0x55, 0x56, 0x57);
	X86_PUT(&c->code, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53, 0x41, 0x54, 0x41, 0x55,
		0x41, 0x56, 0x41, 0x57);
	inprocess_saved_places(p, reg);
	n = rp_cond_compile(cond, c->code.bytes + c->code.len, STUB_ROOM - c->code.len - 200,
			    x86_here(&c->code), reg, hit);
	if (!n)
		return false;
	for (unsigned i = 0; hit[i]; i++)
		hit[i] += c->code.len;
	c->code.len += n;
	put_restore(p, c);
	after = c->code.len;
	if (!put_copy(p, c, &over))
		return false;
	for (unsigned i = 0; hit[i]; i++)
		jumps_here(c, hit[i]);
	put_restore(p, c);
	if (c->counts) {
		unsigned branch = put_count(p, c, false);

		x86_put_jump(&c->code, X86_ALWAYS, c->code.at + after);
		jumps_here(c, branch);
		put_trap(p, c);
	} else {
		X86_PUT(&c->code, 0xcc);
		p->trap = x86_here(&c->code);
	}
	put_over_trap(p, c, over);
	return true;
}

bool inprocess_moved(const struct rp_mm *mm, uint64_t addr)
{
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		const struct inprocess *p = &stops_mm(mm)->inprocess[i];

		for (unsigned k = 0; p->built && p->copy && k < p->site.n; k++) {
			if (addr == p->copy + p->site.insn[k].at)
				return true;
		}
	}
	return false;
}
