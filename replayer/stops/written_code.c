/*
 * written_code.c - breakpoints in memory that the program may write code to: a JIT compiler's.
 *
 * What it writes takes an int3 away.  Put in again at the next stop, or the next tick, how often it
 * is hit would depend on when that is, and the names of positions count hits.  So these pages are
 * protected while breakpoints are in them.  When the program writes to one, all of them come out,
 * and the page cannot be executed any more (page_watch_opens()): it is written and read as it is.
 * When the program comes to execute it, breakpoints.c puts them in again, into the code that is
 * there now.  Memory that cannot be executed anyway has none in it.
 *
 * A page may be written to by another of its addresses (runtimes that never have memory both
 * writable and executable): that one is protected, and page_watch.c takes the breakpoints out for
 * the one instruction that writes.
 *
 * Not seen: a program that reads code which it executes, where a breakpoint is (it may be moving
 * it), and has not just written to that page.
 */
#include <sys/mman.h>

#include "replayer/stops/page_watch.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/stops.h"
#include "replayer/stops/written_code.h"

static bool known(const struct rp_mm *mm, uint64_t addr)
{
	for (unsigned i = 0; i < RP_KNOWN; i++) {
		if (addr - stops_mm(mm)->known[i].start <
		    stops_mm(mm)->known[i].end - stops_mm(mm)->known[i].start)
			return true;
	}
	return false;
}

bool rp_written_any(const struct rp_mm *mm, const struct rp_set *s, pid_t pid)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (rp_is_int3(&s->b[i], pid) && !known(mm, s->b[i].addr))
			return true;
	}
	return false;
}

bool rp_written_is_open(const struct rp_mm *mm, uint64_t addr)
{
	const struct stops_mm *s = stops_mm(mm);

	for (unsigned i = 0; i < s->open_n; i++) {
		if (s->open[i] == page_down(addr))
			return true;
	}
	return false;
}

bool rp_written_open(struct rp_mm *mm, uint64_t page)
{
	struct stops_mm *s = stops_mm(mm);

	if (s->open_n == RP_KNOWN)
		return false;
	s->open[s->open_n++] = page;
	return true;
}

static void close_pages(struct rp_mm *mm, uint64_t start, uint64_t end)
{
	struct stops_mm *s = stops_mm(mm);
	unsigned n = 0;

	for (unsigned i = 0; i < s->open_n; i++) {
		if (s->open[i] >= end || s->open[i] + PAGE_BYTES <= start)
			s->open[n++] = s->open[i];
	}
	s->open_n = n;
}

void rp_written_close(struct rp_mm *mm, uint64_t addr)
{
	close_pages(mm, addr, addr + 1);
}

bool rp_written_close_all(struct rp_mm *mm)
{
	bool any = stops_mm(mm)->open_n;

	stops_mm(mm)->open_n = 0;
	return any;
}

void rp_written_forget(struct rp_mm *mm, uint64_t addr, uint64_t len)
{
	close_pages(mm, addr, addr + len);
	for (unsigned i = 0; i < RP_KNOWN; i++) {
		if (stops_mm(mm)->known[i].start < addr + len && stops_mm(mm)->known[i].end > addr)
			stops_mm(mm)->known[i] = (struct rp_range){ 0 };
	}
}

static void know(struct rp_mm *mm, uint64_t start, uint64_t end)
{
	stops_mm(mm)->known[stops_mm(mm)->known_next++ % RP_KNOWN] =
		(struct rp_range){ start, end };
}

/* Nothing is mapped at addr: from where to where? */
static void know_gap(struct rp_mm *mm, const struct tracee_maps *maps, uint64_t addr)
{
	uint64_t start = 0, end = UINT64_MAX;

	for (size_t i = 0; i < maps->n; i++) {
		if (maps->map[i].end <= addr)
			start = maps->map[i].end;
		else if (maps->map[i].start < end)
			end = maps->map[i].start;
	}
	know(mm, start, end);
}

/* Returns where o has the byte that the shared mapping m has at addr; 0: nowhere. */
static uint64_t address_in(const struct tracee_map *o, const struct tracee_map *m, uint64_t addr)
{
	uint64_t offset = addr - m->start + m->offset;

	if (!o->shared || o->inode != m->inode || o->major != m->major || o->minor != m->minor ||
	    offset < o->offset || offset - o->offset >= o->end - o->start)
		return 0;
	return offset - o->offset + o->start;
}

/* The page at addr in m, wherever it can be written to. */
static void add_others(struct rp_mm *mm, const struct tracee_maps *maps, const struct tracee_map *m,
		       uint64_t page,
		       void (*add)(struct rp_mm *mm, const struct tracee_maps *maps, uint64_t page))
{
	for (size_t i = 0; i < maps->n; i++) {
		uint64_t other =
			maps->map[i].prot & PROT_WRITE ? address_in(&maps->map[i], m, page) : 0;

		if (other)
			add(mm, maps, other);
	}
}

void rp_written_pages(struct rp_mm *mm, const struct tracee_maps *maps, const struct rp_set *s,
		      pid_t pid,
		      void (*add)(struct rp_mm *mm, const struct tracee_maps *maps, uint64_t page))
{
	for (unsigned i = 0; i < s->n; i++) {
		uint64_t page = page_down(s->b[i].addr);
		const struct tracee_map *m;

		if (!rp_is_int3(&s->b[i], pid) || known(mm, s->b[i].addr))
			continue;
		m = tracee_maps_find(maps, page);
		if (!m)
			know_gap(mm, maps, page);
		else if (m->shared)
			add_others(mm, maps, m, page, add);
		else if (!(m->prot & PROT_EXEC))
			continue;
		else if (m->prot & PROT_WRITE)
			add(mm, maps, page);
		else
			know(mm, m->start, m->end);
	}
}

int rp_written_shared(const struct tracee_maps *maps, uint64_t addr, uint64_t *other)
{
	const struct tracee_map *m = tracee_maps_find(maps, addr);

	*other = 0;
	for (size_t k = 0; m && m->shared && !*other && k < maps->n; k++)
		*other = &maps->map[k] == m ? 0 : address_in(&maps->map[k], m, addr);
	return m && m->shared ? m->prot : 0;
}

bool rp_written_poke(pid_t real, uint64_t addr, uint8_t byte, int prot)
{
	uint64_t page = page_down(addr);
	struct err *err = prot & PROT_WRITE ? NULL : rp_page_protect(real, page, prot | PROT_WRITE);
	bool good;

	if (!err)
		err = tracee_write(real, addr, &byte, 1);
	good = !err;
	err_free(err);
	if (!(prot & PROT_WRITE))
		err_free(rp_page_protect(real, page, prot));
	return good;
}

void rp_written_mapped(struct replay *r, struct rp_task *t, const struct trace_effect *e)
{
	const struct rp_set *s = stops_of(r)->sets[stops_of(r)->run.set];

	for (unsigned i = 0; i < s->n && stops_mm(t->mm)->int3_gen; i++) {
		if (rp_is_int3(&s->b[i], t->rec_pid) && s->b[i].addr - e->addr < e->len)
			rp_tools_remove_code_from(t->mm, t->real);
	}
}
