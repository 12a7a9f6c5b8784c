/*
 * type.c - types, made from their entries when first asked for and kept by where they stand.
 *
 * A type's name, target and members are looked up when asked for, so that one pointer to a class
 * does not read half of the library.  Chains are walked with limits: damaged files may have loops.
 */
#include <stdio.h>

#include "symbols/entry.h"

enum {
	MAX_CHAIN = 64,
	MAX_NAME_DEPTH = 24,
	MAX_MEMBERS = 1 << 16
};
#define MAX_COUNT ((uint64_t)1 << 40)

struct symbols_type {
	struct cu *cu;
	uint32_t off;
	unsigned dim;			/* the nth dimension of an array entry */
	enum symbols_type_kind kind;
	uint16_t tag;
	bool declaration, target_ready, members_ready, definition_ready, virtual_bases;
	uint64_t size, count;
	const char *plain;		/* the entry's own name */
	const char *name;		/* as symbols_type_name() */
	const struct symbols_type *target, *definition;
	struct symbols_member *member;
	size_t n_members;
	struct symbols_type *pointer;	/* the pointer to it that no entry describes */
	struct symbols_type *other;	/* copies of it that type_with() made, in a list */
};

static size_t type_hash(const struct cu *cu, uint32_t off, unsigned dim)
{
	return hash_u64((uintptr_t)cu ^ off * 31 ^ dim);
}

static bool table_grow(struct type_table *t)
{
	size_t cap = t->cap ? t->cap * 2 : 1024;
	struct symbols_type **slot;

	if (t->n * 2 < t->cap)
		return true;
	slot = calloc(cap, sizeof(struct symbols_type *));
	if (!slot)
		return false;
	for (size_t i = 0; i < t->cap; i++) {
		struct symbols_type *x = t->slot[i];
		size_t at;

		if (!x)
			continue;
		for (at = type_hash(x->cu, x->off, x->dim) & (cap - 1); slot[at];
		     at = (at + 1) & (cap - 1))
			;
		slot[at] = x;
	}
	free(t->slot);
	t->slot = slot;
	t->cap = cap;
	return true;
}

static enum symbols_type_kind kind_of(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_base_type: case DW_TAG_unspecified_type: return SYMBOLS_T_BASE;
	case DW_TAG_enumeration_type: return SYMBOLS_T_ENUM;
	case DW_TAG_pointer_type: return SYMBOLS_T_POINTER;
	case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type: return SYMBOLS_T_REFERENCE;
	case DW_TAG_array_type: return SYMBOLS_T_ARRAY;
	case DW_TAG_structure_type: return SYMBOLS_T_STRUCT;
	case DW_TAG_class_type: case DW_TAG_interface_type: return SYMBOLS_T_CLASS;
	case DW_TAG_union_type: return SYMBOLS_T_UNION;
	case DW_TAG_subroutine_type: case DW_TAG_subprogram: return SYMBOLS_T_FUNCTION;
	case DW_TAG_typedef: return SYMBOLS_T_TYPEDEF;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return SYMBOLS_T_QUALIFIED;
	case DW_TAG_ptr_to_member_type: return SYMBOLS_T_MEMBER_POINTER;
	}
	return SYMBOLS_T_OTHER;
}

/* The nth subrange of an array; *more: there are further ones. */
static bool subrange(const struct die *array, unsigned dim, struct die *ret, bool *more)
{
	struct die child;
	uint32_t off = array->next;
	unsigned i = 0;

	*more = false;
	if (!array->children)
		return false;
	for (; die_read(array->cu, off, &child) && child.tag; off = die_sibling(&child)) {
		if (child.tag != DW_TAG_subrange_type)
			continue;
		*more = i > dim;
		if (*more)
			return true;
		if (i++ == dim)
			*ret = child;
	}
	return i > dim;
}

