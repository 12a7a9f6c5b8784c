/*
 * landmark.c - find the point in a task's computing that has a given state.
 *
 * The instruction at the point becomes a jump to a stub that compares registers, and traps when
 * all agree; a miss costs nanoseconds.  The test needs no flags:
 *
 *	mov  [save], rcx ; mov [save+8], rax
 *	movabs rcx, -value ; lea rcx, [rcx+reg] ; jrcxz next ; jmp miss      one for each register
 *   next: ...
 *	mov rcx, [save] ; mov rax, [save+8] ; int3                           all agree: the replayer looks
 *   miss: mov rcx, [save] ; mov rax, [save+8]
 *	the displaced instructions ; jmp back
 *
 * When the replayer finds memory or vector registers different after all, the word that differed joins
 * the test, so each kind of false hit is seen once.  The saved words lie on a page of their own: a store
 * to the page of running code would cost hundreds of cycles.
 *
 * Rejected: int3 and a comparison by ptrace at each turn (35 us instead of 5 ns); it is what is left for
 * places that cannot be patched.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "replayer/internal.h"
#include "tracee/site.h"

enum { LANES = 32,	/* xmm0 low, xmm0 high, xmm1 low, ... */
       WORDS_MAX = 48, STUB_MAX = 4096, SAVE_RCX = 0, SAVE_RAX = 8, GENERAL = 15, RSP = 19 };

#define NO_WORD (~0ull)

struct landmark {
	struct replay *r;
	struct rp_task *t;
	const struct trace_event *ev;
	struct site site;
	bool patched;
	uint64_t stub;			/* code page; the page after it holds the saved words */
	uint64_t trap;			/* address behind the stub's int3 */
	uint64_t miss;
	struct word { uint64_t addr, value; } word[WORDS_MAX];	/* addr < LANES: half of a vector register */
	unsigned words;
	uint8_t order[GENERAL + 1];	/* registers, those that change most first */
	uint64_t traps;
};

/* ---- code ----------------------------------------------------------------------------- */

struct code { uint8_t bytes[STUB_MAX]; unsigned len; uint64_t at, save; };

static void put(struct code *c, const void *bytes, unsigned len)
{
	BUG_ON(c->len + len > STUB_MAX, "a stub of more than %u bytes", c->len);
	memcpy(c->bytes + c->len, bytes, len);
	c->len += len;
}

static void put_u64(struct code *c, uint64_t v) { put(c, &v, 8); }

/* mov between rcx (or rax) and its saved word: 48 8b/89 modrm disp32(rip) */
static void put_saved(struct code *c, uint8_t opcode, bool rax)
{
	uint8_t insn[3] = { 0x48, opcode, rax ? 0x05 : 0x0d };
	int32_t rel;

	put(c, insn, 3);
	rel = (int32_t)(c->save + (rax ? SAVE_RAX : SAVE_RCX) - (c->at + c->len + 4));
	put(c, &rel, 4);
}

/* jrcxz over the jump to miss, whose distance is filled in later: its place is returned */
static unsigned put_branch(struct code *c)
{
	static const uint8_t insn[] = { 0xe3, 0x05, 0xe9, 0, 0, 0, 0 };

	put(c, insn, sizeof(insn));
	return c->len - 4;
}

/* Encoding numbers (Intel SDM vol. 2A, table 2-2 and 3-1) of struct regs' words. */
static int reg_number(int word)
{
	static const int8_t number[REGS_WORDS] = { 15, 14, 13, 12, 5, 3, 11, 10, 9, 8, 0, 1, 2, 6, 7,
		-1, -1, -1, -1, 4, -1, -1, -1, -1, -1, -1, -1 };
	return number[word];
}

/* rcx = register - value, rcx and rax as in the program apart from rcx itself */
static void put_reg_test(struct code *c, int word, uint64_t value)
{
	int reg = reg_number(word);
	uint8_t lea[5] = { 0x48, 0x8d, 0x4c, 0x08, 0x00 };	/* lea rcx, [base + rcx + 0] */
	static const uint8_t movabs_rcx[2] = { 0x48, 0xb9 }, movabs_rax[2] = { 0x48, 0xb8 };
	static const uint8_t lea_rax[5] = { 0x48, 0x8d, 0x4c, 0x01, 0x00 };	/* lea rcx, [rcx + rax + 0] */

	if (reg == 1) {		/* rcx itself, from its saved word, with the help of rax */
		put_saved(c, 0x8b, false);
		put(c, movabs_rax, 2);
		put_u64(c, -value);
		put(c, lea_rax, 5);
		return;
	}
	if (reg == 0)
		put_saved(c, 0x8b, true);
	put(c, movabs_rcx, 2);
	put_u64(c, -value);
	lea[0] = (uint8_t)(0x48 | (reg >= 8));
	lea[3] = (uint8_t)(0x08 | (reg & 7));
	put(c, lea, 5);
}

