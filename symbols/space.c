/*
 * space.c - one address space: which file is mapped where.
 *
 * Regions are the mappings of files, sorted.  Anonymous memory is not kept: what belongs to a
 * module without being mapped from its file (.bss) is found by the module's segments ("loaded"),
 * worked out when first asked for.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "abi/page.h"
#include "symbols/entry.h"
#include "symbols/go.h"
#include "symbols/internal.h"


static struct err *family_create(const struct symbols_options *options, struct family **ret)
{
	struct family *f = calloc(1, sizeof(*f));

	if (!f)
		return &err_nomem;
	f->refs = 1;
	if (options)
		f->options = *options;
	*ret = f;
	return NULL;
}

static void family_unref(struct family *f)
{
	struct symbols_module *next_module;
	struct file *next_file;

	if (--f->refs)
		return;
	for (struct symbols_module *m = f->modules; m; m = next_module) {
		next_module = m->next;
		module_free(m);
	}
	for (struct symbols_module *m = f->jit_modules; m; m = next_module) {
		next_module = m->next;
		module_free(m);
	}
	for (struct file *file = f->files; file; file = next_file) {
		next_file = file->next;
		free(file);
	}
	type_table_free(f->types);
	free(f->demangled);
	arena_deinit(&f->arena);
	free(f);
}

struct err *symbols_create(const struct symbols_options *options, struct symbols **ret)
{
	struct symbols *s = calloc(1, sizeof(*s));
	struct err *err;

	if (!s)
		return &err_nomem;
	err = family_create(options, &s->family);
	if (err) {
		free(s);
		return err;
	}
	*ret = s;
	return NULL;
}

struct err *symbols_fork(struct symbols *from, struct symbols **ret)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s || !grow(&s->region, &s->cap_regions, from->n_regions, sizeof(*s->region)))
		goto nomem;
	if (from->n_regions)
		memcpy(s->region, from->region, from->n_regions * sizeof(*s->region));
	s->n_regions = from->n_regions;
	if (from->n_jit) {
		s->jit = malloc(from->n_jit * sizeof(*s->jit));
		if (!s->jit)
			goto nomem;
		memcpy(s->jit, from->jit, from->n_jit * sizeof(*s->jit));
		s->n_jit = from->n_jit;
	}
	if (!jit_objects_copy(s, from))
		goto nomem;
	s->family = from->family;
	s->family->refs++;
	*ret = s;
	return NULL;
nomem:
	if (s) {
		free(s->region);
		free(s->jit);
		free(s->object);
		free(s->code);
	}
	free(s);
	return &err_nomem;
}

void symbols_destroy(struct symbols *s)
{
	if (!s)
		return;
	unwind_cache_clear(s);
	free(s->unwind);
	free(s->made_row);
	free(s->made);
	free(s->vtables);
	free(s->guesses);
	lookup_cache_clear(s);
	free(s->lookups);
	free(s->region);
	free(s->loaded);
	free(s->jit);
	free(s->object);
	free(s->code);
	family_unref(s->family);
	free(s);
}

/* Mappings changed: what is cached by address is no longer true. */
void space_forget(struct symbols *s)
{
	s->loaded_ready = false;
	s->last_region = 0;
	free(s->vtables);
	s->vtables = NULL;
	free(s->guesses);
	s->guesses = NULL;
	unwind_cache_clear(s);
	lookup_cache_clear(s);
}

/* ---- mappings -------------------------------------------------------------------------------- */

