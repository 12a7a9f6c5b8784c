/*
 * state.c - name a point in the middle of computing.
 *
 * A task that computes for long without a system call must let others run, and take its signals.  The
 * recorder interrupts it after some milliseconds and writes a SWITCH event that names the point by the
 * task's state: registers, vector state and memory (witness.c).  Between two events a task is a deterministic
 * function of its state, so replay comes through this very state; replayer/landmark.c looks for
 * it inside the process.
 *
 * For that search the point must be one where a jump can be put (tracee/pun.h): nearly all are.  Not in the middle
 * of a repeated string instruction, which has one address for all of its turns: the task goes on to its end.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/internal.h"
#include "tracee/pun.h"

enum { TICK_US = 5000, STEPS_MAX = 12 };

static void on_tick(int sig)
{
	(void)sig;	/* only to make waitpid return */
}

void rec_tick_in(uint64_t first_ns)
{
	struct itimerval every = { { 0, TICK_US }, { 0, first_ns / 1000 ? (long)(first_ns / 1000 % 1000000) : 1 } };

	setitimer(ITIMER_REAL, &every, NULL);
}

void rec_ticks_start(void)
{
	struct sigaction sa = { .sa_handler = on_tick };

	sigaction(SIGALRM, &sa, NULL);
	rec_tick_in(TICK_US * 1000);
}

/* ---- the place ------------------------------------------------------------------------------ */

enum place {
	PLACE_STEP,	/* may be stepped over */
	PLACE_EVENT,	/* this instruction is an event of its own */
	PLACE_REP,	/* repeats: one address, many states */
	PLACE_ODD,	/* shows the trap flag, or traps */
};

static enum place place_of(pid_t tid, uint64_t rip, unsigned *len)
{
	uint8_t code[16] = { 0 };
	unsigned i = 0, trap_len;
	bool rep = false;

	*len = 0;
	tracee_read_some(tid, rip, code, sizeof(code));
	if ((code[0] == 0x0f && code[1] == 0x05) || trap_insn_at(code, &trap_len) != TRAP_NONE)
		return PLACE_EVENT;
	while (i < 8 && (code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x66 || code[i] == 0x67 || code[i] == 0x2e ||
			 code[i] == 0x3e || code[i] == 0x64 || code[i] == 0x65 || (code[i] & 0xf0) == 0x40)) {
		rep |= code[i] == 0xf2 || code[i] == 0xf3;
		i++;
	}
	*len = i + 1;
	if (rep && ((code[i] >= 0xa4 && code[i] <= 0xa7) || (code[i] >= 0xaa && code[i] <= 0xaf)))
		return PLACE_REP;
	return code[i] == 0x9c || code[i] == 0xcc || code[i] == 0xcd ? PLACE_ODD : PLACE_STEP;
}

/* A SIGTRAP that is ours would reset what the program has set (force_sig_info_to_task). */
static bool trap_blocked(const struct rec_task *t)
{
	return (t->sigmask >> (SIGTRAP - 1) & 1) || t->sighand->action[SIGTRAP].handler == 1;
}

/* Resume to a SIGTRAP; *met: another stop came first, and is to be handled as any. */
static struct err *go_on(struct recorder *rec, struct rec_task *t, int request, bool *met)
{
	int status;

	TRY(rec_resume(t, request, 0));
	TRY(rec_wait_task(rec, t, &status));
	*met = tracee_stop_kind(status) != STOP_SIGNAL || WSTOPSIG(status) != SIGTRAP;
	return NULL;
}

/* By a breakpoint behind it: a step would be one turn, and 17 us. */
static struct err *past_rep(struct recorder *rec, struct rec_task *t, uint64_t next, bool *met)
{
	static const uint8_t int3 = 0xcc;
	struct regs regs;
	uint8_t saved;

	TRY(tracee_read(t->tid, next, &saved, 1));
	TRY(tracee_write(t->tid, next, &int3, 1));
	TRY(go_on(rec, t, PTRACE_CONT, met));
	TRY(tracee_write(t->tid, next, &saved, 1));
	if (*met)
		return NULL;
	TRY(tracee_regs_get(t->tid, &regs));
	regs.rip = next;
	return tracee_regs_set(t->tid, &regs);
}

/* *good is false when there is no place near that replay can patch. */
static struct err *to_good_place(struct recorder *rec, struct rec_task *t, struct regs *regs, bool *good, bool *met)
{
	bool blocked = trap_blocked(t);
	struct pun pun;
	unsigned len;

	*good = *met = false;
	for (unsigned i = 0; i < STEPS_MAX && !*met; i++) {
		enum place place;

		TRY(tracee_regs_get(t->tid, regs));
		place = place_of(t->tid, regs->rip, &len);
		if (place == PLACE_EVENT)
			return NULL;
		*good = place != PLACE_REP && pun_decode(t->tid, regs->rip, &pun);
		if (*good || blocked || place == PLACE_ODD)
			return NULL;
		if (place == PLACE_REP)
			TRY(past_rep(rec, t, regs->rip + len, met));
		else
			TRY(go_on(rec, t, PTRACE_SINGLESTEP, met));
	}
	return NULL;
}

/* ---- the event ----------------------------------------------------------------------------------- */

/* Processor time of a task in ns; 0 where the system does not tell. */
static uint64_t cpu_ns(pid_t tid)
{
	char path[64], text[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return strtoull(text, NULL, 10);
}

/* How long it has computed since its last event: hints for replay, not more. */
static uint64_t computed_ns(struct rec_task *t)
{
	uint64_t cpu = cpu_ns(t->tid), since = cpu - t->cpu_ns;

	t->cpu_ns = cpu;
	return cpu && since < t->ran_ns ? since : t->ran_ns;
}

struct err *rec_name_point(struct recorder *rec, struct rec_task *t, bool *named)
{
	struct trace_effect *e;
	struct regs regs;
	bool good, met, whole;
	uint64_t computed;

	*named = false;
	TRY(tracee_regs_get(t->tid, &regs));
	if (rec_not_moved(t, &regs)) {
		*named = true;
		t->state = TASK_READY;
		return NULL;
	}
	TRY(to_good_place(rec, t, &regs, &good, &met));
	if (met)
		return NULL;	/* stepping met something else: it is handled as any stop */
	t->state = TASK_READY;
	if (!good)
		return NULL;	/* an event of its own comes next, or another place a little later */
	computed = computed_ns(t);
	whole = rec_witness(rec, t, &regs);
	rec_effect_xstate(rec, t);
	e = rec_effect(rec, TRACE_POINT);
	e->x = computed;
	e->object = !whole;
	rec_write(rec, t, TRACE_SWITCH, TRACE_AT_STATE, &regs, 0);
	t->last = regs;
	t->at_syscall = false;
	*named = true;
	return NULL;
}
