/*
 * record.c - the hook of recorded processes: make the call, unseen by the recorder, and note what it did.
 *
 * The table (abi/syscalls.def) says what a call writes.  The kernel writes that into the record; then it is copied to
 * where the program wants it, which is what replay does as well.  A bad pointer must have no effect: the program's
 * memory is touched before the call, and a fault there makes the recorder send us the traced way (blob_head.fault),
 * with nothing done yet.
 *
 * A call must never sleep here, for nobody else would run.  Files do not; of pipes, sockets, terminals and their like
 * poll() is asked first.  That may be wrong: somebody outside can take the data in between, and a flag that belongs
 * to an open file (O_NONBLOCK) may change under us.  The recorder sees such a sleeper after some
 * milliseconds, interrupts it and lets the call return BUF_WOULD_BLOCK.
 */
#include "abi/bpf.h"
#include "syscallbuf/hook.h"

enum { PIPE_ATOMIC = 4096, SOCKET_SMALL = 16384 };
enum { POLL_IN = 1, POLL_OUT = 4, POLL_ERR = 8, POLL_HUP = 16 };
enum { O_CREATE_TRUNC = 01000, O_NONBLOCKING = 04000, F_GETFLAGS = 3, F_SETFLAGS = 4 };
enum { MSG_DONTWAITING = 0x40, MSG_PLAIN = 0x02 | 0x20 | 0x40 | 0x4000 | 0x40000000 };
enum { S_TYPE = 0170000, S_DIR = 0040000, S_CHAR = 0020000, S_BLOCK = 0060000, S_FILE = 0100000, PROC_BLOCK = 1024 };
enum { E_NOSYS = 38, E_BADF = 9 };
enum { INPUTS = 4, STRING_MAX = 255 };
enum { MAP_PRIVATELY = 2, MAP_TYPES = 15, MAP_ANON = 0x20, MAP_PLAIN = 0x2 | 0x10 | 0x20 | 0x800 | 0x2000 | 0x4000 | 0x8000 | 0x20000 | 0x100000,
       PROT_PLAIN = 7, PROT_WRITING = 2, PROT_RUNNING = 4, ADVICE_DONTNEED = 4, SIG_BLOCKING = 0, SIGACTION_SIZE = 32 };

enum {
	NR_mmap = 9, NR_mprotect = 10, NR_munmap = 11, NR_brk = 12, NR_rt_sigaction = 13, NR_rt_sigprocmask = 14, NR_madvise = 28,
	NR_sendfile = 40, NR_ftruncate = 77, NR_rt_sigpending = 127, NR_futex = 202, NR_set_tid_address = 218,
	NR_newfstatat = 262, NR_set_robust_list = 273, NR_prlimit64 = 302, NR_copy_file_range = 326,
	NR_lseek = 8, NR_getpid = 39, NR_getuid = 102, NR_getppid = 110, NR_gettid = 186, NR_clock_gettime = 228,
	NR_read = 0, NR_write = 1, NR_open = 2, NR_close = 3, NR_fstat = 5, NR_poll = 7, NR_ioctl = 16, NR_pread64 = 17,
	NR_pwrite64 = 18, NR_readv = 19, NR_writev = 20, NR_select = 23, NR_dup2 = 33, NR_accept = 43, NR_sendto = 44,
	NR_recvfrom = 45, NR_sendmsg = 46, NR_recvmsg = 47, NR_fcntl = 72, NR_epoll_wait = 232, NR_openat = 257, NR_getcpu = 309,
	NR_pselect6 = 270, NR_ppoll = 271, NR_epoll_pwait = 281, NR_accept4 = 288, NR_dup3 = 292, NR_preadv = 295,
	NR_pwritev = 296, NR_preadv2 = 327, NR_pwritev2 = 328,
};

/* arch/x86/include/uapi/asm/stat.h, the parts we look at */
struct stat_head { uint64_t dev, ino, nlink; uint32_t mode, uid, gid, pad; uint64_t rdev, size, blksize; char rest[80]; };
_Static_assert(sizeof(struct stat_head) == sizeof(struct k_stat), "struct stat");

