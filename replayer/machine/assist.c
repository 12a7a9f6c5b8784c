/*
 * assist.c - buffered calls that change mappings: what each does, and which of them need no stop.
 */
#include "replayer/machine/assist.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Makes the effect of a brk: see brk_exit() in recorder/memory.c. */
static void brk_effect(uint64_t old, uint64_t now, struct trace_effect *e)
{
	old = page_up(old);
	now = page_up(now);
	*e = (struct trace_effect){ .kind = now > old ? TRACE_MAP : TRACE_UNMAP,
				    .addr = now > old ? old : now,
				    .len = now > old ? now - old : old - now,
				    .x = now > old ? PROT_READ | PROT_WRITE : 0,
				    .y = now > old ? TRACE_MAP_ANON : 0 };
}

/* The record of a call that shaped the address space, as an effect; kind = 0: there is none. */
static void assist_effect(const struct buf_record *rec, const uint64_t args[3], uint64_t old_brk,
			  struct trace_effect *e)
{
	uint64_t len = page_up(args[1]);

	*e = (struct trace_effect){ .addr = args[0], .len = len };
	switch (rec->nr) {
	case SYS_mmap:
		if (rec->ret < 0 && rec->ret >= -4095)
			return;
		e->kind = TRACE_MAP;
		e->addr = (uint64_t)rec->ret;
		e->x = args[2];
		e->y = TRACE_MAP_ANON;
		return;
	case SYS_munmap:
		e->kind = rec->ret == 0 ? TRACE_UNMAP : 0;
		return;
	case SYS_mprotect:
		e->kind = rec->ret == 0 || rec->ret == -ENOMEM ? TRACE_PROTECT : 0;
		e->x = args[2];
		return;
	case SYS_madvise:
		e->kind = rec->ret == 0 || rec->ret == -ENOMEM ? TRACE_ADVISE : 0;
		e->x = args[2];
		return;
	case SYS_brk:
		brk_effect(old_brk, (uint64_t)rec->ret, e);
		if (!e->len)
			e->kind = 0;
	}
}

void maps_effect(const struct maps_record *rec, struct trace_effect *e)
{
	assist_effect(&rec->r, rec->word, rec->word[rec->r.args + 1], e);
}

/* Has the range to do with a mapping that grows by itself (grow.c)? */
static bool grows(const struct rp_mm *mm, const struct trace_effect *e)
{
	for (const struct rp_grow *g = mm->grow; g; g = g->next) {
		if (e->addr < g->end && e->addr + e->len > g->lowest)
			return true;
	}
	return false;
}

/*
 * A stop and a call of ours for each change of mappings costs more than anything else in a program
 * that makes many.  None is needed where nothing has come of the call.  What is unmapped may stay
 * if the next such call of these records maps it anew, empty.  The program does not touch it in
 * between: that would have been an event of its own, and the records would end before it.
 */
static void fewer_stops(const struct rp_mm *mm, uint8_t *bytes, size_t len)
{
	struct trace_effect last = { 0 };
	struct maps_record rec = { 0 };
	size_t at_last = 0;

	for (size_t at = 0; at + sizeof(rec.r) <= len; at += rec.r.size) {
		struct trace_effect e;

		memcpy(&rec, bytes + at, sizeof(rec) < len - at ? sizeof(rec) : len - at);
		if (rec.r.size < sizeof(rec.r))
			return;
		if (!rec.r.assist || rec.r.args > 6)
			continue;
		maps_effect(&rec, &e);
		if (!e.kind) {
			bytes[at + offsetof(struct buf_record, assist)] = 0;
			continue;
		}
		if (e.kind == TRACE_MAP && last.kind == TRACE_UNMAP && e.addr == last.addr &&
		    e.len == last.len && !grows(mm, &e))
			bytes[at_last + offsetof(struct buf_record, assist)] = 0;
		last = e;
		at_last = at;
	}
}

/* Code lies in few places: ranges are joined, and with too many of them any memory may be code. */
void rp_mm_code(struct rp_mm *mm, uint64_t addr, uint64_t len)
{
	for (unsigned i = 0; i < mm->code_n && i < RP_CODE; i++) {
		if (addr > mm->code[i].end || addr + len < mm->code[i].addr)
			continue;
		mm->code[i].addr = addr < mm->code[i].addr ? addr : mm->code[i].addr;
		mm->code[i].end = addr + len > mm->code[i].end ? addr + len : mm->code[i].end;
		return;
	}
	if (mm->code_n < RP_CODE) {
		mm->code[mm->code_n].addr = addr;
		mm->code[mm->code_n].end = addr + len;
	}
	mm->code_n += mm->code_n <= RP_CODE;
}

