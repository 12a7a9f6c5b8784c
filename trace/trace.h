/*
 * trace.h - writing and reading a recording.
 *
 * A trace is one stream of events.  An event says which task got where (kind and
 * registers that replay must find) and what then changed: a list of effects that
 * the replayer applies in order.  A trace explains itself: the replayer needs no
 * knowledge of system calls, so newer tables cannot break older traces.
 *
 * On disk (docs/format.md has every byte):
 *   DIR/meta          msgpack map: struct trace_meta
 *   DIR/events        blocks of encoded events and small effects
 *   DIR/data          blocks of effect bytes larger than TRACE_INLINE_MAX
 *   DIR/events.tail, DIR/data.tail   the block being filled, in a shared mapping, so a
 *                     kill -9 of the recorder loses nothing; gone after a clean close
 *   DIR/files/HASH    content of mapped files (reflink/hard link/copy from the store)
 *   DIR/end           written last: exit status and totals; without it the trace is torn
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "abi/regs.h"
#include "base/err.h"

enum { TRACE_VERSION = 1, TRACE_INLINE_MAX = 256 };

/* What the machine and the command were.  Strings are owned by whoever filled it in;
 * trace_meta_deinit() frees one that trace_reader_meta() made. */
struct trace_meta {
	uint32_t version;
	char uuid[37];
	uint64_t start_realtime_ns;	/* CLOCK_REALTIME at the start */
	char *exe;			/* absolute path of the first program */
	char **argv;			/* NULL-terminated */
	char *cwd;
	char *uname;			/* "Linux 6.1.0 x86_64" */
	char *cpu_model;		/* cpuid brand string */
	/*
	 * 1.ecx 1.edx 7.0.ebx 7.0.ecx 7.0.edx 7.1.eax d.1.eax 80000001.ecx, as the program saw them
	 */
	uint32_t cpuid_features[8];
	char cpu_vendor[13];		/* "GenuineIntel", of cpuid leaf 0; empty where unknown */
	/* family and model of what ran it, as in cpuid leaf 1's eax; 0: unknown, or not itself */
	uint32_t cpu_signature;
	/* offset and size of each part of XSTATE effects; all 0 where unknown */
	uint16_t xsave_part[20][2];
	uint64_t xcr0;			/* 0 where unknown */
	uint32_t xsave_size;		/* bytes of NT_X86_XSTATE */
	bool cpuid_trapped;		/* the program saw the masked one */
	/* cpuid, rdtsc and rdtscp are ud2: PATCH effects of kind 3 */
	bool marked;
	char *ticks;			/* "landmark", "pmu", "step" */
	bool syscallbuf, checksums;
	/* the hook is the one for counters: branches in it count (TRACE_FLOW) */
	bool flow;
};

enum trace_event_kind {
	/* regs = at the first instruction; effects rebuild the whole address space */
	TRACE_EXEC = 1,
	/* a whole system call: regs = at the entry stop (orig_rax = number, rax = -ENOSYS) */
	TRACE_SYSCALL,
	/* the two halves of one during which other tasks ran; regs at EXIT: not compared */
	TRACE_SYSCALL_ENTER,
	TRACE_SYSCALL_EXIT,
	/* a signal reaches the task; regs = when it struck; see enum trace_place */
	TRACE_SIGNAL,
	/* an instruction that traps (rdtsc, rdtscp, cpuid...); regs = before it */
	TRACE_TRAP,
	/*
	 * the other task runs from here on without a call of its own (pre-emption); place as for
	 * SIGNAL
	 */
	TRACE_SWITCH,
	/* a task ends: ret = wait status as of waitpid(2) */
	TRACE_EXIT,
	/* nothing happened to the task: only effects (memory sums, notes) */
	TRACE_NOTE,
	/*
	 * system calls that the buffer made (abi/buffer.h): the task makes them on its way to its
	 * next event.  Memory and registers are as before; effect RECORDS */
	TRACE_CALLS,
	TRACE_KIND_COUNT
};

/* Where in the task's own run a SIGNAL or SWITCH strikes. */
enum trace_place {
	TRACE_AT_LAST = 0,	/* right after the task's last event: no instruction between */
	/* at the next syscall instruction, not executed: regs.rip points to it */
	TRACE_AT_SYSCALL,
	TRACE_AT_FAULT,		/* raised by the task's own next faulting instruction */
	TRACE_AT_STATE,		/* anywhere: the point is named by registers and witness effects */
	TRACE_AT_NOWHERE,	/* the point was not recorded; nothing after it depends on it */
	TRACE_AT_STEP,		/* one instruction after the task's last event */
	TRACE_PLACE_COUNT
};

