/*
 * count.c - how many conditional branches a task has retired since its last event.
 *
 * By a hardware counter for each task, which runs along; or by single steps (--ticks=step), where
 * the task does nothing that is not looked at: 17 us an instruction.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/internal.h"

void rec_ticks_restart(struct rec_task *t)
{
	t->ran_ns = 0;
	t->ticks = 0;
	t->ticks_unknown = false;
	if (t->ticks_fd > 0)
		ticks_reset(t->ticks_fd);
}

/*
 * The counter is opened at the first event that finds the task without; what came before is not
 * known.
 */
static bool counter_now(struct rec_task *t, uint64_t *ret)
{
	struct err *err;

	if (t->ticks_fd > 0) {
		*ret = ticks_read(t->ticks_fd);
		return true;
	}
	err = t->ticks_fd ? NULL : ticks_open(t->tid, 0, 0, &t->ticks_fd);
	if (err)
		t->ticks_fd = -1;
	err_free(err);
	return false;
}

bool rec_ticks_now(struct recorder *rec, struct rec_task *t, uint64_t *ret)
{
	*ret = 0;
	if (rec->options->ticks == TICKS_PMU)
		return counter_now(t, ret);
	*ret = t->ticks;
	return rec->options->ticks == TICKS_STEP && !t->ticks_unknown;
}

enum { SLICE_NS = 15000000, TRAP_FLAG = 0x100 };

static bool is_step(pid_t tid, int status)
{
	siginfo_t info;

	return tracee_stop_kind(status) == STOP_SIGNAL && WSTOPSIG(status) == SIGTRAP &&
	       ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 &&
	       (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT);
}

struct err *rec_run_steps(struct recorder *rec, struct rec_task *t, int sig)
{
	uint64_t start = now_ns();

	for (;;) {
		uint64_t now = now_ns();
		uint8_t code[16] = { 0 };
		bool call, named;
		struct regs regs;
		int status;

		TRY(tracee_regs_get(t->tid, &regs));
		tracee_read_some(t->tid, regs.rip, code, sizeof(code));
		/* a step would show the trap flag in r11 */
		call = code[0] == 0x0f && code[1] == 0x05;
		t->ticks += ticks_is_branch(code);
		TRY(rec_resume(t,
			       !call	       ? PTRACE_SINGLESTEP
			       : t->every_call ? PTRACE_SYSCALL
					       : PTRACE_CONT,
			       sig));
		sig = 0;
		TRY(rec_wait_task(rec, t, &status));
		if (!is_step(t->tid, status)) {
			t->ticks -= ticks_is_branch(code);	/* a signal came first */
			break;
		}
		if (!(regs.eflags & TRAP_FLAG))
			step_hide(t->tid, code);
		if (now - start > SLICE_NS)
			rec_hear_others(rec);
		if (!(t->deferred_n && now - t->deferred_ns >= t->patience_ns) &&
		    !(now - start > SLICE_NS && rec_others_ready(rec, t)))
			continue;
		TRY(rec_name_point(rec, t, &named));
		if (t->state != TASK_READY)
			return NULL;
		if (named)
			break;
	}
	t->ran_ns += now_ns() - start;
	return NULL;
}
