/*
 * run.c - a task runs, with the test for the point in its code, until it traps there.
 *
 * The jump to the stub lies over instructions of the program.  So whoever stops meanwhile may be in
 * the middle of it: in an instruction that has been moved, at a byte of the jump that traps because
 * an instruction began there, or about to store to the code.  All that is put right here; a search
 * (search.c) sees the traps of its test alone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "replayer/landmark/search.h"
#include "replayer/machine/event.h"
#include "replayer/machine/grow.h"
#include "replayer/machine/run.h"
#include "replayer/machine/task.h"

enum { MS = 1000000 };

struct err landmark_late, landmark_costly;

/* ---- running -------------------------------------------------------------------------------- */

struct err *landmark_set_regs(struct rp_task *t)
{
	t->dirty = true;
	return rp_regs_flush(t);
}

static bool in_stub(const struct landmark *l, uint64_t rip)
{
	return l->stub.map && rip - l->stub.map < STUB_PAGES * PAGE_BYTES;
}

/* A jump of the program's into the middle of ours: on in the moved instruction. */
static bool redirected(struct landmark *l, int sig)
{
	uint64_t rip = l->t->regs.rip;
	int i;

	if (!l->patched || (sig != SIGTRAP && sig != SIGSEGV && sig != SIGILL))
		return false;
	if (sig == SIGTRAP)
		rip--;
	if (rip <= l->stub.pun.addr || rip >= l->stub.pun.addr + X86_JUMP)
		return false;
	i = pun_insn_at(&l->stub.pun, rip);
	if (i < 0 || l->stub.pun.insn[i].form == X86_STAYS)
		return false;
	l->t->regs.rip = l->stub.moved + l->stub.pun.out[i];
	l->t->dirty = true;
	return true;
}

/*
 * A jump of the program's to bytes that ours has covered and that have no moved copy (pun.h): the
 * task is to go on in the original.
 */
static bool into_unmoved(struct landmark *l, int sig)
{
	uint64_t rip = l->t->regs.rip - (sig == SIGTRAP);
	int i;

	if (!l->patched || (sig != SIGTRAP && sig != SIGSEGV && sig != SIGILL))
		return false;
	i = pun_insn_at(&l->stub.pun, rip);
	if (i <= 0 || l->stub.pun.insn[i].form != X86_STAYS)
		return false;
	l->t->regs.rip = rip;
	l->t->dirty = true;
	return true;
}

struct err *landmark_missed(struct landmark *l, const char *what)
{
	if (l->timed)
		return &landmark_late;
	return diverge(l->t, l->ev,
		       "the point that was recorded inside computing code was not found before %s "
		       "(%" PRIu64 " candidates)",
		       what, l->traps);
}

static bool is_code_write(const struct landmark *l, const siginfo_t *info)
{
	uint64_t first = page_down(l->stub.pun.addr);
	uint64_t end = landmark_code_end(l);
	uint64_t at = (uint64_t)(uintptr_t)info->si_addr;

	return l->prot && l->patched && info->si_signo == SIGSEGV && info->si_code == SEGV_ACCERR &&
	       at >= first && at < end;
}

/* Where the program is when it is in a moved instruction. */
static void out_of_stub(struct landmark *l)
{
	const struct pun *p = &l->stub.pun;

	for (unsigned i = 0; i < p->n; i++) {
		if (l->t->regs.rip == l->stub.moved + p->out[i])
			l->t->regs.rip = p->addr + p->insn[i].at;
	}
	if (p->n) {
		const struct x86_instr *last = &p->insn[p->n - 1];

		if (!x86_is_direct(last) &&
		    l->t->regs.rip == l->stub.moved + p->out[p->n - 1] + last->len)
			l->t->regs.rip = p->addr + p->len;
	}
}

bool landmark_program_regs(const struct replay *r, const struct rp_task *t, struct regs *regs)
{
	const struct landmark *l = landmarks_of(r) ? landmarks_of(r)->search : NULL;
	const struct pun *p = l ? &l->stub.pun : NULL;

	if (!l || l->t != t)
		return true;
	if (landmarks_of(r)->translation)
		return landmark_copy_regs(landmarks_of(r)->translation, regs);
	if (!in_stub(l, regs->rip))
		return true;
	for (unsigned i = 0; i < p->n; i++) {
		uint64_t at = l->stub.moved + p->out[i];

		if (regs->rip == at)
			regs->rip = p->addr + p->insn[i].at;
		else if (regs->rip == at + p->insn[i].len && i + 1 == p->n)
			regs->rip = p->addr + p->len;
		else
			continue;
		return true;
	}
	return false;
}

