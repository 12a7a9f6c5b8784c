/*
 * lineage.c - where a process's memory comes from: which process was it before it was forked, and
 * that one before?
 *
 * A child that has not executed another program yet has its parent's blocks, also one that borrows
 * its memory (vfork).  So the analysis begins with the ancestor that did, and goes over to the
 * child at each fork.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "trace/trace.h"

struct process {
	int pid, parent;
	uint64_t forked, execed;	/* events; execed: the first, 0 = never */
};

struct lineage {
	struct process *p;
	size_t n;
	int *pid;		/* by serial of the task */
	size_t serials;
};

static struct process *process_of(struct lineage *l, int pid)
{
	for (size_t i = l->n; i--;) {
		if (l->p[i].pid == pid)
			return &l->p[i];
	}
	l->p = must(realloc(l->p, (l->n + 1) * sizeof(*l->p)));
	l->p[l->n] = (struct process){ .pid = pid };
	return &l->p[l->n++];
}

static int *serial(struct lineage *l, uint64_t n)
{
	enum { SERIALS_MAX = 1 << 22 };
	static int none;

	if (n >= SERIALS_MAX)
		return &none;
	if (n >= l->serials) {
		size_t more = n + 256;

		l->pid = must(realloc(l->pid, more * sizeof(*l->pid)));
		memset(l->pid + l->serials, 0, (more - l->serials) * sizeof(*l->pid));
		l->serials = more;
	}
	return &l->pid[n];
}

static void note(struct lineage *l, const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];
		int parent;

		if (e->kind != TRACE_TASK)
			continue;
		parent = *serial(l, e->len);
		*serial(l, e->object) = (int)e->y;
		if (parent && parent != (int)e->y) {
			struct process *p = process_of(l, (int)e->y);

			*p = (struct process){ .pid = (int)e->y,
					       .parent = parent,
					       .forked = ev->n };
		}
	}
	if (ev->kind == TRACE_EXEC && *serial(l, ev->task)) {
		struct process *p = process_of(l, *serial(l, ev->task));

		p->execed = p->execed ? p->execed : ev->n;
	}
}

struct err *lineage_find(const char *trace, int pid, uint64_t at, struct stage *ret,
			 unsigned max, unsigned *n_ret, uint64_t *born_ret, uint64_t *execed_ret)
{
	struct lineage l = { 0 };
	struct trace_reader *r;
	struct trace_event ev;
	struct err *err;
	unsigned n = 0;

	TRY(trace_reader_open(trace, &r));
	while (!(err = trace_reader_next(r, &ev)))
		note(&l, &ev);
	err_catch(&err, ERR_END);
	trace_reader_close(r);
	*born_ret = *execed_ret = 0;
	for (uint64_t before = at ? at + 1 : NEVER; !err && n < max;) {
		const struct process *p = process_of(&l, pid);
		bool own = !p->parent || (p->execed && p->execed < before);

		if (own && !n && p->parent) {
			*born_ret = p->forked;
			*execed_ret = p->execed;
		}
		memmove(ret + 1, ret, n++ * sizeof(*ret));
		ret[0] = (struct stage){ pid, own ? 0 : p->forked };
		if (own)
			break;
		before = p->forked;
		pid = p->parent;
	}
	free(l.p);
	free(l.pid);
	*n_ret = n;
	return err;
}
