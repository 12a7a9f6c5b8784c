/*
 * history.c - what the probes said, as blocks with birth and death.
 *
 * An entry of an allocating function waits on its thread's stack of calls until a return with its
 * stack pointer comes. Allocators call each other (realloc calls malloc, operator new calls
 * malloc): the result of the outermost counts, and takes over what an inner one made.  Calls that
 * were left by longjmp or an exception are found by their stack pointer.
 *
 * Blocks that lived and died long ago are forgotten when there are very many.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "abi/page.h"
#include "analysis/internal.h"
#include "base/hash.h"

enum { KEEP_ALL = 1 << 18, SHORT_LIFE = 4096, WRAPPING = 256 };

void history_reset(struct history *h)
{
	h->n = h->live = 0;
	for (size_t i = 0; i < h->keys; i++)
		h->key[i].allocs = h->key[i].frees = h->key[i].live = h->key[i].live_bytes = 0;
	h->live_bytes = h->allocs = h->frees = 0;
	h->recycled = 0;
	h->births = 0;
	h->mappeds = 0;
	h->looked = 0;
	if (h->slot)
		memset(h->slot, 0, h->slots * sizeof(*h->slot));
	for (unsigned i = 0; i < h->threads; i++)
		h->thread[i]->n = 0;
}

/* ---- live blocks by address ------------------------------------------------------------------ */

static size_t slot_of(const struct history *h, uint64_t addr)
{
	return hash_mix(0, addr >> 3) & (h->slots - 1);
}

static size_t slot_find(const struct history *h, uint64_t addr)
{
	for (size_t i = slot_of(h, addr); h->slots; i = (i + 1) & (h->slots - 1)) {
		if (!h->slot[i])
			return SIZE_MAX;
		if (h->block[h->slot[i] - 1].addr == addr)
			return i;
	}
	return SIZE_MAX;
}

static void slot_put(struct history *h, uint32_t number)
{
	size_t i = slot_of(h, h->block[number].addr);

	while (h->slot[i])
		i = (i + 1) & (h->slots - 1);
	h->slot[i] = number + 1;
}

static void slots_grow(struct history *h)
{
	uint32_t *old = h->slot;
	size_t n = h->slots;

	h->slots = n ? n * 2 : 4096;
	h->slot = must(calloc(h->slots, sizeof(*h->slot)));
	for (size_t i = 0; i < n; i++) {
		if (old[i])
			slot_put(h, old[i] - 1);
	}
	free(old);
}

static void slot_remove(struct history *h, size_t i)
{
	size_t hole = i;

	h->slot[hole] = 0;
	for (size_t j = (i + 1) & (h->slots - 1); h->slot[j]; j = (j + 1) & (h->slots - 1)) {
		size_t home = slot_of(h, h->block[h->slot[j] - 1].addr);

		/* may what is at j move to the hole? Not when its home lies behind the hole. */
		if (((j - home) & (h->slots - 1)) < ((j - hole) & (h->slots - 1)))
			continue;
		h->slot[hole] = h->slot[j];
		h->slot[j] = 0;
		hole = j;
	}
}

/* ---- birth and death ------------------------------------------------------------------------- */

static uint32_t block_new(struct history *h)
{
	uint32_t number = h->recycled;

	if (number) {
		h->recycled = h->block[number - 1].key;
		return number - 1;
	}
	if (h->n == h->room) {
		h->room = h->room ? h->room + h->room / 2 : 4096;
		h->block = must(realloc(h->block, h->room * sizeof(*h->block)));
	}
	return (uint32_t)h->n++;
}

static bool is_mapped(const struct history *h, const struct mapped *m)
{
	const struct block *b = &h->block[m->number];

	return b->mmap && b->addr && b->born == m->born && b->died == NEVER;
}

/* Adds a block to the mapped ones; blocks that are gone make room. */
static void mapped_add(struct history *h, uint32_t number)
{
	size_t n = 0;

	if (h->mappeds == h->mapped_room) {
		for (size_t i = 0; i < h->mappeds; i++) {
			if (is_mapped(h, &h->mapped[i]))
				h->mapped[n++] = h->mapped[i];
		}
		h->mappeds = n;
	}
	if (2 * n >= h->mapped_room) {
		h->mapped_room = h->mapped_room * 2 + 64;
		h->mapped = must(realloc(h->mapped, h->mapped_room * sizeof(*h->mapped)));
	}
	h->mapped[h->mappeds++] = (struct mapped){ number, h->block[number].born };
}

