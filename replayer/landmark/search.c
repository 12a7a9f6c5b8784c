/*
 * search.c - find the point in a task's computing that has a given state.
 *
 * The instruction at the point becomes a jump to a stub (stub.h) that compares registers and words,
 * and traps when all agree; a miss costs a nanosecond or a few.  The first passes trap all: they
 * show which register or word tells best.  When everything the stub looks at agrees, the replayer
 * compares the rest: vector state, words that changed, sums of memory.  A word that differs joins
 * the test, so each kind of false hit is seen once.
 *
 * The recording says how long the task had computed.  A long computation runs without the test for
 * most of that time; that can be too long, on a machine that was busy, so a copy of the address
 * space is kept (snapshot.c) from which the search begins anew, with the test from the start.  The
 * same copy is the way back when a program writes or reads the very code that the jump lies in:
 * then a debug register finds the point, at 17 us a pass.
 *
 * Rejected: int3 and a comparison by ptrace at each pass (35 us instead of some ns).
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "replayer/landmark/search.h"
#include "replayer/machine/calls.h"
#include "replayer/machine/event.h"
#include "replayer/machine/run.h"
#include "replayer/machine/snapshot.h"

enum { MS = 1000000 };

/* How the point is looked for. */
enum how { BY_JUMP, BY_COPIES, BY_DEBUG_REGISTER };

/* ---- one way or another ---------------------------------------------------------------------- */

/* Inside the process: traps only where all registers agree. */
static struct err *search_patched(struct landmark *l, bool *found)
{
	struct rp_task *t = l->t;

	landmark_into_stub(l);		/* in the middle of what the jump replaces */
	if (l->past && t->regs.rip == l->stub.pun.addr)
		t->regs.rip = l->stub.miss;
	TRY(landmark_set_regs(t));
	while (!*found) {
		struct regs at_trap;
		bool retest;

		TRY(landmark_run_to_trap(l, PTRACE_SYSEMU));
		retest = t->regs.rip == l->stub.retest;
		if (t->regs.rip != l->stub.trap && !retest)
			return diverge(
				t, l->ev,
				"a breakpoint in computing code that the recording did not see");
		at_trap = t->regs;
		t->regs.rip = l->stub.pun.addr;
		TRY(landmark_is_point(l, found));
		if (*found) {
			t->regs.eflags = l->ev->regs.eflags;
			break;
		}
		if (retest || l->samples < LANDMARK_SAMPLES)
			TRY(landmark_learn(l, retest));
		t->regs = at_trap;
		if (landmark_is_costly(l)) {
			t->regs.rip = l->stub.pun.addr;
			t->dirty = true;
			return &landmark_costly;
		}
		/* the stub may have been written anew: where it goes on now */
		t->regs.rip = l->stub.miss;
		TRY(landmark_set_regs(t));
	}
	return NULL;
}

static struct err *poke_debug(pid_t pid, unsigned n, uint64_t value)
{
	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg) + 8 * n, value) < 0)
		return err_os(errno, "cannot set a debug register");
	return NULL;
}

/* With a debug register and a look at each pass: nothing in memory changes. */
static struct err *search_debug_register(struct landmark *l, bool *found)
{
	enum { EXECUTE_LOCAL_0 = 1 };
	struct rp_task *t = l->t;

	while (!*found) {
		TRY(poke_debug(t->real, 0, l->ev->regs.rip));
		TRY(poke_debug(t->real, 7, EXECUTE_LOCAL_0));
		t->regs.eflags |= 0x10000;	/* RF: not this time */
		TRY(landmark_set_regs(t));
		TRY(landmark_run_to_trap(l, PTRACE_SYSEMU));
		if (t->regs.rip != l->ev->regs.rip)
			return diverge(
				t, l->ev,
				"a breakpoint in computing code that the recording did not see");
		TRY(landmark_is_point(l, found));
	}
	return poke_debug(t->real, 7, 0);
}

/* Instruction by instruction: in code of a shared mapping, where nothing of ours can be written. */
static struct err *search_steps(struct landmark *l, bool *found)
{
	while (!*found) {
		TRY(landmark_run_to_trap(l, PTRACE_SYSEMU_SINGLESTEP));
		if (l->t->regs.rip == l->ev->regs.rip)
			TRY(landmark_is_point(l, found));
	}
	return NULL;
}

/* With int3: a debugger needs the debug registers, or there are none. */
static struct err *search_int3(struct landmark *l, bool *found)
{
	static const uint8_t int3 = 0xcc;
	struct rp_task *t = l->t;
	uint64_t at = l->ev->regs.rip;
	uint8_t saved;

