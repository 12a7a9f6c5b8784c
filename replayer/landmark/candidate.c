/*
 * candidate.c - is a task at the point that an event describes, and what tells the point from other
 * passes?
 *
 * Compared are all registers, vector state, the words that the recorder saw change, and sums of
 * memory.  A word or lane that differs joins the test inside the process; the quick test is the
 * register or word that differed in the first passes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "replayer/landmark/search.h"
#include "replayer/machine/effect.h"
#include "replayer/machine/processor.h"
#include "tracee/pages.h"

enum { GENERAL = 15, R11 = 6, RSP = 19 };
#define NO_WORD (~0ull)

/* ---- is this the point? ------------------------------------------------------------------- */

/*
 * Where functions are outlined (replay_probe_outline()), the program calls functions that are
 * inlined in the recording: what a call does not keep, and what is left on stacks, is other there.
 * A pass that is taken for the point too early shows by a later event, as any does.
 */
static bool outline_keeps(const struct landmark *l, int word)
{
	return !l->r->outlines || word < R11 || word == RSP;
}

static void stack_add(struct landmark *l, const struct tracee_map *m)
{
	if (l->stacks == LANDMARK_STACKS)
		return;
	l->stack[l->stacks].start = m->start;
	l->stack[l->stacks++].end = m->end;
}

/* Those of all threads, and (behind a page without any rights) of threads that are gone. */
static void stacks_find(struct landmark *l)
{
	struct tracee_maps maps;
	struct err *err = tracee_maps_read(l->t->real, &maps);

	l->stacks_known = true;
	if (err) {
		err_free(err);
		return;
	}
	for (const struct rp_task *t = l->r->tasks; t; t = t->next) {
		const struct tracee_map *m =
			t->mm == l->t->mm ? tracee_maps_find(&maps, t->regs.rsp) : NULL;

		if (m)
			stack_add(l, m);
	}
	for (size_t i = 1; i < maps.n; i++) {
		const struct tracee_map *m = &maps.map[i];

		if (!m->inode && (m->prot & PROT_WRITE) && !m[-1].prot && m[-1].end == m->start)
			stack_add(l, m);
	}
	tracee_maps_deinit(&maps);
}

/* Memory of which not every byte is as in the recording? */
static bool outline_changes(struct landmark *l, const struct trace_effect *e)
{
	uint64_t len = e->kind == TRACE_SUM ? e->len : e->data_len;

	if (!l->r->outlines)
		return false;
	if (!l->stacks_known)
		stacks_find(l);
	for (unsigned i = 0; i < l->stacks; i++) {
		if (e->addr < l->stack[i].end && e->addr + len > l->stack[i].start)
			return true;
	}
	return false;
}

/* r11 to rdi, which lie side by side. */
static void outline_forgets(struct regs *have, const struct regs *want)
{
	enum { SCRATCH = 9 };

	memcpy(&have->r11, &want->r11, SCRATCH * sizeof(have->r11));
}

static bool general_equal(const struct landmark *l, const struct regs *have)
{
	enum { ARITHMETIC = 0x8d5, RF_TF = 0x10100 };
	struct regs a = *have, b = l->ev->regs;
	/* the stub has used the flags where nobody reads them any more; an outlined call, too */
	bool dead = l->r->outlines || (l->patched && l->stub.pun.flags_dead);
	uint64_t ours = RF_TF | (dead ? ARITHMETIC : 0);

	if (l->r->outlines)
		outline_forgets(&a, &b);

	a.orig_rax = b.orig_rax = 0;
	a.eflags &= ~ours;
	b.eflags &= ~ours;
	return !memcmp(&a, &b, sizeof(a)) || rp_machine_alike(l->r, &a, &b);
}

/*
 * Something of ours may be there while the task runs: a test in the process would see that, and
 * never the program's.
 */
static bool is_ours(const struct landmark *l, uint64_t addr)
{
	const struct pun *jump = &l->stub.pun;
	uint64_t now, hidden;

	if ((addr < jump->addr + X86_JUMP && addr + 8 > jump->addr) ||
	    tracee_read_some(l->t->real, addr, &now, 8) != 8)
		return true;
	hidden = now;
	rp_tools_hide(l->t->mm, addr, &hidden, 8);
	return hidden != now || rp_tools_in_the_way(l->r, l->t, addr, addr, addr + 8);
}

/* As the program has them. */
static void hide_ours(const struct landmark *l, uint64_t addr, unsigned char *bytes, size_t len)
{
	rp_tools_hide(l->t->mm, addr, bytes, len);
	rp_machine_hide(l->r, l->t->mm, addr, bytes, len);
	landmark_hide_jump(l, addr, bytes, len);
}

