/*
 * recorder_hooks.c - the table says HOOK exactly where the recorder has a hook.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/syscall.h>

#include "recorder/internal.h"

/* HOOK without a function in the hooks' arrays, and why. */
static const struct { uint64_t nr; const char *why; } elsewhere[] = {
	{ SYS_restart_syscall, "rec_syscall_exit() ends the call that was interrupted" },
};

static bool is_elsewhere(uint64_t nr)
{
	for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		if (elsewhere[i].nr == nr)
			return true;
	}
	return false;
}

static void table_and_hooks_agree(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (uint64_t nr = 0; nr < SYS_ROWS; nr++) {
		bool row = sys_rows[nr].hook && sys_rows[nr].replay != REPLAY_UNSUPPORTED;
		bool hook = rec_hook_for(nr) != NULL;

		if (row == (hook || is_elsewhere(nr)))
			continue;
		wrong++;
		print_error("%lu %s: %s\n", (unsigned long)nr, sys_name(nr) ? sys_name(nr) : "?",
			    row ? "the table says HOOK, recorder/ has none" : "recorder/ has a hook, the table does not say so");
	}
	assert_int_equal(wrong, 0);
}

static void exceptions_are_needed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		assert_true(sys_rows[elsewhere[i].nr].hook);
		assert_null(rec_hook_for(elsewhere[i].nr));
	}
}

static void no_hook_outside_the_table(void **state)
{
	(void)state;
	assert_null(rec_hook_for(SYS_ROWS));
	assert_null(rec_hook_for(~0ull));
	for (uint64_t nr = 0; nr < SYS_ROWS; nr++) {
		if (rec_hook_for(nr) && !sys_name(nr))
			fail_msg("%lu has a hook and no name", (unsigned long)nr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_and_hooks_agree),
		cmocka_unit_test(exceptions_are_needed),
		cmocka_unit_test(no_hook_outside_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