	TRY(tracee_read(t->real, at, &saved, 1));
	while (!*found) {
		if (t->regs.rip == at)	/* off the breakpoint first */
			TRY(landmark_run_to_trap(l, PTRACE_SYSEMU_SINGLESTEP));
		if (t->regs.rip != at) {
			struct err *err = tracee_write(t->real, at, &int3, 1);

			if (err_catch(&err, ERR_OS))
				return search_steps(l, found);
			if (err)
				return err;
			err = landmark_run_to_trap(l, PTRACE_SYSEMU);
			TRY(tracee_write(t->real, at, &saved, 1));
			if (err)
				return err;
			t->regs.rip = at;
			TRY(landmark_set_regs(t));
		}
		TRY(landmark_is_point(l, found));
	}
	return NULL;
}

/* ---- the whole search ------------------------------------------------------------------------ */

static void begin(struct landmark *l, struct replay *r, struct rp_task *t,
		  const struct trace_event *ev)
{
	*l = (struct landmark){ .r = r, .t = t, .ev = ev, .began_ns = now_ns() };
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (ev->effects[i].kind == TRACE_POINT)
			l->point = &ev->effects[i];
	}
}

struct err *landmark_here(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			  bool *ret)
{
	struct landmark l;

	begin(&l, r, t, ev);
	return landmark_is_point(&l, ret);
}

/* Run without any test for so long. */
static struct err *run_untested(struct landmark *l, uint64_t ns)
{
	struct err *err;

	landmark_budget(l, ns);
	err = landmark_run_to_trap(l, PTRACE_SYSEMU);
	landmark_budget_over();
	if (err == &landmark_late && l->t->regs.orig_rax == (uint64_t)-1)
		return NULL;	/* where it should be: still computing */
	return err ? err : &landmark_late;
}

/* A stop at each pass. */
static struct err *search_stops(struct landmark *l, bool *found)
{
	if (rp_watched(l->r) || !debug_registers_work())
		return search_int3(l, found);
	return search_debug_register(l, found);
}

/* The jump is, or may be, in the code; the task is not at the point. */
static struct err *search_in_copies(struct landmark *l, bool *found)
{
	TRY(landmark_unpatch(l));
	if (!landmark_copies_possible(l))
		return search_stops(l, found);
	log_debug("event %" PRIu64 ": in copies of the code, after %" PRIu64 " stops", l->ev->n,
		  l->stops);
	l->no_copies = true;
	if (l->timed)	/* run past the point it ends soon: the search from the start is cheap */
		landmark_budget(l, l->untested_ns ? l->budget_ns + 100 * MS
						  : 4 * l->budget_ns + 1000 * MS);
	TRY(landmark_search_copies(l, found));
	return *found ? NULL : search_stops(l, found);
}

static struct err *search(struct landmark *l, enum how how)
{
	bool found = false;
	struct err *err;

	if (!l->past)
		TRY(landmark_is_point(l, &found));
	rp_tools_clear(l->r, l->t);
	if (!found && how == BY_JUMP && !landmark_copies_first(l))
		TRY(landmark_patch(l));
	if (!found && rp_tools_in_the_way(l->r, l->t, l->ev->regs.rip,
					  l->patched ? l->stub.pun.addr : l->ev->regs.rip,
					  l->patched ? l->stub.pun.addr + l->stub.pun.len
						     : l->ev->regs.rip + 1)) {
		TRY(landmark_unpatch(l));
		return &rp_stopped;
	}
	if (found)
		return landmark_unpatch(l);
	if (l->patched)
		err = search_patched(l, &found);
	else if (how != BY_DEBUG_REGISTER && landmark_copies_possible(l))
		err = &landmark_costly;
	else
		err = search_stops(l, &found);
	if (err == &landmark_costly)
		err = search_in_copies(l, &found);
	/* a debugger's breakpoint: the search begins anew when it goes on */
	if (err == &rp_stopped) {
		rp_tools_remove_code(l->r);
		l->t->dirty = true;
		TRY(landmark_unpatch(l));
	}
	if (err)
		return err;
	rp_tools_clear(l->r, l->t);
	l->t->dirty = true;
	return landmark_unpatch(l);
}

