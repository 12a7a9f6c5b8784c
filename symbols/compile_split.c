/*
 * compile_split.c - split DWARF: units whose entries are in files of their own (.dwo), or in one
 * file for a whole program (.dwp).
 *
 * In the program is a skeleton: a unit without children that says how the other one is called, has
 * an id in common with it, and knows all that the linker decides: where code is, the table of
 * addresses that the other one counts in, the line table.  Here the skeleton's children are the
 * other one's, and what those refer to by index is looked up by way of the skeleton.  libdwarf can
 * be told of both files (dwarf_set_tied_dbg), but that of Debian 12 finds no addresses then.
 *
 * References do not leave a split unit, but for those by signature; so offsets are forgotten after
 * each unit.
 */
#include <unistd.h>

#include "symbols/compile.h"
#include "symbols/worker.h"

struct split_unit {
	uint64_t id;
	struct object *object;
	Dwarf_Off root;		/* where its first entry is */
	unsigned version;
	bool used;
};

static int unit_compare(const void *a, const void *b)
{
	const struct split_unit *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* ---- what is in the files -------------------------------------------------------------------- */

/* fn for each unit of one of the two sections; root is dropped afterwards. */
typedef void each_fn(struct compile *c, struct object *o, Dwarf_Die root, const Dwarf_Sig8 *sig,
		     uint64_t type_off);

static void each_unit(struct compile *c, struct object *o, bool is_info, each_fn *fn)
{
	Dwarf_Debug dbg = object_dwarf(o);

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
		c->is_info = is_info;
		at = next;
		if (address == 8 && dwarf_siblingof_b(dbg, NULL, is_info, &root, &e) == DW_DLV_OK) {
			fn(c, o, root, &sig, type_off);
			dwarf_dealloc_die(root);
		}
		dwarf_error_drop(dbg, &e);
	}
}

static void note_unit(struct compile *c, struct object *o, Dwarf_Die root, const Dwarf_Sig8 *sig,
		      uint64_t type_off)
{
	struct split_unit *u;
	Dwarf_Error e = NULL;
	Dwarf_Off off;

	if (type_off || dwarf_dieoffset(root, &off, &e) != DW_DLV_OK ||
	    !grow(&c->split_unit, &c->cap_split_unit, c->n_split_unit + 1, sizeof(*u))) {
		dwarf_error_drop(object_dwarf(o), &e);
		return;
	}
	u = &c->split_unit[c->n_split_unit++];
	*u = (struct split_unit){ .object = o, .root = off, .version = c->version };
	memcpy(&u->id, sig, sizeof(u->id));
}

void compile_split_open(struct compile *c, const struct worker_job *job)
{
	c->split_object = job->n_split ? calloc(job->n_split, sizeof(*c->split_object)) : NULL;
	if (job->n_split && !c->split_object)
		_exit(1);
	for (size_t i = 0; i < job->n_split; i++) {
		struct object *o = object_open_split(job->split[i]);

		if (!object_dwarf(o))
			continue;
		c->split_object[c->n_split_object++] = o;
		each_unit(c, o, true, note_unit);
	}
	if (c->n_split_unit)
		qsort(c->split_unit, c->n_split_unit, sizeof(*c->split_unit), unit_compare);
}

/* ---- skeletons ------------------------------------------------------------------------------- */

static uint64_t root_offset(struct compile *c, Dwarf_Die root, Dwarf_Half attr)
{
	Dwarf_Attribute a;
	Dwarf_Error e = NULL;
	Dwarf_Off off = 0;

	if (dwarf_attr(root, attr, &a, &e) == DW_DLV_OK) {
		if (dwarf_global_formref(a, &off, &e) != DW_DLV_OK)
			off = 0;
		dwarf_dealloc_attribute(a);
	}
	dwarf_error_drop(c->dbg, &e);
	return off;
}

/* Version 4 has the id among the attributes, version 5 in the unit's header. */
static uint64_t root_id(struct compile *c, Dwarf_Die root, const Dwarf_Sig8 *sig)
{
	Dwarf_Attribute a;
	Dwarf_Error e = NULL;
	Dwarf_Unsigned u = 0;
	uint64_t id;

	if (c->version >= 5) {
		memcpy(&id, sig, sizeof(id));
		return id;
	}
	if (dwarf_attr(root, DW_AT_GNU_dwo_id, &a, &e) == DW_DLV_OK) {
		Dwarf_Sig8 bytes;

		if (dwarf_formsig8_const(a, &bytes, &e) == DW_DLV_OK)
			memcpy(&u, &bytes, sizeof(u));
		dwarf_dealloc_attribute(a);
	}
	dwarf_error_drop(c->dbg, &e);
	return u;
}

struct split_unit *compile_split_find(struct compile *c, Dwarf_Die root, const Dwarf_Sig8 *sig)
{
	const char *name = compile_die_string(c, root, DW_AT_dwo_name);
	struct ix_split s = { 0 };
	struct split_unit key, *u;