static uint64_t array_count(const struct die *array, unsigned dim, bool *more)
{
	struct die range;
	uint64_t v, count = 0;

	if (!subrange(array, dim, &range, more))
		return 0;
	if (die_uint(&range, IX_A_count, &v))
		count = v;
	else if (die_uint(&range, IX_A_upper_bound, &v))
		count = v + 1;
	return count > MAX_COUNT ? 0 : count;
}

static struct symbols_type *type_create(struct cu *cu, uint32_t off, unsigned dim)
{
	struct family *f = cu->dw->module->family;
	struct symbols_type *t;
	struct die die;
	uint64_t v;

	if (!die_read(cu, off, &die) || !die.tag)
		return NULL;
	t = arena_alloc(&f->arena, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct symbols_type){
		.cu = cu, .off = off, .dim = dim, .kind = kind_of(die.tag), .tag = die.tag
	};
	t->declaration = die_flag(&die, IX_FLAG_DECLARATION | IX_FLAG_SIGNATURE);
	t->plain = die_str(&die, IX_A_name);
	if (die_uint(&die, IX_A_byte_size, &v))
		t->size = v;
	else if (t->kind == SYMBOLS_T_POINTER || t->kind == SYMBOLS_T_REFERENCE)
		t->size = 8;
	return t;
}

/* -fdebug-types-section: what stands here is only the place where the type's own unit is named. */
static void type_in_own_unit(struct symbols_type *t)
{
	struct die die;
	struct ref ref;

	if (!t->declaration || !die_read(t->cu, t->off, &die) ||
	    !die_ref(&die, IX_A_signature, &ref) || ref.cu == t->cu)
		return;
	t->definition_ready = true;
	t->definition = type_get(ref.cu, ref.off);
	if (!t->plain && t->definition)
		t->plain = t->definition->plain;
}

static const struct symbols_type *type_get_dim(struct cu *cu, uint32_t off, unsigned dim)
{
	struct family *f = cu->dw->module->family;
	struct type_table *t = f->types;
	struct symbols_type *made;
	size_t at;

	if (!t)
		t = f->types = calloc(1, sizeof(*t));
	if (!t || !table_grow(t))
		return NULL;
	for (at = type_hash(cu, off, dim) & (t->cap - 1); t->slot[at]; at = (at + 1) & (t->cap - 1))
		if (t->slot[at]->cu == cu && t->slot[at]->off == off && t->slot[at]->dim == dim)
			return t->slot[at];
	made = t->slot[at] = type_create(cu, off, dim);
	if (!made)
		return NULL;
	t->n++;
	type_in_own_unit(made);		/* may move the table */
	return made;
}

const struct symbols_type *type_get(struct cu *cu, uint32_t off)
{
	return type_get_dim(cu, off, 0);
}

bool type_die(const struct symbols_type *t, struct die *ret)
{
	return t && t->off != UINT32_MAX && die_read(t->cu, t->off, ret) && ret->tag;
}

const struct symbols_type *die_type(const struct die *die)
{
	struct die holder;
	struct ref ref;

	if (!die_find(die, IX_A_type, &holder) || !die_ref(&holder, IX_A_type, &ref))
		return NULL;
	return type_get(ref.cu, ref.off);
}

const struct symbols_type *type_pointer_to(const struct symbols_type *t)
{
	struct symbols_type *x = (struct symbols_type *)(uintptr_t)t;

	if (!t)
		return NULL;
	if (!x->pointer) {
		x->pointer = arena_alloc(&t->cu->dw->module->family->arena, sizeof(*x));
		if (x->pointer)
			*x->pointer = (struct symbols_type){ .cu = t->cu,
							     .off = UINT32_MAX,
							     .kind = SYMBOLS_T_POINTER,
							     .tag = DW_TAG_pointer_type,
							     .size = 8,
							     .target = t,
							     .target_ready = true };
	}
	return x->pointer;
}

/* ---- what one can ask ------------------------------------------------------------------------ */

