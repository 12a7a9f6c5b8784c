/*
 * tool.c - asks the tools, one after the other.
 */
#include "replayer/machine/machine.h"

#include <sys/ptrace.h>

#include "base/bug.h"

static const struct run_ops *tools[TOOLS];

void rp_tool_register(unsigned n, const struct run_ops *ops)
{
	BUG_ON(n >= TOOLS || (tools[n] && tools[n] != ops), "two tools have the number %u", n);
	tools[n] = ops;
}

/* All that have this function. */
#define EACH(function) \
	for (unsigned n = 0; n < TOOLS; n++) \
		if (tools[n] && tools[n]->function)

bool rp_tools_watch(const struct replay *r, unsigned but)
{
	for (unsigned n = 0; n < TOOLS; n++) {
		if (n != but && tools[n] && tools[n]->watches && r->tool[n])
			return true;
	}
	return false;
}

bool rp_watched(const struct replay *r) { return rp_tools_watch(r, TOOLS); }

struct err *rp_tools_before_run(struct replay *r, struct rp_task *t, int *request)
{
	EACH(before_run)
		TRY(tools[n]->before_run(r, t, request));
	return NULL;
}

void rp_tools_after_stop(struct replay *r, struct rp_task *t, int status)
{
	EACH(after_stop)
		tools[n]->after_stop(r, t, status);
}

bool rp_tools_keep_place(const struct replay *r, const struct rp_task *t, int status)
{
	EACH(keeps_place) {
		if (tools[n]->keeps_place(r, t, status))
			return true;
	}
	return false;
}

void rp_tools_on_call(struct replay *r, struct rp_task *t)
{
	EACH(on_call)
		tools[n]->on_call(r, t);
}

bool rp_tools_on_hook_end(struct replay *r, struct rp_task *t)
{
	EACH(on_hook_end) {
		if (tools[n]->on_hook_end(r, t))
			return true;
	}
	return false;
}

struct err *rp_tools_on_interrupt(struct replay *r, struct rp_task *t, enum run_verdict *ret)
{
	*ret = RUN_NOT_MINE;
	EACH(on_interrupt) {
		TRY(tools[n]->on_interrupt(r, t, ret));
		if (*ret != RUN_NOT_MINE)
			return NULL;
	}
	return NULL;
}

struct err *rp_tools_on_signal(struct replay *r, struct rp_task *t, siginfo_t *info, bool ours,
			       enum run_verdict *ret)
{
	*ret = RUN_NOT_MINE;
	EACH(on_signal) {
		TRY(tools[n]->on_signal(r, t, info, ours, ret));
		if (*ret != RUN_NOT_MINE)
			return NULL;
	}
	return NULL;
}

bool rp_tools_on_unexpected(struct replay *r, struct rp_task *t, const siginfo_t *info, bool grown)
{
	bool go_on = false;

	EACH(on_unexpected)
		go_on |= tools[n]->on_unexpected(r, t, info, grown);
	return go_on;
}

void rp_tools_forget_stop(struct replay *r)
{
	EACH(forget_stop)
		tools[n]->forget_stop(r);
}

void rp_tools_on_fault(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	EACH(on_fault)
		tools[n]->on_fault(r, t, ev);
}

void rp_tools_before_search(struct replay *r, struct rp_task *t, uint64_t rip)
{
	EACH(before_search)
		tools[n]->before_search(r, t, rip);
}

void rp_tools_after_search(struct replay *r, struct rp_task *t)
{
	EACH(after_search)
		tools[n]->after_search(r, t);
}

void rp_tools_clear(struct replay *r, struct rp_task *t)
{
	EACH(clear)
		tools[n]->clear(r, t);
}

void rp_tools_remove_code(struct replay *r)
{
	EACH(remove_code)
		tools[n]->remove_code(r);
}

void rp_tools_remove_code_from(struct rp_mm *mm, pid_t real)
{
	EACH(remove_code_from)
		tools[n]->remove_code_from(mm, real);
}

bool rp_tools_in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start,
			 uint64_t end)
{
	EACH(in_the_way) {
		if (tools[n]->in_the_way(r, t, at, start, end))
			return true;
	}
	return false;
}

bool rp_tools_inside(const struct replay *r, const struct rp_task *t)
{
	EACH(inside) {
		if (tools[n]->inside(r, t))
			return true;
	}
	return false;
}

bool rp_tools_program_regs(const struct replay *r, const struct rp_task *t, struct regs *regs)
{
	EACH(program_regs) {
		if (!tools[n]->program_regs(r, t, regs))
			return false;
	}
	return true;
}

void rp_tools_went_back(struct replay *r, bool search)
{
	EACH(went_back)
		tools[n]->went_back(r, search);
}

void rp_tools_hide(const struct rp_mm *mm, uint64_t addr, void *bytes, size_t len)
{
	EACH(hide)
		tools[n]->hide(mm, addr, bytes, len);
}

void rp_tools_sum_begins(struct replay *r, struct rp_mm *mm, pid_t real)
{
	EACH(sum_begins)
		tools[n]->sum_begins(r, mm, real);
}

void rp_tools_sum_ends(struct replay *r, struct rp_mm *mm, pid_t real)
{
	EACH(sum_ends)
		tools[n]->sum_ends(r, mm, real);
}

bool rp_tools_own(const struct rp_mm *mm, uint64_t addr)
{
	EACH(owns) {
		if (tools[n]->owns(mm, addr))
			return true;
	}
	return false;
}

struct err *rp_tools_effect_begins(struct replay *r, struct rp_task *t,
				   const struct trace_effect *e)
{
	EACH(effect_begins)
		TRY(tools[n]->effect_begins(r, t, e));
	return NULL;
}

void rp_tools_mapping_changes(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len)
{
	EACH(mapping_changes)
		tools[n]->mapping_changes(r, t, addr, len);
}

void rp_tools_code_appears(struct replay *r, struct rp_task *t)
{
	EACH(code_appears)
		tools[n]->code_appears(r, t);
}

struct err *rp_tools_make_room(struct rp_task *t, uint64_t addr, uint64_t len)
{
	EACH(make_room)
		TRY(tools[n]->make_room(t, addr, len));
	return NULL;
}

void rp_tools_mapped(struct rp_mm *mm)
{
	EACH(mapped)
		tools[n]->mapped(mm);
}

bool rp_tools_fixed_code(struct rp_task *t, uint64_t addr)
{
	EACH(fixed_code) {
		if (tools[n]->fixed_code(t, addr))
			return true;
	}
	return false;
}

void rp_tools_memory_same(struct rp_mm *to, const struct rp_mm *from)
{
	EACH(memory_same)
		tools[n]->memory_same(to, from);
}

void rp_tools_memory_copied(struct rp_mm *copy, const struct rp_mm *mm)
{
	EACH(memory_copied)
		tools[n]->memory_copied(copy, mm);
}

void rp_tools_memory_freed(struct rp_mm *mm)
{
	EACH(memory_freed)
		tools[n]->memory_freed(mm);
}

void rp_tools_process_forked(struct replay *r, struct rp_task *child)
{
	EACH(process_forked)
		tools[n]->process_forked(r, child);
}

bool rp_tools_echo(struct replay *r, int fd, const void *bytes, size_t len)
{
	EACH(echo) {
		if (tools[n]->echo(r, fd, bytes, len))
			return true;
	}
	return false;
}

void rp_tools_close(struct replay *r)
{
	for (unsigned n = TOOLS; n-- > 0;) {
		if (tools[n] && tools[n]->close)
			tools[n]->close(r);
	}
}
