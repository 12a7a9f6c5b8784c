/*
 * index.c - one pass over a unit: functions, variables, types, scopes; and address to function with inlined frames.
 */
#include <stdio.h>

#include "symbols/dwarf.h"

enum { MAX_DEPTH = 256 };

bool is_cplusplus(const struct cu *cu)
{
	switch (cu->language) {
	case 0x04: case 0x1a: case 0x21: case 0x2b: return true;	/* C++ 98, 11, 14, 20 */
	}
	return false;
}

/* ---- a unit --------------------------------------------------------------------------------------------- */

struct pass {
	struct cu *cu;
	const struct die *die;
};

static void pass_func(void *ctx, uint64_t start, uint64_t end)
{
	struct pass *p = ctx;
	struct cu *cu = p->cu;

	/* Functions that the linker dropped stand at 0 or -1. */
	if (elf_executable(&cu->dw->module->elf, start) && grow(&cu->func, &cu->cap_func, cu->n_func + 1, sizeof(*cu->func)))
		cu->func[cu->n_func++] = (struct func){ start, end, p->die->off };
}

static void pass_var(struct cu *cu, const struct die *die)
{
	struct expr_env env = { .cu = cu };
	struct location l;
	struct span expr;

	if (!die_block(die, A_location, &expr) || !expr.n)
		return;
	/* addr, addrx, GNU_addr_index, const8u (thread-local), constx: not a place relative to registers */
	if (expr.p[0] != 0x03 && expr.p[0] != 0xa1 && expr.p[0] != 0xfb && expr.p[0] != 0x0e && expr.p[0] != 0xa2 &&
	    expr.p[0] != 0xfc && expr.p[0] != 0x0c)
		return;
	if (!expr_eval(expr, &env, NULL, &l) || (l.kind != LOC_MEMORY && l.kind != LOC_TLS))
		return;
	if (l.kind == LOC_MEMORY && !elf_segment(&cu->dw->module->elf, l.value))
		return;
	if (grow(&cu->var, &cu->cap_var, cu->n_var + 1, sizeof(*cu->var)))
		cu->var[cu->n_var++] = (struct var){ l.value, die->off, l.kind == LOC_TLS };
}

/* The last part of "ns::Cache<a::b>" is "Cache<a::b>": names of entries are that already. */
static void pass_type(struct cu *cu, const struct die *die)
{
	const char *name = die_str(die, A_name);

	if (!name || !grow(&cu->type, &cu->cap_type, cu->n_type + 1, sizeof(*cu->type)))
		return;
	cu->type[cu->n_type++] = (struct named_type){ hash_str(name, strlen(name)), die_flag(die, A_declaration), die->off };
}

static bool is_scope(uint16_t tag)
{
	return tag == TAG_namespace || tag == TAG_structure_type || tag == TAG_class_type || tag == TAG_union_type ||
	       tag == TAG_enumeration_type || tag == TAG_subprogram || tag == TAG_interface_type;
}

static int32_t pass_scope(struct cu *cu, const struct die *die, int32_t parent)
{
	struct scope s = { die->off, cu->end, parent, die->tag, die_str(die, A_name) };

	if (cu->n_scope >= INT32_MAX / 2 || !grow(&cu->scope, &cu->cap_scope, cu->n_scope + 1, sizeof(s)))
		return parent;
	cu->scope[cu->n_scope++] = s;
	return (int32_t)cu->n_scope - 1;
}

static void pass_die(struct cu *cu, const struct die *die)
{
	switch (die->tag) {
	case TAG_subprogram:
		die_ranges(die, pass_func, &(struct pass){ cu, die });
		break;
	case TAG_variable:
		pass_var(cu, die);
		break;
	case TAG_structure_type: case TAG_class_type: case TAG_union_type: case TAG_enumeration_type: case TAG_typedef:
	case TAG_base_type: case TAG_interface_type:
		pass_type(cu, die);
		break;
	}
}

