/*
 * probe.c - log what a replayed process does at chosen addresses, without stopping it.
 *
 * A probed instruction becomes a jump to a stub (stub.c) that writes a record into a ring which the
 * process shares with us; only a full ring stops it.  Replay counts nothing, so extra code does no
 * harm as long as registers and memory stay the program's: the patched bytes are put back wherever
 * memory is summed or compared.
 *
 * The result of a call is caught at the place it returns to, patched like any other when the
 * function is first called from there (the entry's stub knows the patched ones and traps for
 * others).  Rejected: a return address of ours on the stack, which the program sees, which breaks
 * C++ exceptions out of operator new, and which differs from the recording in a system call made
 * inside; and patching `ret`, of which a function has many, some in other functions that it jumps
 * to. The place may be reached by other calls too (call *%rax): whoever reads the records pairs
 * them by stack pointer.
 *
 * A place that cannot be patched (too short, branched into) gets an int3 whose handler sends the
 * task to the same stub.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/machine/task.h"
#include "replayer/probe/probe.h"
#include "base/alloc.h"
#include "x86/emit.h"

enum { CLOCK_BATCH = PROBE_RING_HALF / PROBE_RECORD_MAX - 1 };

static uint64_t *word(struct replay *r, uint64_t addr)
{
	return rp_probe_word(probes_of(r), addr);
}

/* ---- patches ------------------------------------------------------------------------------- */

static struct rp_patch *patch_at(const struct rp_probed *pd, uint64_t addr)
{
	for (unsigned i = 0; pd && i < pd->n; i++) {
		if (pd->patch[i].addr == addr)
			return &pd->patch[i];
	}
	return NULL;
}

static struct rp_patch *patch_of_stub(const struct rp_probed *pd, uint64_t pc)
{
	for (unsigned i = 0; pd && i < pd->n; i++) {
		if (pc - pd->patch[i].stub < pd->patch[i].stub_len)
			return &pd->patch[i];
	}
	return NULL;
}

static void patch_write(struct rp_patch *p, pid_t real, bool in)
{
	uint8_t jump[X86_JUMP] = { 0xcc };

	if (p->in == in)
		return;
	if (in && p->jump)
		x86_jump(p->addr, p->stub + p->body, jump);
	err_free(tracee_write(real, p->addr, in ? jump : p->bytes, p->jump ? X86_JUMP : 1));
	p->in = in;
}

/* May addr and what follows change under the feet of a task, or of another patch? */
static bool jump_possible(struct replay *r, const struct rp_task *t, const struct rp_patch *p)
{
	const struct rp_probed *pd = probed_of(t->mm);

	for (const struct rp_task *o = r->tasks; o; o = o->next) {
		if (o->mm == t->mm && o->regs.rip > p->addr && o->regs.rip < p->addr + p->len)
			return false;
	}
	for (unsigned i = 0; i < pd->n; i++) {
		uint64_t a = pd->patch[i].addr,
			 end = a + (pd->patch[i].jump ? pd->patch[i].len : 1);

		if (a < p->addr + p->len && p->addr < end)
			return false;
	}
	return true;
}

static void patch_decode(struct replay *r, struct rp_task *t, struct rp_patch *p, uint64_t start,
			 uint64_t end)
{
	p->jump = rp_stub_site(t, p->addr, start, end, p) && jump_possible(r, t, p);
	if (p->jump)
		return;
	if (p->n > 1)
		p->n = 1;
	p->len = 1;
}

/* The place at addr as it would be patched. */
static void patch_plan(struct replay *r, struct rp_task *t, uint64_t addr, struct rp_patch *ret)
{
	uint64_t start = 0, end = 0;

	*ret = (struct rp_patch){ .addr = addr };
	if (!probes_of(r)->range ||
	    !probes_of(r)->range(probes_of(r)->range_ctx, addr, &start, &end))
		start = end = 0;
	patch_decode(r, t, ret, start, end);
}

/* Where the return to addr is seen best: there, or a little later where a jump fits. */
static struct rp_patch return_place(struct replay *r, struct rp_task *t, uint64_t addr)
{
	enum { TRIES = 6 };
	struct rp_patch first = { .addr = addr }, p;
	uint64_t at = addr;

