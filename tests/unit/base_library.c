/* Which files are the C library's and the loader's, by their paths; and beginnings of strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/library.h"
#include "base/text.h"

static void test_libraries(void **state)
{
	static const struct { const char *path; bool c, loader, cxx; } rows[] = {
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", true, false, false },
		{ "/lib/libc-2.31.so", true, false, false },
		{ "/lib/libpthread.so.0", true, false, false },
		{ "/lib64/ld-linux-x86-64.so.2", true, true, false },
		{ "/lib/ld-musl-x86_64.so.1", true, true, false },
		{ "/usr/lib/libstdc++.so.6", false, false, true },
		{ "/usr/lib/libc++.so.1", false, false, true },
		{ "/home/u/libcache.so", false, false, false },
		{ "libc.so", false, false, false },
		{ "", false, false, false },
		{ NULL, false, false, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(library_is_c(rows[i].path), rows[i].c);
		assert_int_equal(library_is_loader(rows[i].path), rows[i].loader);
		assert_int_equal(library_is_cxx(rows[i].path), rows[i].cxx);
	}
}

static void test_begins(void **state)
{
	(void)state;
	assert_true(text_begins("lua_pcall", "lua_"));
	assert_true(text_begins("lua_", "lua_"));
	assert_true(text_begins("lua_", ""));
	assert_false(text_begins("lua", "lua_"));
	assert_false(text_begins("Lua_pcall", "lua_"));
	assert_false(text_begins(NULL, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
