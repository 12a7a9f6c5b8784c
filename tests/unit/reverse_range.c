/*
 * reverse_range.c - the ways out of a range of code, as breakpoints for a step by lines: which there are, and when not all are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "replayer/machine/task.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/sets.h"

static uint8_t code[32768];

struct fake {
	struct replay r;
	struct stops stops;
	struct rp_task task;
};

static void fake_init(struct fake *f, const void *bytes, size_t len)
{
	static const struct replay_break none;

	*f = (struct fake){ .task = { .serial = 1, .rec_pid = 9, .real = getpid(), .mm = rp_mm_create() } };
	f->task.regs.rip = (uint64_t)(uintptr_t)code;
	f->r.tool[TOOL_STOPS] = &f->stops;
	memset(code, 0x90, sizeof(code));
	memcpy(code, bytes, len);
	assert_int_equal(rp_set_intern(&f->r, &none, 0), 0);	/* so that 0 is no answer of a range */
}

static void fake_deinit(struct fake *f)
{
	for (unsigned i = 0; i < f->stops.sets_n; i++) {
		free(f->stops.sets[i]->b);
		free(f->stops.sets[i]);
	}
	free(f->stops.sets);
	rp_mm_put(f->task.mm);
}

/* The offsets of the exits of code[0..len), ended by -1, are want. */
static void exits(const void *bytes, size_t len, const int *want)
{
	struct fake f;
	const struct rp_set *s;
	unsigned set, n = 0;

	fake_init(&f, bytes, len);
	set = rp_range_exits(&f.r, &f.task, (uint64_t)(uintptr_t)code, (uint64_t)(uintptr_t)code + len);
	assert_int_not_equal(set, 0);
	s = f.stops.sets[set];
	for (; want[n] >= 0; n++) {
		bool found = false;

		for (unsigned i = 0; i < s->n; i++)
			found |= s->b[i].kind == REPLAY_BREAK && s->b[i].pid == 9 && s->b[i].addr == (uint64_t)(uintptr_t)code + (unsigned)want[n];
		assert_true(found);
	}
	assert_int_equal(s->n, n);
	fake_deinit(&f);
}
#define EXITS(bytes, ...) exits(bytes, sizeof(bytes) - 1, (const int[]){ __VA_ARGS__, -1 })

static void test_exits(void **state)
{
	(void)state;
	EXITS("\x90\x90\x90", 3);				/* only the end */
	EXITS("\x74\x10\x90", 18, 3);				/* je +16 */
	EXITS("\x90\x74\xfd\x90", 4);				/* je back to the start: no exit */
	EXITS("\xe8\x20\x00\x00\x00\x90", 37, 6);		/* call +32 */
	EXITS("\xc3\x90", 0, 2);				/* ret: itself */
	EXITS("\xff\xe0\x90", 0, 3);				/* jmp *%rax: itself */
	EXITS("\xff\xd0\x90", 0, 3);				/* call *%rax: itself */
	EXITS("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10);	/* one instruction */
	EXITS("\x90\x90\x48\xb8\x01\x02", 12);			/* its last instruction reaches over the end */
}

static unsigned asked(struct fake *f, int64_t from, uint64_t end)
{
	return rp_range_exits(&f->r, &f->task, (uint64_t)(uintptr_t)code + (uint64_t)from, (uint64_t)(uintptr_t)code + end);
}

static void test_unknown(void **state)
{
	struct fake f;

	(void)state;
	fake_init(&f, "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08\xc7\xf8\x00\x00\x00\x00\x06", 17);
	assert_int_not_equal(asked(&f, 0, 10), 0);
	f.task.regs.rip += 3;
	assert_int_equal(asked(&f, 0, 10), 0);		/* the task is in the middle of an instruction */
	f.task.regs.rip -= 3;
	assert_int_equal(asked(&f, 0, 16), 0);		/* xbegin may come back from anywhere */
	assert_int_equal(asked(&f, 0, 17), 0);		/* 06: no instruction */
	assert_int_equal(asked(&f, 10, 10), 0);		/* nothing */
	assert_int_equal(asked(&f, 10, 5), 0);
	f.task.regs.rip += 32;
	assert_int_not_equal(asked(&f, 32, 32 + 16384), 0);
	assert_int_equal(asked(&f, 32, 32 + 16385), 0);	/* too much */
	assert_int_equal(asked(&f, -(int64_t)(uintptr_t)code, 10), 0);
	memset(code + 32, 0xc3, 95);
	assert_int_not_equal(asked(&f, 32, 32 + 95), 0);
	memset(code + 32, 0xc3, 200);
	assert_int_equal(asked(&f, 32, 32 + 200), 0);	/* more exits than there is room for */
	fake_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_exits), cmocka_unit_test(test_unknown) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
