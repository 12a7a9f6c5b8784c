/*
 * unwind_guess.c - from a frame to its caller where there is no call frame information: musl,
 * hand-written assembly, code that the program made itself.  In this order:
 *
 *   - code of a direct call on the stack that leads to this very function: the function's own
 *     instructions, from where the call goes to where it stands now, say how far its return
 *     address is, and that must be where the call was found;
 *   - the innermost frame may stand before its prologue: the word at rsp is a return address
 *     behind a call of this function;
 *   - a chain of frame pointers;
 *   - the first word above rsp that is a return address: better one behind a call that names this
 *     very function.
 *
 * A frame is certain (SYMBOLS_INFERRED) when the instructions say so, or when the frame pointer
 * leads to the first return address above rsp: every frame that it could have passed over has left
 * one of its own there.  All else is a guess, and its how says so.
 */
#include <xxhash.h>

#include "base/hash.h"
#include "symbols/unwind.h"

enum { SCAN_WORDS = 512, MADE_MAX = 16384, MADE_MORE = 1024, MADE_TRIES = 16, MADE_ROWS = 4096,
       BEGIN_MAX = 4096 };

/*
 * Rows of code in no file, by what its instructions were.  One address is looked at from many
 * starts, most of them wrong, and each stack through it asks for all of them again.
 */
struct made_row {
	uint64_t start, pc, hash;
	bool used, ok;
	struct cfi_row row;
};

/* mov $15, %eax or %rax; syscall: what a handler returns to.  pc may be at either instruction. */
bool unwind_is_sigreturn(const struct symbols_module *m, uint64_t vaddr)
{
	static const uint8_t text[2][9] = { "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05",
					    "\xb8\x0f\x00\x00\x00\x0f\x05" };
	static const uint8_t len[2] = { 9, 7 };

	for (int i = 0; i < 2; i++)
		for (unsigned at = 0; at <= len[i]; at += len[i] - 2) {
			struct span code = elf_bytes(&m->elf, vaddr - at);

			if (code.n >= len[i] && !memcmp(code.p, text[i], len[i]))
				return true;
			if (at)
				break;
		}
	return false;
}

/* ---- return addresses ------------------------------------------------------------------------ */

/* The bytes in front of a return address; false: nothing can run there. */
static bool call_bytes(struct symbols *s, const struct symbols_memory *mem, uint64_t addr,
		       uint8_t *buf)
{
	uint64_t bias;
	struct symbols_module *m = space_module(s, addr - 1, &bias);
	struct span code;

	if (!m)
		return space_made(s, addr - 1) && mem_read(mem, addr - 7, buf, 7);
	if (!elf_executable(&m->elf, addr - 1 - bias))
		return false;
	code = elf_bytes(&m->elf, addr - 7 - bias);
	if (code.n < 7)
		return false;
	memcpy(buf, code.p, 7);
	return true;
}

/*
 * Is there a call instruction right before addr?  2: one that says it calls `function`.  A
 * handler's way back counts, too.  *target_ret: where a direct call goes, else 0.
 */
static int after_call(struct symbols *s, const struct symbols_memory *mem, uint64_t addr,
		      uint64_t function, uint64_t *target_ret)
{
	uint64_t bias;
	struct symbols_module *m = addr ? space_module(s, addr - 1, &bias) : NULL;
	uint8_t code[7], *p = code + 7;
	int32_t rel;

	*target_ret = 0;
	if (m && elf_executable(&m->elf, addr - 1 - bias) && unwind_is_sigreturn(m, addr - bias))
		return 1;
	if (addr < 4096 || !call_bytes(s, mem, addr, code))
		return 0;
	if (p[-5] == 0xe8) {
		memcpy(&rel, p - 4, 4);
		if (!rel)
			return 0;	/* how code finds out where it is */
		*target_ret = addr + (uint64_t)(int64_t)rel;
		if (function && *target_ret == function)
			return 2;
		if (space_executable(s, *target_ret))
			return 1;
		*target_ret = 0;
	}
	/* FF /2: through a register, [register], [register+disp8], [rsp+..], [disp32] */
	if ((p[-2] == 0xff && (p[-1] & 0x38) == 0x10 && (p[-1] >= 0xd0 || (p[-1] & 0xc0) == 0)) ||
	    (p[-3] == 0xff && ((p[-2] & 0xf8) == 0x50 || p[-2] == 0x14)) ||
	    (p[-4] == 0xff && p[-3] == 0x54) ||
	    (p[-6] == 0xff && ((p[-5] & 0xf8) == 0x90 || p[-5] == 0x15)) ||
	    (p[-7] == 0xff && p[-6] == 0x94))
		return 1;
	return 0;
}

