/* debugger_memory.c: memory of a debugger's, read while there is no copy that has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replayer/session/session.h"

enum { LEN = 4096, PID = 100, BASE = 0x10000 };

static struct session session;
static struct replay replay;

static int setup(void **state)
{
	(void)state;
	session = (struct session){ .memory_n = 2 };
	session.memory = calloc(2, sizeof(*session.memory));
	if (!session.memory)
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		session.memory[i] = (struct debugger_memory){
			.pid = PID + (int)i, .addr = BASE, .len = LEN, .bytes = malloc(LEN)
		};
		if (!session.memory[i].bytes)
			return -1;
		memset(session.memory[i].bytes, (int)(1 + i), LEN);
	}
	replay.tool[TOOL_SESSION] = &session;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	debugger_memory_deinit(&session);
	return 0;
}

/* Each process has its own at the same address; what lies across the end is cut there. */
static void test_read(void **state)
{
	uint8_t buf[64];

	(void)state;
	assert_int_equal(debugger_memory_read(&replay, PID, BASE, buf, sizeof(buf)), sizeof(buf));
	assert_int_equal(buf[63], 1);
	assert_int_equal(debugger_memory_read(&replay, PID + 1, BASE + LEN - 8, buf, sizeof(buf)), 8);
	assert_int_equal(buf[7], 2);
	assert_int_equal(debugger_memory_read(&replay, PID, BASE + LEN, buf, 1), 0);
	assert_int_equal(debugger_memory_read(&replay, PID, BASE - 1, buf, 2), 0);
	assert_int_equal(debugger_memory_read(&replay, PID + 2, BASE, buf, 1), 0);
	assert_int_equal(debugger_memory_read(&replay, PID, ~0ull, buf, 1), 0);
}

static void test_without_session(void **state)
{
	struct replay none = { 0 };
	uint8_t buf[1];

	(void)state;
	assert_int_equal(debugger_memory_read(&none, PID, BASE, buf, 1), 0);
	assert_false(diversion_on(&replay));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_read), cmocka_unit_test(test_without_session) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
