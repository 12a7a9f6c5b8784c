/*
 * probe.h - code patched into a replayed process that logs and goes on.
 *
 * The functions with a task or a process require that it is stopped, and leave it stopped, where it
 * is.  After an error probes may be in a part of the processes; rp_probes_free() is due all the
 * same.
 */
#ifndef REPLAYER_PROBE_PROBE_H
#define REPLAYER_PROBE_PROBE_H

#include <signal.h>

#include "replayer/code/code.h"
#include "replayer/machine/machine.h"

enum { TOOL_PROBE = 1 };		/* its number: see machine/tool.h */

/*
 * The area is a shared mapping at the same low address in every probed process, and somewhere in
 * ours.  Low, so that stubs can name its words by absolute 32-bit addresses; above what the fixed
 * page reserves.
 *
 *	+0	COUNT	records until a stop, negative; 0 = the next hit traps
 *	+8	POS	where the next record goes, counted from the ring's end: negative
 *	+16	RCX, RAX, XMM: the program's, while a stub runs
 *	+104	DEREF	not 0: an entry has said that its result will be in memory
 *	+128	WEIGHTS	of the words of a fingerprint (stack.c)
 *	+256	REGS	the program's at the entry: rbx, rbp, r12 to r15, rdi, rsi, rdx
 *	+336	SITE, FLAGS	where a lookup is; flags during a walk
 *	+352	VISITS		of places that have a function inlined: outline.c
 *	+360	OUTLINED	what is compared with there, a word for each function
 *	+4096	RING	two halves: ring.c
 *	SITES, STACKS	hashes, addresses in the POOL
 */
#define PROBE_AREA	0x72000000
#define PROBE_RCX	0x72000010
#define PROBE_RAX	0x72000018
#define PROBE_XMM	0x72000020
#define PROBE_WEIGHTS	0x72000080
#define PROBE_REGS	0x72000100
#define PROBE_SITE	0x72000150
#define PROBE_FLAGS	0x72000158
#define PROBE_VISITS	0x72000160
#define PROBE_OUTLINED	0x72000168
#define PROBE_RING	0x72001000
#define PROBE_SITES	0x72101000
#define PROBE_STACKS	0x72181000
#define PROBE_POOL	0x72201000
#define PROBE_END	0x73000000
enum {
	PROBE_COUNT = PROBE_AREA,
	PROBE_POS = PROBE_AREA + 8,
	PROBE_DEREF = PROBE_AREA + 104,
	PROBE_RING_BYTES = 1024 * 1024,
	PROBE_RING_HALF = PROBE_RING_BYTES / 2,
	PROBE_RING_END = PROBE_RING + PROBE_RING_BYTES,
	PROBE_HASH = 65536,
	PROBE_AREA_BYTES = PROBE_END - PROBE_AREA,
	PROBE_RECORD_MAX = 48,
	PROBE_STUB_MAX = 1024,
	PROBE_STUBS_BYTES = 65536,	/* a mapping for stubs */
};
_Static_assert(PROBE_SITES == PROBE_RING_END && PROBE_STACKS == PROBE_SITES + 8 * PROBE_HASH &&
	       PROBE_POOL == PROBE_STACKS + 8 * PROBE_HASH, "one behind the other");

enum { PROBE_MOVED = 48, PROBE_INSNS = 6, PROBE_SITE_MAX = 24 };

struct rp_stub_code {
	uint8_t bytes[PROBE_STUB_MAX];
	unsigned len;
};

/* A place in one address space where a probe is. */
struct rp_patch {
	uint64_t addr;
	int probe;		/* index of probes->probe; -1: return of a call */
	bool jump;		/* else int3 */
	bool quiet;		/* its stub only counts */
	bool compare;		/* no probe: a comparison that is done in the stub */
	bool in;		/* in memory now */
	uint8_t bytes[PROBE_SITE_MAX];
	unsigned len;		/* bytes displaced (1 with int3) */
	uint64_t stub;		/* address; 0 = none */
	unsigned stub_len;
	uint16_t trap_count, trap_stack, again, body, moved;	/* offsets in the stub */
	/* displaced instructions: where they were and where they are, from .bytes and .moved */
	unsigned n;
	struct { uint8_t from, to; } insn[PROBE_INSNS];
};

