/*
 * displace.c - the instructions that a probe replaces, run elsewhere.
 *
 * As tracee/site.c, and more: the last one may transfer control.  A direct branch gets its target
 * again; a call pushes the original's return address and jumps, through the same register or word.
 * (Not through any word: it may be missing, and the fault must come before the push; or be found by
 * rsp.)
 */
#include <capstone/capstone.h>
#include <string.h>

#include "replayer/code/displace.h"
#include "replayer/code/branches.h"
#include "replayer/code/jump_tables.h"
#include "x86/decode.h"

/* Behind a prefix (bnd, notrack) and REX: where is ff, the opcode of indirect calls and jumps? */
static unsigned opcode_at(const uint8_t *code)
{
	unsigned prefix = code[0] == 0xf2 || code[0] == 0x3e;

	return prefix + ((code[prefix] & 0xf0) == 0x40);
}

/*
 * call *...: ff /2; the jump through the same is ff /4, which needs no word in reach: nothing is
 * pushed before its fault.
 */
static enum displace_last indirect_kind(const uint8_t *code, unsigned size)
{
	unsigned at = opcode_at(code), modrm = at + 1;
	bool jump = modrm < size && (code[modrm] >> 3 & 7) == 4;

	if (modrm >= size || code[at] != 0xff ||
	    (!jump && ((code[modrm] >> 3 & 7) != 2 || code[0] == 0xf2 || code[0] == 0x3e)))
		return DISPLACE_PLAIN;
	if (code[modrm] >> 6 == 3 && (code[modrm] & 7) == 4 &&
	    !(at && code[at - 1] & 1 && (code[at - 1] & 0xf0) == 0x40))
		return DISPLACE_PLAIN; /* through rsp */
	if (jump)
		return DISPLACE_JMP_TO;
	return code[modrm] >> 6 == 3 || (code[modrm] & 0xc7) == 5 ? DISPLACE_CALL_TO
								  : DISPLACE_CALL_MEMORY;
}

static enum displace_last branch_kind(const uint8_t *code, unsigned size)
{
	if ((code[0] == 0xc3 && size == 1) || (code[0] == 0xc2 && size == 3) ||
	    (code[0] == 0xf3 && code[1] == 0xc3 && size == 2))
		return DISPLACE_RET;
	if ((code[0] == 0xeb && size == 2) || (code[0] == 0xe9 && size == 5))
		return DISPLACE_JMP;
	if ((code[0] >= 0x70 && code[0] <= 0x7f && size == 2) ||
	    (code[0] == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f && size == 6))
		return DISPLACE_JCC;
	return code[0] == 0xe8 && size == 5 ? DISPLACE_CALL : indirect_kind(code, size);
}

static void note(struct displaced *d, const cs_insn *insn)
{
	struct site *s = &d->site;
	const cs_x86 *x = &insn->detail->x86;

	s->insn[s->n].at = (uint8_t)s->len;
	s->insn[s->n].len = (uint8_t)insn->size;
	s->insn[s->n].disp_at = 0;
	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base == X86_REG_RIP)
			s->insn[s->n].disp_at = x->encoding.disp_offset;
	}
	s->n++;
	s->len += insn->size;
}

/*
 * A switch jumps through a table, maybe to the second of the displaced instructions; a function may
 * begin there that is only called through its address.  True when neither is so, and no other
 * indirect jump is near (ff 24, ff e0 to e7), which might go anywhere.
 */
