/*
 * loader.c - breakpoints that debuggers set for themselves, to learn of libraries: at the dynamic
 * loader's _dl_debug_state() (struct r_debug of <link.h>), or at its probes (SystemTap's notes of
 * provider "rtld": init_start, map_start, reloc_complete, unmap_start ...).
 *
 * They are met only where libraries are mapped or unmapped, which needs system calls; so where
 * there are none of these, they need not be looked for.
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation has the notes' layout.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replayer/stops/loader.h"
#include "replayer/stops/stops.h"

enum { NOTES_MAX = 64 << 10, SECTIONS_MAX = 256, NOTE_STAPSDT = 3 };

/* A part of a file, with a NUL behind it; NULL when it is not there.  The caller frees it. */
static char *part(int fd, uint64_t off, uint64_t len)
{
	char *bytes = len && len <= NOTES_MAX ? malloc(len + 1) : NULL;

	if (bytes && pread(fd, bytes, len, (off_t)off) != (ssize_t)len) {
		free(bytes);
		return NULL;
	}
	if (bytes)
		bytes[len] = '\0';
	return bytes;
}

/*
 * Is the file's address pc one of its rtld probes?  Addresses in notes count from where the linker
 * put .stapsdt.base.
 */
static bool in_notes(const char *notes, size_t len, uint64_t pc)
{
	size_t at = 0;

	while (at + sizeof(Elf64_Nhdr) <= len) {
		Elf64_Nhdr n;
		size_t name, desc;
		uint64_t word;

		memcpy(&n, notes + at, sizeof(n));
		name = at + sizeof(n);
		desc = name + ((n.n_namesz + 3ull) & ~3ull);
		if (n.n_namesz > len || n.n_descsz > len || desc + n.n_descsz > len)
			return false;
		at = desc + ((n.n_descsz + 3ull) & ~3ull);
		if (n.n_type != NOTE_STAPSDT || n.n_namesz != 8 ||
		    memcmp(notes + name, "stapsdt", 8) || n.n_descsz < 3 * 8 + 5)
			continue;
		memcpy(&word, notes + desc, 8);
		if (word == pc && !strncmp(notes + desc + 24, "rtld", n.n_descsz - 24))
			return true;
	}
	return false;
}

static bool in_symbols(int fd, const Elf64_Shdr *sym, const Elf64_Shdr *str, uint64_t pc)
{
	Elf64_Sym *s = (Elf64_Sym *)(void *)part(fd, sym->sh_offset, sym->sh_size);
	char *names = part(fd, str->sh_offset, str->sh_size);
	bool found = false;

	for (size_t i = 0; s && names && !found && i < sym->sh_size / sizeof(*s); i++)
		found = s[i].st_value == pc && s[i].st_name < str->sh_size &&
			!strcmp(names + s[i].st_name, "_dl_debug_state");
	free(s);
	free(names);
	return found;
}

/* Offset in the file, and the address it is linked to. */
static bool place_in_file(int fd, uint64_t offset)
{
	Elf64_Shdr sec[SECTIONS_MAX];
	uint64_t pc = 0;
	Elf64_Ehdr e;
	Elf64_Phdr ph[32];
	bool found = false;

	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(*ph) || e.e_phnum > 32 ||
	    e.e_shentsize != sizeof(*sec) || e.e_shnum > SECTIONS_MAX ||
	    pread(fd, ph, e.e_phnum * sizeof(*ph), (off_t)e.e_phoff) !=
		    (ssize_t)(e.e_phnum * sizeof(*ph)) ||
	    pread(fd, sec, e.e_shnum * sizeof(*sec), (off_t)e.e_shoff) !=
		    (ssize_t)(e.e_shnum * sizeof(*sec)))
		return false;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && offset >= ph[i].p_offset &&
		    offset - ph[i].p_offset < ph[i].p_filesz)
			pc = offset - ph[i].p_offset + ph[i].p_vaddr;
	}
	for (unsigned i = 0; pc && i < e.e_shnum && !found; i++) {
		char *notes = sec[i].sh_type == SHT_NOTE && !(sec[i].sh_flags & SHF_ALLOC)
				      ? part(fd, sec[i].sh_offset, sec[i].sh_size)
				      : NULL;

		found = notes && in_notes(notes, sec[i].sh_size, pc);
		free(notes);
		if (sec[i].sh_type == SHT_DYNSYM && sec[i].sh_link < e.e_shnum)
			found = found || in_symbols(fd, &sec[i], &sec[sec[i].sh_link], pc);
	}
	return found;
}

bool rp_solib_place(const struct rp_task *t, uint64_t addr)
{
	struct tracee_maps maps;
	const struct tracee_map *m;
	bool found = false;
	int fd;

	struct err *err = tracee_maps_read(t->real, &maps);

	if (err) {
		err_free(err);
		return false;
	}
	m = tracee_maps_find(&maps, addr);
	if (m && m->inode && (m->prot & PROT_EXEC)) {
		fd = open(m->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		found = fd >= 0 && place_in_file(fd, addr - m->start + m->offset);
		if (fd >= 0)
			close(fd);
	}
	tracee_maps_deinit(&maps);
	return found;
}