struct rp_stubs {		/* a mapping for stubs */
	uint64_t start;
	unsigned used;
};

/* addresses.c: a set of them. */
struct rp_addresses {
	uint64_t *slot;
	unsigned n, slots;
};

struct rp_branches;		/* branches.c */

/* The room's data for one address space. */
struct rp_probed {
	struct rp_patch *patch;
	unsigned n, room;
	struct rp_stubs *stubs;
	unsigned stubs_n;
	struct rp_addresses returns;	/* of calls, that are patched as well as can be */
	struct rp_branches *branches;	/* of pages of code that were looked at, in order */
	unsigned branches_n, branches_room;
	bool mapped;		/* the area is there */
};

struct rp_probe {
	struct replay_probe def;
};

struct rp_deref {		/* a call whose result will be in memory */
	int tid;
	uint64_t rsp, addr;
};

/* outline.c: comparisons with addresses of functions. */
struct rp_compare {
	uint64_t addr;
	unsigned word;		/* of PROBE_OUTLINED */
};

struct rp_outline {
	enum replay_outline how;
	bool fails;		/* it cannot be done in this way */
	uint64_t points;	/* that were come to */
	uint64_t fn[REPLAY_OUTLINED];
	unsigned fns;
	struct rp_compare *compare;
	unsigned n, room;
	/* REPLAY_OUTLINE_ASIDE, see aside.c */
	bool mute;		/* what the ring gets is only counted */
	bool aside;		/* the copy runs */
	uint64_t entries, hits;	/* counted while mute */
	uint64_t mappings;	/* the same: changes of what is mapped, inside the part */
	uint64_t missed;	/* calls that no copy has made */
};

struct rp_probes {
	struct rp_deref deref[16];
	unsigned derefs;
	int pid;
	struct rp_probe *probe;
	unsigned n;
	uint8_t *area;		/* ours */
	int fd;
	/* entries whose records were handed out: the worker's, until rp_ring_sync() */
	uint64_t clock;
	uint64_t bound;		/* it is at most this */
	struct rp_worker *worker;
	uint64_t event;		/* done last, before what the ring holds */
	uint64_t hits_event;	/* the same of what was handed out last */
	bool second;		/* the ring's second half is being filled */
	bool quiet;		/* stubs only count */
	struct rp_outline outline;
	uint64_t count_was;	/* what COUNT was set to */
	uint64_t stop_at;	/* the next entry when clock is this stops */
	bool stopped;
	bool maps_changed;
	bool off;		/* nothing is to be in memory */
	uint64_t pool;		/* next free address in the area's pool */
	uint64_t learned;	/* stacks */
	struct rp_reads *reads;
	replay_hits_fn *hits;
	replay_stack_fn *stacks;
	replay_range_fn *range;
	void *range_ctx;
	replay_event_fn *events;
	replay_mapping_fn *mappings;
	void *ctx;
	uint64_t *known_return;	/* return addresses, to be patched in every copy of the process */
	unsigned known_n, known_room;
	struct rp_addresses known;	/* the same, to look one up */
};

static inline struct rp_probes *probes_of(const struct replay *r)
{
	return (struct rp_probes *)r->tool[TOOL_PROBE];
}

/* A word of the area, which is at addr in the processes. */
static inline uint64_t *rp_probe_word(const struct rp_probes *p, uint64_t addr)
{
	return (uint64_t *)(void *)(p->area + (addr - PROBE_AREA));
}

/* NULL: there are none in that memory. */
static inline struct rp_probed *probed_of(const struct rp_mm *mm)
{
	return (struct rp_probed *)mm->tool[TOOL_PROBE];
}

/* tool.c: the room as a tool of the machine's (tool.h), registered by rp_probe_open(). */
extern const struct run_ops rp_probe_ops;
/* Makes the replay one that can have probes, of this process (0: the first there is). */
struct err *rp_probe_open(struct replay *r, int pid, replay_hits_fn *hits, replay_stack_fn *stacks,
			  replay_range_fn *range, void *range_ctx, void *ctx) __must_check;
