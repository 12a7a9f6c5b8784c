/* What the CPU is said to be, which instructions trap, and a vdso without clocks of its own. */
#include "tests/unit/tracee_stopped.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "tracee/cpu.h"
#include "tracee/inject.h"
#include "tracee/maps.h"
#include "tracee/vdso.h"

static void trapped_instructions(void **state)
{
	static const struct { uint8_t text[16]; enum trap_insn insn; unsigned len; } rows[] = {
		{ { 0x0f, 0x31 }, TRAP_RDTSC, 2 }, { { 0x0f, 0x01, 0xf9 }, TRAP_RDTSCP, 3 }, { { 0x0f, 0xa2 }, TRAP_CPUID, 2 },
		{ { 0x0f, 0x01, 0xf8 }, TRAP_NONE, 0 }, { { 0x0f, 0x33 }, TRAP_NONE, 0 }, { { 0x31, 0x0f }, TRAP_NONE, 0 },
		{ { 0xf4 }, TRAP_NONE, 0 }, { { 0 }, TRAP_NONE, 0 }, { { 0x0f, 0x0b, 0xf9 }, TRAP_NONE, 0 },
	};
	unsigned len;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(trap_insn_at(rows[i].text, &len), rows[i].insn);
		if (rows[i].insn)
			assert_int_equal(len, rows[i].len);
	}
}

/* Prefixes that the processor ignores: compilers do not write them, but they trap as well. */
static void trapped_with_prefixes(void **state)
{
	static const uint8_t rows[][16] = { { 0x66, 0x0f, 0x31 }, { 0x48, 0x0f, 0x31 }, { 0xf3, 0x0f, 0xa2 }, { 0x2e, 0x48, 0x0f, 0x01, 0xf9 } };
	static const unsigned lens[] = { 3, 3, 3, 5 };
	unsigned len;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_not_equal(trap_insn_at(rows[i], &len), TRAP_NONE);
		assert_int_equal(len, lens[i]);
	}
}

static void hidden_features(void **state)
{
	struct cpuid_leaf one = cpuid_masked(1, 0), seven = cpuid_masked(7, 0), here = cpuid_here(1, 0);
	uint32_t all[8], masked[8];

	(void)state;
	assert_false(one.ecx & 1u << 30);		/* RDRAND */
	assert_int_equal(one.ecx, here.ecx & ~(1u << 30));
	assert_int_equal(one.edx, here.edx);
	assert_false(seven.ebx & (1u << 4 | 1u << 11 | 1u << 18));	/* HLE, RTM, RDSEED */
	assert_false(seven.ecx & (1u << 22 | 1u << 5));	/* RDPID, WAITPKG */
	assert_false(seven.edx & (1u << 22 | 1u << 24 | 1u << 25));	/* AMX */
	cpuid_features(false, all);
	cpuid_features(true, masked);
	for (int i = 0; i < 8; i++)
		assert_int_equal(masked[i] & ~all[i], 0);
	assert_int_equal(masked[0], one.ecx & masked[0]);
	assert_int_equal(masked[2], seven.ebx);
	/* AVX and SSE stay: programs are to run as they would */
	assert_int_equal(masked[1], all[1]);
	assert_int_equal(cpuid_masked(0, 0).ebx, cpuid_here(0, 0).ebx);
}

static void brand(void **state)
{
	char text[49];

	(void)state;
	cpuid_brand(text);
	assert_int_equal(text[48], 0);
	assert_true(strlen(text) <= 48);
	if (cpuid_here(1, 0).ecx & 1u << 27)
		assert_int_equal(cpu_xcr0() & 3, 3);
}

/* ---- vdso ------------------------------------------------------------------------------------ */

/* Address of a function of our own vdso; 0 when it has none of this name. */
static uint64_t vdso_symbol(const char *want)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *eh = (const void *)base;
	const Elf64_Shdr *sh;

	if (!base)
		return 0;
	sh = (const void *)(base + eh->e_shoff);
	for (int i = 0; i < eh->e_shnum; i++) {
		const Elf64_Sym *sym = (const void *)(base + sh[i].sh_offset);
		const char *names;

		if (sh[i].sh_type != SHT_DYNSYM)
			continue;
		names = (const char *)base + sh[sh[i].sh_link].sh_offset;
		for (uint64_t n = 0; n < sh[i].sh_size / sizeof(*sym); n++) {
			if (!strcmp(names + sym[n].st_name, want))
				return (uintptr_t)base + sym[n].st_value;
		}
	}
	return 0;
}

static void vdso_calls_the_kernel(void **state)
{
	static const struct { const char *name; uint32_t nr; } rows[] = {
		{ "__vdso_clock_gettime", SYS_clock_gettime }, { "__vdso_gettimeofday", SYS_gettimeofday },
		{ "__vdso_time", SYS_time }, { "__vdso_getcpu", SYS_getcpu }, { "__vdso_clock_getres", SYS_clock_getres },
		{ "clock_gettime", SYS_clock_gettime },		/* the weak names are the same functions */
	};
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	const struct tracee_map *m;
	struct tracee_maps maps;
	pid_t pid;

	(void)state;
	if (!base)
		skip();
	pid = stopped_child();
	OK(tracee_maps_read(pid, &maps));
	m = tracee_maps_find(&maps, base);
	assert_string_equal(m->name, "[vdso]");
	OK(vdso_patch(pid, m->start, m->end - m->start));
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t want[] = { 0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3 }, have[8];
		uint64_t at = vdso_symbol(rows[i].name);

		if (!at)
			continue;
		memcpy(want + 1, &rows[i].nr, 4);
		OK(tracee_read(pid, at, have, sizeof(have)));
		assert_memory_equal(have, want, sizeof(want));
	}
	/* ours is as it was: the child's copy is private */
	if (vdso_symbol("__vdso_time"))
		assert_int_not_equal(*(const uint8_t *)vdso_symbol("__vdso_time"), 0xb8);
	tracee_maps_deinit(&maps);
	child_end(pid);
}

/* Something that is no vdso, cut off or nonsense: nothing happens, nothing is read outside. */
static void vdso_of_nonsense(void **state)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	pid_t pid;

	(void)state;
	for (int i = 0; i < 4; i++) {
		memset(p, i == 1 ? 0xff : 0, 8192);
		if (i >= 2 && base)
			memcpy(p, (const void *)base, 64);
		if (i == 3)
			memset(p + 40, 0xff, 24);	/* e_shoff and on */
		pid = stopped_child();
		OK(vdso_patch(pid, (uintptr_t)p, 8192));
		OK(vdso_patch(pid, (uintptr_t)p, 10));
		OK(vdso_patch(pid, 8, 4096));
		child_end(pid);
	}
	munmap(p, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trapped_instructions),
		cmocka_unit_test(trapped_with_prefixes),
		cmocka_unit_test(hidden_features),
		cmocka_unit_test(brand),
		cmocka_unit_test(vdso_calls_the_kernel),
		cmocka_unit_test(vdso_of_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
