/*
 * dual_stub.c - the code of one instruction that stores to a dual-mapped page (dual.c).
 *
 *	entry:	save S; lea S, [where it stores]; save rax; flags to rax
 *		S on a dual-mapped page, all its bytes, and no watched byte among them?  else jmp
 *		orig (or same)
 *		S = the same byte in the other mapping
 *		flags, rax from where they are saved
 *		the instruction, with [S] for its operand; S back
 *		jmp next
 *	same:	a watched byte, and the instruction only moves: are there the same
 *		bytes already?  then as above
 *	orig:	flags, rax, S back
 *		the instruction as it was: it may store anywhere, and faults where it should
 *	next:
 *
 * S is a register that the instruction has nothing to do with.  The stack is not used: what is
 * below it is the program's. push and call are written out as stores; what they push from memory,
 * or call through, is fetched first, while all registers are as they were: it may fault.  Anything
 * else is only moved.
 */
#include <capstone/capstone.h>
#include <stddef.h>
#include <string.h>

#include "base/bug.h"
#include "replayer/code/displace.h"
#include "replayer/stops/dual_emit.h"
#include "replayer/stops/dual_form.h"
#include "replayer/stops/store_log.h"
#include "tracee/pun.h"
#include "x86/decode.h"

/* ---- its code -------------------------------------------------------------------------------- */

/* op reg, [its operand], 64 bits */
static void put_with_operand(struct dual_code *c, uint8_t op, unsigned reg, const struct store *s,
			     const uint8_t *b, uint64_t end)
{
	uint8_t rex = 0x48;

	if (s->has_rex)
		rex |= b[s->rex] & 3;
	if (s->vex3)
		rex |= (uint8_t)((b[s->rex + 1] & 0x60) >> 5 ^ 3);
	if (s->vector && b[s->modrm] >> 6 == 1) {	/* 8 bits in units of its own: 32 */
		X86_PUT(&c->code, rex, op, (uint8_t)(0x80 | (b[s->modrm] & 7) | reg << 3));
		x86_put(&c->code, b + s->modrm + 1, s->tail - s->modrm - 2);
		x86_put32(&c->code, (uint32_t)dual_displacement(s, b));
		return;
	}
	X86_PUT(&c->code, rex, op, (uint8_t)((b[s->modrm] & 0xc7) | reg << 3));
	if (!s->disp_at) {
		x86_put(&c->code, b + s->modrm + 1, s->tail - s->modrm - 1);
		return;
	}
	x86_put_distance(&c->code, dual_named(s, b, end), 0);
}

/* lea S, [where it stores, or what it loads] */
static void put_address(struct dual_code *c, const struct store *s, const uint8_t *b, uint64_t end)
{
	if (s->kind == STORE_OPERAND || s->kind == LOAD_JUMP)
		put_with_operand(c, 0x8d, s->scratch, s, b, end);
	else if (s->kind == LOAD_LEAVE)
		X86_PUT(&c->code, 0x48, 0x8d, (uint8_t)(0x45 | s->scratch << 3), 0);	/* [rbp] */
	else if (s->kind == LOAD_POP || s->kind == LOAD_RET)
		X86_PUT(&c->code, 0x48, 0x8d, (uint8_t)(0x04 | s->scratch << 3), 0x24);	/* [rsp] */
	else
		/* [rsp - 8] */
		X86_PUT(&c->code, 0x48, 0x8d, (uint8_t)(0x44 | s->scratch << 3), 0x24, 0xf8);
}

/* Copies the value that is pushed, or called, to its word. */
static void put_fetch(struct dual_code *c, const struct dual_view *v, const struct store *s,
		      const uint8_t *b, uint64_t end, struct dual_insn *ret)
{
	uint64_t word = c->data + DUAL_SAVE_AT + 24, save = c->data + DUAL_SAVE_AT + 16, to;

	if (s->reg < 16) {
		X86_PUT(&c->code, (uint8_t)(0x48 | (s->reg >> 3) << 2), 0x89,
		     (uint8_t)(0x05 | (s->reg & 7) << 3));
		x86_put_distance(&c->code, word, 0);
		return;
	}
	x86_put_word(&c->code, 0x89, s->second, save);
	ret->early = x86_here(&c->code);
	if (v->loads && dual_fixed_place(v, s, b, end, &to) &&
	    dual_is_near(x86_here(&c->code) + 7, to))
		x86_put_word(&c->code, 0x8b, s->second, to);
	else
		put_with_operand(c, 0x8b, s->second, s, b, end);
	x86_put_word(&c->code, 0x89, s->second, word);
	x86_put_word(&c->code, 0x8b, s->second, save);
}