/*
 * outline.c: builds the stub of a comparison: fills p->bytes, len and the code.  False: the
 * instruction is no comparison.
 */
bool rp_compare_build(const struct rp_task *t, struct rp_patch *p, unsigned word,
		      struct rp_stub_code *ret);
/* Functions are inlined as in the recording, or outlined, from now on. */
void rp_outline_set(struct rp_probes *p, bool outlined);
/* Called around a search for a point. */
void rp_outline_search(struct rp_probes *p, bool begins);
/*
 * aside.c: a part of the recording, run once more in a copy.  begin: before the task runs to its
 * next event; end: it is there, and nothing of the event has been applied.  Where begin has left
 * *ret NULL, there is nothing to be done.
 */
struct rp_aside;
struct err *rp_aside_begin(struct replay *r, struct rp_task *t, struct rp_aside **ret) __must_check;
struct err *rp_aside_end(struct replay *r, struct rp_task *t, struct rp_aside *a) __must_check;
void rp_aside_drop(struct rp_aside *a);
/* Has the copy run for so long that its run is to end? */
bool rp_aside_late(const struct replay *r);
/* Patches the known return addresses from number `from' on, in copies to come, too. */
struct err *rp_probe_returns(struct replay *r, struct rp_task *t, unsigned from) __must_check;
/* Probes go into another process from now on, too. */
void rp_probe_follow(struct replay *r, int pid);
/* Puts probes into the task's process, where they are not yet; t may be NULL. */
struct err *rp_probe_task(struct replay *r, struct rp_task *t) __must_check;
/* Gives the records in the ring to the analysis. */
void rp_probe_drain(struct replay *r, const struct rp_task *t);
/* Finds the whole records in the ring that nobody has been handed yet: [*from, *to). */
void rp_ring_fresh(const struct rp_probes *p, const struct replay_hit **from,
		   const struct replay_hit **to);
/* Sets the ring's count, so that the run stops where rp_probe_until() has said. */
void rp_probe_set_count(struct replay *r);
/*
 * From now on a run stops at the first entry that comes when the clock is at `clock'.  Returns the
 * clock that was set before.
 */
uint64_t rp_probe_until(struct replay *r, uint64_t clock);
/* Takes all probes out of memory; they stay out of it until rp_probes_resume(). */
void rp_probes_suspend(struct replay *r);
void rp_probes_resume(struct replay *r);

/* room.c: maps the area in the task's process, where it is not yet. */
struct err *rp_probe_area_map(struct replay *r, struct rp_task *t) __must_check;
/* Finds room for a stub in reach of addr; *ret = NULL: there is none. */
struct err *rp_stub_room(struct rp_task *t, uint64_t addr, struct rp_stubs **ret) __must_check;

/*
 * stub.c: fills patch->bytes, len, insn and the code of its stub, for address patch->stub.  False:
 * cannot be patched.
 */
bool rp_stub_site(const struct rp_task *t, uint64_t addr, uint64_t start, uint64_t end,
		  struct rp_patch *p);
bool rp_stub_build(struct rp_patch *p, const struct replay_probe *def, bool quiet,
		   struct rp_stub_code *ret);

/* Instructions of a stub: mov between rcx and an absolute word. */
struct x86_code;
void rp_stub_store_rcx(struct x86_code *c, uint32_t word);
void rp_stub_load_rcx(struct x86_code *c, uint32_t word);

/* Reads code as the program has it, without what is patched.  Returns how much can be read. */
size_t rp_probe_text(const struct rp_task *t, uint64_t addr, void *buf, size_t len);

/*
 * branches.c: may a branch by 32 bits in code [start, end), of a file and not farther away than
 * that, lead to within (first, last)?  Bytes are looked at from every offset.
 */
enum { RP_BRANCHES_AROUND = 1 << 17 };
bool rp_branches_into(const struct rp_task *t, uint64_t start, uint64_t end, uint64_t first,
		      uint64_t last);
/* Code in [addr, addr+len) changes: its branches are read again. */
void rp_branches_forget(struct rp_probed *pd, uint64_t addr, uint64_t len);
void rp_branches_free(struct rp_probed *pd);

