/*
 * stack.c - which stack is it?  Told inside the process, by a fingerprint.
 *
 * Stacks repeat: a program allocates ten million times from some hundred of them.  So a stub does
 * not log the stack, it looks its number up; only one that was never seen traps, is unwound by our
 * caller, and gets the next number.
 *
 *	SITES[hash of rsp and return address] -> struct rp_site -> next ...
 *		rsp, ret	together nearly the whole stack; the callers' callers differ,
 *		off[10]		so here are the places of the next return addresses, for one
 *				way to get here.  Ways differ from some return address on, and so
 *				does what comes behind it: each has a site of its own.
 *		chain		and where an interpreter keeps its frames, if one is on the stack
 *	fingerprint = salt + sum of off[k]'s words, each by a constant of its own, + the chain's
 *	STACKS[hash of that] -> struct rp_stack -> next ...
 *		the number; none: the next site is tried
 *
 * A stack that came another way than a site stands for has, at one of the site's places up to where
 * the ways part, another return address than any stack of that site: its fingerprint is not found
 * there.
 *
 * Nothing in the lookup touches flags: pmuludq adds up, jrcxz decides; the walk along a chain saves
 * them.  A pointer there may lie (the interpreter is being made, or a thread has gone): a fault
 * means that this site is not it (rp_stack_fault()).  Two stacks with the same fingerprint would
 * be taken
 * for one: 64 bits, where a program has some thousand stacks.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/probe/probe.h"

enum { LEARN_MAX = 400000, WAYS_MAX = 64 };
#define CHAIN_FACTOR 0x2c1b3c6d
#define CHAIN_TURN 23

#define STR_(x) #x
#define STR(x) STR_(x)

__asm__(".pushsection .rodata\n"
	".intel_syntax noprefix\n"
	".globl rp_lookup, rp_lookup_again, rp_lookup_next, rp_lookup_miss, rp_lookup_end\n"
	"rp_lookup:\n"
	"	mov [" STR(PROBE_RAX) "], rax\n"
	"	movups [" STR(PROBE_XMM) "], xmm0\n"
	"	movups [" STR(PROBE_XMM) " + 16], xmm1\n"
	"	movups [" STR(PROBE_XMM) " + 32], xmm2\n"
	"	mov [" STR(PROBE_REGS) "], rbx\n"
	"	mov [" STR(PROBE_REGS) " + 8], rbp\n"
	"	mov [" STR(PROBE_REGS) " + 16], r12\n"
	"	mov [" STR(PROBE_REGS) " + 24], r13\n"
	"	mov [" STR(PROBE_REGS) " + 32], r14\n"
	"	mov [" STR(PROBE_REGS) " + 40], r15\n"
	"	mov [" STR(PROBE_REGS) " + 48], rdi\n"
	"	mov [" STR(PROBE_REGS) " + 56], rsi\n"
	"	mov [" STR(PROBE_REGS) " + 64], rdx\n"
	"rp_lookup_again:\n"
	"	mov rax, [rsp]\n"
	"	movq xmm0, rsp\n"
	"	movhps xmm0, [rsp]\n"
	"	lea rcx, [rsp + rax * 8]\n"
	"	movzx ecx, cx\n"
	"	mov rax, [rcx * 8 + " STR(PROBE_SITES) "]\n"
	"1:	movdqa xmm1, xmm0\n"
	"	pxor xmm1, [rax]\n"
	"	pshufd xmm2, xmm1, 0x4e\n"
	"	por xmm1, xmm2\n"
	"	movq rcx, xmm1\n"
	"	jrcxz 2f\n"
	"0:	mov rax, [rax + 16]\n"
	"	mov rcx, rax\n"
	"	jrcxz 5f\n"
	"	jmp 1b\n"
	"rp_lookup_miss:\n"
	"5:	int3\n"
	"rp_lookup_next:\n"
	"	mov rax, [" STR(PROBE_SITE) "]\n"
	"	movq xmm0, rsp\n"
	"	movhps xmm0, [rsp]\n"
	"	jmp 0b\n"
	"2:	mov [" STR(PROBE_SITE) "], rax\n"
	"	mov rcx, [rax + 32]\n"
	"	movq xmm0, [rsp + rcx]\n"
	"	mov rcx, [rax + 40]\n"
	"	movhps xmm0, [rsp + rcx]\n"
	"	pmuludq xmm0, [" STR(PROBE_WEIGHTS) "]\n"
	"	mov rcx, [rax + 48]\n"
	"	movq xmm1, [rsp + rcx]\n"
	"	mov rcx, [rax + 56]\n"
	"	movhps xmm1, [rsp + rcx]\n"
	"	pmuludq xmm1, [" STR(PROBE_WEIGHTS) " + 16]\n"
	"	paddq xmm0, xmm1\n"
	"	mov rcx, [rax + 64]\n"
	"	movq xmm1, [rsp + rcx]\n"
	"	mov rcx, [rax + 72]\n"
	"	movhps xmm1, [rsp + rcx]\n"
	"	pmuludq xmm1, [" STR(PROBE_WEIGHTS) " + 32]\n"
	"	paddq xmm0, xmm1\n"
	"	mov rcx, [rax + 80]\n"
	"	movq xmm1, [rsp + rcx]\n"
	"	mov rcx, [rax + 88]\n"
	"	movhps xmm1, [rsp + rcx]\n"
	"	pmuludq xmm1, [" STR(PROBE_WEIGHTS) " + 48]\n"
	"	paddq xmm0, xmm1\n"
	"	mov rcx, [rax + 96]\n"
	"	movq xmm1, [rsp + rcx]\n"
	"	mov rcx, [rax + 104]\n"
	"	movhps xmm1, [rsp + rcx]\n"
	"	pmuludq xmm1, [" STR(PROBE_WEIGHTS) " + 64]\n"
	"	paddq xmm0, xmm1\n"
	"	pshufd xmm1, xmm0, 0x4e\n"
	"	paddq xmm0, xmm1\n"
	"	movq xmm1, [rax + 24]\n"
	"	paddq xmm0, xmm1\n"
	"	mov rcx, [rax + 112]\n"
	"	jrcxz 1f\n"
	"	jmp 8f\n"
	"1:	jmp .Lrp_stacks\n"
	/* along the chain: struct replay_chain at rax + 112; rbx is what comes of it */
	"8:	lahf\n"
	"	seto al\n"
	"	mov [" STR(PROBE_FLAGS) "], rax\n"
	"	mov rax, [" STR(PROBE_SITE) "]\n"
	"	cmp dword ptr [rax + 128], 2\n"	/* references of 32 bits? */
	"	jne 4f\n"
	"	mov ecx, [rsp + rcx]\n"
	"	jmp 0f\n"
	"4:	mov rcx, [rsp + rcx]\n"
	"0:	mov ebx, 1\n"
	"	mov edi, [rax + 120]\n"		/* limit */
	"	movsxd rdx, dword ptr [rax + 124]\n"	/* pre */
	"	test rdx, rdx\n"
	"	js 1f\n"
	"	test rcx, rcx\n"
	"	jz 9f\n"
	"	mov rcx, [rcx + rdx]\n"
	"1:	cmp dword ptr [rax + 128], 0\n"	/* stack of LuaJIT? */
	"	jne 5f\n"
	"	mov edx, [rax + 132]\n"		/* next */
	"	mov esi, [rax + 136]\n"		/* value */
	"2:	test rcx, rcx\n"
	"	jz 9f\n"
	"	mov ebp, [rax + 140]\n"		/* status */
	"	movzx ebp, byte ptr [rcx + rbp]\n"
	"	xor ebp, [rax + 148]\n"		/* want */
	"	test ebp, [rax + 144]\n"		/* mask */
	"	jnz 3f\n"
	"	xor rbx, [rcx + rsi]\n"
	"	imul rbx, rbx, " STR(CHAIN_FACTOR) "\n"
	"	ror rbx, " STR(CHAIN_TURN) "\n"
	"3:	mov rcx, [rcx + rdx]\n"
	"	dec edi\n"
	"	jnz 2b\n"
	"	jmp 9f\n"
	"5:	sub rcx, 8\n"				/* base -> link */
	"	cmp dword ptr [rax + 128], 2\n"
	"	je 4f\n"
	"6:	mov rsi, [rcx]\n"
	"	xor rbx, rsi\n"
	"	imul rbx, rbx, " STR(CHAIN_FACTOR) "\n"
	"	ror rbx, " STR(CHAIN_TURN) "\n"
	"	test sil, 3\n"
	"	jnz 7f\n"
	"	movzx esi, byte ptr [rsi - 3]\n"
	"	lea rsi, [rsi * 8 + 16]\n"
	"7:	and rsi, -8\n"
	"	jle 9f\n"
	"	sub rcx, rsi\n"
	"	dec edi\n"
	"	jnz 6b\n"
	"	jmp 9f\n"
	"4:	mov esi, [rcx + 4]\n"			/* the link is a slot's upper half */
	"	xor rbx, rsi\n"
	"	imul rbx, rbx, " STR(CHAIN_FACTOR) "\n"
	"	ror rbx, " STR(CHAIN_TURN) "\n"
	"	test sil, 3\n"
	"	jnz 7f\n"
	"	movzx esi, byte ptr [rsi - 3]\n"
	"	lea rsi, [rsi * 8 + 8]\n"
	"7:	and esi, -8\n"
	"	jle 9f\n"
	"	sub rcx, rsi\n"
	"	dec edi\n"
	"	jnz 4b\n"
	"9:	movq xmm1, rbx\n"
	"	paddq xmm0, xmm1\n"
	"	mov rbx, [" STR(PROBE_REGS) "]\n"
	"	mov rbp, [" STR(PROBE_REGS) " + 8]\n"
	"	mov rdi, [" STR(PROBE_REGS) " + 48]\n"
	"	mov rsi, [" STR(PROBE_REGS) " + 56]\n"
	"	mov rdx, [" STR(PROBE_REGS) " + 64]\n"
	"	mov rax, [" STR(PROBE_FLAGS) "]\n"
	"	add al, 0x7f\n"
	"	sahf\n"
	".Lrp_stacks:\n"
	"	movq rax, xmm0\n"
	"	psrlq xmm0, 40\n"
	"	movq rcx, xmm0\n"
	"	movzx ecx, cx\n"
	"	mov rcx, [rcx * 8 + " STR(PROBE_STACKS) "]\n"
	"3:	movq xmm1, rcx\n"
	"	mov rcx, [rcx]\n"
	"	lea rcx, [rcx + rax]\n"
	"	jrcxz 4f\n"
	"	movq rcx, xmm1\n"
	"	mov rcx, [rcx + 8]\n"
	"	jrcxz 6f\n"
	"	jmp 3b\n"
	"6:	jmp rp_lookup_next\n"
	"4:	movq rcx, xmm1\n"
	"	mov eax, [rcx + 16]\n"
	"	movups xmm0, [" STR(PROBE_XMM) "]\n"
	"	movups xmm1, [" STR(PROBE_XMM) " + 16]\n"
	"	movups xmm2, [" STR(PROBE_XMM) " + 32]\n"
	"rp_lookup_end:\n"
	".att_syntax\n"
	".popsection\n");

