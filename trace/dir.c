/*
 * dir.c - where traces live when nobody says otherwise.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "trace/internal.h"

static const char *set_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static struct err *home_dir(const char **ret)
{
	struct passwd *pw;

	*ret = set_env("HOME");
	if (!*ret) {
		pw = getpwuid(getuid());
		*ret = pw ? pw->pw_dir : NULL;
	}
	if (*ret)
		return NULL;
	return err_new(ERR_USAGE, "there is no home directory to keep traces in: set "
		       "HINDSIGHT_TRACE_DIR");
}

/* mkdir -p.  path is changed in between. */
static struct err *make_dirs(char *path)
{
	size_t bad = 0;		/* up to here it is missing, where nothing can be made */

	for (char *p = path + 1; ; p++) {
		char c = *p;

		if (c && c != '/')
			continue;
		*p = 0;
		if (os.mkdirat(AT_FDCWD, path, 0700) && errno != EEXIST) {
			if (c && errno == EROFS) {
				/* some systems say that of what is there, too */
				if (!bad && access(path, F_OK))
					bad = (size_t)(p - path);
				*p = c;
				continue;
			}
			if (bad) {
				path[bad] = 0;
				errno = EROFS;
			}
			return err_new(ERR_USAGE, "cannot make the directory %s for traces: %s; "
						  "set "
				       "HINDSIGHT_TRACE_DIR to one that can be written", path,
				       strerror(errno));
		}
		*p = c;
		if (!c)
			return NULL;
	}
}

/* Where it is missing and not made, its path is returned all the same. */
static struct err *base_dir(bool make, char **ret)
{
	const char *dir = set_env("HINDSIGHT_TRACE_DIR"), *data = set_env("XDG_DATA_HOME"), *home;
	char *path = NULL, *full;
	struct err *err = NULL;
	int n;

	if (dir) {
		n = asprintf(&path, "%s", dir);
	} else if (data && *data == '/') {	/* the XDG standard: ignore a relative one */
		n = asprintf(&path, "%s/hindsight", data);
	} else {
		TRY(home_dir(&home));
		n = asprintf(&path, "%s/.local/share/hindsight", home);
	}
	if (n < 0)
		return &err_nomem;
	if (make)
		err = make_dirs(path);
	full = err ? NULL : realpath(path, NULL);
	if (!full && !make && errno == ENOENT) {
		*ret = path;
		return NULL;
	}
	if (!err && !full)
		err = err_os(errno, "cannot find the directory %s", path);
	free(path);
	*ret = full;
	return err;
}

/* "a.out" for "/tmp/a.out"; never empty, hidden or with a slash. */
static const char *name_of(const char *program, char name[65])
{
	const char *slash = strrchr(program, '/');

	snprintf(name, 65, "%s", slash ? slash + 1 : program);
	if (name[0] == '.')
		name[0] = '_';
	return name[0] ? name : "trace";
}

struct err *trace_dir_new(const char *program_name, char **dir_ret)
{
	_cleanup_free_ char *base = NULL;
	const char *name;
	char buf[65];

	name = name_of(program_name, buf);
	TRY(base_dir(true, &base));
	for (unsigned int n = 0; ; n++) {
		_cleanup_free_ char *dir = NULL;

		if (asprintf(&dir, "%s/%s-%u", base, name, n) < 0) {
			dir = NULL;
			return &err_nomem;
		}
		if (!os.mkdirat(AT_FDCWD, dir, 0700)) {
			*dir_ret = taken(&dir);
			return NULL;
		}
		if (errno != EEXIST || n == UINT_MAX)
			return err_new(ERR_USAGE, "cannot make the trace directory %s: %s; set "
				       "HINDSIGHT_TRACE_DIR to a directory that can be written, or "
				       "name one with -o", dir, strerror(errno));
	}
}

struct err *trace_dir_latest(char **ret)
{
	_cleanup_free_ char *base = NULL;
	_cleanup_close_ int fd = -1;
	char target[PATH_MAX];
	ssize_t n;

	TRY(base_dir(false, &base));
	fd = os.openat(AT_FDCWD, base, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	n = fd < 0 ? -1 : os.readlinkat(fd, "latest", target, sizeof(target) - 1);
	if (n < 0 && errno == ENOENT)
		return err_new(ERR_TRACE,
			       "there is no trace in %s yet: record a program with rec", base);
	if (n < 0)
		return err_os(errno, "cannot read %s/latest", base);
	target[n] = 0;
	n = target[0] == '/' ? asprintf(ret, "%s", target) : asprintf(ret, "%s/%s", base, target);
	return n < 0 ? &err_nomem : NULL;
}

/* 0 or errno. */
static int point_latest(const char *base, const char *dir)
{
	size_t len = strlen(base);
	bool below = !strncmp(dir, base, len) && dir[len] == '/' && !strchr(dir + len + 1, '/');
	char tmp[64];
	int e = 0, fd = os.openat(AT_FDCWD, base, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	snprintf(tmp, sizeof(tmp), ".latest-%d", (int)getpid());
	unlinkat(fd, tmp, 0);
	if (os.symlinkat(below ? dir + len + 1 : dir, fd, tmp) ||
	    os.renameat(fd, tmp, fd, "latest")) {
		e = errno;
		unlinkat(fd, tmp, 0);
	}
	close(fd);
	return e;
}

struct err *trace_dir_set_latest(const char *dir)
{
	_cleanup_free_ char *base = NULL, *full = NULL;
	int e;

	TRY(base_dir(true, &base));
	full = realpath(dir, NULL);
	e = full ? point_latest(base, full) : errno;
	return e ? err_os(e, "cannot set %s/latest", base) : NULL;
}

struct err *trace_base_dir(bool make, char **ret)
{
	return base_dir(make, ret);
}

struct err *trace_store_dir(char **ret)
{
	char *base, *dir;
	struct err *err;

	TRY(base_dir(true, &base));
	if (asprintf(&dir, "%s/store", base) < 0)
		dir = NULL;
	free(base);
	if (!dir)
		return &err_nomem;
	err = make_dirs(dir);
	if (err)
		free(dir);
	else
		*ret = dir;
	return err;
}

/*
 * The recorder has events.tail mapped for writing until the end.  A read lease is refused with
 * EAGAIN exactly then (fs/locks.c, check_conflicting_open()); it is given back at once.
 */
bool trace_dir_live(const char *dir)
{
	char *path;
	bool live;
	int fd;

	if (asprintf(&path, "%s/events.tail", dir) < 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	free(path);
	if (fd < 0)
		return false;
	signal(SIGIO, SIG_IGN);		/* should somebody open it for writing right now */
	live = fcntl(fd, F_SETLEASE, F_RDLCK) && errno == EAGAIN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	close(fd);
	return live;
}
