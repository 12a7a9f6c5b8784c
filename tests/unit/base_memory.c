/* How much memory there is: more than none, not more than the machine has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/sysinfo.h>

#include <cmocka.h>

#include "base/memory.h"

static void is_possible(void **state)
{
	struct sysinfo info;
	uint64_t all, first;

	(void)state;
	assert_int_equal(sysinfo(&info), 0);
	all = (uint64_t)info.totalram * info.mem_unit;
	for (int i = 0; i < 3; i++) {
		first = memory_available();
		assert_true(first > 1 << 20);
		assert_true(first <= all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(is_possible) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
