/*
 * partial.c - calls on ranges of memory that failed, and had done a part by then.
 *
 * The kernel goes from mapping to mapping and stops at the first that refuses.  How far it came
 * cannot be told from the error, but from what is there afterwards: the effects describe the range
 * as it is now, whatever it was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/internal.h"

enum { CHUNK = 1 << 20 };

/* The part of [addr, addr + len) that lies in m; 0: none. */
static uint64_t part_of(const struct tracee_map *m, uint64_t addr, uint64_t len,
			uint64_t *start_ret)
{
	uint64_t end = addr + len < m->end ? addr + len : m->end;

	*start_ret = addr > m->start ? addr : m->start;
	return end > *start_ret ? end - *start_ret : 0;
}

static void page_effect(void *ctx, uint64_t addr, const void *bytes)
{
	struct recorder *rec = ctx;
	struct trace_effect *e = rec_effect(rec, TRACE_WRITE);

	e->addr = addr;
	e->len = e->data_len = PAGE_BYTES;
	e->data = memcpy(rec_alloc(rec, PAGE_BYTES), bytes, PAGE_BYTES);
}

static void advise(struct recorder *rec, uint64_t addr, uint64_t len, uint64_t advice)
{
	struct trace_effect *e = rec_effect(rec, TRACE_ADVISE);

	e->addr = addr;
	e->len = len;
	e->x = advice;
}

/* MADV_DONTNEED and its like: all pages go, and those that are there come back. */
static void dropped(struct recorder *rec, struct rec_task *t, const struct tracee_map *m,
		    uint64_t start, uint64_t len)
{
	if (m->shared) {	/* MADV_REMOVE: the object's content is what counts */
		for (uint64_t off = 0; off < len; off += CHUNK)
			rec_effect_memory(rec, t, start + off,
					  len - off < CHUNK ? len - off : CHUNK);
		return;
	}
	advise(rec, start, len, MADV_DONTNEED);
	err_free(tracee_pages(t->tid, start, len, PAGES_THERE, page_effect, rec));
}

/*
 * The flags that a child's memory depends on, from /proc/TID/smaps: one line "VmFlags: rd wr ..."
 * for each mapping.
 */
static void inherited(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len)
{
	struct tracee_map m = { 0 };
	char path[64], line[4352];
	uint64_t start, end, part;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps", t->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			m = (struct tracee_map){ .start = start, .end = end };
		if (strncmp(line, "VmFlags:", 8))
			continue;
		part = part_of(&m, addr, len, &start);
		if (!part)
			continue;
		advise(rec, start, part, strstr(line, " dc") ? MADV_DONTFORK : MADV_DOFORK);
		advise(rec, start, part, strstr(line, " wf") ? MADV_WIPEONFORK : MADV_KEEPONFORK);
	}
	if (f)
		fclose(f);
}

/* Refused as a whole: the kernel looks at these before it does anything. */
static bool is_senseless(uint64_t addr, uint64_t len)
{
	return !len || (addr & (PAGE_BYTES - 1)) || addr + len < addr;
}

/* Then it was refused before anything was done. */
static bool in_one_mapping(const struct tracee_maps *maps, uint64_t addr, uint64_t len)
{
	const struct tracee_map *m = tracee_maps_find(maps, addr);

	return m && addr + len <= m->end;
}

struct err *rec_partial_advise(struct recorder *rec, struct rec_task *t, uint64_t addr,
			       uint64_t len, uint64_t advice)
{
	struct tracee_maps maps;

	if (is_senseless(addr, len))
		return NULL;
	if (advice == MADV_DONTFORK || advice == MADV_DOFORK || advice == MADV_WIPEONFORK ||
	    advice == MADV_KEEPONFORK) {
		inherited(rec, t, addr, len);
		return NULL;
	}
	TRY(tracee_maps_read(t->tid, &maps));
	for (size_t i = 0; !in_one_mapping(&maps, addr, len) && i < maps.n; i++) {
		uint64_t start, part = part_of(&maps.map[i], addr, len, &start);

		if (part && (maps.map[i].shared == (advice == MADV_REMOVE)))
			dropped(rec, t, &maps.map[i], start, part);
	}
	tracee_maps_deinit(&maps);
	return NULL;
}

struct err *rec_partial_protect(struct recorder *rec, struct rec_task *t, uint64_t addr,
				uint64_t len, rec_protect_fn *fn)
{
	struct tracee_maps maps;
	struct err *err = NULL;

	if (is_senseless(addr, len))
		return NULL;
	TRY(tracee_maps_read(t->tid, &maps));
	for (size_t i = 0; !err && i < maps.n; i++) {
		uint64_t start, part = part_of(&maps.map[i], addr, len, &start);

		if (part)
			err = fn(rec, t, start, part, (uint64_t)maps.map[i].prot);
	}
	tracee_maps_deinit(&maps);
	return err;
}

struct err *rec_partial_unmap(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len)
{
	struct tracee_maps maps;
	uint64_t at = addr, end = addr + len;

	if (is_senseless(addr, len) || end > USER_END)	/* refused before anything goes */
		return NULL;
	TRY(tracee_maps_read(t->tid, &maps));
	for (size_t i = 0; i <= maps.n && at < end; i++) {
		uint64_t start = i < maps.n && maps.map[i].start < end ? maps.map[i].start : end;

		if (start > at) {
			struct trace_effect *e = rec_effect(rec, TRACE_UNMAP);

			e->addr = at;
			e->len = start - at;
			rec_shared_cut(t->mm, e->addr, e->len);
		}
		if (i < maps.n && maps.map[i].end > at)
			at = maps.map[i].end;
	}
	tracee_maps_deinit(&maps);
	return NULL;
}
