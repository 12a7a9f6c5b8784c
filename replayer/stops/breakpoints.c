/*
 * breakpoints.c - breakpoints and watchpoints in replayed processes.
 *
 * They are there only while a task runs.  int3 is put into an address space when one of its
 * tasks is about to run and taken out before anything else looks at, copies or changes that memory;
 * a task that stands on one is stepped off it by advance.c, so none is skipped.  Data watchpoints
 * use the debug registers while these last, where they work (debug_registers.c); beyond,
 * page_watch.c.
 *
 * A write watchpoint counts only when the value changed: the registers trigger on any write, but
 * the name of a position must not depend on how it was watched.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "base/alloc.h"
#include "replayer/machine/run.h"
#include "replayer/machine/task.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/page_watch.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/stops.h"
#include "replayer/stops/written_code.h"

/* rp_mm.int3_gen, while what is in is not a set's. */
#define LEAVING UINT32_MAX

/* ---- int3 ------------------------------------------------------------------------------ */

void rp_int3_out_mm(struct rp_mm *mm, pid_t real)
{
	/* first: shared pages that are protected cannot be written to */
	if (stops_mm(mm)->page_watch_n)
		page_watch_out(mm, real);
	if (stops_mm(mm)->int3_n || stops_mm(mm)->inprocess_in)
		rp_code_begin(real);
	while (stops_mm(mm)->int3_n) {
		struct rp_int3 *i = &stops_mm(mm)->int3[--stops_mm(mm)->int3_n];

		if (i->shared)
			rp_written_poke(real, i->at, i->byte, i->shared);
		else if (rp_code_has(real, i->at, 0xcc))
			rp_code_write(real, i->at, &i->byte, 1);
	}
	inprocess_out(mm, real);
	rp_code_end();
	stops_mm(mm)->int3_gen = stops_mm(mm)->page_watch_gen = 0;
}

void rp_int3_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len)
{
	dual_hide(mm, addr, bytes, len);
	for (unsigned i = 0; i < stops_mm(mm)->int3_n; i++) {
		const struct rp_int3 *x = &stops_mm(mm)->int3[i];

		if (x->at - addr < len)
			bytes[x->at - addr] = x->byte;
		if (x->other && x->other - addr < len)
			bytes[x->other - addr] = x->byte;
	}
	inprocess_hide(mm, addr, bytes, len);
}

void rp_int3_out(struct replay *r)
{
	for (struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->mm && t->real)
			rp_int3_out_mm(t->mm, t->real);
	}
}

/* Inside bytes that a jump to the hook has replaced, the instruction is in its stub. */
static uint64_t place_of(const struct rp_mm *mm, uint64_t addr)
{
	const struct patch *p = mm->patches.n ? patches_with(&mm->patches, addr) : NULL;

	for (unsigned i = 0; p && addr != p->addr && i < p->n; i++) {
		if (p->addr + p->insn[i].site == addr)
			return p->stub +
			       (p->insn[i].site == p->call_at ? p->hook_at : p->insn[i].stub);
	}
	return addr;
}

static void int3_put(struct rp_mm *mm, struct rp_task *t, uint64_t addr, uint64_t at, int shared,
		     uint64_t other)
{
	struct rp_int3 *x = &stops_mm(mm)->int3[stops_mm(mm)->int3_n];
	const uint8_t int3 = 0xcc;

	x->addr = addr;
	x->at = at;
	x->shared = shared;
	x->other = other;
	if (rp_int3_at(mm, at) || rp_code_read(t->real, at, &x->byte, 1) != 1)
		return;		/* not mapped yet, or no more */
	stops_mm(mm)->int3_n += shared ? rp_written_poke(t->real, at, int3, shared)
				       : rp_code_write(t->real, at, &int3, 1);
}

