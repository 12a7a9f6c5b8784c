/*
 * replayer_hostile.c - traces that were made to do harm: what their events say has happened, and
 * replays that have no end.
 */
#include "tests/unit/replayer_hostile.h"

/* ---- effects ------------------------------------------------------------------------------- */

static const uint64_t around_fixed[][2] = {
	{ FIXED_PAGE, 0x1000 }, { FIXED_PAGE - 0x1000, 0x2000 }, { FIXED_PAGE - 0x1000, 0x100000 }, { FIXED_PAGE, 1 },
	{ FIXED_PAGE + 0x1000, 0x1000 }, { FIXED_END - 1, 0x1000 }, { FIXED_PAGE - 1, 2 }, { 0x10000, 0x7fffffff0000 },
	{ FIXED_PAGE - 0x1000, 0xffffffffffffffff }, { 0, 0xffffffffffffffff }, { 0xfffffffffffff000, 0x1000 },
	{ FIXED_PAGE - 0x1000, 0x1001 }, { 0xffffffffff600000, 0x1000 },
};

static void effects_on_the_fixed_page(void **state)
{
	static const enum trace_effect_kind kinds[] = { TRACE_MAP, TRACE_UNMAP, TRACE_PROTECT, TRACE_ADVISE, TRACE_SUM };

	(void)state;
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (unsigned i = 0; i < sizeof(around_fixed) / sizeof(around_fixed[0]); i++) {
			char what[96];

			quiet_program();
			effect(kinds[k], around_fixed[i][0], around_fixed[i][1])->x = kinds[k] == TRACE_ADVISE ? 4 : 3;
			snprintf(what, sizeof(what), "%s 0x%lx+0x%lx", trace_effect_name(kinds[k]),
				 (long)around_fixed[i][0], (long)around_fixed[i][1]);
			effect_refused(what);
		}
	}
}

static void moves_and_writes_on_the_fixed_page(void **state)
{
	static const uint64_t moves[][4] = {	/* from, length, to, length */
		{ FIXED_PAGE, 0x1000, DATA, 0x1000 }, { DATA, 0x1000, FIXED_PAGE, 0x1000 },
		{ DATA, 0x1000, FIXED_PAGE - 0x1000, 0x2000 }, { DATA, 0x1000, FIXED_PAGE - 0x1000, 0x1001 },
		{ DATA, 0x1000, DATA, 0x70000000 }, { DATA, 0x1000, FIXED_PAGE - 0x1000, ~0ull },
		{ DATA, ~0ull, STACK, 0x1000 }, { DATA, 0, FIXED_PAGE, 0x1000 },
	};
	static const uint8_t nop[] = { 0x90, 0x90, 0x90, 0x90 };

	(void)state;
	for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		struct trace_effect *e;

		quiet_program();
		e = effect(TRACE_MOVE, moves[i][0], moves[i][1]);
		e->x = moves[i][2];
		e->y = moves[i][3];
		effect_refused("a move");
	}
	for (int delta = -3; delta < 8; delta += 3) {
		quiet_program();
		effect_data(TRACE_WRITE, (uint64_t)(FIXED_PAGE + delta), nop, sizeof(nop));
		effect_refused("a write to the fixed page");
	}
	quiet_program();
	effect_data(TRACE_WRITE, ~0ull - 1, nop, sizeof(nop));
	effect_refused("a write across the end of the address space");
}

/* A stack above the reserved range may not grow into it. */
static void stack_into_the_fixed_page(void **state)
{
	static const uint8_t touch[] = { 0x48, 0x89, 0x07, 0x0f, 0x0b };	/* mov %rax,(%rdi); ud2 */

	(void)state;
	for (uint64_t at = FIXED_PAGE - 0x1000; at < FIXED_END; at += 0x1000) {
		struct regs regs = regs_at(CODE);
		struct trace_effect *e;

		regs.rdi = at;
		trace_begin();
		program(touch, sizeof(touch), &regs);
		begin_of(TRACE_NOTE, 1);
		e = effect(TRACE_MAP, FIXED_END, 0x1000);
		e->x = PROT_READ | PROT_WRITE | PROT_EXEC;
		e->y = (uint64_t)MAP_GROWSDOWN << 8;
		commit();
		begin_of(TRACE_SYSCALL, 1);
		event.regs = regs_at(CODE);
		commit();
		trace_end();
		refused("a stack that grows over the fixed page");
	}
}

