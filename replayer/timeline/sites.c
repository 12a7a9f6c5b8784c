/*
 * sites.c - instructions that are worth counting, given where a task is.
 *
 * Only addresses that are instructions for certain: the task's own, what follows it in memory, what
 * the function that it is in begins with (known from the call that left its return address on the
 * stack) up to it, return addresses, and what the loops that it is in begin with or are left to.
 */
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/code/displace.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/sets.h"
#include "replayer/timeline/timeline.h"
#include "tracee/pun.h"
#include "tracee/site.h"
#include "x86/decode.h"

enum {
	SEARCH = 96,
	PLACE_BYTES = 20,
	FUNCTION_MAX = 16384,
	INSNS_MAX = 4096,
	STACK_WORDS = 96,
	CALLERS_MAX = 4,
	LAST = 12
};

/* Addresses of instructions, in order. */
struct code { const uint64_t *at; unsigned n; };

/* As many bytes as a jump there would replace. */
static unsigned place_len(struct rp_task *t, uint64_t addr)
{
	unsigned len;

	return inprocess_possible(t, addr, &len) ? len : 1;
}

/* Are bytes of [addr, addr + len) among those that a jump at `place' would replace? */
static bool overlaps(struct rp_task *t, uint64_t place, uint64_t addr, unsigned len)
{
	return place + PLACE_BYTES > addr && place < addr + len &&
	       place + place_len(t, place) > addr;
}

bool counting_sites_overlap(struct rp_task *t, const struct counting_sites *p, uint64_t addr,
			    unsigned len)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (overlaps(t, p->addr[i], addr, len))
			return true;
	}
	return false;
}

bool counting_sites_blocked(struct rp_task *t, const struct rp_set *s, uint64_t addr, unsigned len)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind < REPLAY_WRITE && b->pid == t->rec_pid &&
		    overlaps(t, b->addr, addr, len))
			return true;
	}
	return false;
}

/* Is search.c's own jump there, if it looks for the event's point? */
static bool in_search(const struct replay *r, const struct rp_task *t, uint64_t addr, unsigned len)
{
	uint64_t point = r->ev.regs.rip;
	struct pun jump;

	if (r->ev.place != TRACE_AT_STATE || addr + len <= point || addr >= point + PLACE_BYTES)
		return false;
	return !pun_decode(t->real, point, &jump) || addr < point + jump.len;
}

static bool good_place(struct replay *r, struct rp_task *t, uint64_t pc, unsigned set)
{
	const struct iterations *iterations = &timeline_of(r)->iterations;
	unsigned len;

	if (!inprocess_possible(t, pc, &len) ||
	    counting_sites_blocked(t, stops_of(r)->sets[set], pc, len) || dual_dense(pc, pc + len))
		return false;
	if (iterations->known && overlaps(t, iterations->at, pc, len))
		return false;
	return !in_search(r, t, pc, len);
}

/*
 * Addresses of instructions from start on, up to end at least, or max of them.  Behind an
 * unconditional jump there may be data: forward, it ends there; else only what follows the last one
 * before end is taken.
 */
static unsigned disassemble(struct rp_task *t, uint64_t start, uint64_t end, bool forward,
			    uint64_t *ret, unsigned max)
{
	size_t room = end - start + 16;
	uint8_t *code = malloc(room);
	const uint8_t *text = code;
	size_t left = code ? tracee_read_some(t->real, start, code, room) : 0;
	uint64_t at = start;
	unsigned n = 0;
	csh cs = decoder();
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;

	patch_hide(&t->mm->patches, start, code, left);
	if (left && insn) {
		ret[n++] = start;
		while (at < end && n < max && cs_disasm_iter(cs, &text, &left, &at, insn)) {
			if (rp_goes_elsewhere(insn->id)) {
				if (forward)
					break;
				n = 0;
			}
			ret[n++] = at;
		}
	}
	if (insn)
		cs_free(insn, 1);
	free(code);
	return n;
}

enum writes { WRITES_NOT, WRITES_OPERAND, WRITES_STACK };

static enum writes writes(struct rp_task *t, uint64_t at, unsigned *len)
{
	const cs_x86 *x;
	uint8_t code[16] = { 0 };
	enum writes ret = WRITES_NOT;
	cs_insn *insn;

