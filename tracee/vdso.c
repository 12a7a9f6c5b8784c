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

/*
 * The rest of the old function goes, so that its branches do not forbid a jump in ours
 * (tracee/patch.h).
 */
static struct err *patch_function(struct tracee_mem *mem, uint64_t addr, uint64_t size, int nr)
{
	/* mov $nr,%eax; syscall; ret */
	uint8_t call[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	/* mov $-ENOSYS,%rax; ret */
	uint8_t none[] = { 0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, 0xc3 };

	_Static_assert(ENOSYS == 0x26, "the constant in the code above");
	memcpy(call + 1, &nr, 4);
	uint8_t body[FUNCTION_MAX];

	if (size < sizeof(call) || size > sizeof(body))
		size = sizeof(call);
	memset(body, 0xcc, sizeof(body));
	memcpy(body, nr == NO_CALL ? none : call, sizeof(call));
	return tracee_mem_write(mem, addr, body, size);
}

static struct err *patch_symbols(struct tracee_mem *mem, uint64_t addr, const uint8_t *image,
				 size_t len, const Elf64_Shdr *syms, const Elf64_Shdr *strings)
{
	for (uint64_t off = 0; off + sizeof(Elf64_Sym) <= syms->sh_size; off += sizeof(Elf64_Sym)) {
		Elf64_Sym sym;
		const char *name;

		memcpy(&sym, image + syms->sh_offset + off, sizeof(sym));
		if (sym.st_name >= strings->sh_size || sym.st_value >= len ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		name = (const char *)image + strings->sh_offset + sym.st_name;
		for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
			if (!strcmp(name, functions[i].name))
				TRY(patch_function(mem, addr + sym.st_value, sym.st_size,
						   functions[i].nr));
		}
	}
	return NULL;
}

static bool section_fits(const Elf64_Shdr *s, size_t len)
{
	return s->sh_offset <= len && s->sh_size <= len - s->sh_offset;
}

struct err *vdso_patch(pid_t tid, uint64_t addr, uint64_t len)
{
	uint8_t *image = calloc(1, VDSO_MAX + 1);
	struct tracee_mem mem = { tid, -1 };
	struct err *err = NULL;
	Elf64_Ehdr eh;

	if (!image)
		return &err_nomem;
	len = tracee_read_some(tid, addr, image, len < VDSO_MAX ? len : VDSO_MAX);
	memcpy(&eh, image, sizeof(eh));
	for (unsigned i = 0; len >= sizeof(eh) && i < eh.e_shnum && !err; i++) {
		Elf64_Shdr syms, strings;
		uint64_t at = eh.e_shoff + (uint64_t)i * sizeof(syms);

		if (at > len || len - at < sizeof(syms))
			break;
		memcpy(&syms, image + at, sizeof(syms));
		if (syms.sh_type != SHT_DYNSYM || !section_fits(&syms, len) ||
		    syms.sh_link >= eh.e_shnum)
			continue;
		at = eh.e_shoff + (uint64_t)syms.sh_link * sizeof(strings);
		if (at > len || len - at < sizeof(strings))
			break;
		memcpy(&strings, image + at, sizeof(strings));
		if (section_fits(&strings, len))
			err = patch_symbols(&mem, addr, image, len, &syms, &strings);
	}
	tracee_mem_close(&mem);
	free(image);
	return err;
}