static void unmap_everything(void **state)
{
	(void)state;
	quiet_program();
	effect(TRACE_UNMAP, 0, FIXED_PAGE);
	effect(TRACE_UNMAP, FIXED_END, 0x7ffffffff000 - FIXED_END);
	commit();
	begin_of(TRACE_SYSCALL, 1);
	event.regs = regs_at(CODE);
	effect_refused("nothing left to run");
}

static void absurd_registers(void **state)
{
	static const struct { const char *name; size_t word; uint64_t value; } odd[] = {
		{ "cs of the kernel", 17, 0x10 }, { "cs 0", 17, 0 }, { "ss of the kernel", 20, 0x18 }, { "cs of nobody", 17, 0xfffb },
		{ "fs_base", 21, 0x8000000000000000 }, { "gs_base of the kernel", 22, 0xffff888000000000 },
		{ "rip of the kernel", 16, 0xffffffff81000000 }, { "rip not canonical", 16, 0x0001000000000000 },
		{ "all flags", 18, ~0ull }, { "single step", 18, 0x302 }, { "nested task", 18, 0x4202 }, { "ds", 23, 0xffff },
		{ "fs", 25, 0x10 }, { "rip in the fixed page", 16, FIXED_PAGE + 2 }, { "i/o privilege", 18, 0x3202 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		static const uint8_t code[] = { 0x0f, 0x0b };
		struct regs regs = regs_at(CODE);

		((uint64_t *)&regs)[odd[i].word] = odd[i].value;
		trace_begin();
		program(code, sizeof(code), &regs);
		begin_of(TRACE_NOTE, 1);	/* our own calls with these registers */
		effect(TRACE_MAP, 0x400000, 0x1000)->x = 3;
		commit();
		begin_of(TRACE_SYSCALL, 1);
		event.regs = regs_at(CODE);
		commit();
		trace_end();
		refused(odd[i].name);
	}
}

static void absurd_effects(void **state)
{
	static uint8_t junk[4096];
	struct trace_effect *e;
	struct regs regs = regs_at(CODE);

	(void)state;
	memset(junk, 0xff, sizeof(junk));
	quiet_program();
	e = effect(TRACE_MAP, 0x400000, 0x1000);
	e->x = PROT_READ;
	e->y = TRACE_MAP_FILE;
	e->object = 7;
	effect_refused("an object nobody defined");

	quiet_program();
	e = effect(TRACE_OBJECT, 0, 0);
	e->object = 0xffffffff;
	e->x = TRACE_OBJECT_MEMORY;
	effect_refused("an object with an absurd number");

	quiet_program();
	e = effect(TRACE_OBJECT, 0, 0x1000);
	e->object = 3;
	e->x = TRACE_OBJECT_MEMORY;
	e = effect_data(TRACE_WRITE, 1ull << 63, junk, 16);
	e->object = 3;
	effect_refused("a write before the start of an object");

	quiet_program();
	e = effect(TRACE_OBJECT, 0, 0x1000);
	e->object = 3;
	e->x = TRACE_OBJECT_MEMORY;
	e = effect(TRACE_MAP, 0x400000, 0x1000);
	e->y = TRACE_MAP_SHARED;
	e->object = 3;
	e->offset = 0x7ffffffffffff000;
	effect_refused("a mapping beyond the end of all files");

	quiet_program();
	effect(TRACE_MAP, 0x400000, 0x1000)->x = ~0ull;
	effect_refused("all protections");

	quiet_program();
	effect(TRACE_MAP, 0x400001, 0x1000)->x = 3;
	effect_refused("an odd address");

	quiet_program();
	effect_data(TRACE_XSTATE, 0, junk, 832);
	effect_refused("junk as vector state");

	quiet_program();
	e = effect_data(TRACE_TASK, 0, &regs, sizeof(regs));
	e->object = 2;
	e = effect_data(TRACE_TASK, 0, &regs, sizeof(regs));
	e->object = 2;
	effect_refused("a task twice");

	quiet_program();
	effect_data(TRACE_WITNESS, 0xdead0000, junk, 64);
	effect_refused("a witness where nothing is");

	quiet_program();
	effect(TRACE_ECHO, 0xdead0000, 64)->object = 1;
	effect_refused("output from where nothing is");
}

/* Advice that harms the machine (MADV_HWPOISON, MADV_SOFT_OFFLINE; they need a capability). */
static void dangerous_advice(void **state)
{
	(void)state;
	without_capabilities = true;
	for (uint64_t advice = 100; advice <= 101; advice++) {
		quiet_program();
		effect(TRACE_ADVISE, DATA, 0x1000)->x = advice;
		effect_refused("advice that breaks memory");
	}
	without_capabilities = false;
}

/* One write(2) moves at most 2 GB. */
static void endless_output(void **state)
{
	(void)state;
	quiet_program();
	effect(TRACE_MAP, 0x100000000000, 0x100000000000)->x = PROT_READ;
	effect(TRACE_ECHO, 0x100000000000, 0x100000000000)->object = 1;
	effect_refused("output of 16 TB");
}

/* A point in computing code is compared by ranges that the trace names. */
static void points_that_lie(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(around_fixed) / sizeof(around_fixed[0]); i++) {
		for (unsigned kind = 0; kind < 2; kind++) {
			quiet_program();
			commit();
			begin_of(TRACE_SWITCH, 1);
			event.place = TRACE_AT_STATE;
			event.regs = regs_at(CODE);
			effect(TRACE_SUM, around_fixed[i][0], around_fixed[i][1])->y = kind;
			effect(TRACE_POINT, 0, 0)->object = 1;
			commit();
			begin_of(TRACE_SYSCALL, 1);
			event.regs = regs_at(CODE);
			effect_refused("a point with a sum of memory that is not the program's");
		}
	}
}

