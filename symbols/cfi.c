/*
 * cfi.c - .eh_frame and .debug_frame.
 *
 * An entry (FDE) is found by the table in .eh_frame_hdr when that is what linkers write (version 1, 32-bit offsets from itself),
 * else by an index made of all entries.  .debug_frame, also of a separate debug file, is asked when .eh_frame knows
 * nothing of an address (C without unwind tables).
 */
#include "symbols/cfi.h"

struct fde_ref {
	uint64_t start, end, off;
};
struct cfi_index {
	bool ready;
	struct fde_ref *v;
	size_t n, cap;
};
struct cfi {
	struct cfi_index eh, debug;
};

struct frames {			/* a section of entries */
	struct span s;
	uint64_t addr;
	bool eh;
};

struct cie {
	struct span code;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t fde_enc;
	bool signal, augmented, bad;
	uint8_t addr_size;
};
struct fde {
	struct cie cie;
	struct span code;
	uint64_t start, end;
};

enum { PE_omit = 0xff, PE_indirect = 0x80, PE_pcrel = 0x10, PE_datarel = 0x30 };

static uint64_t read_encoded(struct cursor *c, const struct frames *f, uint8_t enc, uint64_t data_base)
{
	uint64_t at = f->addr + (uint64_t)(c->p - f->s.p), v;

	if (enc == PE_omit)
		return 0;
	switch (enc & 0x0f) {
	case 0x00: case 0x04: case 0x0c: v = cursor_u64(c); break;
	case 0x01: v = cursor_uleb(c); break;
	case 0x02: v = cursor_u16(c); break;
	case 0x03: v = cursor_u32(c); break;
	case 0x09: v = (uint64_t)cursor_sleb(c); break;
	case 0x0a: v = (uint64_t)(int64_t)(int16_t)cursor_u16(c); break;
	case 0x0b: v = (uint64_t)(int64_t)(int32_t)cursor_u32(c); break;
	default: cursor_fail(c); return 0;
	}
	if ((enc & 0x70) == PE_pcrel && v)
		v += at;
	else if ((enc & 0x70) == PE_datarel)
		v += data_base;
	return v;
}

/* The head of the entry at off: a cursor over its body, the offset and value of its CIE field. */
static struct cursor entry_open(const struct frames *f, uint64_t off, uint64_t *next_ret, uint64_t *id_at_ret, uint64_t *id_ret)
{
	struct cursor c = cursor_at(f->s, off);
	uint64_t len = cursor_u32(&c);
	bool wide = len == 0xffffffff;
	struct cursor body;

	if (wide)
		len = cursor_u64(&c);
	if (c.bad || !len || len > cursor_left(&c)) {
		*next_ret = f->s.n;
		cursor_fail(&c);
		return c;
	}
	*next_ret = (uint64_t)(c.p - f->s.p) + len;
	body = (struct cursor){ c.p, c.p + len, false };
	*id_at_ret = (uint64_t)(body.p - f->s.p);
	*id_ret = wide ? cursor_u64(&body) : cursor_u32(&body);
	if (!f->eh && !wide && *id_ret == 0xffffffff)
		*id_ret = UINT64_MAX;
	return body;
}

static bool id_is_cie(const struct frames *f, uint64_t id)
{
	return f->eh ? id == 0 : id == UINT64_MAX;
}

static void cie_augmentation(const struct frames *f, struct cie *cie, struct cursor *c, const char *aug)
{
	uint64_t len;
	struct cursor data;

	if (aug[0] != 'z') {
		if (aug[0] && strcmp(aug, "eh"))
			cie->bad = true;
		return;
	}
	cie->augmented = true;
	len = cursor_uleb(c);
	data = (struct cursor){ c->p, c->p + (len <= cursor_left(c) ? len : 0), false };
	cursor_skip(c, len);
	for (aug++; *aug && !data.bad; aug++) {
		if (*aug == 'R')
			cie->fde_enc = cursor_u8(&data);
		else if (*aug == 'P')
			read_encoded(&data, f, cursor_u8(&data) & 0x7f, 0);
		else if (*aug == 'L')
			cursor_u8(&data);
		else if (*aug == 'S')
			cie->signal = true;
		else if (*aug != 'B')
			break;
	}
}

