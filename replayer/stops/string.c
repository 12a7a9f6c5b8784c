/*
 * string.c - a repeated string instruction (memset, memcpy): what it is, and several of its
 * iterations at once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "replayer/machine/task.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/stops.h"
#include "replayer/stops/string_instruction.h"
#include "tracee/site.h"

unsigned rp_string_at(const struct rp_task *t, unsigned *size, bool *fixed)
{
	uint8_t text[5] = { 0 };
	unsigned i = 0;
	bool repeats = false, narrow = false, compares;

	stops_read(t->real, t->regs.rip, text, sizeof(text));
	for (; i < 4 &&
	       (text[i] == 0xf2 || text[i] == 0xf3 || text[i] == 0x66 || (text[i] & 0xf0) == 0x40);
	     i++) {
		repeats |= text[i] == 0xf2 || text[i] == 0xf3;
		narrow |= text[i] == 0x66;
	}
	compares = (text[i] | 1) == 0xa7 || (text[i] | 1) == 0xaf;
	*fixed = (text[i] | 1) == 0xa5 || (text[i] | 1) == 0xab;
	if (!(text[i] & 1))
		*size = 1;
	else if (i && (text[i - 1] & 0xf8) == 0x48)
		*size = 8;
	else
		*size = narrow ? 2 : 4;
	return repeats && (compares || *fixed) ? i + 1 : 0;
}

bool rp_string_runs(struct rp_task *t)
{
	return dual_scratch(t->mm) ||
	       (inprocess_solid(t, t->regs.rip) &&
		!inprocess_overlaps(t->mm, t->regs.rip, t->regs.rip + SITE_MAX));
}

struct err *rp_string_run(struct rp_task *t, unsigned len, uint64_t iterations, int *status)
{
	uint64_t from = t->regs.rip, left = t->regs.rcx - iterations, at = dual_scratch(t->mm);
	uint8_t code[16], was;

	if (stops_read(t->real, from, code, len) != len)
		return &err_gone;
	code[len] = 0xcc;
	at = at ? at : from;
	TRY(tracee_read(t->real, at + len, &was, 1));
	TRY(tracee_write(t->real, at, code, len + 1));
	t->regs.rip = at;
	t->regs.rcx = iterations;
	t->dirty = true;
	TRY(rp_raw_run(t, status));
	TRY(tracee_write(t->real, at + len, &was, 1));
	t->regs.rip = t->regs.rip == at + len + 1 && !left ? from + len : from;
	t->regs.rcx += left;
	t->dirty = true;
	return NULL;
}

/*
 * Turns until it ends, or is where the event may be that comes next; place: where the program has
 * it.
 */
static uint64_t iterations_left(const struct replay *r, const struct rp_task *t, uint64_t place,
			   unsigned size, bool fixed)
{
	const struct regs *to = &r->ev.regs;
	uint64_t iterations = t->regs.rcx - to->rcx, way = to->rdi - t->regs.rdi;

	if (!fixed || r->ev.place != TRACE_AT_STATE || to->rip != place ||
	    iterations >= t->regs.rcx || (way != iterations * size && way != -iterations * size))
		return t->regs.rcx;
	return iterations;
}

struct err *rp_string_finish(struct replay *r, struct rp_task *t, uint64_t place)
{
	struct stops *stops = stops_of(r);
	uint64_t from = t->regs.rip, end;
	int status = W_STOPCODE(SIGTRAP);
	struct err *err = NULL;
	unsigned len, size;
	bool fixed, runs;

	len = rp_string_at(t, &size, &fixed);
	if (!len)
		return NULL;
	end = t->regs.rcx - iterations_left(r, t, place, size, fixed);
	runs = rp_string_runs(t);
	/* a fault of the program's own comes again */
	while (!err && WSTOPSIG(status) == SIGTRAP && t->regs.rip == from && t->regs.rcx > end) {
		err = runs ? rp_string_run(t, len, t->regs.rcx - end, &status)
			   : rp_raw_step(t, &status);
		if (!err && WSTOPSIG(status) == SIGTRAP)
			stops->dr_hit |= rp_debug_hits(t);
	}
	/* a debug register may report the last iteration so */
	if (!err && t->regs.rip == from && !t->regs.rcx) {
		t->regs.rip += len;
		t->dirty = true;
	}
	return err;
}
