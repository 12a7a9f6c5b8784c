/*
 * numbers.c - the numbers of tasks and users as a recorded task sees them.
 *
 * A program may make pid and user namespaces.  The recorder has the numbers of its own namespaces;
 * a call that it answers itself takes and gives those of the caller's.
 */
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/proc.h"
#include "recorder/ptrace.h"

enum { LEVELS = 33 };	/* MAX_PID_NS_LEVEL, include/linux/pid_namespace.h */

/* The numbers of one task: level 0 is the recorder's pid namespace, the last one the task's. */
struct rec_numbers {
	unsigned levels;
	pid_t number[LEVELS];
	uint64_t ns[LEVELS];	/* inodes of the namespaces; 0: not known, or ours */
};

/* The numbers in a line of /proc/TID/status, from the recorder's namespace inwards. */
static unsigned status_line(pid_t tid, const char *name, pid_t number[LEVELS])
{
	char rest[PROC_STATUS_LINE], *at = rest, *end;
	unsigned n = 0;

	if (!proc_status_line(tid, name, rest, sizeof(rest)))
		return 0;
	for (long x = strtol(at, &end, 10); end != at && n < LEVELS; x = strtol(at, &end, 10)) {
		number[n++] = (pid_t)x;
		at = end;
	}
	return n;
}

static void find_namespaces(pid_t tid, struct rec_numbers *n)
{
	char path[64];
	struct stat st;
	int fd, outer;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (unsigned level = n->levels - 1; fd >= 0 && level > 0; level--) {
		if (fstat(fd, &st) == 0)
			n->ns[level] = st.st_ino;
		outer = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = outer;
	}
	if (fd >= 0)
		close(fd);
}

static const struct rec_numbers *numbers_of(struct rec_task *t)
{
	struct rec_numbers *n = t->numbers;

	if (n)
		return n;
	n = t->numbers = alloc_zeroed(1, sizeof(*n), "a task's numbers");
	n->levels = status_line(t->tid, "NSpid:", n->number);
	if (!n->levels)		/* it is gone */
		n->levels = 1;
	n->number[0] = t->tid;
	if (n->levels > 1)
		find_namespaces(t->tid, n);
	return n;
}

void rec_numbers_forget(struct rec_task *t)
{
	free(t->numbers);
	t->numbers = NULL;
}

pid_t rec_tid_seen(struct rec_task *viewer, struct rec_task *t)
{
	unsigned level = numbers_of(viewer)->levels - 1;

	if (!level)
		return t->tid;
	if (numbers_of(t)->levels <= level || t->numbers->ns[level] != viewer->numbers->ns[level])
		return 0;
	return t->numbers->number[level];
}

struct rec_task *rec_task_seen(struct recorder *rec, struct rec_task *viewer, pid_t number)
{
	struct rec_task *t = rec->tasks;

	if (number <= 0)
		return NULL;
	while (t && rec_tid_seen(viewer, t) != number)
		t = t->next;
	return t;
}

bool rec_sees_all(struct rec_task *viewer)
{
	return numbers_of(viewer)->levels == 1;
}

pid_t rec_pt_tracer_seen(struct recorder *rec, struct rec_task *viewer, const struct rec_task *t)
{
	struct rec_task *tracer = t->pt->tracer, *leader = rec->tasks;

	while (leader && leader->tid != tracer->pid)
		leader = leader->next;
	return rec_tid_seen(viewer, leader ? leader : tracer);
}

pid_t rec_pgid_seen(struct rec_task *viewer, pid_t pid)
{
	unsigned level = numbers_of(viewer)->levels - 1;
	pid_t number[LEVELS];

	if (!level)
		return getpgid(pid);
	return status_line(pid, "NSpgid:", number) > level ? number[level] : 0;
}

uint32_t rec_uid_seen(const struct rec_task *viewer, pid_t tid)
{
	unsigned long inside, outside, count;
	pid_t ids[LEVELS] = { 0 };	/* real, effective, ... */
	char path[64], line[128];
	uint32_t uid;
	FILE *f;

	status_line(tid, "Uid:", ids);
	uid = (uint32_t)ids[0];
	snprintf(path, sizeof(path), "/proc/%d/uid_map", viewer->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &count) == 3 && uid >= outside &&
		    uid - outside < count) {
			fclose(f);
			return (uint32_t)(inside + (uid - outside));
		}
	}
	if (f)
		fclose(f);
	return 65534;	/* overflowuid */
}
