/*
 * bytes.c - a store that has nothing but some bytes: the value that memory had once.
 */
#include <string.h>

#include "analysis/heap/internal.h"

static struct heap_bytes *bytes_of(struct heap_store *st)
{
	return (struct heap_bytes *)(void *)st;		/* its first member */
}

static void bytes_destroy(struct heap_store *st)
{
	(void)st;
}

static struct err *bytes_go(struct heap_store *st, uint64_t event)
{
	(void)st;
	(void)event;
	return err_new(ERR_USAGE, "there is one moment only");
}

static size_t bytes_read(struct heap_store *st, uint64_t addr, void *buf, size_t len)
{
	const struct heap_bytes *b = bytes_of(st);

	if (addr < b->addr || addr - b->addr >= b->size)
		return 0;
	if (len > b->size - (addr - b->addr))
		len = b->size - (addr - b->addr);
	memcpy(buf, b->bytes + (addr - b->addr), len);
	return len;
}

/* Only what never changes: functions and variables. */
static void bytes_place(struct heap_store *st, uint64_t addr, struct heap_place *ret)
{
	struct symbols_frame f[16];
	struct symbols_variable v;
	size_t n = st->symbols ? symbols_lookup(st->symbols, addr, f, 16) : 0;

	*ret = (struct heap_place){ .where = HEAP_MAPPED };
	if (n && f[n - 1].function && f[n - 1].start == addr) {
		ret->where = HEAP_CODE;
		ret->text = f[n - 1].function;
	} else if (st->symbols && symbols_variable_at(st->symbols, addr, &v) && v.addr == addr) {
		ret->where = HEAP_VARIABLE;
		ret->text = v.name;
	}
}

static bool bytes_block(struct heap_store *st, size_t i, struct heap_block *ret)
{
	(void)st;
	(void)i;
	(void)ret;
	return false;
}

void heap_bytes_init(struct heap_bytes *b, const struct heap_store *like, uint64_t addr,
		     const void *bytes, size_t size)
{
	static const struct heap_store_ops ops = { .destroy = bytes_destroy,
						   .go = bytes_go,
						   .read = bytes_read,
						   .place = bytes_place,
						   .block = bytes_block };

	*b = (struct heap_bytes){ { .ops = &ops, .symbols = like->symbols, .now = like->now },
				  addr,
				  bytes,
				  size };
}
