#include "x86/decode.h"

#include <capstone/capstone.h>
#include <string.h>

/*
 * Capstone's table of processors names all that it knows.  With these in their place a program that
 * Capstone is linked into is without the others' tables, most of what the loader would have to
 * relocate.  cs_open() fails for them.
 */
#define NOT_LINKED_IN(processor)                                                                   \
	__attribute__((weak)) int processor##_global_init(void *handle);                           \
	__attribute__((weak)) int processor##_option(void *handle, cs_opt_type type, \
						     size_t value); \
	int processor##_global_init(void *handle)                                                  \
	{                                                                                          \
		(void)handle;                                                                      \
		return CS_ERR_ARCH;                                                                \
	}                                                                                          \
	int processor##_option(void *handle, cs_opt_type type, size_t value)                       \
	{                                                                                          \
		(void)handle, (void)type, (void)value;                                             \
		return CS_ERR_OPTION;                                                              \
	}
NOT_LINKED_IN(AArch64)
NOT_LINKED_IN(ARM)
NOT_LINKED_IN(EVM)
NOT_LINKED_IN(M680X)
NOT_LINKED_IN(M68K)
NOT_LINKED_IN(Mips)
NOT_LINKED_IN(PPC)
NOT_LINKED_IN(Sparc)
NOT_LINKED_IN(SystemZ)
NOT_LINKED_IN(TMS320C64x)
NOT_LINKED_IN(XCore)

static csh open_with(cs_opt_type option)
{
	csh handle;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return 0;
	if (option != CS_OPT_INVALID)
		cs_option(handle, option, CS_OPT_ON);
	return handle;
}

uintptr_t decoder(void)
{
	static csh handle;

	if (!handle)
		handle = open_with(CS_OPT_DETAIL);
	return handle;
}

uintptr_t decoder_plain(void)
{
	static csh handle;

	if (!handle)
		handle = open_with(CS_OPT_INVALID);
	return handle;
}

uintptr_t decoder_open(enum decode_mode mode)
{
	return open_with(mode == DECODE_SKIP ? CS_OPT_SKIPDATA : CS_OPT_DETAIL);
}

void decoder_close(uintptr_t handle)
{
	csh open = handle;

	if (open)
		cs_close(&open);
}

/*
 * How long is a VEX or EVEX instruction that Capstone does not know (4.0 knows few of AVX-512's)?
 * All have ModRM but one; constants of one byte have those of map 3 and some of map 1.  None is a
 * branch.  0: it is something else, or cut.
 */
static unsigned vector_len(const uint8_t *b, size_t room, unsigned *modrm_at)
{
	static const uint8_t with_constant[] = { 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6 };
	unsigned map = 1, at;
	uint8_t opcode, modrm;

	if (room < 15 || (b[0] != 0x62 && b[0] != 0xc4 && b[0] != 0xc5))
		return 0;
	at = b[0] == 0x62 ? 4 : b[0] == 0xc4 ? 3 : 2;
	if (b[0] != 0xc5)
		map = b[0] == 0x62 ? b[1] & 7 : b[1] & 31;
	opcode = b[at++];
	if (map == 1 && opcode == 0x77)
		return at;
	*modrm_at = at;
	modrm = b[at++];
	if ((modrm & 0xc0) != 0xc0 && (modrm & 7) == 4) {
		if ((modrm & 0xc0) == 0 && (b[at] & 7) == 5)
			at += 4;
		at++;
	}
	at += (modrm & 0xc0) == 0x40 ? 1 : (modrm & 0xc0) == 0x80 || (modrm & 0xc7) == 0x05 ? 4 : 0;
	if (map == 1 && memchr(with_constant, opcode, sizeof(with_constant)))
		at++;
	return map == 3 ? at + 1 : at;
}

/* As Capstone would say it, as far as x86/instr.h asks. */
static bool next_vector(const uint8_t **p, size_t *room, uint64_t *at, cs_insn *insn)
{
	cs_detail *detail = insn->detail;
	unsigned modrm_at = 0, len = vector_len(*p, *room, &modrm_at);

	if (!len)
		return false;
	memset(detail, 0, sizeof(*detail));
	*insn = (cs_insn){ .address = *at, .size = (uint16_t)len, .detail = detail };
	memcpy(insn->bytes, *p, len);
	if (modrm_at && (insn->bytes[modrm_at] & 0xc0) != 0xc0) {
		detail->x86.op_count = 1;
		detail->x86.operands[0].type = X86_OP_MEM;
	}
	if (modrm_at && (insn->bytes[modrm_at] & 0xc7) == 0x05) {
		detail->x86.operands[0].mem.base = X86_REG_RIP;
		detail->x86.encoding.disp_offset = (uint8_t)(modrm_at + 1);
	}
	*p += len;
	*room -= len;
	*at += len;
	return true;
}

bool decode_next(uintptr_t handle, const uint8_t **p, size_t *room, uint64_t *at, cs_insn *insn)
{
	return cs_disasm_iter(handle, p, room, at, insn) || next_vector(p, room, at, insn);
}

static unsigned length_at_end(csh cs, cs_insn *insn, const uint8_t *p, uint64_t at, uint64_t end)
{
	while (at < end) {
		size_t room = end - at;

		if (!cs_disasm_iter(cs, &p, &room, &at, insn)) {
			p++;
			at++;
		} else if (at == end) {
			return insn->size;
		}
	}
	return 0;
}

void decode_votes(const uint8_t *code, unsigned len, uint64_t addr, unsigned runs,
		  unsigned votes[DECODE_LONGEST + 1])
{
	csh cs = decoder();
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;

	memset(votes, 0, (DECODE_LONGEST + 1) * sizeof(*votes));
	if (!insn)
		return;
	for (unsigned i = 0; i < runs && i < len; i++)
		votes[length_at_end(cs, insn, code + i, addr + i, addr + len)]++;
	cs_free(insn, 1);
}

uint64_t decode_call(const uint8_t code[5], uint64_t back_to)
{
	int32_t to;

	if (code[0] != 0xe8)
		return 0;
	memcpy(&to, code + 1, sizeof(to));
	return back_to + (uint64_t)(int64_t)to;
}
