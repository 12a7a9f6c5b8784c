/*
 * entry.c - reading entries of an index.  Every number in it is compared with what it points into
 * (format.h says why).
 */
#include "symbols/entry.h"

static const uint8_t shapes[IX_A_N] = {
#define X(name, shape) [IX_A_##name] = IX_##shape,
	IX_ATTRS(X)
#undef X
};

bool die_read(struct cu *cu, uint32_t off, struct die *ret)
{
	struct cursor c;

	if (off < cu->first || off >= cu->end)
		return false;
	c = (struct cursor){ cu->dw->entries.p + off, cu->dw->entries.p + cu->end, false };
	ret->cu = cu;
	ret->off = off;
	ret->has = 0;
	ret->children = false;
	ret->flags = 0;
	ret->tag = cursor_u16(&c);
	if (ret->tag) {
		ret->children = cursor_u8(&c);
		ret->flags = cursor_u8(&c);
		ret->has = cursor_u32(&c) & (uint32_t)((1ull << IX_A_N) - 1);
		for (uint32_t left = ret->has; left; left &= left - 1) {
			unsigned a = (unsigned)__builtin_ctz(left);

			if (shapes[a] == IX_NUM)
				ret->v[a] = cursor_uleb(&c);
			else if (shapes[a] == IX_REF || shapes[a] == IX_STR)
				ret->v[a] = cursor_u32(&c);
			else
				ret->v[a] = cursor_u64(&c);
		}
	}
	ret->next = (uint32_t)(c.p - cu->dw->entries.p);
	return !c.bad;
}

uint32_t die_sibling(const struct die *die)
{
	if (!die->children)
		return die->next;
	/* Only forwards: lists end. */
	return die_has(die, IX_A_sibling) && die->v[IX_A_sibling] > die->off
		       ? (uint32_t)die->v[IX_A_sibling]
		       : die->cu->end;
}

const char *die_str(const struct die *die, enum ix_attr a)
{
	return die_has(die, a) ? index_string(die->cu->dw->ix, (uint32_t)die->v[a]) : NULL;
}

bool die_uint(const struct die *die, enum ix_attr a, uint64_t *ret)
{
	if (!die_has(die, a))
		return false;
	*ret = die->v[a];
	return true;
}

struct cu *dwarf_cu_of(struct dwarf *d, uint32_t off)
{
	size_t lo = 0, hi = d->n_cu;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->cu[mid].first <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && off < d->cu[lo - 1].end ? &d->cu[lo - 1] : NULL;
}

bool die_ref(const struct die *die, enum ix_attr a, struct ref *ret)
{
	uint32_t off = die_has(die, a) ? (uint32_t)die->v[a] : 0;

	if (!off)
		return false;
	ret->off = off;
	ret->cu = off >= die->cu->first && off < die->cu->end ? die->cu
							      : dwarf_cu_of(die->cu->dw, off);
	return ret->cu != NULL;
}

static bool die_origin(const struct die *die, struct die *ret)
{
	struct ref ref;

	return (die_ref(die, IX_A_abstract_origin, &ref) ||
		die_ref(die, IX_A_specification, &ref)) &&
	       die_read(ref.cu, ref.off, ret);
}

bool die_find(const struct die *die, enum ix_attr a, struct die *holder)
{
	struct die next;

	*holder = *die;
	for (int i = 0; i < 8; i++) {
		if (die_has(holder, a))
			return true;
		if (!die_origin(holder, &next))
			return false;
		*holder = next;
	}
	return false;
}

/* ---- ranges and locations -------------------------------------------------------------------- */

const struct ix_range *die_ranges(const struct die *die, size_t *n_ret)
{
	uint64_t v = die_has(die, IX_A_ranges) ? die->v[IX_A_ranges] : 0;
	uint32_t first = (uint32_t)v, n = (uint32_t)(v >> 32);
	const struct ix_range *r;
	size_t all;

	*n_ret = 0;
	if (!n)
		return NULL;
	r = index_array(die->cu->dw->ix, IX_RANGES, sizeof(*r), &all);
	if (first > all || n > all - first)
		return NULL;
	*n_ret = n;
	return r + first;
}

