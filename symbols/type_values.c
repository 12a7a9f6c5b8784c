/*
 * type_values.c - what is needed to read values of a type: encodings, names of enumerators, what a
 * template was made with, variants.
 */
#include <stdio.h>
#include <string.h>

#include "symbols/entry.h"

enum { MAX_ENUMERATORS = 1 << 16 };

unsigned symbols_type_encoding(const struct symbols_type *t)
{
	struct die die;
	uint64_t v;

	t = symbols_type_strip(t);
	if (!type_die(t, &die))
		return 0;
	if (die_uint(&die, IX_A_encoding, &v))
		return (unsigned)v;
	if (symbols_type_kind(t) != SYMBOLS_T_ENUM)
		return 0;
	return die_type(&die) ? symbols_type_encoding(die_type(&die)) : DW_ATE_unsigned;
}

/* A constant that was written down without its sign. */
static int64_t widen(uint64_t v, uint64_t size, bool is_signed)
{
	if (size >= 8 || !size)
		return (int64_t)v;
	if (!is_signed)
		return (int64_t)(v & ((1ull << 8 * size) - 1));
	return (int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size);
}

const struct symbols_enumerator *symbols_type_enumerators(const struct symbols_type *t,
							  size_t *n_ret)
{
	struct symbols_enumerator *ret = NULL;
	struct die die, child;
	struct arena *a;
	unsigned encoding;
	size_t n = 0, room = 0;

	*n_ret = 0;
	t = symbols_type_strip(t);
	if (symbols_type_kind(t) != SYMBOLS_T_ENUM || !type_die(t, &die) || !die.children)
		return NULL;
	a = &die.cu->dw->module->family->arena;
	encoding = symbols_type_encoding(t);
	for (int pass = 0; pass < 2; pass++) {
		n = 0;
		for (uint32_t off = die.next; die_read(die.cu, off, &child) && child.tag;
		     off = die_sibling(&child)) {
			uint64_t v;

			if (child.tag != DW_TAG_enumerator || n >= MAX_ENUMERATORS ||
			    !die_str(&child, IX_A_name) || !die_uint(&child, IX_A_const_value, &v))
				continue;
			if (n < room)
				ret[n] = (struct symbols_enumerator){
					die_str(&child, IX_A_name),
					widen(v, symbols_type_size(t),
					      encoding == DW_ATE_signed ||
						      encoding == DW_ATE_signed_char)
				};
			n++;
		}
		if (!pass) {
			ret = n ? arena_alloc(a, n * sizeof(*ret)) : NULL;
			room = ret ? n : 0;
		}
	}
	*n_ret = room;
	return ret;
}

/* The nth below die, where a parameter pack is as many as it has. */
static const struct symbols_type *argument_in(const struct die *die, unsigned *n)
{
	struct die child;

	for (uint32_t off = die->next; die_read(die->cu, off, &child) && child.tag;
	     off = die_sibling(&child)) {
		if (child.tag == DW_TAG_template_type_parameter && !(*n)--)
			return die_type(&child);
		if (child.tag == DW_TAG_GNU_template_parameter_pack && child.children) {
			const struct symbols_type *t = argument_in(&child, n);

			if (t)
				return t;
		}
	}
	return NULL;
}

const struct symbols_type *symbols_type_argument(const struct symbols_type *t, unsigned n)
{
	struct die die;

	t = symbols_type_strip(t);
	if (!type_die(t, &die) || !die.children)
		return NULL;
	return argument_in(&die, &n);
}

const struct symbols_type *symbols_function_argument(struct symbols *s, uint64_t addr, unsigned n)
{
	uint64_t bias;
	struct symbols_module *m = space_module(s, addr, &bias);
	struct dwarf *d = m ? module_dwarf(m) : NULL;
	struct cu *cu = NULL;
	const struct ix_function *f = d ? dwarf_function_at(d, addr - bias, &cu) : NULL;
	struct die die, declared, class;
	int32_t scope;

	if (!f || !die_read(cu, f->entry, &die) || !die_find(&die, IX_A_name, &declared))
		return NULL;
	scope = cu_scope_at(declared.cu, declared.off);
	if (scope < 0 || !die_read(declared.cu, declared.cu->scope[scope].entry, &class) ||
	    !class.children)
		return NULL;
	return argument_in(&class, &n);
}

/* ---- Rust's enumerations: a variant part with a discriminant -------------------------------- */

static bool variant_part(const struct symbols_type *t, struct die *ret)
{
	struct die die;

	if (!type_die(symbols_type_strip(t), &die) || !die.children)
		return false;
	for (uint32_t off = die.next; die_read(die.cu, off, ret) && ret->tag;
	     off = die_sibling(ret))
		if (ret->tag == DW_TAG_variant_part)
			return ret->children;
	return false;
}

bool symbols_type_discriminant(const struct symbols_type *t, uint64_t *at_ret, uint64_t *size_ret)
{
	struct die part, discr;
	struct ref ref;
	uint64_t v = 0;

	*at_ret = *size_ret = 0;
	if (!variant_part(t, &part))
		return false;
	if (!die_ref(&part, IX_A_discr, &ref) || !die_read(ref.cu, ref.off, &discr))
		return true;		/* one variant only */
	die_uint(&discr, IX_A_data_member_location, &v);
	*at_ret = v;
	*size_ret = symbols_type_size(die_type(&discr));
	return true;
}

static struct symbols_member variant_member(const struct die *variant)
{
	struct symbols_member m = { 0 };
	struct die child;
	uint64_t v;