	for (unsigned i = 0; i < TRIES && at; i++) {
		const struct rp_patch *there = patch_at(probed_of(t->mm), at);

		if (there && there->probe < 0 && there->jump && !there->compare)
			return *there;
		patch_plan(r, t, at, &p);
		if (p.jump)
			return p;
		if (!i)
			first = p;
		at = rp_stub_later(t, at);
	}
	return first;
}

static struct rp_patch *patch_room(struct rp_probed *pd)
{
	if (pd->n == pd->room) {
		pd->room = pd->room * 2 + 32;
		pd->patch = alloc_more(pd->patch, pd->room, sizeof(*pd->patch), "probes");
	}
	return &pd->patch[pd->n++];
}

/* Its stub is at the end of room. */
static struct err *patch_stub(struct rp_task *t, const struct rp_patch *p, struct rp_stubs *room,
			      const struct rp_stub_code *code)
{
	TRY(tracee_write(t->real, p->stub, code->bytes, code->len));
	room->used += (code->len + 63u) & ~63u;
	*patch_room(probed_of(t->mm)) = *p;
	return NULL;
}

/* p: what patch_plan() made of the place */
static struct err *patch_put(struct replay *r, struct rp_task *t, struct rp_patch p, int probe)
{
	const struct replay_probe *def = probe >= 0 ? &probes_of(r)->probe[probe].def : NULL;
	uint64_t addr = p.addr;
	struct rp_stub_code code;
	struct rp_stubs *room;

	TRY(rp_stub_room(t, addr, &room));
	if (!room)
		return NULL;
	p.probe = probe;
	p.quiet = probes_of(r)->quiet;
	p.stub = room->start + room->used;
	if (!p.n || !rp_stub_build(&p, def, probes_of(r)->quiet, &code)) {
		log_warn("the instruction at 0x%lx cannot be probed", (unsigned long)addr);
		return NULL;
	}
	TRY(patch_stub(t, &p, room, &code));
	log_debug("probe at 0x%lx: %s", (unsigned long)addr, p.jump ? "jump" : "int3");
	return NULL;
}

/* Is there nothing yet, and something to patch? */
static bool patch_missing(const struct rp_task *t, uint64_t addr)
{
	uint8_t byte;

	return !patch_at(probed_of(t->mm), addr) &&
	       tracee_read_some(t->real, addr, &byte, 1) == 1;
}

static struct err *patch_add(struct replay *r, struct rp_task *t, uint64_t addr, int probe)
{
	struct rp_patch p;

	if (!patch_missing(t, addr))
		return NULL;
	patch_plan(r, t, addr, &p);
	return patch_put(r, t, p, probe);
}

/* Calls return to addr: that is seen there, or a little later. */
static struct err *return_add(struct replay *r, struct rp_task *t, uint64_t addr)
{
	struct rp_probed *pd = probed_of(t->mm);
	struct rp_patch p;

	if (!rp_addresses_add(&pd->returns, addr))
		return NULL;
	p = return_place(r, t, addr);
	return patch_missing(t, p.addr) ? patch_put(r, t, p, -1) : NULL;
}

/* A place that another patch covers stays as it is. */
static struct err *compare_add(struct rp_task *t, const struct rp_compare *c)
{
	struct rp_patch p = { .addr = c->addr, .probe = -1, .jump = true, .compare = true };
	struct rp_probed *pd = probed_of(t->mm);
	struct rp_stub_code code;
	struct rp_stubs *room;

	for (unsigned i = 0; i < pd->n; i++) {
		const struct rp_patch *o = &pd->patch[i];

		if (c->addr + X86_JUMP > o->addr && c->addr - o->addr < (o->jump ? o->len : 1))
			return NULL;
	}
	TRY(rp_stub_room(t, c->addr, &room));
	p.stub = room ? room->start + room->used : 0;
	if (!room || !rp_compare_build(t, &p, c->word, &code))
		return NULL;
	return patch_stub(t, &p, room, &code);
}

