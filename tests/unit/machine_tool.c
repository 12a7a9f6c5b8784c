/*
 * machine_tool.c - tools are asked in their order, the first that knows a stop decides, and one that is not registered is not asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replayer/machine/machine.h"
#include "replayer/machine/task.h"

enum { TOOL_PROBE = 1, TOOL_STOPS = 4 };

static char asked[64];
static enum run_verdict probe_says, stops_says;
static struct err refused = { .code = ERR_UNSUPPORTED };
static bool fails;

static void note(char who)
{
	size_t n = strlen(asked);

	assert_true(n + 1 < sizeof(asked));
	asked[n] = who;
}

static struct err *probe_signal(struct replay *r, struct rp_task *t, siginfo_t *info, bool ours, enum run_verdict *ret)
{
	(void)r, (void)t, (void)info, (void)ours;
	note('p');
	*ret = probe_says;
	return fails ? &refused : NULL;
}

static struct err *stops_signal(struct replay *r, struct rp_task *t, siginfo_t *info, bool ours, enum run_verdict *ret)
{
	(void)r, (void)t, (void)info, (void)ours;
	note('s');
	*ret = stops_says;
	return NULL;
}

static void probe_close(struct replay *r) { (void)r; note('p'); }
static void stops_close(struct replay *r) { (void)r; note('s'); }

static bool stops_owns(const struct rp_mm *mm, uint64_t addr) { (void)mm; return addr == 0x1000; }

static void freed(struct rp_mm *mm)
{
	note('f');
	free(mm->tool[TOOL_PROBE]);
}

static int set_up(void **state)
{
	static const struct run_ops probe = { .on_signal = probe_signal, .close = probe_close, .memory_freed = freed };
	static const struct run_ops stops = { .on_signal = stops_signal, .close = stops_close, .owns = stops_owns };

	(void)state;
	memset(asked, 0, sizeof(asked));
	probe_says = stops_says = RUN_NOT_MINE;
	fails = false;
	rp_tool_register(TOOL_STOPS, &stops);
	rp_tool_register(TOOL_PROBE, &probe);
	return 0;
}

static void in_order(void **state)
{
	struct replay r = { .where = 1 };
	enum run_verdict verdict;
	siginfo_t info = { 0 };

	(void)state;
	assert_null(rp_tools_on_signal(&r, NULL, &info, false, &verdict));
	assert_int_equal(verdict, RUN_NOT_MINE);
	assert_string_equal(asked, "ps");
	probe_says = RUN_GO_ON;
	assert_null(rp_tools_on_signal(&r, NULL, &info, false, &verdict));
	assert_int_equal(verdict, RUN_GO_ON);
	assert_string_equal(asked, "psp");
	probe_says = RUN_NOT_MINE;
	stops_says = RUN_STOP;
	assert_null(rp_tools_on_signal(&r, NULL, &info, false, &verdict));
	assert_int_equal(verdict, RUN_STOP);
	fails = true;
	assert_ptr_equal(rp_tools_on_signal(&r, NULL, &info, false, &verdict), &refused);
	assert_string_equal(asked, "pspps" "p");
}

static void closed_from_above(void **state)
{
	struct replay r = { .where = 1 };

	(void)state;
	rp_tools_close(&r);
	assert_string_equal(asked, "sp");
}

static void memory(void **state)
{
	struct rp_mm *mm = rp_mm_create();

	(void)state;
	assert_true(rp_tools_own(mm, 0x1000));
	assert_false(rp_tools_own(mm, 0x2000));
	mm->tool[TOOL_PROBE] = malloc(1);
	rp_mm_put(mm);		/* the slot goes with it */
	assert_string_equal(asked, "f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_order, set_up), cmocka_unit_test_setup(closed_from_above, set_up), cmocka_unit_test_setup(memory, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
