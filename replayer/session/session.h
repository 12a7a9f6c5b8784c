/*
 * session.h - what a debugger or an analysis asks of a stopped replay.
 */
#ifndef REPLAYER_SESSION_SESSION_H
#define REPLAYER_SESSION_SESSION_H

#include "replayer/probe/probe.h"
#include "replayer/reverse/reverse.h"

/* Memory of a debugger's in copies of the program: debugger_memory.c. */
struct debugger_memory { int pid, prot; uint64_t addr, len; uint8_t *bytes; };

enum { TOOL_SESSION = 5 };		/* its number: see machine/tool.h */
/* This room's data for a replay are in replay.tool[TOOL_SESSION]. */
struct session {
	struct position diversion_pos;
	struct regs diversion_regs;
	int diversion_tid;
	bool diversion_told;
	struct regs diversion_fault;	/* of the copy's last fault */
	struct debugger_memory *memory;
	unsigned memory_n, memory_next;
};

static inline struct session *session_of(const struct replay *r)
{
	return (struct session *)r->tool[TOOL_SESSION];
}

/* tool.c: all that a replay needs for stops: this room, and those below it. */
struct err *rp_session_open(struct replay *r) __must_check;

/* diversion.c: all tasks are stopped in each of these. */
/* Is there a diversion: a copy of the program with other registers or memory? */
bool diversion_on(const struct replay *r);
/* Has the debugger changed registers of the copy, so that going on means the copy? */
bool diversion_runs(const struct replay *r);
/*
 * Runs the copy, which must be on, to its next stop, or by one instruction (step).  A copy that
 * dies is a stop by SIGKILL, and the replay is back in the recording.  After an error the copy is
 * somewhere on the way; diversion_end() works.
 */
struct err *diversion_run(struct replay *r, bool step, struct replay_stop *ret);
/*
 * Throws the copy away and goes back to where the recording was left; nothing happens where no copy
 * is on.  After an error there is no copy, and the replay is not at that position.
 */
struct err *diversion_end(struct replay *r);

/* debugger_memory.c: t is stopped in a copy. */
/*
 * Maps len bytes with prot in the copy, at an address that stays the same in later copies: *ret.
 * After an error nothing is mapped or noted.
 */
struct err *debugger_memory_new(struct replay *r, struct rp_task *t, uint64_t len, int prot,
				uint64_t *ret);
/* Gives memory back that begins at addr.  After an error the memory is still there. */
struct err *debugger_memory_give_back(struct replay *r, struct rp_task *t, uint64_t addr);
/*
 * A copy begins: the memory of its process is mapped and filled, one piece after the other; an
 * error leaves the pieces before.  A copy ends: the bytes are kept for the next one.
 */
struct err *debugger_memory_in(struct replay *r, struct rp_task *t);
void debugger_memory_keep(struct replay *r, const struct rp_task *t);
/* Reads from the kept bytes while there is no copy; returns how many there are, at most len. */
size_t debugger_memory_read(const struct replay *r, int pid, uint64_t addr, void *buf, size_t len);
void debugger_memory_deinit(struct session *session);

/* A value of the auxiliary vector that the program got at its last exec; 0 = it is not there. */
uint64_t rp_auxv_value(const struct rp_mm *mm, uint64_t type);
/* elsewhere.c: can other processes write to that memory of the task? */
bool rp_memory_shared(const struct rp_task *t, uint64_t addr);
/* vdso_file.c: replay_file() of "[vdso]"; the caller closes *fd_ret. */
struct err *rp_vdso_file(struct replay *r, int *fd_ret) __must_check;

#endif
