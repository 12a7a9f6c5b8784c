/*
 * symtab.c - .symtab, .dynsym, the symbols of debug files and .gnu_debugdata, and entries of
 * procedure linkage tables.
 *
 * One array for code and one for data, by address; where several names share an address the best
 * comes first.
 */
#include <stdio.h>

#include "symbols/internal.h"

static bool symtab_push(struct sym **v, size_t *n, size_t *cap, const struct sym *s)
{
	if (!grow(v, cap, *n + 1, sizeof(**v)))
		return false;
	(*v)[(*n)++] = *s;
	return true;
}

/* In an object file a symbol counts from its section.  False: that is nowhere in memory. */
static bool symbol_place(const struct elf *e, size_t i, uint16_t shndx, uint64_t *addr)
{
	uint32_t number = shndx;
	uint64_t base;

	if (shndx == SHN_XINDEX && e->symtab_index.n / 4 > i)
		memcpy(&number, e->symtab_index.p + 4 * i, 4);
	else if (shndx >= SHN_LORESERVE)
		return false;
	base = elf_section_address(e, number);
	*addr += base;
	return base != 0;
}

static void symtab_read(struct symtab *t, struct elf *e, enum section_id syms, enum section_id strs,
			int source)
{
	struct span strings = elf_section(e, strs), s = elf_section(e, syms);

	if (e->sec[syms].type == SHT_NOBITS)
		return;
	for (size_t i = 1; i < s.n / sizeof(Elf64_Sym); i++) {
		struct sym sym = { .source = (uint8_t)source };
		Elf64_Sym es;

		memcpy(&es, s.p + i * sizeof(es), sizeof(es));
		sym.type = ELF64_ST_TYPE(es.st_info);
		sym.bind = ELF64_ST_BIND(es.st_info);
		if (es.st_shndx == SHN_UNDEF || es.st_shndx == SHN_ABS || !es.st_name)
			continue;
		sym.addr = es.st_value;
		if (e->type == ET_REL && !symbol_place(e, i, es.st_shndx, &sym.addr))
			continue;
		sym.size = es.st_size;
		sym.name = span_str(strings, es.st_name);
		if (!sym.name || !*sym.name)
			continue;
		if (sym.type == STT_FUNC || sym.type == STT_GNU_IFUNC)
			symtab_push(&t->code, &t->n_code, &t->cap_code, &sym);
		else if (sym.type == STT_OBJECT || sym.type == STT_COMMON)
			symtab_push(&t->data, &t->n_data, &t->cap_data, &sym);
		else if (sym.type == STT_TLS)
			symtab_push(&t->tls, &t->n_tls, &t->cap_tls, &sym);
		/* Assembly without .type; not the marks that start with . or $ */
		else if (sym.type == STT_NOTYPE && sym.name[0] != '.' && sym.name[0] != '$' &&
			 strncmp(sym.name, "__gnu_", 6) && strncmp(sym.name, "_GLOBAL_", 8))
			symtab_push(elf_executable(e, sym.addr) ? &t->code : &t->data,
				    elf_executable(e, sym.addr) ? &t->n_code : &t->n_data,
				    elf_executable(e, sym.addr) ? &t->cap_code : &t->cap_data,
				    &sym);
	}
}

/* ---- procedure linkage tables --------------------------------------------------------------- */

struct slot {
	uint64_t addr;
	const char *name;
};

static int slot_compare(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/*
 * Statically linked programs: the slot is filled by calling the resolver, which bears the
 * function's name.
 */
static const char *resolver_name(const struct symtab *t, uint64_t addr)
{
	for (size_t i = 0; i < t->n_code; i++)
		if (t->code[i].addr == addr && t->code[i].type == STT_GNU_IFUNC)
			return t->code[i].name;
	return NULL;
}

static size_t slots_read(struct symbols_module *m, enum section_id id, struct slot **v, size_t n,
			 size_t *cap)
{
	struct elf *e = &m->elf;
	struct span rela = elf_section(e, id), syms = elf_section(e, SEC_DYNSYM),
		    strs = elf_section(e, SEC_DYNSTR);

	for (size_t i = 0; i < rela.n / sizeof(Elf64_Rela); i++) {
		const char *name = NULL;
		Elf64_Rela r;
		Elf64_Sym s;

		memcpy(&r, rela.p + i * sizeof(r), sizeof(r));
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_IRELATIVE)
			name = resolver_name(&m->symtab, (uint64_t)r.r_addend);
		else if (ELF64_R_TYPE(r.r_info) != R_X86_64_JUMP_SLOT &&
			 ELF64_R_TYPE(r.r_info) != R_X86_64_GLOB_DAT)
			continue;
		else if (ELF64_R_SYM(r.r_info) < syms.n / sizeof(s)) {
			memcpy(&s, syms.p + ELF64_R_SYM(r.r_info) * sizeof(s), sizeof(s));
			name = span_str(strs, s.st_name);
		}
		if (!name || !*name || !grow(v, cap, n + 1, sizeof(**v)))
			continue;
		(*v)[n++] = (struct slot){ r.r_offset, name };
	}
	return n;
}