/*
 * The first 8-byte word of recorded bytes that memory does not have; NO_WORD: it cannot be tested.
 */
static bool bytes_equal(const struct landmark *l, const struct trace_effect *e,
			struct stub_word *word)
{
	unsigned char small[512],
		*have = e->data_len <= sizeof(small) ? small : malloc(e->data_len);
	const unsigned char *want = e->data;
	size_t n = have ? tracee_read_some(l->t->real, e->addr, have, e->data_len) : 0, i = 0;

	if (have)
		hide_ours(l, e->addr, have, n);
	if (n == e->data_len && !memcmp(have, want, n))
		i = n;
	while (i < n && have[i] == want[i])
		i++;
	if (have != small)
		free(have);
	if (i == e->data_len)
		return true;
	i &= ~(size_t)7;	/* a whole word inside the recorded bytes */
	if (i + 8 > e->data_len)
		i = e->data_len >= 8 ? e->data_len - 8 : 0;
	word->addr = e->data_len >= 8 && !is_ours(l, e->addr + i) ? e->addr + i : NO_WORD;
	if (word->addr != NO_WORD)
		memcpy(&word->value, want + i, 8);
	return false;
}

/* Witnesses that are read in one call. */
enum { BATCH = 64, BATCH_BYTES = 64 << 10 };
struct batch {
	const struct trace_effect *e[BATCH];
	unsigned n;
	size_t bytes;
};

/* The first witness of b, from number `first' on, that memory does not seem to have; b->n: none. */
static unsigned batch_look(const struct landmark *l, const struct batch *b, unsigned first)
{
	static unsigned char (*buf)[BATCH_BYTES];
	struct iovec local[BATCH], remote[BATCH];
	size_t got, at = 0;
	unsigned i;

	ALLOC_ONCE(buf, "the words of a point");
	for (i = first; i < b->n; at += b->e[i++]->data_len) {
		local[i] = (struct iovec){ *buf + at, b->e[i]->data_len };
		remote[i] = (struct iovec){ (void *)(uintptr_t)b->e[i]->addr, b->e[i]->data_len };
	}
	got = tracee_read_pieces(l->t->real, local + first, remote + first, b->n - first);
	for (i = first, at = 0; i < b->n; at += b->e[i++]->data_len) {
		const struct trace_effect *e = b->e[i];

		if (at + e->data_len > got)
			break;
		hide_ours(l, e->addr, *buf + at, e->data_len);
		if (memcmp(*buf + at, e->data, e->data_len))
			break;
	}
	return i;
}

/* As bytes_equal(), for all of b, which is empty then. */
static bool batch_equal(const struct landmark *l, struct batch *b, struct stub_word *word)
{
	for (unsigned i = 0; i < b->n; i++) {
		i = batch_look(l, b, i);
		if (i < b->n && !bytes_equal(l, b->e[i], word))
			return false;
	}
	b->n = 0;
	b->bytes = 0;
	return true;
}

/* As bytes_equal(), for all recorded bytes. */
static bool witnesses_equal(struct landmark *l, struct stub_word *word)
{
	struct batch b = { .n = 0 };

	for (uint32_t i = 0; i < l->ev->effects_len; i++) {
		const struct trace_effect *e = &l->ev->effects[i];

		if (e->kind != TRACE_WITNESS || outline_changes(l, e))
			continue;
		if ((b.n == BATCH || b.bytes + e->data_len > BATCH_BYTES) &&
		    !batch_equal(l, &b, word))
			return false;
		if (e->data_len > BATCH_BYTES) {
			if (!bytes_equal(l, e, word))
				return false;
			continue;
		}
		b.e[b.n++] = e;
		b.bytes += e->data_len;
	}
	return batch_equal(l, &b, word);
}

/* Registers agree.  Memory?  If not, *word is one to test from now on (NO_WORD: none is known). */
static struct err *memory_equal(struct landmark *l, bool *equal, struct stub_word *word)
{
	*equal = false;
	word->addr = NO_WORD;
	if (!witnesses_equal(l, word))
		return NULL;
	/* the sum that told the last candidate comes first: it is likely to tell this one */
	for (uint32_t i = 0; i < l->ev->effects_len; i++) {
		uint32_t at = (l->odd_sum + i) % l->ev->effects_len;
		const struct trace_effect *e = &l->ev->effects[at];
		uint64_t sum;

		if (e->kind != TRACE_SUM || outline_changes(l, e))
			continue;
		TRY(effect_sum(l->r, l->t, e, &sum));
		if (sum != e->x) {
			l->odd_sum = at;
			return NULL;
		}
	}
	*equal = true;
	return NULL;
}

