/*
 * dwarf.c - units, abbreviations, entries and their attributes.
 */
#include "symbols/dwarf.h"

struct abbrev_attr {
	uint16_t at, form;	/* at: enum attr, or A_N */
	int64_t implicit;
};
struct abbrev {
	uint64_t code;
	uint16_t tag;
	bool children;
	uint32_t first, n;
};
struct abbrevs {
	struct abbrevs *next;
	uint64_t off;
	struct abbrev *v;
	struct abbrev_attr *attr;
	size_t n, cap, n_attr, cap_attr;
	bool dense;		/* code n is v[n - 1] */
};

enum form {
	FORM_addr = 0x01, FORM_block2 = 0x03, FORM_block4, FORM_data2, FORM_data4, FORM_data8, FORM_string, FORM_block,
	FORM_block1, FORM_data1, FORM_flag, FORM_sdata, FORM_strp, FORM_udata, FORM_ref_addr, FORM_ref1, FORM_ref2, FORM_ref4,
	FORM_ref8, FORM_ref_udata, FORM_indirect, FORM_sec_offset, FORM_exprloc, FORM_flag_present, FORM_strx, FORM_addrx,
	FORM_ref_sup4, FORM_strp_sup, FORM_data16, FORM_line_strp, FORM_ref_sig8, FORM_implicit_const, FORM_loclistx,
	FORM_rnglistx, FORM_ref_sup8, FORM_strx1, FORM_strx2, FORM_strx3, FORM_strx4, FORM_addrx1, FORM_addrx2, FORM_addrx3,
	FORM_addrx4, FORM_GNU_addr_index = 0x1f01, FORM_GNU_str_index, FORM_GNU_ref_alt = 0x1f20, FORM_GNU_strp_alt,
};

/* ---- abbreviations ------------------------------------------------------------------------------- */

static uint16_t attr_number(uint64_t at)
{
	static const uint8_t known[0x90] = {
#define X(name, number) [number] = A_##name + 1,
		ATTRS(X)
#undef X
	};

	if (at < sizeof(known) && known[at])
		return known[at] - 1;
	if (at == 0x2007)		/* MIPS_linkage_name */
		return A_linkage_name;
	return at == 0x2133 ? A_addr_base : A_N;	/* GNU_addr_base */
}

static bool abbrev_read(struct abbrevs *t, struct cursor *c)
{
	struct abbrev a = { .code = cursor_uleb(c), .first = (uint32_t)t->n_attr };

	if (!a.code || c->bad)
		return false;
	a.tag = (uint16_t)cursor_uleb(c);
	a.children = cursor_u8(c);
	for (;;) {
		uint64_t at = cursor_uleb(c), form = cursor_uleb(c);
		struct abbrev_attr attr = { attr_number(at), (uint16_t)form, 0 };

		if (form == FORM_implicit_const)
			attr.implicit = cursor_sleb(c);
		if (c->bad || form > UINT16_MAX)
			return false;
		if (!at && !form)
			break;
		if (!grow(&t->attr, &t->cap_attr, t->n_attr + 1, sizeof(attr)))
			return false;
		t->attr[t->n_attr++] = attr;
	}
	a.n = (uint32_t)t->n_attr - a.first;
	if (!grow(&t->v, &t->cap, t->n + 1, sizeof(a)))
		return false;
	t->dense &= a.code == t->n + 1;
	t->v[t->n++] = a;
	return true;
}

