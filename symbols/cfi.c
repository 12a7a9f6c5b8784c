/*
 * cfi.c - rows of call frame information from the index (compile_frame.c made them).
 *
 * .debug_frame, also of a separate debug file, is asked where .eh_frame knows nothing of an address
 * (C without unwind tables).
 */
#include "symbols/cfi.h"
#include "symbols/index.h"

struct cfi {
	struct index *ix;
};

static struct index *frames_of(struct symbols_module *m)
{
	if (!m->cfi) {
		m->cfi = calloc(1, sizeof(*m->cfi));
		if (m->cfi)
			m->cfi->ix = index_open(m, IX_PART_FRAMES);
	}
	return m->cfi ? m->cfi->ix : NULL;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	index_close(c->ix);
	free(c);
}

/* The last of fde[0..n) that begins at or before vaddr, if it reaches there. */
static const struct ix_fde *fde_find(const struct ix_fde *fde, size_t n, uint64_t vaddr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (fde[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr < fde[lo - 1].end ? &fde[lo - 1] : NULL;
}

static struct span expression(struct index *ix, uint64_t where)
{
	struct span all = index_bytes(ix, IX_EXPRESSIONS);
	uint32_t off = (uint32_t)(where >> 32), len = (uint32_t)where;

	if (off > all.n || len > all.n - off)
		return (struct span){ all.p, 0 };
	return (struct span){ all.p + off, len };
}

static bool rules_read(struct index *ix, const struct ix_rules *r, struct cfi_row *ret)
{
	*ret = (struct cfi_row){ .cfa_reg = r->cfa_reg, .ra = r->ra, .signal = r->signal };
	if (r->cfa_is_expr)
		ret->cfa_expr = expression(ix, r->cfa);
	else
		ret->cfa_off = (int64_t)r->cfa;
	if (r->ra >= SYMBOLS_REGS || (!ret->cfa_expr.n && r->cfa_reg >= SYMBOLS_REGS))
		return false;
	for (int i = 0; i < SYMBOLS_REGS; i++) {
		ret->rule[i] = (struct cfi_rule){ .kind = r->kind[i], .value = r->value[i] };
		if (r->kind[i] > RULE_VAL_EXPR ||
		    (r->kind[i] == RULE_REG && (uint64_t)r->value[i] >= SYMBOLS_REGS))
			ret->rule[i].kind = RULE_UNDEFINED;
		if (r->kind[i] == RULE_EXPR || r->kind[i] == RULE_VAL_EXPR)
			ret->rule[i].expr = expression(ix, (uint64_t)r->value[i]);
	}
	return true;
}

bool cfi_function_at(struct symbols_module *m, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	struct index *ix = frames_of(m);
	const struct ix_fde *fde, *hit;
	size_t n_fdes, n_eh;

	if (!ix)
		return false;
	fde = index_array(ix, IX_FDES, sizeof(*fde), &n_fdes);
	n_eh = index_eh_count(ix) < n_fdes ? index_eh_count(ix) : n_fdes;
	hit = fde_find(fde, n_eh, vaddr);
	if (!hit)
		return false;
	*start = hit->start;
	*end = hit->end;
	return true;
}

bool cfi_row_at(struct symbols_module *m, uint64_t vaddr, struct cfi_row *ret)
{
	struct index *ix = frames_of(m);
	const struct ix_rules *rules;
	const struct ix_fde *fde, *hit;
	const struct ix_row *row;
	size_t n_fdes, n_rows, n_rules, n_eh, at;

	if (!ix)
		return false;
	fde = index_array(ix, IX_FDES, sizeof(*fde), &n_fdes);
	row = index_array(ix, IX_ROWS, sizeof(*row), &n_rows);
	rules = index_array(ix, IX_RULES, sizeof(*rules), &n_rules);
	n_eh = index_eh_count(ix) < n_fdes ? index_eh_count(ix) : n_fdes;
	hit = fde_find(fde, n_eh, vaddr);
	if (!hit)
		hit = fde_find(fde + n_eh, n_fdes - n_eh, vaddr);
	if (!hit || !hit->n || hit->first > n_rows || hit->n > n_rows - hit->first)
		return false;
	row += hit->first;
	for (at = hit->n - 1; at && row[at].start > vaddr; at--)
		;
	return row[at].rules < n_rules && rules_read(ix, &rules[row[at].rules], ret);
}

/* ---- frames of one size ---------------------------------------------------------------------- */

static bool fixed_frame(const struct ix_fde *fde, const struct ix_rules *r, uint64_t frame_min,
			struct symbols_fixed_frame *ret)
{
	if (r->cfa_is_expr || r->signal || r->cfa_reg != SYMBOLS_RSP || r->cfa < frame_min ||
	    r->cfa > 4096)
		return false;
	*ret = (struct symbols_fixed_frame){ fde->start, fde->end, r->cfa, 0 };
	for (int i = 0; i < SYMBOLS_REGS; i++)
		if (r->kind[i] == RULE_OFFSET && i != SYMBOLS_RIP)
			ret->saved |= 1u << i;
	return true;
}

size_t symbols_fixed_frames(const struct symbols_module *module, uint64_t min, uint64_t frame_min,
			    struct symbols_fixed_frame *ret, size_t max)
{
	/* A module's frame information is read when it is first asked for. */
	struct index *ix = frames_of((struct symbols_module *)(uintptr_t)module);
	size_t n_fdes, n_rows, n_rules, n = 0;
	const struct ix_rules *rules;
	const struct ix_fde *fde;
	const struct ix_row *row;

	if (!ix)
		return 0;
	fde = index_array(ix, IX_FDES, sizeof(*fde), &n_fdes);
	row = index_array(ix, IX_ROWS, sizeof(*row), &n_rows);
	rules = index_array(ix, IX_RULES, sizeof(*rules), &n_rules);
	for (size_t i = 0; i < n_fdes && n < max; i++)
		if (fde[i].n == 1 && fde[i].first < n_rows && fde[i].end >= fde[i].start &&
		    fde[i].end - fde[i].start >= min && row[fde[i].first].rules < n_rules &&
		    fixed_frame(&fde[i], &rules[row[fde[i].first].rules], frame_min, &ret[n]))
			n++;
	return n;
}

size_t symbols_largest_functions(const struct symbols_module *module, uint64_t min,
				 struct symbols_function *ret, size_t max)
{
	struct index *ix = frames_of((struct symbols_module *)(uintptr_t)module);
	const struct ix_fde *fde;
	size_t n_fdes, n = 0;

	if (!ix || !max)
		return 0;
	fde = index_array(ix, IX_FDES, sizeof(*fde), &n_fdes);
	for (size_t i = 0; i < n_fdes; i++) {
		uint64_t size = fde[i].end - fde[i].start;
		size_t at = n;

		if (fde[i].end < fde[i].start || size < min)
			continue;
		while (at && ret[at - 1].end - ret[at - 1].start < size)
			at--;
		if (at == max || (at && ret[at - 1].start == fde[i].start))
			continue;
		n += n < max;
		memmove(&ret[at + 1], &ret[at], (n - at - 1) * sizeof(*ret));
		ret[at] = (struct symbols_function){ fde[i].start, fde[i].end };
	}
	return n;
}