static void block_add(struct session *s, const struct block *b, int tid)
{
	struct history *h = &s->h;
	uint32_t number = block_new(h);

	if (h->live * 4 >= h->slots)	/* to look at a block is dear */
		slots_grow(h);
	h->block[number] = *b;
	h->newest[h->births++ % RECENT] = number;
	if (b->mmap)
		mapped_add(h, number);
	slot_put(h, number);
	h->live++;
	h->live_bytes += b->size;
	h->allocs++;
	h->key[b->key].allocs++;
	h->key[b->key].live++;
	h->key[b->key].live_bytes += b->size;
	if (s->log)
		memlog_made(s, number, b, tid);
}

/* The more there are, the longer must one have lived to be remembered. */
static bool is_forgotten(const struct history *h, const struct block *b)
{
	unsigned more = (unsigned)(h->n / KEEP_ALL);

	return h->forget || (more && b->died - b->born < (uint64_t)SHORT_LIFE
							 << (more < 16 ? 2 * (more - 1) : 30));
}

/* Who ended a block: its stack, and its thread. */
struct ender { uint32_t stack; int tid; };

/* Ends a block that is not found by its address any more. */
static void block_dead(struct session *s, uint32_t number, uint64_t clock, bool kept,
		       struct ender by)
{
	struct history *h = &s->h;
	struct block *b = &h->block[number];
	struct key *k = &h->key[b->key];

	if (s->log && kept)
		memlog_undone(s, number);
	else if (s->log)
		memlog_gone(s, number, b, by.stack, by.tid);
	h->live--;
	h->live_bytes -= b->size;
	k->live--;
	k->live_bytes -= b->size;
	b->died = clock;
	if (kept) {
		k->allocs--;
		h->allocs--;
	} else {
		k->frees++;
		h->frees++;
	}
	if (kept || is_forgotten(h, b)) {
		b->addr = b->size = 0;
		b->born = b->died = 0;
		b->key = h->recycled;
		h->recycled = number + 1;
	}
}

/* kept: as if it had never been, another takes its place */
static void block_end(struct session *s, size_t slot, uint64_t clock, bool kept, struct ender by)
{
	uint32_t number = s->h.slot[slot] - 1;

	slot_remove(&s->h, slot);
	block_dead(s, number, clock, kept, by);
}

static void block_free(struct session *s, uint64_t addr, uint64_t clock, struct ender by)
{
	size_t slot = addr ? slot_find(&s->h, addr) : SIZE_MAX;

	if (slot != SIZE_MAX)
		block_end(s, slot, clock, false, by);
}

/* ---- records --------------------------------------------------------------------------------- */

static struct thread *thread_of(struct history *h, int tid)
{
	struct thread *t;

	for (unsigned i = 0; i < h->threads; i++) {
		if (h->thread[i]->tid == tid)
			return h->thread[i];
	}
	if (h->threads == THREADS_MAX) {	/* the oldest are gone by now */
		free(h->thread[0]);
		memmove(h->thread, h->thread + 1, --h->threads * sizeof(*h->thread));
	}
	t = must(calloc(1, sizeof(*t)));
	t->tid = tid;
	return h->thread[h->threads++] = t;
}

/* [start, end) is no part of the block any more: what is left in front keeps its name. */
static void block_cut(struct session *s, size_t slot, uint64_t start, uint64_t end,
		      struct ender by)
{
	struct block was = s->h.block[s->h.slot[slot] - 1], piece = was;
	uint64_t was_end = was.addr + was.size;

	piece.born = s->clock;
	piece.ready = 0;
	if (s->log && (was.addr < start || was_end > end))
		memlog_moved(s, was.addr);
	block_end(s, slot, s->clock, false, by);
	if (was.addr < start) {
		piece.size = start - was.addr;
		block_add(s, &piece, by.tid);
	}
	if (was_end > end) {
		piece.addr = end;
		piece.size = was_end - end;
		block_add(s, &piece, by.tid);
	}
}

