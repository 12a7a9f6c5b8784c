/*
 * outfile.c - see outfile.h; and files that are read as a whole
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/outfile.h"

enum { TEMPORARY = 1 << 8 };

static struct err *cannot(int e, const char *path)
{
	return err_os(e ? e : EIO, "cannot write %s",
		      strcmp(path, "-") ? path : "to standard output");
}

static struct err *exists(const char *path)
{
	return err_new(ERR_USAGE, "%s exists: remove it, or name another file with -o", path);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A file without a name, anywhere. */
static int open_unnamed(void)
{
	const char *tmp = getenv("TMPDIR");
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/hindsight-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

/* A file without a name where o->real is, else anywhere. */
static struct err *open_beside(struct outfile *o)
{
	char *slash = strrchr(o->real, '/'), *dir;
	struct err *err = NULL;
	int fd;

	dir = slash ? strndup(o->real, slash == o->real ? 1 : (size_t)(slash - o->real))
		    : strdup(".");
	if (!dir)
		return &err_nomem;
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	o->linked = fd >= 0;
	if (fd >= 0 && o->exists)
		fchmod(fd, o->mode & 0777);
	if (fd < 0 && !o->exists && access(dir, W_OK | X_OK))
		err = cannot(errno, o->path);
	free(dir);
	if (!err && fd < 0)
		fd = open_unnamed();
	if (!err)
		o->f = fd >= 0 ? fdopen(fd, "w+") : NULL;
	return err || o->f ? err : cannot(errno, o->path);
}

static struct err *open_anywhere(struct outfile *o)
{
	int fd = open_unnamed();

	o->f = fd >= 0 ? fdopen(fd, "w+") : NULL;
	return o->f ? NULL : cannot(errno, o->path);
}

struct err *outfile_temporary(struct outfile *o)
{
	*o = (struct outfile){ .path = "a temporary file (see TMPDIR)", .flags = TEMPORARY };
	return open_anywhere(o);
}

static struct err *open_stream(struct outfile *o)
{
	o->to = strcmp(o->path, "-") ? fopen(o->path, "we") : stdout;
	if (!o->to)
		return cannot(errno, o->path);
	if (!(o->flags & OUTFILE_SEEKS)) {
		o->f = o->to;
		return NULL;
	}
	return open_anywhere(o);
}

struct err *outfile_open(struct outfile *o, const char *path, unsigned flags)
{
	struct stat st;
	struct err *err;

	*o = (struct outfile){ .path = path, .flags = flags, .mode = 0666 };
	if (!strcmp(path, "-"))
		return open_stream(o);
	o->exists = !stat(path, &st);
	if (o->exists && flags & OUTFILE_NEW)
		return exists(path);
	if (o->exists && S_ISDIR(st.st_mode))
		return cannot(EISDIR, path);
	/* Files below /dev and /proc are somebody's open files.  A link may lead nowhere yet. */
	if ((o->exists && !S_ISREG(st.st_mode)) || !strncmp(path, "/dev/", 5) ||
	    !strncmp(path, "/proc/", 6) || (!o->exists && !lstat(path, &st)))
		return open_stream(o);
	if (o->exists && access(path, W_OK))
		return cannot(errno, path);
	o->mode = o->exists ? st.st_mode : 0666;
	o->real = o->exists ? realpath(path, NULL) : strdup(path);
	if (!o->real)
		return cannot(errno, path);
	err = open_beside(o);
	if (err)
		free(o->real);
	return err;
}

/* ---- closing --------------------------------------------------------------------------------- */

static int copy(int from, int to)
{
	static char piece[1 << 16];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, piece, sizeof(piece), at)) > 0) {
		for (ssize_t done = 0; done < n;) {
			ssize_t put = write(to, piece + done, (size_t)(n - done));

			if (put < 0 && errno != EINTR)
				return -1;
			done += put > 0 ? put : 0;
		}
		at += n;
	}
	return n < 0 ? -1 : 0;
}

static int copy_stream(int from, FILE *to)
{
	static char piece[1 << 16];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, piece, sizeof(piece), at)) > 0) {
		if (fwrite(piece, 1, (size_t)n, to) < (size_t)n)
			return -1;
		at += n;
	}
	return n < 0 ? -1 : fflush(to);
}

static int copy_close(int from, int to)
{
	int bad = copy(from, to), e = errno;

	if (close(to)) {
		bad = -1;
		e = errno;
	}
	errno = e;
	return bad;
}

