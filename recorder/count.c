/*
 * count.c - how many conditional branches a task has retired since its last event.
 *
 * By a hardware counter for each task, which runs along; or by single steps (--ticks=step,
 * steps.c), where the task does nothing that is not looked at: 17 us an instruction.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/internal.h"

void rec_ticks_restart(struct rec_task *t)
{
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

bool rec_ticks_counted(const struct recorder *rec)
{
	return rec->options->ticks == TICKS_PMU || rec->options->ticks == TICKS_STEP;
}

bool rec_ticks_now(struct recorder *rec, struct rec_task *t, uint64_t *ret)
{
	*ret = 0;
	if (rec->options->ticks == TICKS_PMU)
		return counter_now(t, ret);
	*ret = t->ticks;
	return rec->options->ticks == TICKS_STEP && !t->ticks_unknown;
}
