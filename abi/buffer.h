/*
 * buffer.h - what recorder, replayer and the code in the tracee (syscallbuf/) agree on.
 *
 * A patched call site jumps to a stub of its own; the stub jumps to the hook, which lies at
 * FIXED_BLOB:
 *
 *      site                stub (near the site)                      hook
 *      jmp stub  ------->  displaced instructions before the call
 *                          mov %rsp,(STATE); ...; jmp *STATE.hook --> registers saved on its own
 *                          stack
 *                          syscall   <-------- "this one traced" ---- by a jump to STATE.jump
 *                          displaced instructions after  <-- "done" -
 *      next insn <-------  jmp back
 *
 * While recording, the hook makes the call by the instruction at FIXED_UNTRACED, which the seccomp
 * filter lets through, and appends a record to the buffer.  In replay another hook takes the next
 * record, puts its bytes where they belong and returns its result; when there is none left it goes
 * the traced way, and that call is an event of the trace.  So replay makes no decision that
 * recording made: what may block, what fits, which descriptor is what.  The two hooks run different
 * instructions, on purpose: the replay one costs a tenth, and state witnesses do not care.
 *
 * A counter of branches does: it counts in the hook, too.  Recordings with one have a third hook
 * (syscallbuf/flow.c), which is run in recording and in replay and goes the same way there: all
 * that it decides by and that is not the program's own (results of calls, what the recorder told
 * it) is noted in recording, one word after the other at FIXED_FLOW, and taken from there in
 * replay.  Its records are as those of the other; a replay without a counter takes them by the
 * short hook.
 *
 * One task of the whole tree is in user mode at a time, the recorder reads the buffer at every
 * stop, and nobody is switched to while a task is inside the hook; so one buffer and one stack for
 * each address space do.
 *
 * A call that would sleep is traced; but between tasks that do that often the processor goes from
 * one to the other without a stop (syscallbuf/block.c, recorder/hook_block.c).  One word in memory
 * shared by the whole tree, the token, says who may run: a task's serial number,
 * TOKEN_RECORDER, or 0.  Who would sleep notes the call (BUF_NR_BLOCK), lays down the token and
 * sleeps in a place of its own; who wakes up takes it, or waits, and notes the result
 * (BUF_NR_UNBLOCK).  The recorder makes of these notes the events that it would have written
 * itself, so replay knows nothing of all this.
 */
#ifndef ABI_BUFFER_H
#define ABI_BUFFER_H

#include "abi/layout.h"

/*
 * Offsets in struct buf_state that stubs and assembly use; part of the trace format (stubs are
 * recorded).
 */
#define STATE_RSP	0
#define STATE_HOOK	8
#define STATE_CPUID	16
#define STATE_JUMP	24
#define STATE_TSC	32
#define STATE_BLOCK_STACK	40
#define STATE_SPIN_RCX	48
#define STATE_SPINS	56

/* In front of a stub's code, at the address that the stub passes in rcx: */
#define STUB_AFTER \
	0 /* u64: what the kernel leaves in rcx: address behind the syscall instruction */
#define STUB_TRACED 8 /* u64: where to jump to make the call in the traced way */
#define STUB_CONT   16 /* u64: ... behind it */
#define STUB_FLAGS  24 /* u64: STUB_LOADER */
#define STUB_INFO   32

#define STUB_LOADER 1 /* in the dynamic loader: cpuid tells it less (recorder/signal.c) */
#define STUB_UD2 2 /* its own cpuid or rdtsc is ud2 (tracee/ud2.h) */
#define STUB_TSCP   8 /* it is rdtscp */
#define STUB_VDSO   4 /* in the vdso: no call of the program's */

#ifndef __ASSEMBLER__
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/regs.h"

enum {
	STUB_SIZE = 160,
	BUF_FDS = 1024,
	BUF_FILTER = 1024,
	BUF_CPUIDS = 96,
	BUF_CALLS = 512, /* more than SYS_ROWS */
	BUF_PLACES = 16,
	BUF_PLACE_SIZE = (FIXED_END - FIXED_PLACES) / BUF_PLACES,
	BUF_PLACE_BYTES = 4096,
	/* what all that sleep may need for their results is kept free */
	BUF_PLACES_ROOM = BUF_PLACES * (BUF_PLACE_BYTES + 256),
	BUF_MAX = (FIXED_PLACES - FIXED_BUFFER - BUF_PLACES_ROOM) & ~1023,
	BUF_DEFAULT = 256 << 10,
	/*
	 * A result from FIXED_UNTRACED that the recorder puts there: it would sleep, make it a
	 * traced call.
	 */
	BUF_WOULD_BLOCK = -1133,
	BUF_TRACED = -1134, /* ... make it a traced call at once */
	/*
	 * A record of rdtsc: ret is the counter.  With an input span, of several: its bytes are by
	 * how much each is more than the one before (u32); room that is not used is behind them.
	 */
	BUF_NR_TSC = 0xfff0,
	/* bytes of room for them, at first and at most */
	BUF_TSC_FIRST = 64,
	BUF_TSC_MOST = 8192,
	/* rdtsc is let through so often before the recorder is asked whether it need trap at all */
	BUF_TSC_TRAPS = 200,
	/*
	 * iterations of a loop that only waits, from one trap to the next (recorder/spin.c); traces
	 * depend on it
	 */
	BUF_SPINS = 500,
	BUF_FLOW_ROOM = 4096,	/* bytes: one call notes less */
	BUF_NR_BLOCK = 0xfff1, /* a task falls asleep: struct buf_block */
	BUF_NR_UNBLOCK = 0xfff2, /* ... has woken up: struct buf_unblock, then spans as below */
};

