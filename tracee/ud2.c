#include "tracee/ud2.h"

#include <capstone/capstone.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "abi/page.h"
#include "tracee/cpu.h"
#include "tracee/level.h"
#include "x86/decode.h"

enum { CHUNK = 1 << 17, BEFORE = 96, BEHIND = 48, PREFIXES = 4, PUT_PAGES = 8 };

/* ---- is there a need? ------------------------------------------------------------------------ */

static sigjmp_buf trapped;

static void on_trap(int sig)
{
	(void)sig;
	siglongjmp(trapped, 1);
}

/* PR_SET_TSC may be granted and change nothing. */
static bool tsc_try(void)
{
	struct sigaction sa = { .sa_handler = on_trap, .sa_flags = SA_NODEFER }, before;
	volatile bool can = true;
	int mode = PR_TSC_ENABLE;

	if (prctl(PR_GET_TSC, &mode) < 0 || sigaction(SIGSEGV, &sa, &before) < 0)
		return false;
	if (!sigsetjmp(trapped, 1)) {
		uint32_t lo, hi;

		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0)
			__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
		can = false;
	}
	prctl(PR_SET_TSC, mode);
	sigaction(SIGSEGV, &before, NULL);
	return can;
}

bool tsc_can_trap(void)
{
	static int can = -1;

	if (can < 0)
		can = !cpu_emulated()->no_tsc && tsc_try();
	return can;
}

bool ud2_must(void)
{
	static int must = -1;

	if (must < 0)
		must = !cpuid_can_trap() || !tsc_can_trap();
	return must;
}

bool ud2_needed(void)
{
	const char *asked = getenv("HINDSIGHT_MARK");

	return (asked && *asked == '1') || ud2_must();
}

/* ---- which bytes are one --------------------------------------------------------------------- */

static bool state_found, rdrand_found, rdseed_found;

void ud2_of_recording(bool state)
{
	struct cpuid_leaf one = cpuid_here(1, 0), seven = { 0 };

	if (cpuid_here(0, 0).eax >= 7)
		seven = cpuid_here(7, 0);
	state_found = state;
	rdrand_found = one.ecx & 1u << 30;
	rdseed_found = (seven.ebx & 1u << 18) || (seven.ecx & 1u << 22);
}

/*
 * fxsave stores what differs between makers (bits of MXCSR that may be set, where the last x87
 * instruction was), and the loader leaves that on the stack.  Below the machine's own level,
 * xgetbv, xsave and xrstor would show what it has.
 */
static bool looks_like_xsave(const uint8_t *p, struct ud2_site *ret)
{
	unsigned len;
	enum trap_insn insn = trap_insn_ud2(p, &len);

	if (insn < TRAP_XGETBV || insn > TRAP_FXSAVE ||
	    (insn != TRAP_FXSAVE && !cpu_level_shown()))
		return false;
	*ret = (struct ud2_site){ .kind = UD2_XSTATE, .len = (uint8_t)len };
	return true;
}

static bool looks_like(const uint8_t *p, size_t room, struct ud2_site *ret)
{
	if (room < 2 || p[0] != 0x0f)
		return false;
	*ret = (struct ud2_site){ .len = 2 };
	if (p[1] == 0xa2) {
		ret->kind = PATCH_CPUID;
		return true;
	}
	ret->kind = PATCH_TSC;
	if (p[1] == 0x31)
		return true;
	ret->len = 3;
	if (room >= 3 && p[1] == 0x01 && p[2] == 0xf9)
		return true;
	if (room >= 3 && p[1] == 0xc7 && p[2] >= 0xf0) {	/* rdseed and rdpid: from 0xf8 on */
		ret->kind = UD2_RANDOM;
		return p[2] < 0xf8 ? rdrand_found : rdseed_found;
	}
	/* of all that begins with 0x0f: xgetbv; fxsave, xsave and xrstor */
	if (p[1] != 0x01 && p[1] != 0xae)
		return false;
	return state_found && room >= 16 && looks_like_xsave(p, ret);
}

static bool is_wanted(unsigned id)
{
	return id == X86_INS_CPUID || id == X86_INS_RDTSC || id == X86_INS_RDTSCP ||
	       id == X86_INS_XGETBV || id == X86_INS_XSAVE || id == X86_INS_XSAVE64 ||
	       id == X86_INS_XRSTOR || id == X86_INS_XRSTOR64 || id == X86_INS_FXSAVE ||
	       id == X86_INS_FXSAVE64 || id == X86_INS_RDRAND || id == X86_INS_RDSEED;
}

/* Going from one instruction to the next, is the one that ends at `end` met, prefixes or not? */
static bool comes_by(csh handle, cs_insn *insn, const uint8_t *code, size_t n, size_t start,
		     size_t at, size_t end)
{
	size_t i = start;

	while (i <= at) {
		const uint8_t *p = code + i;
		size_t room = n - i;
		uint64_t addr = i;
		bool good = cs_disasm_iter(handle, &p, &room, &addr, insn);

		i += good ? insn->size : 1u;
		if (i > at)
			return good && i == end && is_wanted(insn->id);
	}
	return false;
}

