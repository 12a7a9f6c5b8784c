/*
 * pages.c - which pages of a process have something in them, and what.
 *
 * A program may reserve terabytes and touch ten pages (AddressSanitizer, a garbage collector's
 * heap).  So what is not there must cost nothing: PAGEMAP_SCAN (Linux 6.7) skips empty page
 * tables.  Before that there is only /proc/PID/pagemap, eight bytes for each page whether it is
 * there or not: 1.4 s for a terabyte.  There smaps tells how many pages of a large range are
 * resident (it skips empty tables, too), and reading ends when so many have been found; where they
 * were the last time is read first, so that a second pass reads little.
 *
 * Memory of a file is not only what is in the page table.  Pages that nobody has touched come from
 * the file, whose holes lseek() tells; so the caller passes the file where it has it.
 */
#include "tracee/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "abi/page.h"
#include "base/alloc.h"
#include "tracee/ptrace.h"

enum { CHUNK_PAGES = 512, BATCH = 64 };
enum { READ_PAGES = 64 };	/* at once: they are still in the cache when fn looks at them */
#define PAGEMAP_THERE \
	(3ull << 62) /* present or swapped: Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_SURE               \
	(1ull << 62 | 1ull << 61 | \
	 1ull << 56) /* swapped, of a file, mapped once: not the page of zeros */
#define LARGE         \
	((uint64_t)64 \
	 << 20) /* a range that is worth a look at smaps, or at the holes of its file */
#define REGION ((uint64_t)1 << 30) /* what the second pass reads first */

/* ---- Linux 6.7 ------------------------------------------------------------------------------- */

/* linux/fs.h, which may be older than the kernel. */
struct scan_region {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

enum { SCAN_FILE = 1 << 2, SCAN_PRESENT = 1 << 3, SCAN_SWAPPED = 1 << 4, SCAN_ZERO = 1 << 5 };
#define SCAN_REQUEST _IOWR('f', 16, struct scan_arg)

static struct {
	struct tracee_mem mem;	/* tid 0: nothing is kept */
	int pagemap;
} kept = { { 0, -1 }, -1 };

bool pages_keep(pid_t tid)
{
	if (kept.mem.tid)
		return false;
	kept.mem.tid = tid;
	return true;
}

void pages_let_go(void)
{
	tracee_mem_close(&kept.mem);
	if (kept.pagemap >= 0)
		close(kept.pagemap);
	kept.mem.tid = 0;
	kept.pagemap = -1;
}

static int pagemap_open(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* False: this kernel has no such thing (nothing was handed out then). */
static bool scan(int fd, uint64_t start, uint64_t end, bool own, pages_range_fn *fn, void *ctx,
		 struct err **err)
{
	struct scan_region found[BATCH];
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = start,
		.end = end,
		.vec = (uintptr_t)found,
		.vec_len = BATCH,
		.category_inverted = SCAN_ZERO | (own ? SCAN_FILE : 0),
		.category_mask = SCAN_ZERO | (own ? SCAN_FILE : 0),
		.category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
		.return_mask = SCAN_PRESENT,
	};

	*err = NULL;
	while (arg.start < end && !*err) {
		int n = ioctl(fd, SCAN_REQUEST, &arg);

		if (n < 0 && arg.start == start)
			return false;
		for (int i = 0; i < n && !*err; i++)
			*err = fn(ctx, found[i].start, found[i].end);
		if (n < 0 || arg.walk_end <= arg.start)
			break;
		arg.start = arg.walk_end;
	}
	return true;
}

/* ---- before ---------------------------------------------------------------------------------- */

/*
 * Resident and swapped pages of the mappings in [start, end), or only those of the process's own,
 * by smaps; UINT64_MAX where it does not tell. */
static uint64_t pages_there(pid_t tid, uint64_t start, uint64_t end, bool own)
{
	char path[64], line[512];
	uint64_t sum = 0, from, to, kb;
	bool in = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps", tid);
	f = fopen(path, "re");
	if (!f)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
			in = from < end && to > start;
		else if (in &&
			 (sscanf(line, own ? "Anonymous: %" SCNu64 : "Rss: %" SCNu64, &kb) == 1 ||
			  sscanf(line, "Swap: %" SCNu64, &kb) == 1))
			sum += kb / 4;
	}
	fclose(f);
	return sum;
}

