/*
 * compile_attr.c - an entry's attributes, from libdwarf's to the index's.
 *
 * Lists of locations are read in libdwarf's raw form: it gives where an expression stands, but not
 * how long it is, in the form that has operators decoded, and decoding a hundred thousand lists
 * takes longer than all the rest.
 */
#include "symbols/compile.h"

static bool is_block(Dwarf_Half form)
{
	return form == DW_FORM_exprloc || form == DW_FORM_block || form == DW_FORM_block1 ||
	       form == DW_FORM_block2 || form == DW_FORM_block4;
}

static bool number(struct compile *c, Dwarf_Attribute a, Dwarf_Half form, uint64_t *ret)
{
	Dwarf_Error e = NULL;
	Dwarf_Signed s;
	Dwarf_Unsigned u;
	Dwarf_Bool flag;
	int r;

	switch (form) {
	case DW_FORM_sdata: case DW_FORM_implicit_const:
		r = dwarf_formsdata(a, &s, &e);
		*ret = (uint64_t)s;
		break;
	case DW_FORM_flag: case DW_FORM_flag_present:
		r = dwarf_formflag(a, &flag, &e);
		*ret = flag;
		break;
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
		r = dwarf_formudata(a, &u, &e);
		*ret = u;
		break;
	default:
		return false;
	}
	dwarf_error_drop(c->dbg, &e);
	return r == DW_DLV_OK;
}

static bool block(struct compile *c, Dwarf_Attribute a, Dwarf_Half form, const void **p_ret,
		  uint64_t *n_ret)
{
	Dwarf_Error e = NULL;
	Dwarf_Unsigned len;
	Dwarf_Block *b;
	Dwarf_Ptr p;

	if (form == DW_FORM_exprloc && dwarf_formexprloc(a, &len, &p, &e) == DW_DLV_OK) {
		*p_ret = p;
		*n_ret = len;
		return true;
	}
	if (form != DW_FORM_exprloc && dwarf_formblock(a, &b, &e) == DW_DLV_OK) {
		*p_ret = b->bl_data;
		*n_ret = b->bl_len;
		dwarf_dealloc(c->dbg, b, DW_DLA_BLOCK);
		return true;
	}
	dwarf_error_drop(c->dbg, &e);
	return false;
}

/* ---- locations ------------------------------------------------------------------------------- */

static void location_add(struct compile *c, Dwarf_Die die, uint64_t start, uint64_t end,
			 const void *p, uint64_t n)
{
	struct ix_location l = { .start = start, .end = end };

	if (start >= end)
		return;
	l.expr = compile_expression(c, die, p, n, &l.len);
	if (l.len)
		buf_put(&c->section[IX_LOCATIONS], &l, sizeof(l));
}

/*
 * Which table of .debug_loclists holds offset off of the section, or begins with this unit's index
 * base.
 */
static bool loclists_table(struct compile *c, uint64_t off, Dwarf_Unsigned *table_ret,
			   Dwarf_Unsigned *end_ret)
{
	static Dwarf_Debug of;
	static Dwarf_Unsigned tables, last;
	Dwarf_Error e = NULL;

	if (of != c->dbg) {
		of = c->dbg;
		last = 0;
		if (dwarf_load_loclists(c->dbg, &tables, &e) != DW_DLV_OK)
			tables = 0;
		dwarf_error_drop(c->dbg, &e);
	}
	for (Dwarf_Unsigned tried = 0; tried < tables;
	     tried++, last = last + 1 < tables ? last + 1 : 0) {
		Dwarf_Unsigned header, count, array, first, end;
		Dwarf_Small offset_size, extension, address, segment;
		unsigned version;

		if (dwarf_get_loclist_context_basics(
			    c->dbg, last, &header, &offset_size, &extension, &version, &address,
			    &segment, &count, &array, &first, &end, &e) != DW_DLV_OK) {
			dwarf_error_drop(c->dbg, &e);
			continue;
		}
		if (off >= header && off < end) {
			*table_ret = last;
			*end_ret = end;
			return true;
		}
	}
	return false;
}

