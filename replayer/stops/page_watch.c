/*
 * page_watch.c - watchpoints beyond the debug registers: their pages are protected, and each access
 * that faults is looked at.
 *
 * Pages are protected only while a task runs, like int3s.  A fault is answered by lifting the
 * protection of all, one single step, and protecting again: some 50 us, paid only for pages that
 * are watched.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "replayer/machine/task.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/page_access.h"
#include "replayer/stops/page_watch.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/stops.h"
#include "replayer/stops/string_instruction.h"
#include "replayer/stops/written_code.h"
#include "tracee/site.h"
#include "x86/instr.h"

enum { STRING_MAX = 4096, ITERATIONS_MIN = 8, OPERAND_MAX = 64, UNKNOWN_SIZE = 16,
       CALL_INSNS = 4 };
#define NOWHERE (UINT64_MAX - OPERAND_MAX)	/* page_watch_hit: nothing is watched there */

struct page_watch {
	uint64_t page;
	int prot, was;
	bool code;		/* breakpoints are there: written_code.c */
};

static void add_page(struct rp_mm *mm, const struct tracee_maps *maps, uint64_t page, bool reads)
{
	const struct tracee_map *m = tracee_maps_find(maps, page);
	struct page_watch *g = stops_mm(mm)->page_watch, *end = g + stops_mm(mm)->page_watch_n;

	if (!m || !(m->prot & (reads ? PROT_READ | PROT_WRITE : PROT_WRITE)))
		return;
	while (g < end && g->page != page)
		g++;
	if (g == end) {
		stops_mm(mm)->page_watch = alloc_more(stops_mm(mm)->page_watch,
						      stops_mm(mm)->page_watch_n + 1,
						      sizeof(*stops_mm(mm)->page_watch),
						      "watchpoints");
		g = &stops_mm(mm)->page_watch[stops_mm(mm)->page_watch_n++];
		*g = (struct page_watch){ page, m->prot & ~PROT_WRITE, m->prot, false };
	}
	if (reads)
		g->prot = PROT_NONE;
}

static void add_code(struct rp_mm *mm, const struct tracee_maps *maps, uint64_t addr)
{
	unsigned had = stops_mm(mm)->page_watch_n;

	add_page(mm, maps, addr, false);
	if (stops_mm(mm)->page_watch_n == had)
		return;
	stops_mm(mm)->page_watch[had].code = true;
	if (rp_written_is_open(mm, addr))
		stops_mm(mm)->page_watch[had].prot = stops_mm(mm)->page_watch[had].was & ~PROT_EXEC;
}

static struct err *lift(struct rp_mm *mm, pid_t real, bool on)
{
	for (unsigned i = 0; i < stops_mm(mm)->page_watch_n; i++)
		TRY(rp_page_protect(real, stops_mm(mm)->page_watch[i].page,
				    on ? stops_mm(mm)->page_watch[i].prot
				       : stops_mm(mm)->page_watch[i].was));
	return NULL;
}

/* Does the run that begins have breakpoints in memory? */
static bool has_int3s(const struct replay *r)
{
	return !stops_of(r)->run.step && !stops_of(r)->leaving && !stops_of(r)->diverted;
}

bool page_watch_wanted(const struct replay *r, const struct rp_task *t, const struct rp_set *s)
{
	return s->soft || (has_int3s(r) && rp_written_any(t->mm, s, t->rec_pid));
}

struct err *page_watch_in(struct replay *r, struct rp_task *t, const struct rp_set *s, unsigned gen)
{
	struct rp_mm *mm = t->mm;
	struct tracee_maps maps;

	/* another set's: what is protected now must not pass for the program's own */
	page_watch_out(mm, t->real);
	stops_mm(mm)->page_watch_gen = gen;
	TRY(tracee_maps_read(t->real, &maps));
	if (has_int3s(r))
		rp_written_pages(mm, &maps, s, t->rec_pid, add_code);
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind < REPLAY_WRITE || b->pid != t->rec_pid || rp_set_register(s, i))
			continue;
		/* of no length: write_log.c */
		for (uint64_t page = page_down(b->addr);
		     page < b->addr + b->len + !b->len; page += PAGE_BYTES)
			add_page(mm, &maps, page, b->kind != REPLAY_WRITE);
	}
	tracee_maps_deinit(&maps);
	return lift(mm, t->real, true);
}

