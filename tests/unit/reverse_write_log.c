/*
 * reverse_write_log.c - what an event writes to busy pages, and for which watchpoints an interval can be passed unseen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "replayer/reverse/reverse.h"

enum { PID = 9, PAGES = 8 };

static _Alignas(PAGE_BYTES) uint8_t pages[2][PAGE_BYTES];

struct fake {
	struct replay r;
	struct stops stops;
	struct timeline timeline;
	struct rp_task task;
	struct store_bitmap m;
};

static void fake_init(struct fake *f)
{
	*f = (struct fake){ .task = { .serial = 1, .rec_pid = PID, .real = getpid() } };
	f->r.tool[TOOL_STOPS] = &f->stops;
	f->r.tool[TOOL_TIMELINE] = &f->timeline;
	f->r.tasks = &f->task;
	f->m = (struct store_bitmap){ .pid = PID, .n = 2, .page = { (uint64_t)(uintptr_t)pages[0], (uint64_t)(uintptr_t)pages[1] } };
	f->stops.bitmap = &f->m;
	memset(pages, 0, sizeof(pages));
}

static unsigned stored(const struct fake *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < PAGE_BYTES; k++)
			n += f->m.byte[i][k] != 0;
	}
	return n;
}

static void test_event_writes(void **state)
{
	struct fake f;

	(void)state;
	fake_init(&f);
	write_log_event(&f.r, false);
	write_log_event(&f.r, true);
	assert_int_equal(stored(&f), 0);
	write_log_event(&f.r, false);
	pages[0][7] = 1;
	pages[1][PAGE_BYTES - 1] = 2;
	write_log_event(&f.r, true);
	assert_int_equal(stored(&f), 2);
	assert_true(f.m.byte[0][7] && f.m.byte[1][PAGE_BYTES - 1]);
	write_log_event(&f.r, false);	/* what was stored to stays so */
	pages[0][8] = 1;
	write_log_event(&f.r, true);
	assert_int_equal(stored(&f), 3);
}

static void test_event_unknown(void **state)
{
	struct fake f;

	(void)state;
	fake_init(&f);
	f.r.ev.kind = TRACE_EXEC;	/* other memory: anything may have been written */
	write_log_event(&f.r, false);
	assert_int_equal(stored(&f), 2 * PAGE_BYTES);
	fake_init(&f);
	f.m.page[1] = 0x1000;		/* cannot be read: the same for this page alone */
	write_log_event(&f.r, false);
	write_log_event(&f.r, true);
	assert_int_equal(stored(&f), PAGE_BYTES);
	assert_int_equal(f.m.byte[0][0], 0);
	fake_init(&f);
	f.task.rec_pid = PID + 1;	/* the process has ended */
	write_log_event(&f.r, false);
	write_log_event(&f.r, true);
	assert_int_equal(stored(&f), 2 * PAGE_BYTES);
}

static void test_clean_possible(void **state)
{
	struct replay_break b[2] = { { .kind = REPLAY_WRITE, .pid = PID, .addr = 0x1000, .len = 8 }, { .kind = REPLAY_WRITE, .pid = PID, .addr = 0x2000, .len = 1 } };
	struct rp_set set = { .b = b, .n = 2, .watches = 2 }, *sets[] = { &set };
	struct fake f;

	(void)state;
	fake_init(&f);
	f.stops.sets = sets;
	f.stops.sets_n = 1;
	assert_true(interval_clean_possible(&f.r));
	b[1].kind = REPLAY_ACCESS;	/* a read leaves no trace in memory */
	assert_false(interval_clean_possible(&f.r));
	b[1].kind = REPLAY_WRITE;
	f.timeline.caught_n = 1;	/* calls stop, too */
	assert_false(interval_clean_possible(&f.r));
	f.timeline.caught_n = 0;
	set.n = set.watches = 0;
	assert_false(interval_clean_possible(&f.r));
}

/* A fork shares its parent's pages until one of the two writes; only root sees which. */
static void test_pages_written(void **state)
{
	uint8_t *area = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rp_task older = { .real = getpid() }, newer = { 0 };
	uint64_t start, written[PAGES];
	int ready[2];
	unsigned n;
	char c;

	(void)state;
	assert_ptr_not_equal(area, MAP_FAILED);
	start = (uint64_t)(uintptr_t)area;
	madvise(area, PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
	memset(area, 1, PAGES * PAGE_BYTES);
	assert_int_equal(pipe(ready), 0);
	newer.real = fork();
	assert_true(newer.real >= 0);
	if (!newer.real) {
		area[3 * PAGE_BYTES] = 2;
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	n = rp_pages_written(&older, &newer, start, start + PAGES * PAGE_BYTES, written, PAGES);
	if (n == PAGES) {
		assert_int_equal(written[0], start);	/* the kernel does not tell: all of them */
	} else {
		assert_int_equal(n, 1);
		assert_int_equal(written[0], start + 3 * PAGE_BYTES);
	}
	assert_int_equal(rp_pages_written(&older, &newer, start + 3 * PAGE_BYTES, start + 4 * PAGE_BYTES, written, PAGES), 1);
	assert_int_equal(rp_pages_written(&older, &newer, start, start, written, PAGES), 0);
	kill(newer.real, SIGKILL);
	waitpid(newer.real, NULL, 0);
	newer.real = 0;		/* gone: nothing is known */
	assert_int_equal(rp_pages_written(&older, &newer, start, start + PAGES * PAGE_BYTES, written, 5), 5);
	munmap(area, PAGES * PAGE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_writes),
		cmocka_unit_test(test_event_unknown),
		cmocka_unit_test(test_clean_possible),
		cmocka_unit_test(test_pages_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
