/*
 * outline.c - functions that a compiler has inlined are called again.
 *
 * A program optimised by a profile does `if (pointer == &function) { the function, inlined } else
 * call *pointer'.  Each such comparison becomes a jump to a stub that compares with a word of the
 * shared area instead: the address of the function, or another address, and then the call is made.
 * A stub counts how often the inlined function was taken, so that who has not outlined it knows how
 * many calls there would have been.
 *
 *	stub:  cmp reg, [WORD]			(or: mov reg, [WORD] ; cmp reg, reg)
 *	       jne out
 *	       mov [RCX], rcx ; mov rcx, [VISITS] ; lea rcx, [rcx+1] ; mov [VISITS], rcx
 *	       mov rcx, [RCX]			no flags are touched
 *	out:   jmp back
 */
#include "base/alloc.h"
#include "replayer/probe/probe.h"
#include "x86/emit.h"

/* ---- stubs ----------------------------------------------------------------------------------- */

/* An instruction on a register and an absolute word. */
static void put_on_word(struct x86_code *c, uint8_t opcode, unsigned reg, uint32_t word)
{
	X86_PUT(c, (uint8_t)(0x48 | (reg & 8) >> 1), opcode, (uint8_t)((reg & 7) << 3 | 4), 0x25);
	x86_put32(c, word);
}

/* Also the instruction behind a lea, which is done again in its own place. */
bool rp_compare_build(const struct rp_task *t, struct rp_patch *p, unsigned word,
		      struct rp_stub_code *ret)
{
	enum { CMP = 0x3b, MOV = 0x8b, COUNT_BYTES = 36 };
	struct x86_code c = { .bytes = ret->bytes, .room = sizeof(ret->bytes), .at = p->stub };
	uint8_t *b = p->bytes;

	if (tracee_read_some(t->real, p->addr, b, sizeof(p->bytes)) != sizeof(p->bytes))
		return false;
	word = PROBE_OUTLINED + 8 * word;
	p->len = 7;
	if (b[0] == 0x48 && b[1] == 0x3d) {		/* cmp rax, imm32 */
		p->len = 6;
		put_on_word(&c, CMP, 0, word);
	} else if ((b[0] & 0xfe) == 0x48 && b[1] == 0x81 && (b[2] & 0xf8) == 0xf8) {
		put_on_word(&c, CMP, (b[0] & 1u) << 3 | (b[2] & 7), word);
	} else if ((b[0] & 0xfb) == 0x48 && b[1] == 0x8d && (b[2] & 0xc7) == 5) {
		put_on_word(&c, MOV, (b[0] & 4u) << 1 | (b[2] >> 3 & 7), word);
		x86_put(&c, b + p->len, 3);
	} else {
		return false;
	}
	X86_PUT(&c, 0x75, COUNT_BYTES);
	rp_stub_store_rcx(&c, PROBE_RCX);
	rp_stub_load_rcx(&c, PROBE_VISITS);
	X86_PUT(&c, 0x48, 0x8d, 0x49, 0x01);	/* lea rcx, [rcx + 1] */
	rp_stub_store_rcx(&c, PROBE_VISITS);
	rp_stub_load_rcx(&c, PROBE_RCX);
	x86_put_jump(&c, X86_ALWAYS, p->addr + p->len);
	ret->len = p->stub_len = c.len;
	return !c.far;
}

/* ---- in one way or another ------------------------------------------------------------------- */

void rp_outline_set(struct rp_probes *p, bool outlined)
{
	for (unsigned i = 0; i < p->outline.fns; i++)
		*rp_probe_word(p, PROBE_OUTLINED + 8 * i) = p->outline.fn[i] ^ outlined;
}

void rp_outline_search(struct rp_probes *p, bool begins)
{
	if (p->outline.how != REPLAY_OUTLINE_BETWEEN)
		return;
	p->outline.points += begins;
	rp_outline_set(p, !begins);
}

void replay_probe_outline(struct replay *r, enum replay_outline how)
{
	probes_of(r)->outline.how = how;
	r->outlines = how == REPLAY_OUTLINE_ALL || how == REPLAY_OUTLINE_BETWEEN;
}

void replay_probe_compare(struct replay *r, uint64_t addr, uint64_t fn)
{
	struct rp_probes *p = probes_of(r);
	struct rp_outline *o = &p->outline;
	unsigned word = 0;

	while (word < o->fns && o->fn[word] != fn)
		word++;
	if (word == REPLAY_OUTLINED)
		return;
	if (word == o->fns)
		o->fn[o->fns++] = fn;
	rp_outline_set(p, r->outlines);
	if (o->n == o->room) {
		o->room = o->room * 2 + 64;
		o->compare = alloc_more(o->compare, o->room, sizeof(*o->compare), "probes");
	}
	o->compare[o->n++] = (struct rp_compare){ addr, word };
}

bool replay_probe_outline_fails(const struct replay *r) { return probes_of(r)->outline.fails; }

uint64_t replay_probe_points(const struct replay *r) { return probes_of(r)->outline.points; }

uint64_t replay_probe_missed(const struct replay *r) { return probes_of(r)->outline.missed; }
