#include "tracee/patch.h"

#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "tracee/site.h"

const uint8_t patch_mark[PATCH_MARK_BYTES] = { 0x0f, 0x0b };
static const uint8_t patch_pause[2] = { 0xf3, 0x90 };

enum { BRANCH_NONE = 0, BRANCH_JMP, BRANCH_JCC, BRANCH_RET };

const char *patch_refusal_name(enum patch_refusal why)
{
	static const char *const names[] = { "patched", "unreadable code", "no place for a jump",
					     "a branch into it", "no room near it" };

	return why < PATCH_REFUSALS ? names[why] : "?";
}

/* ---- what to replace ------------------------------------------------------------------------- */

/* Direct jumps can be made again elsewhere; calls cannot (they push their address). */
static unsigned branch_kind(const uint8_t *p)
{
	if (p[0] == 0xeb || p[0] == 0xe9)
		return BRANCH_JMP;
	if ((p[0] & 0xf0) == 0x70 || (p[0] == 0x0f && (p[1] & 0xf0) == 0x80))
		return BRANCH_JCC;
	if (p[0] == 0xc3)
		return BRANCH_RET;
	return BRANCH_NONE;
}

static bool append(struct patch_site *s, const uint8_t *code, size_t room, uint64_t addr,
		   unsigned *branch)
{
	struct site_insn insn;
	unsigned at = s->n ? s->insn[s->n - 1].at + s->insn[s->n - 1].len : 0u;

	if (s->n == PATCH_INSNS || !site_insn_at(code, room, addr, &insn) ||
	    at + insn.len > PATCH_BYTES)
		return false;
	*branch = branch_kind(code);
	if (!insn.movable && !*branch)
		return false;
	s->insn[s->n].at = (uint8_t)at;
	s->insn[s->n].len = (uint8_t)insn.len;
	s->insn[s->n].disp_at = (uint8_t)insn.disp_at;
	s->insn[s->n].branch = (uint8_t)*branch;
	s->n++;
	memcpy(s->bytes + at, code, insn.len);
	return true;
}

static void append_call(struct patch_site *s, const uint8_t *code)
{
	unsigned at = s->n ? s->insn[s->n - 1].at + s->insn[s->n - 1].len : 0u;

	s->call_at = (uint8_t)at;
	s->insn[s->n].at = (uint8_t)at;
	s->insn[s->n].len = s->call_len;
	s->n++;
	memcpy(s->bytes + at, code, s->call_len);
}

static unsigned length(const struct patch_site *s)
{
	return s->n ? s->insn[s->n - 1].at + s->insn[s->n - 1].len : 0u;
}

/* What assemblers put between functions. */
static bool is_padding(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != 0x90 && p[i] != 0xcc && p[i] != 0x66 && p[i] != 0x2e && p[i] != 0x0f &&
		    p[i] != 0x1f && p[i] != 0x84 && p[i] != 0x80 && p[i] != 0x40 && p[i] != 0x44 &&
		    p[i] != 0)
			return false;
	}
	return n == 0 || p[0] == 0x90 || p[0] == 0xcc || p[0] == 0x66 || p[0] == 0x0f;
}

/* The call and what is behind it. */
static bool shape_after(struct patch_site *s, const uint8_t *code, size_t room, uint64_t addr)
{
	unsigned branch = BRANCH_NONE;

	append_call(s, code);
	while (length(s) < SITE_JUMP) {
		unsigned at = length(s);

		if (branch == BRANCH_JMP || branch == BRANCH_RET) {
			/* nothing comes here from above; padding may go */
			unsigned pad = SITE_JUMP - at;

			if (at + pad > room || !is_padding(code + at, pad))
				return false;
			s->len = SITE_JUMP;
			memcpy(s->bytes + at, code + at, pad);
			return true;
		}
		if (at >= room || !append(s, code + at, room - at, addr + at, &branch))
			return false;
	}
	s->len = (uint8_t)length(s);
	return true;
}

/*
 * One instruction of five bytes or more in front of the call: mov of a number, small as calls'
 * numbers are, to eax or rax.  It may also be the end of another one (mov to r8d, a store): see
 * site_insn_starts(). */
static unsigned before_len(const uint8_t *call, size_t room)
{
	if (room >= 7 && call[-7] == 0x48 && call[-6] == 0xc7 && call[-5] == 0xc0 && call[-3] < 4 &&
	    !call[-2] && !call[-1])
		return 7;
	if (room >= 5 && call[-5] == 0xb8 && call[-3] < 4 && !call[-2] && !call[-1])
		return 5;
	return 0;
}