/* ---- descriptors ------------------------------------------------------------------------ */

static int is_watched(const struct buf_state *s, const struct stat_head *st)
{
	uint32_t bit = buf_file_bit(st->dev, st->ino);

	return st->dev == s->proc_dev || (s->filter[bit / 8] >> bit % 8 & 1);
}

static enum buf_class look(const struct buf_state *s, uint64_t fd)
{
	struct stat_head st;

	int64_t ret = own_call(NR_fstat, fd, (uint64_t)(uintptr_t)&st, 0);

	if (ret)	/* it is closed, and the call will fail; or a sandbox does not let us look */
		return ret == -E_BADF ? BUF_FD_UNKNOWN : BUF_FD_STDIO;
	for (unsigned i = 1; i <= 2; i++) {
		if (s->stdio_ino[i] && st.ino == s->stdio_ino[i] && st.dev == s->stdio_dev[i])
			return BUF_FD_STDIO;
	}
	switch (st.mode & S_TYPE) {
	case S_FILE:
		if (!st.size && st.blksize == PROC_BLOCK && st.dev < 256)
			return BUF_FD_PROC;
		return is_watched(s, &st) ? BUF_FD_WATCHED : BUF_FD_FILE;
	case S_DIR:
	case S_BLOCK:
		return BUF_FD_FILE;
	case S_CHAR:
		if (st.rdev >= 0x103 && st.rdev <= 0x109 && st.rdev != 0x104)	/* null, zero, full, (u)random */
			return BUF_FD_FILE;
		break;
	}
	return own_call(NR_fcntl, fd, F_GETFLAGS, 0) & O_NONBLOCKING ? BUF_FD_NONBLOCK : BUF_FD_STREAM;
}

static enum buf_class class_of(struct buf_state *s, uint64_t fd)
{
	uint32_t n = (uint32_t)fd;

	if (n >= BUF_FDS)
		return look(s, n);
	if (!s->fd[n])
		s->fd[n] = (uint8_t)look(s, n);
	return s->fd[n];
}

static void forget(struct buf_state *s, uint64_t fd)
{
	if ((uint32_t)fd < BUF_FDS)
		s->fd[(uint32_t)fd] = BUF_FD_UNKNOWN;
}

/* ---- may it sleep? ------------------------------------------------------------------------ */

static int ready(uint64_t fd, int16_t events)
{
	struct k_pollfd p = { (int32_t)fd, events, 0 };

	if (own_call(NR_poll, (uint64_t)(uintptr_t)&p, 1, 0) != 1)
		return 0;
	/* a write that fails may raise SIGPIPE, which the program expects at once */
	return events == POLL_IN || !(p.revents & (POLL_ERR | POLL_HUP));
}

static int may_read(struct buf_state *s, uint64_t fd)
{
	enum buf_class class = class_of(s, fd);

	return (class < BUF_FD_STREAM) || class == BUF_FD_NONBLOCK || (class != BUF_FD_PROC && ready(fd, POLL_IN));
}

/*
 * O_NONBLOCK belongs to the open file, and others may have cleared it.  A call that sleeps then is interrupted by the recorder and made
 * again; but not if it has written a part before, which would be its result.
 */
static int still_nonblocking(struct buf_state *s, uint64_t fd)
{
	if (own_call(NR_fcntl, fd, F_GETFLAGS, 0) & O_NONBLOCKING)
		return 1;
	forget(s, fd);
	return 0;
}

static int may_write(struct buf_state *s, uint64_t fd, uint64_t len)
{
	switch (class_of(s, fd)) {
	case BUF_FD_WATCHED:
	case BUF_FD_PROC:
	case BUF_FD_STDIO:
		return 0;
	case BUF_FD_STREAM:
		return len <= PIPE_ATOMIC && ready(fd, POLL_OUT);
	case BUF_FD_NONBLOCK:
		return len <= PIPE_ATOMIC || still_nonblocking(s, fd);
	default:
		return 1;
	}
}