struct stub_info { uint64_t after, traced, cont, flags; };

/* The kinds of descriptors, as far as the hook must know; 0 = not looked at yet. */
enum buf_class {
	BUF_FD_UNKNOWN = 0,
	BUF_FD_FILE,		/* never sleeps; nobody has it mapped */
	BUF_FD_WATCHED,		/* never sleeps; a write to it must be traced */
	BUF_FD_STREAM,		/* may sleep */
	BUF_FD_NONBLOCK,	/* O_NONBLOCK */
	/* a file of /proc: the recorder looks at what is read, once (recorder/status.c) */
	BUF_FD_PROC,
	BUF_FD_STDIO,		/* our stdout or stderr: a write is echoed by replay */
	BUF_FD_DIRECT,		/* O_DIRECT: where in memory a read goes decides if it fails */
};

/* flags: for the dynamic loader (STUB_LOADER); whatever the subleaf */
enum { BUF_CPUID_LOADER = STUB_LOADER, BUF_CPUID_ANY = 2 };
struct buf_cpuid { uint32_t leaf, subleaf, flags, eax, ebx, ecx, edx; };

struct buf_state {
	uint64_t rsp;		/* the program's, while the hook runs */
	uint64_t hook;		/* where stubs jump to */
	uint64_t cpuid;		/* ... for cpuid */
	uint64_t jump;		/* where the hook leaves to */
	uint64_t tsc;		/* where stubs of rdtsc jump to */
	uint64_t block_stack;		/* recording: top of the stack of the place to sleep in */
	uint64_t spin_rcx;	/* the program's rcx, while a stub of a waiting loop counts */
	/*
	 * iterations of waiting loops until one traps; the same in recording and replay, for the
	 * stubs count it in both, and whoever makes a stub sets it
	 */
	uint64_t spins;
	uint64_t pos;		/* the next record's address */
	/* recording: records end below it, 0 = all calls traced; replay: behind the last record */
	uint64_t end;
	/* replay, for the replayer: the task is to stop behind the last record */
	uint64_t stop;
	uint64_t last;		/* replay: the record that has just been used */
	/* flow.c: where the next word is noted, or taken from; replay: they end there */
	uint64_t flow, flow_end;
	uint64_t is_replay;	/* flow.c: 0, or all bits */
	uint64_t proc_dev;	/* st_dev of /proc */
	uint64_t stdio_dev[3], stdio_ino[3];
	/* recording: patched code lies in [0] to [1], low and high addresses apart */
	uint64_t code[2][2];
	uint8_t may_block; /* recording: calls that would sleep are made; 0: they are traced */
	/* recording: code to be executed has to be looked at first (tracee/ud2.h) */
	uint8_t marked;
	uint8_t cpu_asked;	/* recording: getcpu is traced; else the answer is 0 */
	uint8_t tsc_traps;	/* recording: rdtsc does, until it is allowed */
	uint8_t tsc_open;	/* recording: it need not any more (recorder/tsc.c) */
	uint8_t place_taken[BUF_PLACES];	/* places taken */
	uint8_t wakes;		/* recording: wake-ups of futexes are traced */
	uint64_t tsc_left;	/* recording: it is let through so often still */
	/*
	 * recording: the last record, when it is of rdtsc and not in the trace yet; replay: values
	 * used of the next record
	 */
	uint64_t tsc_run;
	/* recording: when tsc_run has been set to 0, so many more values of it are in the trace */
	uint64_t tsc_seen;
	uint64_t tsc_value;	/* the last one */
	uint64_t cpuids;
	struct buf_cpuid cpuid_table[BUF_CPUIDS];
	/* a bit by buf_file_bit() for each file that somebody has mapped */
	uint8_t filter[BUF_FILTER];
	uint8_t fd[BUF_FDS];		/* enum buf_class */
	/*
	 * recording: the program has seccomp filters of its own.  Calls with a bit here are traced,
	 * unless struct buf_filters says how to find out that they are allowed. */
	uint8_t filtered;
	uint8_t traced[BUF_CALLS / 8];
};