/* Its protection if the program can change the code where the jump goes, else 0. */
static int changing_code(struct landmark *l)
{
	struct tracee_map m;
	struct err *err;
	bool mapped;

	if (rp_tools_fixed_code(l->t, l->ev->regs.rip))	/* most often known already */
		return 0;
	rp_tools_remove_code_from(l->t->mm, l->t->real);	/* which protects pages, too */
	err = tracee_map_at(l->t->real, l->ev->regs.rip, &m, &mapped);
	if (err) {
		err_free(err);
		return 0;
	}
	if (!mapped || !(m.prot & PROT_WRITE))
		return 0;
	l->prot_end = m.end;
	return m.prot;
}

/*
 * How long to run before the test is armed.  The share of the recorded time grows while it works,
 * and shrinks when the point was missed; from then on it comes near the share that was too large
 * but slowly.
 */
enum {
	SHARE_START = 50,
	SHARE_MAX = 92,
	SHARE_MIN = 15,
	SHARE_SLOWLY = 48,
	UNTESTED_MIN_NS = 6 * MS,	/* half of it is more than a busy machine lets us wait */
	UNKNOWN_NS = 50 * MS
};

static void share_good(struct replay *r)
{
	if (landmarks_of(r)->untested_share + 4 < landmarks_of(r)->untested_missed ||
	    ++landmarks_of(r)->untested_good % SHARE_SLOWLY == 0)
		landmarks_of(r)->untested_share += landmarks_of(r)->untested_share < SHARE_MAX;
}

static void share_missed(struct replay *r)
{
	landmarks_of(r)->untested_missed = landmarks_of(r)->untested_share;
	landmarks_of(r)->untested_good = 0;
	landmarks_of(r)->untested_share = landmarks_of(r)->untested_share * 3 / 4 < SHARE_MIN
						  ? SHARE_MIN
						  : landmarks_of(r)->untested_share * 3 / 4;
}

static uint64_t untested_time(const struct landmark *l)
{
	uint64_t hint = l->point ? l->point->x : 0;

	if (!landmarks_of(l->r)->untested_share) {
		landmarks_of(l->r)->untested_share = SHARE_START;
		landmarks_of(l->r)->untested_missed = 100;
	}
	return hint < UNTESTED_MIN_NS || hint < 8 * landmarks_of(l->r)->snapshot_ns
		       ? 0
		       : hint * landmarks_of(l->r)->untested_share / 100;
}

/*
 * A point that was run past, or that is not to come after a wrong match: how long a search may take
 * before that is plain. Where the program jumps into the middle of our jump each time costs a trap:
 * a search from the start, which is to find it, waits for that. In code that changes, each store
 * costs some stops, until that costs so much that copies of the code do without.
 */
static uint64_t patience(const struct landmark *l, uint64_t untested)
{
	const struct trace_effect *p = l->point;
	uint64_t most = p->addr > p->x ? p->addr : p->x;

	if (untested)
		return (p->x - untested) * 15 + p->x + (l->prot ? 100 : 20) * MS;
	if (!most)	/* a recorder of before 2026-12 did not know */
		most = UNKNOWN_NS;
	if (l->prot)
		return most * 16 + 1500 * MS;
	return mismatch_failed(l->r) && !l->anew ? most * 20 + 50 * MS : most * 200 + 2000 * MS;
}

static struct err *attempt(struct landmark *l, enum how how, uint64_t untested)
{
	struct err *err = NULL;

	l->timed = l->point && !rp_watched(l->r) &&
		   ((l->back && (untested || (l->prot && how != BY_DEBUG_REGISTER))) ||
		    mismatch_left(l->r));
	l->untested_ns = untested;
	if (untested)
		TRY(run_untested(l, untested));
	if (l->timed)
		landmark_budget(l, patience(l, untested));
	err = search(l, how);
	if (l->timed)
		landmark_budget_over();
	l->timed = false;
	return err;
}

static struct err *snapshot(struct landmark *l, struct rp_snapshot **ret)
{
	uint64_t start = now_ns();

	TRY(rp_snapshot_take(l->t, ret));
	if (*ret)
		landmarks_of(l->r)->snapshot_ns =
			(landmarks_of(l->r)->snapshot_ns * 3 + (now_ns() - start) * 2) / 4;
	return NULL;
}

/* Back to the beginning, for another attempt. */
static struct err *again(struct landmark *l, struct rp_snapshot **back, bool keep)
{
	struct landmark fresh;

	TRY(rp_snapshot_restore(l->r, l->t, *back));
	*back = NULL;
	rp_tools_went_back(l->r, true);
	begin(&fresh, l->r, l->t, l->ev);
	fresh.prot = l->prot;
	fresh.prot_end = l->prot_end;
	fresh.past = l->past;
	fresh.anew = l->anew;
	fresh.began_ns = l->began_ns;
	*l = fresh;
	if (keep)
		TRY(snapshot(l, back));
	l->back = *back != NULL;
	return NULL;
}

