/*
 * effect.c - the effects of the event that is being made.
 *
 * Effects are collected in rec->effect while a stop is handled.  Their bytes live in a small arena
 * (rec_alloc()) until rec_write() in event.c has handed the event to the trace and drops both.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "recorder/internal.h"
#include "tracee/level.h"

enum { ARENA_BLOCK = 256 << 10 };

void *rec_alloc(struct recorder *rec, size_t len)
{
	struct rec_arena *a = rec->arena;

	len = (len + 15) & ~(size_t)15;
	if (!a || a->size - a->used < len) {
		size_t size = len > ARENA_BLOCK ? len : ARENA_BLOCK;

		a = alloc_more(NULL, 1, sizeof(*a) + size, "one event");
		*a = (struct rec_arena){ (unsigned char *)(a + 1), 0, size, rec->arena };
		rec->arena = a;
	}
	a->used += len;
	return a->base + a->used - len;
}

/* Keep one block of ordinary size. */
static void arena_reset(struct recorder *rec)
{
	struct rec_arena *keep = NULL;

	while (rec->arena) {
		struct rec_arena *a = rec->arena;

		rec->arena = a->next;
		if (!keep && a->size == ARENA_BLOCK) {
			keep = a;
			keep->used = 0;
			keep->next = NULL;
		} else {
			free(a);
		}
	}
	rec->arena = keep;
}

void rec_effects_drop(struct recorder *rec)
{
	rec->effects = 0;
	arena_reset(rec);
}

struct trace_effect *rec_effect(struct recorder *rec, enum trace_effect_kind kind)
{
	struct trace_effect *e;

	if (rec->effects == rec->effects_size) {
		unsigned size = rec->effects_size * 2 + 64;

		e = alloc_more(rec->effect, size, sizeof(*e), "effects");
		rec->effect = e;
		rec->effects_size = size;
	}
	e = &rec->effect[rec->effects++];
	*e = (struct trace_effect){ .kind = kind };
	return e;
}

typedef size_t read_fn(pid_t tid, uint64_t addr, void *buf, size_t len);

static void effect_read(struct recorder *rec, struct rec_task *t, enum trace_effect_kind kind,
			uint64_t addr, uint64_t len, read_fn *read)
{
	struct trace_effect *e;
	void *bytes;
	size_t n;

	if (!len)
		return;
	bytes = rec_alloc(rec, len);
	n = read(t->tid, addr, bytes, len);
	if (!n)
		return;
	e = rec_effect(rec, kind);
	e->addr = addr;
	e->len = n;
	e->data = bytes;
	e->data_len = n;
}

void rec_effect_memory(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len)
{
	uint64_t end = addr + len;

	if (addr < FIXED_END && end > FIXED_PAGE) {	/* what is ours is nobody's business */
		if (addr < FIXED_PAGE)
			effect_read(rec, t, TRACE_WRITE, addr, FIXED_PAGE - addr,
				    tracee_read_mapped);
		addr = end > FIXED_END ? FIXED_END : end;
	}
	effect_read(rec, t, TRACE_WRITE, addr, end - addr, tracee_read_mapped);
}

void rec_effect_stored(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len)
{
	rec_effect_memory(rec, t, addr, t->mm->shared ? rec_writable(t, addr, len) : len);
}

void rec_effect_witness(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len)
{
	effect_read(rec, t, TRACE_WITNESS, addr, len, tracee_read_some);
}

void rec_effect_regs(struct recorder *rec, const struct regs *regs)
{
	struct trace_effect *e = rec_effect(rec, TRACE_REGS);
	struct regs *copy = rec_alloc(rec, sizeof(*copy));

	*copy = *regs;
	e->data = copy;
	e->data_len = sizeof(*copy);
}

void rec_effect_xstate(struct recorder *rec, struct rec_task *t)
{
	void *buf = rec_alloc(rec, TRACEE_XSTATE_MAX);
	struct trace_effect *e;
	size_t len;
	struct err *err = tracee_xstate_get(t->tid, buf, &len);

	if (err) {
		err_free(err);
		return;
	}
	if (cpu_emulates()) {
		xsave_layout here;
		void *as = rec_alloc(rec, TRACEE_XSTATE_MAX);

		xsave_layout_here(here);
		xsave_convert(here, buf, len, rec->meta.xsave_part, as, TRACEE_XSTATE_MAX, &len);
		buf = as;
	}
	e = rec_effect(rec, TRACE_XSTATE);
	e->data = buf;
	e->data_len = len;
}

void rec_effect_siginfo(struct recorder *rec, int sig, const siginfo_t *info,
			enum trace_signal_disposition disposition)
{
	struct trace_effect *e = rec_effect(rec, TRACE_SIGINFO);
	siginfo_t *copy = rec_alloc(rec, sizeof(*copy));

	*copy = *info;
	e->x = (uint64_t)sig;
	e->y = disposition;
	e->data = copy;
	e->data_len = sizeof(*copy);
}

void rec_effect_ret(struct recorder *rec, uint64_t ret)
{
	rec_effect(rec, TRACE_RET)->x = ret;
}

/* Adds the strings of path arguments, for people who read a dump. */
void rec_effect_strings(struct recorder *rec, struct rec_task *t)
{
	const struct rec_call *call = &t->call;
	char *text = NULL;

	for (unsigned i = 0; call->row && i < 6; i++) {
		struct trace_effect *e;

		if (call->row->arg[i].what != W_STR || !call->args[i])
			continue;
		text = rec_alloc(rec, 256);
		tracee_read_string(t->tid, call->args[i], text, 256);
		e = rec_effect(rec, TRACE_STR);
		e->x = i;
		e->data = text;
		e->data_len = strlen(text);
		if (!e->data_len)
			e->data = NULL;
	}
}

void rec_pending_save(struct recorder *rec, struct rec_pending *saved)
{
	*saved = (struct rec_pending){ rec->effect, rec->effects, rec->effects_size, rec->arena };
	rec->effect = NULL;
	rec->effects = rec->effects_size = 0;
	rec->arena = NULL;
}

void rec_pending_restore(struct recorder *rec, const struct rec_pending *saved)
{
	free(rec->effect);
	arena_reset(rec);
	free(rec->arena);
	rec->effect = saved->effect;
	rec->effects = saved->effects;
	rec->effects_size = saved->effects_size;
	rec->arena = saved->arena;
}

bool rec_warn_once(struct recorder *rec, uint64_t key)
{
	for (unsigned i = 0; i < rec->warned_n; i++) {
		if (rec->warned[i] == key)
			return false;
	}
	if (rec->warned_n == WARNED_MAX)
		return false;
	rec->warned[rec->warned_n++] = key;
	return true;
}

void rec_effect_bytes(struct recorder *rec, uint64_t addr, const void *bytes, size_t len)
{
	struct trace_effect *e = rec_effect(rec, TRACE_WRITE);
	void *copy = rec_alloc(rec, len);

	memcpy(copy, bytes, len);
	e->addr = addr;
	e->len = e->data_len = len;
	e->data = copy;
}

void rec_effect_patch(struct recorder *rec, const struct patch *p)
{
	struct trace_effect *e = rec_effect(rec, TRACE_PATCH);
	struct patch *copy = rec_alloc(rec, sizeof(*copy));

	*copy = *p;
	e->addr = p->addr;
	e->len = p->len;
	e->x = p->stub;
	e->y = p->kind;
	e->data = copy;
	e->data_len = sizeof(*copy);
}
