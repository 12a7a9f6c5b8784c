/*
 * cpu.h - which CPU to run on, and what CPU it is.
 */
#ifndef TRACEE_CPU_H
#define TRACEE_CPU_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/regs.h"
#include "base/err.h"

/*
 * Pin this process (and what it forks) to one CPU, chosen so that several recorders and
 * replayers on a machine take different ones.  The mask from before goes to *before_ret.
 * Without the right to pin everything still works, only slower.
 */
void cpu_pin(cpu_set_t *before_ret);
/* Returns how many more CPUs there are in that mask; 0 before cpu_pin(). */
unsigned cpu_others(void);
/*
 * Borrows the one of these CPUs that was borrowed least often, if no other recorder or replayer is
 * on it (anyway: even then); -1: there is none.
 */
int cpu_borrow(bool anyway);
void cpu_give_back(int cpu);
/* Called in a fork: a borrowed CPU is the parent's, who gives it back. */
void cpu_forked(void);
/* Returns the CPU of cpu_pin(). */
int cpu_own(void);
/* Moves another process (0: this one), or a thread, to this CPU. */
void cpu_move(pid_t pid, int cpu);

struct cpuid_leaf { uint32_t eax, ebx, ecx, edx; };

/* Returns what cpuid says on this machine. */
struct cpuid_leaf cpuid_here(uint32_t leaf, uint32_t subleaf);

/* Does the answer depend on the subleaf? */
bool cpuid_has_subleaves(uint32_t leaf);
/*
 * Returns cpuid_here() without what replay cannot reproduce: TSX, RDRAND, RDSEED, RDPID, user-mode
 * wait, SGX, AMX, ...
 */
struct cpuid_leaf cpuid_masked(uint32_t leaf, uint32_t subleaf);

/* 1.ecx 1.edx 7.0.ebx 7.0.ecx 7.0.edx 7.1.eax d.1.eax 80000001.ecx */
void cpuid_features(bool masked, uint32_t features[8]);
/* Writes 48 characters and NUL. */
void cpuid_brand(char brand[49]);
/* Returns XCR0, or 0 where the system has no XSAVE. */
uint64_t cpu_xcr0(void);
/* May programs read and write the bases of fs and gs by instructions (Linux 5.9)? */
bool cpu_has_fsgsbase(void);
/* Can cpuid be made to fault here (arch_prctl(ARCH_SET_CPUID), Linux 4.12)? */
bool cpuid_can_trap(void);

/*
 * Returns family and model (cpuid leaf 1, eax, without the stepping): processors of one signature
 * leave the same in what the architecture leaves undefined.  0: another processor is emulated.
 */
uint32_t cpu_signature(void);
/* Does a hypervisor say that this is a virtual machine? */
bool cpu_is_guest(void);
bool cpu_is_intel(void);

/*
 * trap_insn_at() tells the instruction at text (up to 16 bytes) from which a SIGSEGV may have come
 * because the instruction is trapped.
 */
enum trap_insn {
	TRAP_NONE = 0,
	TRAP_RDTSC,
	TRAP_RDTSCP,
	TRAP_CPUID,
	TRAP_XGETBV,
	TRAP_XSAVE,
	TRAP_XRSTOR,
	TRAP_FXSAVE,
	TRAP_RDRAND,
	TRAP_RDSEED,
	TRAP_RDPID
};
enum trap_insn trap_insn_at(const uint8_t *text, unsigned *len_ret);
/* Tells an instruction that becomes ud2 (tracee/ud2.h): all of them. */
enum trap_insn trap_insn_ud2(const uint8_t *text, unsigned *len_ret);
/* Makes rdrand, rdseed or rdpid (text) give value: in its register, and in the flags. */
void trap_give(struct regs *regs, const uint8_t *text, enum trap_insn insn, uint64_t value);

#endif