/* Unmaps any number of mappings, or a part of one. */
static void unmapped(struct session *s, uint64_t addr, uint64_t len, struct ender by)
{
	size_t slot = slot_find(&s->h, addr), n = s->h.mappeds;
	const struct block *b = slot != SIZE_MAX ? &s->h.block[s->h.slot[slot] - 1] : NULL;
	uint64_t end = addr + page_up(len);

	if (b && b->mmap && b->size == page_up(len)) {
		block_end(s, slot, s->clock, false, by);
		return;
	}
	for (size_t i = 0; i < n && i < s->h.mappeds; i++) {
		if (!is_mapped(&s->h, &s->h.mapped[i]))
			continue;
		b = &s->h.block[s->h.mapped[i].number];
		if (b->addr >= end || b->addr + b->size <= addr)
			continue;
		slot = slot_find(&s->h, b->addr);
		if (slot != SIZE_MAX && s->h.slot[slot] == s->h.mapped[i].number + 1)
			block_cut(s, slot, addr, end, by);
	}
}

/*
 * An allocator that gives back all it has at once (lua_close() of LuaJIT) ends what is in there.
 * To look for that among all blocks may cost so much for each allocation, no more.
 */
static void blocks_unmapped(struct session *s, uint64_t start, uint64_t end, struct ender by)
{
	enum { LOOKS = 16, LOOKS_MIN = 1 << 22 };
	struct history *h = &s->h;

	if (h->looked + h->n > h->allocs * LOOKS + LOOKS_MIN)
		return;
	h->looked += h->n;
	for (size_t i = 0; i < h->n; i++) {
		const struct block *b = &h->block[i];
		size_t slot;

		if (b->died != NEVER || b->mmap || b->addr < start || b->addr >= end)
			continue;
		slot = slot_find(h, b->addr);
		if (slot != SIZE_MAX && h->slot[slot] == i + 1)
			block_end(s, slot, s->clock, false, by);
	}
}

void history_unmapped(struct session *s, uint64_t start, uint64_t end, int tid)
{
	blocks_unmapped(s, start, end, (struct ender){ 0, tid });
}

static bool has_mapping(const struct history *h, uint64_t addr)
{
	for (size_t i = 0; i < h->mappeds; i++) {
		const struct block *b = &h->block[h->mapped[i].number];

		if (is_mapped(h, &h->mapped[i]) && addr - b->addr < b->size)
			return true;
	}
	return false;
}

/*
 * Notes what mremap() has made of a mapping; mappings that are not the program's are an
 * allocator's.
 */
static void remapped(struct session *s, const struct pending *p, uint64_t value, int tid)
{
	const struct ender by = { p->key, tid };
	struct block b = { .addr = value,
			   .size = page_up(p->c),
			   .born = s->clock,
			   .died = NEVER,
			   .key = p->key,
			   .mmap = true };
	size_t slot = slot_find(&s->h, p->a);
	const struct block *was = slot != SIZE_MAX ? &s->h.block[s->h.slot[slot] - 1] : NULL;

	if (value >= (uint64_t)-4095 || !has_mapping(&s->h, p->a))
		return;
	if (was && was->mmap && was->size == page_up(p->b)) {
		if (s->log)
			memlog_moved(s, p->a);
		block_end(s, slot, p->clock, false, by);
	} else if (p->b) {
		unmapped(s, p->a, p->b, by);
	}
	unmapped(s, value, b.size, by);
	block_add(s, &b, tid);
}

static uint64_t size_of(const struct pending *p)
{
	switch (p->fn->kind) {
	case FN_CALLOC:
		return p->a * p->b;
	case FN_REALLOCARRAY:
		return p->b * p->c;
	default:
		return p->fn->size == 1	  ? p->a
		       : p->fn->size == 2 ? p->b
		       : p->fn->size == 3 ? p->c
		       : p->fn->bytes	  ? p->fn->bytes
					  : 1;
	}
}

/* An allocator of a language, that has others do it. */
static bool is_outer(const struct fn *fn)
{
	return fn->kind == FN_LUA || fn->shift;
}

static bool moves_block(const struct fn *fn)
{
	return fn->kind == FN_REALLOC || fn->kind == FN_REALLOCARRAY || fn->kind == FN_LUA;
}

static bool makes_block(const struct fn *fn)
{
	return fn->kind == FN_MALLOC || fn->kind == FN_CALLOC || fn->kind == FN_REALLOC ||
	       fn->kind == FN_REALLOCARRAY || fn->kind == FN_POSIX_MEMALIGN;
}

/* A call as part of that one, which is of the same block: the outer one tells. */
static bool is_part(const struct pending *outer, const struct pending *p)
{
	bool part = p->fn->kind == FN_REALLOC || p->fn->kind == FN_REALLOCARRAY;

	return part && moves_block(outer->fn) && outer->a && p->a == outer->a;
}

