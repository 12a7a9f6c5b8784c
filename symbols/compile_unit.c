/*
 * compile_unit.c - units and their entries, in one walk: the entries themselves, and what is looked
 * up by address or name.
 */
#include <unistd.h>

#include "symbols/compile.h"
#include "symbols/expr.h"

enum { MAX_DEPTH = 200 };

static bool is_cut(uint16_t tag)	/* and all that is in it: nobody asks */
{
	return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site || tag == DW_TAG_label ||
	       tag == DW_TAG_call_site_parameter || tag == DW_TAG_GNU_call_site_parameter;
}

static bool is_scope(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_interface_type;
}

static bool is_named_type(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type ||
	       tag == DW_TAG_typedef || tag == DW_TAG_base_type || tag == DW_TAG_interface_type;
}

const uint8_t ix_shape_of[IX_A_N] = {
#define X(name, shape) [IX_A_##name] = IX_##shape,
	IX_ATTRS(X)
#undef X
};

/* ---- one entry ------------------------------------------------------------------------------- */

static void value_write(struct compile *c, const struct entry_values *v, unsigned a,
			enum ix_shape shape)
{
	struct buf *b = &c->section[IX_ENTRIES];

	switch (shape) {
	case IX_NUM:
		buf_uleb(b, v->num[a]);
		break;
	case IX_STR:
		buf_u32(b, (uint32_t)v->num[a]);
		break;
	case IX_PAIR: case IX_LOC:
		buf_put(b, &v->num[a], 8);
		break;
	case IX_REF:
		if (a != IX_A_sibling &&
		    grow(&c->fixup, &c->cap_fixup, c->n_fixup + 1, sizeof(*c->fixup)))
			c->fixup[c->n_fixup++] =
				(struct fixup){ v->num[a], (uint32_t)b->n, v->space[a] };
		buf_u32(b, 0);
		break;
	}
}

/* Returns where it stands; *sibling_ret is where its sibling has to be written. */
static uint32_t entry_write(struct compile *c, struct entry_values *v, bool children,
			    uint32_t *sibling_ret)
{
	struct buf *b = &c->section[IX_ENTRIES];
	uint32_t at = (uint32_t)b->n;
	uint8_t two[2] = { children, v->flags };

	if (b->n > UINT32_MAX - 4096)
		_exit(1);
	if (children)
		v->has |= 1u << IX_A_sibling;
	buf_put(b, &v->tag, 2);
	buf_put(b, two, 2);
	buf_u32(b, v->has);
	*sibling_ret = (uint32_t)b->n;
	for (unsigned a = 0; a < IX_A_N; a++)
		if (v->has >> a & 1)
			value_write(c, v, a, ix_shape_of[a]);
	return at;
}

/* ---- what is looked up ----------------------------------------------------------------------- */

static void note_function(struct compile *c, const struct entry_values *v, uint32_t entry)
{
	const struct ix_range *r = (void *)c->section[IX_RANGES].p;
	uint32_t first = (uint32_t)v->num[IX_A_ranges], n = (uint32_t)(v->num[IX_A_ranges] >> 32);

	if (!(v->has >> IX_A_ranges & 1))
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct ix_function f = { r[first + i].start, r[first + i].end, entry, c->unit };

		/* Functions that the linker dropped stand at 0 or -1. */
		if (object_executable(c->main, f.start))
			buf_put(&c->section[IX_FUNCTIONS], &f, sizeof(f));
	}
}

static void note_variable(struct compile *c, const struct entry_values *v, uint32_t entry)
{
	uint32_t off = (uint32_t)v->num[IX_A_location],
		 len = (uint32_t)(v->num[IX_A_location] >> 32);
	struct expr_env env = { 0 };
	struct ix_variable var = { 0, entry, c->unit };
	struct location l;
	struct span expr;

	if (!(v->has >> IX_A_location & 1) || len & IX_LOC_LIST || !len)
		return;
	expr = (struct span){ c->section[IX_EXPRESSIONS].p + off, len };
	/* addr, const8u, const4u (thread-local): not a place relative to registers */
	if (expr.p[0] != DW_OP_addr && expr.p[0] != DW_OP_const8u && expr.p[0] != DW_OP_const4u)
		return;
	if (!expr_eval(expr, &env, NULL, &l) || (l.kind != LOC_MEMORY && l.kind != LOC_TLS))
		return;
	if (l.kind == LOC_MEMORY && !object_mapped(c->main, l.value))
		return;
	var.addr = l.value;
	buf_put(&c->section[l.kind == LOC_TLS ? IX_TLS : IX_VARIABLES], &var, sizeof(var));
}