static void list_new(struct compile *c, Dwarf_Die die, uint64_t off)
{
	uint64_t base = c->low_pc;
	Dwarf_Unsigned table, end;

	if (!loclists_table(c, off, &table, &end))
		return;
	while (off < end) {
		Dwarf_Unsigned a = 0, b = 0, n = 0, at;
		Dwarf_Small *p = NULL;
		Dwarf_Error e = NULL;
		unsigned len, kind;
		uint64_t x, y;

		if (dwarf_get_loclist_lle(c->dbg, table, off, end, &len, &kind, &a, &b, &n, &at, &p,
					  &e) != DW_DLV_OK) {
			dwarf_error_drop(c->dbg, &e);
			return;
		}
		if (kind == DW_LLE_end_of_list || !len)
			return;
		off += len;
		switch (kind) {
		case DW_LLE_base_addressx: compile_address(c, die, a, &base); break;
		case DW_LLE_base_address: base = a; break;
		case DW_LLE_offset_pair: location_add(c, die, base + a, base + b, p, n); break;
		case DW_LLE_default_location: location_add(c, die, 0, UINT64_MAX, p, n); break;
		case DW_LLE_start_end: location_add(c, die, a, b, p, n); break;
		case DW_LLE_start_length: location_add(c, die, a, a + b, p, n); break;
		case DW_LLE_startx_endx:
			if (compile_address(c, die, a, &x) && compile_address(c, die, b, &y))
				location_add(c, die, x, y, p, n);
			break;
		case DW_LLE_startx_length:
			if (compile_address(c, die, a, &x))
				location_add(c, die, x, x + b, p, n);
			break;
		}
	}
}

static void list_old(struct compile *c, Dwarf_Die die, uint64_t off)
{
	uint64_t base = c->low_pc;

	for (;;) {
		Dwarf_Unsigned n, next;
		Dwarf_Addr low, high;
		Dwarf_Error e = NULL;
		Dwarf_Ptr p;

		/*
		 * The names of its parameters are the wrong way round: the first is what stands
		 * first.
		 */
		if (dwarf_get_loclist_entry(c->dbg, off, &high, &low, &p, &n, &next, &e) !=
		    DW_DLV_OK) {
			dwarf_error_drop(c->dbg, &e);
			return;
		}
		if (!low && !high)
			return;
		if (low == UINT64_MAX)
			base = high;
		else
			location_add(c, die, base + low, base + high, p, n);
		if (next <= off)
			return;
		off = next;
	}
}

static void list_split(struct compile *c, Dwarf_Die die, uint64_t off)
{
	struct cursor cur = cursor_at(compile_split_section(c, ".debug_loc.dwo"),
				      off + c->split->lists_at);
	uint64_t start, end;
	struct span expr;

	while (compile_split_list(c, die, &cur, &start, &end, &expr))
		location_add(c, die, start, end, expr.p, expr.n);
}