static bool nobody_jumps_into(pid_t tid, const struct site *s, uint64_t start, uint64_t end)
{
	enum { WINDOW = 4096, BEFORE = TABLES_BEFORE };
	uint8_t code[2 * WINDOW + BEFORE];
	uint64_t addr = s->addr,
		 from = addr - start > WINDOW + BEFORE ? addr - WINDOW - BEFORE : start,
		 to = end - addr > WINDOW ? addr + WINDOW : end;
	size_t n = tracee_read_some(tid, from, code, to - from);

	for (size_t i = from == start ? 0 : BEFORE; i + 1 < n; i++) {
		if (i >= 10 && code[i] == 0xff && code[i + 1] == 0xe0 &&
		    (!memcmp(code + i - 5, "\x48\x85\xc0\x74", 4) ||
		     (code[i - 5] == 0xbf && !memcmp(code + i - 10, "\x48\x85\xc0\x74", 4))))
			/*
			 * crtstuff.c calls what may not be there: test; je; (mov $,%edi where code
			 * is not PIC) jmp *%rax
			 */
			continue;
		if (code[i] != 0xff || (code[i + 1] != 0x24 && (code[i + 1] & 0xf8) != 0xe0))
			continue;
		if (!tables_jump(code, i))
			return false;
	}
	/* much looks like a table and is none; but its targets are instructions */
	for (unsigned i = 1; i < s->n; i++) {
		if (far_tables_to(tid, start, end, addr + s->insn[i].at))
			return false;
	}
	return n > 0;
}

/* any: also when the last is a CALL_MEMORY. */
static bool decode(pid_t tid, uint64_t addr, unsigned want, bool any, struct displaced *ret)
{
	uint8_t code[SITE_MAX + 16] = { 0 };
	size_t room = tracee_read_some(tid, addr, code, sizeof(code));
	const uint8_t *p = code;
	csh cs = decoder();
	uint64_t at = addr;
	cs_insn *insn;
	bool good = cs != 0;

	*ret = (struct displaced){ .site = { .addr = addr } };
	insn = good ? cs_malloc(cs) : NULL;
	while (good && ret->site.len < want) {
		const uint8_t *text = p;

		good = ret->last == DISPLACE_PLAIN && ret->site.n < SITE_INSNS &&
		       cs_disasm_iter(cs, &p, &room, &at, insn) &&
		       ret->site.len + insn->size <= SITE_MAX;
		if (!good)
			break;
		if (!site_can_move(cs, insn)) {
			ret->last = branch_kind(text, insn->size);
			good = ret->last != DISPLACE_PLAIN &&
			       (any || ret->last != DISPLACE_CALL_MEMORY);
			if (good && ret->last != DISPLACE_RET && ret->last < DISPLACE_JMP_TO)
				ret->target = (uint64_t)insn->detail->x86.operands[0].imm;
		}
		note(ret, insn);
	}
	if (insn)
		cs_free(insn, 1);
	memcpy(ret->site.bytes, code, SITE_MAX);
	return good;
}

/*
 * endbr64; (bnd) jmp *word(%rip): an entry of a linkage table, which is come to from its beginning.
 */
static bool is_linkage(const struct site *s)
{
	const uint8_t *jump = s->bytes + 4;

	return s->n == 2 && !memcmp(s->bytes, "\xf3\x0f\x1e\xfa", 4) &&
	       jump[opcode_at(jump)] == 0xff && jump[opcode_at(jump) + 1] == 0x25;
}

static bool nobody_comes_into(pid_t tid, const struct site *s, uint64_t start, uint64_t end)
{
	return s->n == 1 || is_linkage(s) ||
	       (site_nobody_branches(tid, s->addr, s->addr + s->len) &&
		nobody_jumps_into(tid, s, start, end) &&
		!far_branches_into(tid, start, end, s->addr, s->addr + s->len));
}

bool displace_decode(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end,
		     struct displaced *ret)
{
	return decode(tid, addr, want, false, ret) &&
	       nobody_comes_into(tid, &ret->site, start, end);
}

bool displace_decode_any(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end,
			 struct displaced *ret)
{
	return decode(tid, addr, want, true, ret) && nobody_comes_into(tid, &ret->site, start, end);
}

bool displace_decode_ours(pid_t tid, uint64_t addr, unsigned want, struct displaced *ret)
{
	return decode(tid, addr, want, true, ret);
}

static bool put_jump(uint8_t *out, unsigned *len, uint64_t at, uint64_t target)
{
	bool near = site_jump(at + *len, target, out + *len);

	*len += SITE_JUMP;
	return near;
}