struct ranges {
	struct { uint64_t start, end; } *r;
	size_t n, room;
	uint64_t sure;		/* pages that smaps counts */
};

static bool ranges_add(struct ranges *s, uint64_t start, uint64_t end)
{
	if (s->n && s->r[s->n - 1].end == start) {
		s->r[s->n - 1].end = end;
		return true;
	}
	if (s->n == s->room) {
		void *more = realloc(s->r, (s->room * 2 + 64) * sizeof(*s->r));

		if (!more)
			return false;
		s->r = more;
		s->room = s->room * 2 + 64;
	}
	s->r[s->n].start = start;
	s->r[s->n++].end = end;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Does smaps count the page?  The page of zeros, which it does not count, is present, too, and
 * looks like a page that a fork has left shared.
 */
static bool is_counted(pid_t tid, uint64_t addr, uint64_t entry)
{
	static const unsigned char zeros[PAGE_BYTES];
	unsigned char bytes[PAGE_BYTES];

	return (entry & PAGEMAP_SURE) ||
	       (tracee_read_some(tid, addr, bytes, PAGE_BYTES) == PAGE_BYTES &&
		memcmp(bytes, zeros, PAGE_BYTES));
}

/* Where to look, and what for. */
struct looking {
	pid_t tid;
	int fd;
	bool own;
	uint64_t wanted;	/* pages that smaps counts; UINT64_MAX: find all */
};

/* Entries of [start, end), until so many pages have been found as are wanted. */
static bool read_entries(const struct looking *l, uint64_t start, uint64_t end,
			 struct ranges *found)
{
	uint64_t entries[CHUNK_PAGES];
	uint64_t unwanted = l->own ? 1ull << 61 : 0;	/* a page of the file, or shared */

	for (uint64_t at = start; at < end && found->sure < l->wanted;) {
		size_t left = (end - at) / PAGE_BYTES, n = left < CHUNK_PAGES ? left : CHUNK_PAGES;
		ssize_t got = pread(l->fd, entries, n * 8, (off_t)(at / PAGE_BYTES * 8));

		n = got < 8 ? 0 : (size_t)got / 8;
		for (size_t i = 0; i < n; i++) {
			if (!(entries[i] & PAGEMAP_THERE) || (entries[i] & unwanted))
				continue;
			if (l->wanted != UINT64_MAX)
				found->sure += is_counted(l->tid, at + i * PAGE_BYTES, entries[i]);
			if (!ranges_add(found, at + i * PAGE_BYTES, at + (i + 1) * PAGE_BYTES))
				return false;
		}
		if (!n)
			break;
		at += n * PAGE_BYTES;
	}
	return true;
}

/*
 * Regions in which something was found before; of whatever process, since only the order of reading
 * depends on them.
 */
enum { SEEN = 256 };
static uint64_t seen[SEEN];
static unsigned seen_n;

static bool among(const uint64_t *regions, unsigned n, uint64_t region)
{
	for (unsigned i = 0; i < n; i++) {
		if (regions[i] == region)
			return true;
	}
	return false;
}

static void note_region(uint64_t region)
{
	if (!among(seen, seen_n < SEEN ? seen_n : SEEN, region))
		seen[seen_n++ % SEEN] = region;
}

static bool read_large(const struct looking *l, uint64_t start, uint64_t end, struct ranges *found)
{
	unsigned n = seen_n < SEEN ? seen_n : SEEN;
	uint64_t first[SEEN];
	bool good = true;

	memcpy(first, seen, n * sizeof(first[0]));
	for (unsigned i = 0; i < n && good && found->sure < l->wanted; i++) {
		uint64_t at = first[i] * REGION, stop = at + REGION;

		if (stop > start && at < end)
			good = read_entries(l, at > start ? at : start, stop < end ? stop : end,
					    found);
	}
	for (uint64_t at = start, stop; good && at < end && found->sure < l->wanted; at = stop) {
		size_t before = found->n;

		stop = (at / REGION + 1) * REGION < end ? (at / REGION + 1) * REGION : end;
		if (among(first, n, at / REGION))
			continue;
		good = read_entries(l, at, stop, found);
		if (found->n > before)
			note_region(at / REGION);
	}
	qsort(found->r, found->n, sizeof(*found->r), by_start);
	return good;
}

static struct err *read_pagemap(pid_t tid, int fd, uint64_t start, uint64_t end, bool own,
				pages_range_fn *fn, void *ctx)
{
	struct looking l = { tid, fd, own, UINT64_MAX };
	struct ranges found = { 0 };
	struct err *err = NULL;
	bool good;

	if (end - start > LARGE) {
		l.wanted = pages_there(tid, start, end, own);
		good = read_large(&l, start, end, &found);
	} else {
		good = read_entries(&l, start, end, &found);
	}
	for (size_t i = 0; good && i < found.n && !err; i++)
		err = fn(ctx, found.r[i].start, found.r[i].end);
	free(found.r);
	return good ? err : &err_nomem;
}

static bool without_scan(void)
{
	static int without = -1;
	const char *asked;

	if (without < 0) {
		asked = getenv("HINDSIGHT_NO_PAGEMAP_SCAN");	/* for tests of the other way */
		without = asked && *asked == '1';
	}
	return without;
}

static struct err *find(pid_t tid, uint64_t start, uint64_t end, bool own, pages_range_fn *fn,
			void *ctx)
{
	bool keep = kept.mem.tid == tid;
	int fd = keep && kept.pagemap >= 0 ? kept.pagemap : pagemap_open(tid);
	struct err *err = NULL;

	if (fd < 0)
		return fn(ctx, start, end);
	if (keep)
		kept.pagemap = fd;
	if (without_scan() || !scan(fd, start, end, own, fn, ctx, &err))
		err = read_pagemap(tid, fd, start, end, own, fn, ctx);
	if (!keep)
		close(fd);
	return err;
}

struct err *pages_resident(pid_t tid, uint64_t addr, uint64_t len, pages_range_fn *fn, void *ctx)
{
	return find(tid, addr, addr + len, false, fn, ctx);
}

struct err *pages_private(pid_t tid, uint64_t addr, uint64_t len, pages_range_fn *fn, void *ctx)
{
	return find(tid, addr, addr + len, true, fn, ctx);
}

/* ---- their bytes ----------------------------------------------------------------------------- */

struct reading {
	struct tracee_mem own, *mem;	/* mem: own, or what pages_keep() keeps */
	bool forked;
	tracee_page_fn *fn;
	void *ctx;
	uint64_t upto;		/* everything below has been handed out */
};

static size_t read_some(const struct reading *s, uint64_t addr, void *buf, size_t len)
{
	return s->forked ? tracee_mem_read_some(s->mem, addr, buf, len)
			 : tracee_read_some(s->mem->tid, addr, buf, len);
}

/* Read [addr, end) and hand it out; pages that cannot be read are left out. */
static struct err *read_range(void *ctx, uint64_t addr, uint64_t end)
{
	static unsigned char (*buf)[READ_PAGES * PAGE_BYTES];
	struct reading *s = ctx;

	ALLOC_ONCE(buf, "the pages of a process");
	if (addr < s->upto)
		addr = s->upto;
	s->upto = end > s->upto ? end : s->upto;
	while (addr < end) {
		uint64_t left = (end - addr) / PAGE_BYTES;
		size_t n = left < READ_PAGES ? (size_t)left : READ_PAGES;
		size_t got = read_some(s, addr, *buf, n * PAGE_BYTES) / PAGE_BYTES;

		if (got == 0) {	/* no read permission: the slow way, one page */
			struct err *err = tracee_read(s->mem->tid, addr, *buf, PAGE_BYTES);

			got = 1;
			if (err) {
				err_free(err);
				addr += PAGE_BYTES;
				continue;
			}
		}
		for (size_t i = 0; i < got; i++)
			s->fn(s->ctx, addr + i * PAGE_BYTES, *buf + i * PAGE_BYTES);
		addr += got * PAGE_BYTES;
	}
	return NULL;
}

static void reading_init(struct reading *s, pid_t tid, unsigned how, tracee_page_fn *fn, void *ctx)
{
	*s = (struct reading){
		.own = { tid, -1 }, .forked = how & PAGES_FORKED, .fn = fn, .ctx = ctx
	};
	s->mem = kept.mem.tid == tid ? &kept.mem : &s->own;
}

struct err *tracee_pages(pid_t tid, uint64_t addr, uint64_t len, unsigned how, tracee_page_fn *fn,
			 void *ctx)
{
	struct reading s;
	struct err *err;

	reading_init(&s, tid, how, fn, ctx);
	err = how & PAGES_ALL ? read_range(&s, addr, addr + len)
			      : find(tid, addr, addr + len, false, read_range, &s);
	tracee_mem_close(&s.own);
	return err;
}

/* ---- of a file ------------------------------------------------------------------------------- */

struct merging {
	struct reading *reading;
	int fd;
	uint64_t addr, offset;	/* of the mapping, and of its first byte in the file */
	off_t size;
	off_t data, hole;	/* the next data of the file at or behind upto */
};

/* The file's data in [upto, end). */
static struct err *data_until(struct merging *m, uint64_t end)
{
	struct reading *s = m->reading;

	while (s->upto < end) {
		off_t at = (off_t)(s->upto - m->addr + m->offset);
		uint64_t from, to;

		if (at >= m->hole) {
			m->data = at < m->size ? lseek(m->fd, at, SEEK_DATA) : m->size;
			m->hole = m->data < 0 || m->data >= m->size
					  ? INT64_MAX
					  : lseek(m->fd, m->data, SEEK_HOLE);
			if (m->data < 0 || m->data >= m->size)
				m->data = INT64_MAX;
			if (m->hole < 0)
				m->hole = INT64_MAX;
		}
		if (m->data == INT64_MAX)
			break;
		from = m->data > at ? (uint64_t)(m->data - at) + s->upto : s->upto;
		to = (uint64_t)(m->hole - at) + s->upto;
		from = page_down(from);
		if (to < end)	/* a page in the middle of which the hole begins */
			to = page_up(to);
		if (from >= end)
			break;
		TRY(read_range(s, from, to < end ? to : end));
	}
	return NULL;
}

static struct err *own_range(void *ctx, uint64_t start, uint64_t end)
{
	struct merging *m = ctx;

	TRY(data_until(m, start));
	return read_range(m->reading, start, end);
}

struct err *pages_of_file(pid_t tid, uint64_t addr, uint64_t len, unsigned how, int fd,
			  uint64_t offset, tracee_page_fn *fn, void *ctx)
{
	struct reading s;
	struct merging m = { .reading = &s, .fd = fd, .addr = addr, .offset = offset };
	struct err *err;

	reading_init(&s, tid, how, fn, ctx);
	s.upto = addr;
	m.size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (m.size < 0 || len <= LARGE)
		return tracee_pages(tid, addr, len, how | PAGES_ALL, fn, ctx);
	err = find(tid, addr, addr + len, true, own_range, &m);
	if (!err)
		err = data_until(&m, addr + len);
	tracee_mem_close(&s.own);
	return err;
}