static uint64_t iov_bytes(const uint64_t *iov, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n && i < 1024; i++)
		sum += iov[2 * i + 1] < 1 << 20 ? iov[2 * i + 1] : 1 << 20;
	return sum;
}

static int may_receive(struct buf_state *s, uint64_t fd, uint64_t flags)
{
	if (flags & ~(uint64_t)(uint32_t)MSG_PLAIN & 0xffffffff)
		return 0;
	return (flags & MSG_DONTWAITING) || may_read(s, fd);
}

static int may_send(struct buf_state *s, uint64_t fd, uint64_t len, uint64_t flags)
{
	enum buf_class class;

	if (flags & ~(uint64_t)(uint32_t)MSG_PLAIN & 0xffffffff)
		return 0;
	class = class_of(s, fd);
	if (flags & MSG_DONTWAITING)
		return 1;
	if (class == BUF_FD_NONBLOCK)
		return len <= PIPE_ATOMIC || still_nonblocking(s, fd);
	return class == BUF_FD_STREAM && len <= SOCKET_SMALL && ready(fd, POLL_OUT);
}

/* O_TRUNC changes what those see who have the file mapped. */
static int may_truncate(const struct buf_state *s, uint64_t dir, uint64_t path)
{
	const uint64_t args[6] = { dir, path, 0, 0, 0, 0 };
	uint64_t a[6];
	struct stat_head st;

	__builtin_memcpy(a, args, sizeof(a));
	a[2] = (uint64_t)(uintptr_t)&st;
	if (untraced(NR_newfstatat, a) != 0)
		return 1;
	return (st.mode & S_TYPE) == S_FILE && !is_watched(s, &st);
}

/* Between files only: nobody waits, and no mapping changes. */
static int may_copy(struct buf_state *s, uint64_t from, uint64_t to)
{
	enum buf_class class = class_of(s, from);

	return (class == BUF_FD_FILE || class == BUF_FD_WATCHED) && class_of(s, to) == BUF_FD_FILE;
}

/* A signal that this lets through is to be handled before the call returns. */
static int may_unblock(uint64_t how, uint64_t set)
{
	uint64_t pending = 0;

	if (!set || how == SIG_BLOCKING)
		return 1;
	return own_call(NR_rt_sigpending, (uint64_t)(uintptr_t)&pending, 8, 0) == 0 && !pending;
}

/* What is special about a call under way. */
struct special {
	/* It waits, and is made with no time to wait.  patient: when nothing is ready it must be made again, traced. */
	int patient, arg;
	uint64_t now[2];
	int assist;
	/* input to be recorded: from here, as if it stood at addr */
	unsigned ins;
	struct input { uint64_t from, addr, len; } in[INPUTS];
};

static void note_input(struct special *w, uint64_t from, uint64_t addr, uint64_t len)
{
	if (len && w->ins < INPUTS)
		w->in[w->ins++] = (struct input){ from, addr, len };
}

/* What path arguments say, for people who read a dump. */
static void note_strings(struct special *w, const struct sys_row *row, const uint64_t *args)
{
	for (unsigned i = 0; i < row->nargs; i++) {
		const char *text = (const char *)(uintptr_t)args[i];
		uint64_t len = 0;

		if (row->arg[i].what != W_STR || !text || args[i] >= 1ull << 47)
			continue;
		while (len < STRING_MAX && text[len])
			len++;
		note_input(w, args[i], args[i], len);
	}
}

static int begins(const char *text, const char *with)
{
	while (*with && *text == *with) {
		text++;
		with++;
	}
	return !*with;
}

/* A path at which the recorder may have another file to show (recorder/cores.c). */
static int asks_for_cpus(const struct sys_row *row, const uint64_t *args)
{
	const char *path;
	unsigned i = 0;

	while (i < row->nargs && i < 2 && row->arg[i].what != W_STR)
		i++;
	if (i == row->nargs || i == 2 || !args[i] || args[i] >= 1ull << 47)
		return 0;
	path = (const char *)(uintptr_t)args[i];
	if (path[0] != '/' || (path[1] != 'p' && path[1] != 's'))
		return 0;
	return begins(path, "/sys/devices/system/cpu") || begins(path, "/sys/fs/cgroup/") || begins(path, "/proc/cpuinfo") ||
	       begins(path, "/proc/stat") || begins(path, "/proc/self/status") || begins(path, "/proc/thread-self/status");
}