/* Our jump is not the program's. */
static struct err *memory_equal_unpatched(struct landmark *l, bool *equal, struct stub_word *word)
{
	if (!l->patched)
		return memory_equal(l, equal, word);
	TRY(landmark_jump_out(l));
	TRY(memory_equal(l, equal, word));
	return tracee_write(l->t->real, l->stub.pun.addr, l->jump, X86_JUMP);
}

/*
 * Vector and x87 state, but for what the program cannot see or the processor does not keep: the
 * place of the last x87 instruction, and which parts are in use (the kernel shows parts that are
 * not as their initial values).
 */
enum {
	X_ST = 32,
	X_XMM = 160,
	X_HEADER_END = 576,
	X_AVX = 2,
	X_K = 5,
	X_ZMM = 6,
	X_ZMM16 = 7,
	X_PKRU = 9,
	X_LAST = 19
};

/*
 * Where each kind of lane lies: from this byte of the state (0: where cpuid says that this part
 * is), so many, so long, so far apart.
 */
static const struct lanes { uint16_t first, at; uint8_t part, n, bytes, step;
} lanes[] = {
	{ STUB_LOW, X_XMM, 0, 32, 8, 8 }, { STUB_YMM, 0, X_AVX, 32, 8, 8 },
	{ STUB_ST, X_ST, 0, 8, 8, 16 },	  { STUB_ST_TOP, X_ST + 8, 0, 8, 2, 16 },
	{ STUB_FCW, 0, 0, 1, 4, 4 },	  { STUB_FTW, 4, 0, 1, 1, 1 },
	{ STUB_MXCSR, 24, 0, 1, 4, 4 },	  { STUB_K, 0, X_K, 8, 8, 8 },
	{ STUB_ZMM, 0, X_ZMM, 64, 8, 8 }, { STUB_ZMM16, 0, X_ZMM16, 128, 8, 8 },
};

/* Offset of a part of the state; 0: it is not there. */
static unsigned part_at(unsigned part, unsigned *len)
{
	struct cpuid_leaf leaf = cpuid_here(0xd, part);

	*len = leaf.eax;
	return leaf.ebx < X_HEADER_END || leaf.ebx + leaf.eax > TRACEE_XSTATE_MAX ? 0 : leaf.ebx;
}

static bool lanes_equal(const struct lanes *l, const unsigned char *want, const unsigned char *have,
			struct stub_word *word)
{
	unsigned len = 0, at = l->part ? part_at(l->part, &len) : l->at;

	if (l->part && (!at || len < (unsigned)l->n * l->step))
		return true;
	for (unsigned i = 0; i < l->n; i++, at += l->step) {
		if (!memcmp(want + at, have + at, l->bytes))
			continue;
		*word = (struct stub_word){ .addr = l->first + i };
		memcpy(&word->value, want + at, l->bytes);
		return false;
	}
	return true;
}

static bool part_equal(const unsigned char *want, const unsigned char *have, unsigned part)
{
	unsigned len, at = part_at(part, &len);

	return !at || !memcmp(want + at, have + at, len);
}

static struct err *vectors_equal(struct landmark *l, bool *equal, struct stub_word *word)
{
	unsigned char have[TRACEE_XSTATE_MAX] = { 0 }, want[TRACEE_XSTATE_MAX] = { 0 };
	uint64_t xcr0 = cpu_xcr0();
	size_t len;

	*equal = true;
	for (uint32_t i = 0; i < l->ev->effects_len; i++) {
		const struct trace_effect *e = &l->ev->effects[i];

		if (e->kind != TRACE_XSTATE)
			continue;
		memcpy(want, e->data, e->data_len < sizeof(want) ? e->data_len : sizeof(want));
		TRY(tracee_xstate_get(l->t->real, have, &len));
		for (unsigned k = 0; k < sizeof(lanes) / sizeof(lanes[0]) && *equal; k++)
			*equal = (lanes[k].part && !(xcr0 >> lanes[k].part & 1)) ||
				 lanes_equal(&lanes[k], want, have, word);
		for (unsigned part = X_AVX + 1; part <= X_LAST && *equal; part++) {
			if (part != X_PKRU && (xcr0 >> part & 1))
				*equal = part_equal(want, have, part);
		}
	}
	return NULL;
}

/* Everything agrees here (t->regs.rip is at the point). */
struct err *landmark_is_point(struct landmark *l, bool *found)
{
	struct stub_word word = { NO_WORD, 0 };
	bool good, kept;