void rp_probe_out(struct replay *r, struct rp_mm *mm, pid_t real)
{
	(void)r;
	for (unsigned i = 0; mm && probed_of(mm) && i < probed_of(mm)->n; i++)
		patch_write(&probed_of(mm)->patch[i], real, false);
}

void rp_probe_in(struct replay *r, struct rp_mm *mm, pid_t real)
{
	for (unsigned i = 0; mm && probed_of(mm) && !probes_of(r)->off && i < probed_of(mm)->n; i++)
		patch_write(&probed_of(mm)->patch[i], real, true);
}

void rp_probes_suspend(struct replay *r)
{
	const struct rp_task *t = rp_probed_task(r);

	probes_of(r)->off = true;
	if (t)
		rp_probe_out(r, t->mm, t->real);
}

void rp_probes_resume(struct replay *r) { probes_of(r)->off = false; }

/* A copy from before: its stubs log. */
static struct err *make_quiet(struct replay *r, struct rp_task *t)
{
	struct rp_probed *pd = probed_of(t->mm);

	for (unsigned i = 0; i < pd->n; i++) {
		struct rp_patch *p = &pd->patch[i];
		struct rp_stub_code code;

		if (p->quiet || p->probe < 0)
			continue;
		BUG_ON(!rp_stub_build(p, &probes_of(r)->probe[p->probe].def, true, &code),
		       "a probe that was built cannot be built again");
		TRY(tracee_write(t->real, p->stub, code.bytes, code.len));
		p->quiet = true;
	}
	rp_addresses_clear(&pd->returns);
	for (unsigned i = 0; i < pd->n;) {
		if (pd->patch[i].probe >= 0) {
			i++;
			continue;
		}
		patch_write(&pd->patch[i], t->real, false);
		pd->patch[i] = pd->patch[--pd->n];
	}
	return NULL;
}

/* Is there something to be probed in the task's memory? Then it is. */
struct err *rp_probe_task(struct replay *r, struct rp_task *t)
{
	struct rp_probes *p = probes_of(r);

	if (!t || !t->real || !t->mm || (!p->n && !p->outline.n))
		return NULL;
	if (!probed_of(t->mm))
		t->mm->tool[TOOL_PROBE] = alloc_zeroed(1, sizeof(struct rp_probed), "probes");
	TRY(rp_probe_area_map(r, t));
	if (p->quiet)
		TRY(make_quiet(r, t));
	for (unsigned i = 0; i < p->n; i++)
		TRY(patch_add(r, t, p->probe[i].def.addr, (int)i));
	for (unsigned i = 0; i < p->outline.n; i++)
		TRY(compare_add(t, &p->outline.compare[i]));
	return rp_probe_returns(r, t, p->quiet ? p->known_n : 0);
}

struct err *rp_probe_returns(struct replay *r, struct rp_task *t, unsigned from)
{
	const struct rp_probes *p = probes_of(r);

	for (unsigned i = from; i < p->known_n; i++)
		TRY(return_add(r, t, p->known_return[i]));
	rp_probe_in(r, t->mm, t->real);
	return NULL;
}

struct rp_task *rp_probed_task(const struct replay *r)
{
	struct rp_task *found = NULL;

	for (struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->rec_pid == probes_of(r)->pid && t->real &&
		    (!found || t->rec_tid == t->rec_pid))
			found = t;
	}
	return found;
}

/* ---- the ring -------------------------------------------------------------------------------- */

static uint64_t ring_start(const struct rp_probes *p)
{
	return (uint64_t)-(p->second ? PROBE_RING_HALF : PROBE_RING_BYTES);
}

void rp_probe_set_count(struct replay *r)
{
	struct rp_probes *p = probes_of(r);
	uint64_t left, batch = p->quiet ? (uint64_t)INT64_MAX : CLOCK_BATCH;

	if (p->bound >= p->stop_at)
		rp_ring_sync(p);
	left = p->derefs ? 0 : p->stop_at - p->bound;
	*word(r, PROBE_COUNT) = p->count_was = -(left < batch ? left : batch);
}

