/*
 * compile_elf.c - the sections of an ELF image that libdwarf is to see.
 *
 * libdwarf numbers sections by 16 bits, and an object that a JIT compiler made can have forty
 * thousand; so it is shown those with debug information only, numbered anew.  Several sections of
 * one name (groups of -fdebug-types-section in an object file) are shown as one.  Relocations of
 * object files are applied here: a symbol in a section of code is at that section's address, since
 * compilers in memory fill that in; a reference to another section of debug information is an
 * offset.
 */
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <unistd.h>
#include <zstd.h>

#include "symbols/compile.h"

enum { MAX_SECTIONS = 64, ZSTD_CHDR = 2 };

struct shown {			/* a section as libdwarf sees it */
	char name[32];
	uint64_t addr, size;
	uint8_t *data;		/* our own copy, or in the image */
	bool owned;
};
struct object {
	Elf *elf;
	GElf_Half type;
	bool split;		/* only what belongs to split units is shown */
	struct shown shown[MAX_SECTIONS];
	unsigned n_shown;
	struct area {
		uint64_t start, end;
		bool executable;
	} *area;		/* what is mapped: segments, of object files sections */
	size_t n_area, cap_area;
	uint64_t tls, tls_size;	/* where the first content of thread-local variables is */
	struct placed {		/* where a section of the image is among the shown */
		uint32_t shown;	/* 0 = not */
		uint64_t base;
	} *placed;
	size_t n_sections;
	Dwarf_Obj_Access_Interface access;
	Dwarf_Debug dbg;
};

/* ---- what libdwarf asks ---------------------------------------------------------------------- */

static int section_info(void *obj, Dwarf_Half i, Dwarf_Obj_Access_Section *ret, int *error)
{
	struct object *o = obj;

	(void)error;
	if (i >= o->n_shown)
		return DW_DLV_NO_ENTRY;
	*ret = (Dwarf_Obj_Access_Section){ .addr = o->shown[i].addr,
					   .size = o->shown[i].size,
					   .name = o->shown[i].name };
	return DW_DLV_OK;
}

static Dwarf_Endianness byte_order(void *obj)
{
	(void)obj;
	return DW_OBJECT_LSB;
}

static Dwarf_Small eight(void *obj)
{
	(void)obj;
	return 8;
}

static Dwarf_Unsigned section_count(void *obj)
{
	return ((struct object *)obj)->n_shown;
}

static int load_section(void *obj, Dwarf_Half i, Dwarf_Small **ret, int *error)
{
	struct object *o = obj;

	(void)error;
	if (i >= o->n_shown || !o->shown[i].data)
		return DW_DLV_NO_ENTRY;
	*ret = o->shown[i].data;
	return DW_DLV_OK;
}

static const Dwarf_Obj_Access_Methods methods = {
	.get_section_info = section_info,
	.get_byte_order = byte_order,
	.get_length_size = eight,
	.get_pointer_size = eight,
	.get_section_count = section_count,
	.load_section = load_section,
};

/* ---- sections -------------------------------------------------------------------------------- */

static bool wanted(const struct object *o, const char *name)
{
	if (o->split)
		return strstr(name, ".dwo") || !strcmp(name, ".debug_cu_index") ||
		       !strcmp(name, ".debug_tu_index");
	return !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8) ||
	       !strcmp(name, ".eh_frame");
}

/* The content, decompressed.  False: not to be had. */
static bool section_bytes(Elf_Scn *scn, GElf_Shdr *sh, uint8_t **data_ret, uint64_t *size_ret,
			  bool *owned_ret)
{
	bool packed = sh->sh_flags & SHF_COMPRESSED;
	GElf_Chdr ch;
	Elf_Data *d;

	*owned_ret = false;
	if (sh->sh_type == SHT_NOBITS)
		return false;
	if (packed && gelf_getchdr(scn, &ch) && ch.ch_type == ZSTD_CHDR) {
		d = elf_rawdata(scn, NULL);
		if (!d || d->d_size <= sizeof(Elf64_Chdr) || ch.ch_size > (1ull << 32))
			return false;
		*data_ret = malloc(ch.ch_size ? ch.ch_size : 1);
		*size_ret = ch.ch_size;
		*owned_ret = true;
		return *data_ret && ZSTD_decompress(*data_ret, ch.ch_size,
						    (uint8_t *)d->d_buf + sizeof(Elf64_Chdr),
						    d->d_size - sizeof(Elf64_Chdr)) == ch.ch_size;
	}
	if (packed && elf_compress(scn, 0, 0) < 0)
		return false;
	d = elf_rawdata(scn, NULL);
	if (packed)
		d = elf_getdata(scn, NULL);
	if (!d || !d->d_buf)
		return false;
	*data_ret = d->d_buf;
	*size_ret = d->d_size;
	return true;
}

static struct shown *shown_find(struct object *o, const char *name)
{
	for (unsigned i = 1; i < o->n_shown; i++)
		if (!strcmp(o->shown[i].name, name))
			return &o->shown[i];
	return NULL;
}