_Static_assert(offsetof(struct buf_state, rsp) == STATE_RSP &&
		       offsetof(struct buf_state, hook) == STATE_HOOK &&
		       offsetof(struct buf_state, cpuid) == STATE_CPUID &&
		       offsetof(struct buf_state, jump) == STATE_JUMP &&
		       offsetof(struct buf_state, tsc) == STATE_TSC &&
		       offsetof(struct buf_state, block_stack) == STATE_BLOCK_STACK &&
		       offsetof(struct buf_state, spin_rcx) == STATE_SPIN_RCX &&
		       offsetof(struct buf_state, spins) == STATE_SPINS,
	       "stubs know these");
_Static_assert(sizeof(struct stub_info) == STUB_INFO, "stubs know it");
_Static_assert(sizeof(struct buf_state) <= FIXED_FILTERS - FIXED_STATE, "that is behind it");

/*
 * At FIXED_FILTERS: what the program's filters do with calls that they allow for some arguments.
 * code[at[nr] - 1] is a head whose k says how many programs follow, each with a head whose k is its
 * length.
 */
enum { BUF_FILTER_CODE = (FIXED_SHARED - FIXED_FILTERS - 2 * BUF_CALLS) / 8 };
struct buf_filters {
	uint16_t at[BUF_CALLS];
	struct sock_filter code[BUF_FILTER_CODE];
};
_Static_assert(sizeof(struct buf_filters) <= FIXED_SHARED - FIXED_FILTERS, "there is room for it");

static inline uint32_t buf_file_bit(uint64_t dev, uint64_t ino)
{
	/* 13 bits */
	return (uint32_t)(((dev * 0x9e3779b97f4a7c15ull) ^ ino) * 0x9e3779b97f4a7c15ull >> 51);
}

/*
 * A record, 8-byte aligned:
 *	head | args, 8 bytes each | span words | bytes of the spans, each padded to 8
 * A span word is address | length << 47; BUF_SPANS_IN of them, the last ones, are input: notes for
 * the recorder and for people, which replay skips.  assist: replay stops behind it, for the
 * replayer to do the same to the address space (mmap without a file, munmap, mprotect, brk,
 * madvise); brk has its old end as input, at address 0.  stop: replay stops behind it for another
 * reason; never so in a trace, the replayer sets it in the task's memory.  The hook looks at
 * neither: buf_behind() is what it calls when it has used the record.  (A stub for each offset of
 * the buffer, with an int3 put into one, would name records by code; but a call to another address
 * each time costs 35 ns, and this one 2.)
 */
struct buf_record {
	uint16_t nr;
	uint8_t args, spans, in_spans, assist, stop, pad;
	uint32_t size;		/* of all of it, bytes */
	uint32_t head;		/* offset of the first span's bytes */
	int64_t ret;
};

static inline uint64_t buf_behind(const struct buf_record *r)
{
	return FIXED_RETURN + ((r->assist | r->stop) & 1);
}

enum { TOKEN_RECORDER = 0xffffffff };

/* At FIXED_SHARED, in all processes and the recorder. */
struct buf_shared {
	uint32_t token;
	uint32_t allowed;	/* no task waits for the recorder to let it run */
	uint32_t waiting;	/* how many wait for the token in a futex */
	uint32_t pad;
	uint64_t seq;		/* of the last note */
};

/* At the start of each place; its stack is at its end. */
struct buf_place {
	uint64_t trap; /* the recorder wants to see it before it goes on */
	uint64_t pad[7];
	uint8_t bytes[BUF_PLACE_BYTES];
};
_Static_assert(sizeof(struct buf_place) + 7000 <= BUF_PLACE_SIZE, "a stack for syscallbuf/block.c");

/* regs: as at the traced call, without the selectors. */
struct buf_block { uint64_t seq; uint32_t serial, place; struct regs regs; };
/* again: it did not finish, and is made once more in the traced way */
struct buf_unblock { uint64_t seq; uint32_t serial, again; };

enum { BUF_SPAN_SHIFT = 47, BUF_SPAN_MAX = (1 << 17) - 1 };
#define BUF_SPAN_ADDR(w) ((w) & ((1ull << BUF_SPAN_SHIFT) - 1))
#define BUF_SPAN_LEN(w) ((w) >> BUF_SPAN_SHIFT)

/* Stands at FIXED_BLOB: addresses. */
struct blob_head {
	/* hooks */
	uint64_t record, replay, cpuid, tsc_record, tsc_replay, flow, tsc_flow;
	/*
	 * recording: a task that faults in the hook goes on here, and makes its call in the traced
	 * way
	 */
	uint64_t fault;
	/*
	 * recording: between checked and made a task sees no more that it is to trap: it goes on at
	 * not_made
	 */
	uint64_t checked, made, not_made;
	/* recording: address behind the call by which a task says that it waits for the token */
	uint64_t waits;
};
#endif

#endif
