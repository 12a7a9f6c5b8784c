/*
 * foreign.c - programs that cannot be recorded: those of 32 bits.
 *
 * Once one runs there is no way back, and none of our calls can be made in it.  So their exec is
 * answered as by a kernel that has no 32-bit programs (CONFIG_IA32_EMULATION), and said.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/internal.h"

enum { HEAD = 256, SCRIPTS = 5 };	/* BINPRM_BUF_SIZE, and exec_binprm()'s depth, fs/exec.c */

bool recorder_is_32bit(const char *head)
{
	return memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] == ELFCLASS32;
}

/* Where the task's name for a file leads us. */
static void as_seen(const struct rec_task *t, int dir, const char *name, char ret[PATH_MAX])
{
	if (name[0] == '/')
		snprintf(ret, PATH_MAX, "/proc/%d/root%s", t->tid, name);
	else if (dir == AT_FDCWD)
		snprintf(ret, PATH_MAX, "/proc/%d/cwd/%s", t->tid, name);
	else
		snprintf(ret, PATH_MAX, "/proc/%d/fd/%d%s%s", t->tid, dir, name[0] ? "/" : "",
			 name);
}

static bool read_head(const char *path, char head[HEAD + 1])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, head, HEAD);

	if (fd >= 0)
		close(fd);
	memset(head + (n < 0 ? 0 : n), 0, (size_t)(HEAD + 1 - (n < 0 ? 0 : n)));
	return n > EI_NIDENT;
}

/* The interpreter that a script names in its first line. */
static bool interpreter(char head[HEAD + 1], char **ret)
{
	if (head[0] != '#' || head[1] != '!')
		return false;
	*ret = head + 2 + strspn(head + 2, " \t");
	(*ret)[strcspn(*ret, " \t\n")] = '\0';
	return **ret != '\0';
}

bool rec_exec_foreign(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	bool at = call->nr == SYS_execveat;
	char name[PATH_MAX - 64], path[PATH_MAX], head[HEAD + 1], *next;

	tracee_read_string(t->tid, call->args[at], name, sizeof(name));
	as_seen(t, at ? (int)call->args[0] : AT_FDCWD, name, path);
	for (int i = 0; i < SCRIPTS; i++) {
		if (!read_head(path, head))
			return false;
		if (!interpreter(head, &next))
			break;
		as_seen(t, AT_FDCWD, next, path);
	}
	if (!recorder_is_32bit(head) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return false;
	if (rec_warn_once(rec, (uint64_t)SYS_execve << 32))
		log_warn("%s cannot be recorded: it is a 32-bit program; to execute it is answered "
			 "ENOEXEC",
			 name[0] ? name : path);
	call->force_ret = true;
	call->forced = -ENOEXEC;
	return true;
}
