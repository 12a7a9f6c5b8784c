/* What was written is read: every kind, every size, from every position. */
#include "tests/unit/trace_common.h"

static void meta_and_totals(void **state)
{
	const struct trace_meta *want = test_meta(), *m;
	struct trace_totals t;
	struct trace_reader *r;

	(void)state;
	make_trace(NULL, 1, 10, 3, 1000);
	OK(trace_reader_open(test_trace, &r));
	m = trace_reader_meta(r);
	assert_int_equal(m->version, TRACE_VERSION);
	assert_string_equal(m->uuid, want->uuid);
	assert_int_equal(m->start_realtime_ns, want->start_realtime_ns);
	assert_string_equal(m->exe, want->exe);
	assert_string_equal(m->argv[0], "prog");
	assert_string_equal(m->argv[1], "an argument");
	assert_string_equal(m->argv[2], "");
	assert_null(m->argv[3]);
	assert_string_equal(m->cwd, want->cwd);
	assert_string_equal(m->uname, want->uname);
	assert_string_equal(m->cpu_model, want->cpu_model);
	assert_memory_equal(m->cpuid_features, want->cpuid_features, sizeof(m->cpuid_features));
	assert_int_equal(m->xcr0, want->xcr0);
	assert_int_equal(m->xsave_size, want->xsave_size);
	assert_string_equal(m->ticks, want->ticks);
	assert_true(m->cpuid_trapped && m->syscallbuf && !m->checksums);
	assert_string_equal(trace_reader_dir(r), test_trace);
	assert_true(trace_reader_end(r, &t));
	assert_int_equal(t.events, 10);
	assert_int_equal(t.exit_status, 0x700);
	assert_true(t.raw_bytes > 0 && t.stored_bytes > 0 && t.duration_ns > 0);
	trace_reader_close(r);
}

static void every_kind(void **state)
{
	static const uint8_t data[300] = { 1, 2, 3 };
	struct trace_writer *w;
	struct trace_reader *r;
	struct trace_event ev;
	int n = 0;

	(void)state;
	create(NULL, &w);
	for (int kind = 1; kind < TRACE_KIND_COUNT; kind++)
		for (int effect = 1; effect < TRACE_EFFECT_COUNT; effect++) {
			struct trace_effect e = {
				.kind = effect, .object = UINT32_MAX, .addr = UINT64_MAX,
				.len = UINT64_MAX, .x = UINT64_MAX, .y = UINT64_MAX,
				.offset = UINT64_MAX, .data = data,
				.data_len = effect == TRACE_REGS || effect == TRACE_TASK ?
					sizeof(struct regs) : effect % 2 ? 256 : 257,
			};

			if (effect == TRACE_OBJECT)
				e = (struct trace_effect){ .kind = effect,
							   .x = TRACE_OBJECT_MEMORY };
			memset(&ev, 0xff, sizeof(ev));
			ev.kind = kind;
			ev.place = TRACE_AT_NOWHERE;
			ev.nr = INT32_MIN;
			ev.ret = INT64_MIN;
			ev.effects = &e;
			ev.effects_len = 1;
			OK(trace_writer_event(w, &ev));
			assert_int_equal(ev.n, ++n);
		}
	OK(trace_writer_close(w, 0));
	OK(trace_reader_open(test_trace, &r));
	for (int i = 0; i < n; i++) {
		OK(trace_reader_next(r, &ev));
		assert_int_equal(ev.kind, 1 + i / (TRACE_EFFECT_COUNT - 1));
		assert_int_equal(ev.effects[0].kind, 1 + i % (TRACE_EFFECT_COUNT - 1));
		assert_int_equal(ev.nr, INT32_MIN);
		assert_int_equal(ev.ret, INT64_MIN);
		assert_int_equal(ev.task, UINT32_MAX);
		assert_int_equal(ev.time_ns, UINT64_MAX);
		assert_int_equal(ev.regs.gs, UINT64_MAX);
		if (ev.effects[0].kind == TRACE_OBJECT)
			continue;
		assert_int_equal(ev.effects[0].offset, UINT64_MAX);
		assert_int_equal(ev.effects[0].object, UINT32_MAX);
		assert_memory_equal(ev.effects[0].data, data, ev.effects[0].data_len);
		assert_int_equal((uintptr_t)ev.effects[0].data % 16, 0);
	}
	assert_ptr_equal(trace_reader_next(r, &ev), &err_end);
	assert_ptr_equal(trace_reader_next(r, &ev), &err_end);
	trace_reader_close(r);
}

