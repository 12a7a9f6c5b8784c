/*
 * log_blob.c - the debug information of an ELF file alone.
 *
 * What a log carries to know its types.  The file may be hostile: everything is looked at before
 * use.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/log_internal.h"

enum { SECTIONS_MAX = 64, BLOB_MAX = 256 << 20 };

struct picked { const Elf64_Shdr *sh; const char *name; };

static bool wanted(const char *name)
{
	static const char *const names[] = { ".debug_info",	  ".debug_abbrev",
					     ".debug_str",	  ".debug_line_str",
					     ".debug_str_offsets", ".debug_types",
					     ".debug_addr" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static size_t pick(const unsigned char *elf, size_t len, const Elf64_Ehdr *eh, struct picked *ret)
{
	const Elf64_Shdr *sh = (const void *)(elf + eh->e_shoff), *names;
	size_t n = 0;

	if (eh->e_shoff % 8 || eh->e_shentsize != sizeof(*sh) || eh->e_shoff > len ||
	    eh->e_shnum > (len - eh->e_shoff) / sizeof(*sh) || eh->e_shstrndx >= eh->e_shnum)
		return 0;
	names = &sh[eh->e_shstrndx];
	if (names->sh_offset > len || names->sh_size > len - names->sh_offset)
		return 0;
	for (size_t i = 1; i < eh->e_shnum && n < SECTIONS_MAX; i++) {
		const char *name = (const char *)elf + names->sh_offset + sh[i].sh_name;

		if (sh[i].sh_name >= names->sh_size ||
		    !memchr(name, 0, names->sh_size - sh[i].sh_name) || !wanted(name) ||
		    sh[i].sh_type == SHT_NOBITS || sh[i].sh_offset > len ||
		    sh[i].sh_size > len - sh[i].sh_offset)
			continue;
		ret[n++] = (struct picked){ &sh[i], name };
	}
	return n;
}

void *log_blob_make(const void *elf, size_t len, size_t *len_ret)
{
	Elf64_Shdr out[SECTIONS_MAX + 2] = { { 0 } };
	struct picked p[SECTIONS_MAX];
	char names[SECTIONS_MAX * 24] = "";
	size_t n, at = sizeof(Elf64_Ehdr), names_len = 1, total;
	unsigned char *ret;
	bool info = false;
	Elf64_Ehdr eh;

	if (len < sizeof(eh) || memcmp(elf, ELFMAG, SELFMAG))
		return NULL;
	memcpy(&eh, elf, sizeof(eh));
	n = eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_type != ET_REL ? pick(elf, len, &eh, p) : 0;
	for (size_t i = 0; i < n; i++) {
		out[i + 1] = (Elf64_Shdr){ .sh_name = (Elf64_Word)names_len,
					   .sh_type = SHT_PROGBITS,
					   .sh_flags = p[i].sh->sh_flags & SHF_COMPRESSED,
					   .sh_offset = at,
					   .sh_size = p[i].sh->sh_size,
					   .sh_addralign = 8 };
		memcpy(names + names_len, p[i].name, strlen(p[i].name) + 1);
		names_len += strlen(p[i].name) + 1;
		at = (at + p[i].sh->sh_size + 7) & ~(size_t)7;
		info |= !strcmp(p[i].name, ".debug_info");
		if (at > BLOB_MAX)
			return NULL;
	}
	memcpy(names + names_len, ".shstrtab", 10);
	out[n + 1] = (Elf64_Shdr){ .sh_name = (Elf64_Word)names_len, .sh_type = SHT_STRTAB,
				   .sh_offset = at, .sh_size = names_len + 10, .sh_addralign = 1 };
	at = (at + names_len + 10 + 7) & ~(size_t)7;
	total = at + (n + 2) * sizeof(*out);
	ret = info ? calloc(1, total) : NULL;
	if (!ret)
		return NULL;
	eh.e_phoff = eh.e_entry = 0;
	eh.e_phnum = eh.e_phentsize = 0;
	eh.e_shoff = at;
	eh.e_shnum = (Elf64_Half)(n + 2);
	eh.e_shstrndx = (Elf64_Half)(n + 1);
	memcpy(ret, &eh, sizeof(eh));
	for (size_t i = 0; i < n; i++)
		memcpy(ret + out[i + 1].sh_offset, (const char *)elf + p[i].sh->sh_offset,
		       p[i].sh->sh_size);
	memcpy(ret + out[n + 1].sh_offset, names, names_len + 10);
	memcpy(ret + at, out, (n + 2) * sizeof(*out));
	*len_ret = total;
	return ret;
}