/* The call itself is not replaced, so an interrupted one can begin again as always. */
static bool shape_number(struct patch_site *s, const uint8_t *code, size_t before, unsigned *back)
{
	unsigned n = before_len(code, before), branch;

	if (!n || !append(s, code - n, n, 0, &branch))
		return false;
	append_call(s, code);
	s->len = (uint8_t)n;
	*back = n;
	return true;
}

enum patch_refusal patch_decide(pid_t tid, uint64_t addr, enum patch_kind kind,
				struct patch_site *ret, unsigned *back_ret)
{
	uint8_t code[8 + 40] = { 0 };
	size_t before = tracee_read_some(tid, addr - 8, code, 8);
	size_t room = tracee_read_some(tid, addr, code + 8, 40);
	enum patch_refusal why = PATCH_SHAPE;

	if (before < 8)
		before = 0;
	if (room < 5)
		return PATCH_UNREADABLE;
	/* rdtscp */
	*ret = (struct patch_site){ .kind = kind,
				    .call_len = kind == PATCH_TSC && code[9] == 0x01 ? 3 : 2 };
	*back_ret = 0;
	if (kind == PATCH_SPIN && memcmp(code + 8, patch_pause, 2))
		return PATCH_SHAPE;
	if (shape_after(ret, code + 8, room, addr)) {
		if (site_nobody_branches(tid, addr, addr + ret->len))
			return PATCH_OK;
		why = PATCH_BRANCH;
	}
	if (kind != PATCH_SYSCALL)
		return why;
	*ret = (struct patch_site){ .kind = kind, .call_len = 2 };
	if (!shape_number(ret, code + 8, before, back_ret) ||
	    !site_insn_starts(tid, addr - *back_ret, addr)) {
		*back_ret = 0;
		return why;
	}
	return site_nobody_branches(tid, addr - *back_ret, addr - *back_ret + ret->len)
		       ? PATCH_OK
		       : PATCH_BRANCH;
}

/* ---- the stub -------------------------------------------------------------------------------- */

struct maker { uint8_t *out; unsigned at; uint64_t base; bool far; };

static void put(struct maker *m, const void *bytes, unsigned len)
{
	BUG_ON(m->at + len > STUB_SIZE - STUB_INFO, "stub of %u bytes", m->at + len);
	memcpy(m->out + m->at, bytes, len);
	m->at += len;
}

static void put_rel32(struct maker *m, uint64_t to)
{
	int64_t far = (int64_t)(to - (m->base + m->at + 4));
	int32_t rel = (int32_t)far;

	m->far |= far != rel;
	put(m, &rel, 4);
}

static void put_branch(struct maker *m, const uint8_t *p, unsigned len, uint64_t addr)
{
	int32_t rel = (int8_t)p[len - 1];
	uint8_t op[2] = { 0x0f, 0 };

	if (len >= 5)
		memcpy(&rel, p + len - 4, 4);
	if (branch_kind(p) == BRANCH_JMP) {
		put(m, "\xe9", 1);
	} else {
		op[1] = (uint8_t)(0x80 | ((len >= 5 ? p[1] : p[0]) & 0x0f));
		put(m, op, 2);
	}
	put_rel32(m, addr + len + (uint64_t)(int64_t)rel);
}

static void put_moved(struct maker *m, const struct patch_site *s, unsigned i, uint64_t addr)
{
	uint8_t copy[PATCH_BYTES];
	int32_t rel;
	int64_t far;

	if (s->insn[i].branch == BRANCH_JMP || s->insn[i].branch == BRANCH_JCC) {
		put_branch(m, s->bytes + s->insn[i].at, s->insn[i].len, addr + s->insn[i].at);
		return;
	}
	memcpy(copy, s->bytes + s->insn[i].at, s->insn[i].len);
	if (s->insn[i].disp_at) {
		memcpy(&rel, copy + s->insn[i].disp_at, 4);
		far = (int64_t)rel + (int64_t)(addr + s->insn[i].at - (m->base + m->at));
		rel = (int32_t)far;
		m->far |= far != rel;
		memcpy(copy + s->insn[i].disp_at, &rel, 4);
	}
	put(m, copy, s->insn[i].len);
}

