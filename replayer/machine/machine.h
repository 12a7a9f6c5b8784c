/*
 * machine.h - caged processes that do again what was recorded: run to the next event, compare,
 * apply.  Here are the structures; each file's functions are in a header of its name.  The machine
 * knows no tool (tool.h).
 */
#ifndef REPLAYER_MACHINE_MACHINE_H
#define REPLAYER_MACHINE_MACHINE_H

#include <sys/types.h>

#include "abi/layout.h"
#include "abi/page.h"
#include "base/bug.h"
#include "base/clock.h"
#include "base/log.h"
#include "replayer/machine/tool.h"
#include "replayer/replay.h"
#include "tracee/cpu.h"
#include "tracee/inject.h"
#include "tracee/maps.h"
#include "tracee/pages.h"
#include "tracee/patch.h"
#include "tracee/pun.h"
#include "tracee/ptrace.h"
#include "tracee/registers.h"
#include "tracee/ticks.h"

/*
 * A range backed by a shared object: writes that the mapping's protection refuses go to the object.
 */
struct rp_shared {
	struct rp_shared *next;
	uint64_t addr, len, offset;
	uint32_t object;
};

/* A stack that grows by itself: mapped down to lowest so far. */
struct rp_grow {
	struct rp_grow *next;
	uint64_t lowest, end;
	int prot;
};

/* Memory that a fork leaves out or clears: nofork.c. */
struct rp_nofork {
	struct rp_nofork *next;
	uint64_t addr, end;
	int advice;		/* MADV_DONTFORK or MADV_WIPEONFORK */
};

enum { RP_CODE = 32 };

struct rp_mm {
	unsigned users;
	struct rp_nofork *nofork;
	struct rp_shared *shared;
	struct rp_grow *grow;
	struct patches patches;	/* calls that jump to the hook: abi/buffer.h */
	bool new_patches;	/* some have come since somebody has last cleared this */
	/*
	 * serial of the task whose records were put into its buffer; 0: all are used up, for
	 * certain
	 */
	uint32_t calls;
	struct rp_lot *lot;	/* ... the records, until they are (lot.h), or NULL */
	struct { uint64_t addr, end; } code[RP_CODE];	/* what could be executed: assist.h */
	unsigned code_n;	/* more than RP_CODE: anything */
	void *auxv;		/* of its exec, for debuggers */
	size_t auxv_len;
	void *tool[TOOLS];	/* see tool.h */
};

struct rp_task {
	struct rp_task *next;
	uint32_t serial;
	pid_t rec_tid, rec_pid;	/* as the program knew them */
	pid_t real;		/* 0 until its exec, for the first task */
	struct rp_mm *mm;
	struct regs regs;	/* what it will go on with */
	bool dirty;		/* regs differ from the kernel's copy */
	/* where no tool watches (tool.h): the kernel's copy, while nothing has changed it since */
	struct regs raw;
	bool raw_known;
	bool from_hook;		/* it stopped at a call that the hook left to us */
	bool restartable;	/* its last event was the end of a call: see rp_restart_call() */
	uint64_t nr;		/* number of its last system call */
	char name[17];
	/*
	 * while regs.rip is shown, it goes on at stub, where patch_resume() would not say so; stub
	 * 0: no such place
	 */
	uint64_t shown, stub;
	bool in_call;		/* between TRACE_SYSCALL_ENTER and TRACE_SYSCALL_EXIT */
	int64_t in_nr;		/* of that call */
	uint32_t tool_word[TOOLS];	/* of tools, for this very thread: 0 in a new one */
};

/* An object of the trace, as replay has it. */
struct rp_object {
	bool defined;
	bool sized;		/* the trace tells its size: mappings do not make it longer */
	bool anonymous;		/* once nobody maps it any more, nobody ever will */
	enum trace_object_kind kind;	/* what it is now: of a FILE, LIVE makes a SHARED */
	int fd;			/* -1 until it is needed, and while it is saved */
	struct rp_saved *saved;	/* its content, or NULL */
	uint64_t size;
	struct trace_effect effect;	/* data is owned */
};

struct replay {
	struct replay_options options;
	struct trace_reader *reader;
	char *dir;
	struct rp_task *tasks;
	struct rp_object *objects;
	uint32_t objects_n;
	unsigned memfds_made;	/* since it was last looked which of them are mapped */
	pid_t zygote;		/* an empty process: every exec starts as a copy of it */
	struct regs zygote_regs;
	uint64_t where;
	uint32_t root;		/* serial of the first task */
	int root_status;
	bool root_done;
	struct mem_sum *sum;
	bool cpuid_trapped;
	/*
	 * Points are found by counting branches, those in the hook, too: processes have the hook
	 * that goes the same way as in the recording (syscallbuf/flow.c).
	 */
	bool counts_in_hook;
	struct rp_machine *machine;	/* processor.c */
	/* the event being worked on */
	struct trace_event ev;
	bool ev_read;		/* ev is event where+1 */
	bool pending;		/* its task has got there; effects are not applied */
	struct tracee_mem mem;	/* while its effects are applied: the task's memory, for writes */
	struct rp_list *list;	/* ... and what is still to be made of them: list.h; or NULL */
	bool page_protected;	/* effect_protect_page() has done it for ev: no checkpoints */
	uint64_t protected_page;
	int protected_prot;
	/* tools (tool.h) */
	void *tool[TOOLS];
	/*
	 * A tool makes the program do the same by other instructions: what is left over in
	 * registers that a system call does not read may be another.
	 */
	bool outlines;
	/*
	 * Run the task to the point inside computing code that the event describes
	 * (TRACE_AT_STATE), or that is one instruction on (TRACE_AT_STEP).  &rp_stopped: a tool has
	 * stopped it before.
	 */
	struct err *(*find_point)(struct replay *r, struct rp_task *t,
				  const struct trace_event *ev);
	struct err *(*find_step)(struct replay *r, struct rp_task *t, const struct trace_event *ev);
};

#endif