	l->traps++;
	*found = general_equal(l, &l->t->regs);
	if (*found)
		rp_tools_remove_code(l->r);	/* code is compared too */
	if (*found && !l->r->outlines)
		TRY(vectors_equal(l, found, &word));
	if (*found) {
		struct err *err;

		kept = pages_keep(l->t->real);
		err = memory_equal_unpatched(l, found, &word);
		if (kept)
			pages_let_go();
		TRY(err);
	}
	if (*found || word.addr == NO_WORD || l->stub.words == STUB_WORDS || !l->stub.addr)
		return NULL;
	l->stub.word[l->stub.words++] = word;
	return landmark_stub_write(l, &good);
}

/* ---- which test tells best? ------------------------------------------------------------------ */

static bool word_now(const struct landmark *l, uint64_t addr, uint64_t *ret)
{
	return tracee_read_some(l->t->real, addr, ret, 8) == 8;
}

/* A register whose low half differs in all samples, rather one that changes between them. */
static bool quick_register(struct landmark *l)
{
	const uint64_t *want = l->stub.value;
	int best = -1, best_score = -1;

	for (int i = 0; i <= GENERAL; i++) {
		int w = i == GENERAL ? RSP : i;
		int score = !outline_keeps(l, w) || (w == R11 && rp_machine_flags(l->r)) ? -1 : 0;

		for (unsigned k = 0; k < l->samples && score >= 0; k++) {
			uint32_t have = (uint32_t)((const uint64_t *)&l->sample[k])[w];

			if (have == (uint32_t)want[w])
				score = -1;
			else
				score += k &&
					 have != (uint32_t)((const uint64_t *)&l->sample[k - 1])[w];
		}
		if (score > best_score) {
			best = w;
			best_score = score;
		}
	}
	if (best < 0)
		return false;
	l->stub.quick = QUICK_REG;
	l->stub.quick_reg = (unsigned)best;
	return best_score > 0;
}

/* A lane, or one of the words that changed, that is not yet what it shall be. */
static struct err *quick_word(struct landmark *l, bool *good)
{
	struct stub_word word = { NO_WORD, 0 };
	bool equal;

	*good = false;
	for (unsigned i = 0; i < l->stub.words; i++) {
		uint64_t now;

		word = l->stub.word[i];
		if (word.addr >= STUB_LANES && word_now(l, word.addr, &now) &&
		    (uint32_t)now != (uint32_t)word.value)
			*good = true;
		if (*good)
			break;
	}
	if (!*good && !l->r->outlines) {
		TRY(vectors_equal(l, &equal, &word));
		*good = !equal && word.addr != NO_WORD;
	}
	for (uint32_t i = 0; i < l->ev->effects_len && !*good; i++) {
		const struct trace_effect *e = &l->ev->effects[i];
		uint64_t now;

		if (e->kind != TRACE_WITNESS || e->data_len > 512 || outline_changes(l, e) ||
		    bytes_equal(l, e, &word) || word.addr == NO_WORD)
			continue;
		*good = word_now(l, word.addr, &now) && (uint32_t)now != (uint32_t)word.value;
	}
	if (*good) {
		l->stub.quick = QUICK_WORD;
		l->stub.quick_word = word;
	}
	return NULL;
}

/* From the samples; the task is stopped at the place. */
static struct err *choose_quick(struct landmark *l)
{
	bool good = quick_register(l);
	enum stub_quick reg = l->stub.quick;

	l->stub.regs = 0;
	for (uint8_t i = 0; i <= GENERAL; i++) {
		if (i == R11 && rp_machine_flags(l->r))
			continue;	/* may be flags of another processor */
		if (!outline_keeps(l, i))
			continue;
		l->stub.order[l->stub.regs++] = i == GENERAL ? RSP : i;
	}
	if (good)
		return NULL;
	/* no register moves: then memory does, or a vector register */
	TRY(quick_word(l, &good));
	if (!good)
		l->stub.quick = reg;
	if (l->stub.quick == QUICK_WORD && l->stub.words < STUB_WORDS && !l->stub.words)
		l->stub.word[l->stub.words++] = l->stub.quick_word;
	return NULL;
}

/* Sample, or choose anew. */
struct err *landmark_learn(struct landmark *l, bool retest)
{
	bool good;

	if (retest) {
		l->retests++;
		l->samples = 0;
	}
	if (l->samples < LANDMARK_SAMPLES)
		l->sample[l->samples++] = l->t->regs;
	if (!retest && l->samples < LANDMARK_SAMPLES)
		return NULL;
	l->stub.quick = QUICK_NONE;
	TRY(choose_quick(l));
	if (l->retests > 50)
		l->stub.quick = QUICK_NONE;	/* nothing tells quickly */
	return landmark_stub_write(l, &good);
}
