/*
 * regs.h - the general registers of a task, in the order of the kernel's
 * struct user_regs_struct (arch/x86/include/asm/user_64.h), 27 words.
 */
#ifndef ABI_REGS_H
#define ABI_REGS_H

#include <stdint.h>

struct regs {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
	uint64_t rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, eflags, rsp, ss;
	uint64_t fs_base, gs_base, ds, es, fs, gs;
};

/* The number of a system call in rax or orig_rax: Linux takes an int out of it. */
static inline int64_t regs_call(uint64_t rax) { return (int32_t)rax; }

enum { REGS_WORDS = sizeof(struct regs) / 8 };

/* "r15", "r14", ... by index; tracer side only. */
extern const char *const regs_names[REGS_WORDS];

#endif
