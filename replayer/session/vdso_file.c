/*
 * vdso_file.c - the vdso as a file, for names and stacks.
 *
 * It is read from a replayed process, as the recorder left it there: its functions are system
 * calls (tracee/vdso.h).  Call frame information is that of the functions that were there before,
 * so it is taken out: what these do to the stack can be seen from their instructions.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "replayer/session/session.h"

enum { VDSO_MAX = 64 << 10 };

static void forget_frames(uint8_t *image, size_t len)
{
	Elf64_Ehdr eh;

	memcpy(&eh, image, sizeof(eh));
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		size_t at = eh.e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr ph;

		if (at > len - sizeof(ph))
			return;
		memcpy(&ph, image + at, sizeof(ph));
		if (ph.p_type != PT_GNU_EH_FRAME)
			continue;
		ph.p_type = PT_NULL;
		memcpy(image + at, &ph, sizeof(ph));
	}
	for (unsigned i = 0; i < eh.e_shnum; i++) {
		size_t at = eh.e_shoff + i * sizeof(Elf64_Shdr), names;
		Elf64_Shdr sh, strings;

		names = eh.e_shoff + eh.e_shstrndx * sizeof(strings);
		if (at > len - sizeof(sh) || names > len - sizeof(strings))
			return;
		memcpy(&sh, image + at, sizeof(sh));
		memcpy(&strings, image + names, sizeof(strings));
		names = strings.sh_offset + sh.sh_name;
		if (names > len - 9 || memcmp(image + names, ".eh_frame", 9))
			continue;
		sh.sh_type = SHT_NULL;
		sh.sh_size = 0;
		memcpy(image + at, &sh, sizeof(sh));
	}
}

/* The length of the file at addr, or 0: it is none. */
static size_t file_length(const struct replay *r, int tid, uint64_t addr)
{
	Elf64_Ehdr eh;
	uint64_t len;

	if (replay_memory(r, tid, addr, &eh, sizeof(eh)) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(Elf64_Phdr) ||
	    eh.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	len = eh.e_shoff + (uint64_t)eh.e_shnum * sizeof(Elf64_Shdr);
	return len > sizeof(eh) && len <= VDSO_MAX ? len : 0;
}

struct err *rp_vdso_file(struct replay *r, int *fd_ret)
{
	for (const struct rp_task *t = r->tasks; t; t = t->next) {
		uint64_t addr = t->mm ? rp_auxv_value(t->mm, AT_SYSINFO_EHDR) : 0;
		size_t len = addr ? file_length(r, t->rec_tid, addr) : 0;
		uint8_t *image = len ? alloc_zeroed(len, 1, "the vdso") : NULL;
		bool ok = image && replay_memory(r, t->rec_tid, addr, image, len) == len;

		if (ok) {
			forget_frames(image, len);
			*fd_ret = memfd_create("vdso", MFD_CLOEXEC);
			ok = *fd_ret >= 0 && write(*fd_ret, image, len) == (ssize_t)len;
			if (!ok && *fd_ret >= 0)
				close(*fd_ret);
		}
		free(image);
		if (ok)
			return NULL;
	}
	return &err_end;
}
