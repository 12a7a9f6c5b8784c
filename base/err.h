/*
 * err.h - errors as values.
 *
 * A function that can fail for reasons outside the program returns struct err *:
 * NULL means success, anything else is owned by the caller, who handles it, wraps
 * it with context, or passes it up.  Only cmd/ and the gdb server print.
 * Our own mistakes are not errors: see BUG_ON in base/bug.h.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

enum err_code {
	ERR_OS = 1,		/* a system call of ours failed; os_errno says how */
	ERR_GONE,		/* the task vanished: normal after any ptrace call */
	ERR_NOMEM,
	ERR_END,		/* nothing more to read */
	ERR_TRACE,		/* trace is missing, torn, damaged or of another version */
	ERR_DIVERGED,		/* replay found something else than the recording */
	ERR_UNSUPPORTED,	/* this machine or program cannot be handled */
	ERR_USAGE,		/* the command line */
};

struct err {
	enum err_code code;
	int os_errno;		/* 0 unless ERR_OS */
	char *msg;		/* one sentence, no newline */
};

#define __must_check __attribute__((warn_unused_result))

/* Singletons: need no memory, may be passed to err_free(). */
extern struct err err_gone, err_nomem, err_end;

struct err *err_new(enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))) __must_check;
/* "<sentence>: <strerror(os_errno)>", and what to do where a limit of this process is the reason */
struct err *err_os(int os_errno, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))) __must_check;
/* fork() has failed. */
struct err *err_fork(int os_errno) __must_check;
/* Put context before the message ("context: message").  Takes err, returns it or its
 * replacement; singletons become real errors that keep their code. */
struct err *err_wrap(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))) __must_check;
void err_free(struct err *err);

/* True, and err freed and NULLed, when *err has this code. */
int err_catch(struct err **err, enum err_code code);

#define TRY(expr) do { struct err *try_err_ = (expr); if (try_err_) return try_err_; } while (0)

#endif