/*
 * Where the entry with its jmp at i begins (endbr64 and a bnd prefix belong to it), and how long it
 * is.
 */
static uint64_t plt_entry(struct span code, size_t i, uint64_t *size_ret)
{
	size_t start = i;

	if (start && code.p[start - 1] == 0xf2)
		start--;
	if (start >= 4 && !memcmp(code.p + start - 4, "\xf3\x0f\x1e\xfa", 4))
		start -= 4;
	*size_ret = i + 6 - start > 8 || (i + 7 <= code.n && code.p[i + 6] == 0x68) ? 16 : 8;
	return start;
}

/* Each jmp *slot(%rip) with a slot that a relocation fills. */
static void plt_scan(struct symbols_module *m, enum section_id id, const struct slot *slots,
		     size_t n)
{
	struct span code = elf_section(&m->elf, id);
	uint64_t base = m->elf.sec[id].addr;
	struct symtab *t = &m->symtab;
	char text[1024];

	for (size_t i = 0; i + 6 <= code.n; i++) {
		struct sym sym = { .type = STT_FUNC, .bind = STB_LOCAL, .source = SYMBOLS_PLT };
		struct slot key, *hit;
		int32_t disp;

		if (code.p[i] != 0xff || code.p[i + 1] != 0x25)
			continue;
		memcpy(&disp, code.p + i + 2, 4);
		key.addr = base + i + 6 + (uint64_t)(int64_t)disp;
		hit = bsearch(&key, slots, n, sizeof(*slots), slot_compare);
		if (!hit)
			continue;
		sym.addr = base + plt_entry(code, i, &sym.size);
		snprintf(text, sizeof(text), "%s@plt", hit->name);
		sym.name = arena_strn(&m->family->arena, text, strlen(text));
		if (sym.name)
			symtab_push(&t->code, &t->n_code, &t->cap_code, &sym);
		i += 5;
	}
}

static void symtab_add_plt(struct symbols_module *m)
{
	struct slot *slots = NULL;
	size_t cap = 0, n = slots_read(m, SEC_RELA_PLT, &slots, 0, &cap);

	n = slots_read(m, SEC_RELA_DYN, &slots, n, &cap);
	if (n) {
		qsort(slots, n, sizeof(*slots), slot_compare);
		plt_scan(m, SEC_PLT, slots, n);
		plt_scan(m, SEC_PLT_SEC, slots, n);
		plt_scan(m, SEC_PLT_GOT, slots, n);
		plt_scan(m, SEC_IPLT, slots, n);
	}
	free(slots);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int sym_rank(const struct sym *s)
{
	int rank = s->bind == STB_GLOBAL ? 0 : s->bind == STB_WEAK ? 1 : 2;

	if (s->type == STT_NOTYPE)
		rank += 8;
	if (!s->size)
		rank += 4;
	return rank;
}

static int sym_compare(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;
	size_t nx, ny, ux, uy;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (sym_rank(x) != sym_rank(y))
		return sym_rank(x) - sym_rank(y);
	/* malloc rather than __libc_malloc, operator new rather than its alias */
	ux = strspn(x->name, "_"), uy = strspn(y->name, "_");
	if (ux != uy)
		return ux < uy ? -1 : 1;
	nx = strlen(x->name), ny = strlen(y->name);
	if (nx != ny)
		return nx < ny ? -1 : 1;
	if (strcmp(x->name, y->name))
		return strcmp(x->name, y->name);
	return x->source - y->source;
}

static size_t sym_sort(struct sym *v, size_t n)
{
	size_t out = 0;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), sym_compare);
	for (size_t i = 0; i < n; i++)		/* .dynsym repeats .symtab */
		if (!out || v[out - 1].addr != v[i].addr || strcmp(v[out - 1].name, v[i].name))
			v[out++] = v[i];
		else if (v[i].source == SYMBOLS_DYNSYM)
			v[out - 1].source = SYMBOLS_DYNSYM;	/* it is visible to others */
	return out;
}