/*
 * Was the function's last act a jump?  The stack pointer is the same then.  So is the stack, for
 * the allocator's own frame does not count there; a call that comes from the same place later is to
 * the same function.
 */
static bool is_tail(const struct pending *outer, const struct pending *p)
{
	if (outer->rsp == p->rsp && outer->key == p->key && p->key && outer->fn != p->fn &&
	    makes_block(outer->fn) && makes_block(p->fn))
		return true;
	if (!is_outer(outer->fn) || is_outer(p->fn) || p->fn->own || outer->rsp != p->rsp)
		return false;
	return p->fn->kind == FN_REALLOC ? p->a == outer->a && p->b == outer->b
	       : p->fn->kind == FN_MALLOC && !p->fn->shift
		       ? size_of(p) == size_of(outer) && (!outer->a || outer->fn->kind != FN_LUA)
		       : false;
}

static void pending_fill(struct pending *p, const struct fn *fn, const struct replay_hit *hit,
			 uint64_t clock)
{
	/* b and c are there only where the probe asked for them */
	uint64_t arg[] = { hit->a, hit->size > 24 ? hit->b : 0, hit->size > 32 ? hit->c : 0,
			   hit->size > 40 ? hit->d : 0 };

	*p = (struct pending){ .fn = fn,
			       .a = arg[fn->shift],
			       .b = arg[fn->shift + 1],
			       .c = arg[fn->shift + 2],
			       .rsp = hit->rsp,
			       .clock = clock,
			       .key = hit->stack };
	if (fn->kind == FN_LUA) {
		p->a = hit->b;
		p->b = hit->d;
		p->type = !hit->b && hit->c < 16 ? (uint8_t)hit->c : 0;
	}
}

static void entry(struct session *s, struct thread *t, const struct replay_hit *hit)
{
	const struct fn *fn = &s->fn[hit->probe];
	const struct ender by = { s->log ? hit->stack : 0, t->tid };
	struct pending p;

	if (fn->kind == FN_TELLS)
		return;
	pending_fill(&p, fn, hit, s->clock);
	while (t->n && t->pending[t->n - 1].rsp <= hit->rsp) {
		if (is_tail(&t->pending[t->n - 1], &p))
			return;
		t->n--;		/* left without a return */
	}
	if (t->n && is_part(&t->pending[t->n - 1], &p))
		return;
	if (fn->kind == FN_MUNMAP) {
		unmapped(s, hit->a, hit->b, by);
		if (!t->n)	/* else what is moved just so says the call around */
			blocks_unmapped(s, hit->a, hit->a + page_up(hit->b), by);
		return;
	}
	if (fn->kind == FN_MREMAP && t->n)
		return;
	if (fn->kind == FN_MMAP &&
	    (t->n || !(hit->c & PROT_WRITE) || s->h.key[hit->stack].allocator))
		return; /* an allocator's, or a reserve of addresses, a thread's stack */
	if (fn->kind == FN_FREE) {
		uint64_t addr = fn->size == 2 ? hit->b : fn->size == 3 ? hit->c : hit->a;

		/* inside realloc it is the outer call that says what is freed when */
		if (!t->n || !moves_block(t->pending[t->n - 1].fn) ||
		    t->pending[t->n - 1].a != addr)
			block_free(s, addr, s->clock, by);
		return;
	}
	if (fn->kind == FN_LUA && !hit->d) {
		block_free(s, hit->b, s->clock, by);
		return;
	}
	if (t->n < sizeof(t->pending) / sizeof(*t->pending))
		t->pending[t->n++] = p;
}

/* A block made inside this very call, that contains addr: it was only the means. */
static void take_over(struct session *s, const struct pending *p, uint64_t addr,
		      struct ender by)
{
	struct history *h = &s->h;
	size_t same = slot_find(h, addr);
	/*
	 * A call inside has moved the clock as it began; calls that began before, one of each
	 * other thread's, may have ended since.
	 */
	uint64_t since = s->clock - p->clock + h->threads;

