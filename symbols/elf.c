/*
 * elf.c - the parts of an ELF file that names and unwinding need.
 *
 * What runs outside the cage (worker.c) reads untrusted files through a cursor that knows its
 * end: program headers, symbol tables, code.  Debug information is read by libdwarf and libelf, in
 * the cage.
 *
 * An object file (ET_REL) that a JIT compiler made for itself has no program headers, but its
 * sections have the addresses they are at: they are kept as if each were a segment, sorted by
 * address.
 */
#include <limits.h>
#include <lzma.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include "symbols/internal.h"

static const char *const section_names[SECTIONS_N] = {
#define X(id, name) [SEC_##id] = name,
	SECTIONS(X)
#undef X
};

enum { MAX_UNPACKED = 1 << 30, MAX_PHDR = 4096, MAX_SHDR = 1 << 20 };

static struct span elf_slice(struct span file, uint64_t off, uint64_t len)
{
	if (off > file.n || len > file.n - off)
		return (struct span){ file.p, 0 };
	return (struct span){ file.p + off, len };
}

static void elf_add_section(struct elf *e, const Elf64_Shdr *sh, const char *name)
{
	for (int i = 0; i < SECTIONS_N; i++) {
		struct section *s = &e->sec[i];
		/* .zdebug_info is how old tools named compressed sections */
		bool z = !strncmp(name, ".zdebug", 7) && !strcmp(name + 2, section_names[i] + 1);

		if (s->there || (strcmp(name, section_names[i]) && !z))
			continue;
		*s = (struct section){ .addr = sh->sh_addr,
				       .size = sh->sh_size,
				       .flags = sh->sh_flags,
				       .type = sh->sh_type,
				       .there = true };
		if (sh->sh_type != SHT_NOBITS)
			s->raw = elf_slice(e->file, sh->sh_offset, sh->sh_size);
		if (z)
			s->flags |= SHF_COMPRESSED;
		return;
	}
}

static void elf_read_sections(struct elf *e, const Elf64_Ehdr *eh)
{
	struct cursor c = cursor_at(e->file, eh->e_shoff);
	Elf64_Shdr sh, strs;
	uint64_t n = eh->e_shnum, strndx = eh->e_shstrndx;
	struct span names;

	if (!eh->e_shoff || eh->e_shentsize != sizeof(sh) || cursor_left(&c) < sizeof(sh))
		return;
	memcpy(&sh, c.p, sizeof(sh));
	if (!n)
		n = sh.sh_size;
	if (strndx == SHN_XINDEX)
		strndx = sh.sh_link;
	if (n > MAX_SHDR || n > cursor_left(&c) / sizeof(sh) || strndx >= n)
		return;
	memcpy(&strs, c.p + strndx * sizeof(sh), sizeof(strs));
	names = elf_slice(e->file, strs.sh_offset, strs.sh_size);
	e->headers = (struct span){ c.p, n * sizeof(sh) };
	for (uint64_t i = 1; i < n; i++) {
		const char *name;

		memcpy(&sh, c.p + i * sizeof(sh), sizeof(sh));
		name = span_str(names, sh.sh_name);
		if (sh.sh_type == SHT_SYMTAB_SHNDX)
			e->symtab_index = elf_slice(e->file, sh.sh_offset, sh.sh_size);
		/* Objects have tens of thousands of these. */
		if (name && strncmp(name, ".text.", 6) && sh.sh_type != SHT_GROUP &&
		    (sh.sh_type != SHT_RELA || e->type != ET_REL))
			elf_add_section(e, &sh, name);
	}
}

static int segment_compare(const void *a, const void *b)
{
	const Elf64_Phdr *x = a, *y = b;

	return x->p_vaddr < y->p_vaddr ? -1 : x->p_vaddr > y->p_vaddr;
}