static int func_compare(const void *a, const void *b)
{
	const struct func *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

void cu_index(struct cu *cu)
{
	int32_t stack[MAX_DEPTH], scope = -1;
	struct die die;
	int depth = 0;

	if (cu->indexed)
		return;
	cu->indexed = true;
	if (!cu_ready(cu))
		return;
	for (uint64_t off = cu->die; die_read(cu, off, &die); off = die.next) {
		if (!die.tag) {
			if (--depth <= 0)
				break;
			if (stack[depth] != scope) {
				cu->scope[scope].end = die.next;
				scope = stack[depth];
			}
			continue;
		}
		pass_die(cu, &die);
		if (!die.children)
			continue;
		if (depth == MAX_DEPTH)
			break;
		stack[depth++] = scope;
		if (is_scope(die.tag))
			scope = pass_scope(cu, &die, scope);
	}
	if (cu->n_func)
		qsort(cu->func, cu->n_func, sizeof(*cu->func), func_compare);
}

const struct func *cu_func_at(struct cu *cu, uint64_t vaddr)
{
	size_t lo = 0, hi;

	cu_index(cu);
	for (hi = cu->n_func; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (cu->func[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo, tries = 0; i-- > 0 && tries < 16; tries++)
		if (vaddr < cu->func[i].end)
			return &cu->func[i];
	return NULL;
}

int32_t cu_scope_at(struct cu *cu, uint64_t off)
{
	size_t lo = 0, hi;
	int32_t i;

	cu_index(cu);
	for (hi = cu->n_scope; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (cu->scope[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (i = (int32_t)lo - 1; i >= 0 && off >= cu->scope[i].end; i = cu->scope[i].parent)
		;
	return i;
}

const char *cu_scope_name(struct cu *cu, int32_t scope)
{
	const char *part[32];
	char text[1024];
	size_t n = 0, len = 0;
	char *copy;

	for (; scope >= 0 && n < 32; scope = cu->scope[scope].parent) {
		const struct scope *s = &cu->scope[scope];

		if (s->tag == TAG_subprogram)	/* local types are found by their own name */
			break;
		part[n++] = s->name ? s->name : s->tag == TAG_namespace ? "(anonymous namespace)" : "{anonymous}";
	}
	if (!n)
		return "";
	while (n-- > 0 && len < sizeof(text))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s::", part[n]);
	copy = arena_strn(&cu->dw->module->family->arena, text, strlen(text));
	return copy ? copy : "";
}

/* ---- a module --------------------------------------------------------------------------------------------- */

struct ranging {
	struct dwarf *d;
	uint32_t cu;
	bool any;
};

static void add_range(void *ctx, uint64_t start, uint64_t end)
{
	struct ranging *r = ctx;

	r->any = true;
	if (elf_executable(&r->d->module->elf, start) &&
	    grow(&r->d->range, &r->d->cap_range, r->d->n_range + 1, sizeof(*r->d->range)))
		r->d->range[r->d->n_range++] = (struct cu_range){ start, end, r->cu };
}

static int range_compare(const void *a, const void *b)
{
	const struct cu_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void dwarf_index_ranges(struct dwarf *d)
{
	d->ranges_ready = true;
	for (size_t i = 0; i < d->n_info; i++) {
		struct ranging r = { d, (uint32_t)i, false };
		struct die root;

		if (!cu_ready(&d->cu[i]) || !die_read(&d->cu[i], d->cu[i].die, &root))
			continue;
		die_ranges(&root, add_range, &r);
		if (r.any || root.tag == TAG_partial_unit)
			continue;
		/* A unit that does not say (assemblers, old tools): by its functions. */
		cu_index(&d->cu[i]);
		for (size_t k = 0; k < d->cu[i].n_func; k++)
			add_range(&r, d->cu[i].func[k].start, d->cu[i].func[k].end);
	}
	if (d->n_range)
		qsort(d->range, d->n_range, sizeof(*d->range), range_compare);
}

struct cu *dwarf_cu_at(struct dwarf *d, uint64_t vaddr)
{
	size_t lo = 0, hi;

	if (!d->ranges_ready)
		dwarf_index_ranges(d);
	for (hi = d->n_range; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->range[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo, tries = 0; i-- > 0 && tries < 8; tries++)
		if (vaddr < d->range[i].end)
			return &d->cu[d->range[i].cu];
	return NULL;
}

static int var_compare(const void *a, const void *b)
{
	const struct var_ref *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int type_compare(const void *a, const void *b)
{
	const struct type_ref *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->declaration != y->declaration)
		return x->declaration - y->declaration;
	return x->off < y->off ? -1 : x->off > y->off;
}

void dwarf_index_all(struct dwarf *d)
{
	if (d->all_ready)
		return;
	d->all_ready = true;
	for (size_t i = 0; i < d->n_cu; i++) {
		struct cu *cu = &d->cu[i];

		cu_index(cu);
		for (size_t k = 0; k < cu->n_var; k++) {
			struct var_ref v = { cu->var[k].addr, 0, cu, cu->var[k].off };

			if (!cu->var[k].tls && grow(&d->var, &d->cap_var, d->n_var + 1, sizeof(v)))
				d->var[d->n_var++] = v;
			else if (cu->var[k].tls && grow(&d->tls, &d->cap_tls, d->n_tls + 1, sizeof(v)))
				d->tls[d->n_tls++] = v;
		}
		for (size_t k = 0; k < cu->n_type; k++)
			if (grow(&d->type, &d->cap_type, d->n_type + 1, sizeof(*d->type)))
				d->type[d->n_type++] = (struct type_ref){ cu->type[k].hash, cu->type[k].declaration, cu,
									  cu->type[k].off };
	}
	if (d->n_var)
		qsort(d->var, d->n_var, sizeof(*d->var), var_compare);
	if (d->n_tls)
		qsort(d->tls, d->n_tls, sizeof(*d->tls), var_compare);
	if (d->n_type)
		qsort(d->type, d->n_type, sizeof(*d->type), type_compare);
}

/* ---- address to function -------------------------------------------------------------------------------------- */

const char *die_qualify(const struct die *die, const char *name)
{
	const char *scope = is_cplusplus(die->cu) || die->cu->language == LANG_RUST ? cu_scope_name(die->cu, cu_scope_at(die->cu, die->off)) : "";
	size_t n = strlen(scope);
	char *text = n ? arena_alloc(&die->cu->dw->module->family->arena, n + strlen(name) + 1) : NULL;

	if (!text)
		return name;
	memcpy(text, scope, n);
	memcpy(text + n, name, strlen(name));
	shorten_templates(text);
	return text;
}

const char *die_function_name(const struct die *die, const char **linkage_ret)
{
	struct family *f = die->cu->dw->module->family;
	const char *linkage = NULL, *name = NULL;
	struct die holder;

	if (die_find(die, A_linkage_name, &holder))
		linkage = die_str(&holder, A_linkage_name);
	if (linkage) {
		name = family_demangle(f, linkage);
		if (linkage_ret)
			*linkage_ret = linkage;
		if (name != linkage && strcmp(name, linkage))
			return name;
	}
	if (die_find(die, A_name, &holder))
		name = die_str(&holder, A_name);
	return name ? die_qualify(&holder, name) : NULL;
}

bool die_inlined_child(const struct die *die, uint64_t pc, struct die *ret)
{
	uint64_t off = die->next;

	if (!die->children)
		return false;
	while (die_read(die->cu, off, ret) && ret->tag) {
		if ((ret->tag == TAG_inlined_subroutine || ret->tag == TAG_lexical_block) && die_covers(ret, pc))
			return true;
		off = die_sibling(ret);
	}
	return false;
}

static void frame_call_site(const struct die *inlined, struct symbols_frame *f)
{
	uint64_t v;

	if (die_uint(inlined, A_call_file, &v))
		f->file = cu_file(inlined->cu, v);
	if (die_uint(inlined, A_call_line, &v))
		f->line = (unsigned)v;
	if (die_uint(inlined, A_call_column, &v))
		f->column = (unsigned)v;
}

static void first_range(void *ctx, uint64_t start, uint64_t end)
{
	struct func *f = ctx;

	if (!f->end)
		*f = (struct func){ start, end, 0 };
}

/* From the function inwards, then turned round. */
static size_t lookup_frames(struct cu *cu, const struct func *func, uint64_t vaddr, struct symbols_frame *ret, size_t max)
{
	struct func whole = { 0 };
	struct die die, child;
	size_t n = 0;

	if (!die_read(cu, func->off, &die))
		return 0;
	die_ranges(&die, first_range, &whole);
	ret[n] = (struct symbols_frame){ .start = whole.start, .size = whole.end - whole.start, .source = SYMBOLS_DWARF };
	ret[n].function = die_function_name(&die, &ret[n].linkage);
	n++;
	for (int depth = 0; depth < MAX_DEPTH && n < max && die_inlined_child(&die, vaddr, &child); depth++) {
		if (child.tag == TAG_inlined_subroutine) {
			frame_call_site(&child, &ret[n - 1]);
			ret[n] = ret[0];
			ret[n].inlined = true;
			ret[n].file = NULL;
			ret[n].linkage = NULL;
			ret[n].function = die_function_name(&child, &ret[n].linkage);
			n++;
		}
		die = child;
	}
	cu_line_at(cu, vaddr, &ret[n - 1].file, &ret[n - 1].line, &ret[n - 1].column);
	for (size_t i = 0; i < n / 2; i++) {
		struct symbols_frame t = ret[i];

		ret[i] = ret[n - 1 - i];
		ret[n - 1 - i] = t;
	}
	return n;
}

size_t dwarf_lookup(struct symbols_module *m, uint64_t vaddr, struct symbols_frame *ret, size_t max)
{
	struct dwarf *d = module_dwarf(m);
	struct cu *cu = d ? dwarf_cu_at(d, vaddr) : NULL;
	const struct func *f;

	if (!cu)
		return 0;
	f = cu_func_at(cu, vaddr);
	if (f)
		return lookup_frames(cu, f, vaddr, ret, max);
	/* Assembly: lines without functions. */
	*ret = (struct symbols_frame){ 0 };
	return cu_line_at(cu, vaddr, &ret->file, &ret->line, &ret->column);
}
