/*
 * ud2.c - instructions that cannot be made to trap become ud2 as code is mapped (tracee/ud2.h):
 * cpuid and rdtsc on some machines; rdrand, rdseed and rdpid on all, but where they are the only
 * ones, in files alone.
 *
 * What is found in a file is kept for its other mappings.  Code that the program writes itself is
 * looked at when it becomes executable; in mappings that are writable and executable at once, when
 * it is run (written_code.c).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "recorder/internal.h"
#include "tracee/ud2.h"

/* A range of a file, as it is mapped. */
struct rec_ud2s {
	struct rec_ud2s *next;
	struct rec_version version;
	uint64_t offset, len;
	struct ud2_site *site;
	unsigned n;
	bool doubts;
};

static struct rec_ud2s *found_before(struct recorder *rec, uint64_t offset, uint64_t len,
				      const struct stat *st)
{
	const struct rec_version version = rec_version_of(st);
	struct rec_ud2s *m;

	for (m = rec->ud2s; m; m = m->next) {
		if (m->offset == offset && m->len == len &&
		    !memcmp(&m->version, &version, sizeof(version)))
			return m;
	}
	return NULL;
}

/* Patches that have been put in are the process's, and in the trace. */
static struct err *note(struct recorder *rec, struct rec_task *t, const struct patch *p,
			unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!p[i].n)
			continue;
		if (!patches_add(&t->mm->buf.patches, &p[i]))
			return &err_nomem;
		rec_effect_bytes(rec, p[i].addr, patch_ud2, sizeof(patch_ud2));
		rec_effect_patch(rec, &p[i]);
	}
	return NULL;
}

static bool is_needed(const struct recorder *rec, const struct rec_task *t, unsigned kind)
{
	return kind == UD2_RANDOM || rec->meta.marked || (kind == PATCH_TSC && t->mm->tsc_open);
}

static struct err *put_all(struct recorder *rec, struct rec_task *t, uint64_t addr,
			   const struct ud2_site *site, unsigned n)
{
	enum { SOME = 64 };
	struct tracee_mem mem = { t->tid, -1 };
	struct ud2_site some[SOME];
	struct patch p[SOME];
	struct err *err = NULL;
	unsigned k = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		if (is_needed(rec, t, site[i].kind) &&
		    !patches_at(&t->mm->buf.patches, addr + site[i].offset))
			some[k++] = site[i];
		if (k < SOME && i + 1 < n)
			continue;
		ud2_put_all(&mem, addr, some, k, p);
		err = note(rec, t, p, k);
		k = 0;
	}
	tracee_mem_close(&mem);
	if (err)
		return err;
	return n ? rec_buffer_has_ud2(t, addr + site[0].offset,
				     site[n - 1].offset - site[0].offset + 2)
		 : NULL;
}

struct err *rec_ud2_code(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			  uint64_t offset, const struct stat *st)
{
	struct rec_ud2s *m, own = { .len = len };
	struct err *err = NULL;

	if (!rec->meta.marked && !t->mm->tsc_open && !st)
		return NULL;
	m = st ? found_before(rec, offset, len, st) : NULL;
	if (!m) {
		TRY(ud2_find(t->tid, addr, len, &own.site, &own.n, &own.doubts));
		m = &own;
		if (st) {
			m = malloc(sizeof(*m));
			if (!m) {
				free(own.site);
				return &err_nomem;
			}
			*m = (struct rec_ud2s){ rec->ud2s, rec_version_of(st), offset,
						 len,	     own.site,		 own.n,
						 own.doubts };
			rec->ud2s = m;
		}
	}
	err = put_all(rec, t, addr, m->site, m->n);
	if (!err && m->doubts && t->mm->tsc_open)
		err = rec_tsc_doubt(rec, t);
	if (!st)
		free(own.site);
	return err;
}

struct err *rec_ud2_path(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t end)
{
	struct ud2_site *site;
	unsigned n;
	struct err *err;

	TRY(ud2_on_path(t->tid, addr, end, &site, &n));
	err = put_all(rec, t, addr, site, n);
	free(site);
	return err;
}

void rec_ud2_deinit(struct recorder *rec)
{
	while (rec->ud2s) {
		struct rec_ud2s *next = rec->ud2s->next;

		free(rec->ud2s->site);
		free(rec->ud2s);
		rec->ud2s = next;
	}
}
