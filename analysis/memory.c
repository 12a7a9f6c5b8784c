/*
 * memory.c - the writable memory of a moment, and what of it counts.
 *
 * What can hold a reference: data of modules, stacks from the stack pointer (and the red zone) up,
 * thread-local storage, what the loader keeps for itself, registers, and live blocks.  Not: free
 * memory, allocators' own, stacks of threads that have ended.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/page.h"
#include "analysis/internal.h"
#include "base/alloc.h"

enum { RED_ZONE = 128, TLS_BELOW = 4096, TLS_ABOVE = 2304, CHUNK = 1 << 20 };

static void area_add(struct memory *m, const struct area *a)
{
	if (a->start >= a->end)
		return;
	m->area = must(realloc(m->area, (m->n + 1) * sizeof(*m->area)));
	m->area[m->n++] = *a;
}

static int by_start(const void *a, const void *b)
{
	const struct area *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The lowest. */
static unsigned task_with_sp(const struct memory *m, uint64_t start, uint64_t end)
{
	unsigned found = m->tasks;

	for (unsigned i = 0; i < m->tasks; i++) {
		uint64_t sp = m->regs[i].rsp;

		if (sp >= start && sp < end && (found == m->tasks || sp < m->regs[found].rsp))
			found = i;
	}
	return found;
}

/*
 * A stack's mapping may have become one with others that came to lie beside it: a thread's ends
 * behind its thread-local storage, one that the program made itself with the block it is in.
 */
static uint64_t stack_end(struct session *s, const struct regs *regs, uint64_t end)
{
	uint64_t sp = regs->rsp, fs_end = page_up(regs->fs_base + TLS_ABOVE);
	const struct block *b;

	if (regs->fs_base > sp && regs->fs_base < end)
		return fs_end < end ? fs_end : end;
	b = history_around(s, sp);
	return b && b->addr + b->size < end ? b->addr + b->size : end;
}

static void add_tls(struct memory *m, uint64_t start, uint64_t end, const struct area *map)
{
	for (unsigned i = 0; i < m->tasks; i++) {
		uint64_t fs = m->regs[i].fs_base;
		struct area a = *map;

		if (fs < start || fs >= end)
			continue;
		a.kind = AREA_TLS;
		a.tid = m->task[i].tid;
		a.start = fs - start < TLS_BELOW ? start : fs - TLS_BELOW;
		a.end = end - fs < TLS_ABOVE ? end : fs + TLS_ABOVE;
		area_add(m, &a);
	}
}

static bool is_loader(const struct session *s, uint64_t start)
{
	for (unsigned i = 0; i < s->loaders; i++) {
		if (start >= s->loader[i].start && start < s->loader[i].end)
			return true;
	}
	return false;
}

/* The variables of modules in there; how many are in range, of those in r. */
enum { RANGES = 1024 };
static size_t variables_in(struct session *s, uint64_t start, uint64_t end,
			   struct symbols_range *r)
{
	size_t n = symbols_data_ranges(s->sym, r, RANGES), in = 0;

	for (size_t i = 0; i < n && i < RANGES; i++) {
		if (r[i].start < end && r[i].end > start)
			r[in++] = r[i];
	}
	return in;
}

/* Only the variables: allocators (musl) use what is left of the pages. */
static void add_global(struct memory *m, const struct area *whole, const struct symbols_range *r,
		       size_t n)
{
	uint64_t done = whole->start;

	if (!n) {
		area_add(m, whole);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct area a = *whole;

		a.start = r[i].start > a.start ? r[i].start : a.start;
		a.end = r[i].end < a.end ? r[i].end : a.end;
		area_add(m, &a);
		area_add(m, &(struct area){ .start = done, .end = a.start, .kind = AREA_HEAP });
		done = a.end;
	}
	area_add(m, &(struct area){ .start = done, .end = whole->end, .kind = AREA_HEAP });
	add_tls(m, done, whole->end, whole);
}

/*
 * Classifies one line of maps.  Memory without a file, right behind a file's: variables that begin
 * with zero are there (.bss), and the kernel makes them one mapping with whatever came to lie
 * behind them. Such memory may as well have been mapped by somebody and only happen to touch a
 * library: then no variable is there.
 */
