/*
 * variable.c - globals, statics, thread-local variables, locals and parameters; the class of a C++
 * object.
 */
#include <stdio.h>

#include "symbols/entry.h"

/* ---- globals --------------------------------------------------------------------------------- */

/* "ns::cache"; for a static in a function its plain name and the function's. */
static void variable_name(const struct die *die, struct symbols_variable *ret)
{
	struct die holder;
	const char *linkage = NULL;
	int32_t scope = cu_scope_at(die->cu, die->off);

	if (die_find(die, IX_A_name, &holder))
		ret->name = die_str(&holder, IX_A_name);
	for (int32_t i = scope; i >= 0;
	     i = die->cu->scope[i].parent < i ? die->cu->scope[i].parent : -1)
		if (die->cu->scope[i].tag == DW_TAG_subprogram) {
			struct die func;

			if (die_read(die->cu, die->cu->scope[i].entry, &func))
				ret->function = die_function_name(&func, NULL);
			return;
		}
	if (die_find(die, IX_A_linkage_name, &holder))
		linkage = die_str(&holder, IX_A_linkage_name);
	if (linkage && is_mangled(linkage))
		ret->name = family_demangle(die->cu->dw->module->family, linkage);
	else if (ret->name && die_find(die, IX_A_name, &holder))
		ret->name = die_qualify(&holder, ret->name);
}

bool variable_fill(struct symbols_module *m, const struct die *die, struct symbols_variable *ret)
{
	struct die holder;
	uint64_t v;

	*ret = (struct symbols_variable){ .reg = -1, .module = m };
	variable_name(die, ret);
	ret->type = die_type(die);
	ret->size = symbols_type_size(ret->type);
	if (die_find(die, IX_A_decl_file, &holder))
		ret->file = die_str(&holder, IX_A_decl_file);
	if (die_find(die, IX_A_decl_line, &holder) && die_uint(&holder, IX_A_decl_line, &v))
		ret->line = (unsigned)v;
	return ret->name != NULL;
}

/* A table of variables (IX_VARIABLES, IX_TLS) and the sizes that were asked for. */
struct var_table {
	struct dwarf *d;
	const struct ix_variable *v;
	size_t n;
	uint64_t *size;
	bool tls;
};

static struct var_table var_table(struct dwarf *d, bool tls)
{
	struct var_table t = { .d = d, .tls = tls };
	uint64_t **size = tls ? &d->tls_size : &d->var_size;

	t.v = index_array(d->ix, tls ? IX_TLS : IX_VARIABLES, sizeof(*t.v), &t.n);
	if (!*size && t.n)
		*size = calloc(t.n, sizeof(**size));
	t.size = *size;
	if (!t.size)
		t.n = 0;
	return t;
}

static bool var_die(const struct var_table *t, size_t i, struct die *ret)
{
	return t->v[i].unit < t->d->n_cu && die_read(&t->d->cu[t->v[i].unit], t->v[i].entry, ret);
}

/* The variable of t that holds addr. */
static bool var_find(struct symbols_module *m, const struct var_table *t, uint64_t addr,
		     struct symbols_variable *ret, uint64_t *at_ret)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo, tries = 0; i-- > 0 && tries < 16; tries++) {
		struct die die;

		/* The size is asked for once: it needs the type. */
		if (!t->size[i] && var_die(t, i, &die)) {
			const struct sym *sym;

			/*
			 * clang leaves out classes that another unit describes: then the symbol
			 * knows.
			 */
			t->size[i] = symbols_type_size(die_type(&die));
			sym = t->size[i] || t->tls ? NULL : symtab_data_at(m, t->v[i].addr);
			if (sym && sym->addr == t->v[i].addr)
				t->size[i] = sym->size;
			t->size[i] = t->size[i] ? t->size[i] : 1;
		}
		if (addr - t->v[i].addr >= t->size[i] || !var_die(t, i, &die) ||
		    !variable_fill(m, &die, ret))
			continue;
		*at_ret = t->v[i].addr;
		ret->size = t->size[i];
		return true;
	}
	return false;
}

static void sym_variable(struct symbols_module *m, const struct sym *s,
			 struct symbols_variable *ret)
{
	*ret = (struct symbols_variable){ .name = family_demangle(m->family, s->name),
					  .addr = s->addr,
					  .size = s->size,
					  .reg = -1,
					  .known = true,
					  .module = m };
}

