/*
 * find.c - all places that hold a value: registers, and every page of the process that holds
 * anything.
 *
 * Memory is searched in blocks that stay in the cache; only blocks with a hit are looked at again.
 * What a place is part of is then worked out in order of address: heap blocks by walking over
 * glibc's chunks, from one hit to the next.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "abi/page.h"
#include "base/bug.h"
#include "gdbserver/internal.h"

enum {
	BLOCK = 1 << 18,
	HITS_SHOWN = 1000,
	THREADS_MAX = 256,
	RED_ZONE = 128,
	WINDOW = 1 << 16,
	ARENA = 64 << 20,
	ARENA_TOP = 96,
	ARENA_FIRST_MAX = 0xc00,
	THREAD_BLOCK = 0x900 /* struct pthread */
};

struct map {
	uint64_t start, end;
	bool write, file, shared;
	const char *name;
};

struct find {
	struct server *s;
	struct reply *o;
	struct symbols *sym;
	int tid, pid;
	uint64_t value, size, step;
	struct replay_task task[THREADS_MAX];
	struct regs regs[THREADS_MAX];
	unsigned tasks;
	uint64_t hits;
	/* a walk over heap chunks, which goes on where the last hit was */
	uint64_t walk_start, walk_end, chunk;
	bool walk_lost;
	uint64_t window_at;
	size_t window_len;
	unsigned char window[WINDOW], block[BLOCK + 8];
};

/* ---- heap ------------------------------------------------------------------------------------ */

static bool word(struct find *f, uint64_t addr, uint64_t *ret)
{
	if (addr < f->window_at || addr + 8 > f->window_at + f->window_len) {
		f->window_at = addr;
		f->window_len = replay_memory(f->s->r, f->tid, addr, f->window, sizeof(f->window));
		if (f->window_len < 8)
			return false;
	}
	memcpy(ret, f->window + (addr - f->window_at), 8);
	return true;
}

/* The size of a chunk, 0 when it cannot be one. */
static uint64_t chunk_size(struct find *f, uint64_t chunk, uint64_t end)
{
	uint64_t head, size;

	if (chunk + 16 > end || !word(f, chunk + 8, &head))
		return 0;
	size = head & ~7ull;
	return size >= 32 && !(size & 15) && size <= end - chunk ? size : 0;
}

/* Do chunks follow each other from here to exactly there? */
static bool leads_to(struct find *f, uint64_t chunk, uint64_t top, uint64_t end)
{
	while (chunk < top) {
		uint64_t size = chunk_size(f, chunk, end);

		if (!size)
			return false;
		chunk += size;
	}
	return chunk == top;
}

static uint64_t first_chunk(struct find *f, const struct map *m)
{
	uint64_t arena, top;

	if (m->start % ARENA || !word(f, m->start, &arena))
		return m->start;
	if (arena < m->start || arena - m->start > 0x100)	/* a further part of an arena */
		return m->start + 0x30;
	if (!word(f, arena + ARENA_TOP, &top) || top < m->start || top >= m->end)
		top = 0;
	for (uint64_t first = arena + 0x400; top && first < arena + ARENA_FIRST_MAX; first += 16) {
		if (leads_to(f, first, top, m->end))
			return first;
	}
	return m->end;
}

static bool chunk_mapped(struct find *f)
{
	uint64_t head;

	return word(f, f->chunk + 8, &head) && head & 2;
}

/* A large block that has pages of its own, somewhere among other mappings. */
static bool mapped_block(struct find *f, const struct map *m, uint64_t addr, char *buf, size_t size)
{
	enum { BACK = 1 << 16 };
	uint64_t page = page_down(addr), head[2];

	for (unsigned i = 0; i < BACK && page >= m->start; i++, page -= PAGE_BYTES) {
		if (replay_memory(f->s->r, f->tid, page, head, 16) != 16)
			return false;
		if (head[0] || (head[1] & 0xfff) != 2 || head[1] - 2 > m->end - page ||
		    addr - page >= head[1] - 2 || addr < page + 16)
			continue;
		snprintf(buf, size, "heap block 0x%" PRIx64 " of %" PRIu64 " bytes, + %" PRIu64,
			 page + 16, head[1] - 2 - 16, addr - page - 16);
		return true;
	}
	return false;
}

