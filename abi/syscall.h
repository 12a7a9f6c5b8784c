/*
 * syscall.h - what every system call does to memory, as data.
 *
 * abi/syscalls.def holds one row per call.  This header gives the row its type
 * and turns a row plus six argument registers into a list of memory spans the
 * kernel will write.  The same code runs in the tracer (recorder, replayer)
 * and, compiled freestanding (-DBLOB), in the syscall buffer, so they can never
 * disagree about what a call does.
 *
 *      entry stop                        exit stop
 *   args[6] --sys_plan_entry()--> plan --sys_plan_exit(ret)--> plan
 *                                  cap = most the kernel may write, bytes
 *                                                    len = what it did write
 *
 * The spans also say where their pointers live, so the recorder can redirect a
 * blocking call's output into scratch memory: see struct sys_span.at.
 */
#ifndef ABI_SYSCALL_H
#define ABI_SYSCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sys_replay {		/* how replay gets past the call */
	REPLAY_UNSUPPORTED = 0,	/* recorder answers ENOSYS, as an older kernel would */
	REPLAY_EMULATE,		/* skip it; write result and spans from the trace */
	REPLAY_EXECUTE,		/* it shapes the task or its memory: a recorder hook says how */
};

enum sys_buffer {		/* may the in-process buffer run it untraced? */
	BUFFER_NEVER = 0,	/* always a ptrace stop */
	BUFFER_FAST,		/* yes; cannot block */
	BUFFER_BLOCK,		/* yes, once it is sure not to block; else traced */
	/* yes, when syscallbuf/record.c finds these arguments harmless; else traced */
	BUFFER_ASK,
};

enum sys_wait {			/* can the call sleep until another task acts? (from the row) */
	SYS_WAIT_NO = 0,
	SYS_WAIT_MAYBE,
	SYS_WAIT_IN_HOOK,	/* yes, and it may do so in the hook: recorder/hook_block.c */
};

/* Kinds of argument.  dump prints by them. */
enum sys_what {
	W_NONE = 0, W_INT, W_UINT, W_HEX, W_FD, W_DIRFD, W_ADDR, W_FLAGS, W_MODE, W_SIGNAL, W_PID,
	W_STR,		/* NUL-terminated */
	W_STRV,		/* NULL-terminated array of strings (execve) */
	W_MEM,		/* bytes; dir and len say more */
	W_IOV,		/* struct iovec[args[arg]] */
	W_MSG,		/* struct msghdr */
	W_MMSG,		/* struct mmsghdr[args[arg]] */
	W_CMD,		/* selects a row of a second table: ioctl, fcntl, prctl, ... */
	W_SUB,		/* meaning given by that row */
	W_XATTR,	/* struct xattr_args of args[arg] bytes (getxattrat) */
	W_CLONE3,	/* struct clone_args of args[arg] bytes */
};
/*
 * D_OUT: exactly the first len bytes are written, all of them.
 * D_INOUT: read, written in part (padding!), or not known so exactly.  Whoever redirects
 * the pointer must copy the old bytes in first; then copying len bytes back is harmless.
 */
enum sys_dir { D_IN = 1, D_OUT = 2, D_INOUT = 3 };

enum sys_len {		/* bytes at a W_MEM / W_IOV argument */
	L_FIXED = 0,	/* unit */
	L_ARG,		/* args[arg] * unit */
	L_RET,		/* at most args[arg] * unit; ret * unit after success */
	L_VALRES,	/* at most *(uint32_t *)args[arg] at entry; its exit value after */
	L_FDSET,	/* fd_set of args[arg] bits, rounded up to 8 bytes */
	/* unit bytes, written only when the call was interrupted (nanosleep's rem) */
	L_INTR,
	L_NUL,		/* at most args[arg] (unit where arg > 5), up to and with the NUL */

	/* The kernel writes these before it knows the result: they count on failure too. */
	L_FIXED_ANY,	/* unit */
	L_ARG_ANY,	/* args[arg] * unit */
	L_PAGES,	/* a byte for each page of args[arg] bytes (mincore) */

	/* as L_FIXED; never redirect it, the address itself matters (futex, vmsplice) */
	L_PINNED,
	L_FIXED_POS,	/* unit, when the result is above 0 (wait4: a child was found) */
	L_RET_FITS,	/* as L_RET, but nothing at all when the result exceeds the room */
	L_RET_PLUS,	/* at most unit + args[arg]; unit + ret after success (msgrcv) */
	L_RECV,		/* as L_RET; args[arg + 1] holds MSG_* flags */
	L_VALLEN,	/* the 4-byte length that belongs to a L_VALRES buffer at args[arg] */
	L_PEEK_RET,	/* at most the u32 at args[arg] + unit; ret after success */
	L_NODES,	/* node mask of args[arg] bits (get_mempolicy) */
	L_IF_ANY,	/* 4 bytes when args[arg] has any bit of unit */
	L_IF_ALL,	/* 4 bytes when args[arg] has every bit of unit */
	L_MNTID,	/* 4 bytes, or 8 when args[arg] asks for the unique mount id */
	L_CAPDATA,	/* capget's data: the version at args[arg] says how much */
	L_COUNTED,	/* fixed head + count * element, the count stands in the head (COUNTED) */