static void note_entry(struct compile *c, const struct entry_values *v, uint32_t entry)
{
	if (v->tag == DW_TAG_subprogram) {
		note_function(c, v, entry);
	} else if (v->tag == DW_TAG_variable) {
		note_variable(c, v, entry);
	} else if (is_named_type(v->tag) && v->has >> IX_A_name & 1) {
		struct ix_type t = { v->hash, v->flags & IX_FLAG_DECLARATION, entry, c->unit };

		buf_put(&c->section[IX_TYPES], &t, sizeof(t));
	}
}

int compile_space(const struct compile *c)
{
	return c->split ? SPACE_SPLIT : c->alt ? SPACE_ALT : c->is_info ? SPACE_INFO : SPACE_TYPES;
}

static void note_offset(struct compile *c, Dwarf_Die die, uint32_t entry)
{
	struct offset_map *m = &c->map[compile_space(c)];
	Dwarf_Error e = NULL;
	Dwarf_Off off;

	if (dwarf_dieoffset(die, &off, &e) != DW_DLV_OK) {
		dwarf_error_drop(c->dbg, &e);
		return;
	}
	if (grow(&m->v, &m->cap, m->n + 1, sizeof(*m->v)))
		m->v[m->n++] = (struct offset_pair){ off, entry };
}

/* ---- walking --------------------------------------------------------------------------------- */

static void siblings(struct compile *c, Dwarf_Die first);

static int32_t scope_open(struct compile *c, const struct entry_values *v, uint32_t entry)
{
	struct ix_scope s = { entry, UINT32_MAX, c->scope, (uint32_t)v->num[IX_A_name], v->tag };

	if (!(v->has >> IX_A_name & 1))
		s.name = 0;
	buf_put(&c->section[IX_SCOPES], &s, sizeof(s));
	return (int32_t)(c->section[IX_SCOPES].n / sizeof(s) - 1 - c->u.first_scope);
}

static void children_of(struct compile *c, const struct entry_values *v, Dwarf_Die child,
			uint32_t entry, uint32_t sibling_at)
{
	static const uint16_t end;
	int32_t outer = c->scope;
	uint32_t after;

	if (is_scope(v->tag))
		c->scope = scope_open(c, v, entry);
	siblings(c, child);
	buf_put(&c->section[IX_ENTRIES], &end, 2);
	after = (uint32_t)c->section[IX_ENTRIES].n;
	memcpy(c->section[IX_ENTRIES].p + sibling_at, &after, 4);
	if (c->scope != outer) {
		struct ix_scope *s = (void *)c->section[IX_SCOPES].p;

		s[c->u.first_scope + (uint32_t)c->scope].end = after;
		c->scope = outer;
	}
}

static void entry(struct compile *c, Dwarf_Die die, uint16_t tag)
{
	struct entry_values v;
	Dwarf_Error e = NULL;
	Dwarf_Die child;
	uint32_t at, sibling_at;
	bool children;

	v.tag = tag;
	compile_attributes(c, die, tag, &v);
	children = c->depth < MAX_DEPTH && dwarf_child(die, &child, &e) == DW_DLV_OK;
	dwarf_error_drop(c->dbg, &e);
	at = entry_write(c, &v, children, &sibling_at);
	note_offset(c, die, at);
	note_entry(c, &v, at);
	if (children) {
		c->depth++;
		children_of(c, &v, child, at, sibling_at);
		c->depth--;
	}
}

/* Takes over first. */
static void siblings(struct compile *c, Dwarf_Die first)
{
	for (Dwarf_Die die = first, next; die; die = next) {
		Dwarf_Error e = NULL;
		Dwarf_Half tag;

		if (dwarf_tag(die, &tag, &e) == DW_DLV_OK && tag && !is_cut(tag))
			entry(c, die, tag);
		dwarf_error_drop(c->dbg, &e);
		if (dwarf_siblingof_b(c->dbg, die, c->is_info, &next, &e) != DW_DLV_OK)
			next = NULL;
		dwarf_error_drop(c->dbg, &e);
		dwarf_dealloc_die(die);
	}
}

