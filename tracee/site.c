#include "tracee/site.h"
#include "x86/decode.h"

#include <capstone/capstone.h>
#include <string.h>

enum { WINDOW = 4096 };

unsigned site_register(unsigned reg)
{
	static const uint16_t names[][5] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
		{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
		{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
		{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
		{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
		{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && reg; i++) {
		for (unsigned k = 0; k < 5; k++) {
			if (names[i][k] == reg)
				return names[i][0];
		}
	}
	return 0;
}

bool site_can_move(csh handle, const cs_insn *insn)
{
	static const uint8_t groups[] = { CS_GRP_JUMP, CS_GRP_CALL, CS_GRP_RET, CS_GRP_INT,
					  CS_GRP_IRET };

	for (unsigned i = 0; i < sizeof(groups); i++) {
		if (cs_insn_group(handle, insn, groups[i]))
			return false;
	}
	switch (insn->id) {
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_INT3:
	case X86_INS_RDTSC:	/* they trap, and the trap must come from where they were */
	case X86_INS_RDTSCP:
	case X86_INS_CPUID:
	case X86_INS_UD2:
	case X86_INS_XBEGIN:
		return false;
	default:
		return true;
	}
}

/*
 * Could the bytes at p (address at) be a direct branch to within (first, last)?  Every offset is
 * looked at, so it does not matter where instructions begin. */
static bool branch_into(const uint8_t *p, size_t room, uint64_t at, uint64_t first, uint64_t last)
{
	int32_t rel;
	uint64_t to;

	if (room >= 2 &&
	    ((p[0] >= 0x70 && p[0] <= 0x7f) || p[0] == 0xeb || (p[0] >= 0xe0 && p[0] <= 0xe3))) {
		to = at + 2 + (uint64_t)(int64_t)(int8_t)p[1];
		if (to > first && to < last)
			return true;
	}
	if (room >= 5 && (p[0] == 0xe9 || p[0] == 0xe8)) {
		memcpy(&rel, p + 1, 4);
		to = at + 5 + (uint64_t)(int64_t)rel;
		if (to > first && to < last)
			return true;
	}
	if (room >= 6 && p[0] == 0x0f && p[1] >= 0x80 && p[1] <= 0x8f) {
		memcpy(&rel, p + 2, 4);
		to = at + 6 + (uint64_t)(int64_t)rel;
		if (to > first && to < last)
			return true;
	}
	return false;
}

/*
 * Does an instruction begin at code[at], as far as going from one to the next can tell?  One begins
 * at code[first].
 */
static bool insn_begins(const uint8_t *code, size_t n, size_t at, size_t first)
{
	enum { RUN_UP = 160 };		/* any start falls into step after a few instructions */
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	size_t i = at > first	 ? first
		   : at > RUN_UP ? at - RUN_UP
				 : 0,
	       end = at > first ? at : first;
	bool met = false;

	while (insn && i < end) {
		const uint8_t *p = code + i;
		size_t room = n - i;
		uint64_t addr = i;

		met |= i == at;
		i += cs_disasm_iter(handle, &p, &room, &addr, insn) ? insn->size : 1u;
	}
	if (insn)
		cs_free(insn, 1);
	if (!insn || i != end)		/* not in step at `first`, or beyond `at` */
		return at < first;
	return met || at >= first;
}

bool site_insn_starts(pid_t tid, uint64_t at, uint64_t known)
{
	enum { BEFORE = 96, RUNS = 32 };
	uint8_t code[BEFORE + 16];
	size_t want = (size_t)(known - at) + BEFORE,
	       n = tracee_read_some(tid, at - BEFORE, code, want);
	uint64_t from = at - BEFORE;
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool all = insn != NULL;

	if (n < want) {		/* the page before is not there */
		from = at & ~4095ull;
		n = tracee_read_some(tid, from, code,
				     (size_t)(known - from) < sizeof(code) ? (size_t)(known - from)
									   : 0);
	}
	/* From many places, of which most fall into step. */
	for (size_t start = 0; all && start < RUNS && from + start <= at && n >= known - from;
	     start++) {
		const uint8_t *p = code + start;
		uint64_t addr = from + start;
		size_t room = n - start;
		bool met = false;

		while (addr < known) {
			met |= addr == at;
			if (!cs_disasm_iter(handle, &p, &room, &addr, insn)) {
				p++;
				addr++;
				room--;
			}
		}
		all = met || addr != known;
	}
	if (insn)
		cs_free(insn, 1);
	return all && n >= known - from;
}

bool site_nobody_branches(pid_t tid, uint64_t first, uint64_t last)
{
	uint8_t code[2 * WINDOW];
	uint64_t from = first - WINDOW;
	size_t n;

	n = tracee_read_some(tid, from, code, sizeof(code));
	if (n < WINDOW) {	/* the pages before are not there */
		from = first & ~4095ull;
		n = tracee_read_some(tid, from, code, sizeof(code));
	}
	for (size_t i = 0; i < n; i++) {
		if (branch_into(code + i, n - i, from + i, first, last) &&
		    insn_begins(code, n, i, first - from))
			return false;
	}
	return true;
}

/* Where the instruction's RIP-relative displacement stands in it, or 0. */
static unsigned rip_operand(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base == X86_REG_RIP)
			return x->encoding.disp_offset;
	}
	return 0;
}

bool site_insn_at(const uint8_t *code, size_t room, uint64_t addr, struct site_insn *ret)
{
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool good = insn && cs_disasm_iter(handle, &code, &room, &addr, insn);

	if (good)
		*ret = (struct site_insn){ insn->id, insn->size, rip_operand(insn),
					   site_can_move(handle, insn) };
	if (insn)
		cs_free(insn, 1);
	return good;
}

bool site_relocate(const struct site *site, uint64_t to, uint8_t *out)
{
	memcpy(out, site->bytes, site->len);
	for (unsigned i = 0; i < site->n; i++) {
		uint8_t *disp = out + site->insn[i].at + site->insn[i].disp_at;
		int64_t moved;
		int32_t rel;

		if (!site->insn[i].disp_at)
			continue;
		memcpy(&rel, disp, 4);
		moved = (int64_t)rel + (int64_t)(site->addr - to);
		if (moved != (int32_t)moved)
			return false;
		rel = (int32_t)moved;
		memcpy(disp, &rel, 4);
	}
	return true;
}

bool site_jump(uint64_t from, uint64_t to, uint8_t out[SITE_JUMP])
{
	int64_t far = (int64_t)(to - from - SITE_JUMP);
	int32_t rel = (int32_t)far;

	out[0] = 0xe9;
	memcpy(out + 1, &rel, 4);
	return far == rel;
}