uint64_t rp_probe_until(struct replay *r, uint64_t clock)
{
	struct rp_probes *p = probes_of(r);
	uint64_t before = p->stop_at;

	p->stop_at = clock;
	p->stopped = false;
	rp_probe_set_count(r);
	return before;
}

void rp_ring_fresh(const struct rp_probes *p, const struct replay_hit **from,
		   const struct replay_hit **to)
{
	const char *start = (char *)rp_probe_word(p, PROBE_RING_END) + (int64_t)ring_start(p);

	*from = (const void *)start;
	*to = (const void *)(start + (*rp_probe_word(p, PROBE_POS) - ring_start(p)));
}

void rp_probe_drain(struct replay *r, const struct rp_task *t)
{
	struct rp_probes *p = probes_of(r);
	const struct replay_hit *from, *to;

	rp_ring_fresh(p, &from, &to);
	if (p->quiet) {
		p->clock = p->bound = p->clock + *word(r, PROBE_COUNT) - p->count_was;
		rp_probe_set_count(r);
		return;
	}
	if (from == to)
		return;
	if (p->outline.mute) {
		for (const struct replay_hit *h = from; h < to; h = replay_hit_next(h)) {
			p->outline.hits++;
			p->outline.entries += h->probe >= 0;
		}
		*word(r, PROBE_DEREF) = 0;
		*word(r, PROBE_POS) = ring_start(p);
		rp_probe_set_count(r);
		return;
	}
	if (*word(r, PROBE_DEREF)) {
		*word(r, PROBE_DEREF) = 0;
		rp_ring_derefs(p, t ? t->rec_tid : 0, from, to);
	}
	rp_ring_take(p, t ? t->rec_tid : 0, from, to);
	p->second = !p->second;
	*word(r, PROBE_POS) = ring_start(p);
	rp_probe_set_count(r);
}

static void set_rip(struct rp_task *t, uint64_t rip)
{
	t->regs.rip = rip;
	t->regs.orig_rax = (uint64_t)-1;
	t->dirty = true;
}

/* The place where a call will return is to be patched. */
static struct err *learn_return(struct replay *r, struct rp_task *t, uint64_t addr)
{
	struct rp_probes *p = probes_of(r);

	if (rp_addresses_has(&probed_of(t->mm)->returns, addr))
		return NULL;
	if (rp_addresses_add(&p->known, addr)) {
		if (p->known_n == p->known_room) {
			p->known_room = p->known_room * 2 + 64;
			p->known_return = alloc_more(p->known_return, p->known_room,
						     sizeof(*p->known_return), "probes");
		}
		p->known_return[p->known_n++] = addr;
	}
	TRY(return_add(r, t, addr));
	rp_probe_in(r, t->mm, t->real);
	return NULL;
}

/* A stack without a number: it gets one, and the lookup is done again. */
static struct err *learn_stack(struct replay *r, struct rp_task *t, const struct rp_patch *patch)
{
	struct regs regs = t->regs;
	uint64_t ret;

	regs.rip = patch->addr;
	regs.rcx = *word(r, PROBE_RCX);
	regs.rax = *word(r, PROBE_RAX);
	set_rip(t, patch->stub + patch->again);
	TRY(tracee_read(t->real, regs.rsp, &ret, 8));
	rp_ring_sync(probes_of(r));
	rp_stack_learn(r, t, &regs, ret);
	return learn_return(r, t, ret);
}

/* At a return: of a call whose result is in memory? Then say what it is. */
static void report_deref(struct replay *r, const struct rp_task *t)
{
	struct rp_probes *p = probes_of(r);

	for (unsigned i = 0; i < p->derefs; i++) {
		struct replay_hit hit = { .probe = REPLAY_HIT_DEREF,
					  .size = sizeof(hit),
					  .rsp = p->deref[i].rsp };

		if (p->deref[i].tid != t->rec_tid || p->deref[i].rsp + 8 != t->regs.rsp)
			continue;
		if (tracee_read_some(t->real, p->deref[i].addr, &hit.a, 8) == 8) {
			rp_ring_sync(p);
			p->hits_event = p->event;
			p->hits(p->ctx, t->rec_tid, &hit, &hit + 1);
		}
		p->deref[i] = p->deref[--p->derefs];
		return;
	}
}

