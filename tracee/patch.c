#include "tracee/patch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "tracee/site.h"
#include "x86/emit.h"
#include "x86/move.h"

const uint8_t patch_ud2[PATCH_UD2_BYTES] = { 0x0f, 0x0b };
static const uint8_t patch_pause[2] = { 0xf3, 0x90 };

enum { RCX = 1 };

const char *patch_refusal_name(enum patch_refusal why)
{
	static const char *const names[] = { "patched", "unreadable code", "no place for a jump",
					     "a branch into it", "no room near it" };

	return why < PATCH_REFUSALS ? names[why] : "?";
}

/* ---- what to replace ------------------------------------------------------------------------- */

static unsigned length(const struct patch_site *s)
{
	return s->n ? s->insn[s->n - 1].at + s->insn[s->n - 1].len : 0u;
}

/* May the instruction be moved?  Of branches only those that compilers make at such places. */
static bool may_move(const struct x86_instr *insn)
{
	switch ((enum x86_form)insn->form) {
	case X86_PLAIN:
		return true;
	case X86_JMP:
	case X86_JCC:
		return !insn->op_at;
	case X86_RET:
		return insn->len == 1;
	default:
		return false;
	}
}

static bool append(struct patch_site *s, const uint8_t *code, size_t room)
{
	struct x86_instr insn;
	unsigned at = length(s);

	if (s->n == PATCH_INSNS || !x86_instr_at(code, room, &insn) ||
	    at + insn.len > PATCH_BYTES || !may_move(&insn))
		return false;
	insn.at = (uint8_t)at;
	s->insn[s->n++] = insn;
	memcpy(s->bytes + at, code, insn.len);
	return true;
}

/* Nothing comes to what is behind it from above. */
static bool never_falls(const struct x86_instr *insn)
{
	return insn->form == X86_JMP || insn->form == X86_RET;
}

static void append_call(struct patch_site *s, const uint8_t *code)
{
	unsigned at = length(s);

	s->call_at = (uint8_t)at;
	s->insn[s->n++] = (struct x86_instr){ .at = (uint8_t)at,
					      .len = s->call_len,
					      .form = X86_STAYS };
	memcpy(s->bytes + at, code, s->call_len);
}

/* Are the bytes what assemblers put between functions? */
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
static bool shape_after(struct patch_site *s, const uint8_t *code, size_t room)
{
	append_call(s, code);
	while (length(s) < X86_JUMP) {
		unsigned at = length(s);

		if (never_falls(&s->insn[s->n - 1])) {	/* padding may go */
			unsigned pad = X86_JUMP - at;

			if (at + pad > room || !is_padding(code + at, pad))
				return false;
			s->len = X86_JUMP;
			memcpy(s->bytes + at, code + at, pad);
			return true;
		}
		if (at >= room || !append(s, code + at, room - at))
			return false;
	}
	s->len = (uint8_t)length(s);
	return true;
}

/*
 * One instruction of five bytes or more in front of the call: mov of a number, small as calls'
 * numbers are, to eax or rax.  It may also be the end of another one (mov to r8d, a store): see
 * site_insn_starts(). */
static unsigned before_len(enum patch_kind kind, const uint8_t *call, size_t room)
{
	if (kind == PATCH_CPUID)	/* leaves: few, from 0 or 0x80000000 on */
		return room >= 5 && call[-5] == 0xb8 && !call[-3] && !call[-2] &&
				       (!call[-1] || call[-1] == 0x80)
			       ? 5
			       : 0;
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
	unsigned n = before_len(s->kind, code, before);

	if (!n || !append(s, code - n, n))
		return false;
	append_call(s, code);
	s->len = (uint8_t)n;
	*back = n;
	return true;
}

/* fxsave at a register and a distance, without prefixes but REX (0: none). */
struct fxsave {
	unsigned len;			/* 0: another instruction */
	uint8_t rex, rm, sib;		/* sib: where rm is 4 */
	int32_t distance;
};

static struct fxsave fxsave_decode(const uint8_t *code, size_t room)
{
	unsigned rex = (code[0] & 0xf0) == 0x40, at = rex + 3, mod;
	struct fxsave f = { 0 };

	if (room < 12 || code[rex] != 0x0f || code[rex + 1] != 0xae || (code[rex + 2] & 0x38))
		return f;
	mod = code[rex + 2] >> 6;
	f.rex = rex ? code[0] : 0;
	f.rm = code[rex + 2] & 7;
	if (f.rm == 4)
		f.sib = code[at++];
	/* a register itself; or no register: relative to rip, or absolute */
	if (mod == 3 || (!mod && (f.rm == 5 || (f.rm == 4 && (f.sib & 7) == 5))))
		return f;
	if (mod == 1)
		f.distance = (int8_t)code[at];
	if (mod == 2)
		memcpy(&f.distance, code + at, 4);
	f.len = at + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
	return f;
}