/* Takes the sections of an object file as its segments. */
static void elf_place_sections(struct elf *e)
{
	size_t n = e->headers.n / sizeof(Elf64_Shdr);

	e->phdr = n ? calloc(n, sizeof(*e->phdr)) : NULL;
	for (size_t i = 1; e->phdr && i < n; i++) {
		Elf64_Shdr sh;

		memcpy(&sh, e->headers.p + i * sizeof(sh), sizeof(sh));
		if (!(sh.sh_flags & SHF_ALLOC) || !sh.sh_addr || !sh.sh_size ||
		    sh.sh_addr + sh.sh_size < sh.sh_addr)
			continue;
		e->phdr[e->n_phdr++] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_offset = sh.sh_offset,
			.p_vaddr = sh.sh_addr,
			.p_memsz = sh.sh_size,
			.p_filesz = sh.sh_type == SHT_NOBITS ? 0 : sh.sh_size,
			.p_flags = PF_R | (sh.sh_flags & SHF_EXECINSTR ? PF_X : 0) |
				   (sh.sh_flags & SHF_WRITE ? PF_W : 0),
		};
	}
	if (e->n_phdr)
		qsort(e->phdr, e->n_phdr, sizeof(*e->phdr), segment_compare);
}

uint64_t elf_section_address(const struct elf *e, uint32_t number)
{
	Elf64_Shdr sh;

	if (number >= e->headers.n / sizeof(sh))
		return 0;
	memcpy(&sh, e->headers.p + number * sizeof(sh), sizeof(sh));
	return sh.sh_addr;
}

/* A vdso or a file without section headers still says these two in its program headers. */
static void elf_read_segments(struct elf *e)
{
	for (size_t i = 0; i < e->n_phdr; i++) {
		const Elf64_Phdr *ph = &e->phdr[i];
		struct section *s;

		if (ph->p_type == PT_GNU_EH_FRAME)
			s = &e->sec[SEC_EH_FRAME_HDR];
		else if (ph->p_type == PT_DYNAMIC)
			s = &e->sec[SEC_DYNAMIC];
		else
			continue;
		if (!s->there)
			*s = (struct section){ .addr = ph->p_vaddr,
					       .size = ph->p_memsz,
					       .type = SHT_PROGBITS,
					       .there = true,
					       .raw = elf_slice(e->file, ph->p_offset,
								ph->p_filesz) };
	}
}

static void elf_read_build_id(struct elf *e, struct span notes)
{
	struct cursor c = cursor_at(notes, 0);

	while (cursor_left(&c) >= 12 && !e->build_id.n) {
		uint32_t namesz = cursor_u32(&c), descsz = cursor_u32(&c), type = cursor_u32(&c);
		struct span name = cursor_span(&c, ((uint64_t)namesz + 3) & ~3ull);
		struct span desc = cursor_span(&c, ((uint64_t)descsz + 3) & ~3ull);

		if (type == NT_GNU_BUILD_ID && namesz == 4 && name.n == 4 &&
		    !memcmp(name.p, "GNU", 4) && desc.n)
			e->build_id = (struct span){ desc.p, descsz };
	}
}

/* The dynamic symbols of a file without section headers, by way of PT_DYNAMIC. */
static void elf_read_dynamic(struct elf *e)
{
	struct span dyn = elf_section(e, SEC_DYNAMIC);
	uint64_t symtab = 0, strtab = 0, strsz = 0, hash = 0, n = 0;
	struct section *s = &e->sec[SEC_DYNSYM];

	if (s->there)
		return;
	for (struct cursor c = cursor_at(dyn, 0); cursor_left(&c) >= 16;) {
		uint64_t tag = cursor_u64(&c), val = cursor_u64(&c);

		if (tag == DT_NULL)
			break;
		if (tag == DT_SYMTAB) symtab = val;
		if (tag == DT_STRTAB) strtab = val;
		if (tag == DT_STRSZ) strsz = val;
		if (tag == DT_HASH) hash = val;
	}
	if (!symtab || !strtab)
		return;
	if (hash) {
		struct cursor c = cursor_at(elf_bytes(e, hash), 4);

		n = cursor_u32(&c);
	} else if (strtab > symtab) {	/* linkers put one behind the other */
		n = (strtab - symtab) / sizeof(Elf64_Sym);
	}
	s->raw = elf_bytes(e, symtab);
	if (n < s->raw.n / sizeof(Elf64_Sym))
		s->raw.n = n * sizeof(Elf64_Sym);
	*s = (struct section){
		.addr = symtab, .size = s->raw.n, .type = SHT_DYNSYM, .there = true, .raw = s->raw
	};
	s = &e->sec[SEC_DYNSTR];
	s->raw = elf_bytes(e, strtab);
	if (strsz < s->raw.n)
		s->raw.n = strsz;
	*s = (struct section){
		.addr = strtab, .size = s->raw.n, .type = SHT_STRTAB, .there = true, .raw = s->raw
	};
}