bool unwind_after_call(struct symbols *s, const struct symbols_memory *mem, uint64_t addr)
{
	uint64_t target;

	return after_call(s, mem, addr, 0, &target) != 0;
}

/* Is no word from `from` up to `to` a return address? */
static bool none_between(struct symbols *s, const struct symbols_memory *mem, uint64_t from,
			 uint64_t to)
{
	uint64_t word;

	if (to - from > SCAN_WORDS * 8)
		return false;
	for (uint64_t at = from; at < to; at += 8)
		if (!unwind_word(mem, at, &word) || unwind_after_call(s, mem, word))
			return false;
	return true;
}

bool unwind_nothing_above(struct symbols *s, const struct symbols_regs *regs,
			  const struct symbols_memory *mem)
{
	uint64_t rsp = regs->r[SYMBOLS_RSP], word;

	for (unsigned i = 0; i < SCAN_WORDS && unwind_word(mem, rsp + i * 8, &word); i++)
		if (unwind_after_call(s, mem, word))
			return false;
	return true;
}

/* ---- a frame --------------------------------------------------------------------------------- */

static void regs_set_frame(struct symbols_regs *regs, uint64_t pc, uint64_t cfa)
{
	regs->r[SYMBOLS_RIP] = pc;
	regs->r[SYMBOLS_RSP] = cfa;
	regs->known &= CALLEE_SAVED;
	regs->known |= 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
}

static bool step_frame_pointer(struct symbols *s, struct symbols_regs *regs,
			       const struct symbols_memory *mem, bool known_code, uint64_t *cfa_ret,
			       enum symbols_how *how_ret)
{
	uint64_t rbp = regs->r[SYMBOLS_RBP], rsp = regs->r[SYMBOLS_RSP], next[2], target;
	int quality;

	if (!(regs->known & 1u << SYMBOLS_RBP) || rbp < rsp || rbp - rsp > 16 << 20 || rbp & 7 ||
	    !mem_read(mem, rbp, next, 16))
		return false;
	quality = after_call(s, mem, next[1], 0, &target);
	/* Code we know nothing of may call code we know nothing of. */
	if (!quality && (known_code || !next[1] || space_region(s, next[1])))
		return false;
	if (next[0] && next[0] <= rbp)
		return false;
	*how_ret = quality && none_between(s, mem, rsp & ~(uint64_t)7, rbp + 8)
			   ? SYMBOLS_INFERRED
			   : SYMBOLS_FRAME_POINTER;
	regs->r[SYMBOLS_RBP] = next[0];
	*cfa_ret = rbp + 16;
	regs_set_frame(regs, next[1], rbp + 16);
	return true;
}

static bool step_scan(struct symbols *s, struct symbols_regs *regs,
		      const struct symbols_memory *mem, uint64_t function, uint64_t *cfa_ret)
{
	uint64_t rsp = regs->r[SYMBOLS_RSP], word, best = 0, best_pc = 0, target;

	for (unsigned i = 0; i < SCAN_WORDS && unwind_word(mem, rsp + i * 8, &word); i++) {
		int quality = after_call(s, mem, word, function, &target);

		if (!quality || (quality == 1 && best))
			continue;
		best = rsp + i * 8;
		best_pc = word;
		if (quality == 2)
			break;
	}
	if (!best)
		return false;
	*cfa_ret = best + 8;
	regs_set_frame(regs, best_pc, best + 8);
	return true;
}

/* The registers of the interrupted code lie in the frame that the handler returned from. */
static bool step_sigreturn(struct symbols *s, struct symbols_regs *regs,
			   const struct symbols_memory *mem)
{
	/* struct sigcontext (arch/x86/include/uapi/asm/sigcontext.h) as DWARF numbers */
	static const uint8_t order[17] = {
		8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16
	};
	uint64_t bias, pc = regs->r[SYMBOLS_RIP], words[17];
	struct symbols_module *m = space_module(s, pc, &bias);

	if (!m || !unwind_is_sigreturn(m, pc - bias))
		return false;
	/* uc_flags, uc_link, uc_stack come first */
	if (!mem_read(mem, regs->r[SYMBOLS_RSP] + 40, words, sizeof(words)))
		return false;
	for (int i = 0; i < 17; i++)
		regs->r[order[i]] = words[i];
	regs->known = (1u << SYMBOLS_REGS) - 1;
	return true;
}

/* ---- code that the program made -------------------------------------------------------------- */