static void put_jump_fetched(struct dual_code *c)
{
	x86_put_jump_through(&c->code, c->data + DUAL_SAVE_AT + 24);
}

/*
 * The instruction, or one of the same form with this opcode and reg field, with [S] for its
 * operand.
 */
static void put_with_s(struct dual_code *c, const struct store *s, const uint8_t *b, unsigned len,
		       uint8_t op, unsigned reg)
{
	uint8_t other[16];

	memcpy(other, b, len);
	if (s->has_rex)
		other[s->rex] &= (uint8_t)~3;
	if (s->vex3)
		other[s->rex + 1] |= 0x60;
	other[s->modrm - 1] = op;
	other[s->modrm] = (uint8_t)(reg << 3 | s->scratch);
	x86_put(&c->code, other, s->modrm + 1);
	x86_put(&c->code, b + s->tail, len - s->tail);
}

/* The instruction with [S] instead. */
static void put_other(struct dual_code *c, const struct store *s, const uint8_t *b, unsigned len,
		      uint64_t ret)
{
	/* mov dword [S], low; mov dword [S + 4], high */
	if (s->kind == STORE_CALL || s->kind == STORE_CALL_TO) {
		X86_PUT(&c->code, 0xc7, (uint8_t)s->scratch);
		x86_put32(&c->code, (uint32_t)ret);
		X86_PUT(&c->code, 0xc7, (uint8_t)(0x40 | s->scratch), 4);
		x86_put32(&c->code, (uint32_t)(ret >> 32));
		return;
	}
	if (s->kind == STORE_PUSH_MEMORY) {
		x86_put_word(&c->code, 0x89, s->second, c->data + DUAL_SAVE_AT + 16);
		x86_put_word(&c->code, 0x8b, s->second, c->data + DUAL_SAVE_AT + 24);
		X86_PUT(&c->code, 0x48, 0x89, (uint8_t)(s->second << 3 | s->scratch));
		x86_put_word(&c->code, 0x8b, s->second, c->data + DUAL_SAVE_AT + 16);
		return;
	}
	if (s->kind == STORE_PUSH && s->reg == 16) {
		X86_PUT(&c->code, 0x48, 0xc7, (uint8_t)s->scratch);
		x86_put32(&c->code, (uint32_t)s->imm);
		return;
	}
	if (s->kind == LOAD_POP) {
		X86_PUT(&c->code, (uint8_t)(0x48 | (s->reg >> 3) << 2), 0x8b,
		     (uint8_t)((s->reg & 7) << 3 | s->scratch));
		return;
	}
	if (s->kind >= LOAD_POP) {
		/* mov S, [S] */
		X86_PUT(&c->code, 0x48, 0x8b, (uint8_t)(s->scratch << 3 | s->scratch));
		if (s->kind == LOAD_LEAVE)
			/* lea rsp, [rbp + 8]; mov rbp, S */
			X86_PUT(&c->code, 0x48, 0x8d, 0x65, 8, 0x48, 0x89,
				(uint8_t)(0xc5 | s->scratch << 3));
		else
			x86_put_word(&c->code, 0x89, s->scratch, c->data + DUAL_SAVE_AT + 24);
		return;
	}
	if (s->kind == STORE_PUSH) {
		X86_PUT(&c->code, (uint8_t)(0x48 | (s->reg >> 3) << 2), 0x89,
		     (uint8_t)((s->reg & 7) << 3 | s->scratch));
		return;
	}
	put_with_s(c, s, b, len, b[s->modrm - 1], b[s->modrm] >> 3 & 7);
}

static void put_compare(struct dual_code *c, const struct store *s, int32_t value)
{
	X86_PUT(&c->code, 0x48, 0x81, (uint8_t)(0xf8 | s->scratch));
	x86_put32(&c->code, (uint32_t)value);
}

