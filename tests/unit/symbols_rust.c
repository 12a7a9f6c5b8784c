/*
 * Names of Rust (v0): examples of each form; cut and changed names, which end soon and without harm; and with a file as argument, a line
 * for each mangled name on stdin.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/internal.h"

static const struct { const char *mangled, *want; } names[] = {
	{ "_RNvCs4Jz2Mtfmu5I_1v4main", "v::main" },
	{ "_RNvNtNtCs4Jz2Mtfmu5I_1vu7gre_2yar3abc1f", NULL },		/* no punycode */
	{ "_RNvNtCs1234_7mycrateu8gre_xka9c3foo", NULL },
	{ "_RNvNtCs1234_1au9gre_6jaalb3foo", NULL },
	{ "_RNvMs_Cs1234_1aNtB4_3Foo3bar", "<a::Foo>::bar" },
	{ "_RNvXs_Cs1234_1aNtB4_3FooNtB4_5Trait3bar", "<a::Foo as a::Trait>::bar" },
	{ "_RNvYNtCs1234_1a3FooNtB4_5Trait3bar", "<a::Foo as a::Trait>::bar" },
	{ "_RNCNvCs1234_1a4main0B3_", "a::main::{closure#0}" },
	{ "_RNCNvCs1234_1a4mains0_0B3_", "a::main::{closure#2}" },
	{ "_RNSNvCs1234_1a4main6vtable", "a::main::{shim:vtable#0}" },
	{ "_RINvCs1234_1a1fINtCs9_4core6OptionmEEB2_", "a::f::<core::Option<u32>>" },
	{ "_RINvCs1234_1a1fFG0_RL1_eQL0_Ahj4_ERL1_eEB2_", "a::f::<for<'a, 'b> fn(&'a str, &'b mut [u8; 4]) -> &'a str>" },
	{ "_RINvCs1234_1a1faKb1_Kc27_Kln5_KpEB2_", "a::f::<i8, true, '\\'', -5, _>" },
	{ "_RINvCs1234_1a1fTEThETshEPxOySaFUKCEzFK8rust_abiEuEB2_",
	  "a::f::<(), (u8,), (i16, u8), *const i64, *mut u64, [i8], unsafe extern \"C\" fn() -> !, extern \"rust-abi\" fn()>" },
	{ "_RINvCs1234_1a1fDNtB2_5Shapep4ItemjNtB2_4SendEL_EB2_", "a::f::<dyn a::Shape<Item = usize> + a::Send>" },
	{ "_RNvCs1234_1a8___unders", "a::__unders" },
	{ "_RNvCs1234_7___rustc14___rust_realloc", "__rustc::__rust_realloc" },
	{ "_RNvCs1234_1a3foo.llvm.1234", "a::foo" },
	{ "_RINvC1a1fKoffffffffffffffffffffffffffffffff_E", "a::f::<0xffffffffffffffffffffffffffffffff>" },
	{ "_RNvC1au7caf_dma", "a::café" },
	{ "_REGISTER", NULL }, { "_R", NULL }, { "_RN", NULL }, { "_RNvB_3foo", NULL }, { "_RNvC1a99999999999999999999x", NULL },
	{ "_RIIIIIIIIIIII", NULL }, { "_RNvC1a3foobar", NULL },
};

static void forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *got = rust_demangle(names[i].mangled);

		if (names[i].want && got)
			assert_string_equal(got, names[i].want);
		else if (names[i].want || got)
			fail_msg("%s: %s", names[i].mangled, got ? got : "nothing");
		free(got);
	}
}

/* Each byte of each name another one, and each beginning of it. */
static void changed(void **state)
{
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t at = 2; at < strlen(names[i].mangled); at++) {
			for (int c = 0; c < 256; c++) {
				snprintf(text, sizeof(text), "%s", names[i].mangled);
				text[at] = (char)c;
				free(rust_demangle(text));
			}
		}
	}
}

/* References to references, each twice: 2^60 names. */
static void doubled(void **state)
{
	char text[1024] = "_RINvC1a1fTmmE";
	size_t at = 8;		/* of the last tuple, behind "_R" */

	(void)state;
	for (int i = 0; i < 60; i++) {
		size_t here = strlen(text) - 2;
		char back[8];
		const char *digit = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

		if (at - 1 < 62)
			snprintf(back, sizeof(back), "B%c_", digit[at - 1]);
		else
			snprintf(back, sizeof(back), "B%c%c_", digit[(at - 1) / 62], digit[(at - 1) % 62]);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "T%s%sE", back, back);
		at = here;
	}
	strcat(text, "E");
	free(rust_demangle(text));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(forms), cmocka_unit_test(changed), cmocka_unit_test(doubled) };
	char line[1 << 16];

	(void)argv;
	while (argc > 1 && fgets(line, sizeof(line), stdin)) {
		char *got;

		line[strcspn(line, "\n")] = 0;
		got = rust_demangle(line);
		printf("%s\n", got ? got : line);
		free(got);
	}
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
