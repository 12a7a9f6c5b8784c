/*
 * topology.c - cpuid of other processors than there are: Intel SDM vol. 2A, CPUID, and vol. 3A,
 * 9.9; AMD APM vol. 3, appendix E.
 */
#include "tracee/topology.h"

static unsigned cores;

void topology_show(unsigned n) { cores = n; }

/* How many bits of an APIC ID are the core's number? */
static unsigned core_bits(void)
{
	unsigned bits = 0;

	while (1u << bits < cores)
		bits++;
	return bits;
}

static uint32_t field(uint32_t word, unsigned low, unsigned width, uint32_t value)
{
	uint32_t mask = ((1u << width) - 1) << low;

	return (word & ~mask) | (value << low & mask);
}

static struct cpuid_leaf leaf_1(unsigned id, struct cpuid_leaf r)
{
	enum { HTT = 28 };

	r.ebx = field(field(r.ebx, 24, 8, id), 16, 8, cores);
	r.edx = field(r.edx, HTT, 1, cores > 1);
	return r;
}

/* Caches: who shares one with how many. */
static struct cpuid_leaf leaf_cache(struct cpuid_leaf r, uint32_t all)
{
	uint32_t level = r.eax >> 5 & 7;

	if (r.eax & 0x1f)
		r.eax = field(r.eax, 14, 12, level <= 2 ? 0 : all);
	return r;
}

/* Levels of the APIC ID: threads of a core, cores of a package. */
static struct cpuid_leaf leaf_levels(uint32_t subleaf, unsigned id)
{
	enum { SMT = 1 << 8, CORE = 2 << 8 };

	switch (subleaf) {
	case 0:
		return (struct cpuid_leaf){ 0, 1, SMT, id };
	case 1:
		return (struct cpuid_leaf){ core_bits(), cores, 1 | CORE, id };
	default:
		return (struct cpuid_leaf){ 0, 0, subleaf & 0xff, id };
	}
}

/* AMD's newer form of it, which begins with cores. */
static struct cpuid_leaf leaf_levels_amd(uint32_t subleaf, unsigned id)
{
	enum { CORE = 1 << 8 };

	if (subleaf == 0)
		return (struct cpuid_leaf){ core_bits(), cores, CORE, id };
	return (struct cpuid_leaf){ 0, 0, subleaf & 0xff, id };
}

static struct cpuid_leaf leaf_amd(uint32_t leaf, uint32_t subleaf, unsigned id, struct cpuid_leaf r)
{
	enum { CMP_LEGACY = 1, TOPOEXT = 1 << 22 };

	switch (leaf) {
	case 0x80000001:
		r.ecx = field(r.ecx, CMP_LEGACY, 1, cores > 1);
		return r;
	case 0x80000008:
		r.ecx = field(field(r.ecx, 0, 8, cores - 1), 12, 4, core_bits());
		return r;
	case 0x8000001d:
		return leaf_cache(r, cores - 1);
	case 0x8000001e:
		if (!(cpuid_here(0x80000001, 0).ecx & TOPOEXT))
			return r;
		return (struct cpuid_leaf){ id, field(0, 0, 8, id), 0, r.edx };
	case 0x80000026:
		return cpuid_here(leaf, 0).ebx ? leaf_levels_amd(subleaf, id) : r;
	default:
		return r;
	}
}

static uint32_t highest(uint32_t leaf)
{
	return cpuid_here(leaf & 0x80000000, 0).eax;
}

bool topology_has_id(uint32_t leaf)
{
	return leaf == 1 || leaf == 0xb || leaf == 0x1f || leaf == 0x8000001e || leaf == 0x80000026;
}

struct cpuid_leaf topology_leaf(uint32_t leaf, uint32_t subleaf, unsigned id)
{
	struct cpuid_leaf r = cpuid_masked(leaf, subleaf);

	if (!cores || leaf > highest(leaf))
		return r;
	switch (leaf) {
	case 1:
		return leaf_1(id, r);
	case 4:
		r = leaf_cache(r, (1u << core_bits()) - 1);
		if (r.eax & 0x1f)
			r.eax = field(r.eax, 26, 6, (1u << core_bits()) - 1);
		return r;
	case 0xb:
	case 0x1f:
		return cpuid_here(leaf, 0).ebx ? leaf_levels(subleaf, id) : r;
	default:
		return leaf & 0x80000000 && !cpu_is_intel() ? leaf_amd(leaf, subleaf, id, r) : r;
	}
}
