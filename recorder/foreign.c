/*
 * foreign.c - programs that cannot be recorded: those of 32 bits, and those that may be executed
 * and not read.
 *
 * Once a program of 32 bits runs there is no way back, and none of our calls can be made in it.
 * So its exec is answered as by a kernel that has no 32-bit programs (CONFIG_IA32_EMULATION), and
 * said.
 *
 * The memory of a program whose file may not be read is closed to an ordinary user, also to its
 * tracer (would_dump(), fs/exec.c), and so is that of one whose loader may not be read: the exec is
 * answered EACCES.  A script that may not be read is closed as well: it cannot be told from a
 * program, and its interpreter could not read it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/slow.h"
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
	int fd = slow_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : slow_pread(fd, head, HEAD, 0);

	if (fd >= 0)
		slow_close(fd);
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

/* May we look into any program: of all owners, or of those that our user namespace knows? */
enum looks { LOOKS_UNKNOWN, LOOKS_NONE, LOOKS_KNOWN, LOOKS_ALL };

static enum looks may_look(void)
{
	enum { SYS_PTRACE = 19 };	/* CAP_SYS_PTRACE */
	static enum looks may;
	char ids[64] = "";
	FILE *f;

	if (may != LOOKS_UNKNOWN)
		return may;
	may = LOOKS_NONE;
	if (!(proc_status_number(getpid(), "CapEff:", 16) >> SYS_PTRACE & 1))
		return may;
	f = fopen("/proc/self/uid_map", "re");
	may = f && fgets(ids, sizeof(ids), f) && strstr(ids, " 4294967295") ? LOOKS_ALL
									     : LOOKS_KNOWN;
	if (f)
		fclose(f);
	return may;
}

static bool may_trace_closed(const struct stat *st)
{
	enum { OVERFLOW_ID = 65534 };	/* of owners unknown here */

	return may_look() == LOOKS_KNOWN && st->st_uid != OVERFLOW_ID && st->st_gid != OVERFLOW_ID;
}

struct closed_question { const char *path; bool yes; };

static void ask_closed(void *ctx)
{
	struct closed_question *q = ctx;
	struct stat st;

	q->yes = faccessat(AT_FDCWD, q->path, R_OK, AT_EACCESS) < 0 && errno == EACCES &&
		 faccessat(AT_FDCWD, q->path, X_OK, AT_EACCESS) == 0 && stat(q->path, &st) == 0 &&
		 S_ISREG(st.st_mode) && !may_trace_closed(&st);
}

bool recorder_is_closed(const char *path)
{
	struct closed_question q = { .path = path };

	if (may_look() == LOOKS_ALL)
		return false;
	slow_do(ask_closed, &q);
	return q.yes;
}

enum { LOADER_MAX = PATH_MAX - 64 };

/* The loader that a program names, as the name of a file. */
static bool loader(const char *path, char ret[LOADER_MAX])
{
	int fd = slow_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	Elf64_Ehdr elf;
	Elf64_Phdr ph = { 0 };
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (slow_pread(fd, &elf, sizeof(elf), 0) != sizeof(elf) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG))
		elf.e_phnum = 0;
	for (unsigned i = 0; i < elf.e_phnum && ph.p_type != PT_INTERP; i++) {
		off_t at = (off_t)(elf.e_phoff + i * sizeof(ph));

		if (slow_pread(fd, &ph, sizeof(ph), at) != sizeof(ph))
			break;
	}
	if (ph.p_type == PT_INTERP && ph.p_filesz < LOADER_MAX)
		n = slow_pread(fd, ret, ph.p_filesz, (off_t)ph.p_offset);
	slow_close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Can the task's program not be read?  name: what it asked for. */
static bool closed(struct recorder *rec, const char *path, const char *name)
{
	if (!recorder_is_closed(path))
		return false;
	if (rec_warn_once(rec, (uint64_t)SYS_execve << 32 | EACCES))
		log_warn("%s cannot be recorded: it may be executed but not read; to execute it is "
			 "answered EACCES (run rec as root)",
			 name[0] ? name : path);
	return true;
}

static bool answer(struct rec_call *call, int os_errno)
{
	call->force_ret = true;
	call->forced = -os_errno;
	return true;
}

bool rec_exec_foreign(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	bool at = call->nr == SYS_execveat;
	char name[PATH_MAX - 64], path[PATH_MAX], own[LOADER_MAX], head[HEAD + 1], *next;

	tracee_read_string(t->tid, call->args[at], name, sizeof(name));
	as_seen(t, at ? (int)call->args[0] : AT_FDCWD, name, path);
	for (int i = 0; i < SCRIPTS; i++) {
		if (closed(rec, path, name))
			return answer(call, EACCES);
		if (!read_head(path, head))
			return false;
		if (!interpreter(head, &next))
			break;
		as_seen(t, AT_FDCWD, next, path);
	}
	if (!recorder_is_32bit(head) && may_look() != LOOKS_ALL && loader(path, own)) {
		as_seen(t, AT_FDCWD, own, path);
		return closed(rec, path, name) && answer(call, EACCES);
	}
	if (!recorder_is_32bit(head) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return false;
	if (rec_warn_once(rec, (uint64_t)SYS_execve << 32))
		log_warn("%s cannot be recorded: it is a 32-bit program; to execute it is answered "
			 "ENOEXEC",
			 name[0] ? name : path);
	return answer(call, ENOEXEC);
}
