#include "tracee/own.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "abi/page.h"
#include "tracee/cpu.h"
#include "tracee/maps.h"
#include "tracee/ud2.h"
#include "tracee/vdso.h"

static bool tsc_traps;

static uint64_t tsc_read(uint32_t *aux_ret)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(*aux_ret));
	return (uint64_t)hi << 32 | lo;
}

uint64_t own_tsc(uint32_t *aux_ret)
{
	uint64_t tsc;

	if (!tsc_traps)
		return tsc_read(aux_ret);
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	tsc = tsc_read(aux_ret);
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	return tsc;
}

static void emulate_cpuid(greg_t *g)
{
	struct cpuid_leaf l;

	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
	__cpuid_count((uint32_t)g[REG_RAX], (uint32_t)g[REG_RCX], l.eax, l.ebx, l.ecx, l.edx);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
	g[REG_RAX] = l.eax;
	g[REG_RBX] = l.ebx;
	g[REG_RCX] = l.ecx;
	g[REG_RDX] = l.edx;
}

/* Libraries of ours look at the processor and at its clock now and then. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	enum trap_insn insn = TRAP_NONE;
	uint8_t text[16] = { 0 };
	unsigned len = 0;
	uint32_t aux;
	uint64_t tsc;

	if (info->si_code == SI_KERNEL) {
		/* up to the end of the page: what is behind it may not be mapped */
		size_t room = PAGE_BYTES - (uint64_t)g[REG_RIP] % PAGE_BYTES;

		memcpy(text, (const void *)(uintptr_t)g[REG_RIP],
		       room < sizeof(text) ? room : sizeof(text));
		insn = trap_insn_at(text, &len);
	}
	switch (insn) {
	case TRAP_CPUID:
		emulate_cpuid(g);
		break;
	case TRAP_RDTSC:
	case TRAP_RDTSCP:
		tsc = own_tsc(&aux);
		g[REG_RAX] = (greg_t)(uint32_t)tsc;
		g[REG_RDX] = (greg_t)(tsc >> 32);
		if (insn == TRAP_RDTSCP)
			g[REG_RCX] = (greg_t)aux;
		break;
	default:
		signal(sig, SIG_DFL);	/* a real fault: it happens again, and ends us */
		return;
	}
	g[REG_RIP] += len;
}

static bool own_vdso_range(uint64_t *start_ret, uint64_t *end_ret)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	struct tracee_maps maps;
	const struct tracee_map *m;
	struct err *err = tracee_maps_read(getpid(), &maps);

	if (err) {
		err_free(err);
		return false;
	}
	m = vdso ? tracee_maps_find(&maps, vdso) : NULL;
	if (m) {
		*start_ret = m->start;
		*end_ret = m->end;
	}
	tracee_maps_deinit(&maps);
	return m;
}

/* From here on libc's clock is a system call. */
static bool overwrite_vdso(void)
{
	uint64_t start = 0, end = 0;
	struct err *err;
	void *at;

	if (!own_vdso_range(&start, &end))
		return !getauxval(AT_SYSINFO_EHDR);
	at = (void *)(uintptr_t)start;
	if (mprotect(at, end - start, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		return false;
	err = vdso_patch(getpid(), start, end - start);
	mprotect(at, end - start, PROT_READ | PROT_EXEC);
	if (!err)
		return true;
	err_free(err);
	return false;
}

bool own_tsc_wanted(void)
{
	const char *asked = getenv("HINDSIGHT_OWN_TSC");	/* tests: 1 or 0 */

	if (asked && *asked)
		return *asked == '1' && tsc_can_trap();
	/*
	 * Intel's virtual machines may own the bit of CR4 and write it without an exit; AMD's have
	 * no such thing.
	 */
	return cpu_is_guest() && !cpu_is_intel() && tsc_can_trap();
}

bool own_tsc_traps(void)
{
	return tsc_traps;
}

void own_trap(bool cpuid)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };
	bool tsc = !tsc_traps && own_tsc_wanted();	/* asks cpuid: before it faults */

	cpuid = cpuid && cpuid_can_trap();
	if ((!cpuid && !tsc) || sigaction(SIGSEGV, &sa, NULL) < 0)
		return;
	if (cpuid)
		syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
	if (tsc && overwrite_vdso())
		tsc_traps = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0;
}

void own_trap_off(void)
{
	if (tsc_traps)
		prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	tsc_traps = false;
}