uint64_t die_covers(const struct die *die, uint64_t pc)
{
	uint64_t least = 0;
	size_t n;
	const struct ix_range *r = die_ranges(die, &n);

	for (size_t i = 0; i < n; i++)
		if (pc >= r[i].start && pc < r[i].end &&
		    (!least || r[i].end - r[i].start < least))
			least = r[i].end - r[i].start;
	return least;
}

static bool expression(struct dwarf *d, uint32_t off, uint32_t len, struct span *ret)
{
	struct span all = index_bytes(d->ix, IX_EXPRESSIONS);

	if (off > all.n || len > all.n - off)
		return false;
	*ret = (struct span){ all.p + off, len };
	return true;
}

bool die_block(const struct die *die, enum ix_attr a, struct span *ret)
{
	uint64_t v = die_has(die, a) ? die->v[a] : 0;

	return v >> 32 && !(v >> 32 & IX_LOC_LIST) &&
	       expression(die->cu->dw, (uint32_t)v, (uint32_t)(v >> 32), ret);
}

bool die_location(const struct die *die, enum ix_attr a, uint64_t pc, struct span *ret)
{
	uint64_t v = die_has(die, a) ? die->v[a] : 0;
	uint32_t first = (uint32_t)v, n = (uint32_t)(v >> 32) & ~IX_LOC_LIST;
	const struct ix_location *l;
	bool any = false;
	size_t all;

	if (!(v >> 32 & IX_LOC_LIST))
		return die_block(die, a, ret);
	l = index_array(die->cu->dw->ix, IX_LOCATIONS, sizeof(*l), &all);
	if (first > all || n > all - first)
		return false;
	for (uint32_t i = first; i < first + n; i++) {
		/* a default: anything else is better */
		bool whole = !l[i].start && l[i].end == UINT64_MAX;

		if (pc < l[i].start || pc >= l[i].end || (whole && any) ||
		    !expression(die->cu->dw, l[i].expr, l[i].len, ret))
			continue;
		any = true;
		if (!whole)
			return true;
	}
	return any;
}

/* ---- a module -------------------------------------------------------------------------------- */

static void scopes_of(struct cu *cu, const struct ix_unit *u, const struct ix_scope *all, size_t n)
{
	if (u->first_scope > n || u->n_scopes > n - u->first_scope)
		return;
	cu->scope = all + u->first_scope;
	cu->n_scope = u->n_scopes;
}

static struct dwarf *dwarf_create(struct symbols_module *m, struct index *ix)
{
	struct dwarf *d = calloc(1, sizeof(*d));
	const struct ix_scope *scope;
	const struct ix_unit *u;
	size_t n_scopes, n;

	u = index_array(ix, IX_UNITS, sizeof(*u), &n);
	scope = index_array(ix, IX_SCOPES, sizeof(*scope), &n_scopes);
	if (d)
		d->cu = n ? calloc(n, sizeof(*d->cu)) : NULL;
	if (!d || !d->cu) {
		free(d);
		index_close(ix);
		return NULL;
	}
	d->module = m;
	d->ix = ix;
	d->n_cu = n;
	d->entries = index_bytes(ix, IX_ENTRIES);
	for (size_t i = 0; i < n; i++) {
		struct cu *cu = &d->cu[i];

		*cu = (struct cu){ .dw = d,
				   .number = (uint32_t)i,
				   .first = u[i].first,
				   .end = u[i].end,
				   .root = u[i].root,
				   .language = u[i].language };
		if (cu->end > d->entries.n || cu->first > cu->end ||
		    (i && cu->first < d->cu[i - 1].end))
			cu->first = cu->end = i ? d->cu[i - 1].end : 0;
		scopes_of(cu, &u[i], scope, n_scopes);
	}
	return d;
}

struct dwarf *module_dwarf(struct symbols_module *m)
{
	struct index *ix;

	if (m->dwarf_tried)
		return m->dwarf;
	m->dwarf_tried = true;
	ix = index_open(m, IX_PART_NAMES);
	if (ix)
		m->dwarf = dwarf_create(m, ix);
	return m->dwarf;
}

void dwarf_free(struct dwarf *d)
{
	if (!d)
		return;
	index_close(d->ix);
	free(d->cu);
	free(d->var_size);
	free(d->tls_size);
	free(d);
}