/* Adds bytes to the section of that name; returns where they begin in it. */
static uint64_t shown_add(struct object *o, const char *name, uint64_t addr, uint8_t *data,
			  uint64_t size, bool owned)
{
	struct shown *s = shown_find(o, name);
	uint8_t *both;
	uint64_t base;

	if (!s) {
		if (o->n_shown == MAX_SECTIONS)
			return 0;
		s = &o->shown[o->n_shown++];
		*s = (struct shown){ .addr = addr, .size = size, .data = data, .owned = owned };
		snprintf(s->name, sizeof(s->name), "%s", name);
		return 0;
	}
	base = s->size;
	both = malloc(base + size + 1);
	if (!both)
		_exit(1);
	memcpy(both, s->data, base);
	memcpy(both + base, data, size);
	if (s->owned)
		free(s->data);
	*s = (struct shown){ .addr = s->addr, .size = base + size, .data = both, .owned = true };
	snprintf(s->name, sizeof(s->name), "%s", name);
	return base;
}

static void add_area(struct object *o, uint64_t start, uint64_t size, bool executable)
{
	if (size && start + size > start &&
	    grow(&o->area, &o->cap_area, o->n_area + 1, sizeof(*o->area)))
		o->area[o->n_area++] = (struct area){ start, start + size, executable };
}

static void sections_read(struct object *o)
{
	size_t names;

	if (elf_getshdrstrndx(o->elf, &names) || elf_getshdrnum(o->elf, &o->n_sections) ||
	    !o->n_sections)
		return;
	o->placed = calloc(o->n_sections, sizeof(*o->placed));
	if (!o->placed)
		_exit(1);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(o->elf, scn)) != NULL;) {
		size_t index = elf_ndxscn(scn);
		const char *name;
		char plain[32];
		uint64_t size;
		uint8_t *data;
		GElf_Shdr sh;
		bool owned;

		if (!gelf_getshdr(scn, &sh) || index >= o->n_sections)
			continue;
		if (o->type == ET_REL && (sh.sh_flags & SHF_ALLOC) && sh.sh_addr)
			add_area(o, sh.sh_addr, sh.sh_size, sh.sh_flags & SHF_EXECINSTR);
		name = elf_strptr(o->elf, names, sh.sh_name);
		if (!name || !wanted(o, name) || strlen(name) >= sizeof(plain))
			continue;
		if (!strncmp(name, ".zdebug_", 8)) {
			snprintf(plain, sizeof(plain), ".%s", name + 2);
			if (elf_compress_gnu(scn, 0, 0) < 0)
				continue;
			sh.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
			name = plain;
		}
		if (!section_bytes(scn, &sh, &data, &size, &owned) || !size)
			continue;
		o->placed[index].base = shown_add(o, name, sh.sh_addr, data, size, owned);
		o->placed[index].shown =
			(uint32_t)(shown_find(o, name) ? shown_find(o, name) - o->shown : 0);
	}
}

static void segments_read(struct object *o)
{
	size_t n;

	if (elf_getphdrnum(o->elf, &n))
		return;
	for (size_t i = 0; i < n && i < 1024; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(o->elf, (int)i, &ph) && ph.p_type == PT_LOAD)
			add_area(o, ph.p_vaddr, ph.p_memsz, ph.p_flags & PF_X);
		if (gelf_getphdr(o->elf, (int)i, &ph) && ph.p_type == PT_TLS) {
			o->tls = ph.p_vaddr;
			o->tls_size = ph.p_memsz;
		}
	}
}