bool page_watch_page(const struct rp_mm *mm, unsigned i, uint64_t *page, int *prot)
{
	/* these come first */
	for (unsigned k = 0; k < stops_mm(mm)->page_watch_n && stops_mm(mm)->page_watch[k].code;
	     k++)
		i++;
	if (i >= stops_mm(mm)->page_watch_n)
		return false;
	*page = stops_mm(mm)->page_watch[i].page;
	*prot = stops_mm(mm)->page_watch[i].prot;
	return true;
}

void page_watch_make_room(struct replay *r, struct rp_task *t, const struct trace_effect *e)
{
	for (unsigned i = 0; i < stops_mm(t->mm)->page_watch_n; i++) {
		uint64_t page = stops_mm(t->mm)->page_watch[i].page;

		if (e->kind && page + PAGE_BYTES > e->addr && page < e->addr + e->len) {
			if (stops_of(r)->bitmap)
				store_bitmap_all(stops_of(r)->bitmap);
			page_watch_out(t->mm, t->real);
			return;
		}
	}
}

void page_watch_out(struct rp_mm *mm, pid_t real)
{
	dual_out(mm, real);
	if (stops_mm(mm)->page_watch_n)
		err_free(lift(mm, real, false));
	stops_mm(mm)->page_watch_n = stops_mm(mm)->page_watch_gen = 0;
}

bool page_watch_hits(const struct stops *stops, uint64_t addr, uint64_t len)
{
	/* the fault may name its last byte (fxsave does) */
	if (stops->page_watch_size > OPERAND_MAX)
		return stops->page_watch_size == UINT64_MAX ||
		       (stops->page_watch_hit < addr + len + stops->page_watch_size &&
			stops->page_watch_hit + stops->page_watch_size > addr);
	return stops->page_watch_hit < addr + len &&
	       stops->page_watch_hit + stops->page_watch_size > addr;
}

/* Most accesses to a protected page are to something else on it. */
bool page_watch_misses(const struct replay *r, const struct rp_set *s)
{
	const struct stops *stops = stops_of(r);

	if (!stops->page_watch_size || stops->run.step || stops->dr_hit)
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind >= REPLAY_WRITE && page_watch_hits(stops, b->addr, b->len))
			return false;
	}
	return true;
}

bool page_watch_at_break(const struct replay *r, const struct rp_set *s, const struct rp_task *t)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind < REPLAY_WRITE && b->addr == t->regs.rip && b->pid == t->rec_pid &&
		    !inprocess_decides(t->mm, b))
			return rp_set_breaks(r, s, t);
	}
	return false;
}

bool page_watch_passes(struct replay *r, struct rp_task *t)
{
	struct stops *stops = stops_of(r);
	const struct rp_set *s = stops->sets[stops->run.set];

	if (stops->leaving || stops->diverted || !page_watch_misses(r, s) ||
	    page_watch_at_break(r, s, t))
		return false;
	stops->trapped = stops->at_limit = false;
	stops->page_watch_size = 0;
	return true;
}

/*
 * A repeated string instruction faults for each of its stores: it goes on while the pages are open,
 * up to one that is watched.
 */
static bool goes_on(const struct rp_set *s, const struct rp_task *t, uint64_t from, unsigned size)
{
	enum { DOWN = 0x400 };

	if (!size || t->regs.rip != from || t->regs.eflags & DOWN || s->registers)
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind > REPLAY_WRITE ||
		    (b->kind == REPLAY_WRITE && t->regs.rdi < b->addr + b->len &&
		     t->regs.rdi + size > b->addr))
			return false;
	}
	return true;
}

/* How many iterations of the instruction, from here, store to nothing that is watched? */
static uint64_t iterations_unwatched(const struct rp_set *s, const struct rp_task *t, unsigned size)
{
	uint64_t iterations = t->regs.rcx;

	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];
		uint64_t free_iterations =
			b->addr > t->regs.rdi ? (b->addr - t->regs.rdi) / size : 0;

		if (b->kind >= REPLAY_WRITE && b->len && b->addr + b->len > t->regs.rdi &&
		    free_iterations < iterations)
			iterations = free_iterations;
	}
	return iterations;
}