	/*
	 * Slots after the last argument: buffers that the structure at args[arg] points at (NEST).
	 */
	L_NEST,		/* at most the length word's value at entry; its exit value after */
	L_NEST_RET,	/* ... ; ret elements after */
	L_NEST_ANY,	/* ... ; the length word's value, on failure too */

	L_UNKNOWN,	/* no bound can be computed: no plan */

	/* Spans only: arg = index of the span that holds the header, unit = offset in it. */
	L_MSG_NAME, L_MSG_CONTROL,
	L_IOV_RET,	/* a part of ret bytes shared by the spans that follow each other */
	L_IOV_MMSG,	/* a part of msg_len bytes */
	L_IOV_PINNED,	/* as L_IOV_RET; never redirect it */
};

/* Must what has this length stay where it is? */
static inline bool sys_pinned(uint8_t len)
{
	return len == L_PINNED || len == L_IOV_PINNED;
}

struct sys_arg {
	uint8_t what, dir, len, arg;
	uint32_t unit;		/* bytes */
};

struct sys_row {
	struct sys_arg arg[6];
	uint8_t replay, buffer, hook;	/* hook: recorder/hooks.c must name it */
	uint8_t wait;			/* enum sys_wait */
	uint8_t sub;			/* 0, or 1 + index of the second table that refines it */
	uint8_t nargs;
};

enum { SYS_ROWS = 480 };

struct sys_span {
	uint64_t addr;
	uint64_t cap;		/* bytes, known at entry */
	uint64_t len;		/* bytes, known at exit; len <= cap; 0 for D_IN spans */
	/*
	 * Where the pointer to this span is: 0..5 = that argument, else the address of a
	 * pointer word in memory, which lies inside an earlier span of the plan (an iovec
	 * array or msghdr, listed as D_IN or D_INOUT for this purpose).
	 */
	uint64_t at;
	/* enum sys_dir: IN bytes must be copied to scratch, OUT bytes back */
	uint8_t dir;
	uint8_t len_kind;	/* enum sys_len, plus private kinds for msghdr parts */
	uint8_t arg;		/* the argument that L_VALRES and so on refer to */
	uint32_t unit;
};

struct sys_plan {
	unsigned n, max;
	struct sys_span *span;	/* caller's array of max */
	/* the row does not know this command (ioctl): spans are a guess from _IOC bits or empty */
	bool unknown;
};

/* Read tracee memory: 0, or -1 when any of it is not mapped. */
typedef int sys_peek_fn(void *ctx, uint64_t addr, void *buf, size_t len);

extern const struct sys_row sys_rows[SYS_ROWS];

/* The row that holds for these arguments: the second table's row where there is one (ioctl TCGETS),
 * else sys_rows[nr]; a row of all zeros for a number that has none.  *known_ret (may be NULL) is
 * false where the call or its command is in no table. */
const struct sys_row *sys_row_for(uint64_t nr, const uint64_t args[6], bool *known_ret);

/*
 * List what the call may write (and the pointer-holding input spans before it).
 * 0, or -1 when it cannot be listed (bad pointer, more than plan->max spans): the
 * buffer then takes the traced path, the recorder compares memory.
 */
int sys_plan_entry(struct sys_plan *plan, uint64_t nr, const uint64_t args[6],
		   sys_peek_fn *peek, void *ctx);

/*
 * Fill in span.len from the result (ret: raw, -4095..-1 = errno).  Uses span.addr for
 * what must be read (msghdr lengths), so a caller that redirected spans to scratch passes the plan
 * with scratch addresses and the args the kernel saw.  0, or -1 as above.
 * After EFAULT every len is 0: how far the kernel came before the bad pointer is not known.
 */
int sys_plan_exit(struct sys_plan *plan, uint64_t nr, const uint64_t args[6], int64_t ret,
		  sys_peek_fn *peek, void *ctx);

#ifndef BLOB
/* "read"; NULL for a number without a row. */
const char *sys_name(uint64_t nr);
/* Command names of second tables: sys_cmd_name(SYS_ioctl, args) = "TCGETS", or NULL. */
const char *sys_cmd_name(uint64_t nr, const uint64_t args[6]);
/* "ENOENT" for 2; NULL when unknown.  Covers ERESTARTSYS and its kin. */
const char *sys_errno_name(int e);
/* "SIGSEGV" for 11; "SIGRT3" for 37 */
const char *sys_signal_name(int sig);
#endif

#endif