enum trace_effect_kind {
	TRACE_RET = 1, /* x = new rax */
	/*
	 * addr, data: bytes now in the task's memory; object != 0: in that object, addr = offset in
	 * it; at its size, up to the end of that page: what only mappings show
	 */
	TRACE_WRITE,
	/* addr, len, x = prot, y = enum trace_map_kind | kernel MAP_* << 8, object, offset */
	TRACE_MAP,
	TRACE_UNMAP, /* addr, len */
	TRACE_PROTECT, /* addr, len, x = prot, y = protection key + 1 (pkey_mprotect) or 0 */
	/*
	 * addr, len = old; x = new address, y = new length (mremap); object = 1 when the old stays
	 * (DONTUNMAP)
	 */
	TRACE_MOVE,
	/* addr, len, x = advice that changes contents (MADV_DONTNEED, ...) */
	TRACE_ADVISE,
	TRACE_REGS, /* data = struct regs: all registers, replaces RET */
	TRACE_XSTATE, /* data = NT_X86_XSTATE bytes, trailing zeros cut */
	/*
	 * defines object; x = enum trace_object_kind, len = size, data = path as seen by the
	 * program
	 */
	TRACE_OBJECT,
	/*
	 * a new task: object = its serial, x = tid, y = pid, addr = clone flags, len = parent
	 * serial, data = struct regs of its first stop
	 */
	TRACE_TASK,
	/*
	 * object = 1 or 2 (stdout, stderr); data, or, when that is empty, len bytes of memory at
	 * addr, whose sum is x (mem_sum_bytes() of pieces of 64 KB, added; 0: not known)
	 */
	TRACE_ECHO,
	/* a note for people: x = argument index, data = the string it pointed to (maybe cut) */
	TRACE_STR,
	/* data = siginfo_t, x = signal number, y = enum trace_signal_disposition */
	TRACE_SIGINFO,
	/* data = NUL-separated command line of an exec'd program; object = 0 */
	TRACE_ARGV,
	TRACE_ENV, /* data = NUL-separated environment */
	TRACE_AUXV, /* data = the auxiliary vector */
	/*
	 * addr, len, x = sum over the non-zero pages (replayer and recorder share mem_sum()), y =
	 * enum trace_sum_flag
	 */
	TRACE_SUM,
	TRACE_WITNESS, /* addr, data: bytes that are in memory at a TRACE_AT_STATE point */
	TRACE_NAME, /* data = the task's comm as set by prctl(PR_SET_NAME) or exec */
	/*
	 * about a TRACE_AT_STATE point: x = nanoseconds of computing since the task's last event
	 * (0: unknown), y = ticks since then, len = 1 + enum ticks_source that counted them (0:
	 * none), object = 1: there is memory that the witness does not cover, addr = nanoseconds
	 * since anybody's last event but calls of the hook's: it has not computed for longer
	 */
	TRACE_POINT,
	TRACE_RECORDS, /* data = struct buf_record, one after the other */
	/*
	 * addr, len: code that a WRITE replaced; x = address of its stub, y = enum patch_kind; data
	 * = struct patch (tracee/patch.h).  len = 0: it was refused, offset = enum patch_refusal.
	 * No data: WRITEs have given the program its own code back
	 */
	TRACE_PATCH,
	/* data = struct buf_cpuid[]: what the hook answers to cpuid in this process */
	TRACE_CPUID,
	/*
	 * object has len bytes from now on, as a file that was cut or has grown: pages behind that
	 * end are gone from all mappings, private copies too, and mapping it no longer makes it
	 * longer
	 */
	TRACE_SIZE,
	TRACE_ZERO, /* object: [addr, addr + len) are zeros (a hole) */
	/*
	 * object, of kind FILE: its file is about to change, so from now on it is one of kind
	 * SHARED: WRITE, SIZE and ZERO change what its mappings show, but for private copies of
	 * pages
	 */
	TRACE_LIVE,
	/*
	 * data = u64 words: what the hook decided by where branches are counted (syscallbuf/flow.c)
	 */
	TRACE_FLOW,
	TRACE_EFFECT_COUNT
};

enum trace_sum_flag {
	TRACE_SUM_ALL = 1,	/* also pages that are not in the page table */
	TRACE_SUM_ADDED = 2,	/* mem_sum_one() of all pages, added; else mem_sum_page() */
};

enum trace_map_kind {
	TRACE_MAP_ANON = 0,	/* zero pages, private */
	TRACE_MAP_FILE,		/* private pages of an object */
	TRACE_MAP_SHARED,	/* pages of an object shared by all who map it */
};