/* rcx = half of an XMM register */
static void put_lane(struct code *c, unsigned lane)
{
	uint8_t xmm = (uint8_t)(lane / 2);
	uint8_t rex = (uint8_t)(0x48 | (xmm >= 8 ? 4 : 0)), modrm = (uint8_t)(0xc1 | (xmm & 7) << 3);
	uint8_t low[5] = { 0x66, rex, 0x0f, 0x7e, modrm };			/* movq rcx, xmm */
	uint8_t high[7] = { 0x66, rex, 0x0f, 0x3a, 0x16, modrm, 0x01 };	/* pextrq rcx, xmm, 1 (SSE4.1) */

	if (lane & 1)
		put(c, high, sizeof(high));
	else
		put(c, low, sizeof(low));
}

static void put_word_test(struct code *c, uint64_t addr, uint64_t value)
{
	static const uint8_t movabs_rcx[2] = { 0x48, 0xb9 }, movabs_rax[2] = { 0x48, 0xb8 };
	static const uint8_t load[3] = { 0x48, 0x8b, 0x09 }, lea_rax[5] = { 0x48, 0x8d, 0x4c, 0x01, 0x00 };

	if (addr < LANES) {
		put_lane(c, (unsigned)addr);
	} else {
		put(c, movabs_rcx, 2);
		put_u64(c, addr);
		put(c, load, 3);
	}
	put(c, movabs_rax, 2);
	put_u64(c, -value);
	put(c, lea_rax, 5);
}

static bool stub_build(struct landmark *l, struct code *c)
{
	const uint64_t *value = (const uint64_t *)&l->ev->regs;
	static const uint8_t int3 = 0xcc;
	unsigned branch[WORDS_MAX + GENERAL + 1], n = 0, moved;

	*c = (struct code){ .at = l->stub, .save = l->stub + PAGE_BYTES };
	put_saved(c, 0x89, false);
	put_saved(c, 0x89, true);
	/* Words first: what told false hits from the point does so at nearly every turn. */
	for (unsigned i = 0; i < l->words; i++) {
		put_word_test(c, l->word[i].addr, l->word[i].value);
		branch[n++] = put_branch(c);
	}
	for (unsigned i = 0; i <= GENERAL; i++) {
		put_reg_test(c, l->order[i], value[l->order[i]]);
		branch[n++] = put_branch(c);
	}
	put_saved(c, 0x8b, false);
	put_saved(c, 0x8b, true);
	put(c, &int3, 1);
	l->trap = c->at + c->len;
	l->miss = l->trap;
	for (unsigned i = 0; i < n; i++) {
		int32_t rel = (int32_t)(c->len - (branch[i] + 4));

		memcpy(c->bytes + branch[i], &rel, 4);
	}
	put_saved(c, 0x8b, false);
	put_saved(c, 0x8b, true);
	moved = c->len;
	if (!site_relocate(&l->site, c->at + c->len, c->bytes + moved))
		return false;
	c->len += l->site.len;
	if (!site_jump(c->at + c->len, l->site.addr + l->site.len, c->bytes + c->len))
		return false;
	c->len += SITE_JUMP;
	return true;
}

/* ---- the place of the stub ------------------------------------------------------------- */

static struct err *call(struct rp_task *t, int64_t *ret, long nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	TRY(cage_call(t->real, &t->regs, ret, nr, a0, a1, a2, a3, (uint64_t)-1, 0));
	t->dirty = false;
	return NULL;
}

/* Two free pages within reach of a 32-bit jump. */
static struct err *stub_map(struct landmark *l)
{
	struct tracee_maps maps;
	uint64_t site = l->site.addr, found = 0;
	int64_t ret;

