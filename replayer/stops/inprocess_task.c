/*
 * inprocess_task.c - tasks in the stubs of inprocess.c: told to be at the program's own
 * instructions, and put back when they go on.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "replayer/machine/task.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/page_watch.h"

enum { STEPS_OUT = 2000 };

void inprocess_enter(struct rp_task *t, bool counted, bool seen)
{
	for (unsigned i = 0; stops_mm(t->mm)->inprocess_in && i < stops_mm(t->mm)->inprocess_n;
	     i++) {
		const struct inprocess *p = &stops_mm(t->mm)->inprocess[i];

		uint64_t in = t->regs.rip - p->site.addr;
		bool inner = p->lead != p, done = in || (p->trap_only ? seen : counted);

		/* Just behind an int3 its signal is still to come: an interrupt was quicker. */
		if (!p->in || !p->copy || in >= (p->trap_only && !inner ? 1u : p->site.len) ||
		    (!done && !inner))
			continue;
		/* where another one's jump is, the program's own way is not there */
		t->regs.rip = done ? p->copy + in : p->stub;
		t->dirty = true;
		return;
	}
}

bool inprocess_begins(const struct rp_task *t)
{
	const struct stops_mm *mm = stops_mm(t->mm);

	for (unsigned i = 0; mm->inprocess_in && i < mm->inprocess_n; i++) {
		if (mm->inprocess[i].in && mm->inprocess[i].site.addr == t->regs.rip)
			return true;
	}
	return false;
}

/*
 * At the start of the copy the stub has counted, or was not to count: at the place itself it would
 * be counted (again) when it goes on.  So there an interrupt leaves it where it is.
 */
void inprocess_interrupted(struct rp_task *t)
{
	for (unsigned i = 0; i < stops_mm(t->mm)->inprocess_n; i++) {
		if (stops_mm(t->mm)->inprocess[i].built && stops_mm(t->mm)->inprocess[i].copy &&
		    t->regs.rip == stops_mm(t->mm)->inprocess[i].copy)
			return;
	}
	inprocess_leave(t);
}

uint64_t inprocess_original(const struct rp_mm *mm, uint64_t rip)
{
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		const struct inprocess *p = &stops_mm(mm)->inprocess[i];

		if (p->built && p->copy && (rip == p->fall || (rip >= p->copy && rip <= p->end)))
			return p->site.addr + (rip == p->fall ? p->site.len : rip - p->copy);
	}
	return 0;
}

void inprocess_leave(struct rp_task *t)
{
	uint64_t rip = inprocess_original(t->mm, t->regs.rip);

	if (!rip)
		return;
	t->regs.rip = rip;
	t->dirty = true;
}

static struct inprocess *inside(const struct rp_mm *mm, uint64_t rip)
{
	for (unsigned i = 0; i < stops_mm(mm)->inprocess_n; i++) {
		struct inprocess *p = &stops_mm(mm)->inprocess[i];

		if (p->built && rip >= p->stub && rip <= p->trap)
			return p;
	}
	return NULL;
}

bool inprocess_inside(const struct rp_task *t)
{
	return inside(t->mm, t->regs.rip) != NULL;
}

static void at_place(struct rp_task *t, const struct inprocess *p)
{
	t->regs.rip = p->site.addr;
	t->dirty = true;
}

/* counted: its stub has done so. */
bool inprocess_trap(struct rp_task *t, bool *counted)
{
	for (unsigned i = 0; i < stops_mm(t->mm)->inprocess_n; i++) {
		const struct inprocess *p = &stops_mm(t->mm)->inprocess[i];

		bool int3 = p->trap_only && p->lead == p;

		if (!p->built || t->regs.rip != (int3 ? p->site.addr + 1 : p->trap) ||
		    (int3 && !p->in))
			continue;
		at_place(t, p);
		*counted = !p->trap_only;
		return true;
	}
	return false;
}

/* A fault in a compiled condition: registers as they were. */
bool inprocess_fault(struct rp_task *t)
{
	const struct inprocess *p = inside(t->mm, t->regs.rip);
	uint64_t place[REGS_WORDS], *word = (uint64_t *)&t->regs;

	if (!p || !p->b.cond || p->trap_only || (t->regs.rip >= p->copy && t->regs.rip <= p->end))
		return false;
	inprocess_saved_places(p, place);
	for (unsigned i = 0; i < REGS_WORDS; i++) {
		if (place[i] && i != WORD_FS_BASE)
			err_free(tracee_read(t->real, place[i], &word[i], 8));
	}
	at_place(t, p);
	return true;
}

/* A store to a protected page: it is made now, since the stub has counted already. */
static bool page_watched(struct replay *r, struct rp_task *t)
{
	siginfo_t info;

	if (!stops_mm(t->mm)->page_watch_n || ptrace(PTRACE_GETSIGINFO, t->real, NULL, &info) < 0 ||
	    info.si_signo != SIGSEGV || !page_watch_fault(r, t, &info))
		return false;
	stops_of(r)->trapped = !page_watch_passes(r, t);
	return true;
}

/* Interrupted in a stub: on to where the program is somewhere again.  *hit: that is the trap. */
struct err *inprocess_step_out(struct replay *r, struct rp_task *t, bool *hit)
{
	*hit = false;
	for (unsigned i = 0; i < STEPS_OUT; i++) {
		const struct inprocess *p = inside(t->mm, t->regs.rip);
		uint64_t from = t->regs.rip;
		int status;

		if (!p)
			return NULL;
		if (t->regs.rip == p->trap - 1) {
			at_place(t, p);
			*hit = true;
			return NULL;
		}
		dual_remove(t, from, false);
		TRY(rp_raw_step(t, &status));
		dual_remove(t, from, true);
		rp_hide_trace_flag(t, from);
		rp_debug_stepped(r, t);
		if (WSTOPSIG(status) == SIGSEGV && page_watched(r, t))
			return NULL;
		if (WSTOPSIG(status) == SIGSEGV || WSTOPSIG(status) == SIGFPE ||
		    WSTOPSIG(status) == SIGBUS) {
			*hit = inprocess_fault(t);
			if (*hit)
				return NULL;
			inprocess_leave(t);	/* a fault of the program's own: it comes again */
			return NULL;
		}
		inprocess_interrupted(t);
	}
	inprocess_leave(t);
	return NULL;
}