	for (uint32_t off = variant->next;
	     variant->children && die_read(variant->cu, off, &child) && child.tag;
	     off = die_sibling(&child)) {
		if (child.tag != DW_TAG_member)
			continue;
		m.name = die_str(&child, IX_A_name);
		m.type = die_type(&child);
		if (die_uint(&child, IX_A_data_member_location, &v))
			m.offset = v;
		break;
	}
	return m;
}

struct symbols_member symbols_type_variant(const struct symbols_type *t, uint64_t discriminant)
{
	struct symbols_member other = { 0 };
	struct die part, child;
	uint64_t v, at, size;

	if (!symbols_type_discriminant(t, &at, &size) || !variant_part(t, &part))
		return other;
	for (uint32_t off = part.next; die_read(part.cu, off, &child) && child.tag;
	     off = die_sibling(&child)) {
		if (child.tag != DW_TAG_variant)
			continue;
		if (!die_uint(&child, IX_A_discr_value, &v))
			other = variant_member(&child);
		else if (size && widen(v, size, false) == widen(discriminant, size, false))
			return variant_member(&child);
	}
	return other;
}

/* "<ns::Circle as ns::Shape>::{vtable}": how many characters of the name, from the second on. */
static size_t implementer(const char *vtable)
{
	unsigned depth = 0;

	if (*vtable != '<')
		return 0;
	for (const char *p = vtable + 1; *p; p++) {
		if (*p == '<' || *p == '(' || *p == '[')
			depth++;
		else if (depth && (*p == ')' || *p == ']' || (*p == '>' && p[-1] != '-')))
			depth--;
		else if (!depth && !strncmp(p, " as ", 4))
			return (size_t)(p - vtable - 1);
	}
	return 0;
}

/* Where the name that begins with "dyn" ends: before what closes or separates it. */
static const char *dyn_end(const char *p)
{
	for (unsigned depth = 0; *p; p++) {
		if (*p == '<' || *p == '(' || *p == '[')
			depth++;
		else if (!depth && (*p == '>' || *p == ',' || *p == ')' || *p == ']'))
			break;
		else if (depth && (*p == ')' || *p == ']' || (*p == '>' && p[-1] != '-')))
			depth--;
	}
	return p;
}

const struct symbols_type *symbols_type_dyn(struct symbols *s, const struct symbols_type *t,
					    uint64_t vtable)
{
	const char *name = symbols_type_name(t), *dyn = name ? strstr(name, "dyn ") : NULL;
	struct symbols_variable v;
	char whole[1024];
	size_t n;

	if (!dyn || !symbols_variable_at(s, vtable, &v) || v.addr != vtable || !v.name)
		return NULL;
	n = implementer(v.name);
	if (!n || snprintf(whole, sizeof(whole), "%.*s%.*s%s", (int)(dyn - name), name, (int)n,
			   v.name + 1, dyn_end(dyn)) >= (int)sizeof(whole))
		return NULL;
	return symbols_type_find(s, whole, NULL);
}

/* ---- members without a fixed place ---------------------------------------------------------- */

bool symbols_type_virtual_base(const struct symbols_type *t, size_t n, uint64_t addr,
			       const struct symbols_memory *mem, struct symbols_member *ret)
{
	struct expr_env env = { .mem = mem };
	struct die die, child;
	struct location l;
	struct span expr;
	uint64_t virtual;

	if (!type_has_virtual_bases(t) || !type_die(symbols_type_strip(t), &die) || !die.children)
		return false;
	for (uint32_t off = die.next; die_read(die.cu, off, &child) && child.tag;
	     off = die_sibling(&child)) {
		if (child.tag != DW_TAG_inheritance ||
		    !die_uint(&child, IX_A_virtuality, &virtual) || !virtual ||
		    !die_block(&child, IX_A_member_expr, &expr) || n--)
			continue;
		*ret = (struct symbols_member){ .type = die_type(&child), .base = true };
		ret->name = symbols_type_name(ret->type);
		if (!expr_eval(expr, &env, &addr, &l))
			return false;
		ret->offset = l.value - addr;
		return true;
	}
	return false;
}

static bool constant_in(const struct symbols_type *t, const char *name, int64_t *value_ret,
			const struct symbols_type **type_ret, unsigned level)
{
	enum { DEEPEST = 32 };
	const struct symbols_member *m;
	struct die die, child;
	size_t n;

	if (level > DEEPEST || !type_die(symbols_type_strip(t), &die) || !die.children)
		return false;
	for (uint32_t off = die.next; die_read(die.cu, off, &child) && child.tag;
	     off = die_sibling(&child)) {
		const char *is = die_str(&child, IX_A_name);
		uint64_t v;

		if ((child.tag != DW_TAG_member && child.tag != DW_TAG_variable) || !is ||
		    strcmp(is, name) || !die_uint(&child, IX_A_const_value, &v))
			continue;
		*type_ret = die_type(&child);
		*value_ret = widen(v, symbols_type_size(*type_ret),
				   symbols_type_encoding(*type_ret) == DW_ATE_signed);
		return true;
	}
	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++)
		if (m[i].base && constant_in(m[i].type, name, value_ret, type_ret, level + 1))
			return true;
	return false;
}

bool symbols_type_constant(const struct symbols_type *t, const char *name, int64_t *value_ret,
			   const struct symbols_type **type_ret)
{
	return constant_in(t, name, value_ret, type_ret, 0);
}