/* In the area: addresses are the process's. */
struct rp_site {
	uint64_t rsp, ret, next, salt, off[REPLAY_FRAMES];
	struct replay_chain chain;
	uint64_t unused;
};
struct rp_stack {
	uint64_t minus, next, number, unused;	/* minus: the fingerprint, negative */
};
_Static_assert(sizeof(struct rp_site) == 160 && REPLAY_FRAMES == 10 &&
	       offsetof(struct rp_site, chain) == 112 && sizeof(struct replay_chain) == 40 &&
	       offsetof(struct replay_chain, want) == 36, "as the code above has it");

static void *at(const struct rp_probes *p, uint64_t addr)
{
	return rp_probe_word(p, addr);
}

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 31) * 0x9e3779b97f4a7c15;
	return (v ^ v >> 29) * 0xbf58476d1ce4e5b9;
}

static uint64_t take(struct rp_probes *p, size_t bytes)
{
	uint64_t addr = p->pool;

	p->pool += bytes;
	return addr;
}

void rp_stacks_reset(struct rp_probes *p)
{
	uint64_t *sites = at(p, PROBE_SITES), *stacks = at(p, PROBE_STACKS),
		 *weight = at(p, PROBE_WEIGHTS);
	uint64_t none;

	p->pool = PROBE_POOL;
	/* matches nothing: no return address is 1 */
	none = take(p, sizeof(struct rp_site));
	*(struct rp_site *)at(p, none) = (struct rp_site){ .rsp = 1, .ret = 1 };
	for (unsigned i = 0; i < PROBE_HASH; i++)
		sites[i] = none;
	none = take(p, sizeof(struct rp_stack));
	*(struct rp_stack *)at(p, none) = (struct rp_stack){ .minus = mix(0x5157) };
	for (unsigned i = 0; i < PROBE_HASH; i++)
		stacks[i] = none;
	for (unsigned i = 0; i < REPLAY_FRAMES; i++)
		weight[i] = mix(i + 1) >> 32 | 1;
}