/* Through the jumps of stubs: jmp rel32; jmp *[rip + n]; mov r11, n; jmp r11. */
static uint64_t jumps_follow(const struct symbols_memory *mem, uint64_t addr)
{
	for (int i = 0; i < 3; i++) {
		uint8_t p[13];
		int32_t rel;
		uint64_t to;

		if (!mem_read(mem, addr, p, sizeof(p)))
			return addr;
		if (p[0] == 0xe9) {
			memcpy(&rel, p + 1, 4);
			to = addr + 5 + (uint64_t)(int64_t)rel;
		} else if (p[0] == 0xff && p[1] == 0x25) {
			memcpy(&rel, p + 2, 4);
			if (!mem_read(mem, addr + 6 + (uint64_t)(int64_t)rel, &to, 8))
				return addr;
		} else if (!memcmp(p, "\x49\xbb", 2) && !memcmp(p + 10, "\x41\xff\xe3", 3)) {
			memcpy(&to, p + 2, 8);
		} else {
			return addr;
		}
		addr = to;
	}
	return addr;
}

/* The row at pc of the function that begins at start; NULL = its instructions do not say. */
static const struct cfi_row *made_row(struct symbols *s, const struct symbols_memory *mem,
				      uint64_t start, uint64_t pc)
{
	uint8_t code[MADE_MAX + MADE_MORE];
	size_t n = pc - start + MADE_MORE;
	struct made_row *r;
	uint64_t hash;

	while (n > pc - start + 16 && !mem_read(mem, start, code, n))
		n = pc - start + (n - (pc - start)) / 4;
	if (n <= pc - start + 16 && !mem_read(mem, start, code, n = pc - start + 1))
		return NULL;
	if (!s->made_row)
		s->made_row = calloc(MADE_ROWS, sizeof(*s->made_row));
	if (!s->made_row)
		return NULL;
	hash = XXH3_64bits(code, n);
	r = &s->made_row[hash_mix(hash_mix(0, start), pc) % MADE_ROWS];
	if (!r->used || r->pc != pc || r->start != start || r->hash != hash) {
		*r = (struct made_row){ .start = start, .pc = pc, .hash = hash, .used = true };
		r->ok = infer_code(code, n, start, pc, &r->row);
	}
	return r->ok ? &r->row : NULL;
}

/*
 * Unwinds one frame by what the instructions from start to here do.  The result counts when it
 * leads to a return address, and leaves no frame pointer that points into the frame which is over.
 */
static bool step_made(struct symbols *s, struct symbols_regs *regs,
		      const struct symbols_memory *mem, uint64_t start, uint64_t *cfa_ret)
{
	uint64_t rsp = regs->r[SYMBOLS_RSP], pc = regs->r[SYMBOLS_RIP];
	const struct cfi_row *row = pc - start < MADE_MAX ? made_row(s, mem, start, pc) : NULL;
	struct symbols_regs old = *regs;

	if (row && unwind_row(row, regs, mem, cfa_ret) &&
	    unwind_after_call(s, mem, regs->r[SYMBOLS_RIP]) &&
	    !((regs->known & 1u << SYMBOLS_RBP) && regs->r[SYMBOLS_RBP] >= rsp &&
	      regs->r[SYMBOLS_RBP] < *cfa_ret))
		return true;
	*regs = old;
	return false;
}

static bool starts_frame(const uint8_t *p)
{
	return (p[0] & 0xf8) == 0x50 || (p[0] == 0x41 && (p[1] & 0xf8) == 0x50) ||
	       (p[0] == 0x48 && (p[1] == 0x81 || p[1] == 0x83) && p[2] == 0xec);
}

/*
 * Does a function begin behind these two bytes?  Those do at multiples of 16, behind the end of
 * another or padding: with push, or sub rsp.
 */
static bool may_begin(const uint8_t *p)
{
	static const uint8_t ud2[2] = { 0x0f, 0x0b };

	return (p[1] == 0xc3 || p[1] == 0xcc || p[1] == 0x90 || p[1] == 0xf4 || (!p[0] && !p[1]) ||
		!memcmp(p, ud2, 2)) &&
	       starts_frame(p + 2);
}

/* push rbp; mov rbp, rsp: a function, wherever it lies. */
static bool sets_frame(const uint8_t *p)
{
	return p[0] == 0x55 && p[1] == 0x48 &&
	       ((p[2] == 0x89 && p[3] == 0xe5) || (p[2] == 0x8b && p[3] == 0xec));
}