/* The indirect call or jump of `size' bytes as a jump. */
static bool put_jump_to(const struct displaced *d, const uint8_t *insn, unsigned size, uint64_t at,
			uint8_t *out, unsigned *len)
{
	unsigned modrm = opcode_at(insn) + 1;
	int64_t word;
	int32_t rel;

	memcpy(out + *len, insn, size);
	out[*len + modrm] = (uint8_t)((insn[modrm] & 0xc7) | 4 << 3);
	*len += size;
	if ((insn[modrm] & 0xc7) != 5)
		return true;
	memcpy(&rel, insn + size - 4, 4);
	word = (int64_t)(d->site.addr + d->site.len) + rel - (int64_t)(at + *len);
	rel = (int32_t)word;
	memcpy(out + *len - 4, &rel, 4);
	return rel == word;
}

static bool put_branch(const struct displaced *d, const uint8_t *insn, uint64_t at, uint8_t *out,
		       unsigned *len, unsigned size)
{
	uint64_t back = d->site.addr + d->site.len;
	uint32_t low = (uint32_t)back, high = (uint32_t)(back >> 32);
	uint8_t condition = insn[0] == 0x0f ? insn[1] & 15 : insn[0] & 15;
	bool near;

	switch (d->last) {
	case DISPLACE_RET:
		memcpy(out + *len, insn, size);
		*len += size;
		return true;
	case DISPLACE_JMP:
		return put_jump(out, len, at, d->target);
	case DISPLACE_JCC:	/* 0f 8x rel32: as a jmp, but for its first byte */
		out[(*len)++] = 0x0f;
		near = put_jump(out, len, at, d->target);
		out[*len - SITE_JUMP] = (uint8_t)(0x80 | condition);
		return near;
	case DISPLACE_JMP_TO:
		return put_jump_to(d, insn, size, at, out, len);
	case DISPLACE_CALL_MEMORY:
		return false;
	default:		/* push low; mov dword [rsp + 4], high; jmp */
		out[(*len)++] = 0x68;
		memcpy(out + *len, &low, 4);
		memcpy(out + *len + 4, (const uint8_t[]){ 0xc7, 0x44, 0x24, 0x04 }, 4);
		memcpy(out + *len + 8, &high, 4);
		*len += 12;
		if (d->last == DISPLACE_CALL_TO)
			return put_jump_to(d, insn, size, at, out, len);
		return put_jump(out, len, at, d->target);
	}
}

bool displace_write(const struct displaced *d, uint64_t at, uint8_t out[DISPLACE_MAX],
		    unsigned *len_ret, uint64_t *fall_ret)
{
	struct site plain_part = d->site;
	unsigned len, size = 0;

	if (d->last != DISPLACE_PLAIN) {
		plain_part.n--;
		size = plain_part.insn[plain_part.n].len;
		plain_part.len -= size;
	}
	if (!site_relocate(&plain_part, at, out))
		return false;
	len = plain_part.len;
	if (size && !put_branch(d, d->site.bytes + len, at, out, &len, size))
		return false;
	*fall_ret = at + len;
	*len_ret = len + SITE_JUMP;
	return site_jump(at + len, d->site.addr + d->site.len, out + len);
}

static bool repeats(const uint8_t *insn)
{
	bool prefix = false;

	for (; *insn == 0xf2 || *insn == 0xf3 || *insn == 0x66 || *insn == 0x67 ||
	       (*insn & 0xf0) == 0x40 || *insn == 0x2e || *insn == 0x3e;
	     insn++)
		prefix |= *insn == 0xf2 || *insn == 0xf3;
	return prefix && ((*insn & 0xfc) == 0xa4 || (*insn >= 0xaa && *insn <= 0xaf) ||
			  (*insn & 0xfc) == 0x6c);
}

bool displace_repeats(const struct displaced *d)
{
	bool any = false;

	for (unsigned i = 0; i < d->site.n; i++)
		any |= repeats(d->site.bytes + d->site.insn[i].at);
	return any;
}
