/*
 * dual_run.c - a run of instructions that use the same few addresses, tested once.
 *
 * A stub (dual_stub.c) costs two dozen instructions for each store, and what loads by an address in
 * a register still waits until a store through the other mapping has got to the cache
 * (dual_load.c).  In a loop over an array in a dual-mapped page that is most of the time.  Here,
 * for write logs (write_log.c), which watch no bytes: straight code from some instruction on, moved
 * as a whole.  Before it the addresses that it uses are tested, registers that are not changed
 * before their use; then what loads and stores by them has only another displacement, the distance
 * to the other mapping, and each store is followed by one to the store bitmap:
 *
 *	entry:	save S
 *		for each address: lea S, [lowest]; on its page, to the highest?  else to `no'
 *		S back
 *		the instructions; before those that store: mov qword [the same, in the bitmap], -1
 *		jmp behind the last one
 *	no:	S back; as without it
 *
 * At each of them all registers are the program's, so it can be left at each.
 *
 * Where nothing need be tested (dual_unchecked.c), nothing is:
 *
 *	entry:	the instructions
 *		jmp behind the last one
 *	and for each that accesses the other mapping, should it fault:
 *		as it was; jmp behind it, above
 */
#include "replayer/stops/dual_run.h"

#include <string.h>

#include "replayer/stops/dual_emit.h"
#include "replayer/code/displace.h"
#include "tracee/pun.h"

enum { SPAN_MAX = DUAL_PAGE_SIZE / 2,
       /* what an access is worth, and a test costs; a run has so many of the former, at least */
       STORE = 3, LOAD = 2, KEY = 2, LEAST = 2 };

/* ---- which ----------------------------------------------------------------------------------- */

static uint16_t index_bit(const struct place *p)
{
	return p->index >= 0 ? (uint16_t)(1u << p->index) : 0;
}

static uint16_t bits(const struct place *p)
{
	return (uint16_t)(1u << p->base | index_bit(p));
}

/*
 * The dual-mapped page that it is probably on: as registers are now, at insn[code->at], or by the
 * base when the index is another since.
 */
static unsigned probable_page(const struct run_code *code, unsigned k, const struct dual_view *v,
			      const uint64_t reg[16])
{
	const struct run_insn *in = &code->insn[k];
	uint64_t addr = reg[in->place.base] + (uint64_t)(int64_t)in->disp, to;
	uint16_t written = 0;
	unsigned page;

	for (unsigned i = k; i < code->at; i++)
		written |= code->insn[i].writes;
	if (in->place.index >= 0 && !(written & index_bit(&in->place)))
		addr += reg[in->place.index] << in->place.scale;
	page = dual_page_of(v, addr, in->s.size, &to);
	if (page < v->pages_n &&
	    (addr < v->page[page] || addr + in->s.size > v->page[page] + DUAL_PAGE_SIZE))
		page = v->pages_n;
	return page;
}

/* In both mappings, and in the store bitmap. */
static bool can_be_displaced(const struct dual_view *v, unsigned page, int32_t disp)
{
	int64_t to = (int64_t)(v->dual[page] - v->page[page]) + disp;

	return to == (int32_t)to && to + v->bitmap_at + 64 == (int32_t)(to + v->bitmap_at + 64);
}

static int key_of(struct dual_run *run, const struct run_code *code, unsigned k,
		  const struct dual_view *v, const uint64_t reg[16])
{
	const struct run_insn *in = &code->insn[k];
	int32_t min = in->disp, max = in->disp + (int32_t)in->s.size;
	struct run_key *key;
	unsigned i = 0, page;

	while (i < run->keys_n && memcmp(&run->key[i].place, &in->place, sizeof(in->place)))
		i++;
	key = &run->key[i];
	if (i == RUN_KEYS)
		return -1;
	page = probable_page(code, k, v, reg);
	if (page == v->pages_n || (i < run->keys_n && page != key->page) ||
	    !can_be_displaced(v, page, in->disp))
		return -1;
	if (i == run->keys_n) {
		*key = (struct run_key){ in->place, page, min, max };
		run->keys_n++;
		return (int)i;
	}
	min = min < key->min ? min : key->min;
	max = max > key->max ? max : key->max;
	if ((int64_t)max - min > SPAN_MAX)
		return -1;
	key->min = min;
	key->max = max;
	return (int)i;
}

/* Nothing is tested: each for itself. */
static void weigh_unchecked(const struct run_code *code, unsigned first, const struct dual_view *v,
			const uint64_t reg[16], dual_seen_fn *sees, struct dual_run *ret)
{
	unsigned n = code->last - first < RUN_INSNS ? code->last - first : RUN_INSNS, used = 0;
	uint16_t written = 0;

	for (unsigned k = 0; k < n; k++) {
		const struct run_insn *in = &ret->insn[k];
		unsigned page = v->pages_n;

		ret->of[k] = -1;
		if (in->operand && !(written >> in->place.base & 1) && !sees(in->addr))
			page = probable_page(code, first + k, v, reg);
		written |= in->writes;
		if (page == v->pages_n || !can_be_displaced(v, page, in->disp))
			continue;
		ret->of[k] = (int8_t)page;
		ret->n = k + 1;
		used++;
		ret->score += in->stores ? STORE : LOAD;
	}
	if (used < LEAST || first + ret->n <= code->at || ret->of[code->at - first] < 0)
		ret->score = 0;
}