enum symbols_type_kind symbols_type_kind(const struct symbols_type *t)
{
	return t ? t->kind : SYMBOLS_T_VOID;
}

/* Filling in what is worked out later does not change the type. */
static struct symbols_type *lazy(const struct symbols_type *t)
{
	return (struct symbols_type *)(uintptr_t)t;
}

static void target_make(struct symbols_type *t)
{
	struct die die;
	bool more;

	t->target_ready = true;
	if (!die_read(t->cu, t->off, &die))
		return;
	if (t->kind == SYMBOLS_T_ARRAY) {
		t->count = array_count(&die, t->dim, &more);
		if (more && t->dim < 32) {
			t->target = type_get_dim(t->cu, t->off, t->dim + 1);
			return;
		}
	}
	if (t->kind == SYMBOLS_T_STRUCT || t->kind == SYMBOLS_T_CLASS || t->kind == SYMBOLS_T_UNION)
		return;
	t->target = die_type(&die);
}

const struct symbols_type *symbols_type_target(const struct symbols_type *t)
{
	if (!t)
		return NULL;
	if (!t->target_ready)
		target_make(lazy(t));
	return t->target;
}

uint64_t symbols_type_count(const struct symbols_type *t)
{
	if (!t || t->kind != SYMBOLS_T_ARRAY)
		return 0;
	symbols_type_target(t);
	return t->count;
}

static uint64_t type_size(const struct symbols_type *t, int depth)
{
	uint64_t one;

	if (!t || depth > MAX_CHAIN)
		return 0;
	if (t->size)
		return t->size;
	switch (t->kind) {
	case SYMBOLS_T_TYPEDEF: case SYMBOLS_T_QUALIFIED:
		return type_size(symbols_type_target(t), depth + 1);
	case SYMBOLS_T_ARRAY:
		one = type_size(symbols_type_target(t), depth + 1);
		return __builtin_mul_overflow(one, symbols_type_count(t), &one) ? 0 : one;
	case SYMBOLS_T_MEMBER_POINTER:	/* to a function: its address, and what to add to this */
		return symbols_type_kind(symbols_type_target(t)) == SYMBOLS_T_FUNCTION ? 16 : 8;
	default:
		if (t->declaration && symbols_type_strip(t) != t)
			return symbols_type_strip(t)->size;
		return 0;
	}
}

uint64_t symbols_type_size(const struct symbols_type *t)
{
	return type_size(t, 0);
}

struct measuring {
	bool (*count)(void *ctx, const struct die *subrange, uint64_t *ret);
	void *ctx;
	int depth;
};

static uint64_t measured_count(struct measuring *m, const struct symbols_type *t)
{
	struct die die, range;
	bool more;
	uint64_t n;

	if (symbols_type_count(t))
		return t->count;
	if (!type_die(t, &die) || !subrange(&die, t->dim, &range, &more) ||
	    !m->count(m->ctx, &range, &n) || n > MAX_COUNT)
		return 0;
	return n;
}

/* A copy of t, because target or count are other than t's. */
static const struct symbols_type *type_with(const struct symbols_type *t,
					    const struct symbols_type *target, uint64_t count)
{
	struct symbols_type *x;

	if (target == t->target && count == t->count)
		return t;
	for (x = t->other; x; x = x->other)
		if (x->target == target && x->count == count)
			return x;
	x = arena_alloc(&t->cu->dw->module->family->arena, sizeof(*x));
	if (!x)
		return t;
	*x = *t;
	x->target = target;
	x->count = count;
	x->target_ready = true;
	x->name = NULL;
	x->pointer = NULL;
	lazy(t)->other = x;		/* *x = *t: the list goes on */
	return x;
}

