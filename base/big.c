/*
 * big.c - mappings that begin and end where pages of 2 MB do: so mremap() moves such pages whole.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/big.h"

#define HUGE ((size_t)1 << 21)

/* Addresses for so many bytes, with nothing there. */
static char *reserve(size_t bytes, const char *what)
{
	char *p = mmap(NULL, bytes + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0), *start;

	if (p == MAP_FAILED)
		alloc_failed(what);
	start = p + (-(uintptr_t)p & (HUGE - 1));
	if (start > p)
		munmap(p, (size_t)(start - p));
	if (start < p + HUGE)
		munmap(start + bytes, (size_t)(p + HUGE - start));
	return start;
}

void *big_more(void *p, size_t *bytes_was, size_t bytes, const char *what)
{
	size_t want = (bytes + HUGE - 1) & ~(HUGE - 1);
	void *to;

	if (bytes > SIZE_MAX / 2)
		alloc_failed(what);
	if (want <= *bytes_was)
		return p;
	to = reserve(want, what);
	if (p)
		to = mremap(p, *bytes_was, want, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	else
		to = mmap(to, want, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (to == MAP_FAILED)
		alloc_failed(what);
	(void)madvise(to, want, MADV_HUGEPAGE);
	*bytes_was = want;
	return to;
}

void big_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}
