/*
 * steps.c - a task in user mode by single steps (--ticks=step), so that its branches are counted.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/ptrace.h"

enum { SLICE_NS = 15000000, TRAP_FLAG = 0x100, INTERRUPTED = SIGTRAP | PTRACE_EVENT_STOP << 8 };

static bool is_step(pid_t tid, int status)
{
	siginfo_t info;

	return tracee_stop_kind(status) == STOP_SIGNAL && WSTOPSIG(status) == SIGTRAP &&
	       ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 &&
	       (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT);
}

/* In the hook or a stub of it: a point there would not be the program's. */
static bool is_ours(struct rec_task *t)
{
	enum patch_where where;
	struct regs regs;
	struct err *err = rec_regs_get(t, &regs, &where);
	bool ours = !err && where != PATCH_NOWHERE;

	err_free(err);
	return ours;
}

struct err *rec_run_steps(struct recorder *rec, struct rec_task *t, int sig)
{
	static const uint8_t nothing[16];
	uint64_t start = now_ns();

	for (;;) {
		uint64_t now = now_ns();
		uint8_t code[16] = { 0 };
		bool call, named, in_hook;
		struct regs regs;
		int status;

		TRY(tracee_regs_get(t->tid, &regs));
		tracee_read_some(t->tid, regs.rip, code, sizeof(code));
		in_hook = regs.rip >= FIXED_PAGE && regs.rip < FIXED_END;
		/* a step would show the trap flag in r11, which the hook does not use */
		call = code[0] == 0x0f && code[1] == 0x05 && !in_hook;
		t->ticks += ticks_is_branch(code);
		/*
		 * An interrupt comes before the trap of a step, which may have been done or not: it
		 * has once it traps.
		 */
		do {
			TRY(rec_resume(t,
				       !call	       ? PTRACE_SINGLESTEP
				       : t->every_call ? PTRACE_SYSCALL
						       : PTRACE_CONT,
				       sig));
			sig = 0;
			TRY(rec_wait_task(rec, t, &status));
		} while (!call && status >> 8 == INTERRUPTED);
		if (!is_step(t->tid, status)) {
			t->ticks -= ticks_is_branch(code);	/* a signal came first */
			if (tracee_stop_kind(status) == STOP_SIGNAL && !(regs.eflags & TRAP_FLAG))
				step_hide(t->tid, nothing);
			break;
		}
		if (!(regs.eflags & TRAP_FLAG))
			step_hide(t->tid, code);
		if (now - start > SLICE_NS)
			rec_hear_soon(rec);
		if (is_ours(t))
			continue;	/* nobody stays there */
		if (!(t->deferred.n && now - t->deferred_ns >= t->patience_ns) &&
		    !(now - start > SLICE_NS && rec_others_ready(rec, t)))
			continue;
		TRY(rec_buffer_flush(rec, t, false));
		TRY(rec_name_point(rec, t, &named));
		if (t->state != TASK_READY)
			return NULL;
		if (named)
			break;
	}
	t->ran_ns += now_ns() - start;
	return NULL;
}