/* The chunk that holds addr; hits come in order of address. */
static bool heap_block(struct find *f, const struct map *m, uint64_t addr, char *buf, size_t size)
{
	uint64_t len = 0, next = 1;
	bool mapped;

	if (f->walk_start != m->start) {
		f->walk_start = m->start;
		f->walk_end = m->end;
		f->chunk = first_chunk(f, m);
		f->walk_lost = false;
	}
	while (!f->walk_lost && f->chunk < m->end) {
		len = chunk_size(f, f->chunk, m->end);
		if (!len)
			f->walk_lost = true;
		/* a block has the first word of the next chunk, too */
		else if (addr < f->chunk + len + (chunk_mapped(f) ? 0 : 8))
			break;
		else
			f->chunk += len;
	}
	if (f->walk_lost || f->chunk >= m->end)
		return mapped_block(f, m, addr, buf, size);
	mapped = chunk_mapped(f);
	if (!mapped && f->chunk + len + 16 <= m->end)
		word(f, f->chunk + len + 8, &next);
	else
		next = 1;
	if (addr < f->chunk + 16)
		snprintf(buf, size, "heap, between blocks (before 0x%" PRIx64 ")", f->chunk + 16);
	else
		snprintf(buf, size,
			 "heap block 0x%" PRIx64 " of %" PRIu64 " bytes, + %" PRIu64 "%s",
			 f->chunk + 16, len - (mapped ? 16 : 8), addr - f->chunk - 16,
			 next & 1 ? "" : " (free)");
	return true;
}

/* ---- what a place is ------------------------------------------------------------------------- */

static char *of_thread(struct find *f, const struct map *m, uint64_t addr)
{
	char *text = NULL, *name;

	for (unsigned i = 0; i < f->tasks; i++) {
		uint64_t sp = f->regs[i].rsp;

		name = names_tls(f->s, f->sym, f->task[i].tid, &f->regs[i], addr);
		if (name) {
			text = alloc_printf("a name", "%s of thread %d", name, f->task[i].tid);
			free(name);
			return text;
		}
		if (addr - f->regs[i].fs_base < THREAD_BLOCK) {
			text = alloc_printf("a name", "thread control block of thread %d",
					    f->task[i].tid);
			return text;
		}
		if (sp < m->start || sp >= m->end ||
		    (f->regs[i].fs_base >= m->start && addr >= f->regs[i].fs_base))
			continue;
		name = addr < sp - RED_ZONE
			       ? NULL
			       : names_stack(f->s, f->sym, f->task[i].tid, &f->regs[i], addr);
		text = alloc_printf("a name", "stack of thread %d%s%s", f->task[i].tid,
			     addr < sp - RED_ZONE ? ", below its stack pointer: left over"
			     : name		  ? ": "
						  : "",
			     name ? name : "");
		free(name);
		return text;
	}
	return NULL;
}

static void hit(struct find *f, const struct map *m, uint64_t addr, uint64_t value)
{
	char buf[256], *name;

	if (f->hits++ >= HITS_SHOWN)
		return;
	reply_text(f->o, "0x%" PRIx64, addr);
	if (f->size > 1)
		reply_text(f->o, " (0x%" PRIx64 ")", value);
	name = f->sym ? of_thread(f, m, addr) : NULL;
	if (!name && f->sym)
		name = names_variable(f->sym, addr);
	if (name)
		reply_text(f->o, ": %s\n", name);
	else if (m->name[0] && strcmp(m->name, "[heap]"))
		reply_text(f->o, ": %s of %s\n", m->write ? "data" : "read-only part", m->name);
	else if (m->write && heap_block(f, m, addr, buf, sizeof(buf)))
		reply_text(f->o, ": %s\n", buf);
	else
		reply_text(f->o, ": memory 0x%" PRIx64 "-0x%" PRIx64 " + %" PRIu64 "\n", m->start,
			   m->end, addr - m->start);
	free(name);
}

/* ---- searching ------------------------------------------------------------------------------- */

static inline uint64_t load(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static bool any_in(const unsigned char *p, size_t words, uint64_t value, uint64_t size)
{
	uint64_t any = 0;

	if (size == 1) {
		for (size_t i = 0; i < words; i++)
			any |= load(p + 8 * i) == value;
	} else {
		for (size_t i = 0; i < words; i++)
			any |= load(p + 8 * i) - value < size;
	}
	return any;
}

/* n bytes of f->block, which were read from addr; a value may begin in any but the last 7. */
static void search_block(struct find *f, const struct map *m, uint64_t addr, size_t n)
{
	enum { PART = 4096 };

	for (size_t at = 0; at + 8 <= n; at += PART) {
		size_t words = (n - at < PART ? n - at : PART) / 8;
		bool any = false;

		for (unsigned shift = 0; shift < 8 && !any; shift += (unsigned)f->step)
			any = any_in(f->block + at + shift,
				     (n - at - shift) / 8 < words ? (n - at - shift) / 8 : words,
				     f->value, f->size);
		for (size_t i = at; any && i < at + PART && i + 8 <= n; i += f->step) {
			if (load(f->block + i) - f->value < f->size)
				hit(f, m, addr + i, load(f->block + i));
		}
	}
}

static void search_range(struct find *f, const struct map *m, uint64_t start, uint64_t end)
{
	while (start < end) {
		size_t over = f->step == 8 ? 0 : 7,
		       want = end - start < BLOCK ? (size_t)(end - start) : BLOCK;
		size_t got;

		if (m->end - start - want < over)	/* a value across the end of the block */
			over = (size_t)(m->end - start - want);
		got = replay_memory(f->s->r, f->tid, start, f->block, want + over);
		search_block(f, m, start, got);
		if (got < want)
			return;
		start += want;
	}
}

struct part { struct find *f; const struct map *m; };

static struct err *search_part(void *ctx, uint64_t start, uint64_t end)
{
	const struct part *p = ctx;

	search_range(p->f, p->m, start, end < p->m->end ? end : p->m->end);
	return NULL;
}

static void search_map(struct find *f, const struct map *m)
{
	struct part p = { f, m };

	/* of what was never touched only files hold something */
	if (m->file || m->shared)
		search_range(f, m, m->start, m->end);
	else
		err_free(replay_populated(f->s->r, f->tid, m->start, m->end, search_part, &p));
}

static void search_maps(struct find *f, char *maps)
{
	char *save = NULL;

	for (char *line = strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct map m = { 0 };
		unsigned inode;
		char prot[8];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %u %n", &m.start, &m.end,
			   prot, &inode, &at) < 4 ||
		    prot[0] != 'r')
			continue;
		m.write = prot[1] == 'w';
		m.shared = prot[3] == 's';
		m.file = inode != 0;
		m.name = at ? line + at : "";
		search_map(f, &m);
	}
}

