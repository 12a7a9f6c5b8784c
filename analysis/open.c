/*
 * open.c - a session begins and ends: what of the analysis takes part in it.
 */
#include <stdlib.h>

#include "analysis/internal.h"
#include "analysis/program.h"

static void maps_changed(struct session *s)
{
	session_find_functions(s);
	if (s->log)
		allocators_find(s);
}

static void exec(struct session *s)
{
	history_reset(&s->h);
	if (s->log)
		memlog_reset(s);
}

static const struct session_ops ops = { .maps_changed = maps_changed, .exec = exec };

static void on_event(void *ctx, const struct trace_event *ev, int tid)
{
	struct session *s = ctx;

	(void)tid;
	if (ev->kind == TRACE_EXEC)
		s->exec_seen = true;
}

/*
 * A library goes: the dynamic loader unmaps it by system calls of its own, that no probe sees, and
 * with it pools that were its variables.
 */
static void on_mapping(void *ctx, int tid, uint64_t addr, uint64_t len)
{
	struct session *s = ctx;
	uint64_t bias;

	if (s->log && symbols_module_at(s->sym, addr, &bias))
		history_unmapped(s, addr, addr + len, tid);
}

struct err *session_open(const char *trace, const struct leaks_options *o, struct session *s)
{
	struct replay_options ro = { 0 };
	struct symbols_options so = { .open = program_file, .debug_dir = o->debug_dir };

	*s = (struct session){ .options = o, .trace = trace, .pid = o->pid, .ops = &ops };
	TRY(replay_open(trace, &ro, &s->r));
	so.ctx = s->r;
	TRY(symbols_create(&so, &s->sym));
	if (o->pid)
		TRY(lineage_find(trace, o->pid, o->at, s->stage, STAGES_MAX, &s->stages, &s->born,
				 &s->execed));
	TRY(replay_probes_start(s->r, s->stages ? s->stage[0].pid : o->pid, history_hits,
				session_learn, program_function, s->sym, s));
	replay_probe_events(s->r, on_event);
	replay_probe_mappings(s->r, on_mapping);
	return NULL;
}

void session_close(struct session *s)
{
	if (s->r) {
		session_drop_bookmarks(s);
		replay_close(s->r);
	}
	history_reset(&s->h);
	free(s->h.slot);
	free(s->h.key);
	free(s->h.block);
	free(s->h.mapped);
	for (unsigned i = 0; i < s->h.threads; i++)
		free(s->h.thread[i]);
	free(s->fn);
	free(s->text);
	free(s->loader);
	free(s->maps);
	free(s->stack);
	free(s->stack_slot);
	free(s->remain);
	jit_view_close(s->jit);
	guest_stacks_close(s);
	if (s->sym)
		symbols_destroy(s->sym);
}