bool symbols_variable_at(struct symbols *s, uint64_t addr, struct symbols_variable *ret)
{
	uint64_t bias, at;
	struct symbols_module *m = space_module(s, addr, &bias);
	struct dwarf *d = m ? module_dwarf(m) : NULL;
	const struct sym *sym;

	if (!m)
		return false;
	if (d) {
		struct var_table t = var_table(d, false);

		if (var_find(m, &t, addr - bias, ret, &at)) {
			ret->addr = at + bias;
			ret->known = true;
			return true;
		}
	}
	sym = symtab_data_at(m, addr - bias);
	if (!sym)
		return false;
	sym_variable(m, sym, ret);
	ret->addr += bias;
	return true;
}

void symbols_variables(struct symbols *s, bool (*fn)(void *ctx, const struct symbols_variable *v),
		       void *ctx)
{
	size_t n = space_loaded(s);

	for (size_t i = 0; i < n; i++) {
		struct symbols_module *m = s->loaded[i].module;
		uint64_t bias = s->loaded[i].bias;
		struct dwarf *d = module_dwarf(m);
		struct var_table t;

		if (!d)
			continue;
		t = var_table(d, false);
		for (size_t k = 0; k < t.n; k++) {
			struct symbols_variable v;
			struct die die;

			if (!var_die(&t, k, &die) || !variable_fill(m, &die, &v))
				continue;
			v.addr = t.v[k].addr + bias;
			v.known = true;
			if (!fn(ctx, &v))
				return;
		}
	}
}

/* ---- locals ---------------------------------------------------------------------------------- */

struct locals {
	struct symbols_module *module;
	struct expr_env env;
	uint64_t pc;		/* in the file's addresses */
	bool (*fn)(void *ctx, const struct symbols_variable *v);
	void *ctx;
	bool stop;
	const char *function;
};

/* How many elements a dimension has here. */
static bool count_here(void *ctx, const struct die *range, uint64_t *ret)
{
	struct locals *l = ctx;
	struct location place;
	struct span expr;
	struct ref ref;
	struct die of;
	enum ix_attr a = IX_A_bound_expr;

	of = *range;
	if (die_ref(range, IX_A_discr, &ref)) {
		if (!die_read(ref.cu, ref.off, &of))
			return false;
		a = IX_A_location;
	}
	*ret = 0;
	if (!die_location(&of, a, l->pc, &expr) || !expr_eval(expr, &l->env, NULL, &place))
		return false;
	*ret = place.value;
	if (a == IX_A_location && place.kind == LOC_REG) {
		if (place.value >= SYMBOLS_REGS || !(l->env.regs->known & 1u << place.value))
			return false;
		*ret = l->env.regs->r[place.value];
	} else if (a == IX_A_location && place.kind == LOC_MEMORY) {
		const struct symbols_type *t = die_type(&of);
		uint64_t size = t ? symbols_type_size(t) : 8;

		if (size > sizeof(*ret) || !mem_read(l->env.mem, place.value, ret, size))
			return false;
	}
	*ret += !die_flag(range, IX_FLAG_COUNT);
	return true;
}

static void local_place(struct locals *l, const struct die *die, struct symbols_variable *v)
{
	struct location place;
	struct span expr;
	struct die holder;

	v->is_value = die_find(die, IX_A_const_value, &holder) &&
		      die_uint(&holder, IX_A_const_value, &v->value);
	if (!die_find(die, IX_A_location, &holder) ||
	    !die_location(&holder, IX_A_location, l->pc, &expr) ||
	    !expr_eval(expr, &l->env, NULL, &place))
		return;
	if (place.kind == LOC_REG && place.value < SYMBOLS_REGS) {
		v->reg = (int)place.value;
		v->known = true;
	} else if (place.kind == LOC_MEMORY) {
		v->addr = place.value;
		v->known = true;
	} else if (place.kind == LOC_VALUE) {
		v->value = place.value;
		v->is_value = true;
	}
}

/*
 * Variables of this block; then those of the blocks in it at pc are asked first, because they are
 * innermost.
 */