static struct err *stub_trap(struct replay *r, struct rp_task *t, const struct rp_patch *at,
			     enum rp_probe_stop *ret)
{
	struct rp_probes *p = probes_of(r);
	const struct rp_patch patch = *at;	/* learning may move it */
	uint64_t offset = t->regs.rip - 1 - at->stub;

	*ret = PROBE_GO_ON;
	if (offset == patch.trap_stack && patch.trap_stack)
		return learn_stack(r, t, &patch);
	t->regs.rcx = *word(r, PROBE_RCX);
	set_rip(t, patch.stub + patch.body);
	rp_probe_drain(r, t);
	if (patch.probe < 0)
		report_deref(r, t);
	rp_probe_set_count(r);
	if (p->bound < p->stop_at && !p->derefs)
		return NULL;
	rp_ring_sync(p);
	/* a return: the next entry is to stop, not this */
	if (patch.probe < 0 || p->clock < p->stop_at) {
		*word(r, PROBE_COUNT) = (uint64_t)-1;
		p->count_was = (uint64_t)-1;
		return NULL;
	}
	set_rip(t, patch.addr);
	p->stopped = true;
	*ret = PROBE_STOPPED;
	return NULL;
}

struct err *rp_probe_signal(struct replay *r, struct rp_task *t, const siginfo_t *info,
			    enum rp_probe_stop *ret)
{
	struct rp_patch *p;

	*ret = PROBE_NOT_OURS;
	if (!t->mm || !probed_of(t->mm))
		return NULL;
	if (info->si_signo == SIGSEGV || info->si_signo == SIGBUS) {
		p = patch_of_stub(probed_of(t->mm), t->regs.rip);
		if (p && rp_stack_fault(r, t, p))
			*ret = PROBE_GO_ON;
		return NULL;
	}
	if (info->si_signo != SIGTRAP || info->si_code != SI_KERNEL)
		return NULL;
	p = patch_at(probed_of(t->mm), t->regs.rip - 1);
	if (p && p->in && !p->jump) {
		set_rip(t, p->stub + p->body);
		*ret = PROBE_GO_ON;
		return NULL;
	}
	p = patch_of_stub(probed_of(t->mm), t->regs.rip - 1);
	if (!p)
		return NULL;
	return stub_trap(r, t, p, ret);
}

bool rp_probe_translate(const struct rp_task *t, struct regs *ret)
{
	const struct rp_patch *p = t->mm ? patch_of_stub(probed_of(t->mm), t->regs.rip) : NULL;

	for (unsigned i = 0; p && i < p->n; i++) {
		if (t->regs.rip != p->stub + p->moved + p->insn[i].to)
			continue;
		*ret = t->regs;
		ret->rip = p->addr + p->insn[i].from;
		return true;
	}
	return false;
}

void rp_probe_narrow(struct rp_task *t, const struct replay *r, uint64_t rip)
{
	struct rp_probed *pd = t->mm ? probed_of(t->mm) : NULL;

	for (unsigned i = 0; pd && i < pd->n; i++) {
		struct rp_patch *p = &pd->patch[i];
		const struct replay_probe *def =
			p->probe >= 0 ? &probes_of(r)->probe[p->probe].def : NULL;
		struct rp_stub_code code;
		bool in = p->in;

		if (!p->jump || p->compare || rip <= p->addr || rip >= p->addr + p->len)
			continue;
		patch_write(p, t->real, false);
		p->jump = false;
		p->len = p->n = 1;
		BUG_ON(!rp_stub_build(p, def, probes_of(r)->quiet, &code),
		       "a probe that was built cannot be built again");
		err_free(tracee_write(t->real, p->stub, code.bytes, code.len));
		patch_write(p, t->real, in);
	}
}

/* ---- what else happens to memory ------------------------------------------------------------- */

static bool meets(uint64_t a, uint64_t alen, uint64_t b, uint64_t blen)
{
	return a < b + blen && b < a + alen;
}

