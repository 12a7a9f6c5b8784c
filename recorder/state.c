/*
 * state.c - name a point in the middle of computing.
 *
 * A task that computes for long without a system call must let others run, and take its signals.  The
 * recorder interrupts it after some milliseconds and writes a SWITCH event that names the point by the
 * task's state: registers, vector state, a window of the stack, what registers point to, and sums of the
 * rest.  Between two events a task is a deterministic function of its state, so replay comes through
 * this very state; replayer/landmark.c looks for it inside the process.
 *
 * For that search the point must be one where five bytes can become a jump: the task is stepped on until
 * it comes to such a place.  Where there is none near, it goes on computing and is tried again.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "recorder/internal.h"
#include "tracee/site.h"

enum { TICK_US = 5000, STEPS_MAX = 60, STACK_BELOW = 128, STACK_ABOVE = 1920, POINTED = 256,
       CONTENT_MAX = 64 << 10, SUM_MAX = 16 << 20 };

static void on_tick(int sig)
{
	(void)sig;	/* only to make waitpid return */
}

void rec_ticks_start(void)
{
	struct itimerval every = { { 0, TICK_US }, { 0, TICK_US } };
	struct sigaction sa = { .sa_handler = on_tick };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* An instruction that must not be stepped: it would make a call, or show the trap flag, or repeat. */
static bool may_step(pid_t tid, uint64_t rip)
{
	uint8_t code[16] = { 0 };
	unsigned len;

	tracee_read_some(tid, rip, code, sizeof(code));
	if ((code[0] == 0x0f && code[1] == 0x05) || code[0] == 0x9c || (code[0] == 0x66 && code[1] == 0x9c) ||
	    code[0] == 0xcc || code[0] == 0xcd)
		return false;
	if (code[0] == 0xf2 || code[0] == 0xf3) {
		uint8_t op = (code[1] & 0xf0) == 0x40 ? code[2] : code[1];

		if ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf))
			return false;
	}
	return trap_insn_at(code, &len) == TRAP_NONE;
}

/* Step to a place that replay can patch.  *good is false when there is none near; the task may then
 * be at another kind of stop, which is left in t->status. */
static struct err *to_good_place(struct recorder *rec, struct rec_task *t, struct regs *regs, bool *good)
{
	bool trap_blocked = (t->sigmask >> (SIGTRAP - 1) & 1) || t->sighand->action[SIGTRAP].handler == 1;
	struct site site;

	*good = false;
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		int status;

		TRY(tracee_regs_get(t->tid, regs));
		if (!may_step(t->tid, regs->rip))
			return NULL;
		*good = site_decode(t->tid, regs->rip, &site);
		if (*good || trap_blocked)
			return NULL;
		TRY(rec_resume(t, PTRACE_SINGLESTEP, 0));
		TRY(rec_wait_task(rec, t, &status));
		if (tracee_stop_kind(status) != STOP_SIGNAL || WSTOPSIG(status) != SIGTRAP)
			return NULL;
	}
	return NULL;
}

static void witness(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len)
{
	unsigned before = rec->effects;

	rec_effect_memory(rec, t, addr, len);
	if (rec->effects > before)
		rec->effect[before].kind = TRACE_WITNESS;
}

/* The program's own data: content as far as it is small, else a sum. */
static void witness_data(struct recorder *rec, struct rec_task *t, const struct tracee_maps *maps)
{
	uint64_t content = 0, summed = 0;

	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];
		uint64_t len = m->end - m->start;

		if ((m->prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE) || m->shared ||
		    !strcmp(m->name, "[stack]") || rec_is_scratch(t->mm, m))
			continue;
		if (len <= CONTENT_MAX && content + len <= 4 * CONTENT_MAX) {
			witness(rec, t, m->start, len);
			content += len;
		} else if (summed + len <= SUM_MAX) {
			rec_effect_sum(rec, t, m, m->inode != 0);
			summed += len;
		}
	}
}

static void witness_all(struct recorder *rec, struct rec_task *t, const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;
	enum { GENERAL = 15 };	/* r15 ... rdi */
	struct tracee_maps maps;
	struct err *err;

	witness(rec, t, regs->rsp - STACK_BELOW, STACK_BELOW + STACK_ABOVE);
	for (int i = 0; i < GENERAL; i++) {
		if (word[i] >= 0x10000 && word[i] - regs->rsp > STACK_ABOVE)
			witness(rec, t, word[i] & ~63ull, POINTED);
	}
	err = tracee_maps_read(t->tid, &maps);
	if (err) {
		err_free(err);
		return;
	}
	witness_data(rec, t, &maps);
	tracee_maps_deinit(&maps);
}

struct err *rec_name_point(struct recorder *rec, struct rec_task *t, bool *named)
{
	struct regs regs;
	bool good;

	*named = false;
	TRY(tracee_regs_get(t->tid, &regs));
	if (rec_not_moved(t, &regs)) {
		*named = true;
		t->state = TASK_READY;
		return NULL;
	}
	TRY(to_good_place(rec, t, &regs, &good));
	if (tracee_stop_kind(t->status) != STOP_EVENT &&
	    !(tracee_stop_kind(t->status) == STOP_SIGNAL && WSTOPSIG(t->status) == SIGTRAP))
		return NULL;	/* stepping met something else: it is handled as any stop */
	if (!good && t->unnamed_ticks++ < 20) {	/* try again a little later */
		t->state = TASK_READY;
		return NULL;
	}
	t->unnamed_ticks = 0;
	witness_all(rec, t, &regs);
	rec_effect_xstate(rec, t);
	rec_write(rec, t, TRACE_SWITCH, TRACE_AT_STATE, &regs, 0);
	t->last = regs;
	t->at_syscall = false;
	t->state = TASK_READY;
	*named = true;
	return NULL;
}