static bool location_list(struct compile *c, Dwarf_Die die, Dwarf_Attribute a, Dwarf_Half form,
			  uint64_t *ret)
{
	uint64_t first = c->section[IX_LOCATIONS].n / sizeof(struct ix_location), n;
	Dwarf_Unsigned u, off, global, table, end;
	Dwarf_Error e = NULL;
	Dwarf_Off o;

	if (form == DW_FORM_loclistx) {
		Dwarf_Attribute base;
		Dwarf_Off at = 0;

		/* The index counts from where the unit says that its table's offsets begin. */
		if (dwarf_formudata(a, &u, &e) != DW_DLV_OK)
			goto bad;
		if (c->loclists_base_of != c->unit + 1) {
			c->loclists_base_of = c->unit + 1;
			c->loclists_base = c->version >= 5 ? 12 : 0;
			if (c->split)
				c->loclists_base += c->split->lists_at;
			if (c->root &&
			    dwarf_attr(c->root, DW_AT_loclists_base, &base, &e) == DW_DLV_OK) {
				if (dwarf_global_formref(base, &at, &e) == DW_DLV_OK)
					c->loclists_base = at;
				dwarf_dealloc_attribute(base);
			}
			dwarf_error_drop(c->dbg, &e);
		}
		if (!loclists_table(c, c->loclists_base - 1, &table, &end) ||
		    dwarf_get_loclist_offset_index_value(c->dbg, table, u, &off, &global, &e) !=
			    DW_DLV_OK)
			goto bad;
		off = global;
	} else if (form == DW_FORM_sec_offset) {
		if (dwarf_global_formref(a, &o, &e) != DW_DLV_OK)
			goto bad;
		off = o;
	} else {		/* versions 2 and 3 */
		if (dwarf_formudata(a, &u, &e) != DW_DLV_OK)
			goto bad;
		off = u;
	}
	if (c->version >= 5)
		list_new(c, die, off);
	else if (c->split)
		list_split(c, die, off);
	else
		list_old(c, die, off);
	n = c->section[IX_LOCATIONS].n / sizeof(struct ix_location) - first;
	if (!n || n >= IX_LOC_LIST || first > UINT32_MAX)
		return false;
	*ret = first | (n | IX_LOC_LIST) << 32;
	return true;
bad:
	dwarf_error_drop(c->dbg, &e);
	return false;
}

static bool location(struct compile *c, Dwarf_Die die, Dwarf_Attribute a, Dwarf_Half form,
		     uint64_t *ret)
{
	const void *p;
	uint64_t n;
	uint32_t len;

	if (!is_block(form))
		return form == DW_FORM_loclistx || form == DW_FORM_sec_offset ||
		       (c->version < 4 && (form == DW_FORM_data4 || form == DW_FORM_data8)) ?
			       location_list(c, die, a, form, ret) : false;
	if (!block(c, a, form, &p, &n))
		return false;
	*ret = compile_expression(c, die, p, n, &len);
	*ret |= (uint64_t)len << 32;
	return len != 0;
}

/* ---- address ranges -------------------------------------------------------------------------- */

static void range_add(struct compile *c, uint64_t start, uint64_t end)
{
	struct ix_range r = { start, end };

	if (start < end)
		buf_put(&c->section[IX_RANGES], &r, sizeof(r));
}

static void ranges_new(struct compile *c, Dwarf_Attribute a, Dwarf_Half form)
{
	Dwarf_Unsigned u = 0, n, at;
	Dwarf_Rnglists_Head head;
	Dwarf_Error e = NULL;
	Dwarf_Off off;
	int r;

	if (form == DW_FORM_rnglistx) {
		r = dwarf_formudata(a, &u, &e);
	} else {
		r = dwarf_global_formref(a, &off, &e);
		u = off;
	}
	if (r != DW_DLV_OK ||
	    dwarf_rnglists_get_rle_head(a, form, u, &head, &n, &at, &e) != DW_DLV_OK) {
		dwarf_error_drop(c->dbg, &e);
		return;
	}
	for (Dwarf_Unsigned i = 0; i < n; i++) {
		Dwarf_Unsigned raw1, raw2, start, end;
		Dwarf_Bool unavailable;
		unsigned len, kind;

		if (dwarf_get_rnglists_entry_fields_a(head, i, &len, &kind, &raw1, &raw2,
						      &unavailable, &start, &end,
						      &e) != DW_DLV_OK) {
			dwarf_error_drop(c->dbg, &e);
			break;
		}
		if (!unavailable && kind != DW_RLE_base_address && kind != DW_RLE_base_addressx &&
		    kind != DW_RLE_end_of_list)
			range_add(c, start, end);
	}
	dwarf_dealloc_rnglists_head(head);
}