/* From the nearest place before pc where its function may begin. */
static bool step_begun(struct symbols *s, struct symbols_regs *regs,
		       const struct symbols_memory *mem, uint64_t *cfa_ret)
{
	enum { PIECE = 256, BEFORE = 2, BEHIND = 4 };
	uint64_t pc = regs->r[SYMBOLS_RIP] - 1, low = pc & ~(uint64_t)(PIECE - 1);
	uint8_t code[BEFORE + PIECE + BEHIND];
	unsigned tries = 0;

	for (; pc - low < BEGIN_MAX; low -= PIECE) {
		/* nothing in front of a mapping is padding, too */
		memset(code, 0, BEFORE);
		if (!mem_read(mem, low - BEFORE, code, sizeof(code)) &&
		    !mem_read(mem, low, code + BEFORE, sizeof(code) - BEFORE))
			return false;
		for (unsigned i = PIECE; i-- && tries < MADE_TRIES;) {
			if (low + i > pc || !((!(i & 15) && may_begin(code + i)) ||
					      sets_frame(code + BEFORE + i)))
				continue;
			tries++;
			if (step_made(s, regs, mem, low + i, cfa_ret))
				return true;
		}
	}
	return false;
}

/* By a direct call whose return address lies on the stack. */
static bool step_called(struct symbols *s, struct symbols_regs *regs,
			const struct symbols_memory *mem, uint64_t *cfa_ret)
{
	uint64_t rsp = regs->r[SYMBOLS_RSP], pc = regs->r[SYMBOLS_RIP], word, target;
	struct symbols_regs old = *regs;
	unsigned tries = 0;

	if (!space_made(s, pc) && !space_made(s, pc - 1))
		return false;
	for (unsigned i = 0; i < SCAN_WORDS && tries < MADE_TRIES; i++) {
		if (!unwind_word(mem, rsp + i * 8, &word))
			break;
		if (!after_call(s, mem, word, 0, &target) || !target)
			continue;
		tries++;
		if (pc - target >= MADE_MAX)
			target = jumps_follow(mem, target);
		if (step_made(s, regs, mem, target, cfa_ret)) {
			if (*cfa_ret == rsp + i * 8 + 8)
				return true;
			*regs = old;
		}
	}
	return step_begun(s, regs, mem, cfa_ret);
}

static uint64_t function_at(struct symbols *s, uint64_t pc)
{
	uint64_t bias;
	struct symbols_module *m = space_module(s, pc, &bias);
	uint64_t start = m ? infer_start(m, pc - bias) : 0;

	return start ? start + bias : 0;
}

/* The first instruction of a function: endbr64, push or sub rsp at a multiple of 16. */
static bool at_start(const struct symbols_memory *mem, uint64_t pc)
{
	uint8_t p[4];

	return !(pc & 15) && mem_read(mem, pc, p, sizeof(p)) &&
	       (starts_frame(p) || !memcmp(p, "\xf3\x0f\x1e\xfa", 4));
}

bool unwind_guess(struct symbols *s, struct symbols_regs *regs, const struct symbols_memory *mem,
		  bool first, uint64_t *cfa_ret, enum symbols_how *how_ret)
{
	uint64_t word, target, function = function_at(s, regs->r[SYMBOLS_RIP] - !first);
	bool known_code = space_region(s, regs->r[SYMBOLS_RIP]) != NULL;

	*cfa_ret = 0;
	*how_ret = SYMBOLS_SIGNAL;
	if (step_sigreturn(s, regs, mem))
		return true;
	*how_ret = SYMBOLS_INFERRED;
	if (step_called(s, regs, mem, cfa_ret))
		return true;
	if (first && unwind_word(mem, regs->r[SYMBOLS_RSP], &word)) {
		int quality = after_call(s, mem, word, function, &target);
		bool begins = regs->r[SYMBOLS_RIP] == function ||
			      at_start(mem, regs->r[SYMBOLS_RIP]);

		if (quality == 1 && target == regs->r[SYMBOLS_RIP])
			quality = 2;
		/*
		 * At the function's first instruction any call will do, further on it must be a
		 * call of this one.
		 */
		if (quality == 2 ||
		    (quality && (!known_code || !function || begins))) {
			*cfa_ret = regs->r[SYMBOLS_RSP] + 8;
			if (quality == 1 && !begins)
				*how_ret = SYMBOLS_SCAN;
			regs_set_frame(regs, word, *cfa_ret);
			return true;
		}
	}
	if (!first && (regs->known & 1u << SYMBOLS_RBP) && !regs->r[SYMBOLS_RBP])
		return false;
	if (step_frame_pointer(s, regs, mem, known_code, cfa_ret, how_ret))
		return true;
	*how_ret = SYMBOLS_SCAN;
	return known_code || first ? step_scan(s, regs, mem, function, cfa_ret) : false;
}