static void note_unit_ranges(struct compile *c, const struct entry_values *v, size_t first_function)
{
	const struct ix_range *r = (void *)c->section[IX_RANGES].p;
	uint32_t first = (uint32_t)v->num[IX_A_ranges], n = (uint32_t)(v->num[IX_A_ranges] >> 32);
	bool any = v->has >> IX_A_ranges & 1;

	for (uint32_t i = 0; any && i < n; i++) {
		struct ix_unit_range u = { r[first + i].start, r[first + i].end, c->unit, 0 };

		if (object_executable(c->main, u.start))
			buf_put(&c->section[IX_UNIT_RANGES], &u, sizeof(u));
	}
	if (any || v->tag == DW_TAG_partial_unit)
		return;
	/* A unit that does not say (assemblers, old tools): by its functions. */
	for (size_t i = first_function; i < c->section[IX_FUNCTIONS].n / sizeof(struct ix_function);
	     i++) {
		const struct ix_function *f = (struct ix_function *)c->section[IX_FUNCTIONS].p + i;
		struct ix_unit_range u = { f->start, f->end, c->unit, 0 };

		buf_put(&c->section[IX_UNIT_RANGES], &u, sizeof(u));
	}
}

/* libdwarf gives words of its own for strings in a file, or by a table, that is not there. */
static bool is_stand_in(const char *s)
{
	return !strncmp(s, "<DW_FORM_", 9) || !strncmp(s, "<.debug_str_offsets ", 20);
}

const char *compile_form_string(struct compile *c, Dwarf_Attribute a)
{
	Dwarf_Error e = NULL;
	char *s = NULL;

	if (dwarf_formstring(a, &s, &e) != DW_DLV_OK || !s || is_stand_in(s))
		s = NULL;
	dwarf_error_drop(c->dbg, &e);
	return s;
}

const char *compile_die_string(struct compile *c, Dwarf_Die die, Dwarf_Half attr)
{
	Dwarf_Attribute a;
	Dwarf_Error e = NULL;
	const char *s = NULL;

	if (dwarf_attr(die, attr, &a, &e) == DW_DLV_OK) {
		s = compile_form_string(c, a);
		dwarf_dealloc_attribute(a);
	}
	dwarf_error_drop(c->dbg, &e);
	return s;
}

static void unit_begin(struct compile *c, Dwarf_Die root, uint16_t tag)
{
	Dwarf_Attribute a;
	Dwarf_Error e = NULL;
	Dwarf_Unsigned language = 0;
	Dwarf_Addr low;

	c->unit = (uint32_t)(c->section[IX_UNITS].n / sizeof(struct ix_unit));
	c->u = (struct ix_unit){ .first = (uint32_t)c->section[IX_ENTRIES].n,
				 .tag = tag,
				 .flags = c->alt ? IX_UNIT_ALT : 0,
				 .first_scope = (uint32_t)(c->section[IX_SCOPES].n /
							   sizeof(struct ix_scope)) };
	c->u.root = c->u.first;
	c->u.name = compile_string(c, compile_die_string(c, root, DW_AT_name));
	c->u.comp_dir = compile_string(c, compile_die_string(c, root, DW_AT_comp_dir));
	if (dwarf_attr(root, DW_AT_language, &a, &e) == DW_DLV_OK) {
		if (dwarf_formudata(a, &language, &e) == DW_DLV_OK)
			c->u.language = (uint16_t)language;
		dwarf_dealloc_attribute(a);
	}
	dwarf_error_drop(c->dbg, &e);
	c->low_pc = dwarf_lowpc(root, &low, &e) == DW_DLV_OK ? low : 0;
	dwarf_error_drop(c->dbg, &e);
	c->scope = -1;
	c->depth = 0;
}

/* Type units are in as many files as use them, if the files are not linked. */
bool compile_signature_known(const struct compile *c, const Dwarf_Sig8 *sig)
{
	const struct known_signatures *k = &c->known;
	uint64_t signature;

	memcpy(&signature, sig, 8);
	for (size_t at = hash_u64(signature); k->n && k->v[at & (k->cap - 1)]; at++)
		if (k->v[at & (k->cap - 1)] == signature)
			return true;
	return false;
}

static void known_put(struct known_signatures *k, uint64_t signature)
{
	size_t at = hash_u64(signature);

	while (k->v[at & (k->cap - 1)])
		at++;
	k->v[at & (k->cap - 1)] = signature;
	k->n++;
}

static void signature_is_known(struct compile *c, uint64_t signature)
{
	struct known_signatures *k = &c->known, old = *k;

	if (k->n * 2 >= k->cap) {
		k->cap = k->cap ? k->cap * 2 : 1 << 10;
		k->n = 0;
		k->v = calloc(k->cap, sizeof(*k->v));
		if (!k->v)
			_exit(1);
		for (size_t i = 0; i < old.cap; i++)
			if (old.v[i])
				known_put(k, old.v[i]);
		free(old.v);
	}
	if (signature)
		known_put(k, signature);
}

