/*
 * go.c - .gopclntab, which every Go program has, stripped or not: functions, lines, and how far rsp
 * is below the CFA.
 *
 *	header	magic(4) 0(2) quantum(1) pointer size(1) nfunc(8) nfiles(8) [text start(8)]
 *		then offsets of: names, units, files, pc tables, functions (8 each)
 *	1.18 and later (magic f0, f1): the function table has pairs of 32 bits, relative to the text
 *	start;
 *	1.16 (magic fa): no text start, pairs of 64 bits, a function begins with its address.
 *
 * A pc table says value by value: zigzag difference of the value, distance to where it ends; the
 * first value is -1.
 */
#include "symbols/go.h"

struct go {
	struct span s;
	bool old;
	uint8_t quantum;
	uint64_t n, text, names, units, files, pcs, funcs;
};
struct go_entry {
	uint64_t start, end;
	int32_t name;
	uint32_t pcsp, pcfile, pcln, unit;
};

static bool go_open(struct go *g, struct span s, uint64_t text)
{
	struct cursor c = cursor_at(s, 0);
	uint32_t magic = cursor_u32(&c);
	uint64_t start = 0;

	*g = (struct go){ .s = s, .old = magic == 0xfffffffa };
	if (!g->old && magic != 0xfffffff0 && magic != 0xfffffff1)
		return false;
	cursor_u16(&c);
	g->quantum = cursor_u8(&c);
	if (cursor_u8(&c) != 8)
		return false;
	g->n = cursor_u64(&c);
	cursor_u64(&c);
	if (!g->old)
		start = cursor_u64(&c);
	/* a relocation fills it in when position independent */
	g->text = start ? start : text;
	g->names = cursor_u64(&c);
	g->units = cursor_u64(&c);
	g->files = cursor_u64(&c);
	g->pcs = cursor_u64(&c);
	g->funcs = cursor_u64(&c);
	c = cursor_at(s, g->funcs);
	return !c.bad && g->n <= cursor_left(&c) / (g->old ? 16 : 8);
}

static struct go *module_go(struct symbols_module *m)
{
	struct span s = elf_section(&m->elf, SEC_GOPCLNTAB);

	if (m->go_tried || !s.n)
		return m->go;
	m->go_tried = true;
	m->go = calloc(1, sizeof(*m->go));
	if (m->go && !go_open(m->go, s, m->elf.sec[SEC_TEXT].addr)) {
		free(m->go);
		m->go = NULL;
	}
	return m->go;
}

void go_free(struct go *g)
{
	free(g);
}

static uint64_t entry_start(const struct go *g, uint64_t i)
{
	struct cursor c = cursor_at(g->s, g->funcs + i * (g->old ? 16 : 8));

	return g->old ? cursor_u64(&c) : g->text + cursor_u32(&c);
}

static bool entry_read(const struct go *g, uint64_t i, struct go_entry *e)
{
	struct cursor c = cursor_at(g->s, g->funcs + i * (g->old ? 16 : 8) + (g->old ? 8 : 4));
	uint64_t off = g->old ? cursor_u64(&c) : cursor_u32(&c);

	if (c.bad || off > g->s.n)
		return false;
	e->start = entry_start(g, i);
	e->end = entry_start(g, i + 1);	/* the table has one more */
	c = cursor_at(g->s, g->funcs + off);
	cursor_skip(&c, g->old ? 8 : 4);
	e->name = (int32_t)cursor_u32(&c);
	cursor_u64(&c);			/* size of arguments, deferreturn */
	e->pcsp = cursor_u32(&c);
	e->pcfile = cursor_u32(&c);
	e->pcln = cursor_u32(&c);
	cursor_u32(&c);
	e->unit = cursor_u32(&c);
	return !c.bad && e->start < e->end;
}

static bool entry_find(const struct go *g, uint64_t vaddr, struct go_entry *e)
{
	uint64_t lo = 0, hi = g->n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (entry_start(g, mid) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && entry_read(g, lo - 1, e) && vaddr < e->end;
}

static bool pc_value(const struct go *g, uint32_t off, const struct go_entry *e, uint64_t vaddr,
		     int64_t *ret)
{
	struct cursor c = cursor_at(g->s, g->pcs + off);
	uint64_t pc = e->start;
	int64_t value = -1;

	if (!off)
		return false;
	for (bool first = true; !c.bad; first = false) {
		uint64_t delta = cursor_uleb(&c);

		if (!delta && !first)
			return false;
		value += (int64_t)(delta >> 1) ^ -(int64_t)(delta & 1);
		pc += cursor_uleb(&c) * g->quantum;
		if (vaddr < pc) {
			*ret = value;
			return !c.bad;
		}
	}
	return false;
}

bool go_at(struct symbols_module *m, uint64_t vaddr, struct go_func *ret)
{
	struct go *g = module_go(m);
	struct go_entry e;
	struct cursor c;
	int64_t v;

	if (!g || !entry_find(g, vaddr, &e))
		return false;
	*ret = (struct go_func){ .start = e.start, .end = e.end };
	ret->name = span_str(g->s, g->names + (uint64_t)(uint32_t)e.name);
	if (pc_value(g, e.pcln, &e, vaddr, &v))
		ret->line = (unsigned)v;
	if (pc_value(g, e.pcfile, &e, vaddr, &v) && v >= 0) {
		c = cursor_at(g->s, g->units + (e.unit + (uint64_t)v) * 4);
		ret->file = span_str(g->s, g->files + cursor_u32(&c));
	}
	return ret->name != NULL;
}

bool go_frame_size(struct symbols_module *m, uint64_t vaddr, int64_t *ret)
{
	struct go *g = module_go(m);
	struct go_entry e;

	return g && entry_find(g, vaddr, &e) && pc_value(g, e.pcsp, &e, vaddr, ret) && *ret >= 0;
}

void go_each(struct symbols_module *m, const char *name, void (*fn)(void *ctx, const struct sym *s),
	     void *ctx)
{
	struct go *g = elf_section(&m->elf, SEC_SYMTAB).n ? NULL : module_go(m);

	for (uint64_t i = 0; g && i < g->n; i++) {
		struct sym sym = { .type = STT_FUNC, .bind = STB_LOCAL, .source = SYMBOLS_GO };
		struct go_entry e;

		if (!entry_read(g, i, &e))
			continue;
		sym.name = span_str(g->s, g->names + (uint64_t)(uint32_t)e.name);
		if (!sym.name || strcmp(sym.name, name))
			continue;
		sym.addr = e.start;
		sym.size = e.end - e.start;
		fn(ctx, &sym);
	}
}