/*
 * The site for this way, or NULL.  *ways_ret: how many there are for these two; *last_ret: one of
 * them.
 */
static struct rp_site *site_find(const struct rp_probes *p, uint64_t rsp, uint64_t ret,
				 const struct replay_key *key, unsigned *ways_ret,
				 struct rp_site **last_ret)
{
	uint64_t addr = ((uint64_t *)at(p, PROBE_SITES))[(rsp + 8 * ret) & (PROBE_HASH - 1)];

	*ways_ret = 0;
	*last_ret = NULL;
	for (; addr; addr = ((struct rp_site *)at(p, addr))->next) {
		struct rp_site *s = at(p, addr);

		if (s->rsp != rsp || s->ret != ret)
			continue;
		if (!memcmp(s->off, key->off, sizeof(s->off)) &&
		    !memcmp(&s->chain, &key->chain, sizeof(s->chain)))
			return s;
		if (!*last_ret)
			*last_ret = s;
		++*ways_ret;
	}
	return NULL;
}

static struct rp_site *site_add(struct rp_probes *p, uint64_t rsp, uint64_t ret,
				const struct replay_key *key)
{
	uint64_t *head = (uint64_t *)at(p, PROBE_SITES) + ((rsp + 8 * ret) & (PROBE_HASH - 1));
	uint64_t addr = take(p, sizeof(struct rp_site));
	struct rp_site *s = at(p, addr);

	*s = (struct rp_site){ .rsp = rsp,
			       .ret = ret,
			       .next = *head,
			       .salt = mix(rsp + mix(ret + mix(addr))),
			       .chain = key->chain };
	memcpy(s->off, key->off, sizeof(s->off));
	*head = addr;
	return s;
}

