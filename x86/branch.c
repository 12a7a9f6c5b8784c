#include "x86/branch.h"

#include <capstone/capstone.h>
#include <emmintrin.h>

#include "base/alloc.h"
#include "x86/decode.h"
#include "x86/instr.h"

/* Where the branch by 32 bits at p leads to; 0 when it is none. */
static uint64_t target(const uint8_t *p, size_t room, uint64_t at)
{
	unsigned len = room < 2 ? 0 : x86_branch32(p);

	return len && len <= room ? x86_branch32_to(p, len, at) : 0;
}

/*
 * Is there, among the 16 at p, a place where a distance of 32 bits would lead to within a range of
 * n addresses?  `to' is the first of them, less where a distance at p leads from; 19 bytes can be
 * read.  Asked first, for hardly any does, where of 30 bytes one looks like a branch.
 */
static bool may_lead_to(const uint8_t *p, uint32_t to, uint32_t n)
{
	const __m128i sign = _mm_set1_epi32(INT32_MIN),
		      limit = _mm_set1_epi32((int32_t)(n ^ 0x80000000));
	__m128i hits = _mm_setzero_si128();

	for (int k = 0; k < 4; k++) {
		__m128i at = _mm_setr_epi32(k, k + 4, k + 8, k + 12), v;

		v = _mm_loadu_si128((const void *)(p + k));
		v = _mm_sub_epi32(_mm_add_epi32(v, at), _mm_set1_epi32((int32_t)to));
		hits = _mm_or_si128(hits, _mm_cmplt_epi32(_mm_xor_si128(v, sign), limit));
	}
	return _mm_movemask_epi8(hits);
}

static size_t branch32_into(const uint8_t *code, size_t n, uint64_t addr, uint64_t first,
			    uint64_t last, size_t from)
{
	enum { BEFORE = 2 };		/* a distance is at most so far behind its branch */
	bool wide = last - first > INT32_MAX;

	for (size_t at = from; at < n; at += 16) {
		uint64_t to = first + 1 - (addr + at + 4);
		size_t i;

		if (n - at >= 19 && !wide &&
		    !may_lead_to(code + at, (uint32_t)to, (uint32_t)(last - first - 1)))
			continue;
		i = at >= from + BEFORE ? at - BEFORE : from;
		for (; i < at + 16 && i < n; i++) {
			uint64_t leads = target(code + i, n - i, addr + i);

			if (leads > first && leads < last)
				return i;
		}
	}
	return n;
}

/* Branches by 8 bits lead no farther than that. */
static size_t branch8_into(const uint8_t *code, size_t n, uint64_t addr, uint64_t first,
			   uint64_t last, size_t from)
{
	enum { LEN = 2 };
	int64_t start = (int64_t)(first + 1 - addr) - INT8_MAX - LEN,
		end = (int64_t)(last - addr) - INT8_MIN - LEN;

	if (start > (int64_t)from)
		from = start < (int64_t)n ? (size_t)start : n;
	if (end < (int64_t)n)
		n = end > (int64_t)from ? (size_t)end : from;
	for (size_t i = from; i < n; i++) {
		uint64_t to = addr + i + LEN + (uint64_t)(int64_t)(int8_t)code[i + 1];

		if (x86_branch8(code + i) && to > first && to < last)
			return i;
	}
	return SIZE_MAX;
}

size_t x86_branch_into(const uint8_t *code, size_t n, uint64_t addr, enum x86_branches kinds,
		       uint64_t first, uint64_t last, size_t from)
{
	size_t near, far;

	if (last <= first + 1)
		return n;
	far = branch32_into(code, n, addr, first, last, from);
	if (kinds == X86_BRANCHES_32 || n < 2)
		return far;
	near = branch8_into(code, n - 1, addr, first, last, from);
	return near < far ? near : far;
}

/*
 * Functions that were gone through, with where their branches lead: a function with many calls is
 * asked about for each.  Whether it still is the same, its bytes tell.
 */
struct gone_through {
	uint64_t addr, *to;
	uint8_t *code;
	size_t n, targets, room;
};

static void targets_find(struct gone_through *f)
{
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	const uint8_t *code = f->code;
	uint64_t addr = f->addr;
	size_t n = f->n;

	f->targets = 0;
	while (insn && n) {
		const uint8_t *bytes = code;
		struct x86_instr one;

		if (!cs_disasm_iter(handle, &code, &n, &addr, insn)) {
			code++;
			addr++;
			n--;
			continue;
		}
		x86_instr_of(handle, insn, &one);
		if (!x86_is_direct(&one))
			continue;
		if (f->targets == f->room) {
			f->room = f->room * 2 + 64;
			f->to = alloc_more(f->to, f->room, sizeof(*f->to), "code");
		}
		f->to[f->targets++] = x86_target(&one, bytes, addr - one.len);
	}
	if (insn)
		cs_free(insn, 1);
}

static const struct gone_through *go_through(const uint8_t *code, size_t n, uint64_t addr)
{
	enum { KEPT = 16 };
	static struct gone_through kept[KEPT];
	static unsigned next;
	struct gone_through *f;

	for (unsigned i = 0; i < KEPT; i++) {
		f = &kept[i];
		if (f->code && f->addr == addr && f->n == n && !memcmp(f->code, code, n))
			return f;
	}
	f = &kept[next++ % KEPT];
	f->code = alloc_more(f->code, n + 1, 1, "code");
	memcpy(f->code, code, n);
	f->n = n;
	f->addr = addr;
	targets_find(f);
	return f;
}

bool x86_code_branches_into(const uint8_t *code, size_t n, uint64_t addr, uint64_t first,
			    uint64_t last)
{
	const struct gone_through *f;

	if (!decoder())
		return true;	/* nobody can tell */
	f = go_through(code, n, addr);
	for (size_t i = 0; i < f->targets; i++) {
		if (f->to[i] > first && f->to[i] < last)
			return true;
	}
	return false;
}

bool x86_instr_begins(const uint8_t *code, size_t n, size_t at, size_t first)
{
	enum { RUN_UP = 160 };		/* any start falls into step after a few instructions */
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	size_t i = at > first	 ? first
		   : at > RUN_UP ? at - RUN_UP
				 : 0,
	       end = at > first ? at : first;
	bool met = false;

	while (insn && i < end) {
		const uint8_t *p = code + i;
		size_t room = n - i;
		uint64_t addr = i;

		met |= i == at;
		i += cs_disasm_iter(handle, &p, &room, &addr, insn) ? insn->size : 1u;
	}
	if (insn)
		cs_free(insn, 1);
	if (!insn || i != end)		/* not in step at `first`, or beyond `at` */
		return at < first;
	return met || at >= first;
}
