/*
 * lookup.c - address to function, file and line: JIT names, then DWARF, then symbol tables, then
 * Go's own table.
 *
 * Answers are kept by address: an analysis asks for the same few thousand return addresses millions
 * of times.
 */
#include "symbols/cfi.h"
#include "symbols/entry.h"
#include "symbols/go.h"
#include "symbols/internal.h"

enum { MAX_LOOKUPS = 1 << 18 };

static void fill_symtab(struct symbols_module *m, uint64_t vaddr, uint64_t bias,
			struct symbols_frame *f)
{
	const struct sym *sym = symtab_code_at(m, vaddr);
	struct go_func go;

	if (sym) {
		f->function = family_demangle(m->family, sym->name);
		f->linkage = f->function != sym->name ? sym->name : NULL;
		f->start = sym->addr + bias;
		f->size = sym->size;
		f->source = (enum symbols_source)sym->source;
	}
	if ((sym && f->line) || !go_at(m, vaddr, &go))
		return;
	if (!sym) {
		f->function = go.name;
		f->start = go.start + bias;
		f->size = go.end - go.start;
		f->source = SYMBOLS_GO;
	}
	f->file = go.file;
	f->line = go.line;
}

/* Looks a place of a module up; ret[0] is cleared. */
static size_t lookup_module(struct symbols_module *m, uint64_t addr, uint64_t bias,
			    struct symbols_frame *ret)
{
	size_t n = 0;

	if (elf_executable(&m->elf, addr - bias)) {
		n = dwarf_lookup(m, addr - bias, ret, SYMBOLS_FRAMES_MAX);
		for (size_t i = 0; i < n; i++)
			ret[i].start += ret[i].size ? bias : 0;
	}
	if (!n || !ret[n - 1].function) {
		n = n ? n : 1;
		fill_symtab(m, addr - bias, bias, &ret[n - 1]);
	}
	for (size_t i = 0; i < n; i++)
		ret[i].module = m->name;
	ret[n - 1].jit = m->jit;
	return n;
}

static size_t frames_copy(struct symbols_frame *ret, size_t max, const struct symbols_frame *all,
			  size_t n)
{
	if (n <= max) {
		memcpy(ret, all, n * sizeof(*ret));
		return n;
	}
	if (max) {
		memcpy(ret, all, (max - 1) * sizeof(*ret));
		ret[max - 1] = all[n - 1];
	}
	return max;
}

size_t lookup_in_object(struct symbols_module *m, uint64_t addr, struct symbols_frame *ret,
			size_t max)
{
	struct symbols_frame all[SYMBOLS_FRAMES_MAX];
	size_t n;

	memset(all, 0, sizeof(*all));
	n = lookup_module(m, addr, 0, all);
	return frames_copy(ret, max, all, n);
}

static size_t lookup_all(struct symbols *s, uint64_t addr, struct symbols_frame *ret)
{
	const struct jit_name *jit = space_jit(s, addr);
	struct symbols_module *m;
	uint64_t bias = 0;

	memset(ret, 0, sizeof(*ret));
	m = space_module(s, addr, &bias);
	if (!m && jit) {
		*ret = (struct symbols_frame){ .function = jit->name,
					       .start = jit->start,
					       .size = jit->end - jit->start,
					       .source = SYMBOLS_JIT,
					       .jit = true };
		return 1;
	}
	if (!m) {
		const struct region *r = space_region(s, addr);

		ret->module = r && r->file ? r->file->name : NULL;
		return 1;
	}
	return lookup_module(m, addr, bias, ret);
}

static bool lookups_grow(struct symbols *s)
{
	size_t cap = s->cap_lookups ? s->cap_lookups * 2 : 1024;
	struct lookup *t;

	if (s->n_lookups >= MAX_LOOKUPS) {
		lookup_cache_clear(s);
		return true;
	}
	if (s->n_lookups * 2 < s->cap_lookups)
		return true;
	t = calloc(cap, sizeof(*t));
	if (!t)
		return false;
	for (size_t i = 0; i < s->cap_lookups; i++) {
		size_t at;

		if (!s->lookups[i].n)
			continue;
		for (at = hash_u64(s->lookups[i].addr) & (cap - 1); t[at].n;)
			at = (at + 1) & (cap - 1);
		t[at] = s->lookups[i];
	}
	free(s->lookups);
	s->lookups = t;
	s->cap_lookups = cap;
	return true;
}

size_t symbols_lookup(struct symbols *s, uint64_t addr, struct symbols_frame *ret, size_t max)
{
	struct symbols_frame all[SYMBOLS_FRAMES_MAX];
	struct lookup *l = NULL;
	size_t n;

	if (lookups_grow(s)) {
		size_t at = hash_u64(addr) & (s->cap_lookups - 1);

		for (; s->lookups[at].n; at = (at + 1) & (s->cap_lookups - 1))
			if (s->lookups[at].addr == addr)
				return frames_copy(ret, max, s->lookups[at].frame,
						   s->lookups[at].n);
		l = &s->lookups[at];
	}
	n = lookup_all(s, addr, all);
	if (l) {
		struct symbols_frame *copy = arena_alloc(&s->lookup_arena, n * sizeof(*copy));

		if (copy) {
			memcpy(copy, all, n * sizeof(*copy));
			*l = (struct lookup){ .addr = addr, .n = (uint32_t)n, .frame = copy };
			s->n_lookups++;
		}
	}
	return frames_copy(ret, max, all, n);
}

bool symbols_function_at(struct symbols *s, uint64_t addr, uint64_t *start, uint64_t *end)
{
	struct symbols_frame f[16];
	size_t n = symbols_lookup(s, addr, f, 16);
	const struct symbols_module *m;
	uint64_t bias;

	if (n && n <= 16 && f[n - 1].size && addr - f[n - 1].start < f[n - 1].size) {
		*start = f[n - 1].start;
		*end = f[n - 1].start + f[n - 1].size;
		return true;
	}
	m = symbols_module_at(s, addr, &bias);
	if (!m || !cfi_function_at((struct symbols_module *)(uintptr_t)m, addr - bias, start, end))
		return false;
	*start += bias;
	*end += bias;
	return true;
}