/*
 * Jumps to what is seldom needed: no dual-mapped page, watched bytes on the i-th, the instruction
 * as it was (S an offset or an address: it is not used).
 */
struct cold { struct fixes other, same[DUAL_PAGES], orig; };

/* A store, and its instruction. */
struct stored { const struct store *s; const uint8_t *b; unsigned len; uint64_t after; };

/*
 * cmp [S], what is going to be there; false: that is not known before.  All registers but S as they
 * were.
 */
static bool put_equal(struct dual_code *c, const struct stored *w, struct fixes *no)
{
	const struct store *s = w->s;

	if (s->kind == STORE_CALL) {
		X86_PUT(&c->code, 0x81, (uint8_t)(0x38 | s->scratch));
		x86_put32(&c->code, (uint32_t)w->after);
		emit_later(c, no, X86_IF_NOT_EQUAL);
		X86_PUT(&c->code, 0x81, (uint8_t)(0x78 | s->scratch), 4);
		x86_put32(&c->code, (uint32_t)(w->after >> 32));
	} else if (s->kind == STORE_PUSH && s->reg == 16) {
		X86_PUT(&c->code, 0x48, 0x81, (uint8_t)(0x38 | s->scratch));
		x86_put32(&c->code, (uint32_t)s->imm);
	} else if (s->kind == STORE_PUSH) {
		X86_PUT(&c->code, (uint8_t)(0x48 | (s->reg >> 3) << 2), 0x39,
		     (uint8_t)((s->reg & 7) << 3 | s->scratch));
	} else if (s->kind == STORE_OPERAND && s->moves && (w->b[s->modrm - 1] & 0xfe) == 0x88) {
		put_with_s(c, s, w->b, w->len, 0x38 | (w->b[s->modrm - 1] & 1),
			   w->b[s->modrm] >> 3 & 7);
	} else if (s->kind == STORE_OPERAND && s->moves) {
		put_with_s(c, s, w->b, w->len, 0x80 | (w->b[s->modrm - 1] & 1), 7);
	} else {
		return false;
	}
	emit_later(c, no, X86_IF_NOT_EQUAL);
	return true;
}

/*
 * S is an offset in the i-th page, where watched bytes are: to good (S as there) when they stay the
 * same.
 */
static void put_same(struct dual_code *c, const struct stored *w, unsigned i, struct fixes *orig,
		     struct fixes *good)
{
	uint64_t flags = c->data + DUAL_SAVE_AT + 32;
	struct fixes no = { 0 };

	x86_put_word(&c->code, 0x03, w->s->scratch, c->data + DUAL_OFFSET_AT + 8 * i);
	x86_put_word(&c->code, 0x89, RAX, flags);
	x86_put_word(&c->code, 0x8b, RAX, c->data + DUAL_SAVE_AT + 8);
	if (put_equal(c, w, &no)) {
		x86_put_word(&c->code, 0x8b, RAX, flags);
		emit_later(c, good, X86_ALWAYS);
	}
	emit_come_here(c, &no);
	x86_put_word(&c->code, 0x8b, RAX, flags);
	emit_later(c, orig, X86_ALWAYS);
}

/* Will the analysis do without a stop, when the instruction stores to watched bytes? */
static bool is_logged(const struct dual_view *v, const struct store *s, uint64_t after)
{
	return v->log && (s->kind == STORE_OPERAND || s->kind == STORE_PUSH) &&
	       v->log->def.may(v->log->def.ctx, after - 1);
}

/* op rax, [addr], 64 bits */
static void put_far(struct dual_code *c, uint8_t op, uint64_t addr)
{
	X86_PUT(&c->code, 0x48, op);
	x86_put64(&c->code, addr);
}

enum { LOAD_RAX = 0xa1, STORE_RAX = 0xa3 };