/* Gives the content of f this name, which must be free. */
static int name_it(const struct outfile *o, const char *name)
{
	char self[40];
	int fd;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(o->f));
	if (o->linked && !linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW))
		return 0;
	if (o->linked && errno == EEXIST)
		return -1;
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, o->mode & 0777);
	if (fd < 0)
		return -1;
	if (!copy_close(fileno(o->f), fd))
		return 0;
	fd = errno;
	unlink(name);
	errno = fd;
	return -1;
}

static struct err *place(const struct outfile *o)
{
	char *temp = NULL;
	int fd, bad = -1, e;

	if (o->flags & OUTFILE_NEW) {
		if (!name_it(o, o->real))
			return NULL;
		return errno == EEXIST ? exists(o->path) : cannot(errno, o->path);
	}
	for (int i = 0; bad && i < 100; i++) {
		free(temp);
		if (asprintf(&temp, "%s.new-%d-%d", o->real, getpid(), i) < 0)
			return &err_nomem;
		bad = name_it(o, temp);
		if (bad && errno != EEXIST)
			break;
	}
	e = errno;
	if (!bad && rename(temp, o->real)) {
		bad = -1;
		e = errno;
		unlink(temp);
	}
	free(temp);
	/* The directory takes no new file, or this one is mounted by itself. */
	if (bad && o->exists && (e == EACCES || e == EPERM || e == EROFS || e == EBUSY)) {
		fd = open(o->real, O_WRONLY | O_TRUNC | O_CLOEXEC);
		bad = fd < 0 || copy_close(fileno(o->f), fd);
		e = errno;
	}
	return bad ? cannot(e, o->path) : NULL;
}

struct err *outfile_close(struct outfile *o, struct err *err)
{
	errno = 0;
	if (o->f && (fflush(o->f) || ferror(o->f)) && !err)
		err = cannot(errno, o->path);
	if (!err && o->to && o->to != o->f &&
	    copy_stream(fileno(o->f), o->to))
		err = cannot(errno, o->path);
	if (!err && !o->to && !(o->flags & TEMPORARY))
		err = place(o);
	if (o->f && o->f != o->to)
		fclose(o->f);
	if (o->to && o->to != stdout && fclose(o->to) && !err)
		err = cannot(errno, o->path);
	free(o->real);
	*o = (struct outfile){ 0 };
	return err;
}

struct err *outfile_check(bool text, const char *const *path, size_t n, bool *stdout_ret)
{
	unsigned there = text;

	*stdout_ret = false;
	for (size_t i = 0; i < n; i++) {
		if (!path[i])
			continue;
		if (!*path[i])
			return err_new(ERR_USAGE, "the name of a file to write is empty");
		for (size_t j = 0; j < i; j++) {
			if (path[j] && strcmp(path[i], "-") && !strcmp(path[i], path[j]) &&
			    strncmp(path[i], "/dev/", 5))
				return err_new(ERR_USAGE, "two forms cannot both go to %s: name "
					       "another file for one of them", path[i]);
		}
		if (!strcmp(path[i], "-")) {
			*stdout_ret = true;
			there++;
		}
	}
	return there < 2 ? NULL
			 : err_new(ERR_USAGE, "two forms cannot both go to standard output: name "
					      "a file for one of them");
}

/* ---- reading --------------------------------------------------------------------------------- */

struct err *cmd_file_read(const char *path, char **ret, size_t *len_ret)
{
	enum { PIECE = 1 << 16 };
	size_t room = 0, n = 0;
	FILE *f = fopen(path, "re");
	struct stat st;
	struct err *err = NULL;

	*ret = NULL;
	*len_ret = 0;
	if (!f)
		return err_os(errno, "cannot read %s", path);
	if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode))
		room = (size_t)st.st_size;
	do {
		char *more;

		if (*len_ret + PIECE > room || !*ret) {
			room = *ret ? 2 * room + PIECE : room + PIECE;
			more = realloc(*ret, room);
			if (!more) {
				err = &err_nomem;
				break;
			}
			*ret = more;
		}
		n = fread(*ret + *len_ret, 1, room - *len_ret, f);
		*len_ret += n;
	} while (n);
	if (!err && ferror(f))
		err = err_os(errno, "cannot read %s", path);
	if (!err && !*len_ret)
		err = err_new(ERR_USAGE, "%s is empty", path);
	fclose(f);
	if (!err)
		return NULL;
	free(*ret);
	*ret = NULL;
	return err;
}