	TRY(tracee_maps_read(l->t->real, &maps));
	for (size_t i = 0; i < maps.n && !found; i++) {
		uint64_t end = maps.map[i].end, next = i + 1 < maps.n ? maps.map[i + 1].start : 0x7ffffffff000;
		uint64_t far = end > site ? end - site : site - end;

		if (far < 0x70000000 && next > end && next - end >= 4 * PAGE_BYTES && end < 0x7fffff000000 &&
		    (end < FIXED_PAGE - PAGE_BYTES * 4 || end >= FIXED_END))
			found = end + PAGE_BYTES;
	}
	tracee_maps_deinit(&maps);
	if (!found)
		return NULL;
	TRY(call(l->t, &ret, SYS_mmap, found, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE));
	if (ret == (int64_t)found)
		l->stub = found;
	return NULL;
}

static struct err *stub_write(struct landmark *l, bool *good)
{
	struct code code;

	*good = stub_build(l, &code);
	if (*good)
		TRY(tracee_write(l->t->real, l->stub, code.bytes, code.len));
	return NULL;
}

static struct err *patch(struct landmark *l)
{
	uint8_t jump[SITE_JUMP];
	bool good;

	if (!site_decode(l->t->real, l->ev->regs.rip, &l->site))
		return NULL;
	TRY(stub_map(l));
	if (!l->stub)
		return NULL;
	TRY(stub_write(l, &good));
	if (!good || !site_jump(l->site.addr, l->stub, jump))
		return NULL;
	TRY(tracee_write(l->t->real, l->site.addr, jump, sizeof(jump)));
	l->patched = true;
	return NULL;
}

static struct err *unpatch(struct landmark *l)
{
	int64_t ret;

	if (l->patched)
		TRY(tracee_write(l->t->real, l->site.addr, l->site.bytes, SITE_JUMP));
	l->patched = false;
	if (l->stub)
		TRY(call(l->t, &ret, SYS_munmap, l->stub, 2 * PAGE_BYTES, 0, 0));
	l->stub = 0;
	return NULL;
}

/* ---- is this the point? ------------------------------------------------------------------- */

static bool general_equal(const struct landmark *l, const struct regs *have)
{
	struct regs a = *have, b = l->ev->regs;

	a.orig_rax = b.orig_rax = 0;
	a.eflags &= ~0x10100ull;	/* RF, TF: ours */
	b.eflags &= ~0x10100ull;
	return !memcmp(&a, &b, sizeof(a));
}

/* The first 8-byte word of recorded bytes that memory does not have. */
static bool bytes_equal(const struct landmark *l, const struct trace_effect *e, uint64_t *addr, uint64_t *value)
{
	unsigned char *have = malloc(e->data_len + 1);
	const unsigned char *want = e->data;
	size_t n = have ? tracee_read_some(l->t->real, e->addr, have, e->data_len) : 0, i = 0;

	rp_probe_hide(l->t->mm, e->addr, have, n);
	for (unsigned k = 0; l->patched && k < SITE_JUMP; k++) {	/* our jump is not the program's */
		uint64_t at = l->site.addr + k - e->addr;

		if (at < n)
			have[at] = l->site.bytes[k];
	}
	while (i < n && have[i] == want[i])
		i++;
	free(have);
	if (i == e->data_len)
		return true;
	/* a whole word inside the recorded bytes */
	if (i + 8 > e->data_len)
		i = e->data_len >= 8 ? e->data_len - 8 : 0;
	*addr = e->data_len >= 8 ? e->addr + i : NO_WORD;
	if (e->data_len >= 8)
		memcpy(value, want + i, 8);
	return false;
}

/* Registers agree.  Memory?  If not, *word is one to test from now on (NO_WORD: none is known). */
static struct err *memory_equal(struct landmark *l, bool *equal, struct word *word)
{
	*equal = false;
	word->addr = NO_WORD;
	for (uint32_t i = 0; i < l->ev->effects_len; i++) {
		const struct trace_effect *e = &l->ev->effects[i];

		if (e->kind == TRACE_WITNESS && !bytes_equal(l, e, &word->addr, &word->value))
			return NULL;
	}
	for (uint32_t i = 0; i < l->ev->effects_len; i++) {
		const struct trace_effect *e = &l->ev->effects[i];
		uint64_t sum;

		if (e->kind != TRACE_SUM)
			continue;
		TRY(effect_sum(l->r, l->t, e, &sum));
		if (sum != e->x)
			return NULL;
	}
	*equal = true;
	return NULL;
}