static const struct symbols_type *measured(struct measuring *m, const struct symbols_type *t)
{
	const struct symbols_type *target;

	if (!t || m->depth++ > MAX_CHAIN)
		return t;
	if (t->kind == SYMBOLS_T_TYPEDEF || t->kind == SYMBOLS_T_QUALIFIED) {
		target = measured(m, symbols_type_target(t));
		return target == t->target ? t : t->kind == SYMBOLS_T_TYPEDEF ? target :
		       type_with(t, target, 0);
	}
	if (t->kind != SYMBOLS_T_ARRAY && t->kind != SYMBOLS_T_POINTER)
		return t;
	target = measured(m, symbols_type_target(t));
	return type_with(t, target, t->kind == SYMBOLS_T_ARRAY ? measured_count(m, t) : 0);
}

const struct symbols_type *
type_measured(const struct symbols_type *t,
	      bool (*count)(void *ctx, const struct die *subrange, uint64_t *ret), void *ctx)
{
	struct measuring m = { count, ctx, 0 };

	return measured(&m, t);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *tag_word(const struct symbols_type *t)
{
	if (is_cplusplus(t->cu) ||
	    (t->cu->language != 0x01 && t->cu->language != 0x02 && t->cu->language != 0x0c &&
	     t->cu->language != 0x1d && t->cu->language != 0x2c && t->cu->language))
		return "";
	return t->kind == SYMBOLS_T_STRUCT ? "struct " : t->kind == SYMBOLS_T_UNION ? "union " :
	       t->kind == SYMBOLS_T_ENUM ? "enum " : "";
}

/* The text that a declaration has around its name, which is left out here: "(*" and ")[4]". */
struct declarator { char text[256]; };

static void put_before(struct declarator *d, const char *word)
{
	size_t n = strlen(d->text), more = strlen(word);

	if (n + more >= sizeof(d->text))
		return;
	memmove(d->text + more, d->text, n + 1);
	memcpy(d->text, word, more);
}

/* Arrays and functions are written behind, pointers before: (*)[4] is a pointer, *[4] an array. */
static void put_pointer(struct declarator *d, const char *star, const struct symbols_type *target)
{
	enum symbols_type_kind kind = target ? target->kind : SYMBOLS_T_BASE;

	put_before(d, star);
	if (kind != SYMBOLS_T_ARRAY && kind != SYMBOLS_T_FUNCTION)
		return;
	put_before(d, "(");
	snprintf(d->text + strlen(d->text), sizeof(d->text) - strlen(d->text), ")");
}

static void put_behind(struct declarator *d, const struct symbols_type *t)
{
	uint64_t count = t->kind == SYMBOLS_T_ARRAY ? symbols_type_count(t) : 0;
	size_t n = strlen(d->text);

	if (t->kind == SYMBOLS_T_FUNCTION)
		snprintf(d->text + n, sizeof(d->text) - n, "()");
	else if (count)
		snprintf(d->text + n, sizeof(d->text) - n, "[%llu]", (unsigned long long)count);
	else
		snprintf(d->text + n, sizeof(d->text) - n, "[]");
}

/* "const" of a pointer stands behind its star; of others before all. */
static void put_qualifier(struct declarator *d, const struct symbols_type *t,
			  const struct symbols_type *target, char *before, size_t size)
{
	const char *word = t->tag == DW_TAG_const_type	    ? "const "
			   : t->tag == DW_TAG_volatile_type ? "volatile "
							    : "";
	const struct symbols_type *element = target;
	size_t n = strlen(before);

	/* of an array: so are its elements, which say so themselves */
	while (element && element->kind == SYMBOLS_T_ARRAY)
		element = symbols_type_target(element);
	if (element != target && element && element->kind == SYMBOLS_T_QUALIFIED)
		return;
	if (target && target->kind == SYMBOLS_T_POINTER && word[0]) {
		if (!d->text[0] || strchr("[()", d->text[0]))
			put_before(d, word[0] == 'c' ? "const" : "volatile");
		else
			put_before(d, word);
	} else {
		snprintf(before + n, size - n, "%s", word);
	}
}

/* As C writes a type without a name: "struct X *[4]", "int (*)[5]", "char *(*)()". */
static void type_print(const struct symbols_type *t, char *buf, size_t size)
{
	struct declarator d = { "" };
	char qualifiers[64] = "";
	const char *space;

	for (int depth = 0; t && depth <= MAX_NAME_DEPTH; depth++) {
		const struct symbols_type *target = symbols_type_target(t);

		if (t->kind == SYMBOLS_T_POINTER)
			put_pointer(&d, "*", target);
		else if (t->kind == SYMBOLS_T_REFERENCE)
			put_pointer(&d, t->tag == DW_TAG_reference_type ? "&" : "&&", target);
		else if (t->kind == SYMBOLS_T_MEMBER_POINTER)
			put_pointer(&d, "::*", target);
		else if (t->kind == SYMBOLS_T_ARRAY || t->kind == SYMBOLS_T_FUNCTION)
			put_behind(&d, t);
		else if (t->kind == SYMBOLS_T_QUALIFIED)
			put_qualifier(&d, t, target, qualifiers, sizeof(qualifiers));
		else if (t->declaration && t->definition && t->definition != t)
			target = t->definition;
		else
			break;
		t = target;
		if (depth == MAX_NAME_DEPTH) {
			snprintf(buf, size, "...");
			return;
		}
	}
	space = d.text[0] ? " " : "";
	if (!t)
		snprintf(buf, size, "%svoid%s%s", qualifiers, space, d.text);
	else
		snprintf(buf, size, "%s%s%s%s%s%s", qualifiers, tag_word(t),
			 cu_scope_name(t->cu, cu_scope_at(t->cu, t->off)),
			 t->plain ? t->plain : "{...}", space, d.text);
}

const char *symbols_type_name(const struct symbols_type *t)
{
	char text[1024];

	if (!t)
		return "void";
	if (!t->name) {
		type_print(t, text, sizeof(text));
		shorten_templates(text);
		lazy(t)->name = arena_strn(&t->cu->dw->module->family->arena, text, strlen(text));
	}
	return t->name ? t->name : "?";
}

/* ---- finding one by its name ----------------------------------------------------------------- */

/* Begin of the last part of "ns::Cache<a::b>". */
static const char *last_part(const char *name)
{
	const char *part = name;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		if (*p == '<' || *p == '(')
			depth++;
		else if (*p == '>' || *p == ')')
			depth--;
		else if (!depth && p[0] == ':' && p[1] == ':' && p[2])
			part = p + 2;
	}
	return part;
}

