/*
 * status.c - what /proc/PID/status says of seccomp and tracers: the program's own, and nothing of
 * ours.
 *
 * The kernel speaks of our filter, of the no_new_privs that it needed, and of none of the program's
 * filters.  What a recorded task reads is put right where the kernel has written it, before it goes
 * into the trace.  A file of /proc is read in one piece or in many; so the place of each number is
 * found in the whole text, read through an open file of our own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/ptrace.h"

enum { TEXT_MAX = 8192 };

/*
 * The task that /proc/PID/status or /proc/PID/task/TID/status is about; NULL: a process outside the
 * recording, or no such file.
 */
static struct rec_task *subject(struct recorder *rec, struct rec_task *t, int fd)
{
	char link[64], path[128], *last;
	ssize_t n;
	pid_t tid;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", t->tid, fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 7)
		return NULL;
	path[n] = '\0';
	last = path + n - 7;
	if (strcmp(last, "/status"))
		return NULL;
	*last = '\0';
	last = strrchr(path, '/');
	tid = last ? atoi(last + 1) : 0;
	return rec_task_seen(rec, t, tid);
}

bool rec_status_is(struct recorder *rec, struct rec_task *t, int fd)
{
	return subject(rec, t, fd) != NULL;
}

/* Byte `at` of what the call has read is to be c. */
static void put(struct rec_task *t, const struct rec_call *call, uint64_t at, char c)
{
	char old;

	for (unsigned i = 0; i < call->spans; i++) {
		if (!(call->span[i].dir & D_OUT))
			continue;
		if (at < call->span[i].cap) {
			if (tracee_read_user(t->tid, call->span[i].addr + at, &old, 1) == 1 &&
			    old >= '0' && old <= '9')
				err_free(tracee_write(t->tid, call->span[i].addr + at, &c, 1));
			return;
		}
		at -= call->span[i].cap;
	}
}

/* When it read of itself it was not stopped: the only line that has another length since. */
static void as_running(char text[TEXT_MAX])
{
	static const char name[] = "\nState:\t", running[] = "R (running)";
	char *state = strstr(text, name), *end = state ? strchr(state + 1, '\n') : NULL;

	if (!end)
		return;
	state += sizeof(name) - 1;
	memmove(state + sizeof(running) - 1, end, strlen(end) + 1);
	memcpy(state, running, sizeof(running) - 1);
}

/* Gets what the call has read, up to TEXT_MAX bytes of it. */
static size_t get(const struct rec_task *t, int64_t ret, char buf[TEXT_MAX])
{
	const struct rec_call *call = &t->call;
	size_t n = 0, want = ret < TEXT_MAX ? (size_t)ret : TEXT_MAX;

	for (unsigned i = 0; i < call->spans && n < want; i++) {
		size_t len = call->span[i].cap < want - n ? call->span[i].cap : want - n;

		if (call->span[i].dir & D_OUT)
			n += tracee_read_user(t->tid, call->span[i].addr, buf + n, len);
	}
	return n;
}

/*
 * A number may have got or lost a digit meanwhile (signals queued): by how much does what follows
 * stand elsewhere in text?
 */
static int64_t shift_of(const struct rec_task *t, int64_t ret, const char *text, int64_t from)
{
	/* "R (running)" is five shorter than "t (tracing stop)" */
	enum { SHIFTS = 8, ENOUGH = 32 };
	char bytes[TEXT_MAX];
	int64_t n = (int64_t)get(t, ret, bytes), len = (int64_t)strlen(text), best = 0, most = -1;

	for (int64_t try = 0; n >= ENOUGH && try <= 2 * SHIFTS; try++) {
		int64_t shift = try & 1 ? -(try + 1) / 2 : try / 2, same = 0;

		for (int64_t i = n / 2; i < n; i++) {
			int64_t at = from + i + shift;

			same += at >= 0 && at < len && text[at] == bytes[i];
		}
		if (same > most) {
			most = same;
			best = shift;
		}
	}
	return best;
}

/* The part of the text that a call has read: [from, from + len), and the bytes themselves. */
struct part {
	const char *text, *bytes;
	uint64_t from, len;
};

/* The digits from `at` of what was read on become value. */
static void put_digits(struct rec_task *t, uint64_t at, size_t digits, size_t i, uint64_t value)
{
	char digit = value || i == digits - 1 ? (char)('0' + value % 10) : ' ';

	put(t, &t->call, at + i, digit);
}

/*
 * Writes one number of the text.  Where its name was read, too, as nearly always, the name says
 * where it is; else its place in the whole text does, which may have moved a little since
 * (shift_of()).
 */
static void put_number(struct rec_task *t, const struct part *p, const char *name, uint64_t value)
{
	const char *here = strstr(p->bytes, name), *line = here ? here : strstr(p->text, name);
	const char *base = here ? p->bytes : p->text;
	uint64_t at = line ? (uint64_t)(line - base) + strlen(name) : 0, from = here ? 0 : p->from;
	size_t digits = line ? strspn(base + at, "0123456789") : 0;

	for (size_t i = digits; i-- > 0; value /= 10) {
		if (at + i >= from && at + i < from + p->len)
			put_digits(t, at - from, digits, i, value);
	}
}

void rec_status_read(struct recorder *rec, struct rec_task *t, int64_t ret)
{
	const struct rec_call *call = &t->call;
	int fd = (int)call->args[0], own;
	static const uint8_t known = BUF_FD_WATCHED;
	enum fd_class class = rec_fd_class(rec, t, fd);
	char path[64], text[TEXT_MAX], bytes[TEXT_MAX + 1];
	const struct rec_task *of;
	struct part part;
	int64_t end, from;
	ssize_t n;

	if (class != FD_STATUS) {	/* need not be looked at again */
		if (class == FD_PROC && t->mm->buf.on && fd < BUF_FDS)
			err_free(rec_buffer_state(t, offsetof(struct buf_state, fd) + (size_t)fd,
						  &known, 1));
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
	own = open(path, O_RDONLY | O_CLOEXEC);
	n = own < 0 ? 0 : read(own, text, sizeof(text) - 32);
	if (own >= 0)
		close(own);
	of = subject(rec, t, fd);
	end = call->nr == SYS_pread64 ? (int64_t)call->args[3] + ret : rec_fd_position(t, fd, 0);
	if (n <= 0 || !of || end < ret)
		return;
	text[n] = '\0';
	if (of == t)
		as_running(text);
	from = end - ret + shift_of(t, ret, text, end - ret);
	bytes[get(t, ret, bytes)] = '\0';
	part = (struct part){ text, bytes, (uint64_t)from, (uint64_t)ret };
	put_number(t, &part, "\nNoNewPrivs:\t", of->filters.no_new_privs);
	put_number(t, &part, "\nTracerPid:\t",
		   rec_pt_traced(of) ? (uint64_t)rec_pt_tracer_seen(rec, t, of) : 0);
	put_number(t, &part, "\nSeccomp:\t", (uint64_t)rec_filter_mode(rec, of));
	put_number(t, &part, "\nSeccomp_filters:\t", rec_filter_count(rec, of));
}