/* Whatever processor it was: the program believes to run on the first one. */
static void answer_cpu(const uint64_t *args)
{
	for (unsigned i = 0; i < 2; i++) {
		if (args[i])
			*(uint32_t *)(uintptr_t)args[i] = 0;
	}
}

static int wait_millis(uint64_t *args, int arg, struct special *w)
{
	w->patient = (int32_t)args[arg] != 0;
	args[arg] = 0;
	return 1;
}

/* The time stands in memory, which some calls update: no span for it then, for no time has passed. */
static int wait_pointer(uint64_t *args, int arg, struct special *w)
{
	const uint64_t *time = (const uint64_t *)(uintptr_t)args[arg];

	w->patient = !time || time[0] || time[1];
	w->arg = arg;
	w->now[0] = w->now[1] = 0;
	args[arg] = (uint64_t)(uintptr_t)w->now;
	return 1;
}

/* Refused by the recorder. */
static int is_ours(uint64_t addr, uint64_t len)
{
	return addr < FIXED_END && (addr >= FIXED_PAGE || len > FIXED_PAGE - addr);
}

/* The program may be about to change patched code. */
static int is_patched(const struct buf_state *s, uint64_t addr, uint64_t len)
{
	const uint64_t (*code)[2] = s->code;

	return (addr < code[0][1] && addr + len > code[0][0]) || (addr < code[1][1] && addr + len > code[1][0]);
}

static int may_ask_call(struct buf_state *s, uint64_t nr, uint64_t *args, struct special *w)
{
	const uint64_t *p;

	switch (nr) {
	case NR_read:
	case NR_pread64:
	case NR_readv:
	case NR_preadv:
	case NR_preadv2:
		return may_read(s, args[0]);
	case NR_write:
	case NR_pwrite64:
		return may_write(s, args[0], args[2]);
	case NR_writev:
	case NR_pwritev:
	case NR_pwritev2:
		return may_write(s, args[0], iov_bytes((const uint64_t *)(uintptr_t)args[1], args[2]));
	case NR_open:
		return !(args[1] & O_CREATE_TRUNC) || may_truncate(s, (uint64_t)-100, args[0]);
	case NR_openat:
		return !(args[2] & O_CREATE_TRUNC) || may_truncate(s, args[0], args[1]);
	case NR_getcpu:
		return !s->cpu_asked;
	case NR_sendfile:
		return may_copy(s, args[1], args[0]);
	case NR_copy_file_range:
		return may_copy(s, args[0], args[2]);
	case NR_ftruncate:
		return class_of(s, args[0]) == BUF_FD_FILE;
	case NR_mmap:
		w->assist = 1;
		return !is_ours(args[0], args[1]) && !(s->tsc_open && (args[2] & PROT_RUNNING)) && (args[3] & MAP_ANON) && (args[3] & MAP_TYPES) == MAP_PRIVATELY && !(args[3] & ~(uint64_t)MAP_PLAIN) &&
		       !(args[2] & ~(uint64_t)PROT_PLAIN);
	case NR_mprotect:
		w->assist = 1;
		return !is_ours(args[0], args[1]) && !(args[2] & ~(uint64_t)PROT_PLAIN) &&
		       !((args[2] & PROT_WRITING) && is_patched(s, args[0], args[1])) && !(s->marked && (args[2] & PROT_RUNNING));
	case NR_munmap:
		w->assist = 1;
		return !is_ours(args[0], args[1]);
	case NR_madvise:
		w->assist = 1;
		return !is_ours(args[0], args[1]) && args[2] == ADVICE_DONTNEED;
	case NR_brk:
		w->assist = 1;
		w->now[0] = (uint64_t)own_call(NR_brk, 0, 0, 0);
		note_input(w, (uint64_t)(uintptr_t)&w->now[0], 0, 8);
		return 1;
	case NR_rt_sigaction:
		note_input(w, args[1], args[1], args[1] ? SIGACTION_SIZE : 0);
		return args[3] == 8 && args[1] < 1ull << 47;
	case NR_rt_sigprocmask:
		note_input(w, args[1], args[1], args[1] ? 8 : 0);
		return args[3] == 8 && may_unblock(args[0], args[1]);
	case NR_futex:	/* not if it would sleep */
		return *(const volatile uint32_t *)(uintptr_t)args[0] != (uint32_t)args[2];
	case NR_prlimit64:
		return !args[2];
	case NR_set_tid_address:
	case NR_set_robust_list:
		return 1;
	case NR_recvfrom:
		return may_receive(s, args[0], args[3]);
	case NR_recvmsg:
		return may_receive(s, args[0], args[2]);
	case NR_sendto:
		return may_send(s, args[0], args[2], args[3]);
	case NR_sendmsg:
		p = (const uint64_t *)(uintptr_t)args[1];
		return may_send(s, args[0], iov_bytes((const uint64_t *)(uintptr_t)p[2], p[3]), args[2]);
	case NR_accept:
	case NR_accept4:
		return may_read(s, args[0]);
	case NR_poll:
		return wait_millis(args, 2, w);
	case NR_epoll_wait:
		return wait_millis(args, 3, w);
	case NR_epoll_pwait:
		return !args[4] && wait_millis(args, 3, w);
	case NR_select:
		return wait_pointer(args, 4, w);
	case NR_pselect6:
		return (!args[5] || !*(const uint64_t *)(uintptr_t)args[5]) && wait_pointer(args, 4, w);
	case NR_ppoll:
		return !args[3] && wait_pointer(args, 2, w);
	default:
		return 0;
	}
}

