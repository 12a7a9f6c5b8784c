/*
 * dual_load.c - loads from dual-mapped pages, by the mapping that is stored to.
 *
 * A processor hands on what was just stored to a load that follows, at once; but only when both use
 * the same address.  Where a store goes through the other mapping of a page (dual.c) and the load
 * through the program's, the load waits until the store has got to the cache: 5 ns instead of 0.3,
 * for each step of a sum in a global variable.  So what loads from a fixed place in a dual-mapped
 * page gets another displacement, too, where it is found near a store: in what runs on from there,
 * over branches and calls, and in what is before it, where readings of the code from any place on
 * have fallen into step.
 *
 * Loads whose address is in a register stay as they are: they would need a jump and a test.
 */
#include <capstone/capstone.h>
#include <string.h>

#include "base/bug.h"
#include "base/hash.h"
#include "replayer/stops/dual.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "x86/decode.h"

enum { LOOKS = 200, QUEUE = 24, LOADS = 32, RUNS = 16, INSN_MAX = 15 };

/* Addresses of instructions, still to be looked at. */
struct queue { uint64_t at[QUEUE]; unsigned n, next; };

static void add(struct queue *q, uint64_t addr)
{
	if (q->n < QUEUE)
		q->at[q->n++] = addr;
}

static bool was_seen(struct dual *a, uint64_t addr)
{
	uint64_t *slot = &a->seen[(hash_word(addr) >> 48) % DUAL_SEEN];
	bool was = *slot == addr;

	*slot = addr;
	return was;
}

/* Where does it go on behind the instruction?  0: nowhere. */
static uint64_t behind(struct queue *q, csh cs, const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	bool goes =
		(cs_insn_group(cs, insn, CS_GRP_JUMP) || cs_insn_group(cs, insn, CS_GRP_CALL)) &&
		op->type == X86_OP_IMM;

	if (rp_goes_elsewhere(insn->id))
		return goes ? (uint64_t)op->imm : 0;
	if (goes)
		add(q, (uint64_t)op->imm);
	return insn->address + insn->size;
}

static void displace(struct replay *r, struct rp_task *t, struct stub *s, const cs_insn *insn)
{
	struct dual *a = stops_mm(t->mm)->dual;
	struct site site = { .addr = insn->address, .len = insn->size, .n = 1 };
	struct stub *new;
	unsigned disp_at;
	int32_t disp;

	if (s->loads_n == LOADS || a->jumps >= DUAL_JUMPS / 2 ||
	    !dual_fixed_load(&a->view, insn, &disp_at, &disp))
		return;
	memcpy(site.bytes, insn->bytes, insn->size);
	if (!s->loads_n)
		s->loads = (uint16_t)a->stubs_n;
	new = dual_displace(r, t, &site, disp_at, disp);
	if (!new)
		return;
	new->load = true;
	s->loads_n++;
}

/* How many bytes there is an instruction of, read from code on; 0: none. */
static unsigned length(csh cs, const uint8_t *code, size_t room, uint64_t addr, cs_insn *insn)
{
	return cs_disasm_iter(cs, &code, &room, &addr, insn) ? insn->size : 0;
}

/*
 * Behind what is at each offset: an instruction, or a byte that is none; more than len: an
 * instruction that is not all there.
 */
static void read_all(const uint8_t *code, unsigned len, uint64_t start, csh cs, cs_insn *insn,
		     uint16_t behind[DUAL_BEFORE])
{
	for (unsigned at = 0; at < len; at++) {
		unsigned n = length(cs, code + at, len - at, start + at, insn);

		behind[at] = (uint16_t)(n ? at + n : len - at < INSN_MAX ? len + 1 : at + 1);
	}
}

unsigned dual_in_step(const uint8_t *code, unsigned len, uint64_t start)
{
	csh cs = decoder();
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;
	uint16_t behind[DUAL_BEFORE];
	uint8_t passes[DUAL_BEFORE] = { 0 }, runs = 0;
	unsigned met = len, at;

	BUG_ON(len > DUAL_BEFORE, "so much code is not read at once: %u", len);
	if (!insn)
		return len;
	read_all(code, len, start, cs, insn, behind);
	cs_free(insn, 1);
	for (unsigned run = 0; run < RUNS && run < len; run++) {
		for (at = run; at < len; at = behind[at])
			;
		if (at != len)
			continue;
		runs++;
		for (at = run; at < len; at = behind[at])
			passes[at]++;
	}
	while (met && runs && (passes[met - 1] == runs || !passes[met - 1]))
		met--;
	while (met < len && passes[met] != runs)
		met++;
	return met;
}

/* Reads the instructions before addr, code[0..len). */
static void look_before(struct replay *r, struct rp_task *t, struct stub *s, csh cs, cs_insn *insn,
			const uint8_t *code, unsigned len, uint64_t start)
{
	unsigned n;

	for (unsigned at = dual_in_step(code, len, start);
	     at < len && (n = length(cs, code + at, len - at, start + at, insn)); at += n) {
		if (!was_seen(stops_mm(t->mm)->dual, start + at))
			displace(r, t, s, insn);
	}
}

void dual_loads(struct replay *r, struct rp_task *t, struct stub *s, uint64_t addr)
{
	struct dual *a = stops_mm(t->mm)->dual;
	struct queue q = { { addr }, 1, 0 };
	csh cs = decoder();
	cs_insn *insn = cs && !a->view.loads && !s->loads_n ? cs_malloc(cs) : NULL;
	uint8_t before[DUAL_BEFORE];
	uint64_t start;

	if (!insn)
		return;
	for (unsigned i = 0; i < LOOKS && q.next < q.n; q.next++) {
		uint64_t at = q.at[q.next];

		for (; at && i < LOOKS && !was_seen(a, at); i++) {
			uint8_t bytes[16];
			const uint8_t *p = bytes;
			size_t n = stops_read(t->real, at, bytes, sizeof(bytes));

			dual_hide(t->mm, at, bytes, n);
			if (dual_area(t->mm, at) || !cs_disasm_iter(cs, &p, &n, &at, insn))
				break;
			displace(r, t, s, insn);
			at = behind(&q, cs, insn);
		}
	}
	start = 0;
	if (inprocess_solid(t, addr))
		start = stops_mm(t->mm)->solid_start + DUAL_BEFORE < addr
				? addr - DUAL_BEFORE
				: stops_mm(t->mm)->solid_start;
	if (start && start <= addr &&
	    stops_read(t->real, start, before, addr - start) == addr - start) {
		dual_hide(t->mm, start, before, addr - start);
		look_before(r, t, s, cs, insn, before, (unsigned)(addr - start), start);
	}
	cs_free(insn, 1);
}
