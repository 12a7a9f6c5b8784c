/*
 * level.h - what kind of processor a program is shown, and whether a recording can be replayed on
 * this one.
 *
 * The levels are those of the x86-64 psABI (x86-64-v2, v3, v4): at a level cpuid shows the level's
 * features and nothing else, so that a program uses only what every processor of that level has,
 * whoever made it.
 */
#ifndef TRACEE_LEVEL_H
#define TRACEE_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracee/cpu.h"

enum cpu_level { CPU_HOST = 0, CPU_V2, CPU_V3, CPU_V4 };

/* "host", "x86-64-v2", ... */
const char *cpu_level_name(enum cpu_level level);
/* Has this processor all features of that level?  Names the first that it lacks. */
bool cpu_level_here(enum cpu_level level, const char **lacks_ret);
/* The highest level that this processor has, CPU_HOST where it has not even v2. */
enum cpu_level cpu_level_highest(void);

/* From now on cpuid_masked() answers as a processor of that level does. */
void cpu_level_show(enum cpu_level level);
enum cpu_level cpu_level_shown(void);
/* Returns the part that cpuid shows at the level of what this processor has. */
struct cpuid_leaf level_leaf(enum cpu_level level, uint32_t leaf, uint32_t subleaf,
			     struct cpuid_leaf r);
/* XCR0 as the program sees it: all of it at CPU_HOST. */
uint64_t cpu_xcr0_shown(void);

/*
 * The first instruction set extension of recorded[] (as of cpuid_features()) that code of a program
 * could use and have[] lacks; NULL: none. What only a kernel uses, what describes the machine and
 * what changes nothing but speed is left out.
 */
const char *features_missing(const uint32_t recorded[8], const uint32_t have[8]);

/* ---- the XSAVE area: where its parts lie differs between makers ------------------------------ */

enum {
	XSAVE_PARTS = 20,
	XSAVE_AVX = 2,
	XSAVE_K = 5,
	XSAVE_ZMM = 6,
	XSAVE_ZMM16 = 7,
	XSAVE_PKRU = 9
};

/*
 * Offset and size of each part in the area's standard format (the one of NT_X86_XSTATE), 0 0 where
 * there is none.
 */
typedef uint16_t xsave_layout[XSAVE_PARTS][2];

void xsave_layout_here(xsave_layout ret);
/* The one that recordings made here have: the same, unless another processor is emulated. */
void xsave_layout_recorded(xsave_layout ret);
/* The layout for a recording that does not tell its own: as its processor's maker lays it out. */
void xsave_layout_guess(uint64_t xcr0, bool amd, xsave_layout ret);
/*
 * An area in another layout.  out has room for max bytes.  False: something is in use for which
 * there is no place.
 */
bool xsave_convert(const xsave_layout from, const void *in, size_t in_len, const xsave_layout to,
		   void *out, size_t max, size_t *len_ret);

/* ---- processors that are not here (tests) ---------------------------------------------------- */

/*
 * HINDSIGHT_CPU=amd,cpuid,tsc,flags or intel,...: amd, intel = maker's name, layout of the XSAVE
 * area in traces, features that only it has; nocpuid, notsc = cpuid, rdtsc cannot be made to trap;
 * flags = the flags that instructions leave undefined are others.
 */
struct cpu_emulated { bool amd, intel, no_cpuid, no_tsc, flags; };
const struct cpu_emulated *cpu_emulated(void);
bool cpu_emulates(void);
/* Makes cpuid_here()'s answer of the processor's own. */
struct cpuid_leaf cpu_emulated_leaf(uint32_t leaf, uint32_t subleaf, struct cpuid_leaf r);

/* "GenuineIntel" */
void cpu_vendor(char vendor[13]);

#endif
