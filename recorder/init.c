/*
 * init.c - the first process of a pid namespace, which no default action of a signal ends.
 *
 * The kernel keeps that from it (SIGNAL_UNKILLABLE), but not when the process itself faults: then
 * it takes the protection away, and the process dies (force_sig_info_to_task(), kernel/signal.c).
 * Except when the thread is traced: the signal is told to the tracer, and then ignored; the fault
 * repeats for ever.  So a thread that dies of a fault is let go, and faults once more, alone.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "recorder/internal.h"

enum { TRIES = 2000, YIELDS = 50, STEP_US = 500 };

bool rec_is_init(const struct rec_task *t)
{
	char path[64], line[512];
	int numbers = 0, last = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", t->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *at = line + strlen("NStgid:"), *end;

		if (strncmp(line, "NStgid:", strlen("NStgid:")))
			continue;
		for (long n = strtol(at, &end, 10); end != at; n = strtol(at, &end, 10)) {
			numbers++;
			last = (int)n;
			at = end;
		}
		break;
	}
	if (f)
		fclose(f);
	return numbers > 1 && last == 1;
}

/* A breakpoint instruction has been executed when its signal comes: back to it. */
static struct err *back_to_fault(struct rec_task *t, int sig)
{
	struct regs regs;
	uint8_t code[2];

	TRY(tracee_regs_get(t->tid, &regs));
	regs.orig_rax = (uint64_t)-1;
	if (sig == SIGTRAP && tracee_read_some(t->tid, regs.rip - 2, code, 2) == 2) {
		if (code[1] == 0xcc || code[1] == 0xf1)
			regs.rip -= 1;
		else if (code[0] == 0xcd && code[1] == 3)
			regs.rip -= 2;
	}
	return tracee_regs_set(t->tid, &regs);
}

struct err *rec_init_dies(struct recorder *rec, struct rec_task *t, int sig)
{
	TRY(back_to_fault(t, sig));
	rec_task_dying(rec, t, sig);
	if (ptrace(PTRACE_DETACH, t->tid, NULL, NULL) < 0)
		return &err_gone;
	for (unsigned i = 0; i < TRIES && !rec_task_is_dying(t->tid); i++) {
		if (i < YIELDS)
			sched_yield();
		else
			usleep(STEP_US);
	}
	if (!rec_task_is_dying(t->tid))		/* somebody has mended what it had faulted at */
		kill(t->pid, SIGKILL);
	rec_task_exited(rec, t, sig);
	return NULL;
}