/* First region that ends behind addr. */
static size_t region_from(const struct symbols *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n_regions;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->region[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool regions_insert(struct symbols *s, size_t at, const struct region *r)
{
	if (!grow(&s->region, &s->cap_regions, s->n_regions + 1, sizeof(*r)))
		return false;
	memmove(&s->region[at + 1], &s->region[at], (s->n_regions - at) * sizeof(*r));
	s->region[at] = *r;
	s->n_regions++;
	return true;
}

/* Cut [start, end) out.  True when something was there. */
static bool regions_cut(struct symbols *s, uint64_t start, uint64_t end)
{
	size_t i = region_from(s, start), out;
	bool any = false;

	if (start >= end)
		return false;
	if (i < s->n_regions && s->region[i].start < start && s->region[i].end > end) {
		struct region right = s->region[i];

		right.offset += end - right.start;
		right.start = end;
		s->region[i].end = start;
		/* Out of memory: the right part is forgotten, which costs names only. */
		(void)regions_insert(s, i + 1, &right);
		return true;
	}
	for (out = i; i < s->n_regions; i++) {
		struct region *r = &s->region[i];

		if (r->start < end && r->end > start) {
			any = true;
			if (r->start < start) {
				r->end = start;
			} else if (r->end > end) {
				r->offset += end - r->start;
				r->start = end;
			} else {
				continue;
			}
		}
		s->region[out++] = *r;
	}
	s->n_regions = out;
	return any;
}

static struct file *family_file(struct family *f, const char *name)
{
	struct file *file;

	for (file = f->files; file; file = file->next)
		if (file->name && !strcmp(file->name, name))
			return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->name = arena_strn(&f->arena, name, strlen(name));
	if (!file->name) {
		free(file);
		return NULL;
	}
	file->next = f->files;
	f->files = file;
	return file;
}

/* The vdso is one, too, which whoever opens files for us may have. */
static bool has_file(const struct symbols_mapping *m)
{
	return m->image || (m->name && (m->name[0] == '/' || !strcmp(m->name, "[vdso]")));
}

/* The file of a mapping; NULL when it has none.  Without memory it has none either. */
static struct file *mapping_file(struct family *f, const struct symbols_mapping *m)
{
	struct file *file;

	if (m->image) {
		char text[64];

		/* Two images may have one name: a vdso for each recorded kernel. */
		snprintf(text, sizeof(text), "%.20s %08x %zx", m->name ? m->name : "",
			 hash_str(m->image, m->image_len), m->image_len);
		file = family_file(f, text);
		if (file && !file->tried) {
			file->tried = true;
			file->module = module_of_image(
				f, m->name ? arena_strn(&f->arena, m->name, strlen(m->name)) : "",
				m->image, m->image_len);
		}
		return file;
	}
	return has_file(m) ? family_file(f, m->name) : NULL;
}

static bool same_mapping(const struct region *r, const struct symbols_mapping *m,
			 const struct file *file)
{
	return r->start == m->start && r->end == m->end && r->offset == m->offset &&
	       r->file == file && (r->prot == m->prot || !m->prot);
}

struct err *symbols_map(struct symbols *s, const struct symbols_mapping *m)
{
	struct file *file = mapping_file(s->family, m);
	struct region r = {
		.start = m->start, .end = m->end, .offset = m->offset, .prot = m->prot, .file = file
	};
	size_t at = region_from(s, m->start);
	bool cut;

	if (m->start >= m->end)
		return NULL;
	if (at < s->n_regions && file && same_mapping(&s->region[at], m, file))
		return NULL;
	cut = regions_cut(s, m->start, m->end);
	if (cut || file)
		space_forget(s);
	if (!file)
		return NULL;
	return regions_insert(s, region_from(s, m->start), &r) ? NULL : &err_nomem;
}

void symbols_unmap(struct symbols *s, uint64_t start, uint64_t end)
{
	if (regions_cut(s, start, end))
		space_forget(s);
}

/* Without memory some are left out. */
static void made_set(struct symbols *s, const struct symbols_mapping *m, size_t n)
{
	s->n_made = 0;
	for (size_t i = 0; i < n; i++) {
		if (has_file(&m[i]) || !(m[i].prot & PROT_EXEC) || m[i].start >= m[i].end)
			continue;
		if (grow(&s->made, &s->cap_made, s->n_made + 1, sizeof(*s->made)))
			s->made[s->n_made++] = (struct span_of_code){ m[i].start, m[i].end };
	}
}

struct err *symbols_set_maps(struct symbols *s, const struct symbols_mapping *m, size_t n)
{
	size_t old = 0;
	bool same = true;

	made_set(s, m, n);
	for (size_t i = 0; i < n && same; i++) {
		struct file *file = mapping_file(s->family, &m[i]);

		if (file)
			same = old < s->n_regions && same_mapping(&s->region[old++], &m[i], file);
	}
	if (same && old == s->n_regions)
		return NULL;
	s->n_regions = 0;
	space_forget(s);
	for (size_t i = 0; i < n; i++)
		TRY(symbols_map(s, &m[i]));
	return NULL;
}

static uint64_t hex(const char **p)
{
	uint64_t v = 0;

	for (;; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

/*
 * START-END PERMS OFFSET DEV INODE [NAME].  The name is not taken yet: *name is where it begins, up
 * to the line's end.
 */
static bool maps_line(const char *p, const char *end, struct symbols_mapping *m, const char **name)
{
	*m = (struct symbols_mapping){ .start = hex(&p) };
	if (*p++ != '-')
		return false;
	m->end = hex(&p);
	if (end - p < 6 || *p++ != ' ')
		return false;
	m->prot = (p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) |
		  (p[2] == 'x' ? PROT_EXEC : 0);
	p += 5;
	m->offset = hex(&p);
	for (int field = 0; field < 2; field++) {
		while (p < end && *p == ' ')
			p++;
		while (p < end && *p != ' ')
			p++;
	}
	while (p < end && *p == ' ')
		p++;
	*name = p;
	return p <= end;
}

struct err *symbols_set_maps_text(struct symbols *s, const char *text)
{
	struct symbols_mapping *v = NULL, m;
	char *copy = strdup(text);
	size_t n = 0, cap = 0;
	struct err *err;

	if (!copy)
		return &err_nomem;
	for (char *line = copy, *next; *line; line = next) {
		char *end = strchrnul(line, '\n');
		const char *name;

		next = *end ? end + 1 : end;
		*end = 0;
		if (!maps_line(line, end, &m, &name))
			continue;
		if (!grow(&v, &cap, n + 1, sizeof(*v)))
			break;
		m.name = name;
		v[n++] = m;
	}
	err = symbols_set_maps(s, v, n);
	free(copy);
	free(v);
	return err;
}

/* ---- modules in the space -------------------------------------------------------------------- */

/*
 * Which segment is mapped here?  Two segments may share a page of the file; then rights and the
 * page decide.
 */
static bool region_bias(const struct region *r, struct symbols_module *m, uint64_t *bias_ret)
{
	int best = -1;

	for (size_t i = 0; i < m->elf.n_phdr; i++) {
		const Elf64_Phdr *ph = &m->elf.phdr[i];
		uint64_t lo = page_down(ph->p_offset),
			 hi = ph->p_offset + ph->p_filesz;
		int score = 0;

		if (ph->p_type != PT_LOAD || r->offset < lo || (r->offset >= hi && r->offset != lo))
			continue;
		if (r->offset == lo)
			score += 2;
		if (r->prot && !(r->prot & PROT_EXEC) == !(ph->p_flags & PF_X))
			score += 4;
		if (r->prot && !(r->prot & PROT_WRITE) == !(ph->p_flags & PF_W))
			score += 1;
		if (score > best) {
			best = score;
			*bias_ret = r->start - (ph->p_vaddr - ph->p_offset + r->offset);
		}
	}
	return best >= 0;
}

static void region_resolve(struct symbols *s, struct region *r)
{
	if (r->resolved)
		return;
	r->resolved = true;
	r->module = file_module(s->family, r->file);
	if (r->module && !region_bias(r, r->module, &r->bias))
		r->module = NULL;
}

const struct region *space_region(struct symbols *s, uint64_t addr)
{
	size_t i = s->last_region;

	if (i >= s->n_regions || addr - s->region[i].start >= s->region[i].end - s->region[i].start)
		i = region_from(s, addr);
	if (i >= s->n_regions || addr < s->region[i].start)
		return NULL;
	s->last_region = i;
	region_resolve(s, &s->region[i]);
	return &s->region[i];
}

static void loaded_add(struct symbols *s, struct symbols_module *m, uint64_t bias)
{
	struct loaded l = { m, bias, UINT64_MAX, 0 };

	for (size_t i = 0; i < s->n_loaded; i++)
		if (s->loaded[i].module == m && s->loaded[i].bias == bias)
			return;
	for (size_t i = 0; i < m->elf.n_phdr; i++) {
		const Elf64_Phdr *ph = &m->elf.phdr[i];

		if (ph->p_type != PT_LOAD)
			continue;
		if (ph->p_vaddr + bias < l.start)
			l.start = ph->p_vaddr + bias;
		if (ph->p_vaddr + ph->p_memsz + bias > l.end)
			l.end = ph->p_vaddr + ph->p_memsz + bias;
	}
	if (grow(&s->loaded, &s->cap_loaded, s->n_loaded + 1, sizeof(l)))
		s->loaded[s->n_loaded++] = l;
}

size_t space_loaded(struct symbols *s)
{
	if (s->loaded_ready)
		return s->n_loaded;
	s->loaded_ready = true;
	s->n_loaded = 0;
	for (size_t i = 0; i < s->n_regions; i++) {
		struct region *r = &s->region[i];

		/* Every module has code; this spares us opening fonts and locale archives. */
		if (r->prot && !(r->prot & PROT_EXEC))
			continue;
		region_resolve(s, r);
		if (r->module)
			loaded_add(s, r->module, r->bias);
	}
	return s->n_loaded;
}

/* Does the module's file stand where this segment begins?  With no file in it, it is not asked. */
static bool segment_is_there(struct symbols *s, const struct loaded *l, const Elf64_Phdr *ph)
{
	uint64_t addr = ph->p_vaddr + l->bias;
	const struct region *r = ph->p_filesz ? space_region(s, addr) : NULL;

	if (!ph->p_filesz)
		return true;
	return r && r->module == l->module && r->offset + (addr - r->start) == ph->p_offset;
}

/*
 * Memory of no file belongs to a module where its zeroed data is, or where a program has moved code
 * into larger pages: its other segments are there.  Where only a piece of a file is mapped, what
 * lies behind is somebody else's, a JIT compiler's for example.
 */
static bool is_modules(struct symbols *s, const struct loaded *l, uint64_t vaddr)
{
	const struct elf *e = &l->module->elf;
	const Elf64_Phdr *here = elf_segment(e, vaddr);
	bool zeroed = here && vaddr - here->p_vaddr >= here->p_filesz;

	for (size_t i = 0; here && i < e->n_phdr; i++) {
		const Elf64_Phdr *ph = &e->phdr[i];
		bool needed = zeroed ? !(ph->p_flags & PF_X) : ph != here;

		if (ph->p_type == PT_LOAD && needed && !segment_is_there(s, l, ph))
			return false;
	}
	return here != NULL;
}

struct symbols_module *space_module(struct symbols *s, uint64_t addr, uint64_t *bias_ret)
{
	const struct region *r = space_region(s, addr);
	size_t n;

	if (r && r->module) {
		*bias_ret = r->bias;
		return r->module;
	}
	if (s->n_code) {
		struct symbols_module *m = space_jit_object(s, addr);

		*bias_ret = 0;
		if (m)
			return m;
	}
	n = space_loaded(s);
	for (size_t i = 0; i < n && !r; i++) {
		const struct loaded *l = &s->loaded[i];

		if (addr - l->start >= l->end - l->start || !is_modules(s, l, addr - l->bias))
			continue;
		*bias_ret = l->bias;
		return l->module;
	}
	return NULL;
}

const struct symbols_module *symbols_module_at(struct symbols *s, uint64_t addr, uint64_t *bias_ret)
{
	uint64_t bias = 0;
	struct symbols_module *m = space_module(s, addr, &bias);

	if (m && bias_ret)
		*bias_ret = bias;
	return m;
}

bool space_executable(struct symbols *s, uint64_t addr)
{
	const struct region *r = space_region(s, addr);

	if (r && r->module)
		return elf_executable(&r->module->elf, addr - r->bias);
	return space_jit_object(s, addr) || space_jit(s, addr) || space_made(s, addr);
}

uint64_t space_made_start(const struct symbols *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n_made;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->made[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n_made && s->made[lo].start <= addr ? s->made[lo].start : 0;
}

bool space_made(struct symbols *s, uint64_t addr)
{
	const struct region *r = space_region(s, addr);

	return r ? !r->module && (r->prot & PROT_EXEC) : space_made_start(s, addr) != 0;
}

/* Less RELRO: the loader makes that read-only before main(). */
static void range_add(struct symbols_range *v, size_t *n, size_t max, const struct loaded *l,
		      const Elf64_Phdr *ph)
{
	uint64_t start = ph->p_vaddr, end = ph->p_vaddr + ph->p_memsz;

	for (size_t i = 0; i < l->module->elf.n_phdr; i++) {
		const Elf64_Phdr *ro = &l->module->elf.phdr[i];

		if (ro->p_type == PT_GNU_RELRO && ro->p_vaddr >= start && ro->p_vaddr < end) {
			uint64_t to = page_down(ro->p_vaddr + ro->p_memsz);

			if (ro->p_vaddr <= (start | (PAGE_BYTES - 1)) && to > start)
				start = to;
		}
	}
	if (start >= end || end > UINT64_MAX / 2)
		return;
	if (*n < max)
		v[*n] = (struct symbols_range){ start + l->bias, end + l->bias, l->module };
	++*n;
}

static int range_compare(const void *a, const void *b)
{
	const struct symbols_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

size_t symbols_data_ranges(struct symbols *s, struct symbols_range *ret, size_t max)
{
	size_t n = 0, n_loaded = space_loaded(s);

	for (size_t i = 0; i < n_loaded; i++)
		for (size_t k = 0; k < s->loaded[i].module->elf.n_phdr; k++) {
			const Elf64_Phdr *ph = &s->loaded[i].module->elf.phdr[k];

			if (ph->p_type == PT_LOAD && (ph->p_flags & PF_W))
				range_add(ret, &n, max, &s->loaded[i], ph);
		}
	if (n)
		qsort(ret, n < max ? n : max, sizeof(*ret), range_compare);
	return n;
}

/* ---- names to addresses ---------------------------------------------------------------------- */

struct finding {
	struct symbols_found *ret;
	size_t n, max;
	unsigned kinds;
	const struct loaded *at;
};

static void found_sym(void *ctx, const struct sym *sym)
{
	struct finding *f = ctx;
	enum symbols_kind kind = sym->source == SYMBOLS_PLT   ? SYMBOLS_PLT_ENTRY
				 : sym->type == STT_GNU_IFUNC ? SYMBOLS_IFUNC
				 : sym->type == STT_TLS	      ? SYMBOLS_TLS
				 : sym->type == STT_OBJECT || sym->type == STT_COMMON
					 ? SYMBOLS_OBJECT
				 : elf_executable(&f->at->module->elf, sym->addr) ? SYMBOLS_FUNC
										  : SYMBOLS_OBJECT;
	struct symbols_found found = { sym->addr,  sym->size,
				       kind,	   sym->source == SYMBOLS_DYNSYM,
				       sym->name,  f->at->module,
				       f->at->bias };

	if (!(kind & f->kinds))
		return;
	if (kind != SYMBOLS_TLS)
		found.addr += f->at->bias;
	for (size_t i = 0; i < f->n && i < f->max; i++)
		if (f->ret[i].addr == found.addr && f->ret[i].kind == kind &&
		    f->ret[i].module == found.module)
			return;
	if (f->n < f->max)
		f->ret[f->n] = found;
	f->n++;
}

size_t symbols_find(struct symbols *s, const char *name, unsigned kinds, struct symbols_found *ret,
		    size_t max)
{
	struct finding f = { .ret = ret, .max = max, .kinds = kinds };
	size_t n = space_loaded(s);

	for (size_t i = 0; i < n; i++) {
		f.at = &s->loaded[i];
		symtab_each(f.at->module, name, found_sym, &f);
		go_each(f.at->module, name, found_sym, &f);
	}
	return f.n;
}

void symbols_data_symbols(struct symbols *s, void (*fn)(void *ctx, uint64_t addr, uint64_t size),
			  void *ctx)
{
	size_t n = space_loaded(s);

	for (size_t i = 0; i < n; i++) {
		struct symbols_module *m = s->loaded[i].module;
		struct symtab *t = module_symtab(m);

		for (size_t k = 0; k < t->n_data; k++) {
			const Elf64_Phdr *ph = elf_segment(&m->elf, t->data[k].addr);

			if (ph && ph->p_flags & PF_W)
				fn(ctx, t->data[k].addr + s->loaded[i].bias, t->data[k].size);
		}
	}
}