static bool same_scope(struct cu *cu, uint32_t entry, const char *scope, size_t len)
{
	const char *have = cu_scope_name(cu, cu_scope_at(cu, entry));

	return strlen(have) == len && !memcmp(have, scope, len);
}

/*
 * kind: only this one (what the word in front said), or OTHER for any.  A declaration only when
 * nothing better is there.
 */
static const struct symbols_type *module_type_find(struct symbols_module *m, const char *name,
						   enum symbols_type_kind kind,
						   const struct symbols_type *best)
{
	struct dwarf *d = module_dwarf(m);
	const char *part = last_part(name);
	uint32_t hash = hash_str(part, strlen(part));
	const struct ix_type *type;
	size_t lo = 0, hi, n;

	if (!d)
		return best;
	type = index_array(d->ix, IX_TYPES, sizeof(*type), &n);
	for (hi = n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (type[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && type[lo].hash == hash; lo++) {
		const struct symbols_type *t;
		struct cu *cu;
		struct die die;

		if (best && type[lo].declaration)
			break;
		cu = type[lo].unit < d->n_cu ? &d->cu[type[lo].unit] : NULL;
		if (!cu || !die_read(cu, type[lo].entry, &die) || !die_str(&die, IX_A_name) ||
		    strcmp(die_str(&die, IX_A_name), part))
			continue;
		if (!same_scope(cu, type[lo].entry, name, (size_t)(part - name)))
			continue;
		t = type_get(cu, type[lo].entry);
		if (!t || (kind != SYMBOLS_T_OTHER && t->kind != kind &&
			   !(kind == SYMBOLS_T_CLASS && t->kind == SYMBOLS_T_STRUCT)))
			continue;
		if (!t->declaration)
			return t;
		best = t;
	}
	return best;
}

static const struct symbols_type *family_type_find(struct family *f, const char *name,
						   enum symbols_type_kind kind,
						   struct symbols_module *first)
{
	const struct symbols_type *best = NULL;

	if (first)
		best = module_type_find(first, name, kind, NULL);
	for (struct symbols_module *m = f->modules; m && (!best || best->declaration); m = m->next)
		if (m != first)
			best = module_type_find(m, name, kind, best);
	return best;
}

const struct symbols_type *symbols_type_find(struct symbols *s, const char *name,
					     const struct symbols_module *first)
{
	static const struct {
		const char *word;
		enum symbols_type_kind kind;
	} words[] = {
		{ "struct ", SYMBOLS_T_STRUCT },
		{ "class ", SYMBOLS_T_CLASS },
		{ "union ", SYMBOLS_T_UNION },
		{ "enum ", SYMBOLS_T_ENUM },
	};
	enum symbols_type_kind kind = SYMBOLS_T_OTHER;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(name, words[i].word, strlen(words[i].word))) {
			name += strlen(words[i].word);
			kind = words[i].kind;
		}
	space_loaded(s);
	return family_type_find(s->family, name, kind, (struct symbols_module *)(uintptr_t)first);
}

static const struct symbols_type *type_definition(const struct symbols_type *t)
{
	struct symbols_type *x = lazy(t);

	if (!t->definition_ready) {
		struct symbols_module *m = t->cu->dw->module;
		const char *scope = cu_scope_name(t->cu, cu_scope_at(t->cu, t->off));
		char name[1024];

		x->definition_ready = true;
		x->definition = t;
		if (t->plain) {
			const struct symbols_type *found;

			snprintf(name, sizeof(name), "%s%s", scope, t->plain);
			found = family_type_find(
				m->family, name,
				t->kind == SYMBOLS_T_STRUCT ? SYMBOLS_T_CLASS : t->kind, m);
			if (found && !found->declaration)
				x->definition = found;
		}
	}
	return t->definition;
}

const struct symbols_type *symbols_type_strip(const struct symbols_type *t)
{
	for (int i = 0; t && i < MAX_CHAIN; i++) {
		if (t->kind != SYMBOLS_T_TYPEDEF && t->kind != SYMBOLS_T_QUALIFIED)
			return t->declaration && type_definition(t) ? t->definition : t;
		t = symbols_type_target(t);
	}
	return NULL;
}

/* ---- members --------------------------------------------------------------------------------- */

/* DWARF 2 to 4: bits are counted from the upper end of a word that is at m->offset. */
static void bits_from_above(const struct die *die, struct symbols_member *m)
{
	uint64_t above, word;
	int64_t bit;

	if (!m->bit_size || !die_uint(die, IX_A_bit_offset, &above))
		return;
	if (!die_uint(die, IX_A_byte_size, &word))
		word = symbols_type_size(die_type(die));
	bit = (int64_t)(m->offset * 8 + word * 8 - above - m->bit_size);
	m->offset = (uint64_t)(bit >> 3);
	m->bit_offset = (unsigned)(bit & 7);
}

/* False: it has no place in the object (static member, virtual base). */
static bool member_offset(const struct die *die, struct symbols_member *m)
{
	const uint64_t zero = 0;
	bool virtual = false;
	struct location l;
	struct span expr;
	uint64_t v;

	m->offset = 0;
	if (die_uint(die, IX_A_virtuality, &v))
		virtual = v != 0;
	/* readers have room for this: a wider one is a lie, or no number */
	if (die_uint(die, IX_A_bit_size, &v) && v <= 64)
		m->bit_size = (unsigned)v;
	if (die_uint(die, IX_A_data_bit_offset, &v)) {
		m->offset = v / 8;
		m->bit_offset = v % 8;
		return true;
	}
	if (die_block(die, IX_A_member_expr, &expr)) {
		if (!expr_eval(expr, &(struct expr_env){ 0 }, &zero, &l))
			return false;
		m->offset = l.value;
		bits_from_above(die, m);
		return !virtual;
	}
	if (die_uint(die, IX_A_data_member_location, &v))
		m->offset = v;
	bits_from_above(die, m);
	return !die_flag(die, IX_FLAG_EXTERNAL) && !virtual;
}

static size_t members_read(const struct symbols_type *t, struct symbols_member *ret, size_t max,
			   bool bases)
{
	struct die die, child;
	size_t n = 0;

	if (!die_read(t->cu, t->off, &die) || !die.children)
		return 0;
	for (uint32_t off = die.next; die_read(t->cu, off, &child) && child.tag;
	     off = die_sibling(&child)) {
		struct symbols_member m = { 0 };
		uint64_t virtual;

		if (bases && child.tag == DW_TAG_inheritance &&
		    die_uint(&child, IX_A_virtuality, &virtual) && virtual)
			lazy(t)->virtual_bases = true;
		if (child.tag != (bases ? DW_TAG_inheritance : DW_TAG_member) || n >= MAX_MEMBERS ||
		    !member_offset(&child, &m))
			continue;
		if (n < max) {
			m.type = die_type(&child);
			m.name = bases ? symbols_type_name(m.type) : die_str(&child, IX_A_name);
			m.base = bases;
			ret[n] = m;
		}
		n++;
	}
	return n;
}

/* libstdc++ keeps elements in bytes: __aligned_membuf<T> and __aligned_buffer<T> hold a T. */
static const struct symbols_type *stored_type(const struct symbols_type *t)
{
	struct die die, child;

	if (!t->plain ||
	    (strncmp(t->plain, "__aligned_membuf<", 17) &&
	     strncmp(t->plain, "__aligned_buffer<", 17)) ||
	    !die_read(t->cu, t->off, &die) || !die.children)
		return NULL;
	for (uint32_t off = die.next; die_read(t->cu, off, &child) && child.tag;
	     off = die_sibling(&child))
		if (child.tag == DW_TAG_template_type_parameter)
			return die_type(&child);
	return NULL;
}

static void members_make(struct symbols_type *t)
{
	struct arena *a = &t->cu->dw->module->family->arena;
	const struct symbols_type *stored = stored_type(t);
	size_t bases = stored ? 0 : members_read(t, NULL, 0, true),
	       n = stored ? 1 : bases + members_read(t, NULL, 0, false);

	t->members_ready = true;
	t->member = n ? arena_alloc(a, n * sizeof(*t->member)) : NULL;
	if (!t->member)
		return;
	t->n_members = n;
	if (stored) {
		t->member[0] = (struct symbols_member){ .type = stored };
		return;
	}
	members_read(t, t->member, bases, true);
	members_read(t, t->member + bases, n - bases, false);
}

const struct symbols_member *symbols_type_members(const struct symbols_type *t, size_t *n_ret)
{
	t = symbols_type_strip(t);
	*n_ret = 0;
	if (!t || (t->kind != SYMBOLS_T_STRUCT && t->kind != SYMBOLS_T_CLASS &&
		   t->kind != SYMBOLS_T_UNION))
		return NULL;
	if (!t->members_ready)
		members_make(lazy(t));
	*n_ret = t->n_members;
	return t->member;
}

bool type_has_virtual_bases(const struct symbols_type *t)
{
	size_t n;

	symbols_type_members(t, &n);
	t = symbols_type_strip(t);
	return t && t->virtual_bases;
}
