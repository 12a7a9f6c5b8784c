/*
 * spin.c - loops that only wait for another thread to change memory.
 *
 * On one processor such a loop takes as much time as whoever it waits for, so its slice must end
 * early; and where it ends must have a name, which is dear in computing code (state.c).  So once a
 * task is seen in such a loop, its `pause' becomes a jump to a stub that counts and traps now and
 * then (PATCH_SPIN).  The trap is an event as that of an rdtsc is, with `pause' as the
 * instruction that was done, and replay comes to it by itself.  Loops without a `pause', in
 * generated code, and where no jump has room, are left as they are: slice.c looks at them from time
 * to time.
 */
#include <string.h>

#include "recorder/internal.h"
#include "tracee/site.h"

struct window { uint64_t from; size_t n; uint8_t code[2 * SPIN_NEAR + 16]; };

/* Does one instruction after another, from rip on, begin at `at`? */
static bool comes_to(const struct window *w, uint64_t rip, uint64_t at)
{
	struct x86_instr insn;

	for (uint64_t p = rip; p < at; p += insn.len) {
		size_t off = (size_t)(p - w->from);

		if (off >= w->n || !x86_instr_at(w->code + off, w->n - off, &insn))
			return false;
		if (p + insn.len == at)
			return true;
	}
	return rip == at;
}

static bool pause_at(const struct rec_task *t, const struct window *w, uint64_t rip, size_t i)
{
	uint64_t at = w->from + i;

	if (w->code[i] != 0xf3 || w->code[i + 1] != 0x90)
		return false;
	return at >= rip ? comes_to(w, rip, at) : site_insn_starts(t->tid, at, at + 2);
}

void rec_spin_patch(struct recorder *rec, struct rec_task *t, uint64_t rip)
{
	struct window w = { .from = rip - SPIN_NEAR };

	if (!t->mm->buf.on || t->mm->buf.off || t->every_call)
		return;
	w.n = tracee_read_some(t->tid, w.from, w.code, sizeof(w.code));
	for (size_t i = 0; i + 2 < w.n && i < 2 * SPIN_NEAR; i++) {
		if (pause_at(t, &w, rip, i))
			rec_buffer_site(rec, t, w.from + i, PATCH_SPIN);
	}
}

bool rec_spin_is_trap(const struct rec_task *t, int sig, const siginfo_t *info,
		      const struct regs *regs)
{
	const struct patch *p;

	if (sig != SIGILL || info->si_code <= 0 || !t->mm->buf.on)
		return false;
	p = patches_at(&t->mm->buf.patches, regs->rip);
	return p && p->kind == PATCH_SPIN && p->addr == regs->rip;
}

struct err *rec_spin_trapped(struct recorder *rec, struct rec_task *t, const struct regs *regs)
{
	enum { PAUSE_LEN = 2 };
	struct regs after = *regs;

	TRY(rec_buffer_flush(rec, t, true));
	after.rip += PAUSE_LEN;
	TRY(rec_trap_done(rec, t, SIGILL, regs, &after));
	rec_slice_spun(rec, t);
	return NULL;
}
