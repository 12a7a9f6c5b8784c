/*
 * compile_frame.c - call frame information as rows of rules: libdwarf runs the instructions, equal
 * rules are kept once.
 */
#include <unistd.h>
#include <xxhash.h>

#include "symbols/cfi.h"
#include "symbols/compile.h"

/*
 * UNSAID: the answer that libdwarf is told to give for a register of which nothing was said: no
 * number that libdwarf uses itself.
 */
enum { UNSAID = 1500, TABLE = 140, MAX_ROWS = 1 << 14 };

struct rules_slot {
	uint64_t hash;
	uint32_t index;		/* + 1 */
};
struct frames {
	struct compile *c;
	Dwarf_Debug dbg;
	struct rules_slot *slot;
	size_t n, cap;
	struct Dwarf_Regtable_Entry3_s entry[TABLE];
};

static void slots_grow(struct frames *f)
{
	size_t cap = f->cap ? f->cap * 2 : 1 << 10;
	struct rules_slot *slot = calloc(cap, sizeof(*slot));

	if (!slot)
		_exit(1);
	for (size_t i = 0; i < f->cap; i++) {
		size_t at = f->slot[i].hash & (cap - 1);

		if (!f->slot[i].index)
			continue;
		while (slot[at].index)
			at = (at + 1) & (cap - 1);
		slot[at] = f->slot[i];
	}
	free(f->slot);
	f->slot = slot;
	f->cap = cap;
}

static uint32_t rules_keep(struct frames *f, const struct ix_rules *r)
{
	struct buf *b = &f->c->section[IX_RULES];
	uint64_t hash = XXH3_64bits(r, sizeof(*r));
	size_t at;

	if (f->n * 2 >= f->cap)
		slots_grow(f);
	for (at = hash & (f->cap - 1); f->slot[at].index; at = (at + 1) & (f->cap - 1))
		if (f->slot[at].hash == hash &&
		    !memcmp((struct ix_rules *)b->p + f->slot[at].index - 1, r, sizeof(*r)))
			return f->slot[at].index - 1;
	f->slot[at] = (struct rules_slot){ hash, (uint32_t)(b->n / sizeof(*r)) + 1 };
	f->n++;
	buf_put(b, r, sizeof(*r));
	return f->slot[at].index - 1;
}

/* offset << 32 | length; 0: there is none */
static int64_t expression(struct frames *f, const struct Dwarf_Regtable_Entry3_s *e)
{
	uint32_t len, off = compile_expression(f->c, NULL, e->dw_block_ptr,
					       e->dw_offset_or_block_len, &len);

	return (int64_t)((uint64_t)off << 32 | len);
}

static void rule(struct frames *f, const struct Dwarf_Regtable_Entry3_s *e, uint8_t *kind,
		 int64_t *value)
{
	if (e->dw_value_type == DW_EXPR_EXPRESSION || e->dw_value_type == DW_EXPR_VAL_EXPRESSION) {
		*kind = e->dw_value_type == DW_EXPR_EXPRESSION ? RULE_EXPR : RULE_VAL_EXPR;
		*value = expression(f, e);
	} else if (e->dw_regnum == UNSAID) {
		*kind = RULE_NONE;
	} else if (e->dw_regnum == DW_FRAME_UNDEFINED_VAL) {
		*kind = RULE_UNDEFINED;
	} else if (e->dw_regnum == DW_FRAME_SAME_VAL) {
		*kind = RULE_SAME;
	} else if (e->dw_offset_relevant) {
		*kind = e->dw_value_type == DW_EXPR_OFFSET ? RULE_OFFSET : RULE_VAL_OFFSET;
		*value = (int64_t)e->dw_offset_or_block_len;
	} else {
		*kind = RULE_REG;
		*value = e->dw_regnum;
	}
}

static void rules_make(struct frames *f, const Dwarf_Regtable3 *t, unsigned ra, bool signal,
		       struct ix_rules *ret)
{
	const struct Dwarf_Regtable_Entry3_s *cfa = &t->rt3_cfa_rule;

	*ret = (struct ix_rules){ .cfa_reg = SYMBOLS_REGS, .ra = (uint8_t)ra, .signal = signal };
	if (cfa->dw_value_type == DW_EXPR_EXPRESSION ||
	    cfa->dw_value_type == DW_EXPR_VAL_EXPRESSION) {
		ret->cfa_is_expr = 1;
		ret->cfa = (uint64_t)expression(f, cfa);
	} else if (cfa->dw_regnum < SYMBOLS_REGS) {
		ret->cfa_reg = (uint8_t)cfa->dw_regnum;
		ret->cfa = cfa->dw_offset_or_block_len;
	}
	for (unsigned i = 0; i < SYMBOLS_REGS; i++)
		rule(f, &t->rt3_rules[i], &ret->kind[i], &ret->value[i]);
}

