/* The vdso, found as a program finds it: AT_SYSINFO_EHDR, its dynamic symbols, its functions. */
#include "test.h"
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/time.h>

static void *find(uintptr_t base, const char *name)
{
	ElfW(Ehdr) *eh = (void *)base;
	ElfW(Phdr) *ph = (void *)(base + eh->e_phoff);
	ElfW(Dyn) *dyn = NULL;
	ElfW(Sym) *sym = NULL;
	const char *str = NULL;
	uintptr_t off = 0;
	size_t n = 0;

	CHECK(!memcmp(eh->e_ident, ELFMAG, SELFMAG));
	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD)
			off = base - ph[i].p_vaddr + ph[i].p_offset;
		if (ph[i].p_type == PT_DYNAMIC)
			dyn = (void *)(base + ph[i].p_offset);
	}
	CHECK(dyn);
	for (; dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			sym = (void *)(off + dyn->d_un.d_ptr);
		if (dyn->d_tag == DT_STRTAB)
			str = (void *)(off + dyn->d_un.d_ptr);
		if (dyn->d_tag == DT_HASH)
			n = ((uint32_t *)(off + dyn->d_un.d_ptr))[1];
	}
	CHECK(sym && str);
	if (!n)		/* only a GNU hash: the string table follows the symbols */
		n = ((uintptr_t)str - (uintptr_t)sym) / sizeof(*sym);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(str + sym[i].st_name, name) && sym[i].st_shndx != SHN_UNDEF)
			return (void *)(off + sym[i].st_value);
	return NULL;
}

int main(void)
{
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	int (*gettime)(clockid_t, struct timespec *);
	int (*tod)(struct timeval *, void *);
	long (*cpu)(unsigned *, unsigned *, void *);
	time_t (*tm)(time_t *);
	struct timespec a, b;
	struct timeval tv;
	unsigned c = 999;

	if (!base)
		skip("no vdso here");
	gettime = (int (*)(clockid_t, struct timespec *))find(base, "__vdso_clock_gettime");
	tod = (int (*)(struct timeval *, void *))find(base, "__vdso_gettimeofday");
	cpu = (long (*)(unsigned *, unsigned *, void *))find(base, "__vdso_getcpu");
	tm = (time_t (*)(time_t *))find(base, "__vdso_time");
	CHECK(gettime && tod && cpu && tm);
	for (int i = 0; i < 200; i++) {
		CHECK_EQ(gettime(CLOCK_MONOTONIC, &a), 0);
		CHECK_EQ(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &b), 0);
		CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
		CHECK_EQ(gettime(CLOCK_REALTIME, &a), 0);
		CHECK_EQ(tod(&tv, NULL), 0);
	}
	printf("%ld %ld\n", (long)b.tv_nsec, (long)tv.tv_usec);
	CHECK_EQ(cpu(&c, NULL, NULL), 0);
	CHECK(c < 100000);
	CHECK(tm(NULL) >= tv.tv_sec - 1);	/* it counts ticks: up to one behind, at the turn of a second */
	CHECK_EQ(gettime(9999, &a), -EINVAL);
	return success();
}