/* Where the patched call that the task is in goes on behind the hook; in the hook itself, any. */
static void leave_in(struct rp_mm *mm, struct rp_task *t)
{
	const struct patch *in = patches_stub(&mm->patches, t->regs.rip);
	const struct patch *p = in ? in : mm->patches.p;
	unsigned n = in ? 1 : mm->patches.n;

	free(stops_mm(mm)->int3);
	stops_mm(mm)->int3 = alloc_zeroed(n + 1, sizeof(*stops_mm(mm)->int3), "breakpoints");
	if (!in)
		rp_code_begin(t->real);
	for (unsigned i = 0; i < n; i++) {
		struct stub_info info;

		if (p[i].kind != PATCH_UD2 &&
		    tracee_read_some(t->real, p[i].stub - STUB_INFO, &info, sizeof(info)) ==
			    sizeof(info))
			int3_put(mm, t, info.cont, info.cont, 0, 0);
	}
	rp_code_end();
	stops_mm(mm)->int3_pid = t->rec_pid;
	stops_mm(mm)->int3_gen = LEAVING;
}

/* Not while the program writes there, or could not execute it: maps, if they were asked for. */
static bool executed(const struct rp_mm *mm, const struct tracee_maps *maps, uint64_t addr)
{
	const struct tracee_map *m = maps->n ? tracee_maps_find(maps, addr) : NULL;

	return (!m || m->shared || m->prot & PROT_EXEC) && !rp_written_is_open(mm, addr);
}

static struct err *int3_in(const struct stops_run *run, struct rp_mm *mm, struct rp_task *t,
			   const struct rp_set *s, unsigned gen)
{
	struct tracee_maps maps = { 0 };

	free(stops_mm(mm)->int3);
	stops_mm(mm)->int3 = alloc_zeroed(2 * s->n + 1, sizeof(*stops_mm(mm)->int3), "breakpoints");
	if (rp_written_any(mm, s, t->rec_pid))
		TRY(tracee_maps_read(t->real, &maps));
	rp_code_begin(t->real);
	for (unsigned i = 0; i < s->n; i++) {
		const struct patch *call;
		uint64_t addr = s->b[i].addr, at;
		uint64_t other = 0;
		int shared;

		if (!rp_is_int3(&s->b[i], t->rec_pid) || !executed(mm, &maps, addr) ||
		    !inprocess_is_there(t, &s->b[i]))
			continue;
		shared = maps.n ? rp_written_shared(&maps, addr, &other) : 0;
		call = s->b[i].call ? rp_patch_of_call(mm, s->b[i].addr) : NULL;
		if (s->b[i].call && !call)
			continue;
		if (!run->no_stubs && !call && !shared && inprocess_in(mm, t->real, &s->b[i]))
			continue;
		at = call ? call->stub + call->hook_at : place_of(mm, addr);
		int3_put(mm, t, addr, at, at == addr ? shared : 0, other);
		/* a call that can also be come to without the hook */
		if (!call && at != addr && !patches_at(&mm->patches, addr))
			int3_put(mm, t, addr, addr, shared, other);
	}
	rp_code_end();
	tracee_maps_deinit(&maps);
	stops_mm(mm)->int3_gen = gen;
	stops_mm(mm)->int3_pid = t->rec_pid;
	return NULL;
}

/* ---- debug registers --------------------------------------------------------------------- */

static uint64_t dr7_bits(unsigned n, unsigned type, unsigned len)
{
	static const unsigned len_code[9] = { 0, 0, 1, 0, 3, 0, 0, 0, 2 };

	return 1ull << (2 * n) | (uint64_t)(type | len_code[len] << 2) << (16 + 4 * n);
}

static struct err *set_debug_registers(struct stops *stops, struct rp_task *t,
				       const struct rp_set *s)
{
	enum { TYPE_EXECUTE = 0, TYPE_WRITE = 1, TYPE_ACCESS = 3 };
	uint64_t dr7 = 0;
	unsigned n = 0;
	bool ok = rp_debug_register_set(t->real, 7, 0);

	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];
		uint64_t a = b->addr, end = b->addr + (b->kind == REPLAY_BREAK_HW ? 1 : b->len);

		if (b->pid != t->rec_pid || !rp_set_register(s, i))
			continue;
		while (a < end && n < DEBUG_REGISTERS) {
			unsigned len = b->kind == REPLAY_BREAK_HW ? 1 : rp_register_bytes(a, end);
			unsigned type = b->kind == REPLAY_BREAK_HW ? TYPE_EXECUTE
					: b->kind == REPLAY_WRITE  ? TYPE_WRITE
								   : TYPE_ACCESS;

			ok = ok && rp_debug_register_set(t->real, n, a);
			dr7 |= dr7_bits(n++, type, len);
			a += len;
		}
	}
	if (!ok || !rp_debug_register_set(t->real, 7, dr7))
		return err_new(ERR_UNSUPPORTED, "cannot set a hardware watchpoint here");
	t->tool_word[TOOL_STOPS] = stops->dr_gen;
	return NULL;
}

