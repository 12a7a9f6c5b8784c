#include "tracee/vdso.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum { VDSO_MAX = 64 << 10, FUNCTION_MAX = 2048, NO_CALL = -1 };

/*
 * Functions of arch/x86/entry/vdso/vdso.lds.S; getrandom is told to use its system call by ENOSYS.
 */
static const struct { const char *name; int nr; } functions[] = {
	{ "__vdso_clock_gettime", SYS_clock_gettime },
	{ "__vdso_gettimeofday", SYS_gettimeofday },
	{ "__vdso_time", SYS_time },
	{ "__vdso_clock_getres", SYS_clock_getres },
	{ "__vdso_getcpu", SYS_getcpu },
	{ "__vdso_getrandom", NO_CALL },
};

/* What a process has there, to be written back from first on, up to end. */
struct image {
	uint8_t *bytes;
	size_t len;
	uint64_t first, end;
};

/*
 * The rest of the old function goes, so that its branches do not forbid a jump in ours
 * (tracee/patch.h).
 */
static void patch_function(struct image *vdso, uint64_t at, uint64_t size, int nr)
{
	/* mov $nr,%eax; syscall; ret */
	uint8_t call[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	/* mov $-ENOSYS,%rax; ret */
	uint8_t none[] = { 0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, 0xc3 };

	_Static_assert(ENOSYS == 0x26, "the constant in the code above");
	memcpy(call + 1, &nr, 4);
	if (size < sizeof(call) || size > FUNCTION_MAX)
		size = sizeof(call);
	if (vdso->len - at < size)
		return;
	memset(vdso->bytes + at, 0xcc, size);
	memcpy(vdso->bytes + at, nr == NO_CALL ? none : call, sizeof(call));
	vdso->first = at < vdso->first ? at : vdso->first;
	vdso->end = at + size > vdso->end ? at + size : vdso->end;
}

static void patch_symbols(struct image *vdso, const Elf64_Shdr *syms, const Elf64_Shdr *strings)
{
	for (uint64_t off = 0; off + sizeof(Elf64_Sym) <= syms->sh_size; off += sizeof(Elf64_Sym)) {
		Elf64_Sym sym;
		const char *name;

		memcpy(&sym, vdso->bytes + syms->sh_offset + off, sizeof(sym));
		if (sym.st_name >= strings->sh_size || sym.st_value >= vdso->len ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		name = (const char *)vdso->bytes + strings->sh_offset + sym.st_name;
		for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
			if (!strcmp(name, functions[i].name))
				patch_function(vdso, sym.st_value, sym.st_size, functions[i].nr);
		}
	}
}

static bool section_fits(const Elf64_Shdr *s, size_t len)
{
	return s->sh_offset <= len && s->sh_size <= len - s->sh_offset;
}

static void patch_all(struct image *vdso)
{
	size_t len = vdso->len;
	Elf64_Ehdr eh;

	memcpy(&eh, vdso->bytes, sizeof(eh));
	for (unsigned i = 0; len >= sizeof(eh) && i < eh.e_shnum; i++) {
		Elf64_Shdr syms, strings;
		uint64_t at = eh.e_shoff + (uint64_t)i * sizeof(syms);

		if (at > len || len - at < sizeof(syms))
			break;
		memcpy(&syms, vdso->bytes + at, sizeof(syms));
		if (syms.sh_type != SHT_DYNSYM || !section_fits(&syms, len) ||
		    syms.sh_link >= eh.e_shnum)
			continue;
		at = eh.e_shoff + (uint64_t)syms.sh_link * sizeof(strings);
		if (at > len || len - at < sizeof(strings))
			break;
		memcpy(&strings, vdso->bytes + at, sizeof(strings));
		if (section_fits(&strings, len))
			patch_symbols(vdso, &syms, &strings);
	}
}

struct err *vdso_patch(pid_t tid, uint64_t addr, uint64_t len)
{
	struct image vdso = { .bytes = calloc(1, VDSO_MAX + 1), .first = UINT64_MAX };
	struct tracee_mem mem = { tid, -1 };
	struct err *err = NULL;

	if (!vdso.bytes)
		return &err_nomem;
	vdso.len = tracee_read_some(tid, addr, vdso.bytes, len < VDSO_MAX ? len : VDSO_MAX);
	patch_all(&vdso);
	if (vdso.first < vdso.end)
		err = tracee_mem_write(&mem, addr + vdso.first, vdso.bytes + vdso.first,
				       vdso.end - vdso.first);
	tracee_mem_close(&mem);
	free(vdso.bytes);
	return err;
}