	tracee_read_some(t->real, at, code, sizeof(code));
	if (!decoder() || cs_disasm(decoder(), code, sizeof(code), at, 1, &insn) != 1)
		return ret;
	*len = insn->size;
	if (insn->id == X86_INS_CALL || insn->id == X86_INS_PUSH)
		ret = WRITES_STACK;
	x = &insn->detail->x86;
	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM && x->operands[i].access & CS_AC_WRITE)
			ret = WRITES_OPERAND;
	}
	cs_free(insn, 1);
	return ret;
}

/*
 * A site that is counted now names positions for ever, and where there are no debug registers a
 * watchpoint may need the room for stores of its own (dual.c): where a count is in the way, each
 * such store is a stop.  Calls and pushes are stores, too, where the watchpoint is on the stack; a
 * site need only be outside their own bytes, or there would hardly be a site.
 */
static bool spares_stores(struct rp_task *t, uint64_t at, unsigned room, const struct code *c,
			  enum rp_sparing sparing)
{
	enum { BEFORE = 12, BEHIND = 12 };
	unsigned len;

	for (unsigned i = 0; i < c->n; i++) {
		uint64_t insn = c->at[i], end;
		enum writes how = insn + BEFORE > at && insn < at + BEHIND ? writes(t, insn, &len)
									   : WRITES_NOT;

		if (how == WRITES_NOT)
			continue;
		if (how == WRITES_OPERAND && sparing == RP_SPARE_FAR)
			return false;
		end = insn + len;
		/* a jump's bytes */
		for (unsigned k = i + 1; how == WRITES_OPERAND && end < insn + X86_JUMP; k++)
			end = k + 1 < c->n && c->at[k] == end ? c->at[k + 1] : insn + SITE_MAX;
		if (end > at && insn < at + room)
			return false;
	}
	return true;
}

/* A call from a stub returns to where no processor expects it: 15 ns for each. */
static bool calls_in(const struct rp_task *t, uint64_t at)
{
	struct displaced d;

	return displace_decode(t->real, at, X86_JUMP, stops_mm(t->mm)->solid_start,
			       stops_mm(t->mm)->solid_end, &d) &&
	       (d.last == X86_CALL || d.last == X86_CALL_TO);
}

static bool add(struct replay *r, struct rp_task *t, struct counting_sites *p, uint64_t at,
		const struct code *c, unsigned set)
{
	unsigned room = place_len(t, at);

	if (p->n == COUNTING_SITES || counting_sites_overlap(t, p, at, room) ||
	    !good_place(r, t, at, set) ||
	    (p->sparing && (calls_in(t, at) || !spares_stores(t, at, room, c, p->sparing))))
		return false;
	p->code[p->n] = inprocess_code_word(t, at);
	p->addr[p->n++] = at;
	return true;
}

/* head: where code that leads to pc begins (a loop); 0: not known. */
static void sites_from(struct replay *r, struct rp_task *t, struct counting_sites *p,
			uint64_t head, uint64_t pc, unsigned set)
{
	static uint64_t at[INSNS_MAX];
	unsigned n, first = 0;

	rp_int3_out(r);		/* the code as it is */
	if (head && head < pc && pc - head < FUNCTION_MAX)
		first = disassemble(t, head, pc, false, at, INSNS_MAX - SEARCH);
	first = first && at[first - 1] == pc ? first - 1 : 0;
	n = first + disassemble(t, pc, pc + SEARCH, true, at + first, SEARCH);
	for (unsigned i = first; i < n && p->n < COUNTING_SITES; i++) {
		if (add(r, t, p, at[i], &(struct code){ at, n }, set))
			return;
	}
}

void counting_sites_at(struct replay *r, struct rp_task *t, struct counting_sites *p, uint64_t pc,
		       unsigned set)
{
	sites_from(r, t, p, 0, pc, set);
}

void counting_site_here(struct replay *r, struct rp_task *t, struct counting_sites *p, unsigned set)
{
	rp_int3_out(r);
	add(r, t, p, t->regs.rip, &(struct code){ NULL, 0 }, set);
}

