#include "x86/branch.h"

#include <capstone/capstone.h>

#include "x86/decode.h"
#include "x86/instr.h"

/* 0 when it is none. */
static uint64_t target(const uint8_t *p, size_t room, uint64_t at, enum x86_branches kinds)
{
	unsigned len;

	if (room < 2)
		return 0;
	len = x86_branch32(p);
	if (len)
		return len > room ? 0 : x86_branch32_to(p, len, at);
	return kinds == X86_BRANCHES && x86_branch8(p) ? at + 2 + (uint64_t)(int64_t)(int8_t)p[1]
						       : 0;
}

size_t x86_branch_into(const uint8_t *code, size_t n, uint64_t addr, enum x86_branches kinds,
		       uint64_t first, uint64_t last, size_t from)
{
	for (size_t i = from; i < n; i++) {
		uint64_t to = target(code + i, n - i, addr + i, kinds);

		if (to > first && to < last)
			return i;
	}
	return n;
}

bool x86_code_branches_into(const uint8_t *code, size_t n, uint64_t addr, uint64_t first,
			    uint64_t last)
{
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool hit = !insn;	/* nobody can tell */

	while (!hit && n) {
		const uint8_t *bytes = code;
		struct x86_instr one;

		if (!cs_disasm_iter(handle, &code, &n, &addr, insn)) {
			code++;
			addr++;
			n--;
			continue;
		}
		x86_instr_of(handle, insn, &one);
		if (x86_is_direct(&one)) {
			uint64_t to = x86_target(&one, bytes, addr - one.len);

			hit = to > first && to < last;
		}
	}
	if (insn)
		cs_free(insn, 1);
	return hit;
}

bool x86_instr_begins(const uint8_t *code, size_t n, size_t at, size_t first)
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