static void locals_in(struct locals *l, const struct die *block, int depth)
{
	/* each `let' of Rust begins a block, in the one before */
	enum { DEPTH_MAX = 2000 };
	const char *function = l->function;
	struct die child;

	if (!block->children || depth > DEPTH_MAX)
		return;
	for (uint32_t off = block->next; die_read(block->cu, off, &child) && child.tag && !l->stop;
	     off = die_sibling(&child)) {
		if (child.tag != DW_TAG_lexical_block && child.tag != DW_TAG_inlined_subroutine)
			continue;
		if (!die_covers(&child, l->pc))
			continue;
		if (child.tag == DW_TAG_inlined_subroutine)
			l->function = die_function_name(&child, NULL);
		locals_in(l, &child, depth + 1);
		l->function = function;
	}
	for (uint32_t off = block->next; die_read(block->cu, off, &child) && child.tag && !l->stop;
	     off = die_sibling(&child)) {
		struct symbols_variable v;

		if ((child.tag != DW_TAG_variable && child.tag != DW_TAG_formal_parameter) ||
		    !variable_fill(l->module, &child, &v))
			continue;
		v.function = l->function;
		v.parameter = child.tag == DW_TAG_formal_parameter;
		local_place(l, &child, &v);
		if (l->env.mem) {
			v.type = type_measured(v.type, count_here, l);
			v.size = symbols_type_size(v.type);
		}
		l->stop = !l->fn(l->ctx, &v);
	}
}

void symbols_locals(struct symbols *s, const struct symbols_regs *regs,
		    const struct symbols_memory *mem, uint64_t cfa,
		    bool (*fn)(void *ctx, const struct symbols_variable *v), void *ctx)
{
	uint64_t bias, pc = regs->r[SYMBOLS_RIP];
	struct symbols_module *m = space_module(s, pc, &bias);
	struct dwarf *d = m ? module_dwarf(m) : NULL;
	struct cu *cu = NULL;
	const struct ix_function *f = d ? dwarf_function_at(d, pc - bias, &cu) : NULL;
	struct locals l = { .module = m, .pc = pc - bias, .fn = fn, .ctx = ctx,
			    .env = { .regs = regs, .mem = mem, .cfa = cfa, .bias = bias } };
	struct die die;

	if (!f || !die_read(cu, f->entry, &die))
		return;
	l.function = die_function_name(&die, NULL);
	die_location(&die, IX_A_frame_base, l.pc, &l.env.frame_base);
	locals_in(&l, &die, 0);
}

/* ---- thread-local ---------------------------------------------------------------------------- */

static const Elf64_Phdr *tls_segment(const struct symbols_module *m)
{
	for (size_t i = 0; i < m->elf.n_phdr; i++)
		if (m->elf.phdr[i].p_type == PT_TLS && m->elf.phdr[i].p_memsz)
			return &m->elf.phdr[i];
	return NULL;
}

/* Only programs have DT_DEBUG (libc.so.6 has PT_INTERP, too). */
static bool is_main(struct symbols_module *m)
{
	struct span dyn = elf_section(&m->elf, SEC_DYNAMIC);

	for (struct cursor c = cursor_at(dyn, 0); cursor_left(&c) >= 16;) {
		uint64_t tag = cursor_u64(&c);

		cursor_u64(&c);
		if (tag == DT_DEBUG)
			return true;
	}
	return m->elf.type == ET_EXEC;
}

/*
 * Modules with thread-local storage in the order of the loader's list, which is the order of their
 * numbers in the thread's vector (dtv).  The list is r_debug's, through DT_DEBUG of the program.
 */
static size_t link_map_order(struct symbols *s, const struct loaded *exe,
			     const struct symbols_memory *mem, const struct loaded **ret,
			     size_t max)
{
	struct span dyn = elf_section(&exe->module->elf, SEC_DYNAMIC);
	uint64_t addr = exe->module->elf.sec[SEC_DYNAMIC].addr + exe->bias, debug = 0, map = 0;
	size_t n = 0;

	for (size_t i = 0; i < dyn.n / 16 && !debug; i++) {
		uint64_t entry[2];

		if (!mem_read(mem, addr + i * 16, entry, 16) || entry[0] == DT_NULL)
			break;
		if (entry[0] == DT_DEBUG)
			debug = entry[1];
	}
	if (!debug || !mem_read(mem, debug + 8, &map, 8))
		return 0;
	for (unsigned guard = 0; map && guard < 10000; guard++) {
		uint64_t l_addr, next;

		if (!mem_read(mem, map, &l_addr, 8) || !mem_read(mem, map + 24, &next, 8))
			break;
		for (size_t i = 0; i < s->n_loaded && n < max; i++)
			if (s->loaded[i].bias == l_addr && tls_segment(s->loaded[i].module))
				ret[n++] = &s->loaded[i];
		map = next;
	}
	return n;
}

static uint64_t round_up(uint64_t v, uint64_t align)
{
	return align > 1 && !(align & (align - 1)) ? (v + align - 1) & ~(align - 1) : v;
}

