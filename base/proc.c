/*
 * proc.c - what /proc says of a task.
 */
#include "base/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A short file of the task, as a string; false: it is not there, or empty. */
static bool task_file(pid_t tid, const char *name, char *text, size_t room)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, room - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool proc_stat(pid_t tid, struct proc_stat *ret)
{
	char text[512], *name_end;
	struct proc_stat s;

	memset(ret, 0, sizeof(*ret));
	if (!task_file(tid, "stat", text, sizeof(text)))
		return false;
	name_end = strrchr(text, ')');	/* the name, in brackets, may be anything */
	if (!name_end ||
	    sscanf(name_end + 1,
		   " %c %d %*d %*d %*d %*d %u %" SCNu64 " %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %*d %*d %*u %*u %" SCNu64,
		   &s.state, &s.parent, &s.flags, &s.minor_faults, &s.user, &s.kernel,
		   &s.resident_pages) != 7)
		return false;
	*ret = s;
	return true;
}

uint64_t proc_heap_start(pid_t tid)
{
	enum { BEFORE = 45 };	/* spaces between the name's ")" and field 47 */
	char text[1024], *at;

	if (!task_file(tid, "stat", text, sizeof(text)))
		return 0;
	at = strrchr(text, ')');
	for (unsigned i = 0; at && i < BEFORE; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t proc_cpu_ns(pid_t tid)
{
	char text[64];

	return task_file(tid, "schedstat", text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

bool proc_status_line(pid_t tid, const char *name, char *rest, size_t room)
{
	char path[64], line[512];
	size_t len = strlen(name);
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, name, len);
	if (f)
		fclose(f);
	if (found)
		snprintf(rest, room, "%s", line + len);
	return found;
}

uint64_t proc_status_number(pid_t tid, const char *name, int base)
{
	char rest[PROC_STATUS_LINE], *last;

	if (!proc_status_line(tid, name, rest, sizeof(rest)))
		return 0;
	last = strrchr(rest, '\t');
	return last ? strtoull(last + 1, NULL, base) : 0;
}