/* The rest of the table cannot sleep; some change what we know. */
static int may_fast_call(struct buf_state *s, uint64_t nr, const uint64_t *args)
{
	switch (nr) {
	case NR_close:
		forget(s, args[0]);
		return 1;
	case NR_dup2:
	case NR_dup3:
		forget(s, args[1]);
		return 1;
	case NR_fcntl:
		if ((uint32_t)args[1] == F_SETFLAGS)
			forget(s, args[0]);
		return 1;
	case NR_ioctl:
		forget(s, args[0]);
		return 1;
	case NR_futex:	/* all but waiting is here */
		return !s->wakes;
	default:
		return 1;
	}
}

/* ---- the call -------------------------------------------------------------------------------- */

/*
 * A call that would sleep, or for some other reason is not made here: 2 if it may sleep in the hook.  Not writes (they may have
 * done a part, and raise signals), and nothing else that changes what it waits for.
 */
static int sleeps(struct buf_state *s, uint64_t nr, const uint64_t *args)
{
	enum { CMD = 127, WAIT = 0, WAIT_BITSET = 9, POLLS = 512 };
	enum buf_class class;

	if (!s->parks || !shared()->allowed)
		return 0;
	switch (nr) {
	case NR_read:
	case NR_recvfrom:
	case NR_accept:
	case NR_accept4:
		if (nr == NR_recvfrom && (args[3] & ~(uint64_t)(MSG_PLAIN & ~MSG_DONTWAITING) & 0xffffffff))
			return 0;
		class = class_of(s, args[0]);
		if ((class != BUF_FD_STREAM && class != BUF_FD_STDIO) || (nr <= NR_recvfrom && nr != NR_accept && args[2] > PARK_BYTES))
			return 0;
		break;
	case NR_futex:
		if ((args[1] & CMD) != WAIT && (args[1] & CMD) != WAIT_BITSET)
			return 0;
		break;
	case NR_poll:
		if (args[1] > POLLS || !args[2])
			return 0;
		break;
	case NR_epoll_pwait:
		if (args[4])
			return 0;
		/* fallthrough */
	case NR_epoll_wait:
		if (!args[3])
			return 0;
		break;
	default:
		return 0;
	}
	for (unsigned i = 0; i < BUF_PARKS; i++) {
		if (s->parked[i])
			continue;
		s->park = FIXED_PARKS + (uint64_t)(i + 1) * PARK_SIZE;
		return 2;
	}
	return 0;
}