/* A record of what is there now; all registers but S as they were. */
static void put_record(struct dual_code *c, const struct dual_view *v, const struct stored *w)
{
	uint64_t flags = c->data + DUAL_SAVE_AT + 32, pc = w->after - 1;
	unsigned s = w->s->scratch;

	emit_flags(c);
	x86_put_word(&c->code, 0x89, RAX, flags);
	put_far(c, LOAD_RAX, v->log_at + STORE_LOG_NEXT);
	X86_PUT(&c->code, 0x48, 0x89, (uint8_t)(0xc0 | s));		/* mov S, rax */
	X86_PUT(&c->code, 0xc7, (uint8_t)s);
	x86_put32(&c->code, (uint32_t)pc);
	X86_PUT(&c->code, 0xc7, (uint8_t)(0x40 | s), 4);
	x86_put32(&c->code, (uint32_t)(pc >> 32));
	for (unsigned i = 0; i < v->log->words; i++) {
		put_far(c, LOAD_RAX, v->log_word[i]);
		X86_PUT(&c->code, 0x48, 0x89, (uint8_t)(0x40 | s), (uint8_t)(8 * i + 8));
	}
	X86_PUT(&c->code, 0x48, 0x8d, (uint8_t)(0x40 | s), (uint8_t)store_log_record(v->log));
	put_far(c, STORE_RAX, v->log_at + STORE_LOG_NEXT);
	put_far(c, LOAD_RAX, v->log_at + STORE_LOG_ROOM);
	X86_PUT(&c->code, 0x48, 0x83, 0xe8, 1);				/* sub rax, 1 */
	put_far(c, STORE_RAX, v->log_at + STORE_LOG_ROOM);
	x86_put_word(&c->code, 0x8b, RAX, flags);
	emit_flags_back(c, false);
}

/*
 * S is an offset in the i-th page, where watched bytes are: it is done, and logged; to orig, when
 * there is no room.
 */
static void put_logged(struct dual_code *c, const struct dual_view *v, const struct stored *w,
		       unsigned i, bool dead, struct fixes *orig, struct fixes *next)
{
	uint64_t flags = c->data + DUAL_SAVE_AT + 32;

	x86_put_word(&c->code, 0x03, w->s->scratch, c->data + DUAL_OFFSET_AT + 8 * i);
	x86_put_word(&c->code, 0x89, RAX, flags);
	put_far(c, LOAD_RAX, v->log_at + STORE_LOG_ROOM);
	X86_PUT(&c->code, 0x48, 0x85, 0xc0);				/* test rax, rax */
	x86_put_word(&c->code, 0x8b, RAX, flags);
	emit_later(c, orig, X86_IF_EQUAL);
	emit_flags_back(c, dead);
	put_other(c, w->s, w->b, w->len, w->after);
	put_record(c, v, w);
	x86_put_word(&c->code, 0x8b, w->s->scratch, c->data + DUAL_SAVE_AT);
	if (w->s->kind == STORE_PUSH)
		X86_PUT(&c->code, 0x48, 0x8d, 0x64, 0x24, 0xf8);	/* lea rsp, [rsp - 8] */
	emit_later(c, next, X86_ALWAYS);
}

/* S is an offset in the page: to orig, or same, when a watched byte would be stored to. */
static void put_ranges(struct dual_code *c, const struct dual_view *v, const struct store *s,
		       uint64_t page, struct fixes *orig, struct fixes *same)
{
	for (unsigned i = 0; i < v->ranges_n; i++) {
		int64_t from = (int64_t)(v->range[i].start - page),
			to = (int64_t)(v->range[i].end - page);
		struct fixes past = { 0 }, *there = v->range[i].always ? orig : same;

		if (to <= 0 || from >= DUAL_PAGE_SIZE)
			continue;
		if (to < DUAL_PAGE_SIZE) {
			put_compare(c, s, (int32_t)to);
			emit_later(c, &past, X86_IF_BELOW_NOT);
		}
		from -= (int64_t)s->size;
		if (from < 0) {
			emit_later(c, there, X86_ALWAYS);
		} else {
			put_compare(c, s, (int32_t)from);
			emit_later(c, there, X86_IF_GREATER);
		}
		emit_come_here(c, &past);
	}
}

