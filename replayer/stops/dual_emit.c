/*
 * dual_emit.c - machine code, byte by byte.
 */
#include "replayer/stops/dual_emit.h"

#include <string.h>

#include "base/bug.h"
#include "replayer/stops/dual_form.h"
#include "tracee/site.h"

void emit(struct dual_code *c, const void *bytes, unsigned n)
{
	BUG_ON(c->len + n > DUAL_CODE, "a stub of more than %u bytes", c->len);
	memcpy(c->bytes + c->len, bytes, n);
	c->len += n;
}

void emit32(struct dual_code *c, uint32_t v)
{
	emit(c, &v, 4);
}

uint64_t emit_at(const struct dual_code *c)
{
	return c->at + c->len;
}

void emit_word(struct dual_code *c, uint8_t op, unsigned reg, uint64_t addr)
{
	EMIT(c, 0x48, op, (uint8_t)(0x05 | reg << 3));
	emit32(c, (uint32_t)(addr - (emit_at(c) + 4)));
}

void emit_with_place(struct dual_code *c, uint8_t rex, uint8_t op, unsigned reg,
		     const struct place *p, int32_t disp)
{
	/* in place of a base: another byte tells; in that byte, of an index: none */
	enum { SIB = 4 };

	rex |= (uint8_t)(p->base >> 3);
	if (p->index >= 0)
		rex |= (uint8_t)(p->index >> 3 << 1);
	EMIT(c, rex, op);
	if (p->index >= 0 || (p->base & 7) == SIB)
		EMIT(c, (uint8_t)(0x84 | reg << 3),
		     (uint8_t)(p->scale << 6 | (p->index >= 0 ? p->index & 7 : SIB) << 3 |
			       (p->base & 7)));
	else
		EMIT(c, (uint8_t)(0x80 | reg << 3 | (p->base & 7)));
	emit32(c, (uint32_t)disp);
}

void emit_marks(struct dual_code *c, const struct place *p, int32_t disp, unsigned size)
{
	unsigned at = 0;

	for (; at + 8 <= size; at += 8) {
		/* mov qword [...], -1 */
		emit_with_place(c, 0x48, 0xc7, 0, p, disp + (int32_t)at);
		emit32(c, UINT32_MAX);
	}
	for (; at + 4 <= size; at += 4) {
		emit_with_place(c, 0x40, 0xc7, 0, p, disp + (int32_t)at);
		emit32(c, UINT32_MAX);
	}
	for (; at < size; at++) {
		emit_with_place(c, 0x40, 0xc6, 0, p, disp + (int32_t)at);
		EMIT(c, 1);
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
	emit(c, bytes, head);
	emit32(c, (uint32_t)disp);
	emit(c, b + s->tail, len - s->tail);
	return true;
}

bool dual_put_jump(struct dual_code *c, uint64_t to)
{
	uint8_t jump[SITE_JUMP];
	bool near = site_jump(emit_at(c), to, jump);

	emit(c, jump, sizeof(jump));
	return near;
}

void emit_later(struct dual_code *c, struct fixes *f, int condition)
{
	if (condition >= 0)
		EMIT(c, 0x0f, (uint8_t)(0x80 | condition));
	else
		EMIT(c, 0xe9);
	emit32(c, 0);
	BUG_ON(f->n == EMIT_FIXES, "too many jumps in a stub");
	f->at[f->n++] = c->len;
}

void emit_come_to(struct dual_code *c, struct fixes *f, unsigned where)
{
	for (unsigned i = 0; i < f->n; i++) {
		uint32_t rel = where - f->at[i];

		memcpy(c->bytes + f->at[i] - 4, &rel, 4);
	}
	f->n = 0;
}

void emit_come_here(struct dual_code *c, struct fixes *f)
{
	emit_come_to(c, f, c->len);
}

void emit_flags(struct dual_code *c)
{
	emit_word(c, 0x89, RAX, c->data + DUAL_SAVE_AT + 8);
	EMIT(c, 0x9f, 0x0f, 0x90, 0xc0);	/* lahf; seto al */
}

void emit_flags_back(struct dual_code *c, bool dead)
{
	if (dead)
		return;
	EMIT(c, 0x04, 0x7f, 0x9e);	/* add al, 127: the overflow flag; sahf: the others */
	emit_word(c, 0x8b, RAX, c->data + DUAL_SAVE_AT + 8);
}