struct symtab *module_symtab(struct symbols_module *m)
{
	struct symtab *t = &m->symtab;

	if (t->ready)
		return t;
	t->ready = true;
	symtab_read(t, &m->elf, SEC_SYMTAB, SEC_STRTAB, SYMBOLS_SYMTAB);
	if (!elf_section(&m->elf, SEC_SYMTAB).n && module_debug(m))
		symtab_read(t, m->debug, SEC_SYMTAB, SEC_STRTAB, SYMBOLS_SYMTAB);
	else if (!elf_section(&m->elf, SEC_SYMTAB).n && module_mini(m))
		symtab_read(t, m->mini, SEC_SYMTAB, SEC_STRTAB, SYMBOLS_SYMTAB);
	symtab_read(t, &m->elf, SEC_DYNSYM, SEC_DYNSTR, SYMBOLS_DYNSYM);
	symtab_add_plt(m);
	t->n_code = sym_sort(t->code, t->n_code);
	t->n_data = sym_sort(t->data, t->n_data);
	t->n_tls = sym_sort(t->tls, t->n_tls);
	return t;
}

void symtab_deinit(struct symtab *t)
{
	free(t->code);
	free(t->data);
	free(t->tls);
	free(t->names);
	mangled_deinit(&t->mangled);
}

/*
 * How far a symbol without a size may reach: crti's are a few instructions before or after other
 * sections.
 */
static uint64_t open_limit(const char *name)
{
	return !strcmp(name, "_init") || !strcmp(name, "_fini") ? 32 : 1 << 16;
}

/*
 * The last symbol that begins at or before addr and holds it; without a size, up to the next one.
 */
static const struct sym *sym_at(const struct sym *v, size_t n, uint64_t addr)
{
	const struct sym *open = NULL;
	size_t lo = 0, hi = n, tries = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i-- > 0 && tries++ < 64;) {
		while (i > 0 && v[i - 1].addr == v[i].addr)
			i--;		/* the best name of this address */
		if (addr - v[i].addr < v[i].size)
			return &v[i];
		if (!v[i].size && !open && tries == 1 && addr - v[i].addr < open_limit(v[i].name))
			open = &v[i];
	}
	return open;
}

const struct sym *symtab_code_at(struct symbols_module *m, uint64_t vaddr)
{
	struct symtab *t = module_symtab(m);

	return elf_executable(&m->elf, vaddr) ? sym_at(t->code, t->n_code, vaddr) : NULL;
}

const struct sym *symtab_data_at(struct symbols_module *m, uint64_t vaddr)
{
	struct symtab *t = module_symtab(m);
	const struct sym *s = sym_at(t->data, t->n_data, vaddr);

	return s && s->size && elf_segment(&m->elf, vaddr) ? s : NULL;
}

const struct sym *symtab_tls_at(struct symbols_module *m, uint64_t offset)
{
	struct symtab *t = module_symtab(m);

	return sym_at(t->tls, t->n_tls, offset);
}

/* ---- by name --------------------------------------------------------------------------------- */

const struct sym *symtab_nth(const struct symtab *t, uint32_t i)
{
	if (i < t->n_code)
		return &t->code[i];
	i -= (uint32_t)t->n_code;
	return i < t->n_data ? &t->data[i] : &t->tls[i - t->n_data];
}

static int name_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* "memcpy@@GLIBC_2.14" in .symtab is memcpy. */
static size_t bare_len(const char *name)
{
	const char *at = strchr(name, '@');

	return at && at != name && strcmp(at, "@plt") ? (size_t)(at - name) : strlen(name);
}