static bool cie_parse(const struct frames *f, uint64_t off, struct cie *ret)
{
	uint64_t next, id_at, id;
	struct cursor c = entry_open(f, off, &next, &id_at, &id);
	const char *aug;
	uint8_t version;

	*ret = (struct cie){ .addr_size = 8 };
	if (c.bad || !id_is_cie(f, id))
		return false;
	version = cursor_u8(&c);
	aug = cursor_str(&c);
	if (version >= 4) {
		ret->addr_size = cursor_u8(&c);
		cursor_u8(&c);		/* segment selector */
	}
	if (!strcmp(aug, "eh"))
		cursor_u64(&c);
	ret->code_align = cursor_uleb(&c);
	ret->data_align = cursor_sleb(&c);
	ret->ra = version == 1 ? cursor_u8(&c) : cursor_uleb(&c);
	cie_augmentation(f, ret, &c, aug);
	ret->code = cursor_span(&c, cursor_left(&c));
	return !c.bad && !ret->bad && ret->ra < SYMBOLS_REGS && ret->addr_size == 8;
}

static bool fde_parse(const struct frames *f, uint64_t off, struct fde *ret, uint64_t *next_ret)
{
	uint64_t id_at, id, len;
	struct cursor c = entry_open(f, off, next_ret, &id_at, &id);

	if (c.bad || id_is_cie(f, id))
		return false;
	if (f->eh ? id > id_at : id >= f->s.n)
		return false;
	if (!cie_parse(f, f->eh ? id_at - id : id, &ret->cie))
		return false;
	ret->start = read_encoded(&c, f, ret->cie.fde_enc, 0);
	ret->end = ret->start + read_encoded(&c, f, ret->cie.fde_enc & 0x0f, 0);
	if (ret->cie.augmented) {
		len = cursor_uleb(&c);
		cursor_skip(&c, len);
	}
	ret->code = cursor_span(&c, cursor_left(&c));
	return !c.bad && ret->start < ret->end;
}

/* ---- finding the entry --------------------------------------------------------------------------- */

