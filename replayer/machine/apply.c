/*
 * apply.c - all effects of an event, with as few stops and calls as can be.
 */
#include <string.h>

#include "replayer/machine/effect.h"
#include "replayer/machine/grow.h"
#include "replayer/machine/list.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/processor.h"

static bool is_write_in(const struct trace_effect *e, uint64_t page)
{
	return e->kind == TRACE_WRITE && !e->object && e->data_len &&
	       page_down(e->addr) == page && page_down(e->addr + e->data_len - 1) == page &&
	       rp_range_allowed(e->addr, e->data_len);
}

/*
 * A start of a program patches its code in a hundred places.  The writes at ev->effects[i] and
 * behind it that lie in one page are made as one; effects between them may tell of the patches.
 * Returns the number of the first effect whose write is still to be made.
 */
static uint32_t writes_together(struct replay *r, struct rp_task *t, const struct trace_event *ev,
				uint32_t i)
{
	uint8_t text[PAGE_BYTES];
	uint64_t page = page_down(ev->effects[i].addr), first = UINT64_MAX, end = 0;
	uint32_t upto = i, n = 0;
	struct err *err;

	for (uint32_t k = i; k < ev->effects_len && !rp_machine_puts_ud2(r); k++) {
		const struct trace_effect *e = &ev->effects[k];

		if (e->kind == TRACE_PATCH)
			continue;
		if (!is_write_in(e, page))
			break;
		first = e->addr < first ? e->addr : first;
		end = e->addr + e->data_len > end ? e->addr + e->data_len : end;
		upto = k + 1;
		n++;
	}
	if (n < 2 || tracee_read_some(t->real, first, text, end - first) != end - first)
		return i;
	for (uint32_t k = i; k < upto; k++) {
		const struct trace_effect *e = &ev->effects[k];

		if (e->kind == TRACE_WRITE)
			memcpy(text + (e->addr - first), e->data, e->data_len);
	}
	err = tracee_mem_write(&r->mem, first, text, end - first);
	if (!err)
		return upto;
	err_free(err);
	return i;
}

/* Are effects of this kind put into a list, or do without the memory that a list changes? */
static bool is_listed(const struct trace_effect *e)
{
	switch (e->kind) {
	case TRACE_MAP:
	case TRACE_RET:
	case TRACE_REGS:
	case TRACE_XSTATE:
	case TRACE_AUXV:
	case TRACE_NAME:
	case TRACE_CPUID:
	case TRACE_PATCH:
	case TRACE_OBJECT:
	case TRACE_ARGV:
	case TRACE_ENV:
		return true;
	case TRACE_WRITE:
		return !e->object;
	default:
		return false;
	}
}

static struct rp_list list;

/* A mapping, and something to be made with it. */
static bool wants_list(const struct replay *r, const struct trace_event *ev)
{
	unsigned maps = 0, writes = 0;

	for (uint32_t i = 0; i < ev->effects_len; i++) {
		maps += ev->effects[i].kind == TRACE_MAP;
		writes += ev->effects[i].kind == TRACE_WRITE;
	}
	return maps && maps + writes > 1 && list_allowed(r);
}

struct err *effect_apply(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	bool with_list = wants_list(r, ev);
	struct err *err = NULL;
	uint32_t written = 0;

	list_clear(&list);
	r->mem = (struct tracee_mem){ t->real, -1 };
	for (uint32_t i = 0; i < ev->effects_len && !err; i++) {
		const struct trace_effect *e = &ev->effects[i];

		r->list = with_list ? &list : NULL;
		if (!is_listed(e))
			err = effect_flush(r, t, ev);
		r->list = with_list && is_listed(e) ? &list : NULL;
		if (!err && i >= written && e->kind == TRACE_WRITE &&
		    !(r->list && list_meets(r->list, e)))
			written = writes_together(r, t, ev, i);
		if (!err)
			err = rp_machine_before(r, t, e);
		if (!err && (i >= written || e->kind != TRACE_WRITE))
			err = effect_one(r, t, ev, e);
	}
	r->list = with_list ? &list : NULL;
	if (!err)
		err = effect_flush(r, t, ev);
	r->list = NULL;
	tracee_mem_close(&r->mem);
	r->mem.tid = 0;
	return err ? err : rp_machine_after(r, t, ev);
}

struct err *effect_together(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			    const struct trace_effect *effects, unsigned n)
{
	struct err *err = NULL;

	list_clear(&list);
	r->list = n > 1 && list_allowed(r) ? &list : NULL;
	for (unsigned i = 0; i < n && !err; i++)
		err = effect_one(r, t, ev, &effects[i]);
	if (!err)
		err = effect_flush(r, t, ev);
	r->list = NULL;
	return err;
}
