/*
 * level.c - the psABI's levels as masks over cpuid, names of features, layouts of the XSAVE area.
 *
 * Feature bits not named in a mask are hidden at every level, those of later processors too; what
 * describes the machine (sizes of caches and addresses, numbers of processors, the maker's name)
 * stays, as it is recorded and replay shows it again.
 */
#include "tracee/level.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#define BIT(n) (1u << (n))

enum reg { EAX, EBX, ECX, EDX };

/* Words of cpuid_features(). */
enum { W_1_ECX, W_1_EDX, W_7_EBX, W_7_ECX, W_7_EDX, W_71_EAX, W_D1_EAX, W_EXT_ECX, WORDS };

struct feature { uint8_t word, bit, level; const char *name; };

/*
 * Instructions that a program finds by cpuid, and uses: Intel SDM vol. 2A, CPUID; AMD APM vol. 3.
 * level 0: of none.
 */
static const struct feature features[] = {
	{ W_1_ECX, 0, CPU_V2, "SSE3" },
	{ W_1_ECX, 9, CPU_V2, "SSSE3" },
	{ W_1_ECX, 13, CPU_V2, "CMPXCHG16B" },
	{ W_1_ECX, 19, CPU_V2, "SSE4.1" },
	{ W_1_ECX, 20, CPU_V2, "SSE4.2" },
	{ W_1_ECX, 23, CPU_V2, "POPCNT" },
	{ W_EXT_ECX, 0, CPU_V2, "LAHF" },
	{ W_1_ECX, 28, CPU_V3, "AVX" },
	{ W_7_EBX, 5, CPU_V3, "AVX2" },
	{ W_7_EBX, 3, CPU_V3, "BMI1" },
	{ W_7_EBX, 8, CPU_V3, "BMI2" },
	{ W_1_ECX, 29, CPU_V3, "F16C" },
	{ W_1_ECX, 12, CPU_V3, "FMA" },
	{ W_1_ECX, 22, CPU_V3, "MOVBE" },
	{ W_EXT_ECX, 5, CPU_V3, "LZCNT" },
	{ W_1_ECX, 26, CPU_V3, "XSAVE" },
	{ W_7_EBX, 16, CPU_V4, "AVX512F" },
	{ W_7_EBX, 17, CPU_V4, "AVX512DQ" },
	{ W_7_EBX, 28, CPU_V4, "AVX512CD" },
	{ W_7_EBX, 30, CPU_V4, "AVX512BW" },
	{ W_7_EBX, 31, CPU_V4, "AVX512VL" },
	{ W_1_ECX, 1, 0, "PCLMULQDQ" },
	{ W_1_ECX, 25, 0, "AES" },
	{ W_1_ECX, 30, 0, "RDRAND" },
	{ W_7_EBX, 0, 0, "FSGSBASE" },
	{ W_7_EBX, 4, 0, "HLE" },
	{ W_7_EBX, 11, 0, "RTM" },
	{ W_7_EBX, 18, 0, "RDSEED" },
	{ W_7_EBX, 19, 0, "ADX" },
	{ W_7_EBX, 21, 0, "AVX512_IFMA" },
	{ W_7_EBX, 23, 0, "CLFLUSHOPT" },
	{ W_7_EBX, 24, 0, "CLWB" },
	{ W_7_EBX, 26, 0, "AVX512PF" },
	{ W_7_EBX, 27, 0, "AVX512ER" },
	{ W_7_EBX, 29, 0, "SHA" },
	{ W_7_ECX, 1, 0, "AVX512_VBMI" },
	{ W_7_ECX, 6, 0, "AVX512_VBMI2" },
	{ W_7_ECX, 8, 0, "GFNI" },
	{ W_7_ECX, 9, 0, "VAES" },
	{ W_7_ECX, 10, 0, "VPCLMULQDQ" },
	{ W_7_ECX, 11, 0, "AVX512_VNNI" },
	{ W_7_ECX, 12, 0, "AVX512_BITALG" },
	{ W_7_ECX, 14, 0, "AVX512_VPOPCNTDQ" },
	{ W_7_EDX, 2, 0, "AVX512_4VNNIW" },
	{ W_7_EDX, 3, 0, "AVX512_4FMAPS" },
	{ W_7_EDX, 8, 0, "AVX512_VP2INTERSECT" },
	{ W_7_EDX, 23, 0, "AVX512_FP16" },
	{ W_71_EAX, 0, 0, "SHA512" },
	{ W_71_EAX, 1, 0, "SM3" },
	{ W_71_EAX, 2, 0, "SM4" },
	{ W_71_EAX, 4, 0, "AVX_VNNI" },
	{ W_71_EAX, 5, 0, "AVX512_BF16" },
	{ W_71_EAX, 7, 0, "CMPCCXADD" },
	{ W_71_EAX, 23, 0, "AVX_IFMA" },
};
enum { FEATURES = sizeof(features) / sizeof(features[0]) };

