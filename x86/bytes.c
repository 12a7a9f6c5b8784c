/*
 * bytes.c - prefixes, ModRM.
 */
#include "x86/bytes.h"

struct x86_prefixes x86_prefixes_of(const uint8_t *code, unsigned max)
{
	struct x86_prefixes p = { 0 };

	for (; p.n < max; p.n++) {
		uint8_t b = code[p.n];

		if ((b & 0xf0) == 0x40) {
			p.rex = b;
			continue;
		}
		if (b == 0xf2 || b == 0xf3)
			p.rep = true;
		else if (b == 0xf0)
			p.lock = true;
		else if (b == 0x67)
			p.address = true;
		else if (b == 0x26 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x64 || b == 0x65)
			p.segment = true;
		else if (b != 0x66)
			break;
		p.rex = 0;	/* it counts only as the last */
	}
	return p;
}

bool x86_repeats(const uint8_t *code, const struct x86_prefixes *prefixes)
{
	uint8_t opcode = code[prefixes->n];

	/* movs, cmps; stos, lods, scas; ins, outs */
	return prefixes->rep && ((opcode & 0xfc) == 0xa4 || (opcode >= 0xaa && opcode <= 0xaf) ||
				 (opcode & 0xfc) == 0x6c);
}

struct x86_modrm x86_modrm_of(const uint8_t *code)
{
	unsigned mod = code[0] >> 6, rm = code[0] & 7;
	bool sib = mod != 3 && rm == 4;
	struct x86_modrm m = { .memory = mod != 3, .rip = mod == 0 && rm == 5 };

	if (mod == 1)
		m.disp = 1;
	else if (mod == 2 || m.rip || (mod == 0 && sib && (code[1] & 7) == 5))
		m.disp = 4;
	m.len = (uint8_t)(1 + sib + m.disp);
	return m;
}