/* ---- around a run -------------------------------------------------------------------------- */

/*
 * A patch that replaces only the `mov' in front of the call leaves the instruction where it is:
 * stopped there, on through the hook as the program would have gone, while there is a record for
 * it.
 */
static struct err *hook_of_call(struct rp_task *t)
{
	const struct patch *p =
		t->mm->patches.n ? patches_at(&t->mm->patches, t->regs.rip - 1) : NULL;
	uint64_t ends[2];

	if (!p || p->kind != PATCH_SYSCALL || p->call_at < p->len ||
	    t->regs.rip != p->addr + p->call_at)
		return NULL;
	TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), ends,
			sizeof(ends)));
	if (ends[0] >= ends[1])
		return NULL;
	t->regs.rip = p->stub + p->hook_at;
	t->dirty = true;
	return NULL;
}

void rp_debug_left(struct replay *r, struct rp_task *t)
{
	rp_int3_out_mm(t->mm, t->real);
	stops_of(r)->leaving = false;
}

bool rp_debug_left_by_us(struct replay *r, struct rp_task *t)
{
	rp_debug_left(r, t);
	return stops_of(r)->trapped = stops_of(r)->left_trap;
}

bool rp_debug_leave(struct replay *r, struct rp_task *t, bool trapped)
{
	struct stops *stops = stops_of(r);
	struct regs regs = t->regs;

	if (!t->mm->patches.n || patch_normal(&t->mm->patches, &regs) != PATCH_IN_HOOK)
		return false;
	stops->left_trap |= trapped;
	stops->trapped = false;	/* not yet: an interrupt on the way must not end it here */
	return stops->leaving = true;
}

struct err *rp_debug_before(struct replay *r, struct rp_task *t, int *request)
{
	struct stops *stops = stops_of(r);
	const struct stops_run *run = &stops->run;
	const struct rp_set *s = stops->sets[run->set];
	struct rp_mm *mm = t->mm;
	unsigned gen = (run->set * 2 + run->counting) * 2 + run->no_stubs + 1;

	if (rp_written_is_open(mm, t->regs.rip)) {
		rp_written_close(mm, t->regs.rip);
		rp_int3_out_mm(mm, t->real);
	}
	/* where stores are looked for, each must fault */
	if ((s->soft || stops->bitmap) && rp_written_close_all(mm)) {
		rp_int3_out_mm(mm, t->real);
		page_watch_out(mm, t->real);
	}
	if (stops->leaving) {
		/*
		 * Once: a call of ours would take the place of an int3's signal that is still to
		 * come.
		 */
		if (stops_mm(mm)->int3_gen != LEAVING) {
			rp_int3_out_mm(mm, t->real);
			leave_in(mm, t);
		}
	} else if (run->step) {
		rp_task_into_stub(t);
		if (stops_mm(mm)->int3_n || stops_mm(mm)->inprocess_in || dual_jumps(mm))
			rp_int3_out_mm(mm, t->real);
	} else if (stops_mm(mm)->int3_gen != gen || stops_mm(mm)->int3_pid != t->rec_pid) {
		rp_int3_out_mm(mm, t->real);
		if (!run->no_stubs)
			TRY(inprocess_build(r, t, run));
		TRY(int3_in(run, mm, t, s, gen));
		rp_tick_anew();
	}
	if (stops_mm(mm)->page_watch_gen != gen && page_watch_wanted(r, t, s))
		TRY(page_watch_in(r, t, s, gen));
	if (stops_mm(mm)->inprocess_in) {
		TRY(inprocess_thread(t));
		inprocess_enter(t, stops->from.counted, stops->from.seen);
	}
	dual_enter(t);
	stops->from.counted = stops->from.seen = false;
	TRY(hook_of_call(t));
	TRY(rp_regs_flush(t));
	if (stops->dr_set != run->set) {
		/* a new generation only when what is in the registers changes */
		if (s->registers || stops->sets[stops->dr_set]->registers)
			stops->dr_gen++;
		stops->dr_set = run->set;
	}
	if (t->tool_word[TOOL_STOPS] != stops->dr_gen)
		TRY(set_debug_registers(stops, t, s));
	if (run->step && !stops->leaving)
		*request = PTRACE_SYSEMU_SINGLESTEP;
	if (!stops->overtaken)
		stops->stepped_from = t->regs.rip;
	stops->overtaken = false;
	stops->dr_hit = 0;
	stops->page_watch_size = 0;
	stops->ran = true;
	rp_interrupt_run(t->real);
	return NULL;
}