bool rp_mm_may_run(const struct rp_mm *mm, uint64_t addr, uint64_t len)
{
	bool met = mm->code_n > RP_CODE;

	for (unsigned i = 0; i < mm->code_n && !met; i++)
		met = addr < mm->code[i].end && addr + len > mm->code[i].addr;
	return met;
}

/* Does the kernel choose the place, or find that it is free? */
static bool is_elsewhere(const struct maps_record *rec)
{
	return rec->r.nr == SYS_brk || (rec->r.args > 3 && !(rec->word[3] & MAP_FIXED));
}

static bool meet(const struct trace_effect *a, const struct trace_effect *b)
{
	return a->addr < b->addr + b->len && b->addr < a->addr + a->len;
}

struct op {
	struct trace_effect e;
	size_t at;
	bool free;		/* a mapping where nothing has been */
	bool may_late;
	enum { NOW, EARLY, LATE, DROPPED } when;
};

/* The calls in question; more than room: there are too many, or it is no lot of records. */
static unsigned find_ops(const uint8_t *bytes, size_t len, struct op *op, unsigned room)
{
	struct maps_record rec = { 0 };
	unsigned n = 0;

	for (size_t at = 0; at + sizeof(rec.r) <= len; at += rec.r.size) {
		memcpy(&rec, bytes + at, sizeof(rec) < len - at ? sizeof(rec) : len - at);
		if (rec.r.size < sizeof(rec.r) || (rec.r.assist && rec.r.args > 6) || n == room)
			return room + 1;
		if (!rec.r.assist)
			continue;
		op[n] = (struct op){ .at = at, .free = is_elsewhere(&rec) };
		maps_effect(&rec, &op[n].e);
		n += op[n].e.kind != 0;
	}
	return n;
}

/* Has the program less of the memory afterwards, so that it does not touch it any more? */
static bool takes_away(const struct trace_effect *e)
{
	return e->kind == TRACE_UNMAP ||
	       (e->kind == TRACE_PROTECT && !(e->x & (PROT_WRITE | PROT_EXEC)));
}

/* More that the program may do with the memory, and nothing less. */
static bool gives(const struct rp_mm *mm, const struct op *op)
{
	if (op->e.kind == TRACE_MAP)
		return op->free;
	return op->e.kind == TRACE_PROTECT && op->e.x == (PROT_READ | PROT_WRITE) &&
	       !rp_mm_may_run(mm, op->e.addr, op->e.len);
}

/* Memory that is given up, and has been taken away by an earlier call that is late, too. */
static bool is_gone(const struct op *op, unsigned i)
{
	const struct trace_effect *e = &op[i].e;

	if (e->kind != TRACE_ADVISE)
		return false;
	while (i--) {
		const struct trace_effect *by = &op[i].e;

		if (meet(by, e))
			return op[i].may_late && by->kind == TRACE_PROTECT && by->x == PROT_NONE &&
			       by->addr <= e->addr && by->addr + by->len >= e->addr + e->len;
	}
	return false;
}

static void choose(const struct rp_mm *mm, struct op *op, unsigned n, bool late)
{
	for (unsigned i = 0; i < n; i++)
		op[i].may_late = late && op[i].when == NOW && !grows(mm, &op[i].e) &&
				 (takes_away(&op[i].e) || is_gone(op, i));
	for (unsigned i = n; i--;) {
		bool good = op[i].may_late;

		for (unsigned k = i + 1; k < n && good; k++)
			good = op[k].when == LATE || !meet(&op[i].e, &op[k].e);
		if (good)
			op[i].when = LATE;
	}
	for (unsigned i = 0; i < n; i++) {
		bool good = op[i].when == NOW && gives(mm, &op[i]) && !grows(mm, &op[i].e);

		for (unsigned k = 0; k < i && good; k++)
			good = op[k].when == EARLY || !meet(&op[i].e, &op[k].e);
		if (good)
			op[i].when = EARLY;
	}
}

void assist_plan(const struct rp_mm *mm, uint8_t *bytes, size_t len, bool late,
		 struct assist_plan *p)
{
	struct op op[ASSIST_MOST];
	unsigned n = find_ops(bytes, len, op, ASSIST_MOST);

	p->early_n = p->late_n = 0;
	fewer_stops(mm, bytes, len);
	if (n > ASSIST_MOST)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (!bytes[op[i].at + offsetof(struct buf_record, assist)])
			op[i].when = DROPPED;
	}
	choose(mm, op, n, late);
	for (unsigned i = 0; i < n; i++) {
		if (op[i].when == EARLY)
			p->early[p->early_n++] = op[i].e;
		else if (op[i].when == LATE)
			p->late[p->late_n++] = op[i].e;
		else
			continue;
		bytes[op[i].at + offsetof(struct buf_record, assist)] = 0;
	}
}