enum trace_object_kind {
	TRACE_OBJECT_FILE = 1,	/* content in files/: read-only */
	TRACE_OBJECT_MEMORY,	/* shared memory: starts as zeros */
	TRACE_OBJECT_SHARED,	/* shared memory: starts with the content in files/ */
};

/* TRACED: a recorded tracer is shown it; what it lets through is an event of its own. */
enum trace_signal_disposition {
	TRACE_SIGNAL_HANDLED = 0,
	TRACE_SIGNAL_IGNORED,
	TRACE_SIGNAL_FATAL,
	TRACE_SIGNAL_TRACED
};

struct trace_effect {
	enum trace_effect_kind kind;
	uint32_t object;
	uint64_t addr, len, x, y, offset;
	const void *data;	/* borrowed; NULL when data_len is 0 */
	size_t data_len;
};

struct trace_event {
	uint64_t n;		/* 1, 2, 3, ...; the writer sets it */
	uint64_t time_ns;	/* since the start, CLOCK_MONOTONIC */
	uint32_t task;		/* serial number of the task, from 1, never reused */
	enum trace_event_kind kind;
	enum trace_place place;	/* SIGNAL and SWITCH only */
	int32_t nr;		/* system call number, else -1 */
	int64_t ret;		/* SYSCALL, SYSCALL_EXIT: result; EXIT: wait status */
	/* what replay must find; all zero for NOTE, EXIT and SYSCALL_EXIT */
	struct regs regs;
	uint32_t effects_len;
	struct trace_effect *effects;
};

/* ---- writing ---------------------------------------------------------------- */

struct trace_writer;

/*
 * Create DIR (must not exist, or be empty) and start a trace in it.  store_dir is the content store
 * shared with other traces, or NULL for none.  On failure nothing is left behind.
 */
struct err *trace_writer_create(const char *dir, const char *store_dir,
				const struct trace_meta *meta, struct trace_writer **ret)
	__must_check;

/*
 * The trace ends when events and data take more bytes than that on the disk; 0: no limit.
 * trace_writer_event() then says so, once.
 */
void trace_writer_limit(struct trace_writer *w, uint64_t bytes);

/*
 * Append one event; numbers it (ev->n).  Data is copied before return.  After an error
 * (disk full) the trace ends with the last whole event and every later call is a no-op
 * that returns NULL: the error is reported once, the recorder goes on.
 */
struct err *trace_writer_event(struct trace_writer *w, struct trace_event *ev) __must_check;

/*
 * Take the content of an open file into the trace; the object's number goes into a
 * TRACE_OBJECT effect that the caller adds to the event that needs it, when *new_ret is
 * true (the object was not known to this trace yet).  st: fstat of fd.  The same unchanged file
 * (dev, ino, size, mtime, ctime) is stored once and gives the same object.
 * shared: an object of its own for each (dev, ino), kind TRACE_OBJECT_SHARED.
 */
struct err *trace_writer_file(struct trace_writer *w, int fd, const struct stat *st, bool shared,
			      uint32_t *object_ret, bool *new_ret) __must_check;
/*
 * Has the file been taken as it is, not shared, so that trace_writer_file() would not look at it?
 */
bool trace_writer_has(struct trace_writer *w, const struct stat *st);
/* The same for a shared object that nobody has mapped any more (or whose inode number is used
 * again): always a new object with the content of now. */
struct err *trace_writer_shared_anew(struct trace_writer *w, int fd, const struct stat *st,
				     uint32_t *object_ret, bool *new_ret) __must_check;
/* An object without content: TRACE_OBJECT_MEMORY. */
uint32_t trace_writer_memory(struct trace_writer *w);

/* File name of an object's content below the trace directory ("files/<hash>") is derived from
 * data of the TRACE_OBJECT effect; this fills that effect in for an object.  Its data belong to
 * the writer and stay valid for the next 1000 such calls. */
void trace_writer_object_effect(struct trace_writer *w, uint32_t object, const char *path,
				struct trace_effect *effect_ret);

struct trace_totals {
	/* stored: after compression, without files */
	uint64_t events, raw_bytes, stored_bytes;
	uint64_t files, file_bytes;
	uint64_t duration_ns;
	int32_t exit_status;	/* of the first process, wait status */
};

void trace_writer_totals(const struct trace_writer *w, struct trace_totals *ret);

/* Flush, write the end mark, free w (also on error). */
struct err *trace_writer_close(struct trace_writer *w, int exit_status) __must_check;
/* Free w and write no end mark: the trace is torn after its last whole event. */
void trace_writer_abandon(struct trace_writer *w);

/* ---- reading ---------------------------------------------------------------- */

struct trace_reader;