/*
 * The result of a call can also be seen a little after its return, where the instruction there
 * jumps away or does not touch rax.  Returns the next place to try, 0 = none.
 */
uint64_t rp_stub_later(const struct rp_task *t, uint64_t addr);

/* stack.c: the code that finds the number of a stack, in eax; rcx and rax are free behind it. */
extern const uint8_t rp_lookup[], rp_lookup_again[], rp_lookup_next[], rp_lookup_miss[],
	rp_lookup_end[];
void rp_stacks_reset(struct rp_probes *p);
/*
 * The task is at the first instruction of a function that will return to ret, with these
 * registers, and its stack has no number yet.
 */
void rp_stack_learn(struct replay *r, struct rp_task *t, const struct regs *regs, uint64_t ret);
/* The task has faulted in a stub.  True: it was in the stub's lookup, which goes on. */
bool rp_stack_fault(struct replay *r, struct rp_task *t, const struct rp_patch *patch);

/* reads.c: reads memory of a task that stands still from begin on.  False: it is not there. */
void rp_reads_begin(struct rp_probes *p, const struct rp_task *t);
bool rp_reads(struct rp_probes *p, uint64_t addr, void *ret, size_t len);

bool rp_addresses_has(const struct rp_addresses *a, uint64_t addr);
/* Adds an address.  False: it was there already. */
bool rp_addresses_add(struct rp_addresses *a, uint64_t addr);
void rp_addresses_clear(struct rp_addresses *a);
void rp_addresses_copy(struct rp_addresses *to, const struct rp_addresses *from);

/* ring.c: gives records of one half of the ring to the analysis, soon or at once. */
void rp_ring_take(struct rp_probes *p, int tid, const struct replay_hit *from,
		  const struct replay_hit *to);
/* Finds those among the entries [h, end) whose results will be in memory. */
void rp_ring_derefs(struct rp_probes *p, int tid, const struct replay_hit *h,
		    const struct replay_hit *end);
/* Waits until the analysis has seen all that was taken, and is not at work. */
void rp_ring_sync(struct rp_probes *p);
void rp_ring_free(struct rp_probes *p);

/* probe.c, for the rest of the room */
enum rp_probe_stop { PROBE_NOT_OURS, PROBE_GO_ON, PROBE_STOPPED };
/* The task has stopped for a signal: is that a probe's?  GO_ON: resume the task. */
struct err *rp_probe_signal(struct replay *r, struct rp_task *t, const siginfo_t *info,
			    enum rp_probe_stop *ret) __must_check;
/*
 * Makes *ret the registers that the program would have, when the task has faulted on a displaced
 * instruction; else returns false.
 */
bool rp_probe_translate(const struct rp_task *t, struct regs *ret);
/* Take patches out of memory, and put them in again; what is done already is left. */
void rp_probe_out(struct replay *r, struct rp_mm *mm, pid_t real);
void rp_probe_in(struct replay *r, struct rp_mm *mm, pid_t real);
/* Is this mapping ours? */
bool rp_probe_mapping(const struct rp_mm *mm, uint64_t start);
/* Makes bytes, read at addr, what they are without patches. */
void rp_probe_hide(const struct rp_mm *mm, uint64_t addr, void *bytes, size_t len);
/* A point in computing code at rip is looked for: makes sure that no jump of ours covers it. */
void rp_probe_narrow(struct rp_task *t, const struct replay *r, uint64_t rip);
/* An event is about to change mappings in [addr, addr+len): probes and stubs there go. */
void rp_probe_yield(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
/* child is a new process, with a copy of the patched memory. */
void rp_probe_forked(struct replay *r, struct rp_task *child);
/*
 * For probe_fine.c.  The next event is the end of the probed process; its first task; processes are
 * as they were at this clock.
 */
bool rp_probe_end(struct replay *r);
struct rp_task *rp_probed_task(const struct replay *r);
void rp_probe_restored(struct replay *r, uint64_t clock);
struct rp_probed *rp_probed_copy(const struct rp_probed *p);
void rp_probed_free(struct rp_probed *p);
void rp_probes_free(struct replay *r);

#endif
