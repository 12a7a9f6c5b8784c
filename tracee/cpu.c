#include "tracee/cpu.h"
#include "tracee/level.h"
#include "x86/bytes.h"
#include "x86/operand.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static cpu_set_t before_pin;
static int pinned = -1;
enum { BORROWED = 256 };
static struct { unsigned users; int lock; } borrowed[BORROWED];

/*
 * An abstract socket is a lock that needs no file, no rights and no clean-up: held until it is
 * closed.  -1: somebody has it.
 */
static int cpu_claim(int cpu)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int n = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "hindsight-cpu-%d", cpu);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&un,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
		return fd;
	close(fd);
	return -1;
}

void cpu_pin(cpu_set_t *before_ret)
{
	int chosen = sched_getcpu();

	CPU_ZERO(before_ret);
	if (sched_getaffinity(0, sizeof(*before_ret), before_ret) < 0)
		return;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		/* From the current one on: its caches are warm. */
		int cpu = (i + (chosen < 0 ? 0 : chosen)) % CPU_SETSIZE;

		/* until this process ends */
		if (CPU_ISSET(cpu, before_ret) && cpu_claim(cpu) >= 0) {
			chosen = cpu;
			break;
		}
	}
	if (chosen < 0)
		return;
	before_pin = *before_ret;
	pinned = chosen;
	cpu_move(0, chosen);
}

unsigned cpu_others(void)
{
	return pinned < 0 ? 0 : (unsigned)CPU_COUNT(&before_pin) - 1;
}

int cpu_borrow(bool anyway)
{
	int best = -1;

	for (int cpu = 0; pinned >= 0 && cpu < BORROWED; cpu++) {
		if (cpu == pinned || !CPU_ISSET(cpu, &before_pin) ||
		    (best >= 0 && borrowed[cpu].users >= borrowed[best].users))
			continue;
		if (!borrowed[cpu].users)
			borrowed[cpu].lock = cpu_claim(cpu);
		if (borrowed[cpu].lock >= 0 || anyway) {
			if (best >= 0 && !borrowed[best].users && borrowed[best].lock >= 0)
				close(borrowed[best].lock);
			best = cpu;
		}
	}
	if (best >= 0)
		borrowed[best].users++;
	return best;
}

void cpu_give_back(int cpu)
{
	if (!--borrowed[cpu].users && borrowed[cpu].lock >= 0)
		close(borrowed[cpu].lock);
}

void cpu_forked(void)
{
	for (int cpu = 0; cpu < BORROWED; cpu++) {
		if (borrowed[cpu].users && borrowed[cpu].lock >= 0)
			close(borrowed[cpu].lock);
		borrowed[cpu].users = 0;
	}
}

int cpu_own(void)
{
	return pinned;
}

void cpu_move(pid_t pid, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(pid, sizeof(one), &one);
}

struct cpuid_leaf cpuid_here(uint32_t leaf, uint32_t subleaf)
{
	static struct { uint32_t leaf, subleaf; struct cpuid_leaf r; } cache[128];
	static unsigned n;
	struct cpuid_leaf r;

	/*
	 * cpuid leaves the virtual machine, and we are pinned to one CPU: the answer does not
	 * change.
	 */
	for (unsigned i = 0; i < n; i++) {
		if (cache[i].leaf == leaf && cache[i].subleaf == subleaf)
			return cache[i].r;
	}
	__cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
	if (cpu_emulates())
		r = cpu_emulated_leaf(leaf, subleaf, r);
	if (n < sizeof(cache) / sizeof(cache[0])) {
		cache[n].leaf = leaf;
		cache[n].subleaf = subleaf;
		cache[n++].r = r;
	}
	return r;
}

/* Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendix E. */
static const struct { uint32_t leaf, subleaf, eax, ebx, ecx, edx;
} hidden[] = {
	{ 1, 0, 0, 0, 1u << 30 /* RDRAND */, 0 },
	{ 7, 0, 0,
	  1u << 2 /* SGX */ | 1u << 4 /* HLE */ | 1u << 11 /* RTM */ | 1u << 18 /* RDSEED */,
	  1u << 5 /* WAITPKG */ | 1u << 22 /* RDPID */ | 1u << 29 /* ENQCMD */ |
		  1u << 13 /* TME */ | 1u << 25 /* CLDEMOTE */ | 1u << 27 /* MOVDIRI */ |
		  1u << 28 /* MOVDIR64B */,
	  1u << 14 /* SERIALIZE */ | 1u << 11 /* RTM_ALWAYS_ABORT */ |
		  1u << 13 /* TSX_FORCE_ABORT */ | 1u << 16 /* TSXLDTRK */ | 1u << 5 /* UINTR */ |
		  1u << 22 | 1u << 24 | 1u << 25 /* AMX */ },
	{ 7, 1, 1u << 21 /* AMX-FP16 */, 0, 0, 0 },
	{ 0x80000008, 0, 0, 1u << 4 /* RDPRU */, 0, 0 },
	{ 0x80000001, 0, 0, 0,
	  1u << 15 /* LWP */ | 1u << 29 /* MWAITX */ | 1u << 6 /* SSE4A */ | 1u << 11 /* XOP */ |
		  1u << 16 /* FMA4 */ | 1u << 21 /* TBM: of one maker, and nearly unused */,
	  0 },
};

bool cpuid_has_subleaves(uint32_t leaf)
{
	/*
	 * Intel SDM vol. 2A, CPUID; AMD APM vol. 3.  A leaf too many here costs a little, one too
	 * few would be wrong.
	 */
	return leaf == 4 || leaf == 7 || (leaf >= 0xa && leaf <= 0x14) ||
	       (leaf >= 0x17 && leaf < 0x1000) || (leaf >= 0x4000000 && leaf < 0x80000000) ||
	       leaf > 0x80000008;
}

struct cpuid_leaf cpuid_masked(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid_leaf r = cpuid_here(leaf, subleaf);

	for (unsigned i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (hidden[i].leaf != leaf || (leaf == 7 && hidden[i].subleaf != subleaf))
			continue;
		r.eax &= ~hidden[i].eax;
		r.ebx &= ~hidden[i].ebx;
		r.ecx &= ~hidden[i].ecx;
		r.edx &= ~hidden[i].edx;
	}
	return cpu_level_shown() ? level_leaf(cpu_level_shown(), leaf, subleaf, r) : r;
}

void cpuid_features(bool masked, uint32_t features[8])
{
	struct cpuid_leaf (*get)(uint32_t, uint32_t) = masked ? cpuid_masked : cpuid_here;
	uint32_t max = cpuid_here(0, 0).eax;
	struct cpuid_leaf l;

	memset(features, 0, 8 * sizeof(*features));
	l = get(1, 0);
	features[0] = l.ecx;
	features[1] = l.edx;
	if (max >= 7) {
		l = get(7, 0);
		features[2] = l.ebx;
		features[3] = l.ecx;
		features[4] = l.edx;
		if (l.eax >= 1)
			features[5] = get(7, 1).eax;
	}
	if (max >= 0xd)
		features[6] = get(0xd, 1).eax;
	features[7] = get(0x80000001, 0).ecx;
}

void cpuid_brand(char brand[49])
{
	struct cpuid_leaf l;

	memset(brand, 0, 49);
	if (cpuid_here(0x80000000, 0).eax < 0x80000004)
		return;
	for (uint32_t i = 0; i < 3; i++) {
		l = cpuid_here(0x80000002 + i, 0);
		memcpy(brand + 16 * i, &l, 16);
	}
}

uint64_t cpu_xcr0(void)
{
	uint32_t lo, hi;

	if (!(cpuid_here(1, 0).ecx & 1u << 27))	/* OSXSAVE */
		return 0;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (uint64_t)hi << 32 | lo;
}

bool cpu_has_fsgsbase(void)
{
	enum { HWCAP2_FSGSBASE_BIT = 2 };	/* arch/x86/include/uapi/asm/hwcap2.h */

	return getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT;
}

