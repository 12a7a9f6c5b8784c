#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE_MEMORY "see free, ulimit -d and ulimit -v"

struct err err_gone = { ERR_GONE, 0, (char *)"the task is gone" };
struct err err_nomem = { ERR_NOMEM, 0, (char *)"out of memory; " MORE_MEMORY };
struct err err_end = { ERR_END, 0, (char *)"end of data" };

static int is_static(const struct err *err)
{
	return err == &err_gone || err == &err_nomem || err == &err_end;
}

static struct err *err_take(enum err_code code, int os_errno, char *msg)
{
	struct err *err = msg ? malloc(sizeof(*err)) : NULL;

	if (!err) {
		free(msg);
		return &err_nomem;
	}
	*err = (struct err){ code, os_errno, msg };
	return err;
}

struct err *err_new(enum err_code code, const char *fmt, ...)
{
	char *msg = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&msg, fmt, ap) < 0)
		msg = NULL;
	va_end(ap);
	return err_take(code, 0, msg);
}

static const char *limit_advice(int os_errno)
{
	switch (os_errno) {
	case EMFILE:
	case ENFILE:
		return "; allow more open files (ulimit -n)";
	case ENOMEM:
		return "; " MORE_MEMORY;
	default:
		return "";
	}
}

struct err *err_os(int os_errno, const char *fmt, ...)
{
	char *what = NULL, *msg = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		what = NULL;
	va_end(ap);
	if (!what || asprintf(&msg, "%s: %s%s", what, strerror(os_errno),
			      limit_advice(os_errno)) < 0)
		msg = NULL;
	free(what);
	return err_take(ERR_OS, os_errno, msg);
}

struct err *err_fork(int os_errno)
{
	struct err *err = err_os(os_errno, "cannot start another process");

	if (os_errno != EAGAIN || is_static(err))
		return err;
	err_free(err);
	err = err_new(ERR_OS, "cannot start another process: %s; allow more of them (ulimit -u, or "
		      "pids.max of the cgroup)", strerror(os_errno));
	if (!is_static(err))
		err->os_errno = os_errno;
	return err;
}

struct err *err_wrap(struct err *err, const char *fmt, ...)
{
	char *what = NULL, *msg = NULL;
	struct err *wrapped;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		what = NULL;
	va_end(ap);
	if (!what || asprintf(&msg, "%s: %s", what, err->msg) < 0)
		msg = NULL;
	free(what);
	wrapped = err_take(err->code, err->os_errno, msg);
	err_free(err);
	return wrapped;
}

void err_free(struct err *err)
{
	if (!err || is_static(err))
		return;
	free(err->msg);
	free(err);
}

int err_catch(struct err **err, enum err_code code)
{
	if (!*err || (*err)->code != code)
		return 0;
	err_free(*err);
	*err = NULL;
	return 1;
}