static void random_events(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {	/* dozens of blocks in all */
		uint32_t big = seed % 2 ? 50 : 3;

		make_trace(NULL, seed, 4000 * seed, big, 20000);
		expect_trace(seed, 4000 * seed, big, 20000);
		remove_tree(test_trace);
	}
}

static void no_events(void **state)
{
	(void)state;
	make_trace(NULL, 1, 0, 0, 0);
	expect_trace(1, 0, 0, 0);
}

/* More tasks than slots for their registers, over several blocks. */
static void many_tasks(void **state)
{
	struct trace_writer *w;
	struct trace_reader *r;
	struct trace_event ev = { .kind = TRACE_SYSCALL };

	(void)state;
	create(NULL, &w);
	for (uint64_t i = 0; i < 20000; i++) {
		ev.task = (uint32_t)(i * 7919 % 3000);
		ev.regs = (struct regs){ .r15 = i, .rip = ev.task, .gs = i / 5000 };
		OK(trace_writer_event(w, &ev));
	}
	OK(trace_writer_close(w, 0));
	OK(trace_reader_open(test_trace, &r));
	for (uint64_t i = 0; i < 20000; i++) {
		struct regs want = { .r15 = i, .rip = i * 7919 % 3000, .gs = i / 5000 };

		OK(trace_reader_next(r, &ev));
		assert_memory_equal(&ev.regs, &want, sizeof(want));
	}
	trace_reader_close(r);
}

/* One effect over many data blocks, between small ones. */
static void huge_data(void **state)
{
	size_t len = 37 << 20;
	uint8_t *data = malloc(len);
	struct trace_effect e[3] = {
		{ .kind = TRACE_WRITE, .data = "before", .data_len = 6 },
		{ .kind = TRACE_WRITE, .data = data, .data_len = len },
		{ .kind = TRACE_WRITE, .data = data + 12345, .data_len = 500 },
	};
	struct trace_event ev = { .kind = TRACE_EXEC, .effects = e, .effects_len = 3, .nr = -1 };
	struct trace_event got;
	struct trace_writer *w;
	struct trace_reader *r;
	struct gen g;

	(void)state;
	gen_init(&g, 5, 0, 0);
	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = gen_u64(&g) >> (i >> 20) % 60;

		memcpy(data + i, &v, 8);
	}
	create(NULL, &w);
	for (int i = 0; i < 3; i++)
		OK(trace_writer_event(w, &ev));
	OK(trace_writer_close(w, 0));
	OK(trace_reader_open(test_trace, &r));
	for (int i = 0; i < 3; i++) {
		OK(trace_reader_next(r, &got));
		assert_true(same_event(&got, &ev));
	}
	OK(trace_reader_seek(r, 2));
	OK(trace_reader_next(r, &got));
	assert_true(got.n == 2 && same_event(&got, &ev));
	trace_reader_close(r);
	gen_deinit(&g);
	free(data);
}