static void classify(struct session *s, struct memory *m, uint64_t start, uint64_t end, bool file,
		     bool shared, uint64_t *file_end)
{
	struct area a = { .start = start, .end = end, .kind = AREA_OTHER, .shared = shared };
	unsigned i = task_with_sp(m, start, end);
	static struct symbols_range r[RANGES];
	size_t n = 0;

	if (i < m->tasks) {
		a.kind = AREA_STACK;
		a.tid = m->task[i].tid;
		a.sp = m->regs[i].rsp;
		a.start = a.sp - RED_ZONE < start ? start : a.sp - RED_ZONE;
		a.end = stack_end(s, &m->regs[i], end);
		area_add(m, &(struct area){ .start = start, .end = a.start, .kind = AREA_HEAP });
		area_add(m, &a);
		if (a.end < end)
			classify(s, m, a.end, end, file, shared, file_end);
		return;
	}
	if (file || shared || start == *file_end)
		n = variables_in(s, start, end, r);
	if (file || shared || n) {
		a.kind = AREA_GLOBAL;
		*file_end = 0;
		add_global(m, &a, r, n);
		return;
	} else if (is_loader(s, start)) {
		a.kind = end - start > 65536 ? AREA_OTHER : AREA_TLS;
	} else {
		a.kind = AREA_HEAP;
		add_tls(m, start, end, &a);
		/* blocks are looked up by the history */
	}
	area_add(m, &a);
}

struct err *memory_map(struct session *s, struct memory *ret)
{
	struct memory *m = ret;
	struct area relro = { 0 };
	uint64_t file_end = 0;
	unsigned n;

	*m = (struct memory){ 0 };
	n = replay_tasks(s->r, true, m->task, THREADS_MAX);
	for (unsigned i = 0; i < n && i < THREADS_MAX; i++) {
		if (m->task[i].pid != s->pid)
			continue;
		m->task[m->tasks] = m->task[i];
		TRY(replay_regs(s->r, m->task[m->tasks].tid, &m->regs[m->tasks]));
		m->tasks++;
	}
	TRY(session_refresh(s));
	for (const char *p = s->maps; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		uint64_t start, end;
		unsigned inode;
		char prot[8];
		int at = 0;

		if (sscanf(p, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %u %n", &start, &end, prot,
			   &inode, &at) < 4)
			continue;
		if (!strncmp(p + at, "[stack]", 7) && task_with_sp(m, start, end) == m->tasks &&
		    m->tasks) {
			/* the program runs on another: coroutines, a signal's */
			area_add(m,
				 &(struct area){ .start = start, .end = end, .kind = AREA_STACK,
					.tid = m->task[0].tid, .sp = start });
		} else if (prot[0] == 'r' && prot[1] == 'w') {
			if (relro.end == start && inode)	/* data that is read-only by now */
				area_add(m, &relro);
			classify(s, m, start, end, inode != 0, prot[3] == 's', &file_end);
		}
		relro = (struct area){ .start = start,
				       .end = prot[0] == 'r' && prot[1] == '-' && prot[2] == '-' &&
							      inode
						      ? end
						      : 0,
				       .kind = AREA_GLOBAL };
		if (inode)
			file_end = end;
	}
	if (m->n)
		qsort(m->area, m->n, sizeof(*m->area), by_start);
	return NULL;
}

static bool ends_program(const char *function)
{
	static const char *const names[] = { "exit",  "__GI_exit",  "_exit", "__GI__exit",
					     "_Exit", "quick_exit", "abort" };

	for (size_t i = 0; function && i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(function, names[i]))
			return true;
	}
	return false;
}

/*
 * A thread that is ending the program: in the frames of exit() nothing of the program's lives any
 * more, only what earlier calls left behind there; and of the registers only what its caller had
 * kept.
 */