/* From the stub to the hook, rcx = stub_info (see abi/buffer.h and syscallbuf/entry.S). */
static void put_hook(struct maker *m, enum patch_kind kind)
{
	static const uint32_t rsp = FIXED_STATE + STATE_RSP, hook = FIXED_STATE + STATE_HOOK,
			      cpuid = FIXED_STATE + STATE_CPUID, tsc = FIXED_STATE + STATE_TSC,
			      stack = FIXED_STACK;
	int32_t info;

	put(m, "\x48\x89\x24\x25", 4);			/* mov %rsp,abs32 */
	put(m, &rsp, 4);
	if (kind != PATCH_SYSCALL) {
		put(m, "\x48\xc7\xc4", 3);		/* mov $imm32,%rsp */
		put(m, &stack, 4);
		put(m, "\x51", 1);			/* push %rcx */
	}
	put(m, "\x48\x8d\x0d", 3);			/* lea disp32(%rip),%rcx */
	info = -(int32_t)(m->at + 4) - STUB_INFO;
	put(m, &info, 4);
	put(m, "\xff\x24\x25", 3);			/* jmp *abs32 */
	put(m, kind == PATCH_CPUID ? &cpuid : kind == PATCH_TSC ? &tsc : &hook, 4);
}

static void put_state(struct maker *m, const char *op, unsigned len, uint32_t offset)
{
	const uint32_t at = FIXED_STATE + offset;

	put(m, op, len);
	put(m, &at, 4);
}

/* Neither flags nor the program's stack are touched; traced_at is where it traps. */
static void put_spin(struct maker *m, struct patch *p)
{
	static const uint32_t turns = BUF_SPINS;

	put_state(m, "\x48\x89\x0c\x25", 4, STATE_SPIN_RCX);	/* mov %rcx,abs32 */
	put_state(m, "\x48\x8b\x0c\x25", 4, STATE_SPINS);	/* mov abs32,%rcx */
	put(m, "\x48\x8d\x49\xff", 4);			/* lea -1(%rcx),%rcx */
	put_state(m, "\x48\x89\x0c\x25", 4, STATE_SPINS);	/* mov %rcx,abs32 */
	put(m, "\xe3\x0a", 2);				/* jrcxz +10 */
	put_state(m, "\x48\x8b\x0c\x25", 4, STATE_SPIN_RCX);	/* mov abs32,%rcx */
	put(m, "\xeb\x16", 2);				/* jmp +22 */
	put_state(m, "\x48\xc7\x04\x25", 4, STATE_SPINS);	/* movq $imm32,abs32 */
	put(m, &turns, 4);
	put_state(m, "\x48\x8b\x0c\x25", 4, STATE_SPIN_RCX);	/* mov abs32,%rcx */
	p->traced_at = (uint8_t)m->at;
	put(m, patch_mark, PATCH_MARK_BYTES);
}

enum patch_refusal patch_make(const struct patch_site *s, uint64_t addr, uint64_t at,
			      uint64_t flags, uint8_t stub[STUB_SIZE], uint8_t jump[PATCH_BYTES],
			      struct patch *ret)
{
	struct maker m = { stub + STUB_INFO, 0, at + STUB_INFO, false };
	struct stub_info info = { .after = addr + s->call_at + s->call_len, .flags = flags };
	unsigned i;