/* Is the instruction one that no compiler makes and that bytes of data often spell? */
static bool is_odd(const cs_insn *insn)
{
	static const uint8_t legacy[] =
		"\xa4\xa5\xa6\xa7\xaa\xab\xac\xad\xae\xaf\xc8\xca\xcb\xcd\xcf\xd7\xe0\xe1\xe2\xe4"
		"\xe5\xe6\xe7\xec\xed\xee\xef\xf1\xf4\xf5\xfa\xfb";
	uint8_t first = insn->bytes[0];

	if (first == 0x26 || first == 0x36 || first == 0x3e ||
	    (first == 0x2e && insn->id != X86_INS_NOP))
		return insn->id != X86_INS_JMP && insn->id != X86_INS_CALL;
	return first == 0 || (first >= 0xd8 && first <= 0xdf) ||
	       memchr(legacy, first, sizeof(legacy) - 1) != NULL;
}

static bool goes_on(const cs_insn *insn)
{
	return insn->id != X86_INS_RET && insn->id != X86_INS_JMP && insn->id != X86_INS_INT3 &&
	       insn->id != X86_INS_UD2;
}

/* Tables lie among code: are the instructions before and behind it such as programs have? */
static bool among_code(csh handle, cs_insn *insn, const uint8_t *code, size_t n, size_t start,
		       size_t at, size_t end)
{
	enum { NEAR = 48, FEW = 8 };
	unsigned odd = 0, behind = 0;
	size_t i = start;

	while (i < n && behind < FEW) {
		const uint8_t *p = code + i;
		size_t room = n - i;
		uint64_t addr = i;
		bool good = cs_disasm_iter(handle, &p, &room, &addr, insn);

		if (!good && n - i < 16 && i >= end)
			break;	/* cut off */
		if (i + NEAR >= at)
			odd += !good || is_odd(insn);
		if (good && !goes_on(insn)) {
			if (i >= end)
				break;
			odd = 0;
		}
		behind += i >= end;
		i += good ? insn->size : 1u;
	}
	return !odd;
}

/* MAYBE: some ways of decoding come to it, but what is around does not look like code. */
enum verdict { NO, MAYBE, YES };

/*
 * Where to begin to decode: some way before `at'.  More zeros than an instruction has bytes are
 * none of the code, which begins behind them.
 */
static size_t decode_from(const uint8_t *code, size_t at)
{
	size_t first = at > BEFORE ? at - BEFORE : 0, zeros = 0, begin = first;

	for (size_t i = first; i < at; i++) {
		zeros = code[i] ? 0 : zeros + 1;
		if (zeros >= DECODE_LONGEST + 1)
			begin = i + 1;
	}
	return begin;
}

/* Any start falls into step with the code after some instructions: most must agree. */
static enum verdict is_instruction(const uint8_t *code, size_t n, size_t at, size_t len)
{
	enum { FEW = 4, RUNS = 16 };
	csh handle = decoder_plain();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	size_t first = decode_from(code, at), met = 0, runs = 0, good_start = first;
	bool is, seen;

	while (insn && runs < RUNS && first + runs <= at) {
		bool comes = comes_by(handle, insn, code, n, first + runs, at, at + len);

		if (comes && !met)
			good_start = first + runs;
		met += comes;
		runs++;
		if (runs == FEW && (!met || met == FEW))
			break;
	}
	seen = met || !insn;
	is = met && met * 4 >= runs * 3 &&
	     among_code(handle, insn, code, n, good_start, at, at + len);
	if (insn)
		cs_free(insn, 1);
	return is ? YES : seen ? MAYBE : NO;
}

static bool note(struct ud2_site **sites, unsigned *n, const struct ud2_site *site)
{
	if (!(*n & (*n - 1))) {
		struct ud2_site *more = realloc(*sites, (*n ? *n * 2 : 1) * sizeof(*more));

		if (!more)
			return false;
		*sites = more;
	}
	(*sites)[(*n)++] = *site;
	return true;
}

struct err *ud2_find(pid_t tid, uint64_t addr, uint64_t len, struct ud2_site **sites_ret,
		       unsigned *n_ret, bool *doubts_ret)
{
	uint8_t *code = malloc(BEFORE + CHUNK + BEHIND);
	struct ud2_site site;
	bool good = code;

	*sites_ret = NULL;
	*n_ret = 0;
	*doubts_ret = false;
	for (uint64_t at = 0; good && at < len; at += CHUNK) {
		uint64_t from = at ? at - BEFORE : 0,
			 end = len - at > CHUNK + BEHIND ? at + CHUNK + BEHIND : len;
		size_t n = tracee_read_some(tid, addr + from, code, (size_t)(end - from));
		const uint8_t *p = code + (at - from),
			      *stop = n > at - from + CHUNK ? p + CHUNK : code + n;

		while (good && p < stop && (p = memchr(p, 0x0f, (size_t)(stop - p)))) {
			enum verdict is =
				looks_like(p, (size_t)(code + n - p), &site)
					? is_instruction(code, n, (size_t)(p - code), site.len)
					: NO;

			*doubts_ret |= is == MAYBE && site.kind == PATCH_TSC;
			if (is == YES) {
				site.offset = from + (uint64_t)(p - code);
				good = note(sites_ret, n_ret, &site);
			}
			p++;
		}
		if (n < end - from)
			break;
	}
	free(code);
	if (good)
		return NULL;
	free(*sites_ret);
	*sites_ret = NULL;
	*n_ret = 0;
	return &err_nomem;
}