const char *cpu_level_name(enum cpu_level level)
{
	static const char *const names[] = { "host", "x86-64-v2", "x86-64-v3", "x86-64-v4" };

	return names[level];
}

bool cpu_level_here(enum cpu_level level, const char **lacks_ret)
{
	uint32_t have[WORDS];

	cpuid_features(false, have);
	for (unsigned i = 0; i < FEATURES; i++) {
		const struct feature *f = &features[i];

		if (f->level && f->level <= level && !(have[f->word] & BIT(f->bit))) {
			*lacks_ret = f->name;
			return false;
		}
	}
	return true;
}

enum cpu_level cpu_level_highest(void)
{
	enum cpu_level level = CPU_V4;
	const char *lacks;

	while (level && !cpu_level_here(level, &lacks))
		level--;
	return level;
}

const char *features_missing(const uint32_t recorded[WORDS], const uint32_t have[WORDS])
{
	for (unsigned i = 0; i < FEATURES; i++) {
		const struct feature *f = &features[i];

		if (recorded[f->word] & ~have[f->word] & BIT(f->bit))
			return f->name;
	}
	return NULL;
}

/* ---- what cpuid shows ------------------------------------------------------------------------ */

static enum cpu_level shown;

void cpu_level_show(enum cpu_level level) { shown = level; }
enum cpu_level cpu_level_shown(void) { return shown; }

static uint64_t level_xcr0(enum cpu_level level)
{
	return level == CPU_V2 ? 0 : level == CPU_V3 ? 7 : 0xe7;
}

uint64_t cpu_xcr0_shown(void)
{
	return shown ? cpu_xcr0() & level_xcr0(shown) : cpu_xcr0();
}

/* Returns the bits of a word of features that the level has. */
static uint32_t of_level(enum cpu_level level, unsigned word)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < FEATURES; i++) {
		if (features[i].word == word && features[i].level && features[i].level <= level)
			mask |= BIT(features[i].bit);
	}
	return mask;
}

/* 1.edx: what every x86-64 has, and what describes the system. */
#define BASE_1_EDX 0x178bfbffu
/* The bits of AMD's copy of the word, and SYSCALL, NX, RDTSCP (which traps), LM. */
#define BASE_EXT_EDX (0x0183f3ffu | BIT(11) | BIT(20) | BIT(27) | BIT(29))

static struct cpuid_leaf leaf_d(enum cpu_level level, uint32_t subleaf, struct cpuid_leaf r)
{
	const struct cpuid_leaf none = { 0 };
	uint64_t xcr0 = level_xcr0(level);

	if (!xcr0)
		return none;
	if (subleaf == 0) {
		uint32_t size = 576;

		for (uint32_t part = 2; part < 8; part++) {
			struct cpuid_leaf p = cpuid_here(0xd, part);

			if (xcr0 >> part & 1 && p.ebx + p.eax > size)
				size = p.ebx + p.eax;
		}
		return (struct cpuid_leaf){ (uint32_t)xcr0, size, size, 0 };
	}
	return subleaf >= 2 && subleaf < 32 && xcr0 >> subleaf & 1 ? r : none;
}

struct cpuid_leaf level_leaf(enum cpu_level level, uint32_t leaf, uint32_t subleaf,
			     struct cpuid_leaf r)
{
	enum { HYPERVISOR = 31, OSXSAVE = 27 };
	const struct cpuid_leaf none = { 0 };

