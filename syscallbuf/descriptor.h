/*
 * descriptor.h - what a descriptor of the program is: for the hook, record.c, which these
 * functions are compiled into.
 */
#ifndef SYSCALLBUF_DESCRIPTOR_H
#define SYSCALLBUF_DESCRIPTOR_H

#include "abi/bpf.h"
#include "syscallbuf/hook.h"

enum { PIPE_ATOMIC = 4096, SOCKET_SMALL = 16384 };
enum { POLL_IN = 1, POLL_OUT = 4, POLL_ERR = 8, POLL_HUP = 16 };
enum { O_CREATE_TRUNC = 01000, O_NONBLOCKING = 04000, O_DIRECTLY = 040000, F_GETFLAGS = 3,
       F_SETFLAGS = 4 };
enum { MSG_DONTWAITING = 0x40, MSG_PLAIN = 0x02 | 0x20 | 0x40 | 0x4000 | 0x40000000 };
enum {
	S_TYPE = 0170000,
	S_DIR = 0040000,
	S_CHAR = 0020000,
	S_BLOCK = 0060000,
	S_FILE = 0100000,
	PROC_BLOCK = 1024
};
enum { E_NOSYS = 38, E_BADF = 9 };
enum { SET_TSC = 26, TSC_ENABLE = 1, TSC_SIGSEGV = 2 };	/* of prctl */
enum { INPUTS = 4, STRING_MAX = 255 };
enum {
	MAP_PRIVATELY = 2,
	MAP_TYPES = 15,
	MAP_ANON = 0x20,
	MAP_PLAIN = 0x2 | 0x10 | 0x20 | 0x800 | 0x2000 | 0x4000 | 0x8000 | 0x20000 | 0x100000,
	PROT_PLAIN = 7,
	PROT_WRITING = 2,
	PROT_RUNNING = 4,
	ADVICE_DONTNEED = 4,
	SIG_BLOCKING = 0,
	SIGACTION_SIZE = 32
};

enum {
	NR_prctl = 157,
	NR_mmap = 9,
	NR_mprotect = 10,
	NR_munmap = 11,
	NR_brk = 12,
	NR_rt_sigaction = 13,
	NR_rt_sigprocmask = 14,
	NR_madvise = 28,
	NR_sendfile = 40,
	NR_ftruncate = 77,
	NR_rt_sigpending = 127,
	NR_futex = 202,
	NR_set_tid_address = 218,
	NR_newfstatat = 262,
	NR_set_robust_list = 273,
	NR_prlimit64 = 302,
	NR_copy_file_range = 326,
	NR_lseek = 8,
	NR_getpid = 39,
	NR_getuid = 102,
	NR_getppid = 110,
	NR_gettid = 186,
	NR_clock_gettime = 228,
	NR_read = 0,
	NR_write = 1,
	NR_open = 2,
	NR_close = 3,
	NR_fstat = 5,
	NR_poll = 7,
	NR_ioctl = 16,
	NR_pread64 = 17,
	NR_pwrite64 = 18,
	NR_readv = 19,
	NR_writev = 20,
	NR_select = 23,
	NR_dup2 = 33,
	NR_accept = 43,
	NR_sendto = 44,
	NR_recvfrom = 45,
	NR_sendmsg = 46,
	NR_recvmsg = 47,
	NR_fcntl = 72,
	NR_fsync = 74,
	NR_fdatasync = 75,
	NR_fadvise64 = 221,
	NR_epoll_wait = 232,
	NR_openat = 257,
	NR_getcpu = 309,
	NR_pselect6 = 270,
	NR_ppoll = 271,
	NR_epoll_pwait = 281,
	NR_accept4 = 288,
	NR_dup3 = 292,
	NR_preadv = 295,
	NR_pwritev = 296,
	NR_preadv2 = 327,
	NR_pwritev2 = 328,
};

/* arch/x86/include/uapi/asm/stat.h, the parts we look at */
struct stat_head {
	uint64_t dev, ino, nlink;
	uint32_t mode, uid, gid, pad;
	uint64_t rdev, size, blksize;
	char rest[80];
};
_Static_assert(sizeof(struct stat_head) == sizeof(struct k_stat), "struct stat");

/* ---- descriptors ------------------------------------------------------------------------ */

static int is_watched(const struct buf_state *s, const struct stat_head *st)
{
	uint32_t bit = buf_file_bit(st->dev, st->ino);

	return (int)observe((uint64_t)(st->dev == s->proc_dev) |
			    (s->filter[bit / 8] >> bit % 8 & 1));
}

/* Where a sandbox does not let us look: as if it were. */
static int is_direct(uint64_t fd)
{
	return own_call(NR_fcntl, fd, F_GETFLAGS, 0) & O_DIRECTLY;
}

static enum buf_class look(const struct buf_state *s, uint64_t fd)
{
	struct stat_head st;

	int64_t ret = own_call(NR_fstat, fd, (uint64_t)(uintptr_t)&st, 0);

	/* it is closed, and the call will fail; or a sandbox does not let us look */
	if (ret)
		return ret == -E_BADF ? BUF_FD_UNKNOWN : BUF_FD_STDIO;
	observe_bytes(&st, sizeof(st) / 8);
	for (unsigned i = 1; i <= 2; i++) {
		if (observe((s->stdio_ino[i] != 0) & (st.ino == s->stdio_ino[i]) &
			    (st.dev == s->stdio_dev[i])))
			return BUF_FD_STDIO;
	}
	switch (st.mode & S_TYPE) {
	case S_FILE:
		if (!st.size && st.blksize == PROC_BLOCK && st.dev < 256)
			return BUF_FD_PROC;
		if (is_direct(fd))
			return BUF_FD_DIRECT;
		return is_watched(s, &st) ? BUF_FD_WATCHED : BUF_FD_FILE;
	case S_DIR:
		return BUF_FD_FILE;
	case S_BLOCK:
		return is_direct(fd) ? BUF_FD_DIRECT : BUF_FD_FILE;
	case S_CHAR:
		/* null, zero, full, (u)random */
		if (st.rdev >= 0x103 && st.rdev <= 0x109 && st.rdev != 0x104)
			return BUF_FD_FILE;
		break;
	}
	return own_call(NR_fcntl, fd, F_GETFLAGS, 0) & O_NONBLOCKING ? BUF_FD_NONBLOCK
								     : BUF_FD_STREAM;
}

static enum buf_class class_of(struct buf_state *s, uint64_t fd)
{
	uint32_t n = (uint32_t)fd;
	enum buf_class class;

	if (n >= BUF_FDS)
		return look(s, n);
	class = (enum buf_class)observe(s->fd[n]);
	if (!class)
		s->fd[n] = (uint8_t)(class = look(s, n));
	return class;
}

static void forget(struct buf_state *s, uint64_t fd)
{
	if ((uint32_t)fd < BUF_FDS)
		s->fd[(uint32_t)fd] = BUF_FD_UNKNOWN;
}

#endif
