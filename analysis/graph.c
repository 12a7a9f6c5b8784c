/*
 * graph.c - which live blocks can still be reached, and how the others hang together.
 *
 * Blocks are nodes in order of address.  A word that points into one, at its start or anywhere
 * inside, is an edge.  Edges are not kept: contents are copied once, and looked at again when
 * needed.  To find the node of an address: the address space is cut into pieces of 2 MB, and each
 * piece that has a node has a table of its 4 KB pages, with the number of the first node that
 * begins in or behind the page.
 *
 *	a node 28 bytes, a piece 2 KB, contents once: about 100 bytes for a block of 64
 *
 * Of large blocks only what has been touched is copied and looked at.
 *
 * The unreachable ones are condensed into strongly connected components (Tarjan, without
 * recursion).  A component that no other refers to is a leak root: all else that is unreachable is
 * owned by one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/internal.h"
#include "base/alloc.h"

enum {
	PIECE_BITS = 21,
	PAGE_BITS = 12,
	PIECE_PAGES = 1 << (PIECE_BITS - PAGE_BITS),
	NONE = 0xffffffff,
	CHUNK = GRAPH_LARGE,
	GIANT = 1 << 26,
};

/* ---- nodes ------------------------------------------------------------------------------- */

static int by_addr(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

/* A file, or a stack that somebody made for himself: no block to lose. */
static bool is_plain_memory(const struct memory *m, const struct block *b)
{
	const struct area *a = b->mmap ? memory_area(m, b->addr) : NULL;

	return !b->mmap || (a && a->kind == AREA_HEAP);
}

static bool is_sorted(const struct node *node, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (by_addr(&node[i - 1], &node[i]) > 0)
			return false;
	}
	return true;
}

/* A radix sort, by 16 bits at a time: of a million nodes ten times as fast as qsort(). */
static void sort_nodes(struct graph *g)
{
	enum { DIGIT = 16, DIGITS = 1 << DIGIT, FEW = 1 << 14 };
	struct node *from = g->node, *to;
	size_t *count;

	if (is_sorted(g->node, g->n))
		return;
	if (g->n < FEW) {
		qsort(g->node, g->n, sizeof(*g->node), by_addr);
		return;
	}
	to = must(malloc((g->n + 1) * sizeof(*to)));
	count = must(malloc(DIGITS * sizeof(*count)));
	for (unsigned shift = 0; shift < 48; shift += DIGIT) {
		struct node *swap = from;
		size_t sum = 0;

		memset(count, 0, DIGITS * sizeof(*count));
		for (size_t i = 0; i < g->n; i++)
			count[from[i].addr >> shift & (DIGITS - 1)]++;
		if (count[from[0].addr >> shift & (DIGITS - 1)] == g->n)
			continue;
		for (size_t i = 0; i < DIGITS; i++) {
			size_t here = count[i];

			count[i] = sum;
			sum += here;
		}
		for (size_t i = 0; i < g->n; i++)
			to[count[from[i].addr >> shift & (DIGITS - 1)]++] = from[i];
		from = to;
		to = swap;
	}
	free(to);
	free(count);
	g->node = from;
	if (!is_sorted(g->node, g->n))	/* several at one address */
		qsort(g->node, g->n, sizeof(*g->node), by_addr);
}

static void collect(struct session *s, const struct memory *m, struct graph *g)
{
	const struct history *h = &s->h;

	g->node = must(malloc((h->live + 1) * sizeof(*g->node)));
	for (size_t i = 0; i < h->n && g->n < h->live; i++) {
		const struct block *b = &h->block[i];

		if (b->died == NEVER && b->addr && is_plain_memory(m, b))
			g->node[g->n++] = (struct node){ .addr = b->addr,
							 .size = b->size ? b->size : 1,
							 .block = (uint32_t)i };
	}
	sort_nodes(g);
}