/* ERR_TRACE when DIR is no trace or of another version. A torn trace opens. */
struct err *trace_reader_open(const char *dir, struct trace_reader **ret) __must_check;
void trace_reader_close(struct trace_reader *r);
/*
 * Reads all of the trace, from the first event on, and the content of every object, also the long
 * ones.  The first thing that is wrong; what is there can be used all the same.
 */
struct err *trace_verify(const char *dir) __must_check;

const struct trace_meta *trace_reader_meta(const struct trace_reader *r);
const char *trace_reader_dir(const struct trace_reader *r);

/* True when the trace was closed properly; fills totals (ret may be NULL). */
bool trace_reader_end(const struct trace_reader *r, struct trace_totals *ret);

/*
 * Next event.  ev and all it points to is valid until the next call on r.  Data of effects
 * are aligned to 16 bytes and followed by a NUL that data_len does not count.
 * err_end after the last event of a complete trace; ERR_TRACE (block, offset, last good event
 * in the sentence) where it is damaged, and where a torn trace ends.
 */
struct err *trace_reader_next(struct trace_reader *r, struct trace_event *ev) __must_check;

/* Make event n the next one; err_end when there is no such event. */
struct err *trace_reader_seek(struct trace_reader *r, uint64_t n) __must_check;

/*
 * Open the content of an object (kind FILE or SHARED) read-only.  effect is the TRACE_OBJECT
 * effect, which has been checked: a hash of hex digits only, so a hostile trace cannot name other
 * files. The caller closes *fd_ret.
 */
struct err *trace_reader_object(struct trace_reader *r, const struct trace_effect *effect,
				int *fd_ret) __must_check;
/* Path as the program saw it, from a TRACE_OBJECT effect; always NUL-terminated. */
const char *trace_object_path(const struct trace_effect *effect);

/* Free the strings and argv of a meta that is all on the heap, and zero it.  Not for the one
 * trace_reader_meta() returns: that belongs to the reader. */
void trace_meta_deinit(struct trace_meta *meta);

/* "syscall-enter", "write": as in trace/records.def; "?" for a number that is no kind. */
const char *trace_event_name(enum trace_event_kind kind);
const char *trace_effect_name(enum trace_effect_kind kind);

/* ---- where traces live (the default places; nothing above depends on them) --------- */

/*
 * All below ${HINDSIGHT_TRACE_DIR:-${XDG_DATA_HOME:-~/.local/share}/hindsight}, which is made when
 * something is to be written there.  Returned paths are absolute and the caller frees them.
 */

/* Returns the directory of traces; it may not be there unless `make' has it made. */
struct err *trace_base_dir(bool make, char **ret) __must_check;

/* Make BASE/NAME-N, empty, for the smallest N not taken; NAME = last part of program_name. */
struct err *trace_dir_new(const char *program_name, char **dir_ret) __must_check;
/* Returns the trace that `latest` points to; ERR_TRACE when there is none. */
struct err *trace_dir_latest(char **ret) __must_check;
/* Let `latest` point to dir from now on: relative when dir is in BASE.  Atomic. */
/* A recorder is still writing it.  False where that cannot be found out. */
bool trace_dir_live(const char *dir);
struct err *trace_dir_set_latest(const char *dir) __must_check;
/* BASE/store */
struct err *trace_store_dir(char **ret) __must_check;

struct trace_garbage {
	uint64_t temporary, temporary_bytes;	/* files that a killed recorder left */
	uint64_t unused, unused_bytes;		/* contents of the store that no trace has */
	/* entries of the store's index whose content is gone */
	uint64_t index;
	uint64_t used, used_bytes;		/* contents that stay */
};
/*
 * Removes (dry_run: only counts) what no trace needs in this directory of traces and in its store.
 * Safe while others record.
 */
struct err *trace_garbage(const char *base, bool dry_run, struct trace_garbage *ret) __must_check;
/* Does a trace have this content of the directory's store? */
bool trace_content_used(const char *base, const uint8_t hash[16]);

/* ---- shared by both ------------------------------------------------------------ */

/* XXH3_64 over (page number, bytes) of each page that is not all zero.  Feed in address order. */
struct mem_sum;
struct mem_sum *mem_sum_create(void);
void mem_sum_page(struct mem_sum *s, uint64_t page_number, const void *page_4096);
/* The sum of one page by itself; 0 for a page of zeros. */
uint64_t mem_sum_one(uint64_t page_number, const void *page_4096);
/* Returns the sum of some bytes, which stand at offset in a whole. */
uint64_t mem_sum_bytes(uint64_t offset, const void *bytes, size_t len);
uint64_t mem_sum_finish(struct mem_sum *s);	/* and start over */
void mem_sum_destroy(struct mem_sum *s);

#endif