	memset(stub, 0xcc, STUB_SIZE);
	*ret = (struct patch){ .addr = addr,
			       .stub = m.base,
			       .kind = (uint8_t)s->kind,
			       .len = s->len,
			       .call_at = s->call_at,
			       .call_len = s->call_len,
			       .n = s->n };
	memcpy(ret->bytes, s->bytes, PATCH_BYTES);
	for (i = 0; i < s->n; i++) {
		ret->insn[i].site = s->insn[i].at;
		ret->insn[i].stub = (uint8_t)m.at;
		if (s->insn[i].at != s->call_at) {
			put_moved(&m, s, i, addr);
			continue;
		}
		ret->hook_at = (uint8_t)m.at;
		if (s->kind == PATCH_SPIN) {
			put_spin(&m, ret);
		} else {
			put_hook(&m, s->kind);
			ret->traced_at = (uint8_t)m.at;
		}
		put(&m, s->bytes + s->call_at, s->call_len);
		if (flags & STUB_MARKED && (s->kind == PATCH_CPUID || s->kind == PATCH_TSC))
			memcpy(m.out + ret->traced_at, patch_mark, PATCH_MARK_BYTES);
		info.traced = m.base + ret->traced_at;
		info.cont = m.base + m.at;
	}
	ret->end = (uint8_t)m.at;
	if (s->insn[s->n - 1].branch != BRANCH_JMP && s->insn[s->n - 1].branch != BRANCH_RET) {
		put(&m, "\xe9", 1);
		put_rel32(&m, addr + length(s));
	}
	memcpy(stub, &info, sizeof(info));
	if (m.far || !site_jump(addr, m.base, jump))
		return PATCH_FAR;
	memset(jump + SITE_JUMP, 0x90, PATCH_BYTES - SITE_JUMP);
	return PATCH_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static unsigned first_behind(const struct patches *ps, uint64_t addr)
{
	unsigned lo = 0, hi = ps->n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (ps->p[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool patches_add(struct patches *ps, const struct patch *p)
{
	unsigned at = first_behind(ps, p->addr);

	if (ps->n == ps->max) {
		unsigned max = ps->max * 2 + 16;
		struct patch *more = realloc(ps->p, max * sizeof(*more));

		if (!more)
			return false;
		ps->p = more;
		ps->max = max;
	}
	memmove(ps->p + at + 1, ps->p + at, (ps->n - at) * sizeof(*ps->p));
	ps->p[at] = *p;
	ps->n++;
	return true;
}

void patches_cut(struct patches *ps, uint64_t addr, uint64_t len)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < ps->n; i++) {
		if (ps->p[i].addr + ps->p[i].len <= addr || ps->p[i].addr >= addr + len)
			ps->p[kept++] = ps->p[i];
	}
	ps->n = kept;
}

void patches_copy(struct patches *to, const struct patches *from)
{
	*to = (struct patches){ .n = from->n, .max = from->n };
	if (!from->n)
		return;
	to->p = malloc(from->n * sizeof(*to->p));
	BUG_ON(!to->p, "out of memory for patches");
	memcpy(to->p, from->p, from->n * sizeof(*to->p));
}

void patches_deinit(struct patches *ps)
{
	free(ps->p);
	*ps = (struct patches){ 0 };
}

const struct patch *patches_at(const struct patches *ps, uint64_t addr)
{
	unsigned i = first_behind(ps, addr);

	if (!i || addr >= ps->p[i - 1].addr + ps->p[i - 1].len)
		return NULL;
	return &ps->p[i - 1];
}

const struct patch *patches_with(const struct patches *ps, uint64_t addr)
{
	const struct patch *p = patches_at(ps, addr), *before = p ? NULL : patches_at(ps, addr - 1);

	return before && addr == before->addr + before->call_at ? before : p;
}

const struct patch *patches_stub(const struct patches *ps, uint64_t addr)
{
	for (unsigned i = 0; i < ps->n; i++) {
		if (ps->p[i].kind != PATCH_MARK && addr - ps->p[i].stub < STUB_SIZE - STUB_INFO)
			return &ps->p[i];
	}
	return NULL;
}

enum patch_where patch_normal(const struct patches *ps, struct regs *regs)
{
	const struct patch *p;
	uint64_t off;

	if (regs->rip >= FIXED_PAGE && regs->rip < FIXED_END)
		return PATCH_IN_HOOK;
	p = ps->n ? patches_stub(ps, regs->rip) : NULL;
	if (!p)
		return PATCH_NOWHERE;
	off = regs->rip - p->stub;
	if (off == (uint64_t)p->traced_at + p->call_len && p->kind == PATCH_SYSCALL) {
		/* behind the traced call: at its entry stop, or back from it */
		regs->rip = p->addr + p->call_at + p->call_len;
		regs->rcx = regs->rip;
		return PATCH_MOVED;
	}
	if (off == p->traced_at) {
		regs->rip = p->addr + p->call_at;
		return PATCH_MOVED;
	}
	for (unsigned i = 0; i < p->n; i++) {
		if (off == p->insn[i].stub) {
			regs->rip = p->addr + p->insn[i].site;
			return PATCH_MOVED;
		}
	}
	if (off == p->end) {	/* at the jump back */
		regs->rip = p->addr + (p->call_at ? p->call_at + p->call_len : p->len);
		return PATCH_MOVED;
	}
	return PATCH_IN_HOOK;
}

bool patch_resume(const struct patches *ps, struct regs *regs)
{
	const struct patch *p = ps->n ? patches_at(ps, regs->rip) : NULL;

	if (!p || regs->rip == p->addr)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		if (regs->rip == p->addr + p->insn[i].site) {
			regs->rip = p->stub + p->insn[i].stub;
			return true;
		}
	}
	return false;
}

void patch_hide(const struct patches *ps, uint64_t addr, void *bytes, size_t len)
{
	for (unsigned i = 0; i < ps->n; i++) {
		const struct patch *p = &ps->p[i];

		for (unsigned k = 0; k < p->len; k++) {
			if (p->addr + k - addr < len)
				((uint8_t *)bytes)[p->addr + k - addr] = p->bytes[k];
		}
	}
}