static void symtab_index_names(struct symtab *t)
{
	size_t n = t->n_code + t->n_data + t->n_tls;

	t->names_ready = true;
	t->names = n ? malloc(n * sizeof(*t->names)) : NULL;
	if (!t->names)
		return;
	for (size_t i = 0; i < n; i++) {
		const char *name = symtab_nth(t, (uint32_t)i)->name;

		t->names[i] = (struct sym_name){ hash_str(name, bare_len(name)), (uint32_t)i };
		if (is_mangled(name))
			mangled_add(&t->mangled, (uint32_t)i);
	}
	t->n_names = n;
	qsort(t->names, n, sizeof(*t->names), name_compare);
}

static size_t lower_bound(const void *v, size_t n, size_t elem, uint32_t hash)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (*(const uint32_t *)((const uint8_t *)v + mid * elem) < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The last identifier of "ns::Box<a::b>::get(int)"; parts in brackets do not count. */
static const char *last_word(const char *name, size_t *len_ret)
{
	const char *word = name;
	int depth = 0;

	*len_ret = 0;
	for (const char *p = name; *p; p++) {
		if (*p == '(' && !depth && p > name && p[-1] != ':')
			break;		/* parameters; not (anonymous namespace) */
		if (strchr("<([", *p))
			depth++;
		else if (strchr(">)]", *p))
			depth--;
		else if (!depth && strchr(":~ ", *p))
			*len_ret = 0;
		else if (!depth && !(*len_ret)++)
			word = p;
	}
	return word;
}

/*
 * Returns text that every mangled name of that function contains, so that few names need to be
 * demangled: the last identifier of the plain name, or the code of the operator; "" = unknown.
 */
static const char *plain_word(const char *name, char *buf, size_t size)
{
	static const char *const op[][2] = {
		{ "operator new[]", "_Zna" }, { "operator new", "_Znw" },
		{ "operator delete[]", "_Zda" }, { "operator delete", "_Zdl" },
	};
	/* constructors of these have no name there: _ZNSsC1Ev */
	static const char *const abbreviated[] = {
		"allocator", "basic_string", "string", "istream", "ostream", "iostream",
		"basic_istream", "basic_ostream", "basic_iostream",
	};
	const char *word;
	size_t len;

	for (size_t i = 0; i < sizeof(op) / sizeof(op[0]); i++)
		if (!strncmp(name, op[i][0], strlen(op[i][0])))
			return op[i][1];
	word = last_word(name, &len);
	if (strstr(name, "operator") || len >= size)
		return "";
	snprintf(buf, size, "%.*s", (int)len, word);
	for (size_t i = 0; i < sizeof(abbreviated) / sizeof(abbreviated[0]); i++)
		if (!strcmp(buf, abbreviated[i]))
			return "";
	return buf;
}

static void symtab_each_plain(struct symbols_module *m, const char *name,
			      void (*fn)(void *ctx, const struct sym *s), void *ctx)
{
	struct symtab *t = &m->symtab;
	char buf[256], *shorter = strdup(name);
	const char *word = plain_word(name, buf, sizeof(buf));
	size_t len = strlen(name), n;
	const uint32_t *v = mangled_with(t, word, &n);
	bool full = len && name[len - 1] == ')' &&
		    strcmp(name + (len > 10 ? len - 10 : 0), "operator()");

	if (!shorter)
		return;
	shorten_templates(shorter);
	for (size_t i = 0; i < n; i++) {
		const struct sym *s = symtab_nth(t, v[i]);

		if ((i && v[i] == v[i - 1]) || !strstr(s->name, word))
			continue;
		if (full) {
			char *text = demangle_full(s->name);

			if (text && !strcmp(text, name))
				fn(ctx, s);
			free(text);
		} else if (!strcmp(family_demangle(m->family, s->name), shorter)) {
			fn(ctx, s);
		}
	}
	free(shorter);
}

void symtab_each(struct symbols_module *m, const char *name,
		 void (*fn)(void *ctx, const struct sym *s), void *ctx)
{
	struct symtab *t = module_symtab(m);
	size_t len = strlen(name);
	uint32_t hash = hash_str(name, len);

	if (!t->names_ready)
		symtab_index_names(t);
	for (size_t i = lower_bound(t->names, t->n_names, sizeof(*t->names), hash);
	     i < t->n_names && t->names[i].hash == hash; i++) {
		const struct sym *s = symtab_nth(t, t->names[i].index);

		if (bare_len(s->name) == len && !memcmp(s->name, name, len))
			fn(ctx, s);
	}
	if (!is_mangled(name))
		symtab_each_plain(m, name, fn, ctx);
}
