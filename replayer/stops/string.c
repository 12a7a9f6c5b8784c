/*
 * string.c - over a repeated string instruction at full speed (memset, memcpy: single steps take one for each byte).
 *
 * Steps from one point to another are counted, so it must be known how many were saved: as many as rcx says.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "replayer/internal.h"
#include "tracee/site.h"

enum { STRING_MIN = 100 };

unsigned rp_string_at(const struct rp_task *t, unsigned *size, bool *fixed)
{
	uint8_t text[5] = { 0 };
	unsigned i = 0;
	bool repeats = false, narrow = false, compares;

	tracee_read_some(t->real, t->regs.rip, text, sizeof(text));
	for (; i < 4 && (text[i] == 0xf2 || text[i] == 0xf3 || text[i] == 0x66 || (text[i] & 0xf0) == 0x40); i++) {
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
	return rp_alias_scratch(t->mm) || (rp_gate_solid(t, t->regs.rip) && !rp_gate_overlaps(t->mm, t->regs.rip, t->regs.rip + SITE_MAX));
}

struct err *rp_string_run(struct rp_task *t, unsigned len, uint64_t turns, int *status)
{
	uint64_t from = t->regs.rip, left = t->regs.rcx - turns, at = rp_alias_scratch(t->mm);
	uint8_t code[16], was;

	if (tracee_read_some(t->real, from, code, len) != len)
		return &err_gone;
	code[len] = 0xcc;
	at = at ? at : from;
	TRY(tracee_read(t->real, at + len, &was, 1));
	TRY(tracee_write(t->real, at, code, len + 1));
	t->regs.rip = at;
	t->regs.rcx = turns;
	t->dirty = true;
	TRY(rp_raw_run(t, status));
	TRY(tracee_write(t->real, at + len, &was, 1));
	t->regs.rip = t->regs.rip == at + len + 1 && !left ? from + len : from;
	t->regs.rcx += left;
	t->dirty = true;
	return NULL;
}

/* Turns until it ends, or is where the event may be that comes next; place: where the program has it. */
static uint64_t turns_left(const struct replay *r, const struct rp_task *t, uint64_t place, unsigned size, bool fixed)
{
	const struct regs *to = &r->ev.regs;
	uint64_t turns = t->regs.rcx - to->rcx, way = to->rdi - t->regs.rdi;

	if (!fixed || r->ev.place != TRACE_AT_STATE || to->rip != place || turns >= t->regs.rcx || (way != turns * size && way != -turns * size))
		return t->regs.rcx;
	return turns;
}

struct err *rp_string_finish(struct replay *r, struct rp_task *t, uint64_t place)
{
	struct rp_debug *d = r->debug;
	uint64_t from = t->regs.rip, end;
	int status = W_STOPCODE(SIGTRAP);
	struct err *err = NULL;
	unsigned len, size;
	bool fixed, runs;

	len = rp_string_at(t, &size, &fixed);
	if (!len)
		return NULL;
	end = t->regs.rcx - turns_left(r, t, place, size, fixed);
	runs = rp_string_runs(t);
	/* a fault of the program's own comes again */
	while (!err && WSTOPSIG(status) == SIGTRAP && t->regs.rip == from && t->regs.rcx > end) {
		err = runs ? rp_string_run(t, len, t->regs.rcx - end, &status) : rp_raw_step(t, &status);
		if (!err && WSTOPSIG(status) == SIGTRAP)
			d->dr_hit |= rp_debug_hits(t);
	}
	if (!err && t->regs.rip == from && !t->regs.rcx) {	/* a debug register may report the last iteration so */
		t->regs.rip += len;
		t->dirty = true;
	}
	return err;
}

/* Run to behind it, left = rcx to begin with.  *n: how many turns that was; 0: it did not come there. */
static struct err *run_behind(struct replay *r, struct rp_task *t, unsigned set, unsigned len, uint64_t left, uint64_t *n, struct rp_hop *behind)
{
	struct replay_break b = { .kind = REPLAY_BREAK, .pid = t->rec_pid, .addr = t->regs.rip + len, .len = 1 };
	uint64_t rcx = t->regs.rcx, start = t->regs.rip, flags = t->regs.eflags;
	struct rp_late late = r->debug->late;
	struct rp_hop hop;

	*n = 0;
	t->dirty |= left != rcx;
	t->regs.rcx = left;
	TRY(rp_hop(r, rp_set_union(r, set, rp_set_intern(r, &b, 1)), false, &hop));
	if (hop.kind != HOP_MOVED || hop.t->regs.rip != b.addr || hop.t->regs.rcx >= left)
		return NULL;
	if (left == rcx)
		rp_hop_add_late(r, &late, &hop);
	if (rp_hop_hits(r, &hop, set, NULL) && (!behind || left < rcx))
		return NULL;
	if (left < rcx && hop.t->regs.rcx)
		return NULL;
	*n = left - hop.t->regs.rcx;
	if (left == rcx && behind)
		*behind = hop;
	if (left == rcx)
		return NULL;
	r->debug->late = late;
	hop.t->regs.rip = start;	/* only part of it */
	hop.t->regs.rcx = rcx - left;
	hop.t->regs.eflags = flags;
	hop.t->dirty = true;
	return NULL;
}

bool rp_in_string(unsigned *same, const struct rp_hop *hop)
{
	*same = hop->arrived ? 0 : *same + 1;
	return *same == 2;
}

struct err *rp_skip_string(struct replay *r, unsigned set, uint64_t max, uint64_t *n, struct rp_hop *behind)
{
	struct rp_debug *d = r->debug;
	struct rp_pos here = { 0 };
	struct rp_task *t;
	struct err *err;
	unsigned len, size;
	bool fixed;

	*n = 0;
	if (behind)
		*behind = (struct rp_hop){ .kind = HOP_END };
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	if (!t || r->pending || d->nameless || d->in_strings || t->regs.rcx < STRING_MIN || max < STRING_MIN)
		return NULL;
	if (rp_event_runs(&r->ev, t) && r->ev.regs.rip == t->regs.rip)	/* that may be in the middle of it */
		return NULL;
	rp_int3_out(r);
	len = rp_string_at(t, &size, &fixed);
	if (!len)
		return NULL;
	rp_pos_copy(&here, &d->pos);
	/* in the middle of comparing, the flags are those of a real step */
	err = run_behind(r, t, set, len, max < t->regs.rcx ? max - !fixed : t->regs.rcx, n, behind);
	d->nameless = true;
	if (!err && *n) {
		rp_pos_leg(&here, 0, *n);
		rp_pos_copy(&d->pos, &here);
		d->nameless = false;
		d->last = (struct rp_hop){ 0 };
		err = rp_checkpoint_take(r);
	} else if (!err) {
		d->in_strings = true;
		err = rp_goto(r, &here);
		d->in_strings = false;
	}
	free(here.legs);
	return err;
}