/* All rows of one entry. */
static void fde_rows(struct frames *f, Dwarf_Fde fde, uint64_t start, uint64_t end, unsigned ra,
		     bool signal)
{
	struct buf *rows = &f->c->section[IX_ROWS];
	struct ix_fde out = { start, end, (uint32_t)(rows->n / sizeof(struct ix_row)), 0 };

	for (uint64_t pc = start; pc < end && out.n < MAX_ROWS;) {
		Dwarf_Regtable3 t = { .rt3_reg_table_size = TABLE, .rt3_rules = f->entry };
		Dwarf_Addr row_pc, next = 0;
		Dwarf_Signed relevant, reg, off;
		struct ix_rules r;
		struct ix_row row;
		Dwarf_Error e = NULL;
		Dwarf_Bool more = false;
		Dwarf_Small type;
		Dwarf_Ptr p;

		if (dwarf_get_fde_info_for_all_regs3(fde, pc, &t, &row_pc, &e) != DW_DLV_OK ||
		    dwarf_get_fde_info_for_cfa_reg3_b(fde, pc, &type, &relevant, &reg, &off, &p,
						      &row_pc, &more, &next, &e) != DW_DLV_OK) {
			dwarf_error_drop(f->dbg, &e);
			return;
		}
		rules_make(f, &t, ra, signal, &r);
		row = (struct ix_row){ pc, rules_keep(f, &r), 0 };
		buf_put(rows, &row, sizeof(row));
		out.n++;
		if (!more || next <= pc)
			break;
		pc = next;
	}
	if (out.n)
		buf_put(&f->c->section[IX_FDES], &out, sizeof(out));
}

static void fdes(struct frames *f, Dwarf_Fde *fde, Dwarf_Signed n)
{
	for (Dwarf_Signed i = 0; i < n; i++) {
		Dwarf_Unsigned len, bytes, align;
		Dwarf_Signed index, data;
		Dwarf_Off cie_off, off;
		Dwarf_Error e = NULL;
		Dwarf_Addr start;
		Dwarf_Small version;
		Dwarf_Half ra = 0, size;
		char *augmentation;
		Dwarf_Cie cie;
		Dwarf_Ptr p;

		if (dwarf_get_fde_range(fde[i], &start, &len, &p, &bytes, &cie_off, &index, &off,
					&e) == DW_DLV_OK &&
		    dwarf_get_cie_of_fde(fde[i], &cie, &e) == DW_DLV_OK &&
		    dwarf_get_cie_info_b(cie, &bytes, &version, &augmentation, &align, &data, &ra,
					 &p, &bytes, &size, &e) == DW_DLV_OK &&
		    start && len && start + len > start && ra < SYMBOLS_REGS)
			fde_rows(f, fde[i], start, start + len, ra,
				 strchr(augmentation, 'S') != NULL);
		dwarf_error_drop(f->dbg, &e);
	}
}

static int fde_compare(const void *a, const void *b)
{
	const struct ix_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void section(struct frames *f, Dwarf_Debug dbg, bool eh)
{
	struct buf *b = &f->c->section[IX_FDES];
	size_t first = b->n / sizeof(struct ix_fde), n;
	Dwarf_Signed n_cie, n_fde;
	Dwarf_Error e = NULL;
	Dwarf_Cie *cie;
	Dwarf_Fde *fde;

	if (!dbg)
		return;
	f->dbg = dbg;
	dwarf_set_frame_rule_initial_value(dbg, UNSAID);
	dwarf_set_frame_rule_table_size(dbg, TABLE);
	dwarf_set_frame_cfa_value(dbg, DW_FRAME_CFA_COL3);
	dwarf_set_frame_same_value(dbg, DW_FRAME_SAME_VAL);
	dwarf_set_frame_undefined_value(dbg, DW_FRAME_UNDEFINED_VAL);
	if ((eh ? dwarf_get_fde_list_eh(dbg, &cie, &n_cie, &fde, &n_fde, &e) :
		  dwarf_get_fde_list(dbg, &cie, &n_cie, &fde, &n_fde, &e)) == DW_DLV_OK)
		fdes(f, fde, n_fde);
	dwarf_error_drop(dbg, &e);
	n = b->n / sizeof(struct ix_fde) - first;
	if (n)
		qsort((struct ix_fde *)b->p + first, n, sizeof(struct ix_fde), fde_compare);
}

void compile_frames(struct compile *c, Dwarf_Debug eh, Dwarf_Debug debug)
{
	static struct frames f;

	f.c = c;
	section(&f, eh, true);
	c->n_eh = c->section[IX_FDES].n / sizeof(struct ix_fde);
	section(&f, debug, false);
}
