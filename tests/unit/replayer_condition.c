/*
 * condition.c and inprocess_stub.c: a condition that names threads is one that is decided inside the process, not a stop each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replayer/stops/condition.h"
#include "replayer/stops/inprocess.h"

/* !($rsp < 0x1000): as callee.c has it */
static const uint8_t stack[] = { 0, 14, 0x26, 0, 7, 0x25, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x15, 0x27 };

static void compiled(bool with_stack, unsigned threads)
{
	static const uint64_t fs_base[3] = { 0x7f0000001740, 0x7f0000002740, 0 };
	struct stops *d = calloc(1, sizeof(*d));
	struct replay r = { .tool = { [TOOL_STOPS] = d } };
	struct inprocess inprocess = { .area = 0x10000000, .slot = 0x10000000 + DATA + SLOT };
	uint64_t reg[REGS_WORDS];
	uint8_t code[STUB_ROOM];
	unsigned hit[33], cond = 0;

	assert_non_null(d);
	if (with_stack)
		cond = replay_condition(&r, stack, sizeof(stack));
	cond = replay_condition_threads(&r, cond, fs_base, threads);
	inprocess_saved_places(&inprocess, reg);
	assert_true(rp_cond_compile(&d->conds[cond - 1], code, sizeof(code), inprocess.area + PAGE_BYTES, reg, hit) > 0);
	assert_true(hit[0] > 0);
	for (unsigned i = 0; i < d->conds_n; i++)
		free(d->conds[i].bytes);
	free(d->conds);
	free(d);
}

static void one_thread(void **state)
{
	(void)state;
	compiled(false, 1);
}

static void threads_and_stack(void **state)
{
	(void)state;
	compiled(true, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(one_thread), cmocka_unit_test(threads_and_stack) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
