/*
 * sleep.h - may a call sleep?  A part of record.c, which it is compiled into.
 */
#ifndef SYSCALLBUF_SLEEP_H
#define SYSCALLBUF_SLEEP_H

#include "syscallbuf/descriptor.h"

static int ready(uint64_t fd, int16_t events)
{
	struct k_pollfd p = { (int32_t)fd, events, 0 };

	if (own_call(NR_poll, (uint64_t)(uintptr_t)&p, 1, 0) != 1)
		return 0;
	p.revents = (int16_t)observe((uint64_t)p.revents);
	/* a write that fails may raise SIGPIPE, which the program expects at once */
	return events == POLL_IN || !(p.revents & (POLL_ERR | POLL_HUP));
}

static int may_read(struct buf_state *s, uint64_t fd)
{
	enum buf_class class = class_of(s, fd);

	return (class < BUF_FD_STREAM) || class == BUF_FD_NONBLOCK ||
	       (class != BUF_FD_PROC && class != BUF_FD_DIRECT && ready(fd, POLL_IN));
}

/*
 * O_NONBLOCK belongs to the open file, and others may have cleared it.  A call that sleeps then is
 * interrupted by the recorder and made again; but not if it has written a part before, which would
 * be its result.
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
	case BUF_FD_DIRECT:
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
	observe_bytes(&st, sizeof(st) / 8);
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
	return own_call(NR_rt_sigpending, (uint64_t)(uintptr_t)&pending, 8, 0) == 0 &&
	       !observe(pending);
}

/* Special properties of a call under way. */
struct special {
	/*
	 * The call waits, and is made with no time to wait. patient: when nothing is ready it must
	 * be made again, traced.
	 */
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

/* Notes the strings of path arguments, for people who read a dump. */
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

static int equal(const char *text, const char *with)
{
	while (*with && *text == *with) {
		text++;
		with++;
	}
	return *text == *with;
}

/* A path from another directory than the root may lead to one of these. */
static int is_cpu_file(const char *path)
{
	static const char begin[][12] = { "cpu", "node", "sys", "devices", "bus", "topology",
					  "cache", "index", "core_", "thread_sib" };
	static const char whole[][12] = { ".", "stat", "status", "online", "possible", "present",
					  "interrupts", "softirqs" };
	const char *name = path;

	for (unsigned i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		if (begins(path, begin[i]))
			return 1;
	}
	for (const char *p = path; *p && p - path < 256; p++) {
		if (*p == '/' && p[1])
			name = p + 1;
		if (name == p + 1 && (begins(name, "cpu") || begins(name, "node")))
			return 1;
	}
	for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (equal(name, whole[i]))
			return 1;
	}
	return 0;
}

/* /proc/self/status, /proc/PID/task/TID/status, ... */
static int is_status(const char *path)
{
	const char *name = path;

	if (!begins(path, "/proc/"))
		return 0;
	for (const char *p = path; *p && p - path < 64; p++) {
		if (*p == '/')
			name = p + 1;
	}
	return equal(name, "status");
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
	if (path[0] != '/')
		return is_cpu_file(path);
	if (path[1] != 'p' && path[1] != 's')
		return 0;
	return begins(path, "/sys/devices/system/cpu") ||
	       begins(path, "/sys/devices/system/node") || begins(path, "/sys/fs/cgroup/") ||
	       begins(path, "/proc/cpuinfo") || begins(path, "/proc/stat") ||
	       begins(path, "/proc/interrupts") || begins(path, "/proc/softirqs") ||
	       begins(path, "/sys/bus/cpu") || is_status(path);
}

/* Whatever processor it was: the program believes to run on the first one. */
static int64_t answer_cpu(const uint64_t *args)
{
	for (unsigned i = 0; i < 2; i++) {
		if (args[i])
			*(uint32_t *)(uintptr_t)args[i] = 0;
	}
	return 0;
}

static int wait_millis(uint64_t *args, int arg, struct special *w)
{
	w->patient = (int32_t)args[arg] != 0;
	args[arg] = 0;
	return 1;
}

/*
 * The time stands in memory, which some calls update: no span for it then, for no time has passed.
 */
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

	return (int)observe(((addr < code[0][1]) & (addr + len > code[0][0])) |
			    ((addr < code[1][1]) & (addr + len > code[1][0])));
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
		return may_write(s, args[0],
				 iov_bytes((const uint64_t *)(uintptr_t)args[1], args[2]));
	case NR_open:
		return !(args[1] & O_CREATE_TRUNC) || may_truncate(s, (uint64_t)-100, args[0]);
	case NR_openat:
		return !(args[2] & O_CREATE_TRUNC) || may_truncate(s, args[0], args[1]);
	case NR_getcpu:
		return !observe(s->cpu_asked);
	case NR_sendfile:
		return may_copy(s, args[1], args[0]);
	case NR_copy_file_range:
		return may_copy(s, args[0], args[2]);
	case NR_ftruncate:
		return class_of(s, args[0]) == BUF_FD_FILE;
	case NR_mmap:
		w->assist = 1;
		return !is_ours(args[0], args[1]) &&
		       !(observe(s->marked) && (args[2] & PROT_RUNNING)) &&
		       (args[3] & MAP_ANON) && (args[3] & MAP_TYPES) == MAP_PRIVATELY &&
		       !(args[3] & ~(uint64_t)MAP_PLAIN) && !(args[2] & ~(uint64_t)PROT_PLAIN);
	case NR_mprotect:
		w->assist = 1;
		return !is_ours(args[0], args[1]) && !(args[2] & ~(uint64_t)PROT_PLAIN) &&
		       !((args[2] & PROT_WRITING) && is_patched(s, args[0], args[1])) &&
		       !(observe(s->marked) && (args[2] & PROT_RUNNING));
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
		return may_send(s, args[0], iov_bytes((const uint64_t *)(uintptr_t)p[2], p[3]),
				args[2]);
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
		return (!args[5] || !*(const uint64_t *)(uintptr_t)args[5]) &&
		       wait_pointer(args, 4, w);
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
		if ((uint32_t)args[1] != F_SETFLAGS)
			return 1;
		forget(s, args[0]);
		/* the open file's: others have it, too, whom the recorder tells */
		return !(args[2] & O_DIRECTLY);
	case NR_ioctl:
		forget(s, args[0]);
		return 1;
	case NR_fsync:
	case NR_fdatasync:
	case NR_fadvise64:	/* what is behind the end of a mapped file may change */
		return class_of(s, args[0]) != BUF_FD_WATCHED;
	case NR_futex:	/* all but waiting is here */
		return !observe(s->wakes);
	default:
		return 1;
	}
}

#endif