/*
 * At once, if at all; place: where the program has the instruction, and the run might end between
 * two iterations of it.
 */
static uint64_t iterations_at_once(const struct replay *r, const struct rp_set *s,
				   struct rp_task *t, uint64_t place, unsigned size)
{
	bool ends = stops_of(r)->run.step ||
		    (r->ev.place == TRACE_AT_STATE && r->ev.regs.rip == place);
	uint64_t iterations =
		!ends && goes_on(s, t, t->regs.rip, size) ? iterations_unwatched(s, t, size) : 0;

	return iterations >= ITERATIONS_MIN && rp_string_runs(t) ? iterations : 0;
}

/*
 * Returns how many of the iterations store to the other mapping of a dual-mapped page, which need
 * not be opened; 0: none.  *off: how far off the other mapping is.  Not where an iteration would
 * read what it has just stored: the processor goes by addresses, and does not see that they are the
 * same.
 */
static uint64_t iterations_there(const struct rp_task *t, uint64_t iterations, unsigned size,
			    uint64_t *off)
{
	uint64_t room = (PAGE_BYTES - t->regs.rdi % PAGE_BYTES) / (size ? size : 1);

	if (!iterations || room < ITERATIONS_MIN || t->regs.rdi - t->regs.rsi < 2 * PAGE_BYTES ||
	    !dual_other(t->mm, t->regs.rdi, off))
		return 0;
	return iterations < room ? iterations : room;
}

static struct err *run_there(struct rp_task *t, unsigned len, uint64_t iterations, uint64_t off,
			     int *status)
{
	struct err *err;

	t->regs.rdi += off;
	/* which has all registers written */
	err = rp_string_run(t, len, iterations, status);
	t->regs.rdi -= off;
	return err;
}

/*
 * For a write log: what may have been stored to.  A string instruction has come from `to' to where
 * rdi is now.
 */
static void note_store(struct stops *stops, const struct rp_task *t, bool string, uint64_t to,
		       const struct page_access *a, unsigned n)
{
	bool known = n != 0 && (!string || t->regs.rdi >= to);

	for (unsigned i = 0; i < n; i++)
		known &= a[i].size <= OPERAND_MAX;
	if (!known)
		store_bitmap_all(stops->bitmap);
	else if (string)
		store_bitmap_note(stops->bitmap, to, t->regs.rdi - to);
	for (unsigned i = 0; known && !string && i < n; i++)
		store_bitmap_note(stops->bitmap, a[i].addr, a[i].size);
}

/* Breakpoints, where that may store. */
static void remove_code(struct rp_task *t)
{
	bool code = false;

	for (unsigned i = 0; i < stops_mm(t->mm)->page_watch_n; i++)
		code |= stops_mm(t->mm)->page_watch[i].code;
	if (code)
		rp_tools_remove_code_from(t->mm, t->real);
}

/* Is there one that has to fault for each access? */
static bool looks_at_loads(const struct rp_set *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->b[i].kind > REPLAY_WRITE && !rp_set_register(s, i))
			return true;
	}
	return false;
}

/* On to its end, while the pages are open; place: where the program has it. */
static struct err *finish_string(struct replay *r, struct rp_task *t, uint64_t place)
{
	if (looks_at_loads(stops_of(r)->sets[stops_of(r)->run.set]))
		return NULL;
	remove_code(t);
	return rp_string_finish(r, t, place);
}

struct err *page_watch_finish_string(struct replay *r, struct rp_task *t)
{
	struct err *err, *back;

	if (!rp_string_hit(stops_of(r)->sets[stops_of(r)->run.set], t, stops_of(r)->dr_hit))
		return NULL;
	err = lift(t->mm, t->real, false);
	if (!err)
		err = finish_string(r, t, t->regs.rip);
	back = lift(t->mm, t->real, true);
	if (err)
		err_free(back);
	return err ? err : back;
}

/* Not an access: the instruction itself lies on a page that is not executable now. */
static bool is_fetch(const struct rp_task *t, const struct page_watch *g, uint64_t addr)
{
	uint8_t code[16] = { 0 };
	struct x86_instr insn;
	size_t n;

	if ((g->prot & PROT_EXEC) || addr - t->regs.rip >= sizeof(code))
		return false;
	n = stops_read(t->real, t->regs.rip, code, sizeof(code));
	return addr == t->regs.rip ||
	       (x86_instr_at(code, n, &insn) && t->regs.rip + insn.len > addr);
}