static void search_registers(struct find *f)
{
	static const struct { const char *name; size_t at;
	} regs[] = {
#define R(name) { #name, offsetof(struct regs, name) }
		R(rax), R(rbx), R(rcx), R(rdx),	    R(rsi),	R(rdi), R(rbp),
		R(rsp), R(r8),	R(r9),	R(r10),	    R(r11),	R(r12), R(r13),
		R(r14), R(r15), R(rip), R(fs_base), R(gs_base),
#undef R
	};

	for (unsigned i = 0; i < f->tasks; i++) {
		for (size_t k = 0; k < sizeof(regs) / sizeof(regs[0]); k++) {
			uint64_t v = load((const unsigned char *)&f->regs[i] + regs[k].at);

			if (v - f->value >= f->size)
				continue;
			f->hits++;
			reply_text(f->o, "$%s", regs[k].name);
			if (f->size > 1)
				reply_text(f->o, " (0x%" PRIx64 ")", v);
			reply_text(f->o, ": register of thread %d\n", f->task[i].tid);
		}
	}
}

static void threads(struct find *f)
{
	static struct replay_task all[TASKS_MAX];
	unsigned n = replay_tasks(f->s->r, true, all, TASKS_MAX);

	for (unsigned i = n < TASKS_MAX ? n : TASKS_MAX; i-- && f->tasks < THREADS_MAX;) {
		struct err *err;

		if (all[i].pid != f->pid)
			continue;
		f->task[f->tasks] = all[i];
		err = replay_regs(f->s->r, all[i].tid, &f->regs[f->tasks]);
		f->tasks += !err;
		err_free(err);
	}
}

static const char *parse(struct find *f, const char *p)
{
	static const char usage[] = "find-pointer [-u] [-s SIZE] VALUE";
	char *end;

	f->step = 8;
	f->size = 1;
	while (*p == '-') {
		if (p[1] == 'u' && p[2] == ' ') {
			f->step = 1;
			p += 3;
		} else if (p[1] == 's' && p[2] == ' ') {
			f->size = strtoull(p + 3, &end, 0);
			if (end == p + 3 || *end != ' ' || !f->size)
				return usage;
			p = end + 1;
		} else {
			return usage;
		}
		while (*p == ' ')
			p++;
	}
	f->value = strtoull(p, &end, 0);
	if (end == p || *end)
		return usage;
	return f->value ? NULL : "0 is everywhere: find-pointer wants another value";
}

const char *find_pointer(struct server *s, const char *args, struct reply *o)
{
	struct find *f = alloc_zeroed(1, sizeof(*f), "a search");
	struct replay_task t;
	const char *wrong;
	char *maps;

	f->s = s;
	f->o = o;
	f->tid = thread_to_read(s);
	wrong = parse(f, args);
	if (!wrong && !target_task(s, f->tid, &t))
		wrong = "no process is selected";
	if (!wrong) {
		f->pid = t.pid;
		f->sym = names_of(s, f->tid);
		threads(f);
		search_registers(f);
		maps = names_maps(s, f->pid);
		if (maps)
			search_maps(f, maps);
		free(maps);
		if (f->hits > HITS_SHOWN)
			reply_text(o, "... and %" PRIu64 " more\n", f->hits - HITS_SHOWN);
		if (!f->hits)
			reply_text(o, "Nothing holds 0x%" PRIx64 "%s.\n", f->value,
				   f->step == 8 ? " (at aligned addresses; -u: at any)" : "");
	}
	free(f);
	return wrong;
}