static int fde_compare(const void *a, const void *b)
{
	const struct fde_ref *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void index_make(struct cfi_index *ix, const struct frames *f)
{
	ix->ready = true;
	for (uint64_t off = 0, next; off + 8 <= f->s.n; off = next) {
		struct fde fde;

		if (fde_parse(f, off, &fde, &next) && fde.start) {
			if (!grow(&ix->v, &ix->cap, ix->n + 1, sizeof(*ix->v)))
				break;
			ix->v[ix->n++] = (struct fde_ref){ fde.start, fde.end, off };
		}
		if (next <= off)
			break;
	}
	if (ix->n)
		qsort(ix->v, ix->n, sizeof(*ix->v), fde_compare);
}

static bool index_find(struct cfi_index *ix, const struct frames *f, uint64_t vaddr, struct fde *ret)
{
	size_t lo = 0, hi;
	uint64_t next;

	if (!ix->ready)
		index_make(ix, f);
	for (hi = ix->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (ix->v[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr < ix->v[lo - 1].end && fde_parse(f, ix->v[lo - 1].off, ret, &next);
}

/* 1: found; 0: not covered; -1: there is no table that can be used. */
static int hdr_find(struct symbols_module *m, const struct frames *f, uint64_t vaddr, struct fde *ret)
{
	struct span s = elf_section(&m->elf, SEC_EH_FRAME_HDR);
	uint64_t base = m->elf.sec[SEC_EH_FRAME_HDR].addr, next;
	struct frames hdr = { s, base, true };
	struct cursor c = cursor_at(s, 4);
	uint64_t n, lo = 0, hi;
	int32_t entry[2];

	if (s.n < 12 || s.p[0] != 1 || s.p[3] != 0x3b || s.p[2] == PE_omit)
		return -1;
	read_encoded(&c, &hdr, s.p[1], base);
	n = read_encoded(&c, &hdr, s.p[2], base);
	if (c.bad || !n || n > cursor_left(&c) / 8)
		return -1;
	for (hi = n; lo < hi;) {
		uint64_t mid = lo + (hi - lo) / 2;

		memcpy(entry, c.p + mid * 8, 4);
		if (base + (uint64_t)(int64_t)entry[0] <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	memcpy(entry, c.p + (lo - 1) * 8, 8);
	if (!fde_parse(f, base + (uint64_t)(int64_t)entry[1] - f->addr, ret, &next))
		return -1;
	return vaddr >= ret->start && vaddr < ret->end;
}

/* .eh_frame; a file without section headers has it at the address .eh_frame_hdr tells. */
static struct frames eh_frames(struct symbols_module *m)
{
	struct frames f = { elf_section(&m->elf, SEC_EH_FRAME), m->elf.sec[SEC_EH_FRAME].addr, true };
	struct span hdr = elf_section(&m->elf, SEC_EH_FRAME_HDR);
	uint64_t base = m->elf.sec[SEC_EH_FRAME_HDR].addr;
	struct frames h = { hdr, base, true };
	struct cursor c = cursor_at(hdr, 4);

	if (!f.s.n && hdr.n >= 8) {
		f.addr = read_encoded(&c, &h, hdr.p[1], base);
		f.s = elf_bytes(&m->elf, f.addr);
	}
	return f;
}

static struct frames debug_frames(struct symbols_module *m)
{
	struct frames f = { elf_section(&m->elf, SEC_DEBUG_FRAME), 0, false };

	if (!f.s.n && module_debug(m))
		f.s = elf_section(m->debug, SEC_DEBUG_FRAME);
	if (!f.s.n && module_mini(m))
		f.s = elf_section(m->mini, SEC_DEBUG_FRAME);
	return f;
}

static bool fde_find(struct symbols_module *m, uint64_t vaddr, struct fde *ret)
{
	struct frames f = eh_frames(m);
	int hit;

	if (!m->cfi)
		m->cfi = calloc(1, sizeof(*m->cfi));
	if (!m->cfi)
		return false;
	if (f.s.n) {
		hit = hdr_find(m, &f, vaddr, ret);
		if (hit > 0 || (hit < 0 && index_find(&m->cfi->eh, &f, vaddr, ret)))
			return true;
	}
	f = debug_frames(m);
	return f.s.n && index_find(&m->cfi->debug, &f, vaddr, ret);
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	free(c->eh.v);
	free(c->debug.v);
	free(c);
}

/* ---- running an entry's instructions ----------------------------------------------------------------- */

enum { STATES = 16 };

struct program {
	const struct cie *cie;
	struct cfi_row *row;
	const struct cfi_row *initial;
	struct cfi_row *states;	/* STATES of them */
	unsigned n_states;
	uint64_t loc;
	bool bad;
};

static void set_rule(struct program *p, uint64_t reg, enum cfi_rule_kind kind, int64_t value)
{
	if (reg < SYMBOLS_REGS)		/* vector registers: nobody asks */
		p->row->rule[reg] = (struct cfi_rule){ .kind = (uint8_t)kind, .value = value };
}

static void set_expr(struct program *p, struct cursor *c, enum cfi_rule_kind kind)
{
	uint64_t reg = cursor_uleb(c), len = cursor_uleb(c);
	struct span expr = cursor_span(c, len);

	if (reg < SYMBOLS_REGS)
		p->row->rule[reg] = (struct cfi_rule){ .kind = (uint8_t)kind, .expr = expr };
}

static void set_cfa(struct program *p, uint64_t reg, int64_t off)
{
	p->row->cfa_reg = reg;
	p->row->cfa_off = off;
	p->row->cfa_expr.n = 0;
}

static void restore(struct program *p, uint64_t reg)
{
	if (reg < SYMBOLS_REGS)
		p->row->rule[reg] = p->initial ? p->initial->rule[reg] : (struct cfi_rule){ 0 };
}

static void state_instruction(struct program *p, unsigned op)
{
	if (op == 0x0a) {
		p->bad |= p->n_states == STATES;
		if (!p->bad)
			p->states[p->n_states++] = *p->row;
	} else {
		p->bad |= !p->n_states;
		if (!p->bad)
			*p->row = p->states[--p->n_states];
	}
}

static void cfa_instruction(struct program *p, struct cursor *c, unsigned op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: reg = cursor_uleb(c); set_cfa(p, reg, (int64_t)cursor_uleb(c)); break;
	case 0x0d: set_cfa(p, cursor_uleb(c), p->row->cfa_off); break;
	case 0x0e: set_cfa(p, p->row->cfa_reg, (int64_t)cursor_uleb(c)); break;
	case 0x0f: p->row->cfa_expr = cursor_span(c, cursor_uleb(c)); break;
	case 0x12: reg = cursor_uleb(c); set_cfa(p, reg, (int64_t)((uint64_t)cursor_sleb(c) * (uint64_t)p->cie->data_align)); break;
	case 0x13: set_cfa(p, p->row->cfa_reg, (int64_t)((uint64_t)cursor_sleb(c) * (uint64_t)p->cie->data_align)); break;
	}
}

static int64_t factored(const struct program *p, uint64_t n)
{
	return (int64_t)(n * (uint64_t)p->cie->data_align);
}

static void instruction(struct program *p, struct cursor *c, unsigned op)
{
	uint64_t reg;

	switch (op) {
	case 0x00: break;					/* nop */
	case 0x01: p->loc = cursor_u64(c); break;		/* set_loc: absolute, only old .debug_frame has it */
	case 0x02: p->loc += cursor_u8(c) * p->cie->code_align; break;
	case 0x03: p->loc += cursor_u16(c) * p->cie->code_align; break;
	case 0x04: p->loc += cursor_u32(c) * p->cie->code_align; break;
	case 0x05: reg = cursor_uleb(c); set_rule(p, reg, RULE_OFFSET, factored(p, cursor_uleb(c))); break;
	case 0x06: restore(p, cursor_uleb(c)); break;
	case 0x07: set_rule(p, cursor_uleb(c), RULE_UNDEFINED, 0); break;
	case 0x08: set_rule(p, cursor_uleb(c), RULE_SAME, 0); break;
	case 0x09: reg = cursor_uleb(c); set_rule(p, reg, RULE_REG, (int64_t)cursor_uleb(c)); break;
	case 0x0a: case 0x0b: state_instruction(p, op); break;
	case 0x0c: case 0x0d: case 0x0e: case 0x0f: case 0x12: case 0x13: cfa_instruction(p, c, op); break;
	case 0x10: set_expr(p, c, RULE_EXPR); break;
	case 0x11: reg = cursor_uleb(c); set_rule(p, reg, RULE_OFFSET, factored(p, (uint64_t)cursor_sleb(c))); break;
	case 0x14: reg = cursor_uleb(c); set_rule(p, reg, RULE_VAL_OFFSET, factored(p, cursor_uleb(c))); break;
	case 0x15: reg = cursor_uleb(c); set_rule(p, reg, RULE_VAL_OFFSET, factored(p, (uint64_t)cursor_sleb(c))); break;
	case 0x16: set_expr(p, c, RULE_VAL_EXPR); break;
	case 0x2d: break;					/* GNU_window_save */
	case 0x2e: cursor_uleb(c); break;			/* GNU_args_size */
	case 0x2f: reg = cursor_uleb(c); set_rule(p, reg, RULE_OFFSET, factored(p, -cursor_uleb(c))); break;
	default: p->bad = true;
	}
}

/* Until the location passes vaddr. */
static bool run(struct program *p, struct span code, uint64_t vaddr)
{
	for (struct cursor c = cursor_at(code, 0); cursor_left(&c) && !p->bad && p->loc <= vaddr;) {
		unsigned op = cursor_u8(&c);
		uint64_t low = op & 0x3f;

		if (op >> 6 == 1)
			p->loc += low * p->cie->code_align;
		else if (op >> 6 == 2)
			set_rule(p, low, RULE_OFFSET, factored(p, cursor_uleb(&c)));
		else if (op >> 6 == 3)
			restore(p, low);
		else
			instruction(p, &c, op);
		p->bad |= c.bad;
	}
	return !p->bad;
}

bool cfi_row_at(struct symbols_module *m, uint64_t vaddr, struct cfi_row *ret)
{
	struct cfi_row initial, states[STATES];
	struct program p = { .row = ret, .states = states };
	struct fde fde;

	if (!fde_find(m, vaddr, &fde))
		return false;
	*ret = (struct cfi_row){ .cfa_reg = SYMBOLS_REGS, .ra = (uint8_t)fde.cie.ra, .signal = fde.cie.signal };
	p.cie = &fde.cie;
	if (!run(&p, fde.cie.code, UINT64_MAX))
		return false;
	initial = *ret;
	p.initial = &initial;
	p.n_states = 0;
	p.loc = fde.start;
	if (!run(&p, fde.code, vaddr))
		return false;
	return ret->cfa_expr.n || ret->cfa_reg < SYMBOLS_REGS;
}