static void note_signature(struct compile *c, const Dwarf_Sig8 *sig, uint64_t type_off)
{
	const struct offset_map *m = &c->map[compile_space(c)];
	struct signature *s;

	if (!grow(&c->signature, &c->cap_signature, c->n_signature + 1, sizeof(*c->signature)))
		return;
	s = &c->signature[c->n_signature];
	memcpy(&s->signature, sig, 8);
	for (size_t i = m->n; i-- > 0 && m->v[i].off >= c->header_off;)
		if (m->v[i].off == c->header_off + type_off) {
			s->entry = m->v[i].entry;
			c->n_signature++;
			signature_is_known(c, s->signature);
			return;
		}
}

/* A skeleton's other half: its entries become the unit's, and what the skeleton does not say. */
struct joining {
	const struct entry_values *v;
	uint32_t sibling_at;
};

static void join(struct compile *c, Dwarf_Die root, void *ctx)
{
	const struct joining *j = ctx;
	struct ix_unit outer = c->u;
	uint64_t low_pc = c->low_pc;
	Dwarf_Error e = NULL;
	Dwarf_Die child;

	unit_begin(c, root, j->v->tag);
	outer.language = c->u.language;
	outer.name = outer.name ? outer.name : c->u.name;
	outer.comp_dir = outer.comp_dir ? outer.comp_dir : c->u.comp_dir;
	c->u = outer;
	c->low_pc = low_pc;
	note_offset(c, root, c->u.root);
	if (dwarf_child(root, &child, &e) == DW_DLV_OK)
		children_of(c, j->v, child, c->u.root, j->sibling_at);
	dwarf_error_drop(c->dbg, &e);
}

void compile_unit(struct compile *c, Dwarf_Die root, const Dwarf_Sig8 *sig, uint64_t type_off)
{
	size_t first_function = c->section[IX_FUNCTIONS].n / sizeof(struct ix_function);
	uint32_t sibling_at;
	struct split_unit *half;
	struct entry_values v;
	Dwarf_Error e = NULL;
	Dwarf_Die child;
	Dwarf_Half tag;
	bool children;

	if (dwarf_tag(root, &tag, &e) != DW_DLV_OK) {
		dwarf_error_drop(c->dbg, &e);
		return;
	}
	c->root = root;
	unit_begin(c, root, tag);
	if (!c->split)
		compile_lines(c, root);
	half = type_off ? NULL : compile_split_find(c, root, sig);
	v.tag = tag;
	compile_attributes(c, root, tag, &v);
	children = dwarf_child(root, &child, &e) == DW_DLV_OK;
	dwarf_error_drop(c->dbg, &e);
	c->u.root = entry_write(c, &v, children || half, &sibling_at);
	note_offset(c, root, c->u.root);
	if (half)
		compile_split_unit(c, half, root, join, &(struct joining){ &v, sibling_at });
	else if (children)
		children_of(c, &v, child, c->u.root, sibling_at);
	note_unit_ranges(c, &v, first_function);
	c->u.end = (uint32_t)c->section[IX_ENTRIES].n;
	c->u.n_scopes =
		(uint32_t)(c->section[IX_SCOPES].n / sizeof(struct ix_scope)) - c->u.first_scope;
	buf_put(&c->section[IX_UNITS], &c->u, sizeof(c->u));
	if (type_off)
		note_signature(c, sig, type_off);
}

void compile_units(struct compile *c, Dwarf_Debug dbg, bool is_info, bool alt)
{
	c->dbg = dbg;
	c->is_info = is_info;
	c->alt = alt;
	for (uint64_t at = 0;;) {
		Dwarf_Unsigned len, type_off = 0, next = 0;
		Dwarf_Half version, address, offset_size, extension, kind = 0;
		Dwarf_Off abbrev;
		Dwarf_Sig8 sig = { { 0 } };
		Dwarf_Error e = NULL;
		Dwarf_Die root;

		if (dwarf_next_cu_header_d(dbg, is_info, &len, &version, &abbrev, &address,
					   &offset_size, &extension, &sig, &type_off, &next, &kind,
					   &e) != DW_DLV_OK) {
			dwarf_error_drop(dbg, &e);
			return;
		}
		c->version = version;
		c->header_off = at;
		at = next;
		if (is_info && !alt && c->header_off >= c->to)
			return;
		if (is_info && !alt && c->header_off < c->from)
			continue;
		if (address == 8 && dwarf_siblingof_b(dbg, NULL, is_info, &root, &e) == DW_DLV_OK) {
			compile_unit(c, root, &sig, type_off);
			dwarf_dealloc_die(root);
		}
		dwarf_error_drop(dbg, &e);
	}
}