static void trim_exit(struct session *s, struct memory *m, unsigned i)
{
	struct symbols_memory mem = session_memory(s, m->task[i].tid);
	struct symbols_regs regs;
	struct symbols_frame f[16];
	enum symbols_how how = SYMBOLS_FIRST;
	struct regs kept = m->regs[i];
	uint64_t cfa, sp = 0;
	bool first = true;

	symbols_regs_from(&m->regs[i], &regs);
	for (unsigned k = 0; k < 16; k++) {
		size_t n = symbols_lookup(s->sym, regs.r[SYMBOLS_RIP] - !first, f, 16);
		bool ends = n && n <= 16 && ends_program(f[n - 1].function);

		if (!symbols_unwind_step(s->sym, &regs, &mem, first, &cfa, &how))
			break;
		first = how == SYMBOLS_SIGNAL;
		if (!ends)
			continue;
		sp = cfa;
		memset(&kept, 0, sizeof(kept));
		kept.rbx = regs.r[SYMBOLS_RBX];
		kept.rbp = regs.r[SYMBOLS_RBP];
		kept.r12 = regs.r[SYMBOLS_R12];
		kept.r13 = regs.r[SYMBOLS_R13];
		kept.r14 = regs.r[SYMBOLS_R14];
		kept.r15 = regs.r[SYMBOLS_R15];
		kept.rsp = sp;
		kept.fs_base = m->regs[i].fs_base;
	}
	if (!sp)
		return;
	m->regs[i] = kept;
	for (size_t a = 0; a < m->n; a++) {
		if (m->area[a].kind == AREA_STACK && m->area[a].tid == m->task[i].tid &&
		    sp < m->area[a].end)
			m->area[a].start = m->area[a].sp = sp;
	}
}

void memory_trim(struct session *s, struct memory *m)
{
	for (unsigned i = 0; i < m->tasks; i++) {
		struct regs *r = &m->regs[i];

		trim_exit(s, m, i);
		if (m->task[i].in_call)		/* what a function call does not keep */
			r->rcx = r->rdx = r->rsi = r->rdi = r->r8 = r->r9 = r->r10 = r->r11 =
				r->rax = 0;
	}
}

void memory_deinit(struct memory *m)
{
	free(m->area);
	*m = (struct memory){ 0 };
}

const struct area *memory_area(const struct memory *m, uint64_t addr)
{
	const struct area *found = NULL;

	for (size_t i = 0; i < m->n; i++) {
		const struct area *a = &m->area[i];

		if (addr >= a->start && addr < a->end && (!found || a->kind == AREA_TLS))
			found = a;
	}
	return found;
}

/* ---- its words ------------------------------------------------------------------------------- */

struct reading { struct session *s; const struct area *a; memory_words_fn *fn; void *ctx; };

static struct err *read_part(void *ctx, uint64_t start, uint64_t end)
{
	static uint64_t (*words)[CHUNK / 8];
	const struct reading *rd = ctx;
	int tid = session_any_task(rd->s);

	ALLOC_ONCE(words, "the memory of a process");
	start = start > rd->a->start ? start : (rd->a->start + 7) & ~7ull;
	end = end < rd->a->end ? end : rd->a->end;
	while (start < end) {
		size_t want = end - start < sizeof(*words) ? (size_t)(end - start) : sizeof(*words);
		size_t got = replay_memory(rd->s->r, tid, start, *words, want) / 8;

		if (!got)
			break;
		rd->fn(rd->ctx, rd->a, start, *words, got);
		start += got * 8;
	}
	return NULL;
}

static void read_page(void *ctx, uint64_t addr, const void *bytes)
{
	const struct reading *rd = ctx;
	uint64_t start = addr > rd->a->start ? addr : (rd->a->start + 7) & ~7ull,
		 end = addr + PAGE_BYTES < rd->a->end ? addr + PAGE_BYTES : rd->a->end;

	if (start < end)
		rd->fn(rd->ctx, rd->a, start,
		       (const uint64_t *)(const void *)((const char *)bytes + (start - addr)),
		       (end - start) / 8);
}

/*
 * Small ones are read whole, which is cheaper than to ask.  Shared ones may be there and not in
 * this process's page table, which a fork leaves without them.
 */