/*
 * The calls made most often: one output or none, and nothing special about them.  The same as below, without a plan.
 * -1: not one of them.
 */
static int quick(struct buf_state *s, struct frame *f, const struct sys_row *row)
{
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	uint64_t args[6] = { f->rdi, f->rsi, f->rdx, f->r10, f->r8, f->r9 };
	uint64_t home = 0, cap = 0, len, head, *word = (uint64_t *)(r + 1);
	unsigned at = 1;
	int64_t ret;

	switch (f->rax) {
	case NR_read:
	case NR_pread64:
		if (!may_read(s, args[0]))
			return sleeps(s, f->rax, args);
		cap = args[2];
		break;
	case NR_clock_gettime:
		cap = 16;
		break;
	case NR_fstat:
		cap = sizeof(struct k_stat);
		break;
	case NR_write:
	case NR_pwrite64:
		if (!may_write(s, args[0], args[2]))
			return 0;
		at = 6;
		break;
	case NR_close:
		forget(s, args[0]);
		/* fallthrough */
	case NR_lseek:
	case NR_getpid:
	case NR_getuid:
	case NR_getppid:
	case NR_gettid:
		at = 6;
		break;
	default:
		return -1;
	}
	if (at < 6) {
		home = args[at];
		if (!home || home >= 1ull << 47 || !cap || cap > BUF_SPAN_MAX)
			return -1;
	}
	head = sizeof(*r) + 8ull * row->nargs + (at < 6 ? 8 : 0);
	if (s->pos + head + cap > s->end)
		return 0;
	if (at < 6) {
		/* the page of its own return address is there, and it can write to it */
		if ((home ^ s->rsp) >> 12 || ((home + cap - 1) ^ s->rsp) >> 12)
			plan_touch(home, cap);
		args[at] = s->pos + head;
	}
	ret = untraced(f->rax, args);
	if (ret == BUF_WOULD_BLOCK || ret == BUF_TRACED)
		return 0;
	for (unsigned i = 0; i < row->nargs; i++)
		*word++ = (&f->rdi)[i];
	*r = (struct buf_record){ .nr = (uint16_t)f->rax, .args = row->nargs, .head = (uint32_t)head, .ret = ret };
	if (at < 6) {
		len = ret < 0 ? 0 : row->arg[at].len == L_RET ? (uint64_t)ret : cap;
		copy((void *)(uintptr_t)home, (const char *)r + head, len);
		*word = home | len << BUF_SPAN_SHIFT;
		head += up8(len);
		r->spans = 1;
	}
	r->size = (uint32_t)head;
	s->pos += head;
	f->rax = (uint64_t)ret;
	return 1;
}

/* A call that is not made. */
static int answer(struct buf_state *s, struct frame *f, const struct sys_row *row, int64_t ret)
{
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	uint32_t size = (uint32_t)(sizeof(*r) + 8u * row->nargs);

	copy(r + 1, &f->rdi, 8ull * row->nargs);
	*r = (struct buf_record){ .nr = (uint16_t)f->rax, .args = row->nargs, .head = size, .size = size, .ret = ret };
	s->pos += size;
	f->rax = (uint64_t)ret;
	return 1;
}

