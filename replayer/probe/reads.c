/*
 * reads.c - memory of a task that stands still, in pages that are read once.
 *
 * Which pages the stack before needed is kept: the next one needs nearly the same, and they are
 * read all at once.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/page.h"
#include "base/alloc.h"
#include "replayer/probe/probe.h"

enum { PAGES = 24 };
_Static_assert((int)PAGES <= (int)TRACEE_PAGES, "read at once");

struct rp_reads {
	pid_t task;
	bool fetched;
	unsigned n;
	struct page { uint64_t addr; bool used; uint8_t byte[PAGE_BYTES]; } page[PAGES];
};

void rp_reads_begin(struct rp_probes *p, const struct rp_task *t)
{
	if (!p->reads)
		p->reads = alloc_zeroed(1, sizeof(*p->reads), "probes");
	p->reads->task = t->real;
	p->reads->fetched = false;
}

static void fetch(struct rp_reads *m)
{
	uint64_t addr[PAGES];
	void *buf[PAGES];
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++) {
		if (!m->page[i].used)
			continue;
		addr[n] = m->page[i].addr;
		buf[n] = m->page[n].byte;
		n++;
	}
	m->n = n ? (unsigned)tracee_read_pages(m->task, addr, buf, n) : 0;
	for (unsigned i = 0; i < m->n; i++) {
		m->page[i].addr = addr[i];
		m->page[i].used = false;
	}
	m->fetched = true;
}

static const uint8_t *page_at(struct rp_reads *m, uint64_t start)
{
	struct page *p;

	if (!m->fetched)
		fetch(m);
	for (unsigned i = 0; i < m->n; i++) {
		if (m->page[i].addr == start) {
			m->page[i].used = true;
			return m->page[i].byte;
		}
	}
	if (m->n == PAGES)
		return NULL;
	p = &m->page[m->n];
	if (tracee_read_some(m->task, start, p->byte, PAGE_BYTES) != PAGE_BYTES)
		return NULL;
	p->addr = start;
	p->used = true;
	m->n++;
	return p->byte;
}

bool rp_reads(struct rp_probes *p, uint64_t addr, void *ret, size_t len)
{
	size_t at = addr & (PAGE_BYTES - 1);
	const uint8_t *page = at + len <= PAGE_BYTES ? page_at(p->reads, addr - at) : NULL;

	if (!page)
		return tracee_read_some(p->reads->task, addr, ret, len) == len;
	memcpy(ret, page + at, len);
	return true;
}