/* Events larger than a block, with small ones around them. */
static void oversize(void **state)
{
	enum { N = 5000 };
	struct trace_effect *e = calloc(N, sizeof(*e));
	struct trace_event ev = { .kind = TRACE_EXEC, .effects = e, .task = 3 }, got;
	struct trace_writer *w;
	struct trace_reader *r;
	struct gen g;

	(void)state;
	gen_init(&g, 6, 20, 2000);
	for (int i = 0; i < N; i++) {
		do
			gen_effect(&g, &e[i]);
		while (e[i].kind == TRACE_OBJECT);
	}
	create(NULL, &w);
	for (int i = 0; i < 12; i++) {
		ev.effects_len = i % 3 ? N : 2;
		ev.regs.rip = (uint64_t)i / 2;
		OK(trace_writer_event(w, &ev));
	}
	OK(trace_writer_close(w, 0));
	OK(trace_reader_open(test_trace, &r));
	for (int i = 0; i < 12; i++) {
		OK(trace_reader_next(r, &got));
		ev.effects_len = i % 3 ? N : 2;
		ev.regs.rip = (uint64_t)i / 2;
		assert_true(same_event(&got, &ev));
	}
	assert_ptr_equal(trace_reader_next(r, &got), &err_end);
	trace_reader_close(r);
	gen_deinit(&g);
	free(e);
}

static void seek_anywhere(void **state)
{
	enum { N = 30000 };
	uint64_t *times = malloc(N * sizeof(*times));
	struct trace_reader *r;
	struct trace_event ev;
	struct gen g;

	(void)state;
	make_trace(NULL, 9, N, 10, 3000);
	OK(trace_reader_open(test_trace, &r));
	for (int i = 0; i < N; i++) {
		OK(trace_reader_next(r, &ev));
		times[i] = ev.time_ns;
	}
	trace_reader_close(r);
	OK(trace_reader_open(test_trace, &r));
	gen_init(&g, 10, 0, 0);
	for (int i = 0; i < 300; i++) {
		uint64_t n = 1 + gen_below(&g, N);

		OK(trace_reader_seek(r, n));
		for (int k = 0; k < 3 && n <= N; k++, n++) {
			OK(trace_reader_next(r, &ev));
			assert_int_equal(ev.n, n);
			assert_int_equal(ev.time_ns, times[n - 1]);
		}
		if (i % 50)
			continue;
		assert_ptr_equal(trace_reader_seek(r, N + 1), &err_end);
		assert_ptr_equal(trace_reader_seek(r, 0), &err_end);
		assert_ptr_equal(trace_reader_seek(r, UINT64_MAX), &err_end);
		if (n <= N) {
			OK(trace_reader_next(r, &ev));
			assert_int_equal(ev.n, n);
		}
	}
	OK(trace_reader_seek(r, N));
	OK(trace_reader_next(r, &ev));
	assert_ptr_equal(trace_reader_next(r, &ev), &err_end);
	OK(trace_reader_seek(r, 1));
	OK(trace_reader_next(r, &ev));
	assert_int_equal(ev.n, 1);
	trace_reader_close(r);
	gen_deinit(&g);
	free(times);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(trace_event_name(TRACE_SYSCALL_ENTER), "syscall-enter");
	assert_string_equal(trace_effect_name(TRACE_NAME), "name");
	for (int i = 1; i < TRACE_KIND_COUNT; i++)
		assert_string_not_equal(trace_event_name(i), "?");
	for (int i = 1; i < TRACE_EFFECT_COUNT; i++)
		assert_string_not_equal(trace_effect_name(i), "?");
	assert_string_equal(trace_event_name(TRACE_KIND_COUNT), "?");
	assert_string_equal(trace_effect_name((enum trace_effect_kind)-1), "?");
}

static void sums(void **state)
{
	static uint8_t page[4096] __attribute__((aligned(8)));
	struct mem_sum *s = mem_sum_create();
	uint64_t empty = mem_sum_finish(s), one, two;

	(void)state;
	mem_sum_page(s, 1, page);
	assert_int_equal(mem_sum_finish(s), empty);
	page[4095] = 1;
	mem_sum_page(s, 1, page);
	one = mem_sum_finish(s);
	mem_sum_page(s, 2, page);
	two = mem_sum_finish(s);
	assert_true(one != empty && two != empty && one != two);
	mem_sum_page(s, 1, page);
	assert_int_equal(mem_sum_finish(s), one);
	mem_sum_destroy(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)
	const struct CMUnitTest tests[] = {
		T(meta_and_totals), T(every_kind), T(random_events), T(no_events), T(many_tasks),
		T(huge_data), T(oversize), T(seek_anywhere), T(names), T(sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