/* Which table of .debug_rnglists begins its offsets at base. */
static bool rnglists_table(struct compile *c, uint64_t base, Dwarf_Unsigned *table_ret,
			   Dwarf_Unsigned *end_ret)
{
	Dwarf_Unsigned tables, header, count, array, first;
	Dwarf_Small offset_size, extension, address, segment;
	Dwarf_Error e = NULL;
	unsigned version;

	if (dwarf_load_rnglists(c->dbg, &tables, &e) != DW_DLV_OK)
		tables = 0;
	for (Dwarf_Unsigned i = 0; i < tables; i++)
		if (dwarf_get_rnglist_context_basics(c->dbg, i, &header, &offset_size, &extension,
						     &version, &address, &segment, &count, &array,
						     &first, end_ret, &e) == DW_DLV_OK &&
		    base >= header && base <= *end_ret) {
			*table_ret = i;
			return true;
		}
	dwarf_error_drop(c->dbg, &e);
	return false;
}

/*
 * Reads the ranges of a split unit: libdwarf has no base for the unit's index, since no attribute
 * says it.
 */
static void ranges_split(struct compile *c, Dwarf_Die die, Dwarf_Attribute a)
{
	uint64_t base = c->low_pc, x, y;
	Dwarf_Unsigned u, table, end, off, global, p, q;
	Dwarf_Error e = NULL;
	unsigned len, kind = DW_RLE_end_of_list;

	if (dwarf_formudata(a, &u, &e) != DW_DLV_OK ||
	    !rnglists_table(c, c->split->ranges_at + 12, &table, &end) ||
	    dwarf_get_rnglist_offset_index_value(c->dbg, table, u, &off, &global, &e) !=
		    DW_DLV_OK) {
		dwarf_error_drop(c->dbg, &e);
		return;
	}
	while (global < end && dwarf_get_rnglist_rle(c->dbg, table, global, end, &len, &kind, &p,
						     &q, &e) == DW_DLV_OK) {
		if (kind == DW_RLE_end_of_list || !len)
			break;
		global += len;
		switch (kind) {
		case DW_RLE_base_addressx: compile_address(c, die, p, &base); break;
		case DW_RLE_base_address: base = p; break;
		case DW_RLE_offset_pair: range_add(c, base + p, base + q); break;
		case DW_RLE_start_end: range_add(c, p, q); break;
		case DW_RLE_start_length: range_add(c, p, p + q); break;
		case DW_RLE_startx_endx:
			if (compile_address(c, die, p, &x) && compile_address(c, die, q, &y))
				range_add(c, x, y);
			break;
		case DW_RLE_startx_length:
			if (compile_address(c, die, p, &x))
				range_add(c, x, x + q);
			break;
		}
	}
	dwarf_error_drop(c->dbg, &e);
}