/* Vector registers: legacy area's XMM (bytes 160 to 416) decide; the rest depends on in-use bits. */
static struct err *vectors_equal(struct landmark *l, bool *equal, struct word *word)
{
	unsigned char have[TRACEE_XSTATE_MAX] = { 0 };
	size_t len;

	*equal = true;
	for (uint32_t i = 0; i < l->ev->effects_len; i++) {
		const struct trace_effect *e = &l->ev->effects[i];
		unsigned char want[416] = { 0 };

		if (e->kind != TRACE_XSTATE)
			continue;
		memcpy(want, e->data, e->data_len < sizeof(want) ? e->data_len : sizeof(want));
		TRY(tracee_xstate_get(l->t->real, have, &len));
		for (unsigned lane = 0; lane < LANES && *equal; lane++) {
			*equal = !memcmp(want + 160 + 8 * lane, have + 160 + 8 * lane, 8);
			word->addr = lane;
			memcpy(&word->value, want + 160 + 8 * lane, 8);
		}
	}
	return NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

static struct err *set_regs(struct rp_task *t)
{
	t->dirty = true;
	return rp_regs_flush(t);
}

/* Run to a SIGTRAP; a growing stack is let grow, anything else is a divergence. */
static struct err *run_to_trap(struct landmark *l, int request)
{
	struct rp_task *t = l->t;

	for (;;) {
		siginfo_t info;
		bool grown = false;
		int status;

		TRY(rp_regs_flush(t));
		if (l->r->debug)
			TRY(rp_debug_before(l->r, t, &request));
		TRY(tracee_resume(t->real, request, 0));
		TRY(tracee_wait(t->real, &status));
		if (!WIFSTOPPED(status))
			return &err_gone;
		TRY(tracee_regs_get(t->real, &t->regs));
		t->regs.orig_rax = (uint64_t)-1;
		if (tracee_stop_kind(status) == STOP_SYSCALL)
			return diverge(t, l->ev, "the point that was recorded inside computing code was not found before the "
				       "next system call (%" PRIu64 " candidates)", l->traps);
		if (tracee_stop_kind(status) != STOP_SIGNAL) {
			/* inside the stub the task is nowhere: the next interrupt will do */
			if (l->r->debug && rp_debug_interrupted(l->r) && t->regs.rip - l->stub >= 2 * PAGE_BYTES)
				return &rp_stopped;
			continue;
		}
		if (WSTOPSIG(status) == SIGTRAP && !l->r->debug)
			return NULL;
		if (ptrace(PTRACE_GETSIGINFO, t->real, NULL, &info) < 0)
			return &err_gone;
		if (l->r->probes) {
			enum rp_probe_stop probe;

			TRY(rp_probe_signal(l->r, t, &info, &probe));
			if (probe == PROBE_STOPPED)
				return &rp_stopped;
			if (probe == PROBE_GO_ON)
				continue;
		}
		if (info.si_signo == SIGTRAP)
			return t->regs.rip != l->trap && rp_debug_trap(l->r, t, &info) ? &rp_stopped : NULL;
		if (info.si_signo == SIGSEGV && info.si_code != SI_KERNEL)
			TRY(effect_grow(t, (uint64_t)(uintptr_t)info.si_addr, &grown));
		if (!grown && info.si_signo != SIGSTOP && info.si_code > 0)
			return diverge(t, l->ev, "signal %d in computing code that the recording did not see", info.si_signo);
	}
}

/* Registers that differed at a candidate come first from now on. */
static void reorder(struct landmark *l, const struct regs *have)
{
	const uint64_t *a = (const uint64_t *)have, *b = (const uint64_t *)&l->ev->regs;
	uint8_t order[GENERAL + 1];
	unsigned n = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i <= GENERAL; i++) {
			int w = l->order[i];

			if ((a[w] != b[w]) == (pass == 0))
				order[n++] = (uint8_t)w;
		}
	}
	memcpy(l->order, order, sizeof(order));
}

/* Everything agrees here (t->regs.rip is at the point). */
static struct err *is_the_point(struct landmark *l, bool *found)
{
	struct word word = { NO_WORD, 0 };
	bool good;

	*found = general_equal(l, &l->t->regs);
	if (*found && l->r->debug)
		rp_int3_out(l->r);	/* code is compared too */
	if (*found)
		TRY(vectors_equal(l, found, &word));
	if (*found)
		TRY(memory_equal(l, found, &word));
	l->traps++;
	if (*found || word.addr == NO_WORD || l->words == WORDS_MAX || !l->stub)
		return NULL;
	l->word[l->words++] = word;
	return stub_write(l, &good);
}

