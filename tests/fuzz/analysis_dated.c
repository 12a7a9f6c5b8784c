/*
 * Fuzz the dating of jitdump records (analysis/jit_dated.c): whatever events say, each record that was written counts from
 * an event, in their order, and none from behind its write.
 *
 * Input: how many records, a byte each: its time; then events: a byte of kind and length, and as many bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "analysis/jit_log.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { TIMES = 256, EVENTS = 64 };
static struct {
	const uint8_t *p;
	size_t n;
	uint64_t event;
} input;
static uint64_t last, named, held;

/* In place of the trace's. */
struct err *trace_reader_open(const char *dir, struct trace_reader **ret)
{
	static int any;

	(void)dir;
	*ret = (struct trace_reader *)&any;
	return NULL;
}

struct err *trace_reader_seek(struct trace_reader *r, uint64_t n)
{
	(void)r;
	if (n > held)
		abort();
	return NULL;
}

struct err *trace_reader_next(struct trace_reader *r, struct trace_event *ev)
{
	static struct trace_effect effect;
	static uint64_t time[2];
	size_t len;

	(void)r;
	if (!input.n || input.event == EVENTS)
		return &err_end;
	len = input.p[0] >> 2;
	if (len > input.n - 1)
		len = input.n - 1;
	effect = (struct trace_effect){ .kind = input.p[0] & 1 ? TRACE_RECORDS : TRACE_WRITE,
					.addr = 4096,
					.data = input.p + 1,
					.data_len = len };
	if ((input.p[0] & 3) == 2 && len) {	/* a time that can be right */
		time[0] = 0;
		time[1] = input.p[1];
		effect.data = time;
		effect.data_len = sizeof(time);
	}
	input.p += 1 + len;
	input.n -= 1 + len;
	*ev = (struct trace_event){ .n = ++input.event, .kind = TRACE_SYSCALL, .nr = SYS_clock_gettime,
				    .effects_len = 1, .effects = &effect };
	ev->regs.rsi = 4096;
	return NULL;
}

/* In place of the analysis's. */
void jit_named_begin(struct jit_log *l, const struct written_file *f, const struct jit_named *n, uint64_t birth)
{
	(void)l;
	(void)f;
	if (!birth || birth < last || birth > held || !n->size)
		abort();
	last = birth;
	named++;
}

const char *jit_keep_text(struct jit_log *l, const char *s)
{
	(void)l;
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct jit_log l = { .trace = "none" };
	struct written_file f = { .held_event = EVENTS };
	size_t n = len ? data[0] % (TIMES / 4) : 0;

	if (len < n + 1)
		return 0;
	held = EVENTS;
	last = named = 0;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < n; i++)
			jit_dated_hold(&l, &f, &(struct jit_named){ .start = 4096 + 16 * i, .size = 16, .name = "x",
								    .time = data[1 + i] });
		input.p = data + 1 + n;
		input.n = len - 1 - n;
		input.event = f.dated_from;
		jit_dated_take(&l, &f);
		if (f.n_said || named != n * (unsigned)(round + 1))
			abort();
	}
	free(f.said);
	return 0;
}

#ifndef FUZZING
CORPUS_MAIN_DAMAGED("analysis_dated")
#endif