static void ranges_old(struct compile *c, Dwarf_Die die, Dwarf_Attribute a, Dwarf_Half form)
{
	uint64_t base = c->low_pc;
	Dwarf_Ranges *r;
	Dwarf_Signed n;
	Dwarf_Off off, real;
	Dwarf_Unsigned u, bytes;
	Dwarf_Error e = NULL;
	Dwarf_Debug dbg = c->dbg;
	int got;

	if (form == DW_FORM_sec_offset) {
		got = dwarf_global_formref(a, &off, &e);
	} else {
		got = dwarf_formudata(a, &u, &e);
		off = u;
	}
	if (got == DW_DLV_OK && c->split) {	/* .debug_ranges is in the program */
		dbg = c->split->dbg;
		die = c->split->skeleton;
		off += c->split->old_ranges;
	}
	if (got != DW_DLV_OK || !die ||
	    dwarf_get_ranges_b(dbg, off, die, &real, &r, &n, &bytes, &e) != DW_DLV_OK) {
		dwarf_error_drop(dbg, &e);
		return;
	}
	for (Dwarf_Signed i = 0; i < n && r[i].dwr_type != DW_RANGES_END; i++) {
		if (r[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
			base = r[i].dwr_addr2;
		else
			range_add(c, base + r[i].dwr_addr1, base + r[i].dwr_addr2);
	}
	dwarf_ranges_dealloc(dbg, r, n);
}

/* ---- files ----------------------------------------------------------------------------------- */

static uint32_t file_string(const struct compile *c, uint64_t number)
{
	uint32_t off;

	if (number < c->u.file_base || number - c->u.file_base >= c->u.n_files)
		return 0;
	memcpy(&off, c->section[IX_FILES].p + 4 * (c->u.first_file + number - c->u.file_base), 4);
	return off;
}

/* ---- all of an entry ------------------------------------------------------------------------- */

struct reading {
	struct compile *c;
	Dwarf_Die die;
	struct entry_values *v;
	uint64_t low, high;
	bool has_low, has_high, high_is_size;
};

static void set(struct entry_values *v, enum ix_attr a, uint64_t value)
{
	v->num[a] = value;
	v->has |= 1u << a;
}

static void put_number(struct reading *r, enum ix_attr to, Dwarf_Attribute a, Dwarf_Half form)
{
	uint64_t u;

	if (number(r->c, a, form, &u))
		set(r->v, to, u);
}

static void put_string(struct reading *r, enum ix_attr to, Dwarf_Attribute a)
{
	const char *s = compile_form_string(r->c, a);

	if (!s)
		return;
	set(r->v, to, compile_string(r->c, s));
	if (to == IX_A_name)
		r->v->hash = hash_str(s, strlen(s));
}

static void put_reference(struct reading *r, enum ix_attr to, Dwarf_Attribute a, Dwarf_Half form)
{
	struct compile *c = r->c;
	Dwarf_Error e = NULL;
	Dwarf_Sig8 sig;
	Dwarf_Off off;

	r->v->space[to] = (uint8_t)compile_space(c);
	if (form == DW_FORM_ref_sig8) {
		if (dwarf_formsig8(a, &sig, &e) == DW_DLV_OK) {
			uint64_t u;

			memcpy(&u, &sig, 8);
			r->v->space[to] = SPACE_SIGNATURE;
			set(r->v, to, u);
		}
	} else if (dwarf_global_formref(a, &off, &e) == DW_DLV_OK) {
		if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 ||
		    form == DW_FORM_ref_sup8)
			r->v->space[to] = SPACE_ALT;
		else if (form == DW_FORM_ref_addr && !c->alt && !c->split)
			r->v->space[to] = SPACE_INFO;
		set(r->v, to, off);
	}
	dwarf_error_drop(c->dbg, &e);
}

static void put_location(struct reading *r, enum ix_attr to, Dwarf_Attribute a, Dwarf_Half form)
{
	uint64_t u;

	if (location(r->c, r->die, a, form, &u))
		set(r->v, to, u);
}

static void put_flag(struct reading *r, uint8_t flag, Dwarf_Attribute a, Dwarf_Half form)
{
	uint64_t u;

	if (number(r->c, a, form, &u) && u)
		r->v->flags |= flag;
}

static void put_file(struct reading *r, enum ix_attr to, Dwarf_Attribute a, Dwarf_Half form)
{
	uint64_t u;
	uint32_t s;

	if (!number(r->c, a, form, &u))
		return;
	s = file_string(r->c, u);
	if (s)
		set(r->v, to, s);
}

static bool is_indexed(Dwarf_Half form)
{
	return form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
	       (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

static bool read_address(struct reading *r, Dwarf_Attribute a, Dwarf_Half form, Dwarf_Addr *ret)
{
	struct compile *c = r->c;
	Dwarf_Error e = NULL;
	Dwarf_Unsigned index;
	uint64_t addr;
	bool ok;

	if (!c->split || !is_indexed(form)) {
		ok = dwarf_formaddr(a, ret, &e) == DW_DLV_OK;
	} else {
		ok = dwarf_get_debug_addr_index(a, &index, &e) == DW_DLV_OK &&
		     compile_address(c, r->die, index, &addr);
		*ret = ok ? addr : 0;
	}
	dwarf_error_drop(c->dbg, &e);
	return ok;
}

static void address(struct reading *r, Dwarf_Attribute a, Dwarf_Half form, bool high)
{
	Dwarf_Addr addr;
	uint64_t u;

	if (number(r->c, a, form, &u)) {
		if (high) {
			r->high = u;
			r->has_high = r->high_is_size = true;
		}
		return;
	}
	if (read_address(r, a, form, &addr)) {
		*(high ? &r->high : &r->low) = addr;
		*(high ? &r->has_high : &r->has_low) = true;
	}
}

static void put_ranges(struct reading *r, Dwarf_Attribute a, Dwarf_Half form)
{
	uint64_t first = r->c->section[IX_RANGES].n / sizeof(struct ix_range), n;

	if (r->c->split && form == DW_FORM_rnglistx)
		ranges_split(r->c, r->die, a);
	else if (r->c->version >= 5)
		ranges_new(r->c, a, form);
	else
		ranges_old(r->c, r->die, a, form);
	n = r->c->section[IX_RANGES].n / sizeof(struct ix_range) - first;
	if (n && first + n <= UINT32_MAX)
		set(r->v, IX_A_ranges, first | n << 32);
}

static void put_low_high(struct reading *r)
{
	uint64_t first = r->c->section[IX_RANGES].n / sizeof(struct ix_range);

	if (!r->has_low || !r->has_high)
		return;
	if (r->high_is_size)
		r->high += r->low;
	range_add(r->c, r->low, r->high);
	if (r->low < r->high && first < UINT32_MAX)
		set(r->v, IX_A_ranges, first | 1ull << 32);
}

static void put_member_location(struct reading *r, Dwarf_Attribute a, Dwarf_Half form)
{
	if (is_block(form))
		put_location(r, IX_A_member_expr, a, form);
	else
		put_number(r, IX_A_data_member_location, a, form);
}

/*
 * How many elements an array has, when only the running program knows: gcc's expression, clang's
 * variable.
 */
static void put_bound(struct reading *r, enum ix_attr to, Dwarf_Attribute a, Dwarf_Half form)
{
	uint64_t u;

	if (number(r->c, a, form, &u)) {
		set(r->v, to, u);
		return;
	}
	if (to == IX_A_count)
		r->v->flags |= IX_FLAG_COUNT;
	if (is_block(form) || form == DW_FORM_sec_offset || form == DW_FORM_loclistx)
		put_location(r, IX_A_bound_expr, a, form);
	else
		put_reference(r, IX_A_discr, a, form);
}

static void put_place(struct reading *r, Dwarf_Attribute a, Dwarf_Half at, Dwarf_Half form)
{
	switch (at) {
	case DW_AT_location: put_location(r, IX_A_location, a, form); break;
	case DW_AT_frame_base: put_location(r, IX_A_frame_base, a, form); break;
	case DW_AT_data_member_location: put_member_location(r, a, form); break;
	case DW_AT_low_pc: address(r, a, form, false); break;
	case DW_AT_high_pc: address(r, a, form, true); break;
	case DW_AT_ranges: put_ranges(r, a, form); break;
	}
}

static void attribute(struct reading *r, Dwarf_Attribute a, Dwarf_Half at, Dwarf_Half form)
{
	switch (at) {
	case DW_AT_name: put_string(r, IX_A_name, a); break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		put_string(r, IX_A_linkage_name, a);
		break;
	case DW_AT_type: put_reference(r, IX_A_type, a, form); break;
	case DW_AT_abstract_origin: put_reference(r, IX_A_abstract_origin, a, form); break;
	case DW_AT_specification: put_reference(r, IX_A_specification, a, form); break;
	case DW_AT_import: put_reference(r, IX_A_import, a, form); break;
	case DW_AT_discr: put_reference(r, IX_A_discr, a, form); break;
	case DW_AT_signature:
		r->v->flags |= IX_FLAG_SIGNATURE;
		put_reference(r, IX_A_signature, a, form);
		break;
	case DW_AT_byte_size: put_number(r, IX_A_byte_size, a, form); break;
	case DW_AT_const_value: put_number(r, IX_A_const_value, a, form); break;
	case DW_AT_upper_bound: put_bound(r, IX_A_upper_bound, a, form); break;
	case DW_AT_lower_bound: put_number(r, IX_A_lower_bound, a, form); break;
	case DW_AT_count: put_bound(r, IX_A_count, a, form); break;
	case DW_AT_bit_size: put_number(r, IX_A_bit_size, a, form); break;
	case DW_AT_bit_offset: put_number(r, IX_A_bit_offset, a, form); break;
	case DW_AT_data_bit_offset: put_number(r, IX_A_data_bit_offset, a, form); break;
	case DW_AT_decl_line: put_number(r, IX_A_decl_line, a, form); break;
	case DW_AT_decl_file: put_file(r, IX_A_decl_file, a, form); break;
	case DW_AT_call_line: put_number(r, IX_A_call_line, a, form); break;
	case DW_AT_call_column: put_number(r, IX_A_call_column, a, form); break;
	case DW_AT_call_file: put_file(r, IX_A_call_file, a, form); break;
	case DW_AT_virtuality: put_number(r, IX_A_virtuality, a, form); break;
	case DW_AT_encoding: put_number(r, IX_A_encoding, a, form); break;
	case DW_AT_discr_value: put_number(r, IX_A_discr_value, a, form); break;
	case DW_AT_alignment: put_number(r, IX_A_alignment, a, form); break;
	case DW_AT_declaration: put_flag(r, IX_FLAG_DECLARATION, a, form); break;
	case DW_AT_external: put_flag(r, IX_FLAG_EXTERNAL, a, form); break;
	case DW_AT_artificial: put_flag(r, IX_FLAG_ARTIFICIAL, a, form); break;
	case DW_AT_export_symbols: put_flag(r, IX_FLAG_EXPORT, a, form); break;
	default: put_place(r, a, at, form);
	}
}

/* Is the attribute read of members and enumerators, the most frequent entries? */
static bool is_needed(uint16_t tag, Dwarf_Half at)
{
	if (at == DW_AT_decl_column || at == DW_AT_sibling)
		return false;
	if (tag == DW_TAG_member || tag == DW_TAG_enumerator)
		return at != DW_AT_decl_file && at != DW_AT_decl_line;
	return true;
}

void compile_attributes(struct compile *c, Dwarf_Die die, uint16_t tag, struct entry_values *v)
{
	struct reading r = { .c = c, .die = die, .v = v };
	Dwarf_Attribute *list;
	Dwarf_Error e = NULL;
	Dwarf_Signed n;

	v->has = 0;
	v->flags = 0;
	v->hash = 0;
	v->num[IX_A_ranges] = 0;
	if (dwarf_attrlist(die, &list, &n, &e) != DW_DLV_OK) {
		dwarf_error_drop(c->dbg, &e);
		return;
	}
	for (Dwarf_Signed i = 0; i < n; i++) {
		Dwarf_Half at, form;

		if (dwarf_whatattr(list[i], &at, &e) == DW_DLV_OK && is_needed(tag, at) &&
		    dwarf_whatform(list[i], &form, &e) == DW_DLV_OK)
			attribute(&r, list[i], at, form);
		dwarf_error_drop(c->dbg, &e);
		dwarf_dealloc_attribute(list[i]);
	}
	dwarf_dealloc(c->dbg, list, DW_DLA_LIST);
	put_low_high(&r);
}