/*
 * The program looks at its code, perhaps, and has seen our jump: copies leave it as it is.  A debug
 * register, the last resort, costs a stop at each pass: minutes, in a small loop.
 */
static const struct {
	enum how how;
	bool untested;
} otherwise[] = { { BY_COPIES, false }, { BY_DEBUG_REGISTER, true }, { BY_DEBUG_REGISTER, false } };
enum { OTHERWISE = sizeof(otherwise) / sizeof(otherwise[0]) };

static struct err *find(struct landmark *l, uint64_t untested, struct rp_snapshot **back)
{
	struct replay *r = l->r;
	/* where no snapshot could be made, it was all in vain so far */
	bool copies = l->prot && !*back && mismatch_failed_at(r, l->ev->n);
	struct err *err = attempt(l, copies ? BY_COPIES : BY_JUMP, untested);

	if (!err && untested)
		share_good(r);
	if (err == &landmark_late && untested) {
		log_debug("event %" PRIu64 ": run past the point", l->ev->n);
		share_missed(r);
	}
	if (*back && err == &landmark_late && untested) {
		TRY(again(l, back, l->prot != 0));
		err = attempt(l, BY_JUMP, 0);
	}
	for (unsigned i = 0; err && l->prot && *back && i < OTHERWISE; i++) {
		log_debug("event %" PRIu64 ": by %s: %s", l->ev->n,
			  otherwise[i].how == BY_COPIES ? "copies" : "debug register", err->msg);
		if (err != &landmark_late)
			err_free(err);
		TRY(again(l, back, i < OTHERWISE - 1));
		err = attempt(l, otherwise[i].how, otherwise[i].untested ? untested : 0);
	}
	return err;
}

/*
 * Where the witness does not cover all memory, the match may be wrong: mismatch.c keeps copies, of
 * the beginning too if the search runs untested.  That one also serves where memory is shared,
 * which a snapshot cannot keep.
 */
static struct err *prepare(struct landmark *l, bool may_mismatch, bool anew, uint64_t *untested,
			   struct rp_snapshot **back)
{
	bool kept = false;

	*untested = anew ? 0 : untested_time(l);
	if (*untested && !l->prot && (may_mismatch || l->t->mm->shared))
		TRY(mismatch_start(l->r, l->ev->n, *untested, &kept));
	else if (*untested || l->prot)
		TRY(snapshot(l, back));
	l->back = kept || *back;
	if (!l->back)
		*untested = 0;
	return NULL;
}

struct err *landmark_find(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct rp_snapshot *back = NULL;
	enum rp_search how = mismatch_how(r, ev->n);
	struct landmark l;
	uint64_t untested = 0;
	uint64_t began = now_ns();
	bool found, may_mismatch;
	struct err *err;

	begin(&l, r, t, ev);
	TRY(count_find(r, t, ev, l.point, &found));
	if (found)
		return NULL;
	if (r->counts_in_hook) {	/* here it must be outside of it */
		TRY(calls_drain(r, t, ev));
		begin(&l, r, t, ev);
	}
	l.prot = changing_code(&l);
	l.past = how == SEARCH_NEXT;
	l.anew = how == SEARCH_ANEW;
	rp_tools_before_search(r, t, ev->regs.rip);
	may_mismatch = l.point && l.point->object && !rp_watched(r);
	if (!rp_watched(r))	/* what a probe has logged cannot be taken back */
		TRY(prepare(&l, may_mismatch, how != SEARCH_FIRST, &untested, &back));
	landmark_progress(&l);
	landmarks_of(r)->search = &l;
	err = find(&l, untested, &back);
	rp_tools_after_search(r, t);
	landmarks_of(r)->search = NULL;
	landmark_progress(NULL);
	l.timed = false;
	if (err == &landmark_late)
		err = landmark_missed(&l, "its time was over");
	rp_snapshot_drop(back);
	log_debug("event %" PRIu64 ": point found after %" PRIu64 " traps, %" PRIu64
		  " retests, %u words in the test, %" PRIu64 " us (%" PRIu64
		  " untested) for %" PRIu64,
		  ev->n, l.traps, l.retests, l.stub.words, (now_ns() - began) / 1000,
		  untested / 1000, l.point ? l.point->x / 1000 : 0);
	t->dirty = true;
	if (err)
		return err;
	if (may_mismatch)
		return mismatch_match(r, ev->n);
	mismatch_settle(r, ev->n);
	return NULL;
}