/* Return addresses in [addr, addr+len) are none any more. */
static void forget_returns(struct rp_probes *p, uint64_t addr, uint64_t len)
{
	unsigned n = p->known_n;

	for (unsigned i = 0; i < p->known_n;) {
		if (p->known_return[i] - addr < len)
			p->known_return[i] = p->known_return[--p->known_n];
		else
			i++;
	}
	if (n == p->known_n)
		return;
	rp_addresses_clear(&p->known);
	for (unsigned i = 0; i < p->known_n; i++)
		rp_addresses_add(&p->known, p->known_return[i]);
}

void rp_probe_yield(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len)
{
	struct rp_probed *pd = t->mm ? probed_of(t->mm) : NULL;
	bool stubs = false, returns = false;
	unsigned had = pd ? pd->n : 0, known = probes_of(r) ? probes_of(r)->known_n : 0;

	if (!probes_of(r))
		return;
	if (pd)
		rp_branches_forget(pd, addr, len);
	for (unsigned i = 0; pd && i < pd->stubs_n; i++)
		stubs |= meets(addr, len, pd->stubs[i].start, PROBE_STUBS_BYTES);
	if (stubs)
		rp_probe_out(r, t->mm, t->real);
	for (unsigned i = 0; pd && i < pd->n;) {
		struct rp_patch *p = &pd->patch[i];

		if (!stubs && !meets(addr, len, p->addr, p->jump ? X86_JUMP : 1)) {
			i++;
			continue;
		}
		returns |= p->probe < 0 && !p->compare;
		*p = pd->patch[--pd->n];
	}
	forget_returns(probes_of(r), addr, len);
	if (pd && (pd->n != had || probes_of(r)->known_n != known))
		rp_addresses_clear(&pd->returns);	/* all are looked at again */
	if (returns)		/* known stacks are taken to have theirs patched */
		rp_stacks_reset(probes_of(r));
	for (unsigned i = 0; pd && stubs && i < pd->stubs_n; i++) {
		int64_t ret;

		err_free(rp_call(t, &ret, SYS_munmap, pd->stubs[i].start, PROBE_STUBS_BYTES, 0, 0,
				 0, 0));
	}
	if (stubs)
		pd->stubs_n = 0;
	if (stubs && t->rec_pid == probes_of(r)->pid)
		probes_of(r)->maps_changed = true;		/* in again after the event */
}

/* Nothing is patched any more; what was mapped stays. */
static void forget(struct replay *r, struct rp_task *t)
{
	rp_probe_out(r, t->mm, t->real);
	probed_of(t->mm)->n = 0;
	rp_addresses_clear(&probed_of(t->mm)->returns);
}

void rp_probe_forked(struct replay *r, struct rp_task *child)
{
	if (!probes_of(r) || !probed_of(child->mm))
		return;
	forget(r, child);
}

void rp_probe_restored(struct replay *r, uint64_t clock)
{
	rp_ring_sync(probes_of(r));
	probes_of(r)->clock = probes_of(r)->bound = clock;
	probes_of(r)->stopped = false;
	*word(r, PROBE_POS) = ring_start(probes_of(r));
	rp_probe_set_count(r);
}

/* ---- for analyses ---------------------------------------------------------------------------- */

struct err *rp_probe_open(struct replay *r, int pid, replay_hits_fn *hits, replay_stack_fn *stacks,
			  replay_range_fn *range, void *range_ctx, void *ctx)
{
	struct rp_probes *p = calloc(1, sizeof(*p));

	if (!p)
		return &err_nomem;
	rp_tool_register(TOOL_PROBE, &rp_probe_ops);
	r->tool[TOOL_PROBE] = p;
	*p = (struct rp_probes){ .pid = pid,
				 .hits = hits,
				 .stacks = stacks,
				 .range = range,
				 .range_ctx = range_ctx,
				 .ctx = ctx,
				 .stop_at = UINT64_MAX };
	p->fd = memfd_create("hindsight-probes", MFD_CLOEXEC);
	if (p->fd < 0 || ftruncate(p->fd, PROBE_AREA_BYTES) < 0)
		return err_os(errno, "cannot make shared memory");
	p->area = mmap(NULL, PROBE_AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (p->area == MAP_FAILED)
		return err_os(errno, "cannot map shared memory");
	*word(r, PROBE_POS) = ring_start(p);
	rp_stacks_reset(p);
	rp_probe_set_count(r);
	return NULL;
}

void rp_probe_follow(struct replay *r, int pid)
{
	for (struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->rec_pid != probes_of(r)->pid || !t->real || !t->mm || !probed_of(t->mm))
			continue;
		forget(r, t);
	}
	probes_of(r)->pid = pid;
}

