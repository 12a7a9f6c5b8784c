/*
 * jit_object.c - objects that JIT compilers register: which code is whose, now.
 *
 * All pieces of code of all objects stand in one array by address.  MCJIT puts each function into a
 * section of its own, and libraries lie between them, so an object is never one range from its
 * lowest to its highest address.
 */
#include "symbols/internal.h"

struct jit_object {
	struct symbols_module *module;
};

/* First piece that ends behind addr. */
static size_t code_from(const struct symbols *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n_code;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->code[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct symbols_module *space_jit_object(struct symbols *s, uint64_t addr)
{
	size_t at = code_from(s, addr);

	return at < s->n_code && s->code[at].start <= addr ? s->object[s->code[at].object].module
							   : NULL;
}

static void code_forget(struct symbols *s)
{
	unwind_cache_clear(s);
	lookup_cache_clear(s);
}

/*
 * Cuts [start, end) out, and makes room for one piece there: newer code has overwritten what was
 * there.
 */
static bool code_insert(struct symbols *s, struct jit_range r)
{
	size_t at = code_from(s, r.start), last = at;
	struct jit_range left = { 0 }, right = { 0 };
	struct jit_range piece[3];
	size_t n = 0;

	while (last < s->n_code && s->code[last].start < r.end)
		last++;
	if (last > at) {
		left = right = s->code[at];
		left.end = r.start;
		right = s->code[last - 1];
		right.start = r.end;
	}
	if (left.start < left.end)
		piece[n++] = left;
	piece[n++] = r;
	if (right.start < right.end)
		piece[n++] = right;
	if (!grow(&s->code, &s->cap_code, s->n_code + n, sizeof(r)))
		return false;
	memmove(s->code + at + n, s->code + last, (s->n_code - last) * sizeof(r));
	memcpy(s->code + at, piece, n * sizeof(r));
	s->n_code += n - (last - at);
	return true;
}

static int code_compare(const void *a, const void *b)
{
	const struct jit_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_code(const Elf64_Phdr *ph)
{
	return ph->p_type == PT_LOAD && ph->p_flags & PF_X && ph->p_memsz &&
	       ph->p_vaddr + ph->p_memsz > ph->p_vaddr;
}

/*
 * Is nothing at the object's code, whose pieces stand in order?  Then many of them go in at once.
 */
static bool add_disjoint(struct symbols *s, const struct elf *e, uint32_t object)
{
	size_t old = s->n_code, n = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < e->n_phdr; i++) {
		const Elf64_Phdr *ph = &e->phdr[i];
		size_t at;

		if (!is_code(ph))
			continue;
		at = code_from(s, ph->p_vaddr);
		if (ph->p_vaddr < end ||
		    (at < old && s->code[at].start < ph->p_vaddr + ph->p_memsz))
			return false;
		end = ph->p_vaddr + ph->p_memsz;
		n++;
	}
	if (n < 32 || !grow(&s->code, &s->cap_code, old + n, sizeof(*s->code)))
		return false;
	for (size_t i = 0; i < e->n_phdr; i++)
		if (is_code(&e->phdr[i]))
			s->code[s->n_code++] = (struct jit_range){
				e->phdr[i].p_vaddr, e->phdr[i].p_vaddr + e->phdr[i].p_memsz, object
			};
	qsort(s->code, s->n_code, sizeof(*s->code), code_compare);
	return true;
}

struct err *symbols_jit_restore(struct symbols *s, uint64_t id)
{
	const struct elf *e;

	if (id >= s->n_objects)
		return NULL;
	e = &s->object[id].module->elf;
	if (!add_disjoint(s, e, (uint32_t)id))
		for (size_t i = 0; i < e->n_phdr; i++)
			if (is_code(&e->phdr[i]) &&
			    !code_insert(
				    s, (struct jit_range){ e->phdr[i].p_vaddr,
							   e->phdr[i].p_vaddr + e->phdr[i].p_memsz,
							   (uint32_t)id }))
				return &err_nomem;
	code_forget(s);
	return NULL;
}

const void *symbols_jit_image(struct symbols *s, uint64_t id, size_t *len_ret)
{
	*len_ret = id < s->n_objects ? s->object[id].module->elf.file.n : 0;
	return id < s->n_objects ? s->object[id].module->elf.file.p : NULL;
}

size_t symbols_jit_lookup(struct symbols *s, uint64_t id, uint64_t addr, struct symbols_frame *ret,
			  size_t max)
{
	return id < s->n_objects ? lookup_in_object(s->object[id].module, addr, ret, max) : 0;
}

struct err *symbols_jit_add(struct symbols *s, const void *image, size_t len, uint64_t *id_ret)
{
	struct symbols_module *m = calloc(1, sizeof(*m));
	uint8_t *copy = malloc(len ? len : 1);
	uint32_t object = (uint32_t)s->n_objects;

	if (!m || !copy ||
	    !grow(&s->object, &s->cap_objects, s->n_objects + 1, sizeof(*s->object))) {
		free(m);
		free(copy);
		return &err_nomem;
	}
	if (len)
		memcpy(copy, image, len);
	if (!elf_init(&m->elf, (struct span){ copy, len }, false, true)) {
		free(m);
		return err_new(
			ERR_TRACE,
			"what the program registered as JIT code is not an x86-64 ELF object");
	}
	m->family = s->family;
	m->name = "[jit]";
	m->jit = true;
	m->debug_tried = m->alt_tried = true;
	m->next = s->family->jit_modules;
	s->family->jit_modules = m;
	s->object[s->n_objects++].module = m;
	*id_ret = object;
	return symbols_jit_restore(s, object);
}

void symbols_jit_remove(struct symbols *s, uint64_t id)
{
	struct elf *e;

	if (id >= s->n_objects)
		return;
	e = &s->object[id].module->elf;
	for (size_t i = 0; i < e->n_phdr; i++) {
		const Elf64_Phdr *ph = &e->phdr[i];
		size_t at = is_code(ph) ? code_from(s, ph->p_vaddr) : s->n_code, last = at;

		while (last < s->n_code && s->code[last].start < ph->p_vaddr + ph->p_memsz &&
		       s->code[last].object == id)
			last++;
		if (last == at)
			continue;
		memmove(s->code + at, s->code + last, (s->n_code - last) * sizeof(*s->code));
		s->n_code -= last - at;
	}
	code_forget(s);
}

size_t symbols_jit_code(struct symbols *s, uint64_t id, struct symbols_range *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_code; i++) {
		if (s->code[i].object != id)
			continue;
		if (n < max)
			ret[n] = (struct symbols_range){ s->code[i].start, s->code[i].end,
							 s->object[id].module };
		n++;
	}
	return n;
}

bool jit_objects_copy(struct symbols *to, const struct symbols *from)
{
	if (!from->n_objects)
		return true;
	if (!grow(&to->object, &to->cap_objects, from->n_objects, sizeof(*to->object)) ||
	    !grow(&to->code, &to->cap_code, from->n_code ? from->n_code : 1, sizeof(*to->code)))
		return false;
	memcpy(to->object, from->object, from->n_objects * sizeof(*to->object));
	memcpy(to->code, from->code, from->n_code * sizeof(*to->code));
	to->n_objects = from->n_objects;
	to->n_code = from->n_code;
	return true;
}

void symbols_jit_functions(struct symbols *s, uint64_t id,
			   void (*fn)(void *ctx, const char *name, uint64_t start, uint64_t size),
			   void *ctx)
{
	struct symtab *t;

	if (id >= s->n_objects)
		return;
	t = module_symtab(s->object[id].module);
	for (size_t i = 0; i < t->n_code; i++)
		if (elf_executable(&s->object[id].module->elf, t->code[i].addr) &&
		    (!i || t->code[i].addr != t->code[i - 1].addr))
			fn(ctx, family_demangle(s->family, t->code[i].name), t->code[i].addr,
			   t->code[i].size);
}