/* Which node is around each, where allocators hand out parts of blocks of others? */
static void nest(struct graph *g)
{
	bool any = false;

	for (size_t i = 1; i < g->n && !any; i++)
		any = g->node[i].addr < g->node[i - 1].addr + g->node[i - 1].size;
	if (!any)
		return;
	g->around = must(malloc(g->n * sizeof(*g->around)));
	for (size_t i = 0; i < g->n; i++) {
		uint32_t a = i ? (uint32_t)i - 1 : NONE;

		while (a != NONE && g->node[a].addr + g->node[a].size <= g->node[i].addr)
			a = g->around[a];
		g->around[i] = a;
	}
}

static void giant_add(struct graph *g, size_t i)
{
	if (!(g->giants & (g->giants - 1)))
		g->giant = must(realloc(g->giant, (g->giants ? 2 * g->giants : 1) *
							  sizeof(*g->giant)));
	g->giant[g->giants++] = (uint32_t)i;
}

/*
 * The address space in pieces, of those that have nodes; of a giant (a reservation of terabytes)
 * only the piece where it begins: see giant_find().
 */
static void pieces(struct graph *g)
{
	uint64_t last = UINT64_MAX;
	size_t room = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct node *n = &g->node[i];
		uint64_t end = n->size > GIANT ? n->addr : n->addr + n->size;

		if (n->size > GIANT)
			giant_add(g, i);
		for (uint64_t k = n->addr >> PIECE_BITS; k <= end >> PIECE_BITS; k++) {
			if (last != UINT64_MAX && k <= last)
				continue;
			if (g->pieces == room) {
				room = room * 2 + 64;
				g->piece = must(realloc(g->piece, room * sizeof(*g->piece)));
			}
			g->piece[g->pieces++] = last = k;
		}
	}
	g->page = must(malloc((g->pieces * PIECE_PAGES + 1) * sizeof(*g->page)));
	for (size_t p = 0, i = 0; p < g->pieces; p++) {
		for (unsigned k = 0; k < PIECE_PAGES; k++) {
			uint64_t start = (g->piece[p] << PIECE_BITS) + ((uint64_t)k << PAGE_BITS);

			while (i < g->n && g->node[i].addr < start)
				i++;
			g->page[p * PIECE_PAGES + k] = (uint32_t)i;
		}
	}
	g->page[g->pieces * PIECE_PAGES] = (uint32_t)g->n;
}