void rp_probes_free(struct replay *r)
{
	struct rp_probes *p = probes_of(r);

	if (!p)
		return;
	rp_ring_free(p);
	if (p->area && p->area != MAP_FAILED)
		munmap(p->area, PROBE_AREA_BYTES);
	if (p->fd >= 0)
		close(p->fd);
	free(p->known_return);
	rp_addresses_clear(&p->known);
	free(p->reads);
	free(p->outline.compare);
	free(p->probe);
	free(p);
	r->tool[TOOL_PROBE] = NULL;
}

int replay_probe_add(struct replay *r, const struct replay_probe *probe)
{
	struct rp_probes *p = probes_of(r);
	struct rp_task *t = rp_probed_task(r);
	struct err *err;

	p->probe = alloc_more(p->probe, p->n + 1, sizeof(*p->probe), "probes");
	p->probe[p->n++].def = *probe;
	err = t ? rp_probe_task(r, t) : NULL;
	if (err) {
		log_warn("%s", err->msg ? err->msg : "cannot probe");
		err_free(err);
		return -1;
	}
	return (int)p->n - 1;
}

void replay_probes_drop(struct replay *r)
{
	struct rp_task *t = rp_probed_task(r);
	struct rp_probes *p = probes_of(r);

	if (t) {
		rp_probe_out(r, t->mm, t->real);
		if (probed_of(t->mm)) {
			probed_of(t->mm)->n = 0;
			rp_addresses_clear(&probed_of(t->mm)->returns);
		}
		for (unsigned i = 0; probed_of(t->mm) && i < probed_of(t->mm)->stubs_n; i++)
			probed_of(t->mm)->stubs[i].used = 0;
	}
	p->n = p->known_n = p->outline.n = p->outline.fns = 0;
	rp_addresses_clear(&p->known);
	rp_stacks_reset(p);
}

void replay_stacks_forget(struct replay *r)
{
	rp_stacks_reset(probes_of(r));
}

void replay_probes_quiet(struct replay *r) { probes_of(r)->quiet = true; }

uint64_t replay_kept_word(enum replay_kept n) { return PROBE_REGS + 8ull * n; }

uint64_t replay_clock(const struct replay *r) { return probes_of(r)->clock; }

void replay_clock_set(struct replay *r, uint64_t clock)
{
	probes_of(r)->clock = probes_of(r)->bound = clock;
}

uint64_t replay_hits_event(const struct replay *r) { return probes_of(r)->hits_event; }

int replay_probe_pid(const struct replay *r) { return probes_of(r)->pid; }

void replay_probe_events(struct replay *r, replay_event_fn *fn) { probes_of(r)->events = fn; }

static bool calls(const struct rp_task *t, int64_t nr)
{
	return t->in_call && t->in_nr == nr;
}

/* The process is about to go: its last task, or all at once (exit_group, a fatal signal). */
bool rp_probe_end(struct replay *r)
{
	const struct rp_task *t;
	bool last = true, all;

	if (!r->ev_read || r->ev.kind != TRACE_EXIT)
		return false;
	t = rp_task_find(r, r->ev.task);
	if (!t || t->rec_pid != probes_of(r)->pid)
		return false;
	all = WIFSIGNALED((int)r->ev.ret) || calls(t, SYS_exit_group);
	for (const struct rp_task *o = r->tasks; o; o = o->next) {
		if (o == t || o->rec_pid != t->rec_pid)
			continue;
		last = false;
		all |= calls(o, SYS_exit_group);
		if (calls(o, SYS_execve) || calls(o, SYS_execveat))
			return false;	/* that ends its process's other tasks */
	}
	return last || all;
}