static void unknown_tasks(void **state)
{
	(void)state;
	for (unsigned kind = TRACE_SYSCALL; kind < TRACE_KIND_COUNT; kind++) {
		quiet_program();
		begin_of((enum trace_event_kind)kind, 99);
		effect_refused("an event of an unknown task");
		trace_begin();
		begin_of((enum trace_event_kind)kind, 1);
		effect_refused("an event before the first exec");
	}
	quiet_program();
	begin_of(TRACE_EXEC, 2);
	effect_refused("an exec of an unknown task");
	quiet_program();
	begin_of(TRACE_EXIT, 1);
	commit();
	begin_of(TRACE_EXIT, 1);
	effect_refused("a second end");
}

static void ends_of_everybody(void **state)
{
	struct regs regs = regs_at(CODE);
	int code;

	(void)state;
	quiet_program();
	for (uint32_t i = 0; i < 20; i++) {
		struct trace_effect *e = effect_data(TRACE_TASK, i % 2 ? CLONE_VM : 0, &regs, sizeof(regs));

		e->object = 10 + i;
	}
	commit();
	begin_of(TRACE_EXIT, 1);	/* the parent first; its children have no end */
	commit();
	trace_end();
	code = outcome("children without an end");
	assert_int_equal(code, OK_END);
}

