/*
 * dual_emit.c - what the code of dual mappings is made of.
 */
#include "replayer/stops/dual_emit.h"

#include <string.h>

#include "base/bug.h"
#include "replayer/stops/dual_form.h"
#include "x86/emit.h"

void emit_with_place(struct dual_code *c, uint8_t rex, uint8_t op, unsigned reg,
		     const struct place *p, int32_t disp)
{
	/* in place of a base: another byte tells; in that byte, of an index: none */
	enum { SIB = 4 };

	rex |= (uint8_t)(p->base >> 3);
	if (p->index >= 0)
		rex |= (uint8_t)(p->index >> 3 << 1);
	X86_PUT(&c->code, rex, op);
	if (p->index >= 0 || (p->base & 7) == SIB)
		X86_PUT(&c->code, (uint8_t)(0x84 | reg << 3),
		     (uint8_t)(p->scale << 6 | (p->index >= 0 ? p->index & 7 : SIB) << 3 |
			       (p->base & 7)));
	else
		X86_PUT(&c->code, (uint8_t)(0x80 | reg << 3 | (p->base & 7)));
	x86_put32(&c->code, (uint32_t)disp);
}

void emit_bitmap(struct dual_code *c, const struct place *p, int32_t disp, unsigned size)
{
	unsigned at = 0;

	for (; at + 8 <= size; at += 8) {
		/* mov qword [...], -1 */
		emit_with_place(c, 0x48, 0xc7, 0, p, disp + (int32_t)at);
		x86_put32(&c->code, UINT32_MAX);
	}
	for (; at + 4 <= size; at += 4) {
		emit_with_place(c, 0x40, 0xc7, 0, p, disp + (int32_t)at);
		x86_put32(&c->code, UINT32_MAX);
	}
	for (; at < size; at++) {
		emit_with_place(c, 0x40, 0xc6, 0, p, disp + (int32_t)at);
		X86_PUT(&c->code, 1);
	}
}

bool emit_displaced(struct dual_code *c, const struct store *s, const uint8_t *b, unsigned len,
		    int32_t disp)
{
	enum { INSN_MAX = 15 };
	unsigned has_sib = (b[s->modrm] & 7) == 4, head = s->modrm + 1 + has_sib;
	uint8_t bytes[24];

	if (head + 4 + len - s->tail > INSN_MAX)
		return false;
	memcpy(bytes, b, head);
	bytes[s->modrm] = (uint8_t)(0x80 | (bytes[s->modrm] & 0x3f));
	x86_put(&c->code, bytes, head);
	x86_put32(&c->code, (uint32_t)disp);
	x86_put(&c->code, b + s->tail, len - s->tail);
	return true;
}

void emit_later(struct dual_code *c, struct fixes *f, enum x86_condition condition)
{
	BUG_ON(f->n == EMIT_FIXES, "too many jumps in a stub");
	f->at[f->n++] = x86_put_later(&c->code, condition);
}

void emit_come_to(struct dual_code *c, struct fixes *f, unsigned where)
{
	for (unsigned i = 0; i < f->n; i++)
		x86_land(&c->code, f->at[i], where);
	f->n = 0;
}

void emit_come_here(struct dual_code *c, struct fixes *f)
{
	emit_come_to(c, f, c->code.len);
}

void emit_flags(struct dual_code *c)
{
	x86_put_word(&c->code, 0x89, RAX, c->data + DUAL_SAVE_AT + 8);
	X86_PUT(&c->code, 0x9f, 0x0f, 0x90, 0xc0);	/* lahf; seto al */
}

void emit_flags_back(struct dual_code *c, bool dead)
{
	if (dead)
		return;
	/* add al, 127: the overflow flag; sahf: the others */
	X86_PUT(&c->code, 0x04, 0x7f, 0x9e);
	x86_put_word(&c->code, 0x8b, RAX, c->data + DUAL_SAVE_AT + 8);
}