	switch (leaf) {
	case 1:
		r.ecx &= of_level(level, W_1_ECX) | BIT(HYPERVISOR) |
			 (level >= CPU_V3 ? BIT(OSXSAVE) : 0);
		r.edx &= BASE_1_EDX;
		return r;
	case 7:
		return subleaf ? none
			       : (struct cpuid_leaf){ 0, r.ebx & of_level(level, W_7_EBX), 0, 0 };
	case 0xd:
		return leaf_d(level, subleaf, r);
	case 5:
	case 6:
	case 0xa:
	case 0xf:
	case 0x10:
	case 0x12:
	case 0x14:
	case 0x17:
	case 0x19:
	case 0x1c:
	case 0x1d:
	case 0x1e:
	case 0x20:
	case 0x21:
	case 0x23:
	case 0x24:
	case 0x8000000a:
	case 0x80000021:
	case 0x80000022:
		return none;
	case 0x80000001:
		r.ecx &= of_level(level, W_EXT_ECX);
		r.edx &= BASE_EXT_EDX;
		return r;
	case 0x80000008:
		r.ebx = 0;
		return r;
	default:
		return r;
	}
}

/* ---- layouts --------------------------------------------------------------------------------- */

enum { LEGACY = 512, HEADER_END = 576, BV = 512, FIRST = 2 };

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static void layout_hardware(xsave_layout ret)
{
	uint64_t xcr0 = cpu_xcr0();

	memset(ret, 0, sizeof(xsave_layout));
	for (unsigned part = FIRST; part < XSAVE_PARTS; part++) {
		struct cpuid_leaf leaf;

		if (!(xcr0 >> part & 1))
			continue;
		leaf = cpuid_here(0xd, part);
		if (leaf.ebx >= HEADER_END && leaf.ebx + leaf.eax <= UINT16_MAX) {
			ret[part][0] = (uint16_t)leaf.ebx;
			ret[part][1] = (uint16_t)leaf.eax;
		}
	}
}

void xsave_layout_here(xsave_layout ret) { layout_hardware(ret); }

void xsave_layout_recorded(xsave_layout ret)
{
	if (cpu_emulated()->amd)
		xsave_layout_guess(cpu_xcr0(), true, ret);
	else
		layout_hardware(ret);
}

/*
 * AMD packs what there is; Intel's places are those of its first processors that had all (MPX at
 * 960, 1024).
 */
void xsave_layout_guess(uint64_t xcr0, bool amd, xsave_layout ret)
{
	static const uint16_t intel[XSAVE_PARTS][2] = {
		[XSAVE_AVX] = { 576, 256 },  [3] = { 960, 64 },
		[4] = { 1024, 64 },	     [XSAVE_K] = { 1088, 64 },
		[XSAVE_ZMM] = { 1152, 512 }, [XSAVE_ZMM16] = { 1664, 1024 },
		[XSAVE_PKRU] = { 2688, 8 },  [17] = { 2752, 64 },
		[18] = { 2816, 8192 },
	};
	uint16_t at = HEADER_END;

	memset(ret, 0, sizeof(xsave_layout));
	for (unsigned part = FIRST; part < XSAVE_PARTS; part++) {
		if (!(xcr0 >> part & 1) || !intel[part][1])
			continue;
		ret[part][0] = amd ? at : intel[part][0];
		ret[part][1] = intel[part][1];
		at = (uint16_t)(at + intel[part][1]);
	}
}