void memory_words(struct session *s, const struct area *a, memory_words_fn *fn, void *ctx)
{
	struct reading rd = { s, a, fn, ctx };
	int tid = session_any_task(s);

	if (a->end - a->start <= CHUNK)
		err_free(read_part(&rd, a->start, a->end));
	else if (a->shared)
		err_free(replay_shared(s->r, tid, a->start, a->end, read_page, &rd));
	else
		err_free(replay_populated(s->r, tid, a->start, a->end, read_part, &rd));
}

/* ---- who refers to the targets? -------------------------------------------------------------- */

bool target_has(const struct target *t, uint64_t value)
{
	unsigned lo = 0, hi = t->ranges;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (value < t->range[mid].start)
			hi = mid;
		else if (value >= t->range[mid].end)
			lo = mid + 1;
		else
			return true;
	}
	return false;
}

struct lookup { struct range range; uint32_t target; };

struct search {
	struct session *s;
	const struct memory *m;
	const struct target *t;
	uint64_t clock, min, max;
	struct lookup *by_range;
	size_t n;
	struct reference *ref;
	uint32_t *which;
	size_t refs, room;
};

static int lookup_order(const void *a, const void *b)
{
	const struct lookup *x = a, *y = b;

	return x->range.start < y->range.start ? -1 : x->range.start > y->range.start;
}

static const struct lookup *lookup(const struct search *q, uint64_t v)
{
	size_t lo = 0, hi = q->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (v < q->by_range[mid].range.start)
			hi = mid;
		else if (v >= q->by_range[mid].range.end)
			lo = mid + 1;
		else
			return &q->by_range[mid];
	}
	return NULL;
}

static void found(struct search *q, uint64_t addr, uint64_t value, uint32_t target)
{
	if (q->refs == q->room) {
		q->room = q->room * 2 + 64;
		q->ref = must(realloc(q->ref, q->room * sizeof(*q->ref)));
		q->which = must(realloc(q->which, q->room * sizeof(*q->which)));
	}
	q->ref[q->refs] = (struct reference){ addr, value };
	q->which[q->refs++] = target;
}

/* Looks at one of n words of area a, at addr. */
static void search_word(struct search *q, const struct area *a, uint64_t addr, uint64_t word)
{
	const struct lookup *l;

	if (word - q->min >= q->max - q->min)
		return;
	l = lookup(q, word);
	if (!l || target_has(&q->t[l->target], addr))
		return;
	/* glibc's arena: see graph.c */
	if (a->kind == AREA_GLOBAL && !(word & 15) && word != l->range.start &&
	    l->range.end - word <= 8)
		return;
	if (a->kind == AREA_HEAP) {
		const struct block *b = history_at(q->s, addr, q->clock);

		if (!b || remains_in_block(q->s, addr, b->born))
			return;
	}
	found(q, addr, word, l->target);
}

static void search_words(void *ctx, const struct area *a, uint64_t addr, const uint64_t *words,
			 size_t n)
{
	struct search *q = ctx;

	for (size_t i = 0; i < n; i++)
		search_word(q, a, addr + 8 * i, words[i]);
}

struct err *memory_references(struct session *s, const struct memory *m, uint64_t clock,
			      const struct target *t, size_t n, struct reference **ret,
			      uint32_t **which, size_t *n_ret)
{
	struct search q = { .s = s, .m = m, .t = t, .clock = clock, .min = UINT64_MAX };
	size_t ranges = 0;

	for (size_t i = 0; i < n; i++)
		ranges += t[i].ranges;
	q.by_range = must(malloc((ranges + 1) * sizeof(*q.by_range)));
	for (size_t i = 0; i < n; i++) {
		for (unsigned j = 0; j < t[i].ranges; j++) {
			q.by_range[q.n++] = (struct lookup){ t[i].range[j], (uint32_t)i };
			q.min = t[i].range[j].start < q.min ? t[i].range[j].start : q.min;
			q.max = t[i].range[j].end > q.max ? t[i].range[j].end : q.max;
		}
	}
	qsort(q.by_range, q.n, sizeof(*q.by_range), lookup_order);
	for (size_t i = 0; i < m->n; i++)
		memory_words(s, &m->area[i], search_words, &q);
	free(q.by_range);
	*ret = q.ref;
	*which = q.which;
	*n_ret = q.refs;
	return NULL;
}