/* Does the instruction touch a watched place?  Then that is what the fault was for. */
static bool touches_watched(struct stops *stops, const struct rp_set *s, const struct rp_task *t,
			    const struct page_access *a, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		stops->page_watch_hit = a[k].addr;
		stops->page_watch_size = a[k].size;
		for (unsigned i = 0; i < s->n; i++) {
			const struct replay_break *b = &s->b[i];

			if (b->kind >= REPLAY_WRITE && b->pid == t->rec_pid &&
			    page_watch_hits(stops, b->addr, b->len))
				return true;
		}
	}
	return false;
}

/*
 * a: what the instruction is about to touch.  A fault tells one place of several, and where it is
 * for the instruction's own bytes none of them.
 */
static void note_access(struct stops *stops, const struct rp_set *s, const struct rp_task *t,
			uint64_t addr, bool fetch, const struct page_access *a, unsigned n)
{
	if (touches_watched(stops, s, t, a, n))
		return;
	stops->page_watch_hit = fetch ? NOWHERE : addr;
	stops->page_watch_size = fetch || n ? 1 : UNKNOWN_SIZE;
	for (unsigned k = 0; k < n && !fetch; k++) {
		if (addr >= a[k].addr && addr - a[k].addr < a[k].size)
			stops->page_watch_size = a[k].size;
	}
}

/* May the instruction lie on the page?  Then the page cannot be one that is only written to. */
static bool runs_there(const struct rp_task *t, uint64_t page)
{
	enum { INSN_MAX = 15 };

	return page_down(t->regs.rip) == page || page_down(t->regs.rip + INSN_MAX - 1) == page;
}

bool page_watch_opens(struct replay *r, struct rp_task *t, const siginfo_t *info)
{
	uint64_t addr = (uint64_t)(uintptr_t)info->si_addr;
	struct stops *stops = stops_of(r);
	struct stops_mm *mm = stops_mm(t->mm);
	const struct page_watch *g = mm->page_watch, *end = g + mm->page_watch_n;

	if (info->si_signo != SIGSEGV || info->si_code != SEGV_ACCERR)
		return false;
	while (g < end && (g->page != page_down(addr) || !g->code))
		g++;
	if (g == end || !(g->was & PROT_EXEC))
		return false;
	if (rp_written_is_open(t->mm, addr)) {
		rp_written_close(t->mm, addr);
	} else if (stops->sets[stops->run.set]->soft || stops->bitmap ||
		   runs_there(t, g->page) || !rp_written_open(t->mm, g->page)) {
		return false;
	} else {
		/* it may be an instruction in inprocess.c's copy */
		stops->from.counted = stops->from.seen = true;
	}
	rp_tools_remove_code_from(t->mm, t->real);
	return true;
}

/* In the stub of a fxsave, which stores more behind it. */
static bool in_fxsave(const struct rp_task *t)
{
	const struct patch *p = patches_stub(&t->mm->patches, t->regs.rip);
	struct regs regs = t->regs;

	return p && p->kind == PATCH_FXSAVE &&
	       patch_normal(&t->mm->patches, &regs) == PATCH_IN_HOOK;
}

/*
 * At a breakpoint on a page of which nothing can be executed now: its int3 traps, or its jump goes
 * to the stub, which counts, compares, and goes on elsewhere.
 */
static bool enter_breakpoint(struct stops *stops, struct rp_task *t)
{
	uint64_t place = t->regs.rip;
	bool counted = false;
	struct err *err, *back;
	int status = 0;

	inprocess_enter(t, false, false);
	err = rp_regs_flush(t);
	if (!err && t->regs.rip == place) {
		err = lift(t->mm, t->real, false);
		if (!err)
			err = rp_raw_step(t, &status);
		back = lift(t->mm, t->real, true);
		if (err)
			err_free(back);
		else
			err = back;
	}
	stops->page_watch_hit = NOWHERE;
	stops->page_watch_size = 1;
	if (!err && status && inprocess_trap(t, &counted)) {
		stops->at_limit = counted;
		stops->page_watch_size = 0;
	}
	err_free(err);
	return !err;
}