static int area_compare(const void *a, const void *b)
{
	const struct area *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static const struct area *area_at(const struct object *o, uint64_t addr)
{
	size_t lo = 0, hi = o->n_area;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (o->area[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < o->area[lo - 1].end ? &o->area[lo - 1] : NULL;
}

bool object_executable(const struct object *o, uint64_t addr)
{
	const struct area *a = area_at(o, addr);

	return a && a->executable;
}

bool object_mapped(const struct object *o, uint64_t addr)
{
	return area_at(o, addr) != NULL;
}

uint64_t object_tls_offset(const struct object *o, uint64_t addr)
{
	return addr - o->tls < o->tls_size && o->tls >= o->tls_size ? addr - o->tls : addr;
}

/* ---- relocations of object files ------------------------------------------------------------- */

struct relocating {
	struct object *o;
	struct shown *target;
	uint64_t base, addr;	/* of the relocated section: in target, in memory */
	Elf_Data *symbols, *numbers;	/* numbers: SHT_SYMTAB_SHNDX, sections beyond 0xff00 */
	uint8_t *done;
};

static bool symbol_value(struct relocating *r, uint32_t number, uint64_t *ret)
{
	GElf_Shdr sh;
	Elf_Scn *scn;
	GElf_Sym sym;
	Elf32_Word in;

	if (!gelf_getsymshndx(r->symbols, r->numbers, (int)number, &sym, &in))
		return false;
	*ret = sym.st_value;
	if (sym.st_shndx == SHN_ABS || !number)
		return true;
	if (sym.st_shndx != SHN_XINDEX)
		in = sym.st_shndx < SHN_LORESERVE ? sym.st_shndx : SHN_UNDEF;
	if (in == SHN_UNDEF || in >= r->o->n_sections)
		return false;
	if (r->o->placed[in].shown &&
	    strcmp(r->o->shown[r->o->placed[in].shown].name, ".eh_frame")) {
		*ret += r->o->placed[in].base;
		return true;
	}
	scn = elf_getscn(r->o->elf, in);
	if (!scn || !gelf_getshdr(scn, &sh))
		return false;
	*ret += sh.sh_addr;
	return true;
}

static void relocate(struct relocating *r, const GElf_Rela *rela)
{
	unsigned size = 4;
	uint64_t v;

	if (!symbol_value(r, GELF_R_SYM(rela->r_info), &v))
		return;
	v += (uint64_t)rela->r_addend;
	switch (GELF_R_TYPE(rela->r_info)) {
	case R_X86_64_64: case R_X86_64_DTPOFF64: size = 8; break;
	case R_X86_64_PC64: v -= r->addr + rela->r_offset; size = 8; break;
	case R_X86_64_32: case R_X86_64_32S: case R_X86_64_DTPOFF32: break;
	case R_X86_64_PC32: v -= r->addr + rela->r_offset; break;
	default: return;
	}
	if (rela->r_offset > r->target->size - r->base ||
	    r->target->size - r->base - rela->r_offset < size)
		return;
	memcpy(r->target->data + r->base + rela->r_offset, &v, size);
}

/* Makes a copy of the section, which can be written to. */
static void shown_copy(struct shown *s)
{
	uint8_t *copy;

	if (s->owned)
		return;
	copy = malloc(s->size + 1);
	if (!copy)
		_exit(1);
	memcpy(copy, s->data, s->size);
	s->data = copy;
	s->owned = true;
}

static Elf_Data *section_numbers(struct object *o)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(o->elf, scn)) != NULL;) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB_SHNDX)
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static void relocations_apply(struct object *o)
{
	Elf_Data *numbers = section_numbers(o);

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(o->elf, scn)) != NULL;) {
		struct relocating r = { .o = o, .numbers = numbers };
		Elf_Scn *symtab, *target;
		GElf_Shdr sh, to;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA ||
		    sh.sh_info >= o->n_sections || !o->placed[sh.sh_info].shown)
			continue;
		symtab = elf_getscn(o->elf, sh.sh_link);
		target = elf_getscn(o->elf, sh.sh_info);
		d = elf_getdata(scn, NULL);
		r.symbols = symtab ? elf_getdata(symtab, NULL) : NULL;
		if (!d || !r.symbols || !target || !gelf_getshdr(target, &to))
			continue;
		r.target = &o->shown[o->placed[sh.sh_info].shown];
		r.base = o->placed[sh.sh_info].base;
		r.addr = to.sh_addr;
		shown_copy(r.target);
		for (size_t i = 0; i < d->d_size / sizeof(Elf64_Rela); i++) {
			GElf_Rela rela;

			if (gelf_getrela(d, (int)i, &rela))
				relocate(&r, &rela);
		}
	}
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct object *object_read(struct span image, struct span fallback_eh,
				  uint64_t fallback_eh_addr, bool split)
{
	struct object *o = calloc(1, sizeof(*o));
	Dwarf_Error e = NULL;
	GElf_Ehdr eh;

	if (!o)
		_exit(1);
	o->split = split;
	o->n_shown = 1;		/* number 0 is nothing, as in a file */
	elf_version(EV_CURRENT);
	o->elf = elf_memory((char *)(uintptr_t)image.p, image.n);
	if (!o->elf || !gelf_getehdr(o->elf, &eh))
		return o;
	o->type = eh.e_type;
	segments_read(o);
	sections_read(o);
	if (o->type == ET_REL && !split)
		relocations_apply(o);
	if (o->n_area)
		qsort(o->area, o->n_area, sizeof(*o->area), area_compare);
	if (fallback_eh.n && !shown_find(o, ".eh_frame"))
		shown_add(o, ".eh_frame", fallback_eh_addr, (uint8_t *)(uintptr_t)fallback_eh.p,
			  fallback_eh.n, false);
	if (o->n_shown == 1)
		return o;
	o->access = (Dwarf_Obj_Access_Interface){ o, &methods };
	if (dwarf_object_init_b(&o->access, NULL, NULL, DW_GROUPNUMBER_ANY, &o->dbg, &e) !=
	    DW_DLV_OK)
		o->dbg = NULL;
	return o;
}

struct object *object_open(struct span image, struct span fallback_eh, uint64_t fallback_eh_addr)
{
	return object_read(image, fallback_eh, fallback_eh_addr, false);
}

struct object *object_open_split(struct span image)
{
	return object_read(image, (struct span){ NULL, 0 }, 0, true);
}

Dwarf_Debug object_dwarf(struct object *o)
{
	return o->dbg;
}

struct span object_section(const struct object *o, const char *name)
{
	for (unsigned i = 1; i < o->n_shown; i++)
		if (!strcmp(o->shown[i].name, name))
			return (struct span){ o->shown[i].data, o->shown[i].size };
	return (struct span){ NULL, 0 };
}