static int abbrev_compare(const void *a, const void *b)
{
	const struct abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

static struct abbrevs *abbrevs_at(struct dwarf *d, uint64_t off)
{
	struct cursor c = cursor_at(elf_section(d->elf, SEC_DEBUG_ABBREV), off);
	struct abbrevs *t;

	for (t = d->abbrevs; t; t = t->next)
		if (t->off == off)
			return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->off = off;
	t->dense = true;
	while (abbrev_read(t, &c))
		;
	if (!t->dense && t->n)
		qsort(t->v, t->n, sizeof(*t->v), abbrev_compare);
	t->next = d->abbrevs;
	return d->abbrevs = t;
}

static const struct abbrev *abbrev_find(const struct abbrevs *t, uint64_t code)
{
	struct abbrev key = { .code = code };

	if (t->dense)
		return code <= t->n ? &t->v[code - 1] : NULL;
	return t->n ? bsearch(&key, t->v, t->n, sizeof(key), abbrev_compare) : NULL;
}

/* ---- attributes ------------------------------------------------------------------------------------ */

static bool block_read(struct cursor *c, uint64_t n, struct val *v)
{
	struct span s = cursor_span(c, n);

	v->p = s.p;
	v->u = s.n;
	return !c->bad;
}

static bool form_read(const struct cu *cu, struct cursor *c, uint16_t form, int64_t implicit, struct val *v)
{
	unsigned offset = cu->wide ? 8 : 4;

	if (form == FORM_indirect) {
		form = (uint16_t)cursor_uleb(c);
		if (form == FORM_indirect || form == FORM_implicit_const)
			return false;
	}
	v->form = form;
	v->p = NULL;
	switch (form) {
	case FORM_addr: v->u = cursor_uint(c, cu->addr_size); break;
	case FORM_data1: case FORM_flag: case FORM_ref1: case FORM_strx1: case FORM_addrx1: v->u = cursor_u8(c); break;
	case FORM_data2: case FORM_ref2: case FORM_strx2: case FORM_addrx2: v->u = cursor_u16(c); break;
	case FORM_strx3: case FORM_addrx3: v->u = cursor_uint(c, 3); break;
	case FORM_data4: case FORM_ref4: case FORM_strx4: case FORM_addrx4: case FORM_ref_sup4: v->u = cursor_u32(c); break;
	case FORM_data8: case FORM_ref8: case FORM_ref_sig8: case FORM_ref_sup8: v->u = cursor_u64(c); break;
	case FORM_sdata: v->u = (uint64_t)cursor_sleb(c); break;
	case FORM_udata: case FORM_ref_udata: case FORM_strx: case FORM_addrx: case FORM_loclistx: case FORM_rnglistx:
	case FORM_GNU_addr_index: case FORM_GNU_str_index: v->u = cursor_uleb(c); break;
	case FORM_strp: case FORM_line_strp: case FORM_sec_offset: case FORM_strp_sup: case FORM_GNU_ref_alt:
	case FORM_GNU_strp_alt: v->u = cursor_uint(c, offset); break;
	case FORM_ref_addr: v->u = cursor_uint(c, cu->version <= 2 ? cu->addr_size : offset); break;
	case FORM_string: v->p = (const uint8_t *)cursor_str(c); break;
	case FORM_flag_present: v->u = 1; break;
	case FORM_implicit_const: v->u = (uint64_t)implicit; break;
	case FORM_block1: return block_read(c, cursor_u8(c), v);
	case FORM_block2: return block_read(c, cursor_u16(c), v);
	case FORM_block4: return block_read(c, cursor_u32(c), v);
	case FORM_block: case FORM_exprloc: return block_read(c, cursor_uleb(c), v);
	case FORM_data16: return block_read(c, 16, v);
	default: return false;
	}
	return !c->bad;
}

bool die_read(struct cu *cu, uint64_t off, struct die *ret)
{
	struct cursor c;
	const struct abbrev *a;
	uint64_t code;

	if (off < cu->die || off >= cu->end || !cu->abbrevs)
		return false;
	c = (struct cursor){ cu->sec.p + off, cu->sec.p + cu->end, false };
	ret->cu = cu;
	ret->off = off;
	ret->has = 0;
	ret->tag = 0;
	ret->children = false;
	code = cursor_uleb(&c);
	if (code) {
		a = abbrev_find(cu->abbrevs, code);
		if (!a)
			return false;
		ret->tag = a->tag;
		ret->children = a->children;
		for (uint32_t i = 0; i < a->n; i++) {
			const struct abbrev_attr *at = &cu->abbrevs->attr[a->first + i];
			struct val other, *v = at->at < A_N ? &ret->v[at->at] : &other;

			if (!form_read(cu, &c, at->form, at->implicit, v))
				return false;
			if (at->at < A_N)
				ret->has |= 1ull << at->at;
		}
	}
	ret->next = (uint64_t)(c.p - cu->sec.p);
	return !c.bad;
}

uint64_t die_sibling(const struct die *die)
{
	struct die child;
	struct ref ref;
	unsigned depth = 1;

	if (!die->children)
		return die->next;
	if (die_ref(die, A_sibling, &ref) && ref.cu == die->cu && ref.off > die->off)
		return ref.off;
	for (uint64_t off = die->next; die_read(die->cu, off, &child); off = child.next) {
		if (!child.tag && !--depth)
			return child.next;
		if (child.tag && child.children) {
			if (die_ref(&child, A_sibling, &ref) && ref.cu == die->cu && ref.off > child.off)
				child.next = ref.off;
			else
				depth++;
		}
	}
	return die->cu->end;
}

static struct dwarf *dwarf_alt(struct dwarf *d);

static const char *str_index(struct cu *cu, uint64_t index)
{
	unsigned size = cu->wide ? 8 : 4;
	struct cursor c;

	if (index > UINT32_MAX)
		return NULL;
	c = cursor_at(elf_section(cu->dw->elf, SEC_DEBUG_STR_OFFSETS), cu->str_offsets_base + index * size);
	index = cursor_uint(&c, size);
	return c.bad ? NULL : span_str(elf_section(cu->dw->elf, SEC_DEBUG_STR), index);
}

const char *die_str(const struct die *die, enum attr a)
{
	const struct val *v = &die->v[a];
	struct dwarf *d = die->cu->dw;

	if (!die_has(die, a))
		return NULL;
	switch (v->form) {
	case FORM_string: return (const char *)v->p;
	case FORM_strp: return span_str(elf_section(d->elf, SEC_DEBUG_STR), v->u);
	case FORM_line_strp: return span_str(elf_section(d->elf, SEC_DEBUG_LINE_STR), v->u);
	case FORM_strx: case FORM_strx1: case FORM_strx2: case FORM_strx3: case FORM_strx4: case FORM_GNU_str_index:
		return str_index(die->cu, v->u);
	case FORM_GNU_strp_alt: case FORM_strp_sup:
		d = dwarf_alt(d);
		return d ? span_str(elf_section(d->elf, SEC_DEBUG_STR), v->u) : NULL;
	}
	return NULL;
}

bool cu_addr(struct cu *cu, uint64_t index, uint64_t *ret)
{
	struct cursor c;

	if (index > UINT32_MAX)
		return false;
	c = cursor_at(elf_section(cu->dw->elf, SEC_DEBUG_ADDR), cu->addr_base + index * cu->addr_size);
	*ret = cursor_uint(&c, cu->addr_size);
	return !c.bad;
}

static bool is_block(uint16_t form)
{
	return form == FORM_block || form == FORM_block1 || form == FORM_block2 || form == FORM_block4 ||
	       form == FORM_exprloc || form == FORM_data16;
}

bool die_uint(const struct die *die, enum attr a, uint64_t *ret)
{
	if (!die_has(die, a) || is_block(die->v[a].form) || die->v[a].form == FORM_string)
		return false;
	*ret = die->v[a].u;
	return true;
}

bool die_addr(const struct die *die, enum attr a, uint64_t *ret)
{
	const struct val *v = &die->v[a];

	if (!die_has(die, a))
		return false;
	switch (v->form) {
	case FORM_addr: *ret = v->u; return true;
	case FORM_addrx: case FORM_addrx1: case FORM_addrx2: case FORM_addrx3: case FORM_addrx4: case FORM_GNU_addr_index:
		return cu_addr(die->cu, v->u, ret);
	}
	return false;
}

bool die_flag(const struct die *die, enum attr a)
{
	return die_has(die, a) && die->v[a].u;
}

bool die_block(const struct die *die, enum attr a, struct span *ret)
{
	if (!die_has(die, a) || !is_block(die->v[a].form))
		return false;
	*ret = (struct span){ die->v[a].p, die->v[a].u };
	return true;
}

static bool ref_signature(struct dwarf *d, uint64_t signature, struct ref *ret)
{
	for (size_t i = 0; i < d->n_cu; i++)
		if (d->cu[i].is_types && d->cu[i].signature == signature) {
			*ret = (struct ref){ &d->cu[i], d->cu[i].off + d->cu[i].type_off };
			return cu_ready(ret->cu);
		}
	return false;
}

bool die_ref(const struct die *die, enum attr a, struct ref *ret)
{
	const struct val *v = &die->v[a];
	struct dwarf *d = die->cu->dw;

	if (!die_has(die, a))
		return false;
	switch (v->form) {
	case FORM_ref1: case FORM_ref2: case FORM_ref4: case FORM_ref8: case FORM_ref_udata:
		*ret = (struct ref){ die->cu, die->cu->off + v->u };
		return v->u < die->cu->end - die->cu->off;
	case FORM_ref_sig8:
		return ref_signature(d, v->u, ret);
	case FORM_GNU_ref_alt: case FORM_ref_sup4: case FORM_ref_sup8:
		d = dwarf_alt(d);
		/* fall through */
	case FORM_ref_addr:
		ret->cu = d ? dwarf_cu_of(d, v->u) : NULL;
		ret->off = v->u;
		return ret->cu != NULL && cu_ready(ret->cu);
	}
	return false;
}

bool die_origin(const struct die *die, struct die *ret)
{
	struct ref ref;

	return (die_ref(die, A_abstract_origin, &ref) || die_ref(die, A_specification, &ref)) &&
	       die_read(ref.cu, ref.off, ret);
}

bool die_find(const struct die *die, enum attr a, struct die *holder)
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

/* ---- lists of ranges and locations ---------------------------------------------------------------------- */

enum list_kind { LIST_END, LIST_BASE, LIST_RANGE, LIST_DEFAULT, LIST_BAD };

/* DW_RLE_* and DW_LLE_* differ only in where default_location stands. */
static enum list_kind list_entry5(struct cu *cu, struct cursor *c, bool loc, uint64_t *base, uint64_t *a, uint64_t *b)
{
	unsigned op = cursor_u8(c);

	if (loc && op == 5)
		return LIST_DEFAULT;
	if (loc && op > 5)
		op--;
	switch (op) {
	case 0: return c->bad ? LIST_BAD : LIST_END;
	case 1: return cu_addr(cu, cursor_uleb(c), base) ? LIST_BASE : LIST_BAD;
	case 2:
		if (!cu_addr(cu, cursor_uleb(c), a) || !cu_addr(cu, cursor_uleb(c), b))
			return LIST_BAD;
		return LIST_RANGE;
	case 3:
		if (!cu_addr(cu, cursor_uleb(c), a))
			return LIST_BAD;
		*b = *a + cursor_uleb(c);
		return LIST_RANGE;
	case 4: *a = *base + cursor_uleb(c); *b = *base + cursor_uleb(c); return LIST_RANGE;
	case 5: *base = cursor_u64(c); return LIST_BASE;
	case 6: *a = cursor_u64(c); *b = cursor_u64(c); return LIST_RANGE;
	case 7: *a = cursor_u64(c); *b = *a + cursor_uleb(c); return LIST_RANGE;
	}
	return LIST_BAD;
}

static enum list_kind list_entry(struct cu *cu, struct cursor *c, bool loc, uint64_t *base, uint64_t *a, uint64_t *b)
{
	if (cu->version >= 5)
		return list_entry5(cu, c, loc, base, a, b);
	*a = cursor_u64(c);
	*b = cursor_u64(c);
	if (c->bad)
		return LIST_BAD;
	if (!*a && !*b)
		return LIST_END;
	if (*a == UINT64_MAX) {
		*base = *b;
		return LIST_BASE;
	}
	*a += *base;
	*b += *base;
	return LIST_RANGE;
}

/* The list an attribute means: an offset, or an index into the table at base. */
static bool list_open(const struct die *die, enum attr a, enum section_id old, enum section_id new, uint64_t base,
		      struct cursor *ret)
{
	struct cu *cu = die->cu;
	struct span s = elf_section(cu->dw->elf, cu->version >= 5 ? new : old);
	uint64_t off = die->v[a].u;

	if (die->v[a].form == FORM_loclistx || die->v[a].form == FORM_rnglistx) {
		struct cursor c;

		if (off > UINT32_MAX)
			return false;
		c = cursor_at(s, base + off * (cu->wide ? 8 : 4));
		off = base + cursor_uint(&c, cu->wide ? 8 : 4);
		if (c.bad)
			return false;
	}
	*ret = cursor_at(s, off);
	return !ret->bad;
}

void die_ranges(const struct die *die, range_fn *fn, void *ctx)
{
	uint64_t low, high, base = die->cu->low_pc;
	enum list_kind kind;
	struct cursor c;

	if (die_addr(die, A_low_pc, &low) && die_has(die, A_high_pc)) {
		if (!die_addr(die, A_high_pc, &high) && die_uint(die, A_high_pc, &high))
			high += low;
		if (low < high)
			fn(ctx, low, high);
		return;
	}
	if (!die_has(die, A_ranges) ||
	    !list_open(die, A_ranges, SEC_DEBUG_RANGES, SEC_DEBUG_RNGLISTS, die->cu->rnglists_base, &c))
		return;
	while ((kind = list_entry(die->cu, &c, false, &base, &low, &high)) != LIST_END && kind != LIST_BAD && !c.bad)
		if (kind == LIST_RANGE && low < high)
			fn(ctx, low, high);
}

struct covers {
	uint64_t pc;
	bool hit;
};

static void covers_range(void *ctx, uint64_t start, uint64_t end)
{
	struct covers *c = ctx;

	c->hit |= c->pc >= start && c->pc < end;
}

bool die_covers(const struct die *die, uint64_t pc)
{
	struct covers c = { pc, false };

	die_ranges(die, covers_range, &c);
	return c.hit;
}

bool die_location(const struct die *die, enum attr a, uint64_t pc, struct span *ret)
{
	uint64_t low = 0, high = 0, base = die->cu->low_pc;
	struct cursor c;
	bool any = false;

	if (die_block(die, a, ret))
		return true;
	if (!die_has(die, a) ||
	    !list_open(die, a, SEC_DEBUG_LOC, SEC_DEBUG_LOCLISTS, die->cu->loclists_base, &c))
		return false;
	for (;;) {
		enum list_kind kind = list_entry(die->cu, &c, true, &base, &low, &high);
		struct span expr;

		if (kind == LIST_END || kind == LIST_BAD || c.bad)
			return any;
		if (kind == LIST_BASE)
			continue;
		expr = cursor_span(&c, die->cu->version >= 5 ? cursor_uleb(&c) : cursor_u16(&c));
		if (kind == LIST_DEFAULT && !any) {
			*ret = expr;
			any = true;
		} else if (kind == LIST_RANGE && pc >= low && pc < high) {
			*ret = expr;
			return true;
		}
	}
}

/* ---- units ------------------------------------------------------------------------------------------ */

bool cu_ready(struct cu *cu)
{
	struct die root;
	uint64_t v;

	if (cu->ready)
		return cu->abbrevs != NULL;
	cu->ready = true;
	cu->abbrevs = abbrevs_at(cu->dw, cu->abbrev_off);
	/* What -gsplit-dwarf leaves out: the header's size is where the table of unit 0 begins. */
	cu->str_offsets_base = cu->version >= 5 ? (cu->wide ? 16 : 8) : 0;
	if (!cu->abbrevs || !die_read(cu, cu->die, &root)) {
		cu->abbrevs = NULL;
		return false;
	}
	if (die_uint(&root, A_str_offsets_base, &v))
		cu->str_offsets_base = v;
	if (die_uint(&root, A_addr_base, &v))
		cu->addr_base = v;
	if (die_uint(&root, A_rnglists_base, &v))
		cu->rnglists_base = v;
	if (die_uint(&root, A_loclists_base, &v))
		cu->loclists_base = v;
	die_addr(&root, A_low_pc, &cu->low_pc);
	cu->has_lines = die_uint(&root, A_stmt_list, &cu->stmt_list);
	cu->language = die_uint(&root, A_language, &v) ? (uint16_t)v : 0;
	cu->name = die_str(&root, A_name);
	cu->comp_dir = die_str(&root, A_comp_dir);
	return true;
}

/* The header at off.  False: damaged, nothing behind it can be read. */
static bool cu_header(struct cu *cu, struct cursor c, uint64_t off, uint64_t *next_ret)
{
	uint64_t len;
	uint8_t type = 1;

	cursor_skip(&c, off);
	len = cursor_u32(&c);
	cu->wide = len == 0xffffffff;
	if (cu->wide)
		len = cursor_u64(&c);
	if (c.bad || !len || len > cursor_left(&c))
		return false;
	cu->off = off;
	*next_ret = cu->end = (uint64_t)(c.p - cu->sec.p) + len;
	c.end = cu->sec.p + cu->end;
	cu->version = (uint8_t)cursor_u16(&c);
	if (cu->version >= 5) {
		type = cursor_u8(&c);
		cu->addr_size = cursor_u8(&c);
	}
	cu->abbrev_off = cursor_uint(&c, cu->wide ? 8 : 4);
	if (cu->version < 5)
		cu->addr_size = cursor_u8(&c);
	if (cu->version >= 5 ? type == 2 || type == 6 : cu->is_types) {
		cu->is_types = true;
		cu->signature = cursor_u64(&c);
		cu->type_off = cursor_uint(&c, cu->wide ? 8 : 4);
	} else if (type == 4 || type == 5) {
		cursor_u64(&c);		/* dwo_id */
	}
	cu->die = (uint64_t)(c.p - cu->sec.p);
	/* Unknown versions are passed over. */
	if (c.bad || cu->version < 2 || cu->version > 5 || cu->addr_size != 8)
		cu->version = 0;
	return true;
}

static void dwarf_read_units(struct dwarf *d, enum section_id id)
{
	struct span s = elf_section(d->elf, id);

	for (uint64_t off = 0, next; off < s.n; off = next) {
		struct cu cu = { .dw = d, .sec = s, .is_types = id == SEC_DEBUG_TYPES };

		if (!cu_header(&cu, cursor_at(s, 0), off, &next))
			return;
		if (!cu.version)
			continue;
		if (!grow(&d->cu, &d->cap_cu, d->n_cu + 1, sizeof(cu)))
			return;
		d->cu[d->n_cu++] = cu;
	}
}

static struct dwarf *dwarf_create(struct symbols_module *m, struct elf *e)
{
	struct dwarf *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->module = m;
	d->elf = e;
	dwarf_read_units(d, SEC_DEBUG_INFO);
	d->n_info = d->n_cu;
	dwarf_read_units(d, SEC_DEBUG_TYPES);
	return d;
}

struct dwarf *module_dwarf(struct symbols_module *m)
{
	struct elf *e = &m->elf;

	if (m->dwarf_tried)
		return m->dwarf;
	m->dwarf_tried = true;
	if (!elf_section(e, SEC_DEBUG_INFO).n)
		e = module_debug(m);
	if (e && elf_section(e, SEC_DEBUG_INFO).n && e->sec[SEC_DEBUG_INFO].type != SHT_NOBITS)
		m->dwarf = dwarf_create(m, e);
	return m->dwarf;
}

static struct dwarf *dwarf_alt(struct dwarf *d)
{
	if (!d->alt_tried && d->elf != d->module->alt) {
		struct elf *e = module_alt(d->module);

		d->alt_tried = true;
		d->alt = e ? dwarf_create(d->module, e) : NULL;
	}
	return d->alt;
}

struct cu *dwarf_cu_of(struct dwarf *d, uint64_t off)
{
	size_t lo = 0, hi = d->n_info;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->cu[mid].off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && off < d->cu[lo - 1].end ? &d->cu[lo - 1] : NULL;
}

void dwarf_free(struct dwarf *d)
{
	struct abbrevs *next;

	if (!d)
		return;
	dwarf_free(d->alt);
	for (size_t i = 0; i < d->n_cu; i++) {
		lines_free(d->cu[i].lines);
		free(d->cu[i].func);
		free(d->cu[i].scope);
		free(d->cu[i].var);
		free(d->cu[i].type);
	}
	for (struct abbrevs *t = d->abbrevs; t; t = next) {
		next = t->next;
		free(t->v);
		free(t->attr);
		free(t);
	}
	free(d->cu);
	free(d->range);
	free(d->var);
	free(d->tls);
	free(d->type);
	free(d);
}