/* The program's own block lies right below the thread pointer. */
static struct symbols_tls_block exe_block(const struct loaded *exe, const Elf64_Phdr *ph,
					  uint64_t fs_base)
{
	uint64_t size = round_up(ph->p_memsz, ph->p_align);
	uint64_t start = fs_base - size;

	return (struct symbols_tls_block){ start, ph->p_memsz, exe->module };
}

static bool glibc_dtv(struct symbols *s)
{
	for (size_t i = 0; i < s->n_loaded; i++) {
		const char *name = strrchr(s->loaded[i].module->name, '/');

		if (name && strstr(name, "ld-musl"))
			return false;
	}
	return true;
}

size_t symbols_tls_blocks(struct symbols *s, uint64_t fs_base, const struct symbols_memory *mem,
			  struct symbols_tls_block *ret, size_t max)
{
	const struct loaded *order[256], *exe = NULL;
	size_t n = 0, n_order, entry;
	uint64_t dtv = 0;

	for (size_t i = 0, all = space_loaded(s); i < all && !exe; i++)
		if (is_main(s->loaded[i].module))
			exe = &s->loaded[i];
	if (!exe || !fs_base)
		return 0;
	if (tls_segment(exe->module)) {
		if (n < max)
			ret[n] = exe_block(exe, tls_segment(exe->module), fs_base);
		n++;
	}
	n_order = link_map_order(s, exe, mem, order, 256);
	entry = glibc_dtv(s) ? 16 : 8;
	if (!n_order || !mem_read(mem, fs_base + 8, &dtv, 8))
		return n;
	for (size_t i = 0; i < n_order; i++) {
		struct symbols_tls_block b = { 0, tls_segment(order[i]->module)->p_memsz,
					       order[i]->module };

		/* All ones: not used by this thread yet. */
		if (order[i] == exe || !mem_read(mem, dtv + (i + 1) * entry, &b.start, 8) ||
		    !b.start || b.start == UINT64_MAX)
			continue;
		if (n < max)
			ret[n] = b;
		n++;
	}
	return n;
}

bool symbols_tls_variable_at(struct symbols *s, const struct symbols_tls_block *block,
			     uint64_t addr, struct symbols_variable *ret)
{
	struct symbols_module *m = (struct symbols_module *)(uintptr_t)block->module;
	struct dwarf *d = module_dwarf(m);
	const struct sym *sym;
	uint64_t at;

	(void)s;
	if (addr - block->start >= block->size)
		return false;
	if (d) {
		struct var_table t = var_table(d, true);

		if (var_find(m, &t, addr - block->start, ret, &at)) {
			ret->addr = at + block->start;
			ret->known = ret->tls = true;
			return true;
		}
	}
	sym = symtab_tls_at(m, addr - block->start);
	if (!sym)
		return false;
	sym_variable(m, sym, ret);
	ret->addr += block->start;
	ret->tls = true;
	return true;
}

/* Calls fn until it returns false; true when it did. */
static bool block_variables(const struct symbols_tls_block *b,
			    bool (*fn)(void *ctx, const struct symbols_variable *v), void *ctx)
{
	struct symbols_module *m = (struct symbols_module *)(uintptr_t)b->module;
	struct dwarf *d = module_dwarf(m);
	struct var_table t = { 0 };

	if (d)
		t = var_table(d, true);
	for (size_t i = 0; i < t.n; i++) {
		struct symbols_variable v;
		struct die die;

		if (!var_die(&t, i, &die) || !variable_fill(m, &die, &v))
			continue;
		v.addr = b->start + t.v[i].addr;
		v.known = v.tls = true;
		if (!fn(ctx, &v))
			return true;
	}
	return false;
}

void symbols_tls_variables(struct symbols *s, uint64_t fs_base, const struct symbols_memory *mem,
			   bool (*fn)(void *ctx, const struct symbols_variable *v), void *ctx)
{
	struct symbols_tls_block block[64];
	size_t n = symbols_tls_blocks(s, fs_base, mem, block, 64);

	for (size_t i = 0; i < n && i < 64; i++)
		if (block_variables(&block[i], fn, ctx))
			return;
}

struct wanted {
	const char *name;
	struct symbols_variable *ret;
	bool found;
};

static bool is_wanted(void *ctx, const struct symbols_variable *v)
{
	struct wanted *w = ctx;

	if (strcmp(v->name, w->name))
		return true;
	*w->ret = *v;
	w->found = true;
	return false;
}