/* Do all of the program's filters allow this very call? */
static int filters_allow(const struct frame *f)
{
	enum { ARCH_X86_64 = 0xc000003e, ACTION = 0xffff0000, ALLOW = 0x7fff0000, LOG = 0x7ffc0000 };
	const struct buf_filters *fs = (const struct buf_filters *)(uintptr_t)FIXED_FILTERS;
	const uint64_t words[8] = { f->rax | (uint64_t)ARCH_X86_64 << 32, f->stub->after, f->rdi, f->rsi, f->rdx, f->r10, f->r8, f->r9 };
	const struct sock_filter *p = &fs->code[fs->at[f->rax] - 1];
	uint32_t data[BPF_DATA_WORDS];

	if (!fs->at[f->rax])
		return 0;
	copy(data, words, sizeof(data));
	for (uint32_t left = p++->k; left; left--) {
		uint32_t answer = bpf_run(p + 1, data) & ACTION;

		if (answer != ALLOW && answer != LOG)
			return 0;
		p += 1 + p->k;
	}
	return 1;
}

/* Has the recorder to ask the program's filters?  They do not see what the vdso's functions do, with the clocks they know. */
static int is_filtered(const struct buf_state *s, const struct frame *f)
{
	enum { CLOCKS = 1 << 0 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 11 };

	if ((f->stub->flags & STUB_VDSO) && (f->rax != NR_clock_gettime || (f->rdi < 12 && (CLOCKS >> f->rdi & 1))))
		return 0;
	return f->rax >= BUF_CALLS || ((s->traced[f->rax / 8] >> f->rax % 8 & 1) && !filters_allow(f));
}

int buf_record(struct frame *f)
{
	struct buf_state *s = state();
	uint64_t nr = f->rax, args[6];
	bool known;
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	struct special w;
	const struct sys_row *row;
	struct plan p;
	int done;
	uint64_t head, size, *word;
	int64_t ret;

	if (s->pos + sizeof(*r) + 64 > s->end || (s->filtered && is_filtered(s, f)))
		return 0;
	if (nr < SYS_ROWS) {
		done = quick(s, f, &sys_rows[nr]);
		if (done >= 0)
			return done;
	}
	copy(args, &f->rdi, sizeof(args));
	w.patient = w.assist = 0;
	w.arg = -1;
	w.ins = 0;
	row = sys_row_for(nr, args, &known);
	if (known && row->replay == REPLAY_UNSUPPORTED)	/* as the recorder answers it */
		return answer(s, f, row, -E_NOSYS);
	if (row->buffer == BUFFER_NEVER)
		return 0;
	if (row->buffer == BUFFER_FAST ? !may_fast_call(s, nr, args) : !may_ask_call(s, nr, args, &w))
		return sleeps(s, nr, args);
	if (asks_for_cpus(row, args) || !plan_list(&p, nr, args, w.arg))
		return 0;
	note_strings(&w, row, args);
	head = sizeof(*r) + 8ull * row->nargs + 8ull * (p.outs + w.ins);
	for (unsigned i = 0; i < w.ins; i++)
		p.room += up8(w.in[i].len);
	if (s->pos + head + p.room > s->end)
		return 0;
	if (p.outs && !plan_redirect(&p, args, s->pos + head))
		return 0;
	ret = untraced(nr, args);
	if (ret == BUF_TRACED)
		return 0;
	if (ret == BUF_WOULD_BLOCK || (w.patient && ret == 0))
		return sleeps(s, nr, &f->rdi);
	if (w.assist && ret < 0)	/* it may have done a part: once more, traced, which finds the same */
		return 0;
	if (nr == NR_getcpu && ret == 0)
		answer_cpu(args);
	plan_lengths(&p, nr, args, ret);
	word = (uint64_t *)(r + 1);
	for (unsigned i = 0; i < row->nargs; i++)
		*word++ = (&f->rdi)[i];
	if (p.outs)
		plan_bring_home(&p, word, (char *)r + head);
	size = head + (p.outs ? plan_out_bytes(&p) : 0);
	for (unsigned i = 0; i < w.ins; i++) {
		word[p.outs + i] = w.in[i].addr | w.in[i].len << BUF_SPAN_SHIFT;
		copy((char *)r + size, (const void *)(uintptr_t)w.in[i].from, w.in[i].len);
		size += up8(w.in[i].len);
	}
	*r = (struct buf_record){ .nr = (uint16_t)nr, .args = row->nargs, .spans = (uint8_t)(p.outs + w.ins),
				  .in_spans = (uint8_t)w.ins, .assist = (uint8_t)w.assist, .head = (uint32_t)head,
				  .size = (uint32_t)size, .ret = ret };
	s->pos += r->size;
	f->rax = (uint64_t)ret;
	return 1;
}