void landmark_into_stub(struct landmark *l)
{
	int i = pun_insn_at(&l->stub.pun, l->t->regs.rip);

	if (i > 0 && l->stub.pun.insn[i].form != X86_STAYS)
		l->t->regs.rip = l->stub.moved + l->stub.pun.out[i];
}

/* Are the bytes of the jump at which instructions begin still ones that trap? */
static bool same_edges(const struct landmark *l)
{
	for (unsigned i = 1; i < l->stub.pun.n; i++) {
		unsigned at = l->stub.pun.insn[i].at, k = 0;

		while (at < X86_JUMP && pun_trap_byte(k) && pun_trap_byte(k) != l->jump[at])
			k++;
		if (at < X86_JUMP && !pun_trap_byte(k))
			return false;
	}
	return true;
}

/* ---- when copies of the code are better ---------------------------------------------------- */

enum { STOP_NS = 6000, COSTLY_NS = 10 * MS, COSTLY_TRIES = 16 };

bool landmark_copies_possible(const struct landmark *l)
{
	return !l->no_copies && !rp_watched(l->r);
}

static uint8_t *costly_code(const struct landmark *l)
{
	return &landmarks_of(l->r)->costly[l->ev->regs.rip / PAGE_BYTES %
					   (sizeof(landmarks_of(l->r)->costly) /
					    sizeof(landmarks_of(l->r)->costly[0]))];
}

/* Have the stops cost more than the whole computation took? */
bool landmark_is_costly(struct landmark *l)
{
	if (!landmark_copies_possible(l) ||
	    l->stops * STOP_NS < COSTLY_NS + (l->point ? l->point->x : 0))
		return false;
	*costly_code(l) = COSTLY_TRIES;
	return true;
}

/* Points in the same page of code are like each other; now and then that is tried anew. */
bool landmark_copies_first(struct landmark *l)
{
	static int forced = -1;
	uint8_t *known = costly_code(l);

	if (forced < 0)
		forced = getenv("HINDSIGHT_COPIES") != NULL;
	if (!landmark_copies_possible(l))
		return false;
	if (*known)
		--*known;
	return *known || forced;
}

/* The jump is out, and cannot be put in again. */
static struct err *code_changed(struct landmark *l)
{
	if (!landmark_copies_possible(l))
		return landmark_missed(l, "the code there was changed");
	l->patched = false;
	l->t->dirty = true;
	*costly_code(l) = COSTLY_TRIES;
	return &landmark_costly;
}

/* The program writes to the code: let it, and put the jump over what is there then. */
static struct err *code_write(struct landmark *l)
{
	struct pun now;
	bool good;
	int status;

	out_of_stub(l);
	rp_tools_remove_code_from(l->t->mm, l->t->real);
	TRY(landmark_jump_out(l));
	TRY(landmark_protect(l, l->prot));
	TRY(landmark_set_regs(l->t));
	TRY(tracee_resume(l->t->real, PTRACE_SYSEMU_SINGLESTEP, 0));
	TRY(tracee_wait(l->t->real, &status));
	if (!WIFSTOPPED(status))
		return &err_gone;
	TRY(tracee_regs_get(l->t->real, &l->t->regs));
	if (!pun_decode(l->t->real, l->stub.pun.addr, &now))
		return code_changed(l);
	l->stub.pun = now;
	TRY(landmark_stub_write(l, &good));
	if (!good || !same_edges(l))
		return code_changed(l);
	TRY(tracee_write(l->t->real, l->stub.pun.addr, l->jump, X86_JUMP));
	TRY(landmark_protect(l, l->prot & ~PROT_WRITE));
	landmark_into_stub(l);
	return landmark_set_regs(l->t);
}

/* A signal stop that is no SIGTRAP of ours: *err NULL = go on. */
static struct err *other_signal(struct landmark *l, const siginfo_t *info)
{
	bool grown = false;

	if (is_code_write(l, info))
		return code_write(l);
	if (redirected(l, info->si_signo))
		return NULL;
	if (info->si_signo == SIGSEGV && info->si_code != SI_KERNEL)
		TRY(effect_grow(l->t, (uint64_t)(uintptr_t)info->si_addr, &grown));
	if (grown || info->si_signo == SIGSTOP || info->si_code <= 0)
		return NULL;
	return landmark_missed(l, "a fault that the recording did not see there");
}