/*
 * Has an int3 of ours been executed (a breakpoint, or in a stub), and its signal not been seen
 * yet?  Then the registers are no place.
 */
static bool trap_is_coming(const struct rp_task *t)
{
	struct __ptrace_peeksiginfo_args first = { .nr = 1 };
	siginfo_t info;

	return ptrace(PTRACE_PEEKSIGINFO, t->real, &first, &info) == 1 && info.si_signo == SIGTRAP;
}

struct err *rp_debug_pause(struct replay *r, struct rp_task *t, bool *end)
{
	struct stops *stops = stops_of(r);
	bool hit = false;

	rp_interrupt_run(0);
	if (rp_sample_due() && !trap_is_coming(t))	/* else no instruction may begin there */
		stops->samples[stops->samples_n++ % RP_SAMPLES] = t->regs.rip;
	stops->overtaken = stops->run.step && trap_is_coming(t);
	/* a step is over soon, and then the place has a name */
	*end = rp_run_interrupted(stops) && !stops->leaving && !stops->run.step &&
	       !trap_is_coming(t);
	if (*end)
		TRY(dual_step_out(r, t));
	if (*end && stops_mm(t->mm)->inprocess_n)
		TRY(inprocess_step_out(r, t, &hit));
	if (hit)
		stops->trapped = stops->at_limit = true;
	stops->unvisited = *end && !stops->trapped;
	return NULL;
}

bool rp_int3_hit(const struct rp_task *t)
{
	return stops_mm(t->mm)->int3_n && rp_int3_at(t->mm, t->regs.rip - 1);
}

/* At a breakpoint that is in a stub: where the program thinks it is. */
static void in_stub_of(struct rp_task *t)
{
	for (unsigned i = 0; i < stops_mm(t->mm)->int3_n; i++) {
		const struct rp_int3 *x = &stops_mm(t->mm)->int3[i];

		if (x->at != t->regs.rip || x->at == x->addr)
			continue;
		t->stub = x->at;
		t->shown = t->regs.rip = x->addr;
	}
}

