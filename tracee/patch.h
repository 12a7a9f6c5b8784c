/*
 * patch.h - a system call instruction (or cpuid) that jumps to the hook of syscallbuf/ instead.
 *
 * A jump needs five bytes and the instruction has two, so others are displaced into the stub.  The
 * shapes, tried in this order:
 *
 *	after	syscall and the instructions behind it; a conditional jump may be the last, and so
 *		may `ret` or `jmp` when only padding follows
 *	number	mov $number,%eax in front of it is five bytes by itself; the syscall instruction
 *		stays where it is.  Of cpuid, which stays a ud2 there (ud2.h), for who branches to
 *		that address
 *
 * Nothing near may look like a branch into the replaced bytes.  A task found in the middle of them
 * (it was in a call there, or a signal handler returns to it) goes on in the stub: see
 * patch_resume().
 */
#ifndef TRACEE_PATCH_H
#define TRACEE_PATCH_H

#include "abi/buffer.h"
#include "tracee/ptrace.h"
#include "x86/instr.h"

enum { PATCH_BYTES = 24, PATCH_INSNS = 6 };

/* PATCH_UD2: no jump and no stub; cpuid or rdtsc has become ud2, see ud2.h. */
#define PATCH_UD2_BYTES 2
extern const uint8_t patch_ud2[PATCH_UD2_BYTES];	/* ud2 */
/*
 * PATCH_SPIN: `pause' in a loop that waits for memory to change.  Its stub counts, and instead of
 * each BUF_SPINS-th pause it traps (ud2).
 * PATCH_FXSAVE: its stub does it, and then stores the same everywhere into what differs between
 * makers of processors.  Nothing is recorded of it.
 */
enum patch_kind {
	PATCH_SYSCALL = 0, PATCH_CPUID, PATCH_TSC, PATCH_UD2, PATCH_SPIN, PATCH_FXSAVE
};

enum patch_refusal {
	PATCH_OK = 0, PATCH_UNREADABLE, PATCH_SHAPE, PATCH_BRANCH, PATCH_FAR,
	PATCH_REFUSALS
};

/* Code that is to be replaced, wherever it is mapped: kept for a file's other mappings. */
struct patch_site {
	enum patch_kind kind;
	uint8_t len;			/* bytes replaced */
	/* where the instruction is among bytes[]; may be behind len ("number") */
	uint8_t call_at, call_len;
	uint8_t n;			/* instructions in bytes[], the call among them */
	struct x86_instr insn[PATCH_INSNS];
	uint8_t bytes[PATCH_BYTES];
};

struct patch {
	uint64_t addr;			/* of the first replaced byte */
	uint64_t stub;			/* of its first instruction */
	uint8_t kind, len, call_at, call_len, n;
	uint8_t hook_at, traced_at, end;	/* offsets in the stub */
	struct { uint8_t site, stub; } insn[PATCH_INSNS];
	uint8_t bytes[PATCH_BYTES];	/* the original ones, len of them */
};

/*
 * Decides for the instruction at addr of a stopped task; *back_ret: the first replaced byte is so
 * many bytes before it.  Changes nothing in the task.
 */
enum patch_refusal patch_decide(pid_t tid, uint64_t addr, enum patch_kind kind,
				struct patch_site *ret, unsigned *back_ret);
const char *patch_refusal_name(enum patch_refusal why);

/*
 * Makes the stub for a site at addr, to be put at `at` (its stub_info first), and the bytes for the
 * site (len of them); writes nothing to a task.
 */
enum patch_refusal patch_make(const struct patch_site *site, uint64_t addr, uint64_t at,
			      uint64_t flags, uint8_t stub[STUB_SIZE], uint8_t jump[PATCH_BYTES],
			      struct patch *ret);

/* ---- the patches of one address space -------------------------------------------------------- */

struct patches { struct patch *p; unsigned n, max; };	/* sorted by addr */

bool patches_add(struct patches *ps, const struct patch *p);
void patches_cut(struct patches *ps, uint64_t addr, uint64_t len);
void patches_copy(struct patches *to, const struct patches *from);
void patches_deinit(struct patches *ps);
/* Returns the patch whose replaced bytes hold addr, or NULL. */
const struct patch *patches_at(const struct patches *ps, uint64_t addr);
/* The same; or the patch whose call is there, behind its replaced bytes ("number"). */
const struct patch *patches_with(const struct patches *ps, uint64_t addr);
/* Returns the patch whose stub holds addr, or NULL. */
const struct patch *patches_stub(const struct patches *ps, uint64_t addr);

/*
 * Makes *regs, where rip is in a stub's copies of the program's instructions, those that would be
 * if there were no patch.  PATCH_IN_HOOK: rip is in our code, and at no instruction of the
 * program's.
 */
enum patch_where { PATCH_NOWHERE = 0, PATCH_MOVED, PATCH_IN_HOOK };
enum patch_where patch_normal(const struct patches *ps, struct regs *regs);
/* Does the opposite, before the task runs: false when rip needs no change. */
bool patch_resume(const struct patches *ps, struct regs *regs);
/*
 * The copy [addr, addr+len) of the program's memory, read by somebody, gets its original bytes
 * back.
 */
void patch_hide(const struct patches *ps, uint64_t addr, void *bytes, size_t len);

#endif
