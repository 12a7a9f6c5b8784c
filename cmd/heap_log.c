/*
 * heap_log.c - `hindsight heap --read`, `--log`: audit logs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/heap/log_record.h"
#include "analysis/heap/logs.h"
#include "cmd/heap.h"

/* The same messages once more, in RaptorJIT's encodings. */
static struct err *write_again(const struct audit_log *l, const char *path)
{
	FILE *f = fopen(path, "we");
	bool bad;

	if (!f)
		return err_os(errno, "cannot write %s", path);
	for (size_t i = 0; i < l->n; i++)
		audit_write(l, &l->message[i], f);
	bad = ferror(f);
	return fclose(f) || bad ? err_os(errno, "cannot write %s", path) : NULL;
}

static struct err *print(const struct heap_cmd *c, struct heap_store *st, int argc, char **argv)
{
	if (c->log)
		TRY(write_again(heap_store_log(st), c->log));
	if (c->log && !c->html && !argc)
		return NULL;
	if (c->html)
		return heap_page(c, st, c->read, argc, argv);
	if (c->diff)
		return heap_diff_between(c, st);
	if (argc || c->at || c->type || c->json || c->history)
		return heap_moment_print(c, st, argc, argv);
	return audit_list(heap_store_log(st), stdout);
}

/* What can be read of a damaged log is shown, then what is wrong with it. */
struct err *heap_read_run(const struct heap_cmd *c, int argc, char **argv)
{
	struct err *err, *damage;
	struct heap_store *st;

	TRY(heap_log_open(c->read, c->types, &st, &damage));
	err = print(c, st, argc, argv);
	heap_store_destroy(st);
	if (!err)
		return damage;
	err_free(damage);
	return err;
}

/* The log as it was written, as a page. */
static struct err *log_page(const struct heap_cmd *c, const char *path, const char *title)
{
	struct err *err, *damage;
	struct heap_store *st;

	TRY(heap_log_open(path, NULL, &st, &damage));
	err = heap_page(c, st, title, 0, NULL);
	heap_store_destroy(st);
	if (err)
		err_free(damage);
	return err ? err : damage;
}

static struct err *log_write(const struct heap_cmd *c, const char *dir, const char *path, FILE *f,
			     const struct heap_recording_options *o)
{
	struct heap_logging l = { .session = o->session,
				  .memory = c->memory.value,
				  .memories = c->memory.n,
				  .on = c->on.value,
				  .ons = c->on.n,
				  .preset = (enum heap_log_preset)c->preset,
				  .max = c->top };
	struct heap_logged done;
	struct err *err = heap_log_record(dir, &l, f, &done);
	bool bad = ferror(f);

	if ((fclose(f) || bad) && !err)
		err = err_os(errno, "cannot write %s", path);
	if (!err && done.failed) {
		fprintf(stderr, "hindsight: %" PRIu64 " expressions had no value and were left out; "
				"the first: ", done.failed);
		text_plain(stderr, done.why ? done.why : "");
		fputc('\n', stderr);
	}
	if (!err && !c->quiet)
		fprintf(stderr, "%" PRIu64 " events, %" PRIu64 " pieces of memory\n", done.events,
			done.memories);
	free(done.why);
	return err;
}

struct err *heap_log_run(const struct heap_cmd *c, const char *dir,
			 const struct heap_recording_options *o)
{
	const char *tmp = getenv("TMPDIR");
	char name[4096];
	struct err *err;
	FILE *f;
	int fd;

	if (!c->log && !c->html)
		return err_new(ERR_USAGE, "--on and --preset need --log=FILE or --html=FILE");
	if (c->log) {
		f = fopen(c->log, "we");
	} else {
		snprintf(name, sizeof(name), "%s/hindsight-log-XXXXXX", tmp && *tmp ? tmp : "/tmp");
		fd = mkstemp(name);
		f = fd >= 0 ? fdopen(fd, "w") : NULL;
	}
	if (!f)
		return err_os(errno, "cannot write %s", c->log ? c->log : name);
	err = log_write(c, dir, c->log ? c->log : name, f, o);
	if (!err && c->html)
		err = log_page(c, c->log ? c->log : name, dir);
	if (!c->log)
		unlink(name);
	return err;
}