	if (same != SIZE_MAX) {
		const struct block *b = &h->block[h->slot[same] - 1];

		if (b->born > p->clock && !(p->fn->own && b->size > size_of(p) + WRAPPING))
			block_end(s, same, s->clock, true, by);
		return;
	}
	for (uint64_t k = 1; k < RECENT && k <= since && k <= h->births; k++) {
		uint32_t i = h->newest[(h->births - k) % RECENT];
		struct block *b = &h->block[i];
		size_t slot;

		if (b->died != NEVER || b->born <= p->clock || addr < b->addr ||
		    addr >= b->addr + b->size + !b->size)
			continue;
		if (p->fn->own && b->size > size_of(p) + WRAPPING)
			continue;	/* a pool's, that will be cut into more */
		slot = slot_find(h, b->addr);
		if (slot != SIZE_MAX && h->slot[slot] == i + 1)
			block_end(s, slot, s->clock, true, by);
	}
}

/*
 * Makes way at an address where a block has just been made: another thread's realloc() has given
 * the old block back and not returned yet, and will say so; else the old block was freed where we
 * did not see it.
 */
static void make_way(struct session *s, size_t slot, uint64_t addr, uint64_t clock,
		     struct ender by)
{
	struct history *h = &s->h;

	for (unsigned i = 0; i < h->threads; i++) {
		struct thread *t = h->thread[i];

		for (unsigned k = 0; k < t->n && t->tid != by.tid; k++) {
			struct pending *p = &t->pending[k];

			if (!moves_block(p->fn) || p->a != addr || p->given)
				continue;
			p->given = h->slot[slot];
			slot_remove(h, slot);
			return;
		}
	}
	block_end(s, slot, clock, false, by);
}

/* Is there memory at this address, by now? */
static bool is_memory(struct session *s, int tid, uint64_t addr)
{
	char byte;

	return replay_memory(s->r, tid, addr, &byte, 1) == 1;
}

/* All over a block, not only at its end: a mapping that has nothing to do with it may be there. */
static bool is_all_memory(struct session *s, int tid, uint64_t addr, uint64_t size)
{
	enum { PLACES = 64 };

	for (uint64_t i = PLACES; i > 0; i--) {
		if (!is_memory(s, tid, addr + size / PLACES * i - 1))
			return false;
	}
	return is_memory(s, tid, addr + size - 1);
}

/*
 * Is the argument that the user took for a size a pointer?  A pointer is bigger than anything, or
 * an address with memory, while a block of that size would reach to where there is none.
 */
static bool is_no_size(struct session *s, const struct pending *p, uint64_t value, int tid)
{
	enum { SMALL = 1 << 16 };	/* below that nothing is mapped */
	uint64_t size = size_of(p);

	if (!p->fn->own || p->fn->bytes || size < SMALL || !value)
		return false;
	if (size < OWN_SIZE_MAX &&
	    (is_all_memory(s, tid, value, size) || !is_memory(s, tid, size)))
		return false;
	s->no_size = s->no_size ? s->no_size : p->fn;
	s->no_size_is = s->no_size == p->fn ? size : s->no_size_is;
	return true;
}

static void result(struct session *s, const struct pending *p, uint64_t value, int tid)
{
	const struct ender by = { p->key, tid };
	uint64_t age = s->clock - p->clock;
	struct block b = { .addr = value,
			   .size = size_of(p),
			   .born = p->clock,
			   .died = NEVER,
			   .key = p->key,
			   .ready = age > 255 ? 255 : (uint8_t)age,
			   .own = p->fn->own,
			   .type = p->type };
	size_t slot;

	if (is_no_size(s, p, value, tid))
		return;
	if (p->fn->kind == FN_MREMAP) {
		remapped(s, p, value, tid);
		return;
	}
	if (p->fn->kind == FN_MMAP) {
		b.mmap = true;
		b.size = page_up(b.size);
		if (value >= (uint64_t)-4095)
			return;
		if (value == p->a)	/* in the place of what was there (MAP_FIXED) */
			unmapped(s, value, b.size, by);
	}
	if (p->fn->kind == FN_POSIX_MEMALIGN) {
		if ((uint32_t)value || p->b != UINT64_MAX)
			/* failed, or another allocator inside has been seen returning it */
			return;
		b.addr = p->a;
	}
	if (moves_block(p->fn) && p->a && (b.addr || !b.size)) {
		if (s->log && b.addr)
			memlog_moved(s, p->a);
		if (p->given)
			block_dead(s, p->given - 1, p->clock, false, by);
		else
			block_free(s, p->a, p->clock, by);
	}
	if (!b.addr)
		return;
	if (age > 1)
		take_over(s, p, b.addr, by);
	slot = slot_find(&s->h, b.addr);
	if (slot != SIZE_MAX)
		make_way(s, slot, b.addr, p->clock, by);
	block_add(s, &b, tid);
}

