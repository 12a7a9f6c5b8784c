/*
 * filters.c - the list of seccomp filters of a task's own.
 *
 * Children inherit the list, and TSYNC hands it to other threads, as in the kernel.  filter.c
 * carries out what the filters say.
 */
#include <linux/seccomp.h>
#include <stdlib.h>

#include "recorder/internal.h"

void rec_filter_put(struct rec_filter *f)
{
	while (f && !--f->users) {
		struct rec_filter *prev = f->prev;

		free(f->plan);
		free(f);
		f = prev;
	}
}

void rec_filters_set(struct rec_filters *fs, struct rec_filter *f)
{
	if (f)
		f->users++;
	rec_filter_put(fs->last);
	fs->last = f;
}

void rec_filters_drop(struct rec_filters *fs)
{
	rec_filter_put(fs->last);
	fs->last = NULL;
}

void rec_filters_inherit(struct rec_filters *child, const struct rec_filters *parent)
{
	rec_filters_set(child, parent->last);
	child->strict = parent->strict;
	child->no_new_privs = parent->no_new_privs;
}

unsigned rec_filter_count(const struct recorder *rec, const struct rec_task *t)
{
	unsigned n = rec->outer_filters;

	for (const struct rec_filter *f = t->filters.last; f; f = f->prev)
		n++;
	return n;
}

static const struct rec_filter *nth(const struct rec_task *t, unsigned n)
{
	const struct rec_filter *f = t->filters.last;

	while (f && n--)
		f = f->prev;
	return f;
}

bool rec_filter_logs(const struct rec_task *t, unsigned n)
{
	const struct rec_filter *f = nth(t, n);

	return f && f->logs;
}

const void *rec_filter_code(const struct rec_task *t, unsigned n, unsigned *len)
{
	const struct rec_filter *f = nth(t, n);

	*len = f ? f->len : 0;
	return f ? f->code : NULL;
}

int64_t rec_filter_mode(const struct recorder *rec, const struct rec_task *t)
{
	if (t->filters.strict)
		return SECCOMP_MODE_STRICT;
	return t->filters.last || rec->outer_filter ? SECCOMP_MODE_FILTER : SECCOMP_MODE_DISABLED;
}