static uint64_t counter(const struct cpuid_frame *f)
{
	uint32_t lo, hi;

	if (f->stub->flags & STUB_TSCP)
		__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi) : : "ecx", "memory");
	else
		__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

static void barrier(void)
{
	__asm__ volatile("" : : : "memory");
}

/* The last record, when it is of rdtsc and not in the trace yet. */
static struct buf_record *tsc_last(const struct buf_state *s)
{
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->tsc_run;

	return r && s->tsc_run + r->size == s->pos ? r : NULL;
}

/*
 * Another one in the record of the last.  0: it needs a record of its own.  The task may be stopped between any two instructions, and what is in the
 * buffer is read then: the span word says how much there is, and the recorder how much of it it has seen.
 */
static int tsc_append(struct buf_state *s, uint64_t value)
{
	struct buf_record *r = tsc_last(s);
	uint64_t n, more = value - s->tsc_value, *word = (uint64_t *)(r + 1);

	if (!r || !r->spans || more >> 32)
		return 0;
	n = BUF_SPAN_LEN(*word) / 4;
	if (r->head + 4 * n == r->size)
		return 0;
	((uint32_t *)(word + 1))[n] = (uint32_t)more;
	barrier();
	*(volatile uint64_t *)word = (n + 1) * 4 << BUF_SPAN_SHIFT;
	barrier();
	return s->tsc_run || s->tsc_seen > n;
}

/* A record of its own.  Behind another one it gets room for more, each time four times as much. */
static void tsc_begin(struct buf_state *s, uint64_t value)
{
	const struct buf_record *last = tsc_last(s);
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	uint32_t room = 0;

	if (last)
		room = last->spans ? (last->size - last->head) * 4 : BUF_TSC_FIRST;
	if (room > BUF_TSC_MOST)
		room = BUF_TSC_MOST;
	if (s->pos + sizeof(*r) + 8 + room > s->end)
		room = 0;
	*r = (struct buf_record){ .nr = BUF_NR_TSC, .head = sizeof(*r), .size = sizeof(*r), .ret = (int64_t)value };
	if (room) {
		r->spans = r->in_spans = 1;
		r->head += 8;
		r->size = r->head + room;
		*(uint64_t *)(r + 1) = 0;
	}
	s->tsc_run = s->pos;	/* before it counts: the recorder may have seen it as soon as it does */
	barrier();
	s->pos += r->size;
}

/*
 * The counter traps in all of the process; it is let through for this once, until the recorder has made sure that it need not trap.  Not where
 * it cannot be made to.
 */
int buf_tsc_record(struct cpuid_frame *f)
{
	enum { NR_prctl = 157, SET_TSC = 26, TSC_ENABLE = 1, TSC_SIGSEGV = 2 };
	struct buf_state *s = state();
	uint64_t value;

	if (f->stub->flags & STUB_TSCP && s->cpu_asked)
		return 0;
	if (s->tsc_traps && !s->tsc_open) {
		if (!s->tsc_left || own_call(NR_prctl, SET_TSC, TSC_ENABLE, 0) != 0)
			return 0;
		value = counter(f);
		own_call(NR_prctl, SET_TSC, TSC_SIGSEGV, 0);
		s->tsc_left--;
	} else {	/* a thread that still traps stops here, and is let go on (recorder/tsc.c): nothing of the state is known before */
		value = counter(f);
	}
	if (s->pos + sizeof(struct buf_record) > s->end)
		return 0;
	if (!tsc_append(s, value))
		tsc_begin(s, value);
	s->tsc_value = value;
	f->rax = (uint32_t)value;
	f->rdx = value >> 32;
	if (f->stub->flags & STUB_TSCP)
		f->rcx = 0;
	return 1;
}
