/*
 * displace.c - the instructions that a jump replaces, run elsewhere.
 *
 * All but the last are plain; the last one may transfer control (x86/move.h).
 */
#include <string.h>

#include "replayer/code/displace.h"
#include "replayer/code/branches.h"
#include "replayer/code/jump_tables.h"
#include "x86/decode.h"
#include "x86/bytes.h"

static const struct x86_instr *last_of(const struct displaced *d)
{
	return &d->site.insn[d->site.n - 1];
}

static const uint8_t *last_bytes(const struct displaced *d)
{
	return d->site.bytes + last_of(d)->at;
}

/*
 * A call through a word that is not near the code: it may be missing, and the fault must come
 * before the push; or be found by rsp.
 */
static bool calls_memory(const struct x86_instr *insn)
{
	return insn->form == X86_CALL_TO &&
	       (insn->via == X86_VIA_MEMORY || insn->via == X86_VIA_STACK);
}

static bool may_be_last(const struct x86_instr *insn, const uint8_t *bytes, bool any)
{
	switch ((enum x86_form)insn->form) {
	case X86_JMP:
	case X86_JCC:
	case X86_LOOP:
	case X86_CALL:
		return !insn->op_at;
	case X86_CALL_TO:	/* REX at most */
		if (insn->op_at > 1 || (insn->op_at && (bytes[0] & 0xf0) != 0x40))
			return false;
		return insn->via != X86_VIA_RSP && (any || !calls_memory(insn));
	case X86_JMP_TO:
		return insn->via != X86_VIA_RSP;
	case X86_RET:
		return true;
	default:
		return false;
	}
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
		if (branches_tables_to(tid, start, end, addr + s->insn[i].at))
			return false;
	}
	return n > 0;
}

/* any: also when the last calls_memory(). */
static bool decode(pid_t tid, uint64_t addr, unsigned want, bool any, struct displaced *ret)
{
	uint8_t code[SITE_MAX + 16] = { 0 };
	size_t room = tracee_read_some(tid, addr, code, sizeof(code));
	struct site *s = &ret->site;

	*ret = (struct displaced){ .site = { .addr = addr } };
	memcpy(s->bytes, code, SITE_MAX);
	while (s->len < want) {
		const uint8_t *bytes = code + s->len;
		struct x86_instr *insn = &s->insn[s->n];

		if (ret->last != X86_PLAIN || s->n == SITE_INSNS || s->len >= room ||
		    !x86_instr_at(bytes, room - s->len, insn) || s->len + insn->len > SITE_MAX)
			return false;
		if (insn->form != X86_PLAIN && !may_be_last(insn, bytes, any))
			return false;
		ret->last = (enum x86_form)insn->form;
		insn->at = (uint8_t)s->len;
		s->n++;
		s->len += insn->len;
	}
	return decoder() != 0;
}

/*
 * endbr64; (bnd) jmp *word(%rip): an entry of a linkage table, which is come to from its beginning.
 */
static bool is_linkage(const struct site *s)
{
	return s->n == 2 && !memcmp(s->bytes, "\xf3\x0f\x1e\xfa", 4) &&
	       s->insn[1].form == X86_JMP_TO && s->insn[1].via == X86_VIA_RIP;
}

static bool nobody_comes_into(pid_t tid, const struct site *s, uint64_t start, uint64_t end)
{
	return s->n == 1 || is_linkage(s) ||
	       (site_nobody_branches(tid, s->addr, s->addr + s->len) &&
		nobody_jumps_into(tid, s, start, end) &&
		!branches_into(tid, start, end, s->addr, s->addr + s->len));
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

uint64_t displace_target(const struct displaced *d)
{
	return x86_target(last_of(d), last_bytes(d), d->site.addr + last_of(d)->at);
}

bool displace_write(const struct displaced *d, struct x86_code *c)
{
	const struct site *s = &d->site;

	if (calls_memory(last_of(d)))
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		const struct x86_instr *insn = &s->insn[i];
		uint64_t target = x86_is_direct(insn) ? displace_target(d) : 0;

		if (!x86_move(c, insn, s->bytes + insn->at, s->addr + insn->at, target))
			return false;
	}
	return !c->far;
}

bool displace_repeats(const struct displaced *d)
{
	bool any = false;

	for (unsigned i = 0; i < d->site.n; i++) {
		const struct x86_instr *insn = &d->site.insn[i];
		const uint8_t *code = d->site.bytes + insn->at;
		struct x86_prefixes prefixes = x86_prefixes_of(code, insn->len - 1u);

		any |= x86_repeats(code, &prefixes);
	}
	return any;
}