bool page_watch_fault(struct replay *r, struct rp_task *t, siginfo_t *info)
{
	uint64_t addr = (uint64_t)(uintptr_t)info->si_addr, page = page_down(addr);
	struct stops *stops = stops_of(r);
	const struct rp_set *s = stops->sets[stops->run.set];
	struct rp_mm *mm = t->mm;
	struct page_access a[PAGE_ACCESSES];
	unsigned string = 0, len, n;
	struct err *err;
	uint64_t from, place = t->regs.rip, iterations, there, off = 0, to = t->regs.rdi;
	bool ours = false, code = false, fetch = false, fixed;
	int status = 0;

	for (unsigned i = 0; i < stops_mm(mm)->page_watch_n; i++) {
		const struct page_watch *g = &stops_mm(mm)->page_watch[i];
		bool fetches = g->page == page && is_fetch(t, g, addr);

		ours |= g->page == page && (!fetches || (g->was & PROT_EXEC));
		fetch |= fetches;
		code |= g->page == page && g->code;
	}
	if (!ours || info->si_code == SI_KERNEL)
		return false;
	stops->page_watch_size = stops->dr_hit = 0;
	if (fetch && rp_int3_at(mm, place))	/* before it is executed */
		return true;
	if (fetch && inprocess_begins(t))
		return enter_breakpoint(stops, t);
	inprocess_enter(t, true, true);	/* where the instruction itself is */
	from = t->regs.rip;
	dual_remove(t, from, false);
	if (from == place)
		rp_task_into_stub(t);
	n = page_access_of(t->real, &t->regs, a);
	note_access(stops, s, t, addr, fetch, a, n);
	len = rp_string_at(t, &string, &fixed);
	if (!len || !fixed)
		string = 0;
	err = rp_regs_flush(t);
	if (!err && code)
		rp_tools_remove_code_from(mm, t->real);
	iterations = iterations_at_once(r, s, t, place, string);
	there = iterations_there(t, iterations, string, &off);
	if (!err && !there)
		err = lift(mm, t->real, false);
	if (!err && there)
		err = run_there(t, len, there, off, &status);
	else if (!err)
		err = iterations ? rp_string_run(t, len, iterations, &status)
				 : rp_raw_step(t, &status);
	for (unsigned i = 0;
	     i < STRING_MAX && string && !there && !err && WSTOPSIG(status) == SIGTRAP &&
	     page_watch_misses(r, s) && goes_on(s, t, from, string) && !rp_run_interrupted(stops);
	     i++)
		err = rp_raw_step(t, &status);
	stops->dr_hit = !err && WSTOPSIG(status) == SIGTRAP && len ? rp_debug_hits(t) : 0;
	if (len && !there && !err && WSTOPSIG(status) == SIGTRAP && t->regs.rip == from &&
	    !stops->run.step && (stops->dr_hit || !page_watch_misses(r, s)))
		err = finish_string(r, t, place);
	if (stops->bitmap)
		note_store(stops, t, string, to, a, n);
	/* a displaced call is several, as is fxsave: on to where the program is somewhere */
	for (unsigned i = 0; i < CALL_INSNS && !err && WSTOPSIG(status) == SIGTRAP &&
			     ((inprocess_inside(t) && !inprocess_original(mm, t->regs.rip)) ||
			      in_fxsave(t));
	     i++)
		err = rp_raw_step(t, &status);
	if (!err && WSTOPSIG(status) == SIGTRAP)
		stops->dr_hit |= rp_debug_hits(t);
	/* while it is the last signal: calls of ours end with one, too */
	if (!err && WSTOPSIG(status) != SIGTRAP)
		ptrace(PTRACE_GETSIGINFO, t->real, NULL, info);
	if (!err && !there)
		err = lift(mm, t->real, true);
	dual_remove(t, from, true);
	t->stub = 0;
	rp_task_normal(t);	/* it may have been one that a system call's stub has in it */
	if (!err)
		rp_hide_trace_flag(t, from);
	inprocess_leave(t);
	if (err) {
		err_free(err);
		return false;
	}
	if (WSTOPSIG(status) == SIGTRAP)
		return true;
	/* it would have faulted anyway */
	stops->page_watch_size = 0;
	return false;
}