struct err *ud2_on_path(pid_t tid, uint64_t addr, uint64_t end, struct ud2_site **sites_ret,
			  unsigned *n_ret)
{
	csh handle = decoder_plain();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	uint8_t *code = malloc(end - addr + 1);
	size_t room = code ? tracee_read_some(tid, addr, code, end - addr) : 0;
	const uint8_t *p = code;
	uint64_t at = addr;
	struct ud2_site site;
	bool good = true;

	*sites_ret = NULL;
	*n_ret = 0;
	while (insn && good && room && cs_disasm_iter(handle, &p, &room, &at, insn) &&
	       goes_on(insn)) {
		const uint8_t *opcode = insn->bytes;
		size_t left = insn->size;

		if (!is_wanted(insn->id))
			continue;
		while (left && *opcode != 0x0f) {
			opcode++;
			left--;
		}
		if (looks_like(opcode, sizeof(insn->bytes) - (size_t)(opcode - insn->bytes),
			       &site) &&
		    site.len == left) {
			site.offset = insn->address - addr + insn->size - left;
			good = note(sites_ret, n_ret, &site);
		}
	}
	if (insn)
		cs_free(insn, 1);
	free(code);
	return good ? NULL : &err_nomem;
}

/* ---- in and out ------------------------------------------------------------------------------ */

/* Is the instruction there, in text?  Then a ud2 patch is put there; *ret as from ud2_put(). */
static bool put_in_text(uint8_t *text, uint64_t addr, const struct ud2_site *site,
			struct patch *ret)
{
	struct ud2_site found;
	uint8_t bytes[16] = { 0 };

	memcpy(bytes, text, site->len);
	if (!looks_like(bytes, sizeof(bytes), &found) || found.kind != site->kind ||
	    found.len != site->len)
		return false;
	memcpy(text, patch_ud2, sizeof(patch_ud2));
	*ret = (struct patch){ .addr = addr, .kind = PATCH_UD2, .len = 2, .call_len = 2, .n = 1 };
	memcpy(ret->bytes, bytes, 2);
	return true;
}

/* The sites of pages that follow each other: from the first patch to the last is one write. */
static void put_pages(struct tracee_mem *mem, uint64_t addr, const struct ud2_site *site,
		      unsigned n, struct patch *ret)
{
	uint8_t text[PUT_PAGES * PAGE_BYTES + 16];
	uint64_t base = site[0].offset, first = UINT64_MAX, end = 0;
	size_t len = site[n - 1].offset - base + site[n - 1].len;
	size_t got = tracee_read_some(mem->tid, addr + base, text, len);
	struct err *err;

	for (unsigned i = 0; i < n; i++) {
		uint64_t at = site[i].offset - base;

		ret[i].n = 0;
		if (at + site[i].len > got ||
		    !put_in_text(text + at, addr + site[i].offset, &site[i], &ret[i]))
			continue;
		first = first < at ? first : at;
		end = at + sizeof(patch_ud2);
	}
	if (!end)
		return;
	err = tracee_mem_write(mem, addr + base + first, text + first, end - first);
	for (unsigned i = 0; err && i < n; i++)
		ret[i].n = 0;
	err_free(err);
}

void ud2_put_all(struct tracee_mem *mem, uint64_t addr, const struct ud2_site *site, unsigned n,
	       struct patch *ret)
{
	for (unsigned i = 0, k; i < n; i = k) {
		uint64_t first = page_down(addr + site[i].offset), last = first;

		/* no page between is written to that would not be */
		for (k = i + 1; k < n; k++) {
			uint64_t page = page_down(addr + site[k].offset);

			if (page > last + PAGE_BYTES || page - first >= PUT_PAGES * PAGE_BYTES)
				break;
			last = page;
		}
		put_pages(mem, addr, site + i, k - i, ret + i);
	}
}

bool ud2_put(pid_t tid, uint64_t addr, const struct ud2_site *site, struct patch *ret)
{
	struct tracee_mem mem = { tid, -1 };
	struct ud2_site here = { 0, site->kind, site->len };

	ud2_put_all(&mem, addr, &here, 1, ret);
	tracee_mem_close(&mem);
	return ret->n;
}

const struct patch *ud2_at(const struct patches *ps, uint64_t addr)
{
	for (unsigned i = 0; ps->n && i <= PREFIXES; i++) {
		const struct patch *p = patches_at(ps, addr + i);

		if (p && p->kind != PATCH_SYSCALL && p->kind != PATCH_SPIN &&
		    p->addr + p->call_at == addr + i)
			return p;
	}
	return NULL;
}