/* start: where the function that pc is in begins. */
static void from_function(struct replay *r, struct rp_task *t, struct counting_sites *p,
			  uint64_t start, uint64_t pc, unsigned set)
{
	static uint64_t at[INSNS_MAX];
	unsigned n = disassemble(t, start, pc, false, at, INSNS_MAX);

	if (!n || at[n - 1] != pc)
		return;
	for (unsigned i = 1; i < LAST && i < n; i++)
		add(r, t, p, at[n - 1 - i], &(struct code){ at, n }, set);
	add(r, t, p, start, &(struct code){ at, n }, set);
}

/* Return addresses; the innermost tells where the function begins.  True: it did. */
static bool from_stack(struct replay *r, struct rp_task *t, struct counting_sites *p, unsigned set)
{
	/* pc: and then that of the call that led there */
	uint64_t words[STACK_WORDS], pc = t->regs.rip;
	size_t n = tracee_read_some(t->real, t->regs.rsp, words, sizeof(words)) / 8;
	unsigned callers = 0;
	bool own = false;

	for (size_t i = 0; i < n && callers < CALLERS_MAX; i++) {
		uint8_t call[5];
		uint64_t start;

		if (words[i] < 4096 || tracee_read_some(t->real, words[i] - 5, call, 5) != 5 ||
		    call[0] != 0xe8)
			continue;
		start = decode_call(call, words[i]);
		/*
		 * a call goes to the same file's code; what only looks like one goes anywhere, and
		 * what was one, in code that changes, may be in the middle of something now
		 */
		if (!inprocess_solid(t, start) &&
		    (stops_mm(t->mm)->solid_changes || start < stops_mm(t->mm)->solid_start ||
		     start >= stops_mm(t->mm)->solid_end))
			continue;
		if (words[i] < stops_mm(t->mm)->solid_start ||
		    words[i] >= stops_mm(t->mm)->solid_end)
			continue;
		if (callers < 2 && start < pc && pc - start < FUNCTION_MAX) {
			from_function(r, t, p, start, pc, set);
			own |= callers == 0;
		}
		counting_sites_at(r, t, p, words[i], set);
		pc = words[i] - sizeof(call);
		callers++;
	}
	return own;
}

enum { LOOPS = 4 };

static unsigned loops(struct rp_task *t, struct rp_loop ret[LOOPS])
{
	enum { CODE = 2048 };
	uint64_t pc = t->regs.rip;
	uint8_t code[CODE];
	size_t n = tracee_read_some(t->real, pc, code, sizeof(code));

	patch_hide(&t->mm->patches, pc, code, n);
	return rp_loops(code, n, pc, ret, LOOPS);
}

void counting_sites_near(struct replay *r, struct rp_task *t, struct counting_sites *p,
			 unsigned set)
{
	struct rp_loop loop[LOOPS];
	unsigned n;

	/*
	 * the code as it is: a jump of ours looks like the end of a loop that begins in the middle
	 * of an instruction
	 */
	rp_int3_out(r);
	n = loops(t, loop);
	sites_from(r, t, p, n ? loop[0].head : 0, t->regs.rip, set);
	/* behind the loops that the task is in: what is executed seldom costs little to count */
	for (unsigned i = 0; i < n; i++) {
		if (loop[i].exit)
			sites_from(r, t, p, loop[i].head, loop[i].exit, set);
	}
	/*
	 * where the function was not called directly, like main(), of what is before the task only
	 * its loop is known
	 */
	if (!from_stack(r, t, p, set) && n && loop[0].head < t->regs.rip)
		from_function(r, t, p, loop[0].head, t->regs.rip, set);
}

unsigned counting_sites_set(struct replay *r, const struct rp_task *t,
			    const struct counting_sites *p)
{
	struct replay_break b[COUNTING_SITES];

	for (unsigned i = 0; i < p->n; i++)
		b[i] = counting_site(t, p, i);
	return rp_set_intern(r, b, p->n);
}

struct replay_break counting_site(const struct rp_task *t, const struct counting_sites *p,
				  unsigned i)
{
	struct replay_break b = counting_site_break(t, p->addr[i]);

	b.code = p->code[i];
	return b;
}

struct replay_break counting_site_break(const struct rp_task *t, uint64_t addr)
{
	return (struct replay_break){
		.kind = REPLAY_COUNT, .pid = t->rec_pid, .addr = addr, .len = 1
	};
}