void dual_run_weigh(const struct run_code *code, unsigned first, const struct dual_view *v,
		    const uint64_t reg[16], dual_seen_fn *sees, struct dual_run *ret)
{
	unsigned n = code->last - first < RUN_INSNS ? code->last - first : RUN_INSNS, used = 0,
		 score = 0;
	uint16_t written = 0;

	*ret = (struct dual_run){ .insn = &code->insn[first], .unchecked = v->unchecked };
	if (v->unchecked) {
		weigh_unchecked(code, first, v, reg, sees, ret);
		return;
	}
	for (unsigned k = 0; k < n; k++) {
		const struct run_insn *in = &ret->insn[k];

		ret->of[k] = -1;
		if (in->operand && !(bits(&in->place) & written))
			ret->of[k] = (int8_t)key_of(ret, code, first + k, v, reg);
		written |= in->writes;
		if (ret->of[k] < 0)
			continue;
		ret->n = k + 1;
		used++;
		score += in->stores ? STORE : LOAD;
	}
	if (used >= LEAST && first + ret->n > code->at && ret->of[code->at - first] >= 0 &&
	    score > KEY * ret->keys_n)
		ret->score = score - KEY * ret->keys_n;
}

/* ---- its code -------------------------------------------------------------------------------- */

static int choose_scratch(const struct dual_run *run)
{
	uint16_t used = 0;

	for (unsigned i = 0; i < run->keys_n; i++)
		used |= bits(&run->key[i].place);
	return dual_free_register(used);
}

static bool uses_rax(const struct run_key *key)
{
	return bits(&key->place) >> RAX & 1;
}

/* False: rax is wanted for two things. */
static bool emit_tests(struct dual_code *c, const struct dual_run *run, unsigned scratch, bool dead,
		       struct fixes *no)
{
	bool kept = dead;

	for (int with_rax = !dead; with_rax >= 0; with_rax--) {
		for (unsigned i = 0; i < run->keys_n; i++) {
			const struct run_key *key = &run->key[i];

			if (!dead && uses_rax(key) != with_rax)
				continue;
			if (kept && !dead && with_rax)
				return false;
			emit_with_place(c, 0x48, 0x8d, scratch, &key->place, key->min);
			if (!kept)
				emit_flags(c);
			kept = true;
			x86_put_word(&c->code, 0x2b, scratch,
				     c->data + DUAL_PAGE_AT + 8 * key->page);
			X86_PUT(&c->code, 0x48, 0x81, (uint8_t)(0xf8 | scratch));
			x86_put32(&c->code, (uint32_t)(DUAL_PAGE_SIZE - (key->max - key->min)));
			emit_later(c, no, X86_IF_ABOVE);
		}
	}
	return true;
}

static bool emit_insn(struct dual_code *c, const struct dual_view *v, pid_t tid,
		      const struct dual_run *run, unsigned k, uint16_t *orig)
{
	const struct run_insn *in = &run->insn[k];
	unsigned page = run->of[k] < 0 ? 0
			: run->unchecked   ? (unsigned)run->of[k]
				       : run->key[run->of[k]].page;
	int32_t disp = in->disp + (int32_t)(v->dual[page] - v->page[page]);
	struct dual_insn moved;

	if (run->of[k] >= 0) {
		if (in->stores)
			emit_bitmap(c, &in->place, disp + (int32_t)v->bitmap_at, in->s.size);
		*orig = (uint16_t)c->code.len;
		return emit_displaced(c, &in->s, in->bytes, in->len, disp);
	}
	if (in->stack) {
		x86_put(&c->code, in->bytes, in->len);
		return true;
	}
	if (!dual_put(c, v, tid, in->addr, &moved))
		return false;
	*orig = (uint16_t)(moved.orig - c->code.at);
	return true;
}

/* As it was, for those that fault. */
static void emit_backs(struct dual_code *c, const struct dual_run *run, struct run_places *ret)
{
	for (unsigned k = 0; k < run->n; k++) {
		struct fixes next = { 0 };

		if (run->of[k] < 0)
			continue;
		ret->back[k] = (uint16_t)c->code.len;
		x86_put(&c->code, run->insn[k].bytes, run->insn[k].len);
		emit_later(c, &next, X86_ALWAYS);
		emit_come_to(c, &next, ret->at[k + 1]);
	}
}

bool dual_run_put(struct dual_code *c, const struct dual_view *v, pid_t tid,
		  const struct dual_run *run, struct run_places *ret)
{
	uint64_t start = run->insn[0].addr, save = c->data + DUAL_SAVE_AT, end = start;
	int scratch = choose_scratch(run);
	bool dead = !run->unchecked && pun_flags_dead(tid, start);	/* as in dual_put() */
	struct fixes no = { 0 };

	if (scratch < 0)
		return false;
	*ret = (struct run_places){ .n = 0 };
	if (!run->unchecked) {
		x86_put_word(&c->code, 0x89, (unsigned)scratch, save);
		if (!emit_tests(c, run, (unsigned)scratch, dead, &no))
			return false;
		emit_flags_back(c, dead);
		x86_put_word(&c->code, 0x8b, (unsigned)scratch, save);
	}
	for (unsigned k = 0; k < run->n; k++) {
		ret->at[k] = (uint16_t)c->code.len;
		ret->where[k] = (uint16_t)(run->insn[k].addr - start);
		if (c->code.len + DUAL_ROOM > DUAL_CODE ||
		    !emit_insn(c, v, tid, run, k, &ret->orig[k]))
			return false;
		end = run->insn[k].addr + run->insn[k].len;
	}
	ret->at[run->n] = (uint16_t)c->code.len;
	ret->where[run->n] = (uint16_t)(end - start);
	ret->n = (uint16_t)run->n;
	x86_put_jump(&c->code, X86_ALWAYS, end);
	if (c->code.far)
		return false;
	if (run->unchecked) {
		emit_backs(c, run, ret);
		return c->code.len + DUAL_ROOM <= DUAL_CODE;
	}
	emit_come_here(c, &no);
	emit_flags_back(c, dead);
	x86_put_word(&c->code, 0x8b, (unsigned)scratch, save);
	return true;
}
