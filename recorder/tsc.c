/*
 * tsc.c - a process that reads the time-stamp counter often does it without a trap.
 *
 * A patched rdtsc is answered by the hook, which lets the counter through for the moment: two
 * system calls, and on some virtual machines two exits from the guest.  After some hundreds of
 * them, all code of the process is looked at.  If none of it can be written to, each rdtsc and
 * rdtscp in it becomes ud2 (tracee/ud2.h), as where the counter cannot be made to trap, and so
 * does what is mapped from then on; then the counter need not trap any more.  (Where bytes are left
 * that might be one, it stays.) Each thread is let through at its first rdtsc in the hook, which
 * still traps.  Code that can be written to and executed at once is not looked at: with such a
 * mapping the process stays as it is, and a thread that makes one later traps again.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "recorder/internal.h"
#include "tracee/ud2.h"

static struct err *tell(struct rec_task *t, size_t offset, const void *bytes, size_t len)
{
	return t->mm->buf.on ? rec_buffer_state(t, offset, bytes, len) : NULL;
}

static struct err *set_mode(struct recorder *rec, struct rec_task *t, int mode)
{
	int64_t ret;

	TRY(rec_inject(rec, t, &ret, SYS_prctl, PR_SET_TSC, (uint64_t)mode, 0, 0, 0, 0));
	t->tsc_free = ret == 0 && mode == PR_TSC_ENABLE;
	return NULL;
}

/* Is it code of the program's, not ours and not the kernel's? */
static bool is_code(const struct rec_mm *mm, const struct tracee_map *m)
{
	if (!(m->prot & PROT_EXEC) || m->start >> 63 ||
	    (m->start < FIXED_END && m->end > FIXED_PAGE))
		return false;
	if (m->start >= mm->vdso_start && m->end <= mm->vdso_end)
		return false;
	for (unsigned i = 0; i < mm->buf.areas; i++) {
		if (m->start == mm->buf.area[i].start)
			return false;
	}
	return true;
}

/* Stubs that are there: in their traced way, too, the counter is a ud2. */
static struct err *mark_stubs(struct recorder *rec, struct rec_task *t)
{
	struct patches *ps = &t->mm->buf.patches;

	for (unsigned i = 0; i < ps->n; i++) {
		uint64_t at = ps->p[i].stub + ps->p[i].traced_at;

		if (ps->p[i].kind != PATCH_TSC)
			continue;
		TRY(tracee_write(t->tid, at, patch_ud2, sizeof(patch_ud2)));
		rec_effect_bytes(rec, at, patch_ud2, sizeof(patch_ud2));
	}
	return NULL;
}

static struct err *mark_all(struct recorder *rec, struct rec_task *t,
			    const struct tracee_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];

		if (is_code(t->mm, m) && t->mm->tsc_open)
			TRY(rec_ud2_code(rec, t, m->start, m->end - m->start, m->offset, NULL));
	}
	return mark_stubs(rec, t);
}

static bool all_fixed(const struct rec_mm *mm, const struct tracee_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		if (is_code(mm, &maps->map[i]) &&
		    (maps->map[i].prot & PROT_WRITE || maps->map[i].shared))
			return false;
	}
	return true;
}

static struct err *open_now(struct recorder *rec, struct rec_task *t)
{
	static const uint8_t yes = 1;
	struct tracee_maps maps;
	struct err *err;

	TRY(tracee_maps_read(t->tid, &maps));
	if (!all_fixed(t->mm, &maps)) {
		static const uint64_t for_ever = UINT64_MAX;

		tracee_maps_deinit(&maps);
		return tell(t, offsetof(struct buf_state, tsc_left), &for_ever, 8);
	}
	t->mm->tsc_open = true;
	err = mark_all(rec, t, &maps);
	tracee_maps_deinit(&maps);
	if (err || !t->mm->tsc_open)
		return err;
	TRY(tell(t, offsetof(struct buf_state, marked), &yes, 1));
	TRY(tell(t, offsetof(struct buf_state, tsc_open), &yes, 1));
	return set_mode(rec, t, PR_TSC_ENABLE);
}

void rec_tsc_trapped(struct recorder *rec, struct rec_task *t)
{
	uint64_t left = 1;
	struct err *err;

	if (!t->mm->buf.on || t->mm->buf.off || t->mm->tsc_tried || !tsc_can_trap() ||
	    t->tsc_mode != PR_TSC_ENABLE)
		return;
	if (tracee_read_some(t->tid, FIXED_STATE + offsetof(struct buf_state, tsc_left), &left,
			     8) != 8 ||
	    left)
		return;
	t->mm->tsc_tried = true;
	err = open_now(rec, t);
	if (rec->effects)
		rec_write(rec, t, TRACE_NOTE, 0, NULL, 0);
	err_free(err);
}

void rec_tsc_seen(struct rec_task *t, uint64_t more)
{
	const uint64_t seen[2] = { 0, more };	/* tsc_run, tsc_seen */

	_Static_assert(offsetof(struct buf_state, tsc_seen) ==
			       offsetof(struct buf_state, tsc_run) + 8,
		       "written together");
	err_free(tell(t, offsetof(struct buf_state, tsc_run), seen, sizeof(seen)));
}

struct err *rec_tsc_in_hook(struct recorder *rec, struct rec_task *t, const siginfo_t *info,
			    const struct regs *regs, bool *mine)
{
	uint8_t text[16] = { 0 };
	enum trap_insn insn;
	unsigned len;

	*mine = false;
	if (!t->mm->tsc_open || t->tsc_free || info->si_signo != SIGSEGV ||
	    info->si_code != SI_KERNEL || regs->rip < FIXED_TSC || regs->rip >= FIXED_STATE ||
	    tracee_read_some(t->tid, regs->rip, text, sizeof(text)) != sizeof(text))
		return NULL;
	insn = trap_insn_at(text, &len);
	if (insn != TRAP_RDTSC && insn != TRAP_RDTSCP)
		return NULL;
	*mine = true;
	return set_mode(rec, t, PR_TSC_ENABLE);
}

struct err *rec_tsc_doubt(struct recorder *rec, struct rec_task *t)
{
	static const uint64_t for_ever = UINT64_MAX;
	static const uint8_t no;

	if (!t->mm->tsc_open)
		return NULL;
	t->mm->tsc_open = false;
	TRY(tell(t, offsetof(struct buf_state, tsc_open), &no, 1));
	TRY(tell(t, offsetof(struct buf_state, tsc_left), &for_ever, 8));
	return t->tsc_free ? set_mode(rec, t, PR_TSC_SIGSEGV) : NULL;
}

struct err *rec_tsc_mapped(struct recorder *rec, struct rec_task *t, uint64_t prot, bool shared)
{
	return prot & PROT_EXEC && (prot & PROT_WRITE || shared) ? rec_tsc_doubt(rec, t) : NULL;
}