/*
 * Too many ways (a function whose frame has any size): what they have in common, the places of
 * return addresses up to where they part, and no chain.
 */
static void site_narrow(struct rp_site *s, const struct replay_key *key)
{
	unsigned i = 0;

	while (i < REPLAY_FRAMES && s->off[i] == key->off[i])
		i++;
	while (i < REPLAY_FRAMES)
		s->off[i++] = 0;
	s->chain = (struct replay_chain){ 0 };
}

static void stack_add(struct rp_probes *p, uint64_t print, uint32_t number)
{
	uint64_t *head = (uint64_t *)at(p, PROBE_STACKS) + (print >> 40 & (PROBE_HASH - 1));
	uint64_t addr = take(p, sizeof(struct rp_stack));

	*(struct rp_stack *)at(p, addr) =
		(struct rp_stack){ .minus = -print, .next = *head, .number = number };
	*head = addr;
}

static bool stack_is_there(const struct rp_probes *p, uint64_t print)
{
	uint64_t addr = ((uint64_t *)at(p, PROBE_STACKS))[print >> 40 & (PROBE_HASH - 1)];

	for (; addr; addr = ((struct rp_stack *)at(p, addr))->next) {
		if (((struct rp_stack *)at(p, addr))->minus == -print)
			return true;
	}
	return false;
}

/* ---- the same as the code above, from outside ------------------------------------------------ */

static uint64_t chain_mix(uint64_t v, uint64_t word)
{
	v = (v ^ word) * CHAIN_FACTOR;
	return v >> CHAIN_TURN | v << (64 - CHAIN_TURN);
}

static bool print_luajit(struct rp_probes *p, uint64_t base, const struct replay_chain *c,
			 uint64_t *print)
{
	bool gc32 = c->luajit == REPLAY_LUAJIT_GC32;
	uint64_t link = 0, at = base - 8;
	uint8_t slot;

	for (uint32_t limit = c->limit; limit; limit--) {
		if (!rp_reads(p, at + (gc32 ? 4 : 0), &link, gc32 ? 4 : 8))
			return false;
		*print = chain_mix(*print, link);
		if (!(link & 3)) {
			if (!rp_reads(p, link - 3, &slot, 1))
				return false;
			link = 8ull * slot + (gc32 ? 8 : 16);
		}
		link &= ~7ull;
		if (gc32 ? (int32_t)link <= 0 : (int64_t)link <= 0)
			break;
		at -= link;
	}
	return true;
}

/* Reads one element of a chain. */
static bool read_link(struct rp_probes *p, const struct replay_chain *c, uint64_t at,
		      uint8_t *status, uint64_t *value, uint64_t *next)
{
	return rp_reads(p, at + c->status, status, 1) && rp_reads(p, at + c->value, value, 8) &&
	       rp_reads(p, at + c->next, next, 8);
}

