/*
 * sum.c - sums of memory, by XXH3.
 */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "abi/page.h"
#include "base/alloc.h"

struct mem_sum {
	XXH3_state_t *state;
};

struct mem_sum *mem_sum_create(void)
{
	struct mem_sum *s = alloc_zeroed(1, sizeof(*s), "a checksum");

	s->state = XXH3_createState();
	alloc_must(s->state, "a checksum");
	XXH3_64bits_reset(s->state);
	return s;
}

/* Almost every page that is not zero shows it in its first words. */
static bool page_is_zero(const void *page)
{
	uint64_t head[2];

	memcpy(head, page, sizeof(head));
	return !(head[0] | head[1]) && !memcmp(page, (const char *)page + 16, PAGE_BYTES - 16);
}

void mem_sum_page(struct mem_sum *s, uint64_t page_number, const void *page_4096)
{
	if (page_is_zero(page_4096))
		return;
	XXH3_64bits_update(s->state, &page_number, sizeof(page_number));
	XXH3_64bits_update(s->state, page_4096, PAGE_BYTES);
}

uint64_t mem_sum_one(uint64_t page_number, const void *page_4096)
{
	return page_is_zero(page_4096)
		       ? 0
		       : XXH3_64bits_withSeed(page_4096, PAGE_BYTES, page_number);
}

uint64_t mem_sum_bytes(uint64_t offset, const void *bytes, size_t len)
{
	return XXH3_64bits_withSeed(bytes, len, offset);
}

uint64_t mem_sum_finish(struct mem_sum *s)
{
	uint64_t sum = XXH3_64bits_digest(s->state);

	XXH3_64bits_reset(s->state);
	return sum;
}

void mem_sum_destroy(struct mem_sum *s)
{
	if (!s)
		return;
	XXH3_freeState(s->state);
	free(s);
}