/*
 * Fetches what a hit to come will look for: the place of its block in the hash is anywhere in
 * memory.
 */
static void fetch_ahead(const struct history *h, const struct replay_hit *hit)
{
	if (h->slots && hit->probe != REPLAY_HIT_DEREF)
		__builtin_prefetch(&h->slot[slot_of(h, hit->a)]);
}

uint64_t history_hits(void *ctx, int tid, const struct replay_hit *hit,
		      const struct replay_hit *end)
{
	enum { AHEAD = 8 };
	const struct replay_hit *ahead = hit;
	struct session *s = ctx;
	uint64_t before = s->clock;
	struct thread *t;

	t = thread_of(&s->h, tid);
	for (unsigned i = 0; i < AHEAD && ahead < end; i++)
		ahead = replay_hit_next(ahead);
	for (; hit < end; hit = replay_hit_next(hit)) {
		if (ahead < end) {
			fetch_ahead(&s->h, ahead);
			ahead = replay_hit_next(ahead);
		}
		if (hit->probe >= 0) {
			entry(s, t, hit);
			s->clock++;
			continue;
		}
		if (hit->probe == REPLAY_HIT_DEREF) {
			if (t->n && t->pending[t->n - 1].rsp == hit->rsp &&
			    t->pending[t->n - 1].fn->kind == FN_POSIX_MEMALIGN) {
				t->pending[t->n - 1].a = hit->a;
				t->pending[t->n - 1].b = UINT64_MAX;
			}
			continue;
		}
		while (t->n && t->pending[t->n - 1].rsp + 8 < hit->rsp)
			t->n--;
		if (t->n && t->pending[t->n - 1].rsp + 8 == hit->rsp)
			result(s, &t->pending[--t->n], hit->a, tid);
	}
	return s->clock - before;
}

/* ---- blocks of the past ---------------------------------------------------------------------- */

/*
 * From now on the hash is an index of all blocks, by address; of the same address the older comes
 * first.
 */
void history_index(struct session *s)
{
	enum { DIGIT = 16, DIGITS = 1 << DIGIT };
	struct history *h = &s->h;
	uint32_t *a = must(malloc((h->n + 1) * sizeof(*a))),
		 *b = must(malloc((h->n + 1) * sizeof(*b)));
	uint32_t *count = must(malloc(DIGITS * sizeof(*count)));
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (h->block[i].addr)
			a[n++] = (uint32_t)i;
	}
	/* radix sort: the order of birth is kept */
	for (unsigned shift = 0; shift < 48; shift += DIGIT) {
		uint32_t sum = 0, *swap = a;

		memset(count, 0, DIGITS * sizeof(*count));
		for (size_t i = 0; i < n; i++)
			count[h->block[a[i]].addr >> shift & (DIGITS - 1)]++;
		for (size_t i = 0; i < DIGITS; i++) {
			uint32_t here = count[i];

			count[i] = sum;
			sum += here;
		}
		for (size_t i = 0; i < n; i++)
			b[count[h->block[a[i]].addr >> shift & (DIGITS - 1)]++] = a[i];
		a = b;
		b = swap;
	}
	free(b);
	free(count);
	free(h->slot);
	h->slot = a;
	h->slots = n;
	h->indexed = true;
}

const struct block *history_around(const struct session *s, uint64_t addr)
{
	const struct history *h = &s->h;

	if (h->indexed)
		return history_at(s, addr, replay_clock(s->r));
	for (size_t i = 0; i < h->n; i++) {
		if (h->block[i].died == NEVER && addr - h->block[i].addr < h->block[i].size)
			return &h->block[i];
	}
	return NULL;
}

struct block *history_at(const struct session *s, uint64_t addr, uint64_t clock)
{
	enum { LOOK_BACK = 4096 };
	const struct history *h = &s->h;
	size_t lo = 0, hi = h->slots;

	while (lo < hi) {	/* the first block that begins behind addr */
		size_t mid = (lo + hi) / 2;

		if (h->block[h->slot[mid]].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i-- && lo - i < LOOK_BACK;) {
		struct block *b = &h->block[h->slot[i]];

		if (addr - b->addr < b->size && b->born < clock && b->died >= clock)
			return b;
	}
	return NULL;
}