static size_t piece_of(const struct graph *g, uint64_t key)
{
	size_t lo = 0, hi = g->pieces;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (g->piece[mid] < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->pieces && g->piece[lo] == key ? lo : SIZE_MAX;
}

/* Finds the innermost giant at a place in whose piece no other node lies, or begins. */
static size_t giant_find(const struct graph *g, uint64_t v)
{
	for (size_t i = g->giants; i--;) {
		const struct node *n = &g->node[g->giant[i]];

		if (v >= n->addr && v - n->addr < n->size)
			return g->giant[i];
	}
	return SIZE_MAX;
}

size_t graph_find(const struct graph *g, uint64_t v)
{
	static size_t cached;
	size_t p, lo, hi, page;

	if (!g->n || v < g->node[0].addr || v >= g->end)
		return SIZE_MAX;
	p = cached < g->pieces && g->piece[cached] == v >> PIECE_BITS
		    ? cached
		    : piece_of(g, v >> PIECE_BITS);
	if (p == SIZE_MAX)
		return giant_find(g, v);
	cached = p;
	page = p * PIECE_PAGES + (v >> PAGE_BITS & (PIECE_PAGES - 1));
	lo = g->page[page];
	/* the next page's entry bounds it, where the next page is the next in the table */
	hi = lo;
	while (hi < g->n && g->node[hi].addr <= v && hi - lo < 8)
		hi++;
	if (hi - lo == 8) {
		size_t end = g->page[page + 1];

		while (hi < end) {
			size_t mid = (hi + end) / 2;

			if (g->node[mid].addr <= v)
				hi = mid + 1;
			else
				end = mid;
		}
	}
	if (!hi)
		return SIZE_MAX;
	hi--;
	while (v - g->node[hi].addr >= g->node[hi].size) {
		if (!g->around || g->around[hi] == NONE)
			return SIZE_MAX;
		hi = g->around[hi];
	}
	return hi;
}

/* ---- contents -------------------------------------------------------------------------------- */

/* The contents of a large node, while they are being read. */
struct content { struct session *s; struct graph *g; size_t i, room; };

static struct err *read_run(void *ctx, uint64_t start, uint64_t end)
{
	struct content *c = ctx;
	struct graph *g = c->g;
	const struct node *n = &g->node[c->i];
	uint64_t from = start > n->addr ? start - n->addr : 0,
		 to = end - n->addr < n->size ? end - n->addr : n->size;

	replay_memory(c->s->r, session_any_task(c->s), n->addr + from,
		      g->content + 8 * g->content_at[c->i] + from, to - from);
	if (g->runs == c->room) {
		c->room = c->room * 2 + 64;
		g->run = must(realloc(g->run, c->room * sizeof(*g->run)));
	}
	g->run[g->runs++] = (struct graph_run){ (uint32_t)c->i, from / 8, to / 8 };
	return NULL;
}

/* Room for all, without memory behind what is not written to. */
static void content_room(struct graph *g)
{
	uint64_t total = 0;

	g->content_at = must(malloc((g->n + 1) * sizeof(*g->content_at)));
	for (size_t i = 0; i < g->n; i++) {
		g->content_at[i] = total;
		total += (g->node[i].size + 7) / 8;
	}
	g->content_len = 8 * (total + 1);
	g->content = mmap(NULL, g->content_len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(g->content == MAP_FAILED ? NULL : g->content);
}

void graph_contents(struct session *s, struct graph *g)
{
	struct content c = { .s = s, .g = g };
	int tid = session_any_task(s);

	content_room(g);
	/* neighbours in one go: a call for each block would cost more than the copying */
	for (size_t i = 0; i < g->n;) {
		static unsigned char (*buf)[CHUNK + 4096];
		uint64_t start = g->node[i].addr;
		size_t j = i, got;

		ALLOC_ONCE(buf, "the contents of blocks");
		if (g->node[i].size > GRAPH_LARGE) {
			c.i = i;
			err_free(replay_populated(s->r, tid, start, start + g->node[i].size,
						  read_run, &c));
			i++;
			continue;
		}
		while (j < g->n && g->node[j].addr + g->node[j].size - start <= CHUNK)
			j++;
		got = replay_memory(s->r, tid, start, *buf,
				    g->node[j - 1].addr + g->node[j - 1].size - start);
		for (; i < j; i++) {
			uint64_t at = g->node[i].addr - start;

			if (at + g->node[i].size <= got)
				memcpy(g->content + 8ull * g->content_at[i], *buf + at,
				       g->node[i].size);
			else
				replay_memory(s->r, tid, g->node[i].addr,
					      g->content + 8ull * g->content_at[i],
					      g->node[i].size);
		}
	}
}

/* The first of node i, or behind where that would be. */
static size_t first_run(const struct graph *g, size_t i)
{
	size_t lo = 0, hi = g->runs;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (g->run[mid].node < i)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Where node i of g has something, node k of h has the same; outside of that is nothing. */
static bool runs_same(const struct graph *g, size_t i, const struct graph *h, size_t k,
		      uint64_t size)
{
	for (size_t r = first_run(g, i); r < g->runs && g->run[r].node == i; r++) {
		uint64_t from = 8 * g->run[r].from, to = 8 * g->run[r].to;

		to = to < size ? to : size;
		if (from < to && memcmp(graph_content(g, i) + from, graph_content(h, k) + from,
					to - from))
			return false;
	}
	return true;
}

uint64_t graph_content_next(const struct graph *g, size_t i, uint64_t from, uint64_t *end_ret)
{
	size_t r = first_run(g, i);

	while (r < g->runs && g->run[r].node == i && 8 * g->run[r].to <= from)
		r++;
	if (r == g->runs || g->run[r].node != i)
		return UINT64_MAX;
	*end_ret = 8 * g->run[r].to;
	return 8 * g->run[r].from > from ? 8 * g->run[r].from : from;
}

bool graph_content_same(const struct graph *g, size_t i, const struct graph *h, size_t k,
			uint64_t size)
{
	if (g->node[i].size <= GRAPH_LARGE || h->node[k].size <= GRAPH_LARGE)
		return !memcmp(graph_content(g, i), graph_content(h, k), size);
	return runs_same(g, i, h, k, size) && runs_same(h, k, g, i, size);
}

/* Calls fn for each node that node i refers to (itself left out). */
struct walk {
	const struct graph *g;
	size_t i, at, words;	/* words: the end of the present run */
	const uint64_t *word;
	uint64_t base;
	size_t run;		/* the next one; SIZE_MAX: there are none, it is all one */
};

static void walk_start(const struct graph *g, size_t i, struct walk *w)
{
	const struct node *n = &g->node[i];
	uint64_t skew = -n->addr & 7;	/* words are aligned, blocks usually, too */

	*w = (struct walk){
		g, i, 0, n->size > skew ? (n->size - skew) / 8 : 0, NULL, n->addr + skew, SIZE_MAX
	};
	w->word = (const uint64_t *)(const void *)graph_content(g, i);
	if (n->size > GRAPH_LARGE) {
		w->run = first_run(g, i);
		w->words = 0;
	}
	if (skew) {
		w->run = SIZE_MAX;
		w->words = 0;
	}
}

static bool walk_run(struct walk *w)
{
	const struct graph *g = w->g;

	if (w->run >= g->runs || g->run[w->run].node != w->i)
		return false;
	w->at = g->run[w->run].from;
	w->words = g->run[w->run++].to;
	return true;
}

static size_t walk_next(struct walk *w)
{
	const struct graph *g = w->g;

	while (w->at < w->words || walk_run(w)) {
		uint64_t v = w->word[w->at++];
		size_t to;

		if (v < g->node[0].addr || v >= g->end)
			continue;
		to = graph_find(g, v);
		if (to == SIZE_MAX || to == w->i)
			continue;
		if (g->around && graph_find(g, w->base + 8 * (w->at - 1)) != w->i)
			continue;
		return to;
	}
	return SIZE_MAX;
}

size_t graph_references(const struct graph *g, size_t i, size_t to, uint64_t *addr, uint64_t *value,
			size_t max)
{
	struct walk w;
	size_t n = 0, hit;

	walk_start(g, i, &w);
	while ((hit = walk_next(&w)) != SIZE_MAX) {
		if (to != SIZE_MAX && hit != to)
			continue;
		if (n < max) {
			addr[n] = w.base + 8 * (w.at - 1);
			value[n] = w.word[w.at - 1];
		}
		n++;
	}
	return n;
}

/* ---- what can be reached --------------------------------------------------------------------- */

struct marker {
	struct graph *g;
	uint32_t *todo;
	size_t n;
};

static void mark(struct marker *mk, uint64_t v)
{
	size_t i = graph_find(mk->g, v);

	if (i == SIZE_MAX || mk->g->node[i].reachable)
		return;
	mk->g->node[i].reachable = true;
	mk->todo[mk->n++] = (uint32_t)i;
}

/*
 * glibc's arena points to headers of free chunks, whose first word is the last of the block before.
 */
static bool is_free_chunk(const struct graph *g, uint64_t v)
{
	size_t i = graph_find(g, v);

	return i != SIZE_MAX && !(v & 15) && v != g->node[i].addr &&
	       g->node[i].addr + g->node[i].size - v <= 8;
}

/* A root area may contain blocks (static programs): they speak for themselves. */
static void mark_words(void *ctx, const struct area *a, uint64_t addr, const uint64_t *words,
		       size_t n)
{
	struct marker *mk = ctx;

	for (size_t i = 0; i < n; i++) {
		if (words[i] < mk->g->node[0].addr || words[i] >= mk->g->end)
			continue;
		if (a->kind == AREA_GLOBAL && is_free_chunk(mk->g, words[i]))
			continue;
		if (graph_find(mk->g, addr + 8 * i) == SIZE_MAX)
			mark(mk, words[i]);
	}
}

static void reach(struct session *s, struct memory *m, struct graph *g)
{
	struct marker mk = { g, must(malloc((g->n + 1) * sizeof(uint32_t))), 0 };

	for (size_t i = 0; i < m->n; i++) {
		if (m->area[i].kind != AREA_HEAP && m->area[i].kind != AREA_OTHER)
			memory_words(s, &m->area[i], mark_words, &mk);
	}
	for (size_t i = 0; i < g->n && g->around; i++) {
		/* what is handed out in parts belongs to an allocator */
		if (g->around[i] != NONE)
			mark(&mk, g->node[g->around[i]].addr);
	}
	for (size_t i = 0; i < g->n; i++) {
		const struct key *k = &s->h.key[s->h.block[g->node[i].block].key];

		/* thread-local storage of threads, for example: it knows when to free that */
		if (k->loader)
			mark(&mk, g->node[i].addr);
	}
	for (unsigned i = 0; i < m->tasks; i++) {
		const uint64_t *reg = (const uint64_t *)&m->regs[i];

		for (unsigned k = 0; k < REGS_WORDS; k++)
			mark(&mk, reg[k]);
	}
	while (mk.n) {
		struct walk w;
		size_t to;

		walk_start(g, mk.todo[--mk.n], &w);
		while ((to = walk_next(&w)) != SIZE_MAX) {
			if (g->node[to].reachable)
				continue;
			g->node[to].reachable = true;
			mk.todo[mk.n++] = (uint32_t)to;
		}
	}
	free(mk.todo);
}

/* ---- components of the unreachable ----------------------------------------------------------- */

struct tarjan {
	struct graph *g;
	uint32_t *index, *low;	/* by node; 0 = not visited */
	uint32_t *stack, *order;
	size_t stack_n, order_n;
	uint32_t next;
	struct walk *path;
	size_t path_n, path_room;
};

static void component(struct tarjan *t, uint32_t top)
{
	struct graph *g = t->g;
	struct scc c = { .first = (uint32_t)t->order_n, .root = true };
	uint32_t i;

	if (g->sccs + 2 > g->scc_room) {
		g->scc_room = g->scc_room * 2 + 64;
		g->scc = must(realloc(g->scc, g->scc_room * sizeof(*g->scc)));
	}
	if (!g->sccs)
		g->scc[g->sccs++] = (struct scc){ 0 };
	do {
		i = t->stack[--t->stack_n];
		g->node[i].scc = (uint32_t)g->sccs & 0x7fffffff;
		t->order[t->order_n++] = i;
		c.nodes++;
		c.bytes += g->node[i].size;
	} while (i != top);
	g->scc[g->sccs++] = c;
}

static void visit_push(struct tarjan *t, uint32_t i)
{
	if (t->path_n == t->path_room) {
		t->path_room = t->path_room * 2 + 256;
		t->path = must(realloc(t->path, t->path_room * sizeof(*t->path)));
	}
	walk_start(t->g, i, &t->path[t->path_n++]);
	t->index[i] = t->low[i] = ++t->next;
	t->stack[t->stack_n++] = i;
}

static void visit(struct tarjan *t, uint32_t from)
{
	visit_push(t, from);
	while (t->path_n) {
		struct walk *w = &t->path[t->path_n - 1];
		uint32_t i = (uint32_t)w->i;
		size_t to = walk_next(w);

		if (to != SIZE_MAX) {
			if (t->g->node[to].reachable)
				continue;
			if (!t->index[to])
				visit_push(t, (uint32_t)to);
			else if (!t->g->node[to].scc && t->index[to] < t->low[i])
				t->low[i] = t->index[to];
			continue;
		}
		t->path_n--;
		if (t->path_n) {
			uint32_t up = (uint32_t)t->path[t->path_n - 1].i;

			t->low[up] = t->low[i] < t->low[up] ? t->low[i] : t->low[up];
		}
		if (t->low[i] == t->index[i])
			component(t, i);
	}
}

static void find_roots(struct graph *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct walk w;
		size_t to;

		if (g->node[i].reachable)
			continue;
		walk_start(g, i, &w);
		while ((to = walk_next(&w)) != SIZE_MAX) {
			if (!g->node[to].reachable && g->node[to].scc != g->node[i].scc)
				g->scc[g->node[to].scc].root = false;
		}
	}
}

/* Counts what each root owns: a node that several roots share is counted with the first. */
static void own(struct graph *g)
{
	uint32_t *todo = must(malloc((g->n + 1) * sizeof(*todo)));
	bool *seen = must(calloc(g->n + 1, 1));

	for (size_t c = 1; c < g->sccs; c++) {
		size_t n = 0, to;

		if (!g->scc[c].root)
			continue;
		for (uint32_t k = 0; k < g->scc[c].nodes; k++) {
			todo[n++] = g->member[g->scc[c].first + k];
			seen[todo[n - 1]] = true;
		}
		while (n) {
			struct walk w;

			walk_start(g, todo[--n], &w);
			while ((to = walk_next(&w)) != SIZE_MAX) {
				if (g->node[to].reachable || seen[to])
					continue;
				seen[to] = true;
				todo[n++] = (uint32_t)to;
				g->scc[c].owned_blocks++;
				g->scc[c].owned_bytes += g->node[to].size;
			}
		}
	}
	free(todo);
	free(seen);
}

static void components(struct graph *g)
{
	struct tarjan t = { .g = g };

	t.index = must(calloc(g->n + 1, sizeof(*t.index)));
	t.low = must(calloc(g->n + 1, sizeof(*t.low)));
	t.stack = must(malloc((g->n + 1) * sizeof(*t.stack)));
	t.order = must(malloc((g->n + 1) * sizeof(*t.order)));
	for (size_t i = 0; i < g->n; i++) {
		if (!g->node[i].reachable && !t.index[i])
			visit(&t, (uint32_t)i);
	}
	g->member = t.order;
	free(t.index);
	free(t.low);
	free(t.stack);
	free(t.path);
	if (g->sccs) {
		find_roots(g);
		own(g);
	}
}

void graph_index(struct session *s, struct memory *m, struct graph *g)
{
	*g = (struct graph){ 0 };
	collect(s, m, g);
	if (!g->n)
		return;
	nest(g);
	for (size_t i = 0; i < g->n; i++)
		g->end = g->node[i].addr + g->node[i].size > g->end
				 ? g->node[i].addr + g->node[i].size
				 : g->end;
	pieces(g);
}

struct err *graph_build(struct session *s, struct memory *m, struct graph *g)
{
	graph_index(s, m, g);
	if (!g->n)
		return NULL;
	graph_contents(s, g);
	reach(s, m, g);
	components(g);
	return NULL;
}

void graph_deinit(struct graph *g)
{
	free(g->node);
	free(g->page);
	free(g->piece);
	free(g->around);
	if (g->content)
		munmap(g->content, g->content_len);
	free(g->run);
	free(g->giant);
	free(g->content_at);
	free(g->scc);
	free(g->member);
	*g = (struct graph){ 0 };
}
