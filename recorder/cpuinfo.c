/*
 * cpuinfo.c - /proc/cpuinfo as it agrees with the cpuid that the program sees: as many processors
 * (cores.c), and no flag that cpuid hides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/cores.h"
#include "tracee/cpu.h"
#include "tracee/topology.h"

/*
 * Linux's names of cpuid's bits, from bit 0 on (arch/x86/include/asm/cpufeatures.h); -: a bit that
 * has none.  Flags that are in no word are Linux's own, and stay.
 */
enum reg { EAX, EBX, ECX, EDX };
static const struct flag_word { uint32_t leaf, subleaf; enum reg reg; const char *names;
} words[] = {
	{ 1, 0, EDX,
	  "fpu vme de pse tsc msr pae mce cx8 apic - sep mtrr pge mca cmov pat pse36 pn clflush - "
	  "dts acpi mmx fxsr sse sse2 ss ht tm ia64 pbe" },
	{ 1, 0, ECX,
	  "pni pclmulqdq dtes64 monitor ds_cpl vmx smx est tm2 ssse3 cid sdbg fma cx16 xtpr pdcm - "
	  "pcid dca sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave - avx f16c "
	  "rdrand hypervisor" },
	{ 6, 0, EAX,
	  "dtherm ida arat - pln - pts hwp hwp_notify hwp_act_window hwp_epp hwp_pkg_req" },
	{ 6, 0, ECX, "aperfmperf - - epb" },
	{ 7, 0, EBX,
	  "fsgsbase tsc_adjust sgx bmi1 hle avx2 - smep bmi2 erms invpcid rtm cqm - mpx rdt_a "
	  "avx512f avx512dq rdseed adx smap avx512ifma - clflushopt clwb intel_pt avx512pf "
	  "avx512er avx512cd sha_ni avx512bw avx512vl" },
	{ 7, 0, ECX,
	  "- avx512vbmi umip pku ospke waitpkg avx512_vbmi2 user_shstk gfni vaes vpclmulqdq "
	  "avx512_vnni avx512_bitalg tme avx512_vpopcntdq - la57 - - - - - rdpid - "
	  "bus_lock_detect cldemote - movdiri movdir64b enqcmd sgx_lc" },
	{ 7, 0, EDX,
	  "- - avx512_4vnniw avx512_4fmaps fsrm uintr - - avx512_vp2intersect - md_clear - - - "
	  "serialize - tsxldtrk - pconfig arch_lbr ibt - amx_bf16 avx512_fp16 amx_tile amx_int8 - "
	  "- flush_l1d arch_capabilities" },
	{ 7, 1, EAX,
	  "sha512 sm3 sm4 - avx_vnni avx512_bf16 - cmpccxadd - - fzrm fsrs fsrc - - - - fred lkgs "
	  "- "
	  "- amx_fp16 - avx_ifma - - lam" },
	{ 7, 1, EDX, "- - - - avx_vnni_int8 avx_ne_convert - - amx_complex - avx_vnni_int16" },
	{ 0xd, 1, EAX, "xsaveopt xsavec xgetbv1 xsaves" },
	{ 0xf, 1, EDX, "cqm_occup_llc cqm_mbm_total cqm_mbm_local" },
	{ 0x10, 0, EBX, "- cat_l3 cat_l2 mba" },
	{ 0x80000001, 0, ECX,
	  "lahf_lm cmp_legacy svm extapic cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw ibs "
	  "xop skinit wdt - lwp fma4 tce - nodeid_msr - tbm topoext perfctr_core perfctr_nb - "
	  "bpext "
	  "ptsc perfctr_llc mwaitx" },
	{ 0x80000001, 0, EDX,
	  "- - - - - - - - - - - syscall - - - - - - - mp nx - mmxext - - fxsr_opt pdpe1gb rdtscp "
	  "- "
	  "lm 3dnowext 3dnow" },
	{ 0x80000008, 0, EBX,
	  "clzero irperf xsaveerptr - rdpru - - - - wbnoinvd - - amd_ibpb - amd_ibrs amd_stibp - - "
	  "- - - - - amd_ppin amd_ssbd virt_ssbd - cppc" },
	{ 0x8000000a, 0, EDX,
	  "npt lbrv svm_lock nrip_save tsc_scale vmcb_clean flushbyasid decodeassists - - "
	  "pausefilter - pfthreshold avic - v_vmsave_vmload vgif - - - - - - - - vnmi" },
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

static uint32_t word_of(struct cpuid_leaf l, enum reg reg)
{
	return reg == EAX ? l.eax : reg == EBX ? l.ebx : reg == ECX ? l.ecx : l.edx;
}

/* The number of a name in a list; -1: it is not there. */
static int bit_named(const char *names, const char *name, size_t len)
{
	int bit = 0;

	for (const char *p = names; *p; bit++) {
		size_t n = strcspn(p, " ");

		if (n == len && !memcmp(p, name, n))
			return bit;
		p += n + strspn(p + n, " ");
	}
	return -1;
}

static bool is_hidden(const char *name, size_t len)
{
	for (unsigned i = 0; i < WORDS; i++) {
		const struct flag_word *w = &words[i];
		int bit = bit_named(w->names, name, len);
		struct cpuid_leaf here, shown;

		if (bit < 0)
			continue;
		here = cpuid_here(w->leaf, w->subleaf);
		shown = topology_leaf(w->leaf, w->subleaf, 0);
		return (word_of(here, w->reg) & ~word_of(shown, w->reg)) >> bit & 1;
	}
	return false;
}

/* A line of names behind a colon. */
static void put_flags(FILE *out, const char *from, const char *colon, const char *end)
{
	fwrite(from, 1, (size_t)(colon + 1 - from), out);
	for (const char *p = colon + 1; p < end && *p != '\n';) {
		size_t n;

		p += *p == ' ';
		n = strcspn(p, " \n");
		if (n && !is_hidden(p, n))
			fprintf(out, " %.*s", (int)n, p);
		p += n;
	}
	fputc('\n', out);
}

static bool line_is(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && (line[n] == '\t' || line[n] == ' ' || line[n] == ':');
}

/* The processor that stands at from, as number i of n. */
static void put_one(FILE *out, const char *from, const char *end, unsigned i, unsigned n)
{
	while (from < end) {
		const char *next = memchr(from, '\n', (size_t)(end - from));
		const char *colon = memchr(from, ':', (size_t)(end - from));

		next = next ? next + 1 : end;
		if (line_is(from, "processor") || line_is(from, "core id") ||
		    line_is(from, "apicid") || line_is(from, "initial apicid"))
			fprintf(out, "%.*s: %u\n", (int)(colon - from), from, i);
		else if (line_is(from, "siblings") || line_is(from, "cpu cores"))
			fprintf(out, "%.*s: %u\n", (int)(colon - from), from, n);
		else if (line_is(from, "physical id"))
			fprintf(out, "%.*s: 0\n", (int)(colon - from), from);
		else if (line_is(from, "flags"))
			put_flags(out, from, colon, next);
		else
			fwrite(from, 1, (size_t)(next - from), out);
		from = next;
	}
}

char *cpuinfo_text(const char *real, unsigned cores)
{
	const char *end = strstr(real, "\n\n");
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	end = end ? end + 2 : real + strlen(real);
	for (unsigned i = 0; out && i < cores; i++)
		put_one(out, real, end, i, cores);
	if (out && fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