/* S to the other mapping, if it is on that page; else on, with S an offset in it. */
static void put_page(struct dual_code *c, const struct dual_view *v, const struct store *s,
		     unsigned i, struct cold *cold, struct fixes *other)
{
	x86_put_word(&c->code, 0x2b, s->scratch, c->data + DUAL_PAGE_AT + 8 * i);
	put_compare(c, s, (int32_t)(DUAL_PAGE_SIZE - s->size));
	emit_later(c, other, X86_IF_ABOVE);
	put_ranges(c, v, s, v->page[i], &cold->orig, &cold->same[i]);
	x86_put_word(&c->code, 0x03, s->scratch, c->data + DUAL_OFFSET_AT + 8 * i);
	if (v->bitmap)
		emit_bitmap(c, &(struct place){ (int)s->scratch, -1, 0 }, (int32_t)v->bitmap_at,
			   s->size);
}

/*
 * S to the other mapping, where it is on a dual-mapped page.  The most probable falls through;
 * good: where the instruction with [S] is.
 */
static void put_cold(struct dual_code *c, const struct dual_view *v, const struct stored *w,
		     struct cold *cold, unsigned good, bool dead, struct fixes *next)
{
	const struct store *s = w->s;
	bool logged = is_logged(v, s, w->after);

	emit_come_here(c, &cold->other);
	x86_put_word(&c->code, 0x03, s->scratch, c->data + DUAL_PAGE_AT + 8 * c->first);
	for (unsigned i = 0; i < v->pages_n; i++) {
		struct fixes other = { 0 }, there = { 0 };

		if (i == c->first)
			continue;
		put_page(c, v, s, i, cold, &other);
		emit_later(c, &there, X86_ALWAYS);
		emit_come_to(c, &there, good);
		emit_come_here(c, &other);
		x86_put_word(&c->code, 0x03, s->scratch, c->data + DUAL_PAGE_AT + 8 * i);
	}
	emit_later(c, &cold->orig, X86_ALWAYS);
	for (unsigned i = 0; i < v->pages_n; i++) {
		struct fixes back = { 0 };

		if (!cold->same[i].n)
			continue;
		emit_come_here(c, &cold->same[i]);
		if (logged) {
			put_logged(c, v, w, i, dead, &cold->orig, next);
			continue;
		}
		put_same(c, w, i, &cold->orig, &back);
		emit_come_to(c, &back, good);
	}
	emit_come_here(c, &cold->orig);
}

static bool put_original(struct dual_code *c, const struct store *s, const struct displaced *d,
			 struct dual_insn *ret)
{
	ret->orig = x86_here(&c->code);
	if (s->kind != STORE_CALL_TO)
		return displace_write(d, &c->code);
	x86_put_push(&c->code, d->site.addr + d->site.len);
	put_jump_fetched(c);
	return true;
}

/* dual_unchecked.c: without a test. */
static bool put_unchecked(struct dual_code *c, const struct dual_view *v, const struct store *s,
		      const struct place *p, const struct displaced *d, struct dual_insn *ret)
{
	int64_t disp = dual_displacement(s, d->site.bytes) +
		       (int64_t)(v->dual[c->unchecked] - v->page[c->unchecked]),
		bitmap = disp + v->bitmap_at;
	struct fixes next = { 0 };
	unsigned begin = c->code.len;

	if (disp != (int32_t)disp || bitmap != (int32_t)bitmap ||
	    bitmap + s->size != (int32_t)(bitmap + s->size))
		return false;
	emit_bitmap(c, p, (int32_t)bitmap, s->size);
	ret->early = x86_here(&c->code);
	if (!emit_displaced(c, s, d->site.bytes, d->site.len, (int32_t)disp)) {
		c->code.len = begin;
		ret->early = 0;
		return false;
	}
	emit_later(c, &next, X86_ALWAYS);
	if (!put_original(c, s, d, ret))
		return false;
	emit_come_here(c, &next);
	ret->next = x86_here(&c->code);
	ret->unchecked = true;
	return true;
}

bool dual_put(struct dual_code *c, const struct dual_view *v, pid_t tid, uint64_t addr,
	      struct dual_insn *ret)
{
	struct fixes next = { 0 };
	struct cold cold = { 0 };
	csh cs = decoder();
	unsigned at_good;
	int32_t disp = 0;
	bool dead, load, unchecked;
	struct displaced d;
	struct place place;
	struct store s;
	cs_insn *insn;
	uint64_t to;

