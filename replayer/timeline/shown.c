/*
 * shown.c - the processes whose stops are reported.
 *
 * A process is shown from its birth on, or from when it was asked for, to its end; once a debugger has been told of that end the process
 * is not shown where time is behind it, and comes again by itself where it is not.
 */
#include <stdlib.h>

#include "replayer/internal.h"

static struct rp_shown *entry_of(const struct replay *r, int pid)
{
	for (unsigned i = 0; i < r->debug->shown_n; i++) {
		if (r->debug->shown[i].pid == pid)
			return &r->debug->shown[i];
	}
	return NULL;
}

uint64_t rp_shown_until(const struct replay *r, int pid)
{
	const struct rp_shown *s = entry_of(r, pid);

	return s ? s->end : 0;
}

bool replay_shown(const struct replay *r, int pid)
{
	return r->where < rp_shown_until(r, pid);
}

void replay_show(struct replay *r, int pid, bool on)
{
	struct rp_debug *d = r->debug;
	struct rp_shown *s = entry_of(r, pid);

	d->catch_all_anew = d->caught_n > 0;
	if (!on) {
		if (s)
			*s = d->shown[--d->shown_n];
		return;
	}
	if (s && r->where < s->end)
		return;
	if (!s) {
		if (!(d->shown_n & (d->shown_n - 1)))
			d->shown = realloc(d->shown, (d->shown_n ? 2 * d->shown_n : 1) * sizeof(*d->shown));
		BUG_ON(!d->shown, "out of memory for processes");
		s = &d->shown[d->shown_n++];
	}
	*s = (struct rp_shown){ .pid = pid, .birth = r->where, .end = UINT64_MAX };
}

void replay_show_end(struct replay *r, int pid)
{
	struct rp_shown *s = entry_of(r, pid);

	if (s)
		s->end = r->where;
}

bool rp_told_end(const struct replay *r, int pid, uint64_t event)
{
	const struct rp_shown *s = entry_of(r, pid);

	return s && s->end == event;
}

uint64_t rp_first(const struct replay *r)
{
	const struct rp_debug *d = r->debug;
	uint64_t first = d->shown_n ? UINT64_MAX : d->first;

	for (unsigned i = 0; i < d->shown_n; i++)
		first = d->shown[i].birth < first ? d->shown[i].birth : first;
	return first < d->first ? d->first : first;
}

int replay_shares_memory(const struct replay *r, int pid)
{
	const struct rp_mm *mm = NULL;

	for (const struct rp_task *t = r->tasks; t && !mm; t = t->next)
		mm = t->rec_pid == pid && t->real ? t->mm : NULL;
	for (const struct rp_task *t = r->tasks; t && mm; t = t->next) {
		if (t->mm == mm && t->rec_pid != pid && t->real)
			return t->rec_pid;
	}
	return 0;
}
