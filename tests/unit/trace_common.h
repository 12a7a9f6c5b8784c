/*
 * trace_common.h - what the tests of trace/ share: a directory of their own, and an
 * endless row of random but repeatable events to write and to compare with.
 */
#ifndef TESTS_UNIT_TRACE_COMMON_H
#define TESTS_UNIT_TRACE_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/trace.h"

#define OK(expr) do { struct err *ok_ = (expr); \
	if (ok_) fail_msg("%s: %s", #expr, ok_->msg); } while (0)

static char test_dir[64], test_trace[96];

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int test_setup(void **state)
{
	(void)state;
	snprintf(test_dir, sizeof(test_dir), "/tmp/hindsight-test-XXXXXX");
	assert_non_null(mkdtemp(test_dir));
	snprintf(test_trace, sizeof(test_trace), "%s/trace", test_dir);
	return 0;
}

static inline int test_teardown(void **state)
{
	(void)state;
	remove_tree(test_dir);
	return 0;
}

static inline void path_in(char out[256], const char *dir, const char *name)
{
	snprintf(out, 256, "%s/%s", dir, name);
}

static inline const struct trace_meta *test_meta(void)
{
	static char *argv[] = { (char *)"prog", (char *)"an argument", (char *)"", NULL };
	static struct trace_meta meta = {
		.uuid = "01234567-89ab-4def-8123-456789abcdef",
		.start_realtime_ns = 1700000000123456789, .exe = (char *)"/usr/bin/prog",
		.argv = argv,
		.cwd = (char *)"/home/me", .uname = (char *)"Linux 6.1.0 x86_64",
		.cpu_model = (char *)"A CPU", .cpuid_features = { 1, 2, 3, 4, 5, 6, 0xffffffff, 0 },
		.xcr0 = 0xe7, .xsave_size = 2696, .cpuid_trapped = true,
		.ticks = (char *)"landmark", .syscallbuf = true,
	};

	return &meta;
}

static inline void create(const char *store, struct trace_writer **ret)
{
	OK(trace_writer_create(test_trace, store, test_meta(), ret));
}

/* ---- events out of nothing ---------------------------------------------------- */

enum { GEN_EFFECTS = 12, GEN_DATA = 1 << 20 };

struct gen {
	uint64_t seed;
	uint32_t big;		/* one effect in so many is larger than inline, 0: none */
	uint32_t big_max;	/* bytes */
	uint64_t time_ns;
	struct regs regs[8];
	uint8_t *pool;
	struct trace_effect effects[GEN_EFFECTS];
	char object[64];
};

static inline uint64_t gen_u64(struct gen *g)
{
	uint64_t z = g->seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline uint32_t gen_below(struct gen *g, uint32_t n)
{
	return (uint32_t)(gen_u64(g) >> 32) % n;
}

/* Small and large numbers alike, zero often */
static inline uint64_t gen_number(struct gen *g)
{
	uint64_t v = gen_u64(g);

	return gen_below(g, 3) ? v >> gen_below(g, 64) : 0;
}

static inline void gen_init(struct gen *g, uint64_t seed, uint32_t big, uint32_t big_max)
{
	memset(g, 0, sizeof(*g));
	g->seed = seed;
	g->big = big;
	g->big_max = big_max;
	g->pool = malloc(GEN_DATA);
	assert_non_null(g->pool);
	for (int i = 0; i < GEN_DATA; i += 8) {	/* half of it packs well */
		uint64_t v = i & 4096 ? gen_u64(g) : (uint64_t)i;

		memcpy(g->pool + i, &v, 8);
	}
}

static inline void gen_deinit(struct gen *g)
{
	free(g->pool);
}

static inline void gen_effect(struct gen *g, struct trace_effect *e)
{
	*e = (struct trace_effect){
		.kind = 1 + gen_below(g, TRACE_EFFECT_COUNT - 1), .object = (uint32_t)gen_number(g),
		.addr = gen_number(g), .len = gen_number(g), .x = gen_number(g),
		.y = gen_number(g), .offset = gen_number(g),
	};
	if (e->kind == TRACE_OBJECT) {
		snprintf(g->object, sizeof(g->object), "%016" PRIx64 "%016" PRIx64 "%c/lib/x.so",
			 gen_u64(g), gen_u64(g), 0);
		e->x = TRACE_OBJECT_FILE;
		e->data = g->object;
		e->data_len = 32 + 1 + 9 + 1;
	} else if (e->kind == TRACE_REGS || e->kind == TRACE_TASK) {
		e->data_len = sizeof(struct regs);
	} else if (g->big && !gen_below(g, g->big)) {
		e->data_len = 250 + gen_below(g, g->big_max);
	} else if (gen_below(g, 2)) {
		e->data_len = gen_below(g, TRACE_INLINE_MAX + 1);
	}
	if (e->data_len && !e->data)
		e->data = g->pool + gen_below(g, (uint32_t)(GEN_DATA - e->data_len));
}

static inline void gen_event(struct gen *g, struct trace_event *ev)
{
	uint32_t task = gen_below(g, 8);
	uint64_t *regs = (uint64_t *)&g->regs[task];

	*ev = (struct trace_event){
		.time_ns = g->time_ns += gen_below(g, 100000), .task = task ? task : 1024 * 3 + 1,
		.kind = 1 + gen_below(g, TRACE_KIND_COUNT - 1),
		.nr = gen_below(g, 4) ? (int32_t)gen_below(g, 400) : -1,
		.ret = (int64_t)gen_number(g),
		.effects = g->effects, .effects_len = gen_below(g, 5),
	};
	if (!gen_below(g, 20))
		ev->effects_len = gen_below(g, GEN_EFFECTS);
	if (ev->kind == TRACE_SIGNAL || ev->kind == TRACE_SWITCH)
		ev->place = gen_below(g, TRACE_PLACE_COUNT);
	if (ev->kind < TRACE_SYSCALL_EXIT) {
		for (int i = gen_below(g, 8); i > 0; i--)
			regs[gen_below(g, REGS_WORDS)] = gen_number(g);
		ev->regs = g->regs[task];
	}
	for (uint32_t i = 0; i < ev->effects_len; i++)
		gen_effect(g, &g->effects[i]);
}

static inline int same_event(const struct trace_event *a, const struct trace_event *b)
{
	if (a->time_ns != b->time_ns || a->task != b->task || a->kind != b->kind ||
	    a->place != b->place || a->nr != b->nr || a->ret != b->ret ||
	    memcmp(&a->regs, &b->regs, sizeof(a->regs)) || a->effects_len != b->effects_len)
		return 0;
	for (uint32_t i = 0; i < a->effects_len; i++) {
		const struct trace_effect *x = &a->effects[i], *y = &b->effects[i];

		if (x->kind != y->kind || x->object != y->object || x->addr != y->addr ||
		    x->len != y->len || x->x != y->x || x->y != y->y || x->offset != y->offset ||
		    x->data_len != y->data_len || (!x->data_len && (x->data || y->data)) ||
		    (x->data_len && memcmp(x->data, y->data, x->data_len)))
			return 0;
	}
	return 1;
}

static inline void write_events(struct trace_writer *w, struct gen *g, uint64_t n)
{
	struct trace_event ev;

	while (n--) {
		gen_event(g, &ev);
		OK(trace_writer_event(w, &ev));
	}
}

/* Read until an error, which is returned; every event must be g's next. */
static inline struct err *read_events(struct trace_reader *r, struct gen *g, uint64_t *n_ret)
{
	struct trace_event ev, want;
	struct err *err;

	*n_ret = 0;
	while (!(err = trace_reader_next(r, &ev))) {
		gen_event(g, &want);
		if (ev.n != ++*n_ret || !same_event(&ev, &want))
			fail_msg("event %" PRIu64 " is not what was written", *n_ret);
	}
	return err;
}

/* A whole trace of n events. */
static inline void make_trace(const char *store, uint64_t seed, uint64_t n, uint32_t big,
			      uint32_t big_max)
{
	struct trace_writer *w;
	struct gen g;

	gen_init(&g, seed, big, big_max);
	create(store, &w);
	write_events(w, &g, n);
	OK(trace_writer_close(w, 0x700));
	gen_deinit(&g);
}

static inline void expect_trace(uint64_t seed, uint64_t n, uint32_t big, uint32_t big_max)
{
	struct trace_reader *r;
	struct gen g;
	uint64_t found;

	gen_init(&g, seed, big, big_max);
	OK(trace_reader_open(test_trace, &r));
	assert_ptr_equal(read_events(r, &g, &found), &err_end);
	assert_int_equal(found, n);
	trace_reader_close(r);
	gen_deinit(&g);
}

#endif