bool variable_in_thread(struct symbols *s, const char *name, const struct symbols_regs *regs,
			const struct symbols_memory *mem, struct symbols_variable *ret)
{
	struct symbols_tls_block block[64];
	struct symbols_found found[8];
	struct wanted w = { name, ret, false };
	size_t n = regs && regs->fs_base ? symbols_tls_blocks(s, regs->fs_base, mem, block, 64) : 0,
	       syms;

	n = n < 64 ? n : 64;
	for (size_t i = 0; i < n; i++)
		if (block_variables(&block[i], is_wanted, &w))
			return w.found;
	syms = n ? symbols_find(s, name, SYMBOLS_TLS, found, 8) : 0;
	for (size_t k = 0; k < syms && k < 8; k++)
		for (size_t i = 0; i < n; i++)
			if (block[i].module == found[k].module)
				return symbols_tls_variable_at(s, &block[i],
							       block[i].start + found[k].addr, ret);
	return false;
}

/* ---- vtables --------------------------------------------------------------------------------- */

/* "vtable for X", "typeinfo name for X": the X, as DWARF has it; the caller frees the whole. */
static char *special_name(const char *mangled, const char *prefix, const char **class_ret)
{
	char *text = demangle_full(mangled);

	if (!text || strncmp(text, prefix, strlen(prefix))) {
		free(text);
		return NULL;
	}
	*class_ret = text + strlen(prefix);
	return text;
}

/*
 * Without symbols: vptr[-1] is the type_info, whose second word is the mangled name without _ZTS.
 */
static char *class_by_typeinfo(struct symbols *s, uint64_t vptr, const struct symbols_memory *mem,
			       const char **class_ret)
{
	uint64_t info, name;
	char text[512] = "_ZTS";
	size_t n = 4;

	if (!mem_read(mem, vptr - 8, &info, 8) || !symbols_module_at(s, info, NULL) ||
	    !mem_read(mem, info + 8, &name, 8) || !symbols_module_at(s, name, NULL))
		return NULL;
	while (n < sizeof(text) - 1 && mem_read(mem, name, &text[n], 1) && text[n]) {
		if (text[n] < 0x21 || text[n] > 0x7e)
			return NULL;
		n++, name++;
	}
	text[n] = 0;
	if (n < 6 || (text[4] != 'N' && text[4] != 'S' && (text[4] < '1' || text[4] > '9')))
		return NULL;
	return special_name(text, "typeinfo name for ", class_ret);
}

static bool vtable_read(struct symbols *s, uint64_t vptr, const struct symbols_memory *mem,
			struct vtable *ret)
{
	uint64_t bias, top = 0;
	struct symbols_module *m = vptr & 7 ? NULL : space_module(s, vptr - 16, &bias);
	const char *class = NULL;
	char *text = NULL, *copy;
	const struct sym *sym;

	if (!m || elf_executable(&m->elf, vptr - bias))
		return false;
	sym = symtab_data_at(m, vptr - 16 - bias);
	if (sym && !strncmp(sym->name, "_ZTV", 4))
		text = special_name(sym->name, "vtable for ", &class);
	else if (!sym)
		text = class_by_typeinfo(s, vptr, mem, &class);
	if (!text || !mem_read(mem, vptr - 16, &top, 8) || (int64_t)top > 0 ||
	    (int64_t)top < -(1 << 24)) {
		free(text);
		return false;
	}
	*ret = (struct vtable){ .vptr = vptr,
				.top = (int64_t)top,
				.type = symbols_type_find(s, class, m) };
	ret->class = copy = arena_strn(&m->family->arena, class, strlen(class));
	free(text);
	if (copy)
		shorten_templates(copy);
	return copy != NULL;
}

const char *symbols_vtable_class(struct symbols *s, uint64_t vptr, const struct symbols_memory *mem,
				 int64_t *top_ret, const struct symbols_type **type_ret)
{
	struct vtable one = { 0 }, *v;

	if (!s->vtables)
		s->vtables = calloc(VTABLES, sizeof(*s->vtables));
	v = s->vtables ? &s->vtables[hash_u64(vptr) >> 20 & (VTABLES - 1)] : &one;
	if (!v->used || v->vptr != vptr) {
		struct vtable found = { .vptr = vptr };

		if (!vtable_read(s, vptr, mem, &found))
			found.class = NULL;
		found.used = true;
		*v = found;
	}
	if (!v->class)
		return NULL;
	if (top_ret)
		*top_ret = v->top;
	if (type_ret)
		*type_ret = v->type;
	return v->class;
}