/* 0: this instruction is not one of that kind. */
static unsigned call_length(enum patch_kind kind, const uint8_t *code, size_t room)
{
	if (kind == PATCH_FXSAVE)
		return fxsave_decode(code, room).len;
	return kind == PATCH_TSC && code[1] == 0x01 ? 3 : 2;	/* rdtscp */
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
	*ret = (struct patch_site){ .kind = kind };
	ret->call_len = (uint8_t)call_length(kind, code + 8, room);
	*back_ret = 0;
	if (!ret->call_len)
		return PATCH_SHAPE;
	if (kind == PATCH_SPIN && memcmp(code + 8, patch_pause, 2))
		return PATCH_SHAPE;
	if (shape_after(ret, code + 8, room)) {
		if (site_nobody_branches(tid, addr, addr + ret->len))
			return PATCH_OK;
		why = PATCH_BRANCH;
	}
	if (kind != PATCH_SYSCALL && kind != PATCH_CPUID)
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

/* From the stub to the hook, rcx = stub_info (see abi/buffer.h and syscallbuf/entry.S). */
static void put_hook(struct x86_code *c, enum patch_kind kind)
{
	static const uint32_t rsp = FIXED_STATE + STATE_RSP, hook = FIXED_STATE + STATE_HOOK,
			      cpuid = FIXED_STATE + STATE_CPUID, tsc = FIXED_STATE + STATE_TSC,
			      stack = FIXED_STACK;

	X86_PUT(c, 0x48, 0x89, 0x24, 0x25);		/* mov %rsp,abs32 */
	x86_put32(c, rsp);
	if (kind != PATCH_SYSCALL) {
		X86_PUT(c, 0x48, 0xc7, 0xc4);		/* mov $imm32,%rsp */
		x86_put32(c, stack);
		X86_PUT(c, 0x51);			/* push %rcx */
	}
	x86_put_word(c, 0x8d, RCX, c->at - STUB_INFO);	/* lea disp32(%rip),%rcx */
	X86_PUT(c, 0xff, 0x24, 0x25);			/* jmp *abs32 */
	x86_put32(c, kind == PATCH_CPUID ? cpuid : kind == PATCH_TSC ? tsc : hook);
}

/* Writes an instruction with a word of the state, at an absolute address: REX.W opcode modrm. */
static void put_state(struct x86_code *c, uint8_t opcode, uint8_t modrm, uint32_t offset)
{
	X86_PUT(c, 0x48, opcode, modrm, 0x25);
	x86_put32(c, FIXED_STATE + offset);
}

/* Neither flags nor the program's stack are touched; traced_at is where it traps. */
static void put_spin(struct x86_code *c, struct patch *p)
{
	static const uint32_t spins = BUF_SPINS;

	put_state(c, 0x89, 0x0c, STATE_SPIN_RCX);	/* mov %rcx,abs32 */
	put_state(c, 0x8b, 0x0c, STATE_SPINS);		/* mov abs32,%rcx */
	X86_PUT(c, 0x48, 0x8d, 0x49, 0xff);		/* lea -1(%rcx),%rcx */
	put_state(c, 0x89, 0x0c, STATE_SPINS);		/* mov %rcx,abs32 */
	x86_put_short_jump(c, X86_IF_RCX_ZERO, 10);
	put_state(c, 0x8b, 0x0c, STATE_SPIN_RCX);	/* mov abs32,%rcx */
	x86_put_short_jump(c, X86_ALWAYS, 22);
	put_state(c, 0xc7, 0x04, STATE_SPINS);		/* movq $imm32,abs32 */
	x86_put32(c, spins);
	put_state(c, 0x8b, 0x0c, STATE_SPIN_RCX);	/* mov abs32,%rcx */
	p->traced_at = (uint8_t)c->len;
	x86_put(c, patch_ud2, PATCH_UD2_BYTES);
}

/* mov $value of so many bytes to what f stores at `at'. */
static void put_into(struct x86_code *c, const struct fxsave *f, int32_t at, unsigned bytes,
		     uint32_t value)
{
	if (bytes == 2)
		X86_PUT(c, 0x66);
	X86_PUT(c, (uint8_t)((f->rex & 0x43) | (bytes == 8 ? 0x48 : 0x40)), 0xc7, 0x80 | f->rm);
	if (f->rm == 4)
		X86_PUT(c, f->sib);
	x86_put32(c, (uint32_t)(f->distance + at));
	x86_put(c, &value, bytes == 2 ? 2 : 4);
}

/*
 * The last x87 instruction, its operand and its opcode are in it, or not, and AMD has one more bit
 * of MXCSR (as in recorder/xsave.c).  No flag changes.
 */
static void put_fxsave(struct x86_code *c, const uint8_t *bytes, unsigned len)
{
	struct fxsave f = fxsave_decode(bytes, PATCH_BYTES);

	x86_put(c, bytes, len);
	put_into(c, &f, 6, 2, 0);
	put_into(c, &f, 8, 8, 0);
	put_into(c, &f, 16, 8, 0);
	put_into(c, &f, 28, 4, 0xffff);
}

static void put_moved(struct x86_code *c, const struct patch_site *s, unsigned i, uint64_t addr)
{
	const struct x86_instr *insn = &s->insn[i];
	const uint8_t *bytes = s->bytes + insn->at;
	uint64_t from = addr + insn->at;

	x86_move(c, insn, bytes, from, x86_is_direct(insn) ? x86_target(insn, bytes, from) : 0);
}

static void put_call(struct x86_code *c, const struct patch_site *s, uint64_t flags,
		     struct patch *p, struct stub_info *info)
{
	p->hook_at = (uint8_t)c->len;
	if (s->kind == PATCH_FXSAVE) {
		p->traced_at = (uint8_t)c->len;
		put_fxsave(c, s->bytes + s->call_at, s->call_len);
		info->traced = c->at + p->traced_at;
		info->cont = x86_here(c);
		return;
	}
	if (s->kind == PATCH_SPIN) {
		put_spin(c, p);
	} else {
		put_hook(c, s->kind);
		p->traced_at = (uint8_t)c->len;
	}
	x86_put(c, s->bytes + s->call_at, s->call_len);
	if (flags & STUB_UD2 && (s->kind == PATCH_CPUID || s->kind == PATCH_TSC))
		memcpy(c->bytes + p->traced_at, patch_ud2, PATCH_UD2_BYTES);
	info->traced = c->at + p->traced_at;
	info->cont = x86_here(c);
}

enum patch_refusal patch_make(const struct patch_site *s, uint64_t addr, uint64_t at,
			      uint64_t flags, uint8_t stub[STUB_SIZE], uint8_t jump[PATCH_BYTES],
			      struct patch *ret)
{
	struct x86_code c = { .bytes = stub + STUB_INFO,
			      .room = STUB_SIZE - STUB_INFO,
			      .at = at + STUB_INFO };
	struct stub_info info = { .after = addr + s->call_at + s->call_len, .flags = flags };

	memset(stub, 0xcc, STUB_SIZE);
	*ret = (struct patch){ .addr = addr,
			       .stub = c.at,
			       .kind = (uint8_t)s->kind,
			       .len = s->len,
			       .call_at = s->call_at,
			       .call_len = s->call_len,
			       .n = s->n };
	memcpy(ret->bytes, s->bytes, PATCH_BYTES);
	for (unsigned i = 0; i < s->n; i++) {
		ret->insn[i].site = s->insn[i].at;
		ret->insn[i].stub = (uint8_t)c.len;
		if (s->insn[i].at == s->call_at)
			put_call(&c, s, flags, ret, &info);
		else
			put_moved(&c, s, i, addr);
	}
	ret->end = (uint8_t)c.len;
	if (!never_falls(&s->insn[s->n - 1]))
		x86_put_jump(&c, X86_ALWAYS, addr + length(s));
	memcpy(stub, &info, sizeof(info));
	if (c.far || !x86_jump(addr, c.at, jump))
		return PATCH_FAR;
	memset(jump + X86_JUMP, 0x90, PATCH_BYTES - X86_JUMP);
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

/* They are in order, and none overlap. */
void patches_cut(struct patches *ps, uint64_t addr, uint64_t len)
{
	unsigned first = first_behind(ps, addr), end;

	if (first && ps->p[first - 1].addr + ps->p[first - 1].len > addr)
		first--;
	for (end = first; end < ps->n && ps->p[end].addr < addr + len;)
		end++;
	if (end == first)
		return;
	memmove(ps->p + first, ps->p + end, (ps->n - end) * sizeof(*ps->p));
	ps->n -= end - first;
}

void patches_copy(struct patches *to, const struct patches *from)
{
	*to = (struct patches){ .n = from->n, .max = from->n };
	if (!from->n)
		return;
	to->p = alloc_zeroed(from->n, sizeof(*to->p), "patches");
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
		if (ps->p[i].kind != PATCH_UD2 && addr - ps->p[i].stub < STUB_SIZE - STUB_INFO)
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
	unsigned lo = 0, hi = ps->n;

	while (lo < hi) {		/* the first that ends behind addr */
		unsigned mid = lo + (hi - lo) / 2;

		if (ps->p[mid].addr + ps->p[mid].len <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < ps->n && (ps->p[lo].addr < addr || ps->p[lo].addr - addr < len); lo++) {
		const struct patch *p = &ps->p[lo];

		for (unsigned k = 0; k < p->len; k++) {
			if (p->addr + k - addr < len)
				((uint8_t *)bytes)[p->addr + k - addr] = p->bytes[k];
		}
	}
}