bool cpuid_can_trap(void)
{
	if (cpu_emulated()->no_cpuid)
		return false;
	/* Asking does not change anything: set what is already so. */
	return syscall(SYS_arch_prctl, ARCH_SET_CPUID,
		       syscall(SYS_arch_prctl, ARCH_GET_CPUID, 0)) == 0;
}

uint32_t cpu_signature(void)
{
	enum { STEPPING = 0xf };

	return cpu_emulates() ? 0 : cpuid_here(1, 0).eax & ~(uint32_t)STEPPING;
}

bool cpu_is_guest(void)
{
	return cpuid_here(1, 0).ecx & 1u << 31;
}

bool cpu_is_intel(void)
{
	struct cpuid_leaf l = cpuid_here(0, 0);

	/* "GenuineIntel" */
	return l.ebx == 0x756e6547 && l.edx == 0x49656e69 && l.ecx == 0x6c65746e;
}

/* Prefixes that change nothing: all but lock, which no such instruction may have. */
static unsigned prefixes(const uint8_t *text)
{
	struct x86_prefixes p = x86_prefixes_of(text, 8);

	return p.lock ? 0 : p.n;
}

enum trap_insn trap_insn_at(const uint8_t *text, unsigned *len_ret)
{
	unsigned skip = prefixes(text);

	text += skip;
	*len_ret = skip + 2;
	if (text[0] == 0x0f && text[1] == 0x31)
		return TRAP_RDTSC;
	if (text[0] == 0x0f && text[1] == 0xa2)
		return TRAP_CPUID;
	*len_ret = skip + 3;
	if (text[0] == 0x0f && text[1] == 0x01 && text[2] == 0xf9)
		return TRAP_RDTSCP;
	return TRAP_NONE;
}

/* With the 0xf3 in front that rdpid has. */
static enum trap_insn random_insn(const uint8_t *text, unsigned prefixes)
{
	if (text[prefixes + 2] < 0xf8)
		return TRAP_RDRAND;
	return memchr(text, 0xf3, prefixes) ? TRAP_RDPID : TRAP_RDSEED;
}

void trap_give(struct regs *regs, const uint8_t *text, enum trap_insn insn, uint64_t value)
{
	enum { REX_B = 1, REX_W = 8, CF = 1, PF_AF_ZF_SF_OF = 0x8d4 };
	struct x86_prefixes p = x86_prefixes_of(text, 8);
	unsigned number = (text[p.n + 2] & 7) | (p.rex & REX_B ? 8 : 0);
	uint64_t *reg = (uint64_t *)regs + x86_number_word(number);

	if (insn == TRAP_RDPID) {
		*reg = value;
		return;
	}
	if (p.rex & REX_W)
		*reg = value;
	else if (memchr(text, 0x66, p.n))
		*reg = (*reg & ~0xffffull) | (value & 0xffff);
	else
		*reg = (uint32_t)value;
	regs->eflags = (regs->eflags & ~(uint64_t)PF_AF_ZF_SF_OF) | CF;
}

enum trap_insn trap_insn_ud2(const uint8_t *text, unsigned *len_ret)
{
	enum { FXSAVE = 0, XSAVE = 4, XRSTOR = 5 };
	enum trap_insn insn = trap_insn_at(text, len_ret);
	unsigned skip = prefixes(text), reg;

	if (insn != TRAP_NONE)
		return insn;
	text += skip;
	if (text[0] == 0x0f && text[1] == 0x01 && text[2] == 0xd0)
		return TRAP_XGETBV;
	if (text[0] == 0x0f && text[1] == 0xc7 && text[2] >= 0xf0)
		return random_insn(text - skip, skip);
	if (text[0] != 0x0f || text[1] != 0xae || text[2] >> 6 == 3)
		return TRAP_NONE;
	reg = text[2] >> 3 & 7;
	*len_ret = skip + 2 + x86_modrm_of(text + 2).len;
	return reg == FXSAVE   ? TRAP_FXSAVE
	       : reg == XSAVE  ? TRAP_XSAVE
	       : reg == XRSTOR ? TRAP_XRSTOR
			       : TRAP_NONE;
}
