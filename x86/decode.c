#include "x86/decode.h"

#include <capstone/capstone.h>
#include <string.h>

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