	if (!name)
		name = compile_die_string(c, root, DW_AT_GNU_dwo_name);
	if (!name || c->split)
		return NULL;
	key.id = s.id = root_id(c, root, sig);
	s.name = compile_string(c, name);
	s.comp_dir = c->u.comp_dir;
	buf_put(&c->section[IX_SPLIT], &s, sizeof(s));
	u = c->n_split_unit ? bsearch(&key, c->split_unit, c->n_split_unit, sizeof(key),
				      unit_compare)
			    : NULL;
	if (!u || u->used)
		return NULL;
	u->used = true;
	return u;
}

/* ---- reading one ----------------------------------------------------------------------------- */

static void fission(struct split *s, Dwarf_Debug dbg, Dwarf_Die root)
{
	Dwarf_Debug_Fission_Per_CU cu = { 0 };
	Dwarf_Error e = NULL;

	if (dwarf_get_debugfission_for_die(root, &cu, &e) == DW_DLV_OK) {
		s->lists_at = cu.pcu_offset[DW_SECT_LOCLISTS];
		s->ranges_at = cu.pcu_offset[DW_SECT_RNGLISTS];
	}
	dwarf_error_drop(dbg, &e);
}

/* From here on c reads the split unit. */
static void enter(struct compile *c, struct split *s, struct object *o, Dwarf_Die root)
{
	s->dbg = c->dbg;
	s->version = c->version;
	s->is_info = c->is_info;
	s->header_off = c->header_off;
	s->root = c->root;
	s->object = o;
	c->split = s;
	c->dbg = object_dwarf(o);
	c->root = root;
	c->loclists_base_of = 0;
	c->first_fixup = c->n_fixup;
	fission(s, c->dbg, root);
}

static void leave(struct compile *c, const struct split *s)
{
	compile_references(c, c->first_fixup, SPACE_SPLIT);
	c->first_fixup = c->n_fixup;
	c->split = NULL;
	c->dbg = s->dbg;
	c->version = s->version;
	c->is_info = s->is_info;
	c->header_off = s->header_off;
	c->root = s->root;
	c->loclists_base_of = 0;
}

/* The line table is the skeleton's, and read already. */
void compile_split_unit(struct compile *c, struct split_unit *u, Dwarf_Die skeleton,
			split_fn *fn, void *ctx)
{
	struct split s = { .skeleton = skeleton,
			   .old_ranges = root_offset(c, skeleton, DW_AT_GNU_ranges_base) };
	Dwarf_Error e = NULL;
	Dwarf_Die root;

	if (dwarf_offdie_b(object_dwarf(u->object), u->root, true, &root, &e) != DW_DLV_OK) {
		dwarf_error_drop(object_dwarf(u->object), &e);
		return;
	}
	enter(c, &s, u->object, root);
	c->version = u->version;
	c->is_info = true;
	fn(c, root, ctx);
	leave(c, &s);
	dwarf_dealloc_die(root);
}

/* ---- type units ------------------------------------------------------------------------------ */

static void type_unit(struct compile *c, struct object *o, Dwarf_Die root, const Dwarf_Sig8 *sig,
		      uint64_t type_off)
{
	struct split s = { 0 };
	uint64_t header_off = c->header_off;
	bool is_info = c->is_info;

	if (!type_off || compile_signature_known(c, sig))
		return;
	enter(c, &s, o, root);
	c->header_off = header_off;
	c->is_info = is_info;
	compile_unit(c, root, sig, type_off);
	leave(c, &s);
}

void compile_split_types(struct compile *c)
{
	for (size_t i = 0; i < c->n_split_object; i++) {
		each_unit(c, c->split_object[i], true, type_unit);
		each_unit(c, c->split_object[i], false, type_unit);
	}
}

/* ---- lists of version 4 ---------------------------------------------------------------------- */

/* libdwarf decodes operators here; what is needed is the bytes.  False: it ends. */
bool compile_split_list(struct compile *c, Dwarf_Die die, struct cursor *cur, uint64_t *start_ret,
			uint64_t *end_ret, struct span *expr_ret)
{
	enum { END, BASE, START_END, START_LENGTH };
	unsigned kind = cursor_u8(cur);
	uint64_t a, b;

	if (cur->bad || (kind != START_END && kind != START_LENGTH))
		return false;
	a = cursor_uleb(cur);
	b = kind == START_END ? cursor_uleb(cur) : cursor_u32(cur);
	*expr_ret = cursor_span(cur, cursor_u16(cur));
	*start_ret = *end_ret = 0;	/* nothing, if there is no such address */
	if (cur->bad)
		return false;
	if (compile_address(c, die, a, &a) &&
	    (kind == START_LENGTH || compile_address(c, die, b, &b))) {
		*start_ret = a;
		*end_ret = kind == START_LENGTH ? a + b : b;
	}
	return true;
}

struct span compile_split_section(const struct compile *c, const char *name)
{
	return c->split ? object_section(c->split->object, name) : (struct span){ NULL, 0 };
}
