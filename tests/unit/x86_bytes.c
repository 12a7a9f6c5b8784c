/* Prefixes and ModRM as bytes say them, against Capstone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <capstone/capstone.h>
#include <cmocka.h>

#include "x86/bytes.h"
#include "x86/decode.h"

static unsigned length_of(const uint8_t *code, unsigned room)
{
	cs_insn *insn;
	unsigned len = 0;

	if (cs_disasm(decoder(), code, room, 0x1000, 1, &insn) == 1) {
		len = insn->size;
		cs_free(insn, 1);
	}
	return len;
}

static void modrm_has_the_length_that_capstone_finds(void **state)
{
	(void)state;
	for (unsigned modrm = 0; modrm < 256; modrm++) {
		for (unsigned sib = 0; sib < 256; sib += modrm % 8 == 4 && modrm < 0xc0 ? 1 : 255) {
			uint8_t code[16] = { 0x48, 0x8b, (uint8_t)modrm, (uint8_t)sib };
			struct x86_modrm m = x86_modrm_of(code + 2);

			assert_int_equal(length_of(code, sizeof(code)), 2 + m.len);
			assert_int_equal(m.memory, modrm < 0xc0);
			assert_int_equal(m.rip, (modrm & 0xc7) == 0x05);
		}
	}
}

static void prefixes_are_counted(void **state)
{
	static const uint8_t legacy[] = { 0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65 };

	(void)state;
	for (unsigned i = 0; i < sizeof(legacy); i++) {
		uint8_t code[16] = { legacy[i], 0x48, 0x89, 0x03 };
		struct x86_prefixes p = x86_prefixes_of(code, 8);

		assert_int_equal(p.n, 2);
		assert_int_equal(p.rex, 0x48);
		assert_int_equal(p.rep, legacy[i] == 0xf2 || legacy[i] == 0xf3);
		assert_int_equal(p.address, legacy[i] == 0x67);
		assert_false(p.lock);
		assert_int_equal(p.segment, i >= 4);
		assert_int_equal(length_of(code, sizeof(code)), p.n + 2);
	}
	assert_int_equal(x86_prefixes_of((const uint8_t[]){ 0x48, 0x66, 0x89, 0 }, 3).rex, 0);
	assert_int_equal(x86_prefixes_of((const uint8_t[]){ 0x66, 0x66, 0x66, 0x90 }, 2).n, 2);
	assert_true(x86_prefixes_of((const uint8_t[]){ 0xf0, 0xff, 0 }, 2).lock);
}

static void only_string_instructions_repeat(void **state)
{
	static const uint8_t strings[] = { 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
					   0x6c, 0x6d, 0x6e, 0x6f };

	(void)state;
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		uint8_t with[] = { 0xf3, (uint8_t)opcode, 0 }, without[] = { (uint8_t)opcode, 0 };
		struct x86_prefixes p = x86_prefixes_of(with, 1), none = x86_prefixes_of(without, 0);

		assert_int_equal(x86_repeats(with, &p), memchr(strings, (int)opcode, sizeof(strings)) != NULL);
		assert_false(x86_repeats(without, &none));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modrm_has_the_length_that_capstone_finds),
		cmocka_unit_test(prefixes_are_counted),
		cmocka_unit_test(only_string_instructions_repeat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