/* Thousands of tasks: either they are refused, or all of them are gone afterwards. */
static void many_tasks(void **state)
{
	struct regs regs = regs_at(CODE);

	(void)state;
	quiet_program();
	commit();
	for (uint32_t i = 0; i < 4000; i++) {
		struct trace_effect *e;

		begin_of(TRACE_NOTE, 1);
		e = effect_data(TRACE_TASK, 0, &regs, sizeof(regs));
		e->object = 10 + i;
		commit();
	}
	begin_of(TRACE_SYSCALL, 5000);
	effect_refused("thousands of tasks");
}

/* Content in the trace that is something else by now. */
static void objects_that_lie(void **state)
{
	char path[256], link[512], cmd[600];
	struct trace_effect *e;
	struct stat st;
	uint32_t object;
	bool fresh;
	int fd;

	(void)state;
	for (int how = 0; how < 4; how++) {
		quiet_program();
		path_in(path, test_dir, "content");
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(write(fd, canary, sizeof(canary)), sizeof(canary));
		assert_return_code(fstat(fd, &st), errno);
		OK(trace_writer_file(writer, fd, &st, false, &object, &fresh));
		e = effect(TRACE_OBJECT, 0, 0);
		trace_writer_object_effect(writer, object, path, e);
		snprintf(link, sizeof(link), "%s/files/%s", test_trace, (const char *)e->data);
		e = effect(TRACE_MAP, 0x400000, 0x1000);
		e->x = PROT_READ;
		e->y = TRACE_MAP_FILE;
		e->object = object;
		commit();
		trace_end();
		close(fd);
		assert_return_code(unlink(link), errno);
		if (how == 0)
			assert_return_code(symlink("/etc/passwd", link), errno);
		else if (how == 1)
			assert_return_code(mkfifo(link, 0600), errno);
		else if (how == 2)
			assert_return_code(mkdir(link, 0700), errno);
		snprintf(cmd, sizeof(cmd), "object content replaced (%d)", how);
		refused(cmd);
	}
}

/* ---- no end ---------------------------------------------------------------------------------- */

static void ended_by(int sig)
{
	int status, null = open("/dev/null", O_WRONLY);
	pid_t pid = start_replay(null);

	close(null);
	assert_false(ends_within(pid, 1, &status));
	kill(pid, sig);
	assert_true(ends_within(pid, 5, &status));
	assert_true(WIFSIGNALED(status));
	nobody_left();
}

/* A program may compute for ever; there is no telling.  But whoever asked for the replay can end it. */
static void endless_loop(void **state)
{
	(void)state;
	quiet_program();
	commit();
	begin_of(TRACE_SYSCALL, 1);
	event.regs = regs_at(CODE);
	commit();
	trace_end();
	ended_by(SIGTERM);
	ended_by(SIGINT);
	ended_by(SIGKILL);
}

/* Programs do map terabytes, so a sum over them is legal, and takes its time. */
static void endless_sum(void **state)
{
	struct trace_effect *e;

	(void)state;
	quiet_program();
	effect(TRACE_MAP, 0x100000000000, 0x100000000000)->x = PROT_READ;
	e = effect(TRACE_SUM, 0x100000000000, 0x100000000000);
	e->y = 1;	/* all pages */
	commit();
	trace_end();
	ended_by(SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(effects_on_the_fixed_page),
		cmocka_unit_test(moves_and_writes_on_the_fixed_page),
		cmocka_unit_test(stack_into_the_fixed_page),
		cmocka_unit_test(unmap_everything),
		cmocka_unit_test(absurd_registers),
		cmocka_unit_test(absurd_effects),
		cmocka_unit_test(dangerous_advice),
		cmocka_unit_test(endless_output),
		cmocka_unit_test(points_that_lie),
		cmocka_unit_test(unknown_tasks),
		cmocka_unit_test(ends_of_everybody),
		cmocka_unit_test(many_tasks),
		cmocka_unit_test(objects_that_lie),
		cmocka_unit_test(endless_loop),
		cmocka_unit_test(endless_sum),
	};

	return cmocka_run_group_tests(tests, hostile_setup, test_teardown);
}