bool elf_init(struct elf *e, struct span file, bool mapped, bool owned)
{
	struct cursor c;
	Elf64_Ehdr eh;

	*e = (struct elf){ .file = file, .mapped = mapped, .owned = owned };
	if (file.n < sizeof(eh))
		goto bad;
	memcpy(&eh, file.p, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_machine != EM_X86_64)
		goto bad;
	e->type = eh.e_type;
	c = cursor_at(file, eh.e_phoff);
	if (eh.e_phnum && eh.e_phnum <= MAX_PHDR && eh.e_phentsize == sizeof(Elf64_Phdr) &&
	    cursor_left(&c) / sizeof(Elf64_Phdr) >= eh.e_phnum) {
		e->phdr = calloc(eh.e_phnum, sizeof(*e->phdr));
		if (!e->phdr)
			goto bad;
		memcpy(e->phdr, c.p, eh.e_phnum * sizeof(*e->phdr));
		e->n_phdr = eh.e_phnum;
	}
	elf_read_sections(e, &eh);
	if (e->type == ET_REL && !e->phdr)
		elf_place_sections(e);
	elf_read_segments(e);
	elf_read_dynamic(e);
	elf_read_build_id(e, elf_section(e, SEC_BUILD_ID));
	for (size_t i = 0; i < e->n_phdr && !e->build_id.n; i++)
		if (e->phdr[i].p_type == PT_NOTE)
			elf_read_build_id(
				e, elf_slice(file, e->phdr[i].p_offset, e->phdr[i].p_filesz));
	return true;
bad:
	elf_deinit(e);
	return false;
}

void elf_deinit(struct elf *e)
{
	for (int i = 0; i < SECTIONS_N; i++)
		free(e->sec[i].owned);
	free(e->phdr);
	if (e->mapped)
		munmap((void *)(uintptr_t)e->file.p, e->file.n);
	else if (e->owned)
		free((void *)(uintptr_t)e->file.p);
	*e = (struct elf){ 0 };
}

/* ---- compressed content -------------------------------------------------------------------- */

static uint8_t *unpack_zlib(struct span in, size_t n)
{
	uint8_t *out = malloc(n);
	uLongf got = n;

	if (out && (uncompress(out, &got, in.p, in.n) != Z_OK || got != n)) {
		free(out);
		out = NULL;
	}
	return out;
}

static uint8_t *unpack_zstd(struct span in, size_t n)
{
	uint8_t *out = malloc(n);

	if (out && ZSTD_decompress(out, n, in.p, in.n) != n) {
		free(out);
		out = NULL;
	}
	return out;
}

uint8_t *unpack_xz(struct span in, size_t *n_ret)
{
	uint64_t limit = 256 << 20;
	size_t cap = in.n * 8 + 4096, in_pos, out_pos;

	for (; cap <= MAX_UNPACKED / 4; cap *= 4) {
		uint8_t *out = malloc(cap);
		lzma_ret r;

		if (!out)
			return NULL;
		in_pos = out_pos = 0;
		r = lzma_stream_buffer_decode(&limit, 0, NULL, in.p, &in_pos, in.n, out, &out_pos,
					      cap);
		if (r == LZMA_OK) {
			*n_ret = out_pos;
			return out;
		}
		free(out);
		if (r != LZMA_BUF_ERROR)
			return NULL;
	}
	return NULL;
}

