/*
 * serves.c - recorded tasks that serve files to others: a file system (FUSE, autofs, by way of the
 * network), or permission to open and read (fanotify).
 *
 * From then on calls that touch files may wait for a recorded task, and so may the recorder's own.
 * The former count as calls that may sleep, and are not made in the hook, where nobody could run
 * meanwhile.  The latter go through slow_call() (away.c).  Files that are mapped are kept from a
 * copy: the trace's store must not wait in the middle.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/slow.h"
#include "recorder/away.h"
#include "recorder/internal.h"

enum { PIECE = 1 << 20, COPY_MAX = 512 << 20 };

static bool is_served(struct rec_task *t, uint64_t type)
{
	static const char *const types[] = { "fuse", "autofs", "9p", "nfs", "cifs" };
	char name[8];

	tracee_read_string(t->tid, type, name, sizeof(name));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strncmp(name, types[i], strlen(types[i])))
			return true;
	}
	return false;
}

void rec_serves_look(struct recorder *rec, struct rec_task *t, const struct rec_call *call)
{
	enum { CONTENT = 4, PRE_CONTENT = 8 };	/* FAN_CLASS_... of linux/fanotify.h */

	if (rec->serves)
		return;
	switch (call->nr) {
	case SYS_mount:
		rec->serves = is_served(t, call->args[2]);
		break;
	case SYS_fsopen:
		rec->serves = is_served(t, call->args[0]);
		break;
	case SYS_fanotify_init:
		rec->serves = call->args[0] & (CONTENT | PRE_CONTENT);
		break;
	default:
		return;
	}
	if (!rec->serves)
		return;
	slow_run = rec_away_do;
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		if (!o->exiting)
			rec_buffer_off(o);
	}
}

bool rec_serves_waits(const struct recorder *rec, const struct rec_call *call)
{
	if (!rec->serves || !call->row || !call->known || call->row->replay != REPLAY_EMULATE)
		return false;
	for (unsigned i = 0; i < 6; i++) {
		unsigned what = call->row->arg[i].what;

		if (what == W_FD || what == W_DIRFD || what == W_STR)
			return true;
	}
	return false;
}

int rec_serves_copy(const struct recorder *rec, int fd, const struct stat *st)
{
	off_t at = 0, size = st->st_size;
	int copy = -1;
	char *buf;

	if (!rec->serves || fd < 0)
		return fd;
	buf = size <= COPY_MAX ? malloc(PIECE) : NULL;
	if (buf)
		copy = memfd_create("copy", MFD_CLOEXEC);
	while (copy >= 0 && at < size) {
		ssize_t n = slow_pread(fd, buf, PIECE, at);

		if (n <= 0 || pwrite(copy, buf, (size_t)n, at) != n)
			break;
		at += n;
	}
	free(buf);
	slow_close(fd);
	if (copy >= 0 && at < size) {
		close(copy);
		copy = -1;
	}
	return copy;
}
