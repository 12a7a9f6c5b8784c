/*
 * stack.c - which stack is it?  Told inside the process, by a fingerprint.
 *
 * Stacks repeat: a program allocates ten million times from some hundred of them.  So a stub does
 * not log the stack, it looks its number up; only one that was never seen traps, is unwound by our
 * caller, and gets the next number.
 *
 *	SITES[hash of rsp and return address] -> struct rp_site -> next ...
 *		rsp, ret	together nearly the whole stack: what differs is who called the callers,
 *		off[10]		so here are the places of the next return addresses: always the same for this rsp and ret, as
 *				long as no function between has a frame of changing size (then fewer
 *				of them count)
 *	fingerprint = salt + sum of off[k]'s words, each by a constant of its own
 *	STACKS[hash of that] -> struct rp_stack -> next ...
 *		the number
 *
 * Nothing in the lookup touches flags: pmuludq adds up, jrcxz decides.  Two stacks with the same
 * fingerprint would be taken for one: 64 bits, where a program has some thousand stacks.
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/probe/probe.h"

enum { LEARN_MAX = 100000 };

#define STR_(x) #x
#define STR(x) STR_(x)

__asm__(".pushsection .rodata\n"
	".intel_syntax noprefix\n"
	".globl rp_lookup, rp_lookup_again, rp_lookup_miss, rp_lookup_end\n"
	"rp_lookup:\n"
	"	mov [" STR(PROBE_RAX) "], rax\n"
	"	movups [" STR(PROBE_XMM) "], xmm0\n"
	"	movups [" STR(PROBE_XMM) " + 16], xmm1\n"
	"	movups [" STR(PROBE_XMM) " + 32], xmm2\n"
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
	"	mov rax, [rax + 16]\n"
	"	mov rcx, rax\n"
	"	jrcxz 5f\n"
	"	jmp 1b\n"
	"rp_lookup_miss:\n"
	"5:	int3\n"
	"2:	mov rcx, [rax + 32]\n"
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
	"	movq rcx, xmm0\n"
	"	mov rax, [rax + 24]\n"
	"	lea rax, [rax + rcx]\n"
	"	movq xmm0, rax\n"
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
	"6:	jmp 5b\n"
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
};
struct rp_stack {
	uint64_t minus, next, number, unused;	/* minus: the fingerprint, negative */
};
_Static_assert(sizeof(struct rp_site) == 112 && REPLAY_FRAMES == 10, "as the code above has it");

static void *at(const struct rp_probes *p, uint64_t addr)
{
	return p->area + (addr - PROBE_AREA);
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

static struct rp_site *site_find(const struct rp_probes *p, uint64_t rsp, uint64_t ret)
{
	uint64_t addr = ((uint64_t *)at(p, PROBE_SITES))[(rsp + 8 * ret) & (PROBE_HASH - 1)];

	while (addr) {
		struct rp_site *s = at(p, addr);

		if (s->rsp == rsp && s->ret == ret)
			return s;
		addr = s->next;
	}
	return NULL;
}

static struct rp_site *site_add(struct rp_probes *p, uint64_t rsp, uint64_t ret,
				const uint64_t *off)
{
	uint64_t *head = (uint64_t *)at(p, PROBE_SITES) + ((rsp + 8 * ret) & (PROBE_HASH - 1));
	uint64_t addr = take(p, sizeof(struct rp_site));
	struct rp_site *s = at(p, addr);

	*s = (struct rp_site){ .rsp = rsp, .ret = ret, .next = *head, .salt = mix(rsp + mix(ret)) };
	memcpy(s->off, off, sizeof(s->off));
	*head = addr;
	return s;
}

/* What two stacks have in common: the places of return addresses up to where they differ. */
static void site_narrow(struct rp_site *s, const uint64_t *off)
{
	enum { LAST = REPLAY_FRAMES - REPLAY_WORDS };
	unsigned i = 0;

	while (i < LAST && s->off[i] == off[i])
		i++;
	while (i < LAST)
		s->off[i++] = 0;
	/* the words that are no return addresses count wherever they were seen */
	for (i = LAST; i < REPLAY_FRAMES && off[REPLAY_FRAMES - 1]; i++) {
		if (s->off[i] == off[REPLAY_FRAMES - 1])
			return;
	}
	for (i = REPLAY_FRAMES; i-- > LAST && off[REPLAY_FRAMES - 1];) {
		if (!s->off[i] || i == LAST) {
			s->off[i] = off[REPLAY_FRAMES - 1];
			return;
		}
	}
}

static void stack_add(struct rp_probes *p, uint64_t print, uint32_t number)
{
	uint64_t *head = (uint64_t *)at(p, PROBE_STACKS) + (print >> 40 & (PROBE_HASH - 1));
	uint64_t addr = take(p, sizeof(struct rp_stack));

	*(struct rp_stack *)at(p, addr) =
		(struct rp_stack){ .minus = -print, .next = *head, .number = number };
	*head = addr;
}

static uint64_t fingerprint(const struct rp_probes *p, const struct rp_task *t,
			    const struct rp_site *s)
{
	const uint64_t *weight = at(p, PROBE_WEIGHTS);
	uint64_t print = s->salt;

	for (unsigned i = 0; i < REPLAY_FRAMES; i++) {
		uint64_t word = 0;

		tracee_read_some(t->real, s->rsp + s->off[i], &word, 8);
		print += (uint32_t)word * weight[i];
	}
	return print;
}

struct err *rp_stack_learn(struct replay *r, struct rp_task *t, const struct regs *regs)
{
	struct rp_probes *p = probes_of(r);
	uint64_t ret, off[REPLAY_FRAMES] = { 0 };
	struct rp_site *s;
	uint32_t number;

	TRY(tracee_read(t->real, regs->rsp, &ret, 8));
	if (p->pool + 256 > PROBE_END)
		rp_stacks_reset(p);
	number = p->learned < LEARN_MAX ? p->stacks(p->ctx, t->rec_tid, regs, off) : 0;
	/* those that cannot be read are not counted */
	for (unsigned i = 0; i < REPLAY_FRAMES; i++) {
		uint64_t word;

		if (tracee_read_some(t->real, regs->rsp + off[i], &word, 8) != 8)
			off[i] = 0;
	}
	p->learned++;
	s = site_find(p, regs->rsp, ret);
	if (s)
		site_narrow(s, off);
	else
		s = site_add(p, regs->rsp, ret, off);
	if (!number)
		memset(s->off, 0, sizeof(s->off));
	stack_add(p, fingerprint(p, t, s), number);
	return NULL;
}
