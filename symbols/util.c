/* util.c - memory of this room. */
#include "symbols/internal.h"

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	uint8_t data[];
};

void *arena_alloc(struct arena *a, size_t n)
{
	enum { BLOCK = 64 << 10 };
	struct arena_block *b = a->block;
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (!b || b->size - b->used < n) {
		size_t size = n > BLOCK / 4 ? n : BLOCK;

		b = calloc(1, sizeof(*b) + size);
		if (!b)
			return NULL;
		b->size = size;
		/* A large one goes behind the open block, which stays in use. */
		if (size != BLOCK && a->block) {
			b->next = a->block->next;
			a->block->next = b;
		} else {
			b->next = a->block;
			a->block = b;
		}
	}
	p = b->data + b->used;
	b->used += n;
	return p;
}

char *arena_strn(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (p)
		memcpy(p, s, n);
	return p;
}

void arena_deinit(struct arena *a)
{
	struct arena_block *next;

	for (struct arena_block *b = a->block; b; b = next) {
		next = b->next;
		free(b);
	}
	a->block = NULL;
}

bool grow(void *p, size_t *cap, size_t need, size_t elem)
{
	size_t n = *cap ? *cap : 16;
	void *q;

	if (need <= *cap)
		return true;
	while (n < need)
		n *= 2;
	q = reallocarray(*(void **)p, n, elem);
	if (!q)
		return false;
	*(void **)p = q;
	*cap = n;
	return true;
}

/* FNV-1a */
uint32_t hash_str(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return h;
}

bool mem_read(const struct symbols_memory *mem, uint64_t addr, void *buf, size_t len)
{
	if (!mem)
		return false;
	if (addr - mem->copy_start < mem->copy_len &&
	    mem->copy_len - (addr - mem->copy_start) >= len) {
		memcpy(buf, (const uint8_t *)mem->copy + (addr - mem->copy_start), len);
		return true;
	}
	return mem->read && mem->read(mem->ctx, addr, buf, len);
}