/* An interrupt.  *end: what the run ends with, NULL: it goes on. */
static struct err *interrupted(struct landmark *l, struct err **end)
{
	struct rp_task *t = l->t;

	*end = NULL;
	if (l->timed) {
		if (landmark_budget_runs() && !landmark_budget_left(l))
			*end = &landmark_late;
		return NULL;
	}
	out_of_stub(l);
	/* inside the stub the task is nowhere: the next interrupt will do */
	if (!in_stub(l, t->regs.rip) && !rp_tools_inside(l->r, t)) {
		enum run_verdict verdict;

		TRY(rp_tools_on_interrupt(l->r, t, &verdict));
		if (verdict == RUN_STOP) {
			*end = &rp_stopped;
			return NULL;
		}
	}
	landmark_into_stub(l);
	t->dirty = true;
	return NULL;
}

/*
 * A SIGTRAP that is no jump's into the middle of ours.  *over: it is the search's, else the run
 * goes on, or *end is what it ends with.
 */
static struct err *trapped(struct landmark *l, siginfo_t *info, int request, bool *over,
			   struct err **end)
{
	struct rp_task *t = l->t;
	enum run_verdict verdict;

	*over = t->regs.rip == l->stub.trap || t->regs.rip == l->stub.retest;
	if (*over)
		return NULL;
	TRY(rp_tools_on_signal(l->r, t, info, in_stub(l, t->regs.rip), &verdict));
	if (verdict == RUN_GO_ON)
		return NULL;
	if (verdict == RUN_NOT_MINE) {
		*over = !rp_watched(l->r) ||
			(info->si_code != TRAP_TRACE && info->si_code != TRAP_BRKPT) ||
			request == PTRACE_SYSEMU_SINGLESTEP;
		if (!*over)	/* of a step that an interrupt overtook; as in rp_unexpected() */
			rp_clear_trace_flag(t);
		return NULL;
	}
	out_of_stub(l);
	t->dirty = true;
	if (!in_stub(l, t->regs.rip))
		*end = &rp_stopped;
	else	/* our own test has touched what a register watches */
		rp_tools_forget_stop(l->r);
	return NULL;
}

/* Any other signal: *end is what the run ends with, NULL: it goes on. */
static struct err *signalled(struct landmark *l, siginfo_t *info, struct err **end)
{
	enum run_verdict verdict = RUN_NOT_MINE;

	if (info->si_signo != SIGTRAP)
		TRY(rp_tools_on_signal(l->r, l->t, info, in_stub(l, l->t->regs.rip), &verdict));
	if (verdict == RUN_STOP) {
		out_of_stub(l);
		l->t->dirty = true;
		*end = &rp_stopped;
	}
	if (verdict == RUN_NOT_MINE && info->si_signo != SIGTRAP)
		TRY(other_signal(l, info));
	return NULL;
}

struct err *landmark_run_to_trap(struct landmark *l, int request)
{
	struct rp_task *t = l->t;
	const int asked = request;

	for (;;) {
		struct err *end = NULL;
		siginfo_t info;
		bool over;
		int status;

		request = asked;
		TRY(rp_resume(l->r, t, &request, &status));
		l->stops++;
		if (tracee_stop_kind(status) == STOP_SYSCALL)
			return landmark_missed(l, "the next system call");
		t->regs.orig_rax = (uint64_t)-1;
		if (tracee_stop_kind(status) != STOP_SIGNAL) {
			TRY(interrupted(l, &end));
			if (end)
				return end;
			continue;
		}
		if (ptrace(PTRACE_GETSIGINFO, t->real, NULL, &info) < 0)
			return &err_gone;
		if (into_unmoved(l, info.si_signo))
			return &landmark_costly;
		if (info.si_signo == SIGTRAP && !redirected(l, SIGTRAP)) {
			TRY(trapped(l, &info, request, &over, &end));
			if (over || end)
				return end;
			continue;
		}
		TRY(signalled(l, &info, &end));
		if (end)
			return end;
		if (l->patched && landmark_is_costly(l)) {
			out_of_stub(l);
			t->dirty = true;
			return &landmark_costly;
		}
	}
}