bool rp_debug_trap(struct replay *r, struct rp_task *t, siginfo_t *info)
{
	struct stops *stops = stops_of(r);
	bool counted = false;

	rp_interrupt_run(0);
	if (stops->leaving && info->si_signo == SIGTRAP && info->si_code == SI_KERNEL &&
	    rp_int3_at(t->mm, t->regs.rip - 1)) {
		t->regs.rip--;
		patch_normal(&t->mm->patches, &t->regs);
		t->dirty = true;
		rp_int3_out_mm(t->mm, t->real);
		stops->leaving = false;
		stops->trapped = stops->left_trap;
		return true;
	}
	if (stops_mm(t->mm)->inprocess_n &&
	    (info->si_signo == SIGSEGV || info->si_signo == SIGFPE || info->si_signo == SIGBUS) &&
	    inprocess_fault(t))
		return stops->trapped = true;
	if (stops_mm(t->mm)->page_watch_n && info->si_signo == SIGSEGV &&
	    page_watch_fault(r, t, info))
		return stops->trapped = true;
	if (info->si_signo != SIGTRAP)
		return false;
	if (info->si_code == SI_KERNEL && stops_mm(t->mm)->inprocess_n &&
	    inprocess_trap(t, &counted)) {
		stops->at_limit = counted;
		return stops->trapped = true;
	}
	if (info->si_code == SI_KERNEL && rp_int3_at(t->mm, t->regs.rip - 1)) {
		t->regs.rip--;
		in_stub_of(t);
		t->dirty = true;
		return stops->trapped = true;
	}
	if (stops->dr_gen) {
		stops->dr_hit = rp_debug_hits(t);
		if ((stops->dr_hit || stops->sets[stops->run.set]->registers) && !stops->run.step)
			err_free(page_watch_finish_string(r, t));
		/* a displaced call's push */
		if (stops->dr_hit && stops_mm(t->mm)->inprocess_n && inprocess_inside(t))
			err_free(inprocess_step_out(r, t, &counted));
	}
	if (rp_trap_flag_met(t, &r->ev))	/* where a register watches, the event is next */
		return stops->trapped = stops->dr_hit != 0;
	if (stops->run.step && info->si_code == TRAP_TRACE) {
		rp_hide_trace_flag(t, stops->stepped_from);
		return stops->trapped = true;
	}
	/*
	 * Under KVM a #DB may come without its reason (seen with Linux 6.18): an instruction was
	 * done all the same.
	 */
	return stops->trapped = stops->dr_hit != 0 || info->si_code == TRAP_HWBKPT ||
				(info->si_code == TRAP_BRKPT &&
				 (stops->run.step || stops->sets[stops->run.set]->registers));
}

/* ---- points in computing code ---------------------------------------------------------------- */

bool rp_debug_wants_stops(struct replay *r)
{
	return stops_of(r)->run.step || stops_of(r)->sets[stops_of(r)->run.set]->n;
}

bool rp_debug_in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start,
			 uint64_t end)
{
	const struct rp_set *s = stops_of(r)->sets[stops_of(r)->run.set];

	if (stops_of(r)->run.step)
		return true;
	/*
	 * without any breakpoint the stubs are an older set's, and not used: that is no reason to
	 * stop, again and again
	 */
	if (s->n > s->watches && inprocess_overlaps(t->mm, start, end))
		return true;
	for (unsigned i = 0; i < s->n; i++) {
		if (!rp_is_watch(&s->b[i]) && s->b[i].pid == t->rec_pid &&
		    (s->b[i].addr == at || (s->b[i].addr >= start && s->b[i].addr < end)))
			return true;
	}
	return false;
}

void rp_debug_clear(struct replay *r, struct rp_task *t)
{
	rp_int3_out(r);
	if (t->tool_word[TOOL_STOPS])
		rp_debug_register_set(t->real, 7, 0);
	t->tool_word[TOOL_STOPS] = 0;
	rp_interrupt_run(0);
}

void stops_run_begin(struct stops *stops, const struct stops_run *run)
{
	stops->run = *run;
	stops->from.counted = run->counted;
	stops->from.seen = run->seen;
	stops->trapped = stops->at_limit = stops->leaving = stops->left_trap = false;
}

void rp_debug_also(struct replay *r, struct rp_task *t, const struct stops_run *asked,
		   uint64_t addr)
{
	struct replay_break b = { .kind = REPLAY_BREAK, .pid = t->rec_pid, .addr = addr, .len = 1 };
	struct stops *stops = stops_of(r);

	stops->run = *asked;
	stops->run.set = rp_set_union(r, asked->set, rp_set_intern(r, &b, 1));
	stops->run.step |= rp_set_has(stops->sets[stops->run.set], t->rec_pid, t->regs.rip);
	stops->trapped = false;
}

bool rp_debug_also_done(struct replay *r, struct rp_task *t, const struct stops_run *asked)
{
	struct stops *stops = stops_of(r);

	stops->run = *asked;
	return stops->trapped && !asked->step && !stops->dr_hit && !stops->page_watch_size &&
	       !rp_set_breaks(r, stops->sets[asked->set], t);
}