	if (!cs || c->code.len + DUAL_ROOM > DUAL_CODE ||
	    !displace_decode_any(tid, addr, 1, 0, 0, &d) ||
	    cs_disasm(cs, d.site.bytes, d.site.len, addr, 1, &insn) != 1)
		return false;
	dual_classify(cs, insn, d.site.bytes, v->loads, &s);
	dead = dual_ignores_flags(insn->id);
	unchecked = v->unchecked && c->unchecked < v->pages_n && s.kind == STORE_OPERAND &&
		    !s.disp_at && dual_place(insn, &place);
	load = s.kind == STORE_NONE && dual_fixed_load(v, insn, &s.disp_at, &disp) &&
	       dual_is_near(x86_here(&c->code) + d.site.len,
			    addr + d.site.len + (uint64_t)(int64_t)disp);
	cs_free(insn, 1);
	*ret = (struct dual_insn){
		.addr = addr,
		.len = d.site.len,
		.stub = x86_here(&c->code),
		.stores = s.kind != STORE_NONE
	};
	to = addr + d.site.len + (uint64_t)(int64_t)disp;
	if (load || (dual_has_other_place(&s) &&
		     dual_fixed_place(v, &s, d.site.bytes, addr + d.site.len, &to) &&
		     dual_is_near(x86_here(&c->code) + d.site.len, to))) {
		x86_put(&c->code, d.site.bytes, s.disp_at);
		x86_put32(&c->code, (uint32_t)(to - ret->stub - d.site.len));
		x86_put(&c->code, d.site.bytes + s.disp_at + 4, d.site.len - s.disp_at - 4);
		ret->orig = ret->stub;
		ret->next = x86_here(&c->code);
		return true;
	}
	if (unchecked && put_unchecked(c, v, &s, &place, &d, ret))
		return true;
	if (s.kind == STORE_PUSH_MEMORY || s.kind == STORE_CALL_TO)
		put_fetch(c, v, &s, d.site.bytes, addr + d.site.len, ret);
	/*
	 * in a write log: if the program is interrupted right behind it, where they would be
	 * others, it fails, or nothing comes of it
	 */
	dead = dead && v->bitmap && s.kind == STORE_OPERAND &&
	       pun_flags_dead(tid, addr + d.site.len);
	if (s.kind != STORE_NONE) {
		x86_put_word(&c->code, 0x89, s.scratch, c->data + DUAL_SAVE_AT);
		put_address(c, &s, d.site.bytes, addr + d.site.len);
		if (!dead)
			emit_flags(c);
		put_page(c, v, &s, c->first, &cold, &cold.other);
		at_good = c->code.len;
		emit_flags_back(c, dead);
		put_other(c, &s, d.site.bytes, d.site.len, addr + d.site.len);
		x86_put_word(&c->code, 0x8b, s.scratch, c->data + DUAL_SAVE_AT);
		if (s.kind == LOAD_POP || s.kind == LOAD_RET)
			/* lea rsp, [rsp + 8] */
			X86_PUT(&c->code, 0x48, 0x8d, 0x64, 0x24, 8);
		else if (s.kind != STORE_OPERAND && s.kind < LOAD_POP)
			/* lea rsp, [rsp - 8] */
			X86_PUT(&c->code, 0x48, 0x8d, 0x64, 0x24, 0xf8);
		if (s.kind == STORE_CALL_TO || s.kind == LOAD_RET || s.kind == LOAD_JUMP) {
			put_jump_fetched(c);
		} else if (s.kind == STORE_CALL) {
			ret->target = x86_here(&c->code);
			ret->to = displace_target(&d);
			x86_put_jump(&c->code, X86_ALWAYS, ret->to);
		} else {
			emit_later(c, &next, X86_ALWAYS);
		}
		put_cold(c, v, &(struct stored){ &s, d.site.bytes, d.site.len, addr + d.site.len },
			 &cold, at_good, dead, &next);
		emit_flags_back(c, dead);
		x86_put_word(&c->code, 0x8b, s.scratch, c->data + DUAL_SAVE_AT);
	}
	if (!put_original(c, &s, &d, ret))
		return false;
	emit_come_here(c, &next);
	ret->next = x86_here(&c->code);
	return true;
}