static void section_unpack(struct section *s)
{
	struct span in = s->raw;
	Elf64_Chdr ch = { 0 };

	s->unpacked = true;
	s->raw.n = 0;
	if (in.n > 12 && !memcmp(in.p, "ZLIB", 4)) {	/* .zdebug: size is big endian */
		for (int i = 4; i < 12; i++)
			ch.ch_size = ch.ch_size << 8 | in.p[i];
		ch.ch_type = ELFCOMPRESS_ZLIB;
		in = (struct span){ in.p + 12, in.n - 12 };
	} else if (in.n > sizeof(ch)) {
		memcpy(&ch, in.p, sizeof(ch));
		in = (struct span){ in.p + sizeof(ch), in.n - sizeof(ch) };
	}
	/* Neither packs more than about a thousandfold. */
	if (!ch.ch_size || ch.ch_size > MAX_UNPACKED || ch.ch_size / 2000 > in.n)
		return;
	if (ch.ch_type == ELFCOMPRESS_ZLIB)
		s->owned = unpack_zlib(in, ch.ch_size);
	else if (ch.ch_type == 2)	/* ELFCOMPRESS_ZSTD, newer than glibc 2.36's elf.h */
		s->owned = unpack_zstd(in, ch.ch_size);
	if (s->owned)
		s->raw = (struct span){ s->owned, ch.ch_size };
}

struct span elf_section(struct elf *e, enum section_id id)
{
	struct section *s = &e->sec[id];

	if ((s->flags & SHF_COMPRESSED) && !s->unpacked)
		section_unpack(s);
	return s->raw;
}

/* ---- addresses ------------------------------------------------------------------------------ */

const Elf64_Phdr *elf_segment(const struct elf *e, uint64_t vaddr)
{
	size_t lo = 0, hi = e->n_phdr;

	if (e->type != ET_REL) {
		for (size_t i = 0; i < e->n_phdr; i++)
			if (e->phdr[i].p_type == PT_LOAD &&
			    vaddr - e->phdr[i].p_vaddr < e->phdr[i].p_memsz)
				return &e->phdr[i];
		return NULL;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->phdr[mid].p_vaddr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr - e->phdr[lo - 1].p_vaddr < e->phdr[lo - 1].p_memsz ? &e->phdr[lo - 1]
									       : NULL;
}

bool elf_executable(const struct elf *e, uint64_t vaddr)
{
	const Elf64_Phdr *ph = elf_segment(e, vaddr);

	return ph && (ph->p_flags & PF_X);
}

struct span elf_bytes(const struct elf *e, uint64_t vaddr)
{
	const Elf64_Phdr *ph = elf_segment(e, vaddr);
	struct span all;

	if (!ph || vaddr - ph->p_vaddr >= ph->p_filesz)
		return (struct span){ e->file.p, 0 };
	all = elf_slice(e->file, ph->p_offset, ph->p_filesz);
	if (vaddr - ph->p_vaddr >= all.n)
		return (struct span){ e->file.p, 0 };
	return (struct span){ all.p + (vaddr - ph->p_vaddr), all.n - (vaddr - ph->p_vaddr) };
}

struct span elf_eh_frame(struct elf *e, uint64_t *addr_ret)
{
	struct span hdr = elf_section(e, SEC_EH_FRAME_HDR);
	uint64_t base = e->sec[SEC_EH_FRAME_HDR].addr;
	int32_t off;

	/* Version 1; the pointer relative to itself in four bytes, as all linkers write it. */
	if (hdr.n < 8 || hdr.p[0] != 1 || hdr.p[1] != 0x1b)
		return (struct span){ hdr.p, 0 };
	memcpy(&off, hdr.p + 4, 4);
	*addr_ret = base + 4 + (uint64_t)(int64_t)off;
	return elf_bytes(e, *addr_ret);
}