/* False: it leads nowhere. */
static bool print_chain(struct rp_probes *p, const struct replay_chain *c, uint64_t rsp,
			uint64_t *ret)
{
	uint64_t at = 0, print = 1, word;
	uint8_t status;
	bool any;

	if (!rp_reads(p, rsp + c->root, &at, c->luajit == REPLAY_LUAJIT_GC32 ? 4 : 8))
		return false;
	any = c->pre < 0 || at;
	if (any && c->pre >= 0 && !rp_reads(p, at + (uint64_t)(int64_t)c->pre, &at, 8))
		return false;
	if (any && c->luajit) {
		if (!print_luajit(p, at, c, &print))
			return false;
	} else if (any) {
		for (uint32_t n = c->limit; at && n; n--) {
			if (!read_link(p, c, at, &status, &word, &at))
				return false;
			if (!((status ^ c->want) & c->mask))
				print = chain_mix(print, word);
		}
	}
	*ret += print;
	return true;
}

/* The words at those places above rsp, and which can be read; others are 0. */
static void frame_words(struct rp_probes *p, uint64_t rsp, const uint64_t *off, uint64_t *word,
			bool *there)
{
	for (unsigned i = 0; i < REPLAY_FRAMES; i++) {
		word[i] = 0;
		there[i] = rp_reads(p, rsp + off[i], &word[i], 8);
	}
}

static bool fingerprint(struct rp_probes *p, const struct rp_site *s, uint64_t *ret)
{
	const uint64_t *weight = at(p, PROBE_WEIGHTS);
	uint64_t word[REPLAY_FRAMES];
	bool there[REPLAY_FRAMES];

	*ret = s->salt;
	frame_words(p, s->rsp, s->off, word, there);
	for (unsigned i = 0; i < REPLAY_FRAMES; i++)
		*ret += (uint32_t)word[i] * weight[i];
	return !s->chain.root || print_chain(p, &s->chain, s->rsp, ret);
}

void rp_stack_learn(struct replay *r, struct rp_task *t, const struct regs *regs, uint64_t ret)
{
	struct rp_probes *p = probes_of(r);
	struct replay_key key = { 0 };
	uint64_t print, word[REPLAY_FRAMES];
	struct rp_site *s, *last;
	bool there[REPLAY_FRAMES];
	uint32_t number;
	unsigned ways;

	rp_reads_begin(p, t);
	if (p->pool + 512 > PROBE_END)
		rp_stacks_reset(p);
	number = p->learned < LEARN_MAX ? p->stacks(p->ctx, t->rec_tid, regs, &key) : 0;
	/* those that cannot be read are not counted */
	frame_words(p, regs->rsp, key.off, word, there);
	for (unsigned i = 0; i < REPLAY_FRAMES; i++)
		key.off[i] = there[i] ? key.off[i] : 0;
	if (!number)
		key = (struct replay_key){ 0 };
	p->learned++;
	s = site_find(p, regs->rsp, ret, &key, &ways, &last);
	if (!s && ways >= WAYS_MAX)
		site_narrow(s = last, &key);
	else if (!s)
		s = site_add(p, regs->rsp, ret, &key);
	/* the second: it is there, and the code above has not found it */
	if (!fingerprint(p, s, &print) || stack_is_there(p, print)) {
		memset(s->off, 0, sizeof(s->off));
		s->chain = (struct replay_chain){ 0 };
		fingerprint(p, s, &print);
	}
	stack_add(p, print, number);
}

/*
 * A fault in the lookup: what a chain leads to is not there.  Registers as before the walk; it goes
 * on with the next site.
 */
bool rp_stack_fault(struct replay *r, struct rp_task *t, const struct rp_patch *patch)
{
	const uint64_t *regs = at(probes_of(r), PROBE_REGS);
	uint64_t flags = *(uint64_t *)at(probes_of(r), PROBE_FLAGS),
		 lookup = patch->stub + patch->again;

	if (!patch->trap_stack || t->regs.rip < lookup ||
	    t->regs.rip >= lookup + (unsigned)(rp_lookup_end - rp_lookup_again))
		return false;
	t->regs.rbx = regs[0];
	t->regs.rbp = regs[1];
	t->regs.rdi = regs[6];
	t->regs.rsi = regs[7];
	t->regs.rdx = regs[8];
	t->regs.eflags = (t->regs.eflags & ~0x8d5ull) | (flags >> 8 & 0xd5) | (flags & 1) << 11;
	t->regs.rip = lookup + (unsigned)(rp_lookup_next - rp_lookup_again);
	t->regs.orig_rax = (uint64_t)-1;
	t->dirty = true;
	return true;
}
