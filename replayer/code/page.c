/*
 * page.c - breakpoints are written into code, and taken out of it, by the page.
 *
 * They go in before each run and out after it.  A thousand of them lie on some dozen pages: with
 * calls of their own for each byte, a run would cost 20 ms.  Between rp_code_begin() and
 * rp_code_end() each page is read once, and what was changed in it is written at the end. Nothing
 * runs in between, and nobody else looks.
 */
#include <string.h>

#include "replayer/code/code.h"

enum { SLOTS = 64 };

static struct page {
	uint64_t at;		/* 0: nothing is here */
	unsigned dirty, end;	/* changed from .. to */
	uint8_t bytes[PAGE_BYTES];
} pages[SLOTS];
static pid_t of;		/* 0: not begun */

static void put_back(struct page *p)
{
	if (p->at && p->dirty < p->end)
		err_free(
			tracee_write(of, p->at + p->dirty, p->bytes + p->dirty, p->end - p->dirty));
	p->at = 0;
}

void rp_code_begin(pid_t real)
{
	of = real;
}

void rp_code_end(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		put_back(&pages[i]);
	of = 0;
}

/* NULL: it cannot be read. */
static struct page *page_of(uint64_t addr)
{
	uint64_t at = page_down(addr);
	struct page *p = &pages[at / PAGE_BYTES % SLOTS];

	if (at && p->at == at)
		return p;
	put_back(p);
	if (!at || tracee_read_some(of, at, p->bytes, PAGE_BYTES) != PAGE_BYTES)
		return NULL;
	p->at = at;
	p->dirty = PAGE_BYTES;
	p->end = 0;
	return p;
}

size_t rp_code_read(pid_t real, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0;

	if (real != of)
		return tracee_read_some(real, addr, buf, len);
	while (done < len) {
		size_t in = (addr + done) % PAGE_BYTES,
		       n = PAGE_BYTES - in < len - done ? PAGE_BYTES - in : len - done;
		const struct page *p = page_of(addr + done);

		if (!p)
			break;
		memcpy((char *)buf + done, p->bytes + in, n);
		done += n;
	}
	return done;
}

bool rp_code_has(pid_t real, uint64_t addr, uint8_t byte)
{
	uint8_t now;

	return rp_code_read(real, addr, &now, 1) != 1 || now == byte;
}

bool rp_code_write(pid_t real, uint64_t addr, const void *buf, size_t len)
{
	struct page *p = real == of && addr % PAGE_BYTES + len <= PAGE_BYTES ? page_of(addr) : NULL;
	unsigned in = (unsigned)(addr % PAGE_BYTES);
	struct err *err;

	if (p) {
		memcpy(p->bytes + in, buf, len);
		p->dirty = in < p->dirty ? in : p->dirty;
		p->end = in + len > p->end ? (unsigned)(in + len) : p->end;
		return true;
	}
	/* over the end of a page: what is known of both is old then */
	for (size_t i = 0; i < len; i++) {
		p = &pages[(addr + i) / PAGE_BYTES % SLOTS];
		if (real == of && p->at == page_down(addr + i))
			put_back(p);
	}
	err = tracee_write(real, addr, buf, len);
	err_free(err);
	return !err;
}