static bool is_zero(const unsigned char *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

bool xsave_convert(const xsave_layout from, const void *in, size_t in_len, const xsave_layout to,
		   void *out, size_t max, size_t *len_ret)
{
	const unsigned char *src = in;
	unsigned char *dst = out;
	uint64_t bv = in_len >= BV + 8 ? get64(src + BV) : 3, bv_out = bv & 3;
	bool good = true;

	memset(dst, 0, max);
	memcpy(dst, src, in_len < LEGACY ? in_len : LEGACY);
	for (unsigned part = FIRST; part < XSAVE_PARTS; part++) {
		size_t at = from[part][0], size = from[part][1], have;

		if (!(bv >> part & 1) || !size || at >= in_len)
			continue;
		have = in_len - at < size ? in_len - at : size;
		if (to[part][1] >= size && (size_t)to[part][0] + size <= max) {
			memcpy(dst + to[part][0], src + at, have);
			bv_out |= 1ull << part;
		} else if (part != XSAVE_PKRU && !is_zero(src + at, have)) {
			good = false;
		}
	}
	memcpy(dst + BV, &bv_out, 8);
	*len_ret = max;
	while (*len_ret && !dst[*len_ret - 1])
		--*len_ret;
	return good;
}

/* ---- processors that are not here ------------------------------------------------------------ */

const struct cpu_emulated *cpu_emulated(void)
{
	static struct cpu_emulated e;
	static bool known;
	const char *s = getenv("HINDSIGHT_CPU");

	if (!known && s) {
		e.amd = strstr(s, "amd") != NULL;
		e.intel = strstr(s, "intel") != NULL;
		e.no_cpuid = strstr(s, "nocpuid") != NULL;
		e.no_tsc = strstr(s, "notsc") != NULL;
		e.flags = strstr(s, "flags") != NULL;
	}
	known = true;
	return &e;
}

bool cpu_emulates(void)
{
	const struct cpu_emulated *e = cpu_emulated();

	return e->amd || e->intel || e->no_cpuid || e->no_tsc || e->flags;
}

/* Leaves by which an AMD processor tells C libraries of itself and its caches. */
static const struct { uint32_t leaf, subleaf; struct cpuid_leaf r;
} amd_leaves[] = {
	{ 0x80000000, 0, { 0x80000020, 0x68747541, 0x444d4163, 0x69746e65 } },
	/* "AMD EPYC (emulat" */
	{ 0x80000002, 0, { 0x20444d41, 0x43595045, 0x6d652820, 0x74616c75 } },
	{ 0x80000003, 0, { 0x00296465, 0, 0, 0 } },
	{ 0x80000004, 0, { 0, 0, 0, 0 } },
	{ 0x80000005, 0, { 0xff48ff40, 0xff48ff40, 0x20080140, 0x20080140 } },
	{ 0x80000006, 0, { 0x5c002200, 0x6c004200, 0x02006140, 0x00809140 } },
	{ 0x8000001d, 0, { 0x121, 0x01c0003f, 63, 0 } },
	{ 0x8000001d, 1, { 0x122, 0x01c0003f, 63, 0 } },
	{ 0x8000001d, 2, { 0x143, 0x01c0003f, 1023, 2 } },
	{ 0x8000001d, 3, { 0x163, 0x03c0003f, 32767, 1 } },
	{ 0x8000001d, 4, { 0, 0, 0, 0 } },
};

static struct cpuid_leaf as_amd(uint32_t leaf, uint32_t subleaf, struct cpuid_leaf r)
{
	for (unsigned i = 0; i < sizeof(amd_leaves) / sizeof(amd_leaves[0]); i++) {
		if (amd_leaves[i].leaf == leaf &&
		    (leaf != 0x8000001d || amd_leaves[i].subleaf == subleaf))
			return amd_leaves[i].r;
	}
	if (leaf == 0)
		/* "AuthenticAMD" */
		return (struct cpuid_leaf){ 0x10, 0x68747541, 0x444d4163, 0x69746e65 };
	if (leaf == 1)		/* Zen 4 */
		r.eax = 0xa10f11;
	if (leaf == 7 && subleaf == 0) {
		/* TME, CLDEMOTE, MOVDIRI, MOVDIR64B */
		r.ecx &= ~(BIT(13) | BIT(25) | BIT(27) | BIT(28));
		/* SERIALIZE, TSXLDTRK, IBT, AMX, AVX512_FP16 */
		r.edx &= ~(BIT(14) | BIT(16) | BIT(20) | BIT(22) | BIT(23) | BIT(24) | BIT(25));
	}
	if (leaf == 7 && subleaf == 1)
		r.eax &= BIT(5);
	if (leaf == 0x80000001)
		r.ecx |= BIT(6);	/* SSE4A */
	return r;
}

struct cpuid_leaf cpu_emulated_leaf(uint32_t leaf, uint32_t subleaf, struct cpuid_leaf r)
{
	const struct cpu_emulated *e = cpu_emulated();

	if (e->amd)
		return as_amd(leaf, subleaf, r);
	if (e->intel && leaf == 0) {
		r.ebx = 0x756e6547;	/* "GenuineIntel" */
		r.edx = 0x49656e69;
		r.ecx = 0x6c65746e;
	}
	if (e->intel && leaf == 7 && subleaf == 0)
		r.ecx |= BIT(13);	/* TME */
	return r;
}

void cpu_vendor(char vendor[13])
{
	struct cpuid_leaf l = cpuid_here(0, 0);

	memcpy(vendor, &l.ebx, 4);
	memcpy(vendor + 4, &l.edx, 4);
	memcpy(vendor + 8, &l.ecx, 4);
	vendor[12] = '\0';
}
