/*
 * string.c - over a repeated string instruction at full speed (memset, memcpy: single steps take one for each byte).
 *
 * Steps from one point to another are counted, so it must be known how many were saved: as many as rcx says.
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/internal.h"

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

/* Run to behind it, left = rcx to begin with.  *n: how many turns that was; 0: it did not come there. */
static struct err *run_behind(struct replay *r, struct rp_task *t, unsigned set, unsigned len, uint64_t left, uint64_t *n, bool *hit)
{
	struct replay_break b = { .kind = REPLAY_BREAK, .pid = t->rec_pid, .addr = t->regs.rip + len, .len = 1 };
	uint64_t rcx = t->regs.rcx, start = t->regs.rip, flags = t->regs.eflags;
	struct rp_hop hop;

	*n = 0;
	t->dirty |= left != rcx;
	t->regs.rcx = left;
	TRY(rp_hop(r, rp_set_union(r, set, rp_set_intern(r, &b, 1)), false, &hop));
	if (hop.kind != HOP_MOVED || hop.t->regs.rip != b.addr || hop.t->regs.rcx >= left)
		return NULL;
	if (rp_hop_hits(r, &hop, set, NULL)) {
		if (!hit || left < rcx)
			return NULL;
		*hit = true;
	}
	if (left < rcx && hop.t->regs.rcx)
		return NULL;
	*n = left - hop.t->regs.rcx;
	if (left == rcx)
		return NULL;
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

struct err *rp_skip_string(struct replay *r, unsigned set, uint64_t max, uint64_t *n, bool *hit)
{
	struct rp_debug *d = r->debug;
	struct rp_pos here = { 0 };
	struct rp_task *t;
	struct err *err;
	unsigned len, size;
	bool fixed;

	*n = 0;
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	if (!t || r->pending || d->nameless || d->in_strings || t->regs.rcx < STRING_MIN || max < STRING_MIN || d->sets[set]->watches)
		return NULL;
	if (rp_event_runs(&r->ev, t) && r->ev.regs.rip == t->regs.rip)	/* that may be in the middle of it */
		return NULL;
	rp_int3_out(r);
	len = rp_string_at(t, &size, &fixed);
	if (!len)
		return NULL;
	rp_pos_copy(&here, &d->pos);
	/* in the middle of comparing, the flags are those of a real step */
	err = run_behind(r, t, set, len, max < t->regs.rcx ? max - !fixed : t->regs.rcx, n, hit);
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