/* Inside the process: traps only where all registers agree. */
static struct err *search_patched(struct landmark *l, bool *found)
{
	struct rp_task *t = l->t;

	while (!*found) {
		struct regs at_trap;

		TRY(run_to_trap(l, PTRACE_SYSEMU));
		if (t->regs.rip != l->trap)
			return diverge(t, l->ev, "a breakpoint in computing code that the recording did not see");
		at_trap = t->regs;
		t->regs.rip = l->site.addr;
		TRY(is_the_point(l, found));
		if (*found)
			break;
		t->regs = at_trap;
		t->regs.rip = l->miss;	/* the stub may have been written anew: where it goes on now */
		TRY(set_regs(t));
	}
	return NULL;
}

/* With int3 and a look at each turn. */
static struct err *search_breakpoint(struct landmark *l, bool *found)
{
	static const uint8_t int3 = 0xcc;
	struct rp_task *t = l->t;
	uint64_t at = l->ev->regs.rip;
	uint8_t saved;

	TRY(tracee_read(t->real, at, &saved, 1));
	while (!*found) {
		if (t->regs.rip == at)	/* off the breakpoint first */
			TRY(run_to_trap(l, PTRACE_SYSEMU_SINGLESTEP));
		if (t->regs.rip != at) {
			struct err *err;

			TRY(tracee_write(t->real, at, &int3, 1));
			err = run_to_trap(l, PTRACE_SYSEMU);
			TRY(tracee_write(t->real, at, &saved, 1));
			if (err)
				return err;
			t->regs.rip = at;
			TRY(set_regs(t));
		}
		TRY(is_the_point(l, found));
	}
	return NULL;
}

struct err *landmark_here(struct replay *r, struct rp_task *t, const struct trace_event *ev, bool *ret)
{
	struct landmark l = { .r = r, .t = t, .ev = ev };

	for (uint8_t i = 0; i <= GENERAL; i++)
		l.order[i] = i == GENERAL ? RSP : i;
	return is_the_point(&l, ret);
}

struct err *landmark_find(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct landmark l = { .r = r, .t = t, .ev = ev };
	struct err *err = NULL;
	bool found = false;

	for (uint8_t i = 0; i <= GENERAL; i++)
		l.order[i] = i == GENERAL ? RSP : i;
	rp_probe_narrow(t, r, ev->regs.rip);
	TRY(is_the_point(&l, &found));
	if (r->debug)
		rp_debug_clear(r, t);
	if (!found)
		TRY(patch(&l));
	if (!found && r->debug && rp_debug_in_the_way(r, t, ev->regs.rip, l.patched ? l.site.addr : ev->regs.rip,
						      l.patched ? l.site.addr + l.site.len : ev->regs.rip + 1)) {
		TRY(unpatch(&l));
		return &rp_stopped;
	}
	/* In the middle of what the jump replaces: out of it first. */
	while (!err && l.patched && !found && t->regs.rip > l.site.addr && t->regs.rip < l.site.addr + l.site.len) {
		TRY(tracee_write(t->real, l.site.addr, l.site.bytes, SITE_JUMP));
		err = run_to_trap(&l, PTRACE_SYSEMU_SINGLESTEP);
		if (!err && (t->regs.rip <= l.site.addr || t->regs.rip >= l.site.addr + l.site.len)) {
			uint8_t jump[SITE_JUMP];

			site_jump(l.site.addr, l.stub, jump);
			TRY(tracee_write(t->real, l.site.addr, jump, sizeof(jump)));
		}
	}
	if (!err && !found) {
		reorder(&l, &t->regs);
		err = l.patched ? search_patched(&l, &found) : search_breakpoint(&l, &found);
	}
	if (err == &rp_stopped) {	/* a debugger's breakpoint: the search begins anew when it goes on */
		rp_int3_out(r);
		t->dirty = true;
		TRY(unpatch(&l));
		t->dirty = true;
		return &rp_stopped;
	}
	if (err)
		return err;
	if (r->debug)
		rp_debug_clear(r, t);
	t->dirty = true;
	TRY(unpatch(&l));
	log_debug("event %" PRIu64 ": point found after %" PRIu64 " traps, %u words in the test", ev->n, l.traps, l.words);
	t->dirty = true;
	return NULL;
}
