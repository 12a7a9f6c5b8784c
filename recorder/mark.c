/*
 * mark.c - where cpuid and rdtsc cannot be made to trap, they become ud2 as code is mapped
 * (tracee/mark.h).
 *
 * What is found in a file is kept for its other mappings.  Code that the program writes itself is
 * looked at when it becomes executable; code in mappings that are writable and executable at once
 * is not: what rdtsc gives there is not recorded.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "recorder/internal.h"
#include "tracee/mark.h"

/* A range of a file, as it is mapped. */
struct rec_marks {
	struct rec_marks *next;
	struct rec_version version;
	uint64_t offset, len;
	struct mark_site *site;
	unsigned n;
	bool doubts;
};

static struct rec_marks *found_before(struct recorder *rec, uint64_t offset, uint64_t len,
				      const struct stat *st)
{
	const struct rec_version version = rec_version_of(st);
	struct rec_marks *m;

	for (m = rec->marks; m; m = m->next) {
		if (m->offset == offset && m->len == len &&
		    !memcmp(&m->version, &version, sizeof(version)))
			return m;
	}
	return NULL;
}

static struct err *put_one(struct recorder *rec, struct rec_task *t, uint64_t addr,
			   const struct mark_site *site)
{
	struct patch p;

	if (patches_at(&t->mm->buf.patches, addr) || !mark_put(t->tid, addr, site, &p))
		return NULL;
	if (!patches_add(&t->mm->buf.patches, &p))
		return &err_nomem;
	rec_effect_bytes(rec, addr, patch_mark, sizeof(patch_mark));
	rec_effect_patch(rec, &p);
	return NULL;
}

struct err *rec_mark_code(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			  uint64_t offset, const struct stat *st)
{
	struct rec_marks *m, own = { .len = len };
	struct err *err = NULL;

	if (!rec->meta.marked && !t->mm->tsc_open)
		return NULL;
	m = st ? found_before(rec, offset, len, st) : NULL;
	if (!m) {
		TRY(marks_find(t->tid, addr, len, &own.site, &own.n, &own.doubts));
		m = &own;
		if (st) {
			m = malloc(sizeof(*m));
			if (!m) {
				free(own.site);
				return &err_nomem;
			}
			*m = (struct rec_marks){ rec->marks, rec_version_of(st), offset,
						 len,	     own.site,		 own.n,
						 own.doubts };
			rec->marks = m;
		}
	}
	for (unsigned i = 0; i < m->n && !err; i++) {
		if (m->site[i].kind != PATCH_TSC && !rec->meta.marked)	/* it traps */
			continue;
		err = put_one(rec, t, addr + m->site[i].offset, &m->site[i]);
	}
	if (!err && m->n)
		err = rec_buffer_marked(t, addr + m->site[0].offset,
					m->site[m->n - 1].offset - m->site[0].offset + 2);
	if (!err && m->doubts)
		err = rec_tsc_doubt(rec, t);
	if (!st)
		free(own.site);
	return err;
}

void rec_marks_deinit(struct recorder *rec)
{
	while (rec->marks) {
		struct rec_marks *next = rec->marks->next;

		free(rec->marks->site);
		free(rec->marks);
		rec->marks = next;
	}
}
